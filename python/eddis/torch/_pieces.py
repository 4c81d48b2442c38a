# SPDX-License-Identifier: Apache-2.0
"""A step's share of samples by micro-batches, where the memory does not hold all at once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from .._worker import worker
from ._optimizer import no_sync


def pieces(batch: Any) -> Iterator[tuple[Any, float]]:
    """Cut the loader's batch into micro-batches that this worker's memory holds; yields each, and its share of the
    batch's samples, by which the mean loss over it is multiplied:

        for (x, y), share in eddis.pieces((x, y)):
            (loss_fn(model(x), y) * share).backward()

    batch: a tensor, or tuples, lists and dicts of tensors whose first dimension is the samples, as many in each; what
    else these hold is given with every piece.  All samples at once until a worker has run out of memory, after
    eddis.torch.init(pieces=True): the job then goes on with half as many at once.  The share is 1 where the
    optimizer was told loss="sum".
    The gradients of all pieces but the last only add up.  One backward() a piece, unless inside of another no_sync.
    Raises ValueError for tensors of unlike length, or none.
    """
    n = _length(batch)
    most = worker.step.piece if worker.in_step and worker.step.piece > 0 else n
    for at in range(0, max(n, 1), max(most, 1)):
        end = min(at + most, n)
        with no_sync() if end < n else contextlib.nullcontext():
            yield _part(batch, at, end), 1.0 if worker.is_sum or not n else (end - at) / n


def _length(batch: Any) -> int:
    lengths = {t.shape[0] if t.dim() else None for t in _tensors(batch)}
    if len(lengths) != 1 or None in lengths:
        raise ValueError("a batch is cut along the first dimension of its tensors, which has to be as long in all of "
                         f"them; here it is {sorted(map(str, lengths))}")
    return lengths.pop()


def _tensors(batch: Any) -> Iterator[torch.Tensor]:
    if torch.is_tensor(batch):
        yield batch
    elif isinstance(batch, Mapping):
        for value in batch.values():
            yield from _tensors(value)
    elif isinstance(batch, (tuple, list)):
        for value in batch:
            yield from _tensors(value)


def _part(batch: Any, at: int, end: int) -> Any:
    if torch.is_tensor(batch):
        return batch[at:end]
    if isinstance(batch, Mapping):
        return {name: _part(value, at, end) for name, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(_part(value, at, end) for value in batch))
    if isinstance(batch, (tuple, list)):
        return type(batch)(_part(value, at, end) for value in batch)
    return batch
