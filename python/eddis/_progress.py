# SPDX-License-Identifier: Apache-2.0
"""The steps of a script that uses nothing else of eddis."""

from __future__ import annotations

import ctypes

from . import _lib

_steps = 0


def progress(samples: int, step: int | None = None) -> None:
    """Tell eddis-run that a step of so many samples of this worker has ended.

    step: its number, from 0; None: the one after that of the call before.  One before the last one told is a sign of
    life only.  To be called from any thread; it never waits and does nothing outside of eddis-run.  Raises eddis.Error
    where a worker of `eddis.torch` tells already.
    """
    global _steps
    number = _steps if step is None else step
    _lib.call("progress", ctypes.c_int64(number), ctypes.c_int64(samples))
    _steps = number + 1
