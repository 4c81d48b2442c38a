# SPDX-License-Identifier: Apache-2.0
"""eddis - train on clusters of unequal devices at the sum of their speeds.

This module imports no framework; `eddis.torch` is for PyTorch scripts.  A script that only wants to be monitored by
eddis-run calls `progress` after each of its steps.
"""

from ._lib import Error, version
from ._progress import progress

__version__ = "0.1.0"
__all__ = ["Error", "progress", "version"]
