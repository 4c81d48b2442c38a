# SPDX-License-Identifier: Apache-2.0
"""Sums of a model, by which the library finds a worker whose model is no longer that of the others.

They are made on the parameters' devices, in double precision, a piece at a time so that no large copy is needed, and
only at the steps that ask for them.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch

from .. import _lib as L
from .._worker import Worker

PIECE = {"cpu": 1 << 16, "cuda": 1 << 22}  # elements that are double at once: a cache of theirs, or 32 MB


def tell_sums(worker: Worker, parameters: Iterable[torch.Tensor]) -> None:
    """With the step's report, where the step asks for them."""
    if worker.step.flags & L.STEP_SUMS:
        worker.report.sum, worker.report.squares = sums_of(parameters)
        worker.report.has_sums = 1


def sums_of(parameters: Iterable[torch.Tensor]) -> tuple[float, float]:
    """Of all elements, and of their squares."""
    sums: dict[torch.device, torch.Tensor] = {}
    with torch.no_grad():
        for parameter in parameters:
            values = parameter.detach()
            total = sums.setdefault(values.device, torch.zeros(2, dtype=torch.float64, device=values.device))
            for piece in _in_memory_order(values).split(PIECE[values.device.type]):
                exact = piece.double()
                total += torch.stack((exact.sum(), exact.dot(exact)))
        found = [total.tolist() for total in sums.values()]
    return sum(s for s, _ in found), sum(q for _, q in found)


def _in_memory_order(values: torch.Tensor) -> torch.Tensor:
    """All elements in one row, without a copy where they fill their memory."""
    if torch.ops.aten.is_non_overlapping_and_dense(values):
        return values.as_strided((values.numel(),), (1,))
    return values.reshape(-1)
