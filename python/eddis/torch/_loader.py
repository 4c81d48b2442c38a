# SPDX-License-Identifier: Apache-2.0
"""A DataLoader whose batches are what the plan gives this worker, step by step."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from torch.utils import data

from .. import _lib as L
from .._worker import MAX_READ_AHEAD, READ_AHEAD, READ_NONE, Mark, worker
from . import _draws

# What a DataLoader is made from, beside its data set and who chooses the samples.
_KEPT = ("num_workers", "collate_fn", "pin_memory", "timeout", "worker_init_fn", "multiprocessing_context",
         "generator", "prefetch_factor", "persistent_workers")
_REPLACED = (data.SequentialSampler, data.RandomSampler, data.distributed.DistributedSampler)


class _Sampler(data.Sampler):
    """The numbers of the samples of one epoch's steps, asked for ahead of their steps."""

    def __init__(self, samples: int) -> None:
        self.samples = samples
        self.epoch = 0  # no step of a later one
        self.told: deque[int] = deque()  # steps whose batches are under way

    def __iter__(self) -> Iterator[list[int]]:
        number = worker.next_step
        while (step := worker.plan_step(number)) and step.epoch <= self.epoch:
            self.told.append(number)
            # Without samples the loop runs all the same, with two that count nothing: batch normalisation cannot take
            # one, and clipping and schedulers are to go on as on the other workers.
            yield worker.sample_indices(step) or [0, 1 % self.samples]
            if step.flags & L.STEP_END_OF_EPOCH:
                return
            number += 1


class _Initialise:
    """What a process that reads samples begins with.  PyTorch has it take SIGTERM by then, by which it would end, and
    the script with it, where Slurm signals all processes so that the job saves."""

    def __init__(self, function: Callable[[int], None] | None) -> None:
        self.function = function

    def __call__(self, number: int) -> None:
        L.lib.eddis_pass_slurm_signals()
        if self.function:
            self.function(number)


class Loader:
    """What `loader` makes: iterated over once an epoch, it yields this worker's batch of each step."""

    def __init__(self, made_from: data.DataLoader, epochs: int) -> None:
        self.dataset = made_from.dataset
        self.drop_last = made_from.batch_sampler.drop_last
        self.iterations = 0  # over this, begun: the script's epochs
        self.is_inside = False  # of one
        self.on_entry: list[Callable[[], None]] = []  # once, when the next one begins
        self._epochs = epochs
        self._sampler = _Sampler(len(made_from.dataset))
        kept = {name: getattr(made_from, name) for name in _KEPT}
        if made_from.num_workers:
            kept["worker_init_fn"] = _Initialise(made_from.worker_init_fn)
        self._made_from = made_from
        self._inner = data.DataLoader(self.dataset, batch_sampler=self._sampler, **kept)
        worker.open()
        batch = made_from.batch_sampler.batch_size
        if not worker.has_plan and worker.world.batch != batch * worker.size:
            raise RuntimeError(f"the job was joined with batches of {worker.world.batch // worker.size} samples each, "
                               f"by a collective perhaps, the loader's are of {batch}: make eddis.torch.loader before")
        worker.set_data(len(self.dataset), epochs)

    def epochs(self, n: int) -> Iterator[int]:
        """The epochs that are left of n, for `for epoch in loader.epochs(n)`: all, or after a restart those that the
        checkpoint has not."""
        if not worker.committed:
            self._epochs = n
            worker.set_data(len(self.dataset), n)
        start()
        while self.iterations < n and not worker.over:
            before = self.iterations
            yield before
            if self.iterations == before:
                raise RuntimeError(f"epoch {before} went by without a loop over eddis.torch.loader, whose steps the "
                                   "other workers wait for: leave out `continue` before it")
        if not worker.is_several and n >= self._epochs > 0 and not worker.over:
            worker.end(is_left=True)  # loops were left by break, so there are steps that nobody wants any more
            worker.stop()
            worker.finish()

    def __len__(self) -> int:
        """Steps of an epoch; in async and hybrid mode about so many."""
        n, batch = len(self.dataset), worker.world.batch
        # What is left behind the last whole batch may be too little for any worker
        is_cut = self.drop_last or n % batch < worker.options.get("min_count", 0)
        return n // batch if is_cut else -(-n // batch)

    def __iter__(self) -> Iterator[Any]:
        start()
        worker.end(is_left=True)  # by break, which all workers do at the same batch
        worker.set_phase(L.PHASE_INPUT)
        # A worker may have no step of an epoch in async and hybrid mode: it comes to the same number of epochs.
        self._sampler.epoch = self.iterations
        self._sampler.told.clear()
        self.iterations += 1
        self.is_inside = True
        try:
            yield from self._steps()
            if worker.plan_step(worker.next_step) is None:
                worker.finish()
        finally:
            self.is_inside = False
        worker.set_phase(L.PHASE_EVALUATE)

    def _steps(self) -> Iterator[Any]:
        _draws.differ()
        self._inner.generator = _draws.of_loader(self._made_from, worker.next_step if self.on_entry else 0)
        batches = iter(self._inner)  # this draws a random number
        while self.on_entry:
            self.on_entry.pop()()
        for batch in self._marked(batches):
            if not self._begin(self._sampler.told.popleft()):
                break
            yield batch
            worker.end()
            if worker.step.flags & L.STEP_STOP:
                break

    @staticmethod
    def _marked(batches: Iterator[Any]) -> Iterator[Any]:
        worker.mark(Mark.ASKED)
        for batch in batches:
            worker.mark(Mark.GOT)
            yield batch
            worker.mark(Mark.ASKED)

    @staticmethod
    def _begin(number: int) -> bool:
        """Begin the step that the batch was read for; False: it is not done any more."""
        if not worker.begin():
            return False
        if worker.step.batch and worker.step.step != number:
            raise RuntimeError(f"a batch that was read for step {number} came at step {worker.step.step}")
        return worker.step.batch > 0


_loader: Loader | None = None


def the_loader() -> Loader:
    """The one of this process."""
    if _loader is None:
        raise RuntimeError("there is no eddis.torch.loader, which tells how many samples there are")
    return _loader


def loader(made_from: data.DataLoader, epochs: int = 0) -> Loader:
    """A loader of the same data set that follows the plan: this worker's share of each step, each sample once an
    epoch, in an order that the job's seed gives.

    made_from: its batch size, shuffling and DistributedSampler are replaced; workers, collate function and the rest are
    kept, and drop_last; without eddis-run the batch size is that of each worker.  epochs: how many the script will
    make; 0: unknown.  A job that knows ends all workers together and tells how long it will take; in async and hybrid
    mode it also gives every worker the samples of the last epoch.

    The batch a worker gets has unlike sizes from step to step.  A worker that gets no samples in a step gets two that
    count nothing.  Raises TypeError for an iterable data set and ValueError for other samplers.
    """
    global _loader
    dataset = made_from.dataset
    if isinstance(dataset, data.IterableDataset):
        raise TypeError("an iterable data set gives samples in its own order, so no plan can share them out: make it "
                        "one with __len__ and __getitem__, or leave eddis.torch.loader out and tell "
                        "eddis.progress the steps")
    if made_from.batch_sampler is None:
        raise ValueError("a loader with batch_size=None makes no batches: give it any batch size")
    if type(made_from.batch_sampler) is not data.BatchSampler:
        raise ValueError(f"a batch sampler of its own ({type(made_from.batch_sampler).__name__}) decides what "
                         "eddis.torch.loader has to: leave it out")
    sampler = made_from.batch_sampler.sampler
    chooses = isinstance(sampler, data.RandomSampler) and (sampler.replacement or sampler.num_samples != len(dataset))
    if type(sampler) not in _REPLACED or chooses:
        raise ValueError(f"the sampler {type(sampler).__name__} would be replaced by the plan's: leave it "
                         "out, or choose the samples by torch.utils.data.Subset")
    if _loader is not None:
        raise RuntimeError("there is a loader that follows the plan already: test data take an ordinary one")
    if len(dataset) < 1:
        raise ValueError("the data set is empty")
    _set_options(made_from)
    _loader = Loader(made_from, epochs)
    return _loader


def _set_options(made_from: data.DataLoader) -> None:
    ahead = made_from.num_workers * (made_from.prefetch_factor or 0)
    told = worker.options.get("read_ahead", READ_AHEAD if worker.handle else MAX_READ_AHEAD)
    if ahead > max(0, told):
        raise ValueError(f"{made_from.num_workers} processes that prefetch {made_from.prefetch_factor} batches each "
                         f"read {ahead} steps ahead: call eddis.torch.init(read_ahead={ahead}) before, at most "
                         f"{MAX_READ_AHEAD}")
    if not worker.handle:
        worker.options.setdefault("read_ahead", ahead or READ_NONE)
    if made_from.batch_sampler.drop_last:
        worker.set_options("make eddis.torch.loader before, as its drop_last has to be known", drop_last=1)
    if not worker.handle and not worker.has_plan:
        worker.options["batch"] = made_from.batch_sampler.batch_size * worker.n_joining


def start() -> None:
    """Before the first step, all is known: share it, and begin with one model.  The second time nothing."""
    if worker.committed:
        return
    the_loader()
    worker.commit()
    _draws.differ()  # before a checkpoint says which
    worker.begin_with()
