# SPDX-License-Identifier: Apache-2.0
"""Split a worker's share of a step into micro-batches, if its memory does not hold all samples at once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from .._worker import worker
from ._optimizer import no_sync


def pieces(batch: Any) -> Iterator[tuple[Any, float]]:
    """Split the loader's batch into micro-batches that this worker's memory holds.  Yield each micro-batch and its
    share of the batch's samples, by which its mean loss is multiplied:

        for (x, y), share in eddis.pieces((x, y)):
            (loss_fn(model(x), y) * share).backward()

    batch: a tensor, or tuples, lists and dicts of tensors whose first dimension is the samples, equally long in all.
    Other values in them are passed on with every micro-batch.  All samples are in one micro-batch until a worker has
    run out of memory; after eddis.torch.init(pieces=True) the job then continues with fewer at once.  The share
    is 1 if the optimizer has loss="sum".

    The gradients of all micro-batches but the last only add up.  Call backward() once for each, unless inside of
    another no_sync.  Raises ValueError if there are no tensors or their lengths differ.
    """
    n = _length(batch)
    most = worker.step.piece if worker.in_step and worker.step.piece > 0 else n
    for at in range(0, max(n, 1), max(most, 1)):
        end = min(at + most, n)
        with no_sync() if end < n else contextlib.nullcontext():
            yield _part(batch, at, end), 1.0 if worker.is_sum or not n else (end - at) / n


def _length(batch: Any) -> int:
    """Return the length of the first dimension of all tensors in the batch.  Raises ValueError if the lengths differ, a
    tensor is a scalar or there is no tensor."""
    lengths = {t.shape[0] if t.dim() else None for t in _tensors(batch)}
    if len(lengths) != 1 or None in lengths:
        raise ValueError("a batch is cut along the first dimension of its tensors, which has to be as long in all of "
                         f"them; here it is {sorted(map(str, lengths))}")
    return lengths.pop()


def _tensors(batch: Any) -> Iterator[torch.Tensor]:
    """Yield all tensors in a batch, at any depth."""
    if torch.is_tensor(batch):
        yield batch
    elif isinstance(batch, Mapping):
        for value in batch.values():
            yield from _tensors(value)
    elif isinstance(batch, (tuple, list)):
        for value in batch:
            yield from _tensors(value)


def _part(batch: Any, at: int, end: int) -> Any:
    """Return a batch of the same structure with the samples number `at` to `end` - 1 of each tensor."""
    if torch.is_tensor(batch):
        return batch[at:end]
    if isinstance(batch, Mapping):
        return {name: _part(value, at, end) for name, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(_part(value, at, end) for value in batch))
    if isinstance(batch, (tuple, list)):
        return type(batch)(_part(value, at, end) for value in batch)
    return batch
