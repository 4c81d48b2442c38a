# SPDX-License-Identifier: Apache-2.0
"""The clock of steps for which neither the library nor the host waits: torch.distributed combines their gradients on
the device, which may still compute when the host has ended the step.

The marks of several steps are kept.  At the end of a step the times of the newest step that the device has finished are
reported, if that step had as many samples; else none.  Nothing waits for the device.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from .._worker import Worker
from ._device import Clock, Device

KEPT = 64  # steps whose marks are kept; a device that is further behind reports nothing


class _Step(NamedTuple):
    """What a step's clock has marked."""

    count: int  # samples
    work: float  # units of work in them; 0: all samples cost the same
    parts: list[tuple[Any, Any]]  # when the device computed for this rank: pairs of marks
    input: tuple[Any, Any] | None  # marks: the loop asked for the batch, and the batch arrived


class _Times(NamedTuple):
    """The times of a step, in ns."""

    count: int
    work: float
    compute_ns: int
    input_ns: int  # 0: unknown


class LateClock(Clock):
    """Measures a device's computing and input time in each step, for the plan, some steps later."""

    def __init__(self, worker: Worker, device: Device) -> None:
        super().__init__(worker, device)
        self._steps: deque[_Step] = deque(maxlen=KEPT)  # ended on the host; not known to be finished on the device
        self._newest: _Times | None = None  # of the newest step that the device has finished

    def _tell(self, last: tuple[Any, Any]) -> None:
        """Set compute_ns and input_ns of the step's report.  `last`: the marks of the step's part after its last wait.
        """
        report, count = self._worker.report, self._worker.step.count
        asked = None if self._asked is None or self._got is None else (self._asked, self._got)
        self._steps.append(_Step(count, report.work, [*self._parts, last], asked))
        self._asked = None
        while self._steps and (times := self._times(self._steps[0])):
            self._newest = times
            self._steps.popleft()
        known = self._newest
        if known and known.count == count and bool(known.work) == bool(report.work):
            report.compute_ns = int(known.compute_ns * (report.work / known.work if known.work else 1))
            report.input_ns = known.input_ns

    def _times(self, step: _Step) -> _Times | None:
        """Return the times of a step; None if the device has not finished it."""
        if self._device.elapsed_ns(*step.parts[-1]) is None:
            return None
        compute_ns = sum(self._device.elapsed_ns(*part) or 0 for part in step.parts)
        input_ns = max(1, self._device.elapsed_ns(*step.input) or 0) if step.input else 0
        return _Times(step.count, step.work, compute_ns, input_ns)
