# SPDX-License-Identifier: Apache-2.0
"""keep_rows: what a script keeps from step to step for each row follows the rows when the plan changes.

All workers know the shares of all, so they know together whether rows have changed hands since the step before, and
only then send what they keep: each puts its rows into zeros of all rows, and the sum has every row's bits.
"""

from __future__ import annotations

import ctypes
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from .. import _lib as L
from .._worker import worker
from ._parts import FILLING


def own_rows(step: L.Step) -> slice:
    """Return this worker's rows of a step, numbers from 0 to the step's batch; two that count nothing if it has none.
    """
    count = step.count or min(FILLING, step.batch)
    first = min(step.first % step.batch if step.count else 0, step.batch - count)
    return slice(first, first + count)


class Shares:
    """The workers' shares of the present step and of the one before."""

    def __init__(self) -> None:
        self.counts: list[int] = []  # rows of each worker in the present step
        self.counts_before: list[int] = []  # in the step before; empty: it is not known
        self.own = self.own_before = slice(0)  # this worker's rows

    def read(self) -> None:
        """Read the shares as a step begins.  A callback of Worker.marks."""
        if not worker.in_step or worker.is_several or not worker.step.batch:
            return
        counts = (ctypes.c_int64 * worker.world.n_group_ranks)()
        L.call("counts", worker.handle, worker.step.step, counts)
        self.counts_before, self.counts = self.counts, list(counts)
        self.own_before, self.own = self.own, own_rows(worker.step)

    @property
    def have_changed(self) -> bool:
        """True on all workers if some worker's rows are not those of the step before."""
        return bool(self.counts_before) and self.counts_before != self.counts


shares = Shares()


def keep_rows(states: Any, dim: int = 1) -> Any:
    """Return what the script keeps for each row, for this worker's rows of the present step.

        hidden = model.init_hidden(20)
        for part in eddis.steps(parts, batch=20):
            x, y = get_batch(columns[:, eddis.rows()], part)
            output, hidden = model(x, eddis.keep_rows(hidden))

    states: tensors, or tuples, lists and dicts of them, whose dimension `dim` is the rows: those of all rows, the same
    on all workers, or what the step before has left for this worker's rows.  They are detached from their history.

    Call it once in each step for what is kept, on all workers; within a step pass on what the model returns.  When the
    plan has changed, the workers send each other what they keep for the rows that others have now.  After a restart it
    begins with what the script gives it.

    Raises RuntimeError outside of the loop over eddis.torch.steps, ValueError for states of other rows, and TypeError
    for an object that may hold tensors.  Collective when the plan has changed.
    """
    if not worker.in_step or not shares.counts:
        raise RuntimeError("eddis.torch.keep_rows is for the loop over eddis.torch.steps, whose steps have rows")
    leaves, spec = tree_flatten(states)
    for leaf in leaves:
        if not (leaf is None or torch.is_tensor(leaf) or isinstance(leaf, (bool, int, float, str, bytes))):
            raise TypeError(f"states of type {type(leaf).__name__}: eddis.torch.keep_rows takes tensors, and tuples, "
                            "lists and dicts of them")
    tensors = [leaf.detach() for leaf in leaves if torch.is_tensor(leaf)]
    for tensor in tensors:
        _check(tensor, dim)
    kept = iter(_exchanged(tensors, dim) if shares.have_changed and tensors else
                [_cut(tensor, dim, shares.own) for tensor in tensors])
    return tree_unflatten([next(kept) if torch.is_tensor(leaf) else leaf for leaf in leaves], spec)


def _length(rows: slice) -> int:
    """Return how many rows a slice has."""
    return rows.stop - rows.start


def _check(tensor: torch.Tensor, dim: int) -> None:
    """Raise ValueError if a tensor is neither of all rows nor of this worker's."""
    own = _length(shares.own_before if shares.have_changed else shares.own)
    size = tensor.size(dim) if -tensor.dim() <= dim < tensor.dim() else 0
    if size not in (own, worker.step.batch):
        raise ValueError(f"dimension {dim} of a tensor of shape {list(tensor.shape)} has {size} rows, but this worker "
                         f"had {own} in the step before, of {worker.step.batch}: call eddis.torch.keep_rows once "
                         "in each step, with dim= the dimension of the rows")


def _cut(tensor: torch.Tensor, dim: int, rows: slice) -> torch.Tensor:
    """Return these rows of a tensor of all rows; one of fewer as it is."""
    if tensor.size(dim) != worker.step.batch:
        return tensor
    return tensor.narrow(dim, rows.start, _length(rows)).contiguous()


def _exchanged(tensors: list[torch.Tensor], dim: int) -> list[torch.Tensor]:
    """Return this worker's rows of tensors of the rows that the workers had in the step before.  Collective."""
    whole = [_of_all_rows(tensor, dim) for tensor in tensors]
    memory = torch.cat([it.reshape(-1).view(torch.uint8) for it in whole])
    worker.collective(L.ALLREDUCE, memory, memory.numel(), dtype=L.UINT8, op=L.SUM)
    result, at = [], 0
    for tensor, it in zip(tensors, whole):
        n = it.numel() * it.element_size()
        all_rows = memory[at:at + n].clone().view(it.dtype).view(it.shape)
        result.append(_cut(all_rows, dim, shares.own).to(tensor.device))
        at += n
    return result


def _of_all_rows(tensor: torch.Tensor, dim: int) -> torch.Tensor:
    """Return a tensor of all rows on the CPU: those that this worker had in the step before, and zeros."""
    before = shares.own_before
    shape = list(tensor.shape)
    shape[dim] = worker.step.batch
    whole = torch.zeros(shape, dtype=tensor.dtype, device="cpu")
    if shares.counts_before[worker.rank]:
        whole.narrow(dim, before.start, _length(before)).copy_(_cut(tensor, dim, before))
    return whole
