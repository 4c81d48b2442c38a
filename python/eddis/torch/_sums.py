# SPDX-License-Identifier: Apache-2.0
"""Sums of a model's elements, by which the library finds a worker whose model differs from the others'.

They are computed on the parameters' devices in double precision, one chunk at a time so that no large copy is needed,
and only at steps that request them.  The host waits for them there: the library takes them with that step's report
alone, and they are of the parameters after its update.

A parameter may contain infinities from the start, as a mask does, or NaN, if nothing has set it and nothing uses it.
Of such a parameter only the finite elements are compared.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import torch

from .. import _lib as L
from .._worker import Worker, say

PIECE = {"cpu": 1 << 16, "cuda": 1 << 22}  # elements converted to double at once: a cache's size, or 32 MB

_partial: set[torch.Tensor] = set()  # parameters that had non-finite elements from the start


def look_for_partial(worker: Worker, named: Iterable[tuple[str, torch.Tensor]]) -> None:
    """Find the parameters that the script has created with non-finite elements, and have rank 0 print a message.  All
    workers use rank 0's result.  It runs before a checkpoint is read, so that NaN from training is not included.  Only
    in sync mode with several workers.  Collective."""
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
        say(f"parameter '{first}'{more} NaN or infinity from the start: where the workers' models are compared, only "
            "finite elements count there")


def tell_sums(worker: Worker, parameters: Iterable[torch.Tensor]) -> None:
    """Add the sums of these parameters to the step's report, if the step requests them."""
    if worker.step.flags & L.STEP_SUMS:
        worker.report.sum, worker.report.squares = sums_of(parameters, _partial)
        worker.report.has_sums = 1


def sums_of(parameters: Iterable[torch.Tensor], partial: Collection[torch.Tensor] = ()) -> tuple[float, float]:
    """Return the sum of all elements and the sum of their squares, in double precision.

    partial: parameters whose non-finite elements count as 0.
    """
    sums: dict[torch.device, torch.Tensor] = {}
    with torch.no_grad():
        for piece, is_partial in _pieces(parameters, partial):
            exact = piece.double()
            if is_partial:
                exact = exact.nan_to_num(0.0, 0.0, 0.0)
            total = sums.setdefault(piece.device, torch.zeros(2, dtype=torch.float64, device=piece.device))
            total += torch.stack((exact.sum(), exact.dot(exact)))
        found = [total.tolist() for total in sums.values()]
    return sum(s for s, _ in found), sum(q for _, q in found)


def _pieces(parameters: Iterable[torch.Tensor],
            partial: Collection[torch.Tensor]) -> Iterator[tuple[torch.Tensor, bool]]:
    """Yield the elements of these parameters in rows of up to PIECE elements, each with whether it is of a parameter in
    `partial`.  A row holds several small parameters: the time that each operation takes is then that of its elements.
    """
    row: list[torch.Tensor] = []  # of one device, one type and one value of is_partial
    last: tuple[Any, ...] = ()
    n = 0
    for parameter in parameters:
        values = _in_memory_order(parameter.detach())
        kind = values.device, values.dtype, parameter in partial
        if row and (kind != last or n + values.numel() > PIECE[values.device.type]):
            yield torch.cat(row), last[-1]
            row, n = [], 0
        last = kind
        if values.numel() > PIECE[values.device.type]:
            yield from ((piece, last[-1]) for piece in values.split(PIECE[values.device.type]))
            continue
        row.append(values)
        n += values.numel()
    if row:
        yield torch.cat(row), last[-1]


def _in_memory_order(values: torch.Tensor) -> torch.Tensor:
    """Return all elements as one row, without a copy if they fill their memory without gaps."""
    if torch.ops.aten.is_non_overlapping_and_dense(values):
        return values.as_strided((values.numel(),), (1,))
    return values.reshape(-1)
