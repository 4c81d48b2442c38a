# SPDX-License-Identifier: Apache-2.0
"""test_weight.py - a weight that a script says for every step is none of a worker without samples"""

from __future__ import annotations

import pathlib
import re

from started import said

PROGRAM = pathlib.Path(__file__).resolve().parent / "programs/weighted.py"


def test_without_samples(tmp_path):
    output = said(tmp_path, "eddis-run", "--set", "batch.global=4", "--set", "batch.min=0", "--set",
                  "profile.emulate=[{rate: 1, a_ms: 5, c_ms: 1}, {rate: 0.001}]", "--", "python3", PROGRAM)
    assert re.search(r"^ +1 .* 0 +0\.000\b", output, re.M), output  # rank 1 has no samples
    assert re.search(r": parameter -1$", output, re.M), output
