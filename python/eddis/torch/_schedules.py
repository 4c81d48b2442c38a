# SPDX-License-Identifier: Apache-2.0
"""Schedules of a set number of steps, where a worker makes more.

In async and hybrid mode a group that is faster than the plan takes samples of the others, and makes more steps than
len(loader).  OneCycleLR raises behind its last step, so that a job would end with an error when nearly all is trained.
Here it keeps its last learning rate instead.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable

import torch
from torch.optim.lr_scheduler import OneCycleLR

from .._worker import Mark, worker
from ._loader import planned_steps


def keep_last_rates(optimizers: Iterable[torch.optim.Optimizer]) -> None:
    """Have schedules of these optimizers keep their last learning rate, where each worker makes its own steps."""
    if not worker.is_several:
        return
    known = {id(it) for it in optimizers}
    for it in gc.get_objects():
        if issubclass(type(it), OneCycleLR) and id(getattr(it, "optimizer", None)) in known:
            worker.marks.append(_keeper(it))


def _keeper(schedule: OneCycleLR) -> Callable[[Mark], None]:
    is_over = False

    def keep(mark: Mark) -> None:
        nonlocal is_over
        if mark is not Mark.BEGUN:
            return
        if schedule.last_epoch >= schedule.total_steps and not _is_too_short(schedule):
            if not is_over:
                print(f"eddis: rank {worker.rank} makes more than the {schedule.total_steps} steps of its "
                      f"{type(schedule).__name__}, in place of slower workers: the learning rate stays at its last one",
                      file=sys.stderr, flush=True)
            is_over = True
            schedule.last_epoch = schedule.total_steps - 2
            schedule.step()  # its call behind the last step has gone past that one's rate
        if is_over:
            schedule.last_epoch = schedule.total_steps - 2  # the script's next call comes to the last rate again

    return keep


def _is_too_short(schedule: OneCycleLR) -> bool:
    """Whether it would raise in sync mode, too."""
    return schedule.total_steps < planned_steps()
