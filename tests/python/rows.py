# SPDX-License-Identifier: Apache-2.0
"""rows.py - rows of parameters of tests"""

from __future__ import annotations

from typing import Any

import pytest


def slow(*values: Any) -> Any:
    """Return a row of these values that the short form leaves out."""
    return pytest.param(*values, marks=pytest.mark.slow)
