# SPDX-License-Identifier: Apache-2.0
"""conftest.py - how tests of the Python package run: `pytest tests/python`, against the build folder EDDIS_BUILD.

Tests marked `slow` are left out by `-m "not slow"`, the short form that ./run-tests uses.
"""

from __future__ import annotations

import signal

import pytest

from started import BUILD


def pytest_configure(config):
    # What was started in the background ignores these, and so would every job of the tests.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    config.addinivalue_line("markers", "slow: not in the short form")
    if not (BUILD / "cmd/eddis-run").exists():
        pytest.exit(f"there is no eddis-run in {BUILD}/cmd: build, or name the build folder in EDDIS_BUILD", 2)
