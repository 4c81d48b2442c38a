# SPDX-License-Identifier: Apache-2.0
"""weighted: gradients weighted by the plan before torch.distributed combines them.

torch.distributed takes the plain mean over n ranks.  `weighted` multiplies the gradient of a rank's loss by
weight * n / (sum of all weights) where the backward pass begins, so the plain mean becomes the mean over all samples,
whatever combines it.  Sums inside the backward pass, as of torch.nn.SyncBatchNorm, are weighted by this, too.  A
communication hook would come too late for those.

A rank's own computing ends when its last local gradient is complete.  The autograd engine runs callbacks in the order
in which they were queued: the first is queued as the backward pass begins, before the one in which
DistributedDataParallel waits for its buckets, and queues the second, which runs after that.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from typing import Any, overload

import torch
from torch.autograd import Variable

from .. import _lib as L
from .._worker import Mark, worker
from ._device import Clock, Device
from ._lateclock import LateClock
from ._parts import FILLING, parts


class _Host:
    """The host as a device: its marks are times in ns."""

    mark = staticmethod(time.perf_counter_ns)


class _HostClock(Clock):
    """Measures the host's computing and input time in each step, which has passed when the step ends."""

    def _tell(self, last: tuple[int, int]) -> None:
        """See Clock._tell."""
        report = self._worker.report
        report.compute_ns = sum(end - begun for begun, end in self._parts) + last[1] - last[0]
        if self._asked is not None and self._got is not None:
            report.input_ns = max(1, self._got - self._asked)
        self._asked = None


class _Told:
    """The sum of the weights of a group's workers in a step, in sync mode of all workers: one all-reduce of a number,
    waited for in the backward pass."""

    def __init__(self) -> None:
        self._step = -1  # the step of the newest sum
        self._sum = torch.zeros(1, dtype=torch.float64, device="cpu")
        self._wait: Callable[[], None] | None = None
        self.own = 0.0
        self.is_set = False  # the script has set the weight

    def set(self, weight: float) -> None:
        """Begin to sum up the weight that the script sets, see `begin`."""
        self.begin(weight)
        self.is_set = True

    def begin(self, weight: float) -> None:
        """Begin to sum up this worker's weight in the present step.  Raises RuntimeError for a second one in a step,
        and ValueError for an impossible weight."""
        if self._step == worker.step.step and parts.n > 1:
            raise RuntimeError(f"step {self._step} has its weight already, which is that of all its {parts.n} parts: "
                               "call eddis.torch.set_weight once in a step, before the first backward(), with the sum "
                               "over the loader's parts")
        if self._step == worker.step.step:
            raise RuntimeError(f"step {self._step} has its weight already: call eddis.torch.set_weight once in a step, "
                               "before backward()")
        if not 0 <= weight < math.inf:
            raise ValueError(f"a weight of {weight:g} is not possible")
        self.finish()  # of a step that was left before backward()
        self._step, self.own, self.is_set = worker.step.step, weight, False
        self._sum[0] = weight
        self._wait = worker.begin_collective(L.ALLREDUCE, self._sum, 1, scope=L.GROUP, dtype=L.FLOAT64, op=L.SUM)

    def finish(self) -> None:
        """Wait for the sum under way, if there is one."""
        if self._wait:
            self._wait()
            self._wait = None

    def total(self) -> float:
        """Return the sum over the group; without a call of `begin` in this step, begin with the number of samples."""
        if self._step != worker.step.step:
            self.begin(worker.weight if worker.step.count else 0.0)
        self.finish()
        return float(self._sum)

    def of_step(self) -> float:
        """Return the sum over the group of the present step; 0 if none was begun."""
        return self.total() if self._step == worker.step.step else 0.0


class Passes:
    """The backward passes of this process: how they are weighted, when the rank waits in them, and what was seen of the
    present one."""

    def __init__(self, n: int, reduction: str, weights: str, weigh: str, device: Device | None) -> None:
        self.n = n
        self.weigh = weigh
        self.is_mean = reduction == "mean"
        self.weights = weights
        self.told = _Told() if weights == "told" else None
        self.is_weighted = False  # the present backward pass has come through `weighted`
        self.has_loss = False  # a loss was weighted, whose backward pass has not ended
        self.counts_nothing = False  # all losses of the present backward pass are of samples that count nothing
        self._is_under_way = False
        self._count = self._count_before = 1  # this rank's samples in this step and in the one before
        self._n_steps = 0  # steps that have begun
        self._n = 0.0  # sum of the numbers that `weighted` got in this step
        self._is_ahead = True  # batches may be those of the step before, as far as seen
        self.number = 0  # backward passes that have ended
        worker.marks[Mark.BEGUN].append(self._forget)
        self._clock = LateClock(worker, device) if device else _HostClock(worker, _Host())
        worker.on_weight = self.told.set if self.told else _refuse_weight

    def _forget(self) -> None:
        """Forget, as a step begins, a pass that an exception has ended.  A callback of Worker.marks."""
        self._is_under_way = self.is_weighted = self.has_loss = False
        if self._n and self._n_steps > 1 and parts.n == 1 and not (self.told and self.told.is_set):
            self._learn(int(self._n), self._count or FILLING, self._count_before or FILLING)
        self._n_steps += 1
        self._count_before, self._count, self._n = self._count, worker.step.count, 0.0

    def _learn(self, n: int, own: int, before: int) -> None:
        """Learn whether batches are those of the step before, if it shows.  n: samples of the losses of the step that
        ends; own, before: those of a batch of this step, and of the step before."""
        can_be_own, can_be_before = n == own, n == before
        if not (can_be_own or can_be_before):  # several batches; of the step before all of them, or the first
            can_be_own = n % own == 0
            can_be_before = n % before == 0 or n > before and (n - before) % own == 0
        if can_be_own != can_be_before:
            self._is_ahead = can_be_before

    def scale(self, is_sum: bool, n: float | None, part: int) -> float:
        """Return the factor for the gradient of this rank's loss: of a mean over its samples, or of a sum over them.
        n: what the loss is a mean over; None: all of the step's part of this number.  Raises RuntimeError if the batch
        does not hold what the plan counts."""
        ranks = self.n if self.is_mean else 1  # by which torch.distributed divides
        if n and not (self._n or self._count_before or self.told) and (n > FILLING or n == self._count != FILLING):
            self._is_ahead = False  # the batch of the step before had no samples
        counts = self._count and (self._count_before or not self._is_ahead) and parts.share(part, True)
        self._n += n or 0
        if n is not None and n <= FILLING and not counts:
            n = 0  # samples that fill a batch without samples, in this step, its part, or perhaps the step before
        if self.told:  # on all ranks, since this may be a message
            total = self.told.total()
            if n is not None and self.told.is_set and not (self.told.own and parts.share(part, True)):
                n = 0  # what fills a batch may have any number of tokens
            if is_sum:
                return float(bool(self.told.own)) * ranks * parts.share(part, True)
            own = self.told.own * parts.share(part, self.told.is_set) if n is None else n
            return own * ranks / total if total else 0.0
        if not worker.step.count and n is None:
            return 0.0
        if is_sum:
            return ranks * parts.share(part, True)
        if worker.is_weight_open:
            raise RuntimeError(f"the batch of step {worker.step.step} holds {worker.weight:g} samples, the plan counts "
                               f"{worker.step.count}: call eddis.torch.attach(model, weights='told'), so that workers "
                               "sum up what their batches hold")
        own = worker.step.count * parts.share(part, False) if n is None else n
        return own * ranks / worker.step.batch

    def times_factor(self, gradient: torch.Tensor, part: int, is_sum: bool = False,
                     n: float | None = None) -> torch.Tensor:
        """Begin a backward pass, and return the gradient times the factor of `scale`."""
        self.begin()
        scale = self.scale(is_sum, n, part)
        self.counts_nothing = self.counts_nothing and scale == 0
        if scale == 0:
            return torch.zeros_like(gradient)  # NaN times 0 is NaN
        return gradient if scale == 1 else gradient * scale

    def begin(self) -> None:
        """Note that a backward pass through `weighted` has begun."""
        if worker.step.lr_factor != 1:
            raise RuntimeError("learning_rate.warmup of the job is for eddis.torch.DistributedOptimizer: remove it, "
                               "and use a scheduler of PyTorch")
        self.is_weighted = True
        worker.is_touched = True
        worker.rounds += 1
        if self._is_under_way:
            return
        self._is_under_way = self.counts_nothing = True
        if not worker.paces_itself:
            _pace()
        Variable._execution_engine.queue_callback(self._local)

    def arrived(self, gradient: torch.Tensor | None) -> torch.Tensor | None:
        """Take the gradient of an attached model's output, None where the loss does not depend on it.  Return zeros if
        this rank's samples count nothing, since what is no number would reach all ranks.  Raises RuntimeError if the
        loss was not weighted.  A hook of the output."""
        if not worker.in_step:
            return None
        if not self.is_weighted and self.has_loss:
            raise RuntimeError("a backward pass comes to an attached model's output before it comes through "
                               "eddis.torch.weighted, so the model's gradients may not be weighted: call it outside "
                               "of the model's forward(), for the whole loss, and call backward() of what it returns")
        if not self.is_weighted:
            raise RuntimeError("a backward pass of a loss that is not weighted, so the workers' mean would be biased "
                               "towards small batches: call eddis.torch.weighted(loss).backward()")
        return torch.zeros_like(gradient) if self.counts_nothing and gradient is not None else None

    def _local(self) -> None:
        """After the last local gradient."""
        worker.mark(Mark.WAITS)
        Variable._execution_engine.queue_callback(self._end)

    def _end(self) -> None:
        """After the callbacks in which the gradients are combined."""
        self._is_under_way = self.is_weighted = self.has_loss = False
        self.number += 1
        worker.mark(Mark.GOES_ON)


def _refuse_weight(weight: float) -> None:
    """Raise RuntimeError for a weight that the script sets."""
    raise RuntimeError("eddis.torch.set_weight counts with attach(model, weights='told') only: there the workers sum "
                       "up their weights in each step")


passes: Passes | None = None  # None: nothing is attached


def begin_passes(n: int, reduction: str, weights: str, weigh: str, device: Device | None) -> Passes:
    """Return the backward passes of this process, which the first call makes.  n: the ranks; reduction, weights, weigh:
    as of `attach`; device: that of the models' parameters.  Raises ValueError if one of these differs."""
    global passes
    if passes is None:
        passes = Passes(n, reduction, weights, weigh, device)
    elif (reduction == "mean", weights, weigh) != (passes.is_mean, passes.weights, passes.weigh):
        raise ValueError("models are attached with the same reduction, weights and weigh")
    return passes


def _pace() -> None:
    """Wait until the emulated device, if this worker is one, would have computed the gradients."""
    if worker.world.emulated and worker.step.emulated_s > 0:
        time.sleep(max(0.0, worker.step.emulated_s - (time.perf_counter() - worker.begun_s)))


def weight_in_place(loss: torch.Tensor, factor: float = 1.0) -> None:
    """Weight the gradient of a loss, a mean over samples, as `weighted` does, and multiply it by `factor`, for
    frameworks that call backward() on this very tensor."""
    part = parts.use()
    loss.register_hook(lambda gradient: passes.times_factor(gradient * factor, part))


Criterion = Callable[..., torch.Tensor]


@overload
def weighted(loss: torch.Tensor, *, sum: bool = False, n: float | None = None) -> torch.Tensor: ...


@overload
def weighted(loss: Criterion, *, sum: bool = False, n: float | None = None) -> Criterion: ...


def weighted(loss: torch.Tensor | Criterion, *, sum: bool = False, n: float | None = None) -> torch.Tensor | Criterion:
    """Return the loss with a gradient that is weighted by this worker's samples: eddis.weighted(loss).backward().

    The value is unchanged.  With it, the mean over ranks that DistributedDataParallel and others take is the mean over
    all samples of the step.

    loss: the whole loss, a mean over this worker's samples, or over a micro-batch times its share of them.  With
    loader(pieces=), a mean over the samples of the loop's batch; after `set_weight`, their sum divided by the weight.
    Or what computes it, as torch.nn.BCELoss(): then the result computes weighted losses, for a script that takes
    several in a step.  It is a module if that is one, so that it may move to a device.
    sum: the loss is a sum over samples; the result is the gradient of the sum over all workers' samples.

    n: the number of samples over which the loss is a mean, for a batch that was fetched a step ahead, when the plan may
    have been another, or a micro-batch of n samples; None: the whole loss of this step's batch.  With weights="told"
    it counts in what `set_weight` counts in.  Of the two samples that fill a rank's batch in a step in which it has
    none, n counts as 0.

    A loss without a gradient, as in an evaluation, is returned as it is, also outside of the loop.

    A model's forward() may return its weighted loss, but not in DistributedDataParallel with find_unused_parameters or
    static_graph: what these put behind the model hides whether the loss was weighted, and is refused.

    After `attach`, every step of the loop over the loader needs a backward pass of a weighted loss.  Raises
    RuntimeError without `attach`, after attach(weigh="outputs") or outside of the loop, and ValueError for a negative n
    or one together with sum.
    """
    if not torch.is_tensor(loss) and callable(loss):
        return _WeightedModule(loss, sum, n) if isinstance(loss, torch.nn.Module) else \
            functools.partial(_weighted_by, loss, sum, n)
    return _weighted(loss, sum, n)


def _weighted_by(criterion: Criterion, sum: bool, n: float | None, *args: Any, **kwargs: Any) -> torch.Tensor:
    """Return the loss that the criterion computes, weighted."""
    return _weighted(criterion(*args, **kwargs), sum, n)


class _WeightedModule(torch.nn.Module):
    """A module that computes a loss, as a module that computes it weighted."""

    def __init__(self, criterion: torch.nn.Module, sum: bool, n: float | None) -> None:
        super().__init__()
        self.criterion, self._sum, self._n = criterion, sum, n

    def forward(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        """Return the loss that the criterion computes, weighted."""
        return _weighted_by(self.criterion, self._sum, self._n, *args, **kwargs)


@torch.compiler.disable  # the factor differs from step to step
def _weighted(loss: torch.Tensor, sum: bool, n: float | None) -> torch.Tensor:
    """Return the loss with a weighted gradient, see `weighted`."""
    if passes is None:
        raise RuntimeError("nothing is attached: call eddis.torch.attach(model) before the loop")
    if passes.weigh == "outputs":
        raise RuntimeError("the outputs of the model are weighted, as eddis.torch.attach was told by weigh='outputs': "
                           "leave out eddis.torch.weighted")
    if n is not None and (sum or not 0 <= n < math.inf):
        raise ValueError("n has no meaning for a loss that is a sum over samples: leave out n, or sum=True" if sum else
                         f"a loss that is a mean over n={n} samples is not possible")
    if not (loss.requires_grad and torch.is_grad_enabled()):
        return loss
    if not worker.in_step:
        raise RuntimeError("eddis.torch.weighted is for the loop over eddis.torch.loader, whose steps have weights")
    passes.has_loss = True
    part, weighted = parts.use(), loss.clone()  # the script may change the loss in place
    weighted.register_hook(lambda gradient: passes.times_factor(gradient, part, sum, n))
    return weighted
