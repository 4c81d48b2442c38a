# SPDX-License-Identifier: Apache-2.0
"""watched.py - tells its steps and uses nothing else of eddis"""

import sys

import eddis

for _ in range(6):
    eddis.progress(samples=5)
eddis.progress(samples=5, step=3)  # a sign of life
assert "torch" not in sys.modules
