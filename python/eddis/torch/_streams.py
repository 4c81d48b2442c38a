# SPDX-License-Identifier: Apache-2.0
"""Loaders of iterable data sets: each worker divides its own stream of samples into batches of the plan's sizes.

The plan knows no number of samples, so the library's epoch never ends.  Before each step the workers agree whether all
of them have the samples of their share; if one has not, the epoch of all is over, and the next loop begins all streams
anew.  Which samples a stream has is the data set's affair.
"""

from __future__ import annotations

import ctypes
import itertools
from collections import deque
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils import data

from .. import _lib as L
from .._worker import Mark, worker
from . import _draws
from ._loader import Loader, Loop, kept_of
from ._parts import FILLING, parts, sizes_of

SAMPLES = 1 << 40  # of an epoch of the library, which never ends


def check_stream(made_from: data.DataLoader) -> None:
    """Raise TypeError or ValueError for a DataLoader whose stream cannot be divided into batches."""
    if not isinstance(made_from.dataset, data.IterableDataset):
        raise TypeError("eddis.torch.loader(stream=True) is for iterable data sets: leave stream out, for one with "
                        "__getitem__")
    if type(made_from) is not data.DataLoader:
        raise TypeError("a stream is read by a torch.utils.data.DataLoader, not by a "
                        f"{type(made_from).__name__}, whose batches may not be made of others")
    if made_from.batch_size is None:
        raise ValueError("a stream with batch_size=None is of batches already, which the plan cannot size: let the "
                         "data set yield samples, and give the DataLoader any batch size")


def _listed(samples: list[Any]) -> list[Any]:
    """Return the samples as they are.  A collate function."""
    return samples


class _Stream:
    """Iterates over this worker's samples, as batches of its share of each step."""

    def __init__(self, made_from: data.DataLoader) -> None:
        self._collate, self._pins = made_from.collate_fn, made_from.pin_memory and torch.cuda.is_available()
        self._reader = data.DataLoader(made_from.dataset, batch_size=made_from.batch_size,
                                       **{**kept_of(made_from), "collate_fn": _listed, "pin_memory": False})
        self.epoch = 0  # not used: steps are of no epoch
        self.told: deque[int] = deque()  # numbers of the steps whose batches were read

    @property
    def generator(self) -> torch.Generator | None:
        """The generator that seeds the reader's processes."""
        return self._reader.generator

    @generator.setter
    def generator(self, generator: torch.Generator | None) -> None:
        self._reader.generator = generator

    def __iter__(self) -> Iterator[list[Any]]:
        """Yield the batches of all parts of each step, until the stream ends or has fewer samples than the next step
        takes."""
        samples = itertools.chain.from_iterable(self._reader)
        number = worker.next_step
        taken: list[Any] = []  # samples that no step has counted yet
        while step := worker.plan_step(number):
            least = step.count or FILLING
            taken += itertools.islice(samples, max(0, least - len(taken)))
            if len(taken) < least:
                return
            yield [self._batch(part or taken[:FILLING]) for part in self._divided(taken, step.count)]
            taken = taken[step.count:]  # of a step without a share they have only filled the batch
            number += 1

    @staticmethod
    def _divided(taken: list[Any], count: int) -> Iterator[list[Any]]:
        """Yield the samples of each part of a step."""
        left = iter(taken)
        for n in sizes_of(count, parts.n):
            yield list(itertools.islice(left, n))

    def _batch(self, samples: list[Any]) -> Any:
        """Return the batch of these samples."""
        batch = self._collate(samples)
        return data._utils.pin_memory.pin_memory(batch) if self._pins else batch


class StreamLoader(Loader):
    """The result of `loader` with stream=True."""

    has_length = False

    def _make_reader(self) -> None:
        """Make what reads the batches, see Loader."""
        self.drop_last = True
        self.sampler = self._made_from.sampler
        self._sampler = self._inner = _Stream(self._made_from)

    def _set_data(self) -> None:
        """Give the library the size of the data: it is unknown."""
        worker.set_data(SAMPLES, 0)

    def __len__(self) -> int:
        """Raise TypeError: nobody knows how many steps the streams have."""
        raise TypeError("the number of steps of eddis.torch.loader(stream=True) is not known, since the workers' "
                        "streams may end at any")

    def _read(self, loop: Loop) -> bool:
        """Read the batches of the next step and begin it.  Return False if the stream of some worker has ended.
        Collective."""
        _draws.differ()
        if worker.plan_step(worker.next_step) is None:
            return False
        worker.mark(Mark.ASKED)
        batches = next(loop.batches, None)
        worker.mark(Mark.GOT)
        lacking = _first_without(batches is not None)
        if lacking is not None and not loop.n_ended:
            raise RuntimeError(f"the stream of rank {lacking} has fewer samples than its batch of the first step of an "
                               "epoch, so the epoch would have no steps: give each worker more samples, or set a "
                               "smaller batch.global")
        if lacking is not None or not self._begin(worker.next_step):
            return False
        self._have(loop, batches)
        return True


def _first_without(has_own: bool) -> int | None:
    """Return the first worker that lacks samples of its share; None if all have them.  Collective."""
    if worker.is_several:
        raise RuntimeError("eddis.torch.loader(stream=True) needs sync.mode: sync, but the job's mode is "
                           f"{worker.mode}, in which workers make numbers of steps of their own")
    own = worker.size if has_own else worker.rank
    if worker.size > 1:
        first = (ctypes.c_int64 * 1)(own)
        worker.collective(L.ALLREDUCE, first, 1, dtype=L.INT64, op=L.MIN)
        own = first[0]
    return own if own < worker.size else None
