# SPDX-License-Identifier: Apache-2.0
"""Batch normalisation by the statistics of all samples of the group, however unequal the workers' shares are.

Forward: each worker sends the mean, variance and number of its values, in one message; a worker without samples sends
the number 0.  They are combined in a fixed order by additions and multiplications only, so that different processors
compute the same bits.

Backward: mean and variance depend on every worker's input, so each input's gradient has a part from every worker.  Each
worker's loss is a mean over its own samples, and its gradients are weighted by w_i after the backward pass.  Let N be
the number of values of all workers, and S1 = sum of w_i dy and S2 = sum of w_i dy x^ over them.  The result must be

    w_i dx = gamma / std (w_i dy - S1 / N - x^ S2 / N)

so dx contains the two sums divided by w_i N.  Sums without weights, as in torch's and Horovod's SyncBatchNorm, are
right for equal shares only; with unequal shares training diverges.
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
from .._worker import Mark, say, worker
from ._parts import parts


class SyncBatchNorm(_BatchNorm):
    """torch.nn.SyncBatchNorm for unequal shares.  Input: [samples, num_features, ...], 2 dimensions or more.

    In training mode, inside of the loop over eddis.torch.loader, the statistics are over the samples of all workers
    that train one model: all workers in sync mode, the group in hybrid and local mode, this worker in async mode.
    Running statistics are equal on all of them.  Outside of the loop it behaves as torch.nn.BatchNorm.  Samples of a
    worker whose weight is 0 count nothing.

    Each pass sends a message, so all workers must make the same number of forward and backward passes through the
    layer, in the same order.  A random choice that decides on passes, such as a layer that is dropped at random, must
    be drawn from a torch.Generator with the same seed on all workers, since their default generators differ.  It cannot
    be used after eddis.torch.init(pieces=True), which makes the numbers of passes unequal.

    Raises RuntimeError after init(pieces=True), and ValueError on all workers if they have only one value per channel
    together, as torch does in one process.
    """

    def _check_input_dim(self, input: torch.Tensor) -> None:
        """Raise ValueError for an input of fewer than 2 dimensions."""
        if input.dim() < 2:
            raise ValueError(f"SyncBatchNorm takes an input of 2 dimensions or more, not of {input.dim()}")

    @torch.compiler.disable  # a message cannot be an operation of a graph
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Return the normalised input, of the input's shape and type.  Collective in the group while training."""
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
        """Update the running statistics by this step's mean and unbiased variance, as torch.nn.BatchNorm does."""
        factor = self.momentum
        if self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if factor is None:
                factor = 1 / float(self.num_batches_tracked)
        for running, now in ((self.running_mean, mean), (self.running_var, var)):
            running.mul_(1 - factor).add_(now.to(running.device, running.dtype), alpha=factor)

    @classmethod
    def convert_sync_batchnorm(cls, module: torch.nn.Module) -> torch.nn.Module:
        """Replace every torch.nn.BatchNorm in the model by this class, with the same parameters and statistics.  Return
        the model, or a new module if the model itself is a BatchNorm.

        An optimizer that already has the parameters keeps them.
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
        """Return a SyncBatchNorm with the parameters, buffers and settings of `norm`."""
        made = cls(norm.num_features, norm.eps, norm.momentum, False, False)
        made.affine, made.track_running_stats, made.training = norm.affine, norm.track_running_stats, norm.training
        made._parameters.update(norm._parameters)
        made._buffers.update(norm._buffers)
        return made


_MIN_COUNT = 2  # samples that a batch normalisation needs


def set_min_count(model: torch.nn.Module) -> None:
    """Let each worker get at least two samples in a step and each of its parts, or none, if the model normalises
    batches when the job is joined, unless the script has set min_count.  If it is joined already, report on rank 0 that
    this cannot be."""
    if not worker.handle:
        worker.before_open.append(lambda: _set_min_count(model))
    elif _is_least_missing(model) and worker.rank == 0:
        say("the model has batch normalisation, but the job was joined before the model was given to eddis, so a "
            f"worker may get one sample: add min_count={_MIN_COUNT} to the script's first eddis.torch.init()")


def _set_min_count(model: torch.nn.Module) -> None:
    """Set the option min_count for a model with batch normalisation, see `set_min_count`.  A callback before the job is
    joined."""
    if not _is_least_missing(model):
        return
    worker.options["min_count"] = _MIN_COUNT
    if worker.rank == 0:
        say(f"the model has batch normalisation, so each worker gets at least {_MIN_COUNT} samples in a step, or none; "
            "eddis.torch.init(min_count=) sets another number")


def _is_least_missing(model: torch.nn.Module) -> bool:
    """Check whether a worker could get one sample of a model that normalises batches."""
    is_whole = worker.size == 1 and parts.n == 1  # the step's samples are in one batch
    return not ("min_count" in worker.options or is_whole) and any(map(_normalises_alone, model.modules()))


def _normalises_alone(module: torch.nn.Module) -> bool:
    """Check whether a module normalises by the statistics of this worker's samples."""
    return isinstance(module, _BatchNorm) and module.training and \
        not isinstance(module, (SyncBatchNorm, torch.nn.SyncBatchNorm))


_hook: RemovableHandle | None = None  # hook of all modules, active during steps with one sample


def tell_of_one_value() -> None:
    """Until the step's end, let every batch normalisation that gets one value per channel raise an error that names the
    remedy.  PyTorch rejects such an input anyway.

    This is done by a hook of all modules, so that nothing stays in the script's own modules, which it may copy or save.
    The hook is active only in steps with one sample, since few jobs have such steps, and only if there is a batch
    normalisation.  Its id never changes, since torch.compile would compile anew for each other id.
    """
    global _hook
    if not _is_there_any():
        return
    if _hook is None:
        _hook = modules.register_module_forward_pre_hook(_refuse_one_value)
        worker.marks[Mark.ENDS].append(_tell_no_more)
    modules._global_forward_pre_hooks[_hook.id] = _refuse_one_value


@functools.cache
def _is_there_any() -> bool:
    """Check whether the process has a batch normalisation other than SyncBatchNorm.  The first answer is kept."""
    return any(issubclass(type(it), _BatchNorm) and not issubclass(type(it), SyncBatchNorm) for it in gc.get_objects())


def _tell_no_more() -> None:
    """Remove the hook of tell_of_one_value at the end of a step.  A callback of Worker.marks."""
    if _hook is not None:
        modules._global_forward_pre_hooks.pop(_hook.id, None)


def _refuse_one_value(norm: torch.nn.Module, arguments: tuple[Any, ...]) -> None:
    """Raise ValueError if a batch normalisation in training mode gets one value per channel.  A pre-hook of all
    modules.
    """
    if not isinstance(norm, _BatchNorm) or isinstance(norm, (SyncBatchNorm, torch.nn.SyncBatchNorm)) or \
            not norm.training:
        return
    input = arguments[0] if arguments else None
    if worker.in_step and torch.is_tensor(input) and input.dim() > 1 and input.numel() == input.size(1):
        raise ValueError(f"expected more than 1 value per channel when training, got an input of {list(input.shape)}: "
                         "call eddis.torch.init(min_count=2) before anything else of eddis, so that no worker gets "
                         "only one sample, or make the model one of "
                         "eddis.torch.SyncBatchNorm.convert_sync_batchnorm(model)")


def _group_statistics(input: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, int]:
    """Return mean and variance of each channel over the group's values (float64, on the CPU) and the number of values
    per channel.  The number is 0 if no worker's samples count, as in a micro-batch that only workers without samples
    have.  Collective in the group."""
    channels = input.size(1)
    own = torch.zeros(2 * channels + 1, dtype=torch.float64, device="cpu")
    if worker.weight and not worker.is_empty and input.numel():
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
    """Return the sum of the rows, added in their order, so that all processors compute the same bits."""
    return functools.reduce(torch.add, rows.unbind(0))


class _Normalise(torch.autograd.Function):
    """Batch normalisation with the given statistics, whose backward pass also differentiates the statistics."""

    @staticmethod
    def forward(ctx: Any, input: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None,
                mean: torch.Tensor, var: torch.Tensor, n: int, eps: float) -> torch.Tensor:
        """Return the input normalised by mean and var. n: values per channel of the group."""
        ctx.save_for_backward(input, weight, mean, var)
        ctx.n, ctx.eps, ctx.is_empty = n, eps, worker.is_empty
        return functional.batch_norm(input, mean, var, weight, bias, False, 0.0, eps)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Return the gradients of input, weight and bias; see the formula above.  Collective in the group if the input
        needs a gradient."""
        input, weight, mean, var = ctx.saved_tensors
        needs_input, needs_weight, needs_bias = ctx.needs_input_grad[:3]
        none = mean.new_empty(0)  # as saved in eval mode: CUDA accepts None only if one kernel computes all three
        if weight is None:
            weight = torch.ones_like(mean)  # else CUDA computes no gradients of it, which are the sums needed here
        if input.numel():
            of_input, of_weight, of_bias = torch.ops.aten.native_batch_norm_backward(
                gradient, input, weight, mean, var, none, none, False, ctx.eps, [needs_input, True, True])
        else:  # PyTorch would divide by the number of values, 0
            of_input, of_weight, of_bias = torch.zeros_like(input), torch.zeros_like(mean), torch.zeros_like(mean)
        if needs_input:
            # With `attach` the gradient is weighted when it arrives.
            share = float(worker.weight != 0) if worker.options.get("gradients") else worker.weight
            if ctx.is_empty:  # a part of the step without samples, whose worker has some in others
                share = 0.0
            sums = torch.zeros(2, mean.numel(), dtype=torch.float64, device="cpu")
            if share:  # without samples these may be NaN
                sums.copy_(torch.stack([of_weight, of_bias])).mul_(share)
            worker.collective(L.ALLREDUCE, sums, sums.numel(), scope=L.GROUP, dtype=L.FLOAT64, op=L.SUM)
            if share:
                scale = weight / torch.sqrt(var + ctx.eps)
                slope, offset = sums.div_(share * ctx.n).to(mean.device, mean.dtype) * scale
                of_input -= functional.batch_norm(input, mean, var, slope, offset, False, 0.0, ctx.eps)
        return of_input, of_weight if needs_weight else None, of_bias if needs_bias else None, None, None, None, None
