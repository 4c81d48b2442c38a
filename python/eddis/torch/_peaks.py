# SPDX-License-Identifier: Apache-2.0
"""Report the most memory of its GPUs that this worker has held, from which eddis-run learns how many samples fit."""

from __future__ import annotations

import torch

from .._worker import Mark, Worker
from ._own_gpu import own_gpus

_FIRST = 8  # steps with equally many samples in which the peak may still grow
_THEN = 16  # steps between two looks behind them: a look takes a tenth of a millisecond


class Peaks:
    """The peak of what PyTorch has reserved on the GPUs, looked up at some steps and reported at all: the library would
    take the process's own peak for that of a step without a report."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._count = 0  # samples of the step before
        self._steps = 0  # steps with that many
        self._bytes = 0  # the peak at the last look
        worker.marks[Mark.ENDS].append(self._report)

    def _report(self) -> None:
        """Fill in the report of the step that ends.  A callback of Worker.marks."""
        if not torch.cuda.is_initialized():
            return
        count = self._worker.step.count
        self._steps = self._steps + 1 if count == self._count else 0
        self._count = count
        if self._steps < _FIRST or self._steps % _THEN == 0:
            own = own_gpus(self._worker)  # the plan counts with so many times the memory of the least
            self._bytes = len(own) * max(map(torch.cuda.max_memory_reserved, own))
        self._worker.report.memory_bytes = self._bytes
