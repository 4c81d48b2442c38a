# SPDX-License-Identifier: Apache-2.0
"""A DataLoader whose batches are this worker's share of each step, as the plan sets it."""

from __future__ import annotations

import copy
import itertools
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils import data

from .. import _lib as L
from .._worker import MAX_READ_AHEAD, READ_AHEAD, READ_NONE, Mark, say, worker
from . import _draws
from ._batchnorm import tell_of_one_value
from ._parts import FILLING, parts, sizes_of
from ._processes import AHEAD, PREFETCH, Processes
from ._rows import rows_of
from ._splits import compare_subsets

# Arguments of a DataLoader besides its data set and its samplers.
_KEPT = ("num_workers", "collate_fn", "pin_memory", "timeout", "worker_init_fn", "multiprocessing_context",
         "generator", "prefetch_factor", "persistent_workers")
OWN_AHEAD = 2  # batches that a class derived from DataLoader may take before the script's loop asks for them
# What to do with a sampler of the script's own
_OTHERWISE = ("leave it out, choose the samples by torch.utils.data.Subset, or have an iterable data set yield them in "
              "its own order to eddis.torch.loader(stream=True)")
_REPLACED = (data.SequentialSampler, data.RandomSampler, data.distributed.DistributedSampler)


class _Sampler(data.Sampler):
    """A batch sampler: yields the numbers of this worker's samples in each step of one epoch, before these steps begin.
    """

    def __init__(self, samples: int) -> None:
        self.samples = samples
        self.epoch = 0  # yields no step of a later epoch
        self.told: deque[int] = deque()  # numbers of the steps whose batches are being read, once for each part

    def __iter__(self) -> Iterator[list[int]]:
        number = worker.next_step
        while (step := worker.plan_step(number)) and step.epoch <= self.epoch:
            indices = iter(worker.sample_indices(step))
            for n in sizes_of(step.count, parts.n):
                self.told.append(number)
                # Without samples the loop's body runs, too, with two samples that count nothing: clipping and
                # schedulers go on as on the other workers, and batch normalisation cannot take one sample.
                yield list(itertools.islice(indices, n)) or [i % self.samples for i in range(FILLING)]
            if step.flags & L.STEP_END_OF_EPOCH:
                return
            number += 1


class _Initialise:
    """The initialisation of a process that reads samples: worker_init_fn for a DataLoader.  PyTorch makes such a
    process end on SIGTERM, and then the script ends, too.  But Slurm signals all processes of a job so that it saves.
    So the process ignores Slurm's SIGTERM and SIGUSR1, and then calls the script's own function."""

    def __init__(self, function: Callable[[int], None] | None) -> None:
        self.function = function

    def __call__(self, number: int) -> None:
        L.lib.eddis_pass_slurm_signals()
        if self.function:
            self.function(number)


class _Order:
    """The loader's `sampler` attribute: it passes on the attributes of the script's own sampler, but the plan chooses
    the samples."""

    def __init__(self, replaced: data.Sampler) -> None:
        self._replaced = replaced

    def set_epoch(self, epoch: int) -> None:
        """Pass the epoch to a DistributedSampler, for loops that do not train.  The plan's order differs in each epoch
        anyway."""
        if hasattr(self._replaced, "set_epoch"):
            self._replaced.set_epoch(epoch)

    def __len__(self) -> int:
        return len(self._replaced)

    def __iter__(self) -> Iterator[int]:
        raise TypeError("the plan chooses the samples of eddis.torch.loader, step by step: have the data set return "
                        "their numbers, and take them from the batches")

    def __getattr__(self, name: str) -> Any:
        """Return any other attribute from the script's own sampler.  Raises AttributeError for a name that begins with
        "_", even if that sampler has it."""
        if name.startswith("_"):
            raise AttributeError(f"the sampler of eddis.torch.loader has no {name}")
        return getattr(self._replaced, name)


class Loop:
    """One loop over the loader: its iterator of batches, and the parts of the batch that the script has."""

    def __init__(self, batches: Iterator[Any]) -> None:
        self.batches = batches
        self.parts: list[Any] = []
        self.has_batch = False
        self.n_ended = 0  # steps that ended in the loop
        self.is_epoch = False  # the loop counts as an epoch of the script
        self.turn = 0  # how often the script has begun or continued the loop


class Loader:
    """The result of `loader`: each iteration over it is one epoch and yields this worker's batch of each step."""

    has_length = True  # the number of steps of an epoch is known

    def __init__(self, made_from: data.DataLoader, epochs: int, processes: Processes | None = None) -> None:
        self.dataset = made_from.dataset
        self.iterations = 0  # iterations over this object that were begun: the script's epochs
        self.is_inside = False  # inside of an iteration
        self.on_entry: list[Callable[[], None]] = []  # called once, when the next iteration begins
        self._made_from = made_from
        self._epochs = epochs
        self._processes = processes  # None: as many as made_from has
        self._are_over = False  # `epochs` has yielded its last epoch
        self._loop: Loop | None = None  # the newest loop
        self._has_begun = False  # a loop has begun in this epoch
        self._has_told_rows = False  # the message that batches hold fewer samples than planned was printed
        self._make_reader()
        if worker.handle:
            self.join()

    def _make_reader(self) -> None:
        """Make what reads the batches."""
        self.drop_last = _batches_of(self._made_from).drop_last
        self.sampler = _Order(_batches_of(self._made_from).sampler)
        self._sampler: Any = _Sampler(len(self.dataset))
        self._inner: Any = _reader(self._made_from, self._sampler)

    def _set_data(self) -> None:
        """Give the library the size of the data."""
        worker.set_data(len(self.dataset), self._epochs)

    def join(self) -> None:
        """Join the job, unless this worker has joined, and give it the data's size.  Not earlier than needed, so that
        `attach` may come after the loader.  Raises RuntimeError if the job was joined with other batches.  Collective.
        """
        worker.open()
        batch = _batches_of(self._made_from).batch_size * parts.n
        if not worker.has_plan and worker.world.batch != batch * worker.size:
            raise RuntimeError(f"the job was joined with batches of {worker.world.batch // worker.size} samples each, "
                               f"by a collective perhaps, the loader's are of {batch}: make eddis.torch.loader before")
        self._set_data()

    def epochs(self, n: int | range) -> Iterator[int]:
        """Yield the numbers of the remaining epochs of n, for `for epoch in loader.epochs(n)`: all, or after a restart
        those that the checkpoint does not contain.  A range has the numbers themselves, as range(1, n + 1).  Raises
        RuntimeError for an epoch without a loop over the loader."""
        return self._epochs_of(n if isinstance(n, range) else range(n))

    def _epochs_of(self, numbers: range) -> Iterator[int]:
        """Yield these numbers of epochs, see `epochs`."""
        n = len(numbers)
        if not worker.committed:
            self._epochs = n
        start()
        self._give_back()
        self._are_over = False
        while self.iterations < n and not worker.over:
            before = self.iterations
            self._has_begun = False
            yield numbers[before]
            self._give_back()
            if self.iterations == before and not self._has_begun:
                raise RuntimeError(f"epoch {numbers[before]} went by without a loop over eddis.torch.loader, whose "
                                   "steps the other workers wait for: remove `continue` before it")
            self.iterations = max(self.iterations, before + 1)
        if not worker.is_several and n >= self._epochs > 0 and not worker.over:
            worker.end(is_left=True)  # loops were left by break, so steps are left that nobody will make
            if self.has_length:
                worker.stop()
            worker.finish()
        if worker.complete:
            worker.complete(True)
        self._are_over = True

    def set_epoch(self, epoch: int) -> None:
        """Accept the epoch, for scripts that set it on their sampler.  The order differs in each epoch anyway."""
        self.sampler.set_epoch(epoch)

    def __len__(self) -> int:
        """Return the number of batches of an epoch: one for each step, or one for each of its parts.  In async,
        hybrid and local mode it is an estimate.  Joins the job.  Collective before the first step."""
        if not (worker.handle or worker.committed):
            self.join()
        n, batch = len(self.dataset), worker.world.batch
        # The rest after the last whole batch may be too small for any worker
        is_cut = self.drop_last or n % batch < worker.options.get("min_count", 0)
        return (n // batch if is_cut else -(-n // batch)) * parts.n

    @property
    def parts(self) -> list[Any]:
        """The batches of all parts of the present step."""
        return self._loop.parts if self._loop else []

    @property
    def part(self) -> int:
        """Number of the part of the step that the loop has, from 0."""
        return parts.at

    @property
    def counts(self) -> list[int]:
        """The samples that count in each part of the present step; 0: those of the part only fill it."""
        return parts.counts

    def __getattr__(self, name: str) -> Any:
        """Return any other attribute from the script's DataLoader."""
        if name.startswith("_"):
            raise AttributeError(f"eddis.torch.Loader has no {name}")
        return getattr(self._made_from, name)

    def __iter__(self) -> Iterator[Any]:
        """Return an iterator over the batches of an epoch.  If gradients are off, or after the last epoch, iterate over
        the script's own DataLoader instead, for loops that do not train."""
        return self._train() if self.trains else iter(self._made_from)

    @property
    def trains(self) -> bool:
        """Whether a loop that begins now trains: gradients are on, and the last epoch is not over."""
        return not self._are_over and torch.is_grad_enabled()

    @property
    def n_epochs(self) -> int:
        """The number of epochs; 0: unknown."""
        return self._epochs

    def _train(self) -> Iterator[Any]:
        """Yield the batches of an epoch, each with its step in progress.  At the end of the last epoch end all steps.
        """
        start()
        self._has_begun = True
        loop = self._begin_loop()
        turn = loop.turn
        self.is_inside = True
        try:
            yield from self._steps(loop)
            if worker.plan_step(worker.next_step) is None:
                worker.finish()
        finally:
            if self._loop is loop and loop.turn == turn:  # no later loop continues it
                self.is_inside = False
                self._give_back()
        worker.set_phase(L.PHASE_EVALUATE)

    def _begin_loop(self) -> Loop:
        """Return the loop to iterate over: the previous one if it was left with a batch that nobody has used, else a
        new one."""
        self._give_back()
        if not self._is_unused():
            worker.end(is_left=True)  # left by break, which all workers do at the same batch
            worker.set_phase(L.PHASE_INPUT)
            self._loop = None
        # In async and hybrid mode a worker may have no step in an epoch.  It still makes the same number of epochs.
        self._sampler.epoch = self.iterations
        if self._loop is None:
            if self._processes and self._processes.begin():
                self._inner = _reader(self._made_from, self._sampler, self._processes.n)
            self._sampler.told.clear()
            _draws.differ()
            self._inner.generator = _draws.of_loader(self._made_from, worker.next_step if self.on_entry else 0)
            self._loop = Loop(iter(self._inner))  # iter() draws a random number
        while self.on_entry:
            self.on_entry.pop()()
        self._loop.turn += 1
        self._loop.n_ended = 0
        self._loop.is_epoch = True
        self.iterations += 1
        worker.loops = self.iterations
        return self._loop

    def _is_unused(self) -> bool:
        """Check whether the last loop was left with a batch whose step the script has not used."""
        return self._loop is not None and self._loop.has_batch and worker.in_step and not worker.is_touched

    def _give_back(self) -> None:
        """If the script only looked at the first batch of a loop, do not count the loop as an epoch: the next loop
        begins with that batch."""
        if self._is_unused() and self._loop.is_epoch and not self._loop.n_ended:
            self._loop.is_epoch = False
            self.iterations -= 1

    def _steps(self, loop: Loop) -> Iterator[Any]:
        """Yield the loop's batches and end the step after each.  Raises RuntimeError if another loop has begun
        meanwhile."""
        turn = loop.turn
        while loop.has_batch or self._read(loop):
            for part in range(parts.n):
                parts.follow(part)
                yield loop.parts[part]
                if self._loop is not loop or loop.turn != turn:
                    raise RuntimeError("a loop over eddis.torch.loader continues after another loop that began later: "
                                       "end each before the next one, for all workers make its steps together")
            parts.end()
            loop.parts, loop.has_batch = [], False
            worker.end()
            loop.n_ended += 1
            if worker.step.flags & L.STEP_STOP:
                break

    def _read(self, loop: Loop) -> bool:
        """Read the batch of the next step, all parts of it, and begin the step.  Return False if the epoch is over.
        Raises RuntimeError if the script's DataLoader does not yield one batch per step, or part of it."""
        told, name = self._sampler.told, type(self._made_from).__name__
        _draws.differ()  # the script may have seeded in the previous step
        worker.mark(Mark.ASKED)
        batches = list(itertools.islice(loop.batches, parts.n))
        if len(batches) < parts.n:
            if told and not worker.over:
                raise RuntimeError(f"{name}.__iter__ has ended with {len(told) - len(batches)} batches left, whose "
                                   "steps the other workers wait for: have it yield one batch for each that it gets")
            return False
        worker.mark(Mark.GOT)
        if len(told) < parts.n:
            raise RuntimeError(f"{name}.__iter__ has yielded a batch that is of no step: have it yield one batch for "
                               "each that it gets from DataLoader.__iter__")
        number = [told.popleft() for _ in batches][0]
        if not self._begin(number):
            return False
        self._have(loop, batches)
        return True

    def _have(self, loop: Loop, batches: list[Any]) -> None:
        """Give the loop the batches of the step that has begun."""
        loop.parts, loop.has_batch = batches, True
        counts = self._weigh(batches)
        parts.begin(counts)
        piece = max(worker.step.piece, 1)
        if any(1 in (held, min(held, piece), held % piece) for held in counts):
            tell_of_one_value()

    def _weigh(self, batches: list[Any]) -> list[int]:
        """Return the number of samples that each part of the step's batch holds.  If it is smaller than planned, make
        it the step's weight and print a message once.  With PyTorch's own collate function it is the planned number."""
        made_from, planned = self._made_from, sizes_of(worker.step.count, parts.n)
        if not worker.step.count or \
                type(made_from) is data.DataLoader and made_from.collate_fn is data.default_collate:
            return planned
        held = [min(n, rows_of(batch, n)) for batch, n in zip(batches, planned)]
        if held != planned:
            worker.hold(sum(held))
            if not self._has_told_rows:
                self._has_told_rows = True
                say("some batches hold fewer samples than the plan: their gradients count for what they hold; where a "
                    "loss is a mean over something else call eddis.torch.set_weight")
        return held

    @staticmethod
    def _begin(number: int) -> bool:
        """Begin step `number`, for which the batch was read; return False if there are no more steps.  Raises
        RuntimeError if the step that begins has another number."""
        if not worker.begin():
            return False
        if worker.step.batch and worker.step.step != number:
            raise RuntimeError(f"a batch that was read for step {number} came at step {worker.step.step}")
        return worker.step.batch > 0


def _reader(made_from: data.DataLoader, sampler: _Sampler, n: int | None = None) -> data.DataLoader:
    """Return a DataLoader of the same kind whose batches the sampler chooses.  n: its processes; None: as many as
    made_from has."""
    kept = kept_of(made_from, n)
    if type(made_from) is data.DataLoader or made_from.batch_sampler is not _batches_of(made_from):
        return data.DataLoader(made_from.dataset, batch_sampler=sampler, **kept)
    # The constructor of a derived class is unknown, so copy the object and replace its sampler.
    reader = copy.copy(made_from)
    vars(reader).update({name: kept[name] for name in ("num_workers", "prefetch_factor", "worker_init_fn")},
                        batch_sampler=sampler, in_order=True, _iterator=None)
    return reader


def kept_of(made_from: data.DataLoader, n: int | None = None) -> dict[str, Any]:
    """Return the arguments of a DataLoader besides its data set and its samplers, for another one of n processes;
    None: of as many."""
    kept = {name: getattr(made_from, name) for name in _KEPT}
    if n:
        kept.update(num_workers=n, prefetch_factor=made_from.prefetch_factor or PREFETCH)
    if kept["num_workers"]:
        kept["worker_init_fn"] = _Initialise(made_from.worker_init_fn)
    return kept


def _batches_of(made_from: data.DataLoader) -> Any:
    """Return the batch sampler of a DataLoader: the one inside, if the script's own only repeats it."""
    own = made_from.batch_sampler
    inside = getattr(own, "sampler", None)
    return inside if type(inside) is data.BatchSampler and _repeats(own) else own


def _repeats(sampler: Any) -> bool:
    """Check whether a batch sampler only repeats the batches of its attribute `sampler`, as those do that keep the
    processes of a DataLoader alive between epochs: it is tried with two batches in the place of these."""
    batches = [[0, 1, 2], [3, 4, 5]]
    try:
        tried = copy.copy(sampler)
        tried.sampler = batches
        return list(itertools.islice(tried, 5)) == [*batches, *batches, batches[0]]
    except Exception:  # whatever it may do with these numbers
        return False


_loader: Loader | None = None


def the_loader() -> Loader:
    """Return the loader of this process.  Raises RuntimeError if there is none."""
    if _loader is None:
        raise RuntimeError("there is no eddis.torch.loader, which tells how many samples there are")
    return _loader


def planned_steps() -> int:
    """Return the number of steps of all epochs; 0 if the number of epochs or steps is unknown."""
    return len(the_loader()) * the_loader()._epochs if the_loader().has_length else 0


def loader(made_from: data.DataLoader, epochs: int = 0, pieces: int = 1, *, stream: bool = False,
           workers: str | None = None) -> Loader:
    """Make a loader of the same data set that follows the plan: it yields this worker's share of each step.  Each
    sample comes once an epoch, in an order that depends on the job's seed.

    made_from: its batch size, shuffling and DistributedSampler are replaced.  Worker processes, collate function,
    drop_last and the rest are kept, and so is what a class derived from DataLoader does.  Without eddis-run its batch
    size is that of each worker.

    epochs: number of epochs that the script will make; 0: unknown.  If it is known, the job ends all workers together
    and reports the remaining time; in async and hybrid mode every worker also gets samples of the last epoch.

    pieces: batches into which each step is divided on every worker, for gradients that add up over so many backward
    passes.  For models of `attach`: weighted(mean loss of the batch).backward() for each of them, and a step of the
    optimizer after the last.  The loader then has so many batches per step.  Without eddis-run each of them has
    made_from's batch size.

    stream: made_from reads an iterable data set, whose samples differ between workers.  Each worker's batches are of
    its own stream, of the plan's sizes.  The first stream that has too few samples for a step ends the epoch on all
    workers, and the next epoch begins all streams anew.  If that is the epoch's first step, RuntimeError is raised.

    workers: "auto" for a loader that gets more processes at the beginning of an epoch if this worker has waited for
    data in the epoch before: one, or twice as many, up to the processors of this worker.  It prints each change.  Each
    batch has the same samples with any number of processes.  Unless `init` sets read_ahead, it is then at least 32.
    None: as many processes as made_from has.

    If a loop is left with a batch that nothing has used, the next loop begins with that batch.  A loop that begins
    while gradients are off, or after the last epoch, yields the batches of made_from itself and does not train.  The
    size of a worker's batch differs from step to step.  A worker that gets no samples in a step gets two that count
    nothing.

    Raises TypeError for an iterable data set without stream, or stream without one; ValueError for other samplers, an
    empty data set, too much prefetching, impossible pieces, or workers that are something else or together with stream;
    RuntimeError for a second loader, and for pieces with init(pieces=True) or, at the first step, without `attach`.
    """
    global _loader
    _check_pieces(pieces)
    _check_workers(workers, stream)
    if not isinstance(made_from, data.DataLoader):
        raise TypeError(f"a loader is made from a torch.utils.data.DataLoader, not from a {type(made_from).__name__}")
    if stream:
        from ._streams import StreamLoader, check_stream  # which needs Loader
        check_stream(made_from)
    else:
        _check(made_from)
    if _loader is not None:
        raise RuntimeError("there is a loader that follows the plan already: test data take an ordinary one")
    parts.n = pieces
    if pieces > 1:
        worker.before_commit.insert(0, _check_attached)
    _set_options(made_from, stream, workers)
    _loader = (StreamLoader if stream else Loader)(made_from, epochs,
                                                   Processes(made_from, _own_ahead(made_from)) if workers else None)
    return _loader


def _check(made_from: data.DataLoader) -> None:
    """Raise TypeError or ValueError for a DataLoader whose samples the plan cannot choose."""
    dataset = made_from.dataset
    if isinstance(dataset, data.IterableDataset):
        raise TypeError("an iterable data set gives samples in its own order, so no plan can share them out: make it "
                        "one with __len__ and __getitem__, or give each worker samples of its own by "
                        "eddis.torch.loader(stream=True)")
    if made_from.batch_sampler is None:
        raise ValueError("a loader with batch_size=None makes no batches: give it any batch size")
    if type(_batches_of(made_from)) is not data.BatchSampler:
        raise ValueError(f"the batch sampler {type(made_from.batch_sampler).__name__} would be replaced by the plan's: "
                         f"{_OTHERWISE}")
    sampler = _batches_of(made_from).sampler
    chooses = isinstance(sampler, data.RandomSampler) and (sampler.replacement or sampler.num_samples != len(dataset))
    if type(sampler) not in _REPLACED or chooses:
        raise ValueError(f"the sampler {type(sampler).__name__} would be replaced by the plan's: {_OTHERWISE}")
    if len(dataset) < 1:
        raise ValueError("the data set is empty")


def _check_pieces(pieces: int) -> None:
    """Raise ValueError or RuntimeError if steps cannot be divided into so many batches."""
    if pieces < 1:
        raise ValueError(f"pieces is {pieces}, but a step has at least 1")
    if pieces > 1 and worker.options.get("pieces"):
        raise RuntimeError("eddis.torch.init(pieces=True) lets a worker divide its batch as its memory demands, but "
                           "eddis.torch.loader(pieces=) divides it alike on all: leave one of them out")


def _check_workers(workers: Any, is_stream: bool) -> None:
    """Raise ValueError if the argument `workers` is impossible."""
    if workers not in (None, "auto"):
        raise ValueError(f"workers is {workers!r}, but it is \"auto\" or None: give a number of processes to the "
                         "DataLoader, as num_workers")
    if workers and is_stream:
        raise ValueError("eddis.torch.loader(stream=True) has as many processes as its DataLoader, since each of them "
                         "may yield other samples of the stream: leave workers out, and set num_workers there")


def _check_attached() -> None:
    """Raise RuntimeError if nothing weights the parts of a step.  A callback before commit."""
    if not worker.options.get("gradients"):
        raise RuntimeError("eddis.torch.loader(pieces=) is for models of eddis.torch.attach, whose losses "
                           "eddis.torch.weighted weights: attach the model, or with DistributedOptimizer leave pieces "
                           "out, and divide each batch by eddis.torch.pieces")


def _own_ahead(made_from: data.DataLoader) -> int:
    """Return how many batches the class of a DataLoader may take before the script's loop asks for them."""
    return 0 if type(made_from).__iter__ is data.DataLoader.__iter__ else OWN_AHEAD


def _set_options(made_from: data.DataLoader, is_stream: bool, workers: str | None) -> None:
    """Set the options of joining that the loader decides: read_ahead, drop_last and, without eddis-run, the batch.
    Raises ValueError if made_from prefetches more steps than allowed."""
    ahead = 0 if is_stream else -(-made_from.num_workers * (made_from.prefetch_factor or 0) // parts.n)
    told = worker.options.get("read_ahead", READ_AHEAD if worker.handle else MAX_READ_AHEAD)
    if ahead > max(0, told):
        raise ValueError(f"{made_from.num_workers} processes that prefetch {made_from.prefetch_factor} batches each "
                         f"read {ahead} steps ahead: call eddis.torch.init(read_ahead={ahead}) before, at most "
                         f"{MAX_READ_AHEAD}")
    if not worker.handle:
        most = max(AHEAD if workers else 0, ahead) + _own_ahead(made_from)
        worker.options.setdefault("read_ahead", min(most, MAX_READ_AHEAD) or READ_NONE)
    if _batches_of(made_from).drop_last:
        worker.set_options("make eddis.torch.loader before, as its drop_last has to be known", drop_last=1)
    if not worker.handle and not worker.has_plan:
        worker.options["batch"] = _batches_of(made_from).batch_size * parts.n * worker.n_joining


def start() -> None:
    """Before the first step: end the registration and give all workers the same model, the checkpoint's if there is
    one.  Later calls do nothing.  Raises RuntimeError if there is no loader, or the workers' Subsets differ.
    Collective."""
    if worker.committed:
        return
    the_loader().join()
    worker.commit()
    if the_loader().has_length:  # the streams of workers differ
        compare_subsets(the_loader().dataset)
    _draws.differ()  # before a checkpoint may restore the random states
    worker.begin_with()
