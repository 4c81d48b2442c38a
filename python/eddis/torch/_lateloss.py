# SPDX-License-Identifier: Apache-2.0
"""Losses that scripts report: one on a device is copied while the host goes on, and reported with a later step.

A host that waited for the copy of an earlier step would be at most one step ahead of its device.
"""

from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple

import torch

from .. import _lib as L
from .._worker import Mark, Worker, worker
from ._device import DEVICES, Copied, device_of

KEPT = 64  # copies in progress; of a device that is further behind no more losses are copied


class _Begun(NamedTuple):
    """A loss whose copy is in progress."""

    step: int  # in which it was reported
    loss: torch.Tensor
    place: torch.Tensor  # in host memory
    copied: Copied


class LateLosses:
    """The losses of this process that are on their way from a device, in the order of their copies."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._begun: deque[_Begun] = deque()
        self._bad_in = -1  # step in which the first loss that is not finite was returned; -1: none was

    def report(self, loss: torch.Tensor, step: int) -> tuple[float, int] | None:
        """Return a loss in host memory, and its age in steps.  For a loss on a device, begin to copy it, and return the
        newest loss that has arrived since the previous call; None: none has.  The first loss that is not finite is
        returned by itself, and is the last in its step, so that it is not lost.  Does not wait for the device.  step:
        number of the present step.
        """
        loss = loss.detach()
        device = device_of(loss) if loss.device.type in DEVICES else None
        if device is None:
            return float(loss), 0
        arrived = self._arrived(step)
        if self._settle not in self._worker.marks[Mark.ENDS]:
            self._worker.marks[Mark.ENDS].append(self._settle)
        if len(self._begun) < KEPT:
            place = device.host_like(loss)
            self._begun.append(_Begun(step, loss, place, device.to_host([place], [loss], [device.here()])))
        return arrived

    def _settle(self) -> None:
        """At the end of a step that compares the models, as the last one does, wait for the losses and report the
        newest.  A callback of Worker.marks."""
        if self._begun and self._worker.step.flags & L.STEP_SUMS:
            self._begun[-1].copied.synchronize()
            if arrived := self._arrived(self._worker.step.step):
                report = self._worker.report
                (report.loss, report.loss_age), report.has_loss = arrived, 1

    def _arrived(self, step: int) -> tuple[float, int] | None:
        """Forget the losses that have arrived, and return the newest and its age; or the first that is not finite, and
        leave the later ones for the next call."""
        newest = None
        while step != self._bad_in and self._begun and self._begun[0].copied.is_done():
            begun = self._begun.popleft()
            newest = float(begun.place), step - begun.step
            if self._bad_in < 0 and not math.isfinite(newest[0]):
                self._bad_in = step
        return newest


late_loss = LateLosses(worker).report
