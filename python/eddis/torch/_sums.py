# SPDX-License-Identifier: Apache-2.0
"""Sums of a model, by which the library finds a worker whose model is no longer that of the others.

They are made on the parameters' devices, in double precision, a piece at a time so that no large copy is needed, and
only at the steps that ask for them.  A parameter may hold infinities from the start, as a mask does, or no numbers, as
one that nothing has set and nothing uses: its finite elements alone are compared.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Iterable

import torch

from .. import _lib as L
from .._worker import Worker

PIECE = {"cpu": 1 << 16, "cuda": 1 << 22}  # elements that are double at once: a cache of theirs, or 32 MB

_partial: set[torch.Tensor] = set()  # parameters that began with elements that are not finite


def look_for_partial(worker: Worker, named: Iterable[tuple[str, torch.Tensor]]) -> None:
    """Find the parameters that the script has made with elements that are not finite, and have rank 0 say so.  All
    workers take what rank 0 finds.  A checkpoint is not read yet: what training has made NaN is none of them.
    Collective."""
    if worker.size == 1 or worker.is_several:
        return
    made = list(named)
    odd = torch.tensor([not all(map(math.isfinite, sums_of([p]))) for _, p in made], dtype=torch.uint8, device="cpu")
    worker.collective(L.BROADCAST, odd, odd.numel())
    found = {p: name for (name, p), is_odd in zip(made, odd.tolist()) if is_odd}
    _partial.update(found)
    if found and worker.rank == 0:
        first, *others = found.values()
        more = f" and {len(others)} more hold" if others else " holds"
        print(f"eddis: parameter '{first}'{more} NaN or infinity from the start: where the workers' models are "
              "compared, only finite elements count there", file=sys.stderr, flush=True)


def tell_sums(worker: Worker, parameters: Iterable[torch.Tensor]) -> None:
    """With the step's report, where the step asks for them."""
    if worker.step.flags & L.STEP_SUMS:
        worker.report.sum, worker.report.squares = sums_of(parameters, _partial)
        worker.report.has_sums = 1


def sums_of(parameters: Iterable[torch.Tensor], partial: Collection[torch.Tensor] = ()) -> tuple[float, float]:
    """Return the sum of all elements, and of their squares.

    partial: parameters whose non-finite elements count as 0.
    """
    sums: dict[torch.device, torch.Tensor] = {}
    with torch.no_grad():
        for parameter in parameters:
            values = parameter.detach()
            total = sums.setdefault(values.device, torch.zeros(2, dtype=torch.float64, device=values.device))
            for piece in _in_memory_order(values).split(PIECE[values.device.type]):
                exact = piece.double()
                if parameter in partial:
                    exact = exact.nan_to_num(0.0, 0.0, 0.0)
                total += torch.stack((exact.sum(), exact.dot(exact)))
        found = [total.tolist() for total in sums.values()]
    return sum(s for s, _ in found), sum(q for _, q in found)


def _in_memory_order(values: torch.Tensor) -> torch.Tensor:
    """All elements in one row, without a copy where they fill their memory."""
    if torch.ops.aten.is_non_overlapping_and_dense(values):
        return values.as_strided((values.numel(),), (1,))
    return values.reshape(-1)
