# SPDX-License-Identifier: Apache-2.0
"""Learning-rate schedules with a fixed number of steps, for workers that make more steps.

In async and hybrid mode a group that is faster than planned takes over samples of the others, and so makes more steps
than len(loader).  In local mode a group that is faster than others does.  OneCycleLR raises an error after its last
step, so a job would fail when nearly all samples are trained.  This module makes it keep its last learning rate
instead.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable

import torch
from torch.optim.lr_scheduler import OneCycleLR

from .._worker import Mark, say, worker
from ._loader import planned_steps


def keep_last_rates(optimizers: Iterable[torch.optim.Optimizer]) -> None:
    """Make schedules of these optimizers keep their last learning rate, in modes in which workers make different
    numbers of steps."""
    if not worker.is_several:
        return
    known = {id(it) for it in optimizers}
    for it in gc.get_objects():
        if issubclass(type(it), OneCycleLR) and id(getattr(it, "optimizer", None)) in known:
            worker.marks[Mark.BEGUN].append(_keeper(it))


def _keeper(schedule: OneCycleLR) -> Callable[[], None]:
    """Return a callback of Worker.marks that keeps a finished schedule at its last learning rate."""
    is_over = False

    def keep() -> None:
        # At the begin of a step, if the schedule is finished, set the last rate again; print a message at first.
        nonlocal is_over
        if schedule.last_epoch >= schedule.total_steps and not _is_too_short(schedule):
            if not is_over:
                say(f"rank {worker.rank} makes more than the {schedule.total_steps} steps of its "
                    f"{type(schedule).__name__}, in place of slower workers: the learning rate stays at its last one")
            is_over = True
            schedule.last_epoch = schedule.total_steps - 2
            schedule.step()  # sets the last rate again, since the script's call after the last step went past it
        if is_over:
            schedule.last_epoch = schedule.total_steps - 2  # so the script's next call sets the last rate again

    return keep


def _is_too_short(schedule: OneCycleLR) -> bool:
    """Check whether the schedule is too short even for sync mode; then its error is right."""
    return schedule.total_steps < planned_steps()
