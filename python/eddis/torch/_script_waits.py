# SPDX-License-Identifier: Apache-2.0
"""Marks where a rank waits in the script's own collectives of torch.distributed, such as an all_reduce of its loss.

Ranks wait there for the slowest one.  Without the marks the waits would count as each rank's own computing, so that all
seemed equally slow.  The functions of torch.distributed wait in `Work.wait`, which has no hook: it gets marks around
it.  Not marked are waits in backward passes, which have their marks, those in other threads, and functional
collectives, as clip_grad_norm_ makes of DTensors.
"""

from __future__ import annotations

import functools
from _thread import get_ident
from collections.abc import Callable
from typing import Any

import torch

from .._worker import Mark, worker
from . import _alone

_is_waiting = False  # between the step's marks of a wait, which has its end already


def _wait() -> None:
    """Keep that this rank waits.  A callback of Worker.marks."""
    global _is_waiting
    _is_waiting = True


def _go_on() -> None:
    """Keep that this rank goes on.  A callback of Worker.marks."""
    global _is_waiting
    _is_waiting = False


def watch_script() -> None:
    """Mark from now on where this thread waits in `Work.wait`.  Later calls do nothing."""
    from torch.distributed.distributed_c10d import Work
    if not hasattr(Work.wait, "is_marked_by_eddis"):
        worker.marks[Mark.WAITS].append(_wait)
        for what in Mark.GOES_ON, Mark.BEGUN:  # an exception may have ended the wait
            worker.marks[what].append(_go_on)
        Work.wait = _marked(Work.wait, get_ident())


def _marked(wait: Callable[..., Any], thread: int) -> Callable[..., Any]:
    """Return this method with marks around it, which are made in the thread of this number only.  eddis-run leaves this
    file out when it says where a rank is (stack_inspect.c)."""
    number_of_pass = torch._C._current_graph_task_id  # -1: in no backward pass

    @functools.wraps(wait)
    def marked(work: Any, *args: Any, **kwargs: Any) -> Any:
        if get_ident() != thread or number_of_pass() != -1:
            return wait(work, *args, **kwargs)
        if worker.in_step:
            if _is_waiting:
                return wait(work, *args, **kwargs)
            worker.mark(Mark.WAITS)
            try:
                return wait(work, *args, **kwargs)
            finally:
                worker.mark(Mark.GOES_ON)
        alone = _alone.alone
        if not alone or alone.is_waiting:
            return wait(work, *args, **kwargs)
        alone.waits()
        try:
            return wait(work, *args, **kwargs)
        finally:
            alone.goes_on()

    marked.is_marked_by_eddis = True
    return marked
