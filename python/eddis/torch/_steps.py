# SPDX-License-Identifier: Apache-2.0
"""Steps of scripts that make their batches themselves: without a DataLoader, by columns of a text or random numbers.

The steps are those of a loader whose samples are the rows of all steps: row r of step s is its sample s * batch + r.
So shares, re-planning, epochs and checkpoints are as with a loader.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from typing import Any

from torch.utils import data

from .._worker import worker
from ._loader import Loader, loader
from ._parts import FILLING


class _Rows(data.Dataset):
    """The rows of all steps of an epoch, which hold nothing."""

    def __init__(self, n: int) -> None:
        self._n = n

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, number: int) -> int:
        return number


class Steps:
    """The result of `steps`: each loop over it is one epoch and yields the number of each step in it."""

    def __init__(self, n: int, batch: int, epochs: int) -> None:
        own = batch if worker.has_plan else batch // worker.n_joining
        if own * worker.n_joining != batch and not worker.has_plan:
            raise ValueError(f"steps of {batch} rows cannot be divided equally among {worker.n_joining} workers: start "
                             "the script by eddis-run")
        self.n, self.batch = n, batch
        self._loader: Loader = loader(data.DataLoader(_Rows(n * batch), batch_size=own, drop_last=True), epochs)

    def __len__(self) -> int:
        """Return the number of steps of an epoch."""
        return self.n

    def __iter__(self) -> Iterator[int]:
        """Yield the number of each step in the epoch, from 0; after a restart, of those that are left."""
        return self.over(range(self.n))

    def epochs(self, n: int | range) -> Iterator[int]:
        """Yield the numbers of the remaining epochs, see Loader.epochs."""
        return self._loader.epochs(n)

    def over(self, items: Iterable[Any]) -> Iterator[Any]:
        """Yield an item for each step of one epoch, with the step in progress.  After a restart begin with the item of
        the first step that is left.  Raises ValueError if there are more or fewer items than steps."""
        if isinstance(items, Sized) and len(items) != self.n:
            raise ValueError(f"there are {len(items)} items for the {self.n} steps of eddis.torch.steps: give it their "
                             "number")
        return self._over(iter(items))

    def _over(self, items: Iterator[Any]) -> Iterator[Any]:
        """Yield the item of each step, see `over`."""
        taken = 0
        item = None
        for _ in self._loader:
            self._check()
            while taken <= worker.step.step_in_epoch:
                try:
                    item = next(items)
                except StopIteration:
                    raise ValueError(f"the items end before step {taken} of the {self.n} steps of eddis.torch.steps: "
                                     "give it their number") from None
                taken += 1
            yield item

    def _check(self) -> None:
        """Raise RuntimeError if the job's steps are not those of the script."""
        if worker.is_several:
            raise RuntimeError("eddis.torch.steps needs sync.mode: sync, but the job's mode is "
                               f"{worker.mode}, in which workers make numbers of steps of their own")
        if worker.world.batch != self.batch:
            raise RuntimeError(f"the steps of the script have {self.batch} rows, the job's batch.global is "
                               f"{worker.world.batch}: set batch.global to {self.batch}")


def steps(n: int, *, batch: int, epochs: int = 0) -> Steps:
    """Make steps that follow the plan, for a script that makes its batches without a DataLoader.

        steps = eddis.steps(len(parts), batch=20)
        for epoch in steps.epochs(40):
            for part in steps.over(parts):
                x, y = get_batch(columns[:, eddis.rows()], part)

    n: steps of an epoch. batch: rows of each step, over all workers; the job's batch.global is the same. epochs: as of
    `loader`.  A process has one loader or one object of this kind.

    A loop over it is one epoch, and yields the numbers of the steps; `over` yields an item for each.  Raises ValueError
    for impossible numbers; RuntimeError for a second one and, in the loop, for another batch.global, and in async and
    hybrid mode.
    """
    if n < 1 or batch < 1:
        raise ValueError(f"{n} steps of {batch} rows: eddis.torch.steps needs 1 or more of both")
    return Steps(n, batch, epochs)


def rows() -> slice:
    """Return this worker's rows of the present step: a slice of the numbers from 0 to the step's batch.

    A worker without rows gets two that count nothing.  For random data take their number, s.stop - s.start.  Raises
    RuntimeError outside of the loop, and in async and hybrid mode.
    """
    if not worker.in_step:
        raise RuntimeError("eddis.torch.rows is for the loop over eddis.torch.steps, whose steps have rows")
    if worker.is_several:
        raise RuntimeError("eddis.torch.rows needs sync.mode: sync, since there are no common steps in the job's mode, "
                           f"{worker.mode}")
    step = worker.step
    count = step.count or min(FILLING, step.batch)
    first = min(step.first % step.batch if step.count else 0, step.batch - count)
    return slice(first, first + count)
