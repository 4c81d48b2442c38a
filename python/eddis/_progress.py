# SPDX-License-Identifier: Apache-2.0
"""Report the steps of a script that uses nothing else of eddis."""

from __future__ import annotations

import ctypes

from . import _lib

_steps = 0
_is_used = False


def is_used() -> bool:
    """Return whether this process has called `progress`."""
    return _is_used


def progress(samples: int, step: int | None = None) -> None:
    """Report to eddis-run that this worker has finished a step of `samples` samples.

    samples: of this worker alone. step: its number, from 0; -1, with 0 samples: no step has ended yet, only start the
    clock; None: one more than in the previous call.  A number lower than one reported before only shows that the worker
    is alive.  Call it from any thread; it never waits, and does nothing without eddis-run.  Raises eddis.Error for
    impossible numbers, and if `eddis.torch` or another process of this worker already reports the steps.
    """
    global _is_used, _steps
    _is_used = True
    number = _steps if step is None else step
    _lib.call("progress", ctypes.c_int64(number), ctypes.c_int64(samples))
    _steps = number + 1
