# SPDX-License-Identifier: Apache-2.0
"""eddis - training on clusters of unlike devices at the sum of their speeds.

This module imports no framework; `eddis.torch` is for PyTorch scripts.  A script that wants nothing but to be
watched by eddis-run calls `progress` after each of its steps.
"""

from ._lib import Error, version
from ._progress import progress

__version__ = "0.1.0"
__all__ = ["Error", "progress", "version"]
