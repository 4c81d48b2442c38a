# SPDX-License-Identifier: Apache-2.0
"""Steps of scripts that make their batches themselves: without a DataLoader, by columns of a text or random numbers.

The steps are those of a loader whose samples are the rows of all steps: row r of step s is its sample s * batch + r.
So shares, re-planning, epochs and checkpoints are as with a loader.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Collection, Iterable, Iterator, Sized
from typing import Any

from torch.utils import data

from .. import _lib as L
from .._worker import Mark, worker
from ._kept import own_rows, shares
from ._loader import Loader, loader, start


class _Rows(data.Dataset):
    """The rows of all steps of an epoch, which hold nothing."""

    def __init__(self, n: int) -> None:
        self._n = n

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, number: int) -> int:
        return number


class Steps:
    """The result of `steps`: each loop over it is one epoch and yields the item of each step, or its number."""

    def __init__(self, items: Collection[Any], batch: int, rows: Loader) -> None:
        self.n, self.batch = len(items), batch
        self._items, self._loader = items, rows

    def __len__(self) -> int:
        """Return the number of steps of an epoch."""
        return self.n

    def __iter__(self) -> Iterator[Any]:
        """Yield the item of each step in the epoch, or its number from 0; after a restart, of those that are left."""
        return self.over(self._items)

    def epochs(self, n: int | range) -> Iterator[int]:
        """Yield the numbers of the remaining epochs, see Loader.epochs."""
        return self._loader.epochs(n)

    def shares(self) -> Iterator[int]:
        """Yield how many rows this worker has in each step of one epoch, for a script that draws so many at random:
        `for batch_size in steps.shares()`.  A worker without rows gets 2, which count nothing.  Raises RuntimeError
        while gradients are off, and after the last epoch."""
        if not self._loader.trains:
            raise RuntimeError("the shares of eddis.torch.steps are those of loops that train: this one begins while "
                               "gradients are off, or after the last epoch")
        for _ in self:
            own = rows()
            yield own.stop - own.start

    def over(self, items: Iterable[Any]) -> Iterator[Any]:
        """Yield an item for each step of one epoch, with the step in progress.  After a restart begin with the item of
        the first step that is left.  While gradients are off, and after the last epoch, yield the items alone, for
        loops that do not train.  Raises ValueError if there are more or fewer items than steps."""
        if isinstance(items, Sized) and len(items) != self.n:
            raise ValueError(f"there are {len(items)} items for the {self.n} steps of eddis.torch.steps: give it their "
                             "number")
        return self._over(iter(items)) if self._loader.trains else iter(items)

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

    def present(self) -> L.Step:
        """Return the step in progress, else the next one.  Raises RuntimeError if there is none.  Collective before the
        first step."""
        if worker.in_step:
            return worker.step
        start()
        self._check()
        if not (step := worker.plan_step(worker.next_step)):
            raise RuntimeError("the steps of eddis.torch.steps are over, so eddis.torch.rows has none: call it inside "
                               "of their loop, or before")
        return step


_steps: Steps | None = None  # those of this process


def steps(n: int | Collection[Any], *, batch: int, epochs: int = 0) -> Steps:
    """Make steps that follow the plan, for a script that makes its batches without a DataLoader.

        steps = eddis.steps(parts, batch=20)
        for epoch in steps.epochs(40):
            for part in steps:
                x, y = get_batch(columns[:, eddis.rows()], part)

    n: steps of an epoch, or an item for each, which has a length. batch: rows of each step, over all workers; the job's
    batch.global is the same. epochs: as of `loader`.

    A loop over it is one epoch, and yields the items, or the numbers of the steps; `over` yields an item for each of
    others, and `shares` the number of this worker's rows.  A process has one loader or one object of this kind.  So a
    call for as many steps of as many rows returns the same steps, with its items: it may be in the function that makes
    the loop.

    Raises ValueError for impossible numbers; RuntimeError for a call with others and, in the loop, for another
    batch.global, and in async, hybrid and local mode.
    """
    global _steps
    items = _items_of(n)
    if len(items) < 1 or batch < 1:
        raise ValueError(f"{n if isinstance(items, range) else len(items)} steps of {batch} rows: eddis.torch.steps "
                         "needs 1 or more of both")
    if _steps is None:
        _steps = Steps(items, batch, _loader_of(len(items), batch, epochs))
        worker.marks[Mark.BEGUN].append(shares.read)
        return _steps
    if (len(items), batch) != (_steps.n, _steps.batch):
        raise RuntimeError(f"there are {_steps.n} steps of {_steps.batch} rows already, and not {len(items)} of "
                           f"{batch}: all calls of eddis.torch.steps take the same numbers")
    if epochs not in (0, _steps._loader.n_epochs):
        raise RuntimeError(f"the steps have {_steps._loader.n_epochs or 'no number of'} epochs, and not {epochs}: give "
                           "epochs= to the first call of eddis.torch.steps")
    return Steps(items, batch, _steps._loader)


def _items_of(n: int | Collection[Any]) -> Collection[Any]:
    """Return the items of the steps, or their numbers.  Raises TypeError for what has no length."""
    if not isinstance(n, Sized):
        with contextlib.suppress(TypeError):
            return range(operator.index(n))
        raise TypeError("steps are made of their number or of items with a length, not of an object of type "
                        f"{type(n).__name__}: give eddis.torch.steps the number, and the items to steps.over")
    return n


def _loader_of(n: int, batch: int, epochs: int) -> Loader:
    """Return a loader of the rows of n steps.  Raises ValueError if workers that have no plan cannot share them out
    equally."""
    own = batch if worker.has_plan else batch // worker.n_joining
    if own * worker.n_joining != batch and not worker.has_plan:
        raise ValueError(f"steps of {batch} rows cannot be divided equally among {worker.n_joining} workers: start "
                         "the script by eddis-run")
    return loader(data.DataLoader(_Rows(n * batch), batch_size=own, drop_last=True), epochs)


def rows() -> slice:
    """Return this worker's rows of the present step: a slice of the numbers from 0 to the step's batch.

    Before the loop these are the rows of its first step, to fetch a batch ahead; the first such call joins the job on
    all workers, so `attach` comes before it.  A worker without rows gets two that count nothing.  Raises RuntimeError
    without steps, or if they are over, and in async, hybrid and local mode.
    """
    if not (worker.in_step or _steps):
        raise RuntimeError("eddis.torch.rows is for the loop over eddis.torch.steps, whose steps have rows: make the "
                           "steps before")
    if worker.is_several:
        raise RuntimeError("eddis.torch.rows needs sync.mode: sync, since there are no common steps in the job's mode, "
                           f"{worker.mode}")
    return own_rows(_steps.present() if _steps else worker.step)
