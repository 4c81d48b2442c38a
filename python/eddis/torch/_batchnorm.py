# SPDX-License-Identifier: Apache-2.0
"""Batch normalisation by the statistics of all samples of the group, however unequal the workers' shares are.

Forward: each worker's mean, variance and number of values travel, one message; a worker without samples counts none.
They are put together in one order by additions and multiplications alone, so that unlike processors get the same bits.

Backward: the mean and variance depend on every worker's input, so each input's gradient holds a part of every worker's.
Gradients are weighted by w_i behind the backward pass, each worker's loss being a mean over its own samples.  With
S1 = sum of w_i dy and S2 = sum of w_i dy x^ over all workers' values, which are N,

    w_i dx = gamma / std (w_i dy - S1 / N - x^ S2 / N)

is what is to come out, so that dx has the two sums divided by w_i N.  Sums without weights, as of torch's and Horovod's
own, are right for equal shares only: else training diverges.
"""

from __future__ import annotations

import functools
import gc
from typing import Any

import torch
from torch.autograd.function import once_differentiable
from torch.nn import functional
from torch.nn.modules import module as modules
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.hooks import RemovableHandle

from .. import _lib as L
from .._worker import Mark, worker


class SyncBatchNorm(_BatchNorm):
    """torch.nn.SyncBatchNorm for unequal shares: of input [samples, num_features, ...] of 2 dimensions or more.

    In training mode, inside of the loop over eddis.torch.loader, statistics are over the samples of all workers that
    train one model: all in sync mode, the group in hybrid mode, this worker in async mode.  Running statistics are
    equal on all of them.  Elsewhere it is torch.nn.BatchNorm.  Samples of a worker whose weight is 0 count nothing.
    Each pass is a message: all workers make as many forward and backward passes through it, in one order.  What
    decides on passes, as a layer that is left out at random, is drawn from a torch.Generator seeded alike, for workers
    draw unlike numbers otherwise.  After eddis.torch.init(pieces=True) they would make unlike numbers of passes.

    Raises RuntimeError for that, and ValueError on all workers where they have one value per channel, as torch
    does alone.
    """

    def _check_input_dim(self, input: torch.Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"SyncBatchNorm takes an input of 2 dimensions or more, not of {input.dim()}")

    @torch.compiler.disable  # a message is no operation of a graph
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The input normalised, of its shape and type."""
        self._check_input_dim(input)
        if not self.training or not worker.in_step or worker.world.n_group_ranks == 1:
            return super().forward(input)
        if worker.options.get("pieces"):
            raise RuntimeError("a worker that takes its share in pieces makes more passes through SyncBatchNorm than "
                               "the others, which would wait for ever: leave pieces=True out of eddis.torch.init, and "
                               "one whose memory is too small for its share gets fewer samples")
        with torch.no_grad():
            mean, var, n = _group_statistics(input)
            if n == 1:
                raise ValueError("expected more than 1 value per channel when training, of all workers of the group "
                                 f"together; here is an input of {list(input.shape)}: call "
                                 "eddis.torch.init(min_count=2), or have the loader drop_last")
            if self.track_running_stats and n:
                self._run(mean, var * (n / (n - 1)))
        kind = torch.float64 if input.dtype == torch.float64 else torch.float32
        weight, bias = (None if p is None else p.to(kind) for p in (self.weight, self.bias))
        return _Normalise.apply(input, weight, bias, mean.to(input.device, kind), var.to(input.device, kind), n,
                                self.eps)

    def _run(self, mean: torch.Tensor, var: torch.Tensor) -> None:
        factor = self.momentum
        if self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if factor is None:
                factor = 1 / float(self.num_batches_tracked)
        for running, now in ((self.running_mean, mean), (self.running_var, var)):
            running.mul_(1 - factor).add_(now.to(running.device, running.dtype), alpha=factor)

    @classmethod
    def convert_sync_batchnorm(cls, module: torch.nn.Module) -> torch.nn.Module:
        """Replace all torch.nn.BatchNorm in the model by these, with the same parameters and statistics; returns it.

        The model itself is returned anew where it is one.  An optimizer that has its parameters keeps them.
        """
        if isinstance(module, _BatchNorm) and not isinstance(module, cls):
            return cls._of(module)
        for name, child in module.named_children():
            converted = cls.convert_sync_batchnorm(child)
            if converted is not child:
                setattr(module, name, converted)
        return module

    @classmethod
    def _of(cls, norm: _BatchNorm) -> SyncBatchNorm:
        made = cls(norm.num_features, norm.eps, norm.momentum, False, False)
        made.affine, made.track_running_stats, made.training = norm.affine, norm.track_running_stats, norm.training
        made._parameters.update(norm._parameters)
        made._buffers.update(norm._buffers)
        return made


_hook: RemovableHandle | None = None  # of all modules, in force while a step has one sample


def tell_of_one_value() -> None:
    """Have every batch normalisation say, until the step's end, what helps where one value per channel is all that it
    gets, which PyTorch refuses.

    By a hook of all modules, so that nothing stays in the script's own, which it may copy or save.  It is there in
    steps with one sample only, for few jobs have one, and where there is a batch normalisation.  It has one number for
    good: torch.compile would compile anew for each other one.
    """
    global _hook
    if not _is_there_any():
        return
    if _hook is None:
        _hook = modules.register_module_forward_pre_hook(_refuse_one_value)
        worker.marks.append(_tell_no_more)
    modules._global_forward_pre_hooks[_hook.id] = _refuse_one_value


@functools.cache
def _is_there_any() -> bool:
    return any(issubclass(type(it), _BatchNorm) and not issubclass(type(it), SyncBatchNorm) for it in gc.get_objects())


def _tell_no_more(mark: Mark) -> None:
    if _hook is not None and mark is Mark.ENDS:
        modules._global_forward_pre_hooks.pop(_hook.id, None)


def _refuse_one_value(norm: torch.nn.Module, arguments: tuple[Any, ...]) -> None:
    if not isinstance(norm, _BatchNorm) or isinstance(norm, SyncBatchNorm) or not norm.training:
        return
    input = arguments[0] if arguments else None
    if worker.in_step and torch.is_tensor(input) and input.dim() > 1 and input.numel() == input.size(1):
        raise ValueError(f"expected more than 1 value per channel when training, got an input of {list(input.shape)}: "
                         "call eddis.torch.init(min_count=2) before anything else of eddis, by which no worker gets "
                         "just one sample, or make the model one of "
                         "eddis.torch.SyncBatchNorm.convert_sync_batchnorm(model)")


def _group_statistics(input: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, int]:
    """Mean and variance of each channel over the group's values, float64 on the CPU, and how many each has: 0 where no
    worker's count, as of micro-batches that only workers without samples have."""
    channels = input.size(1)
    own = torch.zeros(2 * channels + 1, dtype=torch.float64, device="cpu")
    if worker.weight and input.numel():
        seen = input.float() if input.dtype in (torch.float16, torch.bfloat16) else input
        mean, var = torch.batch_norm_update_stats(seen, None, None, 0.0)
        own[:-1] = torch.cat([mean, var])
        own[-1] = input.numel() // channels
    n_ranks = worker.world.n_group_ranks
    rows = torch.empty(n_ranks, own.numel(), dtype=torch.float64, device="cpu")
    worker.collective(L.ALLGATHER, rows, own.numel() * own.element_size(), scope=L.GROUP, input=own)
    counts = rows[:, -1:]
    n = counts.sum().clamp(min=1)
    means, variances = rows[:, :channels], rows[:, channels:-1]
    mean = _added(means * counts) / n
    apart = means - mean
    return mean, _added((variances + apart * apart) * counts) / n, int(counts.sum())


def _added(rows: torch.Tensor) -> torch.Tensor:
    return functools.reduce(torch.add, rows.unbind(0))


class _Normalise(torch.autograd.Function):
    """As batch normalisation in eval mode with these statistics, but that they depend on the input."""

    @staticmethod
    def forward(ctx: Any, input: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None,
                mean: torch.Tensor, var: torch.Tensor, n: int, eps: float) -> torch.Tensor:
        ctx.save_for_backward(input, weight, mean, var)
        ctx.n, ctx.eps = n, eps
        return functional.batch_norm(input, mean, var, weight, bias, False, 0.0, eps)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        input, weight, mean, var = ctx.saved_tensors
        needs_input, needs_weight, needs_bias = ctx.needs_input_grad[:3]
        none = mean.new_empty(0)  # as eval mode saves them: CUDA takes None only where one kernel computes all three
        if weight is None:
            weight = torch.ones_like(mean)  # else CUDA has no gradients of it, which are the sums that are needed
        if input.numel():
            of_input, of_weight, of_bias = torch.ops.aten.native_batch_norm_backward(
                gradient, input, weight, mean, var, none, none, False, ctx.eps, [needs_input, True, True])
        else:  # PyTorch divides by the number of its values
            of_input, of_weight, of_bias = torch.zeros_like(input), torch.zeros_like(mean), torch.zeros_like(mean)
        if needs_input:
            share = worker.weight
            sums = torch.zeros(2, mean.numel(), dtype=torch.float64, device="cpu")
            if share:  # what a worker without samples has here may be no number
                sums.copy_(torch.stack([of_weight, of_bias])).mul_(share)
            worker.collective(L.ALLREDUCE, sums, sums.numel(), scope=L.GROUP, dtype=L.FLOAT64, op=L.SUM)
            if share:
                scale = weight / torch.sqrt(var + ctx.eps)
                slope, offset = sums.div_(share * ctx.n).to(mean.device, mean.dtype) * scale
                of_input -= functional.batch_norm(input, mean, var, slope, offset, False, 0.0, ctx.eps)
        return of_input, of_weight if needs_weight else None, of_bias if needs_bias else None, None, None, None, None
