# SPDX-License-Identifier: Apache-2.0
"""attach: gradients that torch.distributed combines, as DistributedDataParallel and fully_shard do, with batches of the
plan.

torch.distributed takes the plain mean over n ranks.  `weighted` multiplies the gradient of a rank's loss by
weight * n / (sum of all weights) where the backward pass begins, so the plain mean becomes the mean over all samples,
whatever combines it.  Sums inside the backward pass, as of torch.nn.SyncBatchNorm, are weighted by this, too.  A
communication hook would come too late for those.

libeddis sends no gradients.  The workers agree on plans and samples from the step's begin to its end.

A rank's own computing ends when its last local gradient is complete.  The autograd engine runs callbacks in the order
in which they were queued: the first is queued as the backward pass begins, before the one in which
DistributedDataParallel waits for its buckets, and queues the second, which runs after that.  With fully_shard a rank
also waits for others when it gathers a module's parameters and, on CPUs, when it reduces gradients, and with
DistributedDataParallel when rank 0 sends its buffers; marks around these leave the times out.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import distributed
from torch.autograd import Variable
from torch.nn.parallel import DistributedDataParallel
from torch.utils._pytree import tree_leaves

from .. import _lib as L
from .._worker import Mark, say, worker
from ._device import Clock, Device, device_of
from ._optimizer import also_without_sync, distributed_optimizers
from ._sums import look_for_partial, tell_sums

NAME = b"torch"  # name of torch.distributed in plans
WEIGHTS = ("samples", "told")
REDUCTIONS = ("mean", "sum")


class _Host:
    """The host as a device that computes when it is called: marks are its clock."""

    def mark(self) -> int:
        """See Device.mark."""
        return time.perf_counter_ns()

    def elapsed_ns(self, first: int, last: int) -> int:
        """See Device.elapsed_ns."""
        return last - first


class _Clock(Clock):
    """The clock of a step whose gradients the library does not wait for: a GPU may still compute when the step ends on
    the host, so this waits for the last mark before it reports."""

    def _tell(self, last: tuple[Any, Any]) -> None:
        """See Clock._tell."""
        for _, end in self._parts[-1:]:
            if hasattr(end, "synchronize"):
                end.synchronize()
        super()._tell(last)


class _Told:
    """The sum of the workers' weights in a step: one all-reduce of a number, waited for in the backward pass."""

    def __init__(self) -> None:
        self._step = -1  # the step of the newest sum
        self._sum = torch.zeros(1, dtype=torch.float64, device="cpu")
        self._wait: Callable[[], None] | None = None
        self.own = 0.0

    def begin(self, weight: float) -> None:
        """Begin to sum up this worker's weight in the present step.  Raises RuntimeError for a second one in a step,
        and ValueError for an impossible weight."""
        if self._step == worker.step.step:
            raise RuntimeError(f"step {self._step} has its weight already: call eddis.torch.set_weight once in a step, "
                               "before backward()")
        if not 0 <= weight < math.inf:
            raise ValueError(f"a weight of {weight:g} is not possible")
        self.finish()  # of a step that was left before backward()
        self._step, self.own = worker.step.step, weight
        self._sum[0] = weight
        self._wait = worker.begin_collective(L.ALLREDUCE, self._sum, 1, dtype=L.FLOAT64, op=L.SUM)

    def finish(self) -> None:
        """Wait for the sum under way, if there is one."""
        if self._wait:
            self._wait()
            self._wait = None

    def total(self) -> float:
        """Return the sum over all workers; without a call of `begin` in this step, begin with the number of samples."""
        if self._step != worker.step.step:
            self.begin(worker.weight if worker.step.count else 0.0)
        self.finish()
        return float(self._sum)


class _Pass:
    """The backward passes of this process: how they are weighted, when the rank waits in them, and what was seen of the
    present one."""

    def __init__(self, n: int, reduction: str, weights: str, device: Device | None) -> None:
        self.n = n
        self.is_mean = reduction == "mean"
        self.weights = weights
        self.told = _Told() if weights == "told" else None
        self.is_weighted = False  # the present backward pass has come through `weighted`
        self.counts_nothing = False  # the present backward pass is of samples that count nothing
        self._is_under_way = False
        worker.marks.append(self._mark)
        self._clock = _Clock(worker, device or _Host())
        worker.on_weight = self.told.begin if self.told else _refuse_weight

    def _mark(self, what: Mark) -> None:
        """Forget, as a step begins, a pass that an exception has ended.  A callback of Worker.marks."""
        if what is Mark.BEGUN:
            self._is_under_way = self.is_weighted = False

    def scale(self, is_sum: bool) -> float:
        """Return the factor for the gradient of this rank's loss: of a mean over its samples, or of a sum over them.
        Raises RuntimeError if the batch does not hold what the plan counts."""
        ranks = self.n if self.is_mean else 1  # by which torch.distributed divides
        if self.told:  # on all ranks, since this may be a message
            total = self.told.total()
            own = float(bool(self.told.own)) if is_sum else self.told.own / total if total else 0.0
            return own * ranks
        if not worker.step.count:
            return 0.0
        if is_sum:
            return ranks
        if worker.is_weight_open:
            raise RuntimeError(f"the batch of step {worker.step.step} holds {worker.weight:g} samples, the plan counts "
                               f"{worker.step.count}: call eddis.torch.attach(model, weights='told'), so that workers "
                               "sum up what their batches hold")
        return worker.step.count * ranks / worker.step.batch

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
        self._is_under_way = True
        _pace()
        Variable._execution_engine.queue_callback(self._local)

    def arrived(self, gradient: torch.Tensor) -> torch.Tensor | None:
        """Take the gradient of an attached model's output, and return zeros if this rank's samples count nothing, since
        what is no number would reach all ranks.  Raises RuntimeError if the loss was not weighted.  A hook of the
        output."""
        if not worker.in_step:
            return None
        if not self.is_weighted:
            raise RuntimeError("a backward pass of a loss that is not weighted, so the workers' mean would be biased "
                               "towards small batches: call eddis.torch.weighted(loss).backward()")
        return torch.zeros_like(gradient) if self.counts_nothing else None

    def _local(self) -> None:
        """After the last local gradient."""
        worker.mark(Mark.WAITS)
        Variable._execution_engine.queue_callback(self._end)

    def _end(self) -> None:
        """After the callbacks in which the gradients are combined."""
        self._is_under_way = self.is_weighted = False
        worker.mark(Mark.GOES_ON)


def _refuse_weight(weight: float) -> None:
    """Raise RuntimeError for a weight that the script sets."""
    raise RuntimeError("eddis.torch.set_weight counts with attach(model, weights='told') only: there the workers sum "
                       "up their weights in each step")


_pass: _Pass | None = None
_models: list[torch.nn.Module] = []


def _pace() -> None:
    """Wait until the emulated device, if this worker is one, would have computed the gradients."""
    if worker.world.emulated and worker.step.emulated_s > 0:
        time.sleep(max(0.0, worker.step.emulated_s - (time.perf_counter() - worker.begun_s)))


class _Weighted(torch.autograd.Function):
    """The loss, unchanged; its gradient times the rank's factor."""

    @staticmethod
    def forward(ctx: Any, loss: torch.Tensor, is_sum: bool) -> torch.Tensor:
        ctx.is_sum = is_sum
        return loss.clone()  # the script may change the loss in place

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        _pass.begin()
        scale = _pass.scale(ctx.is_sum)
        _pass.counts_nothing = scale == 0
        return (gradient * scale if scale else torch.zeros_like(gradient)), None


@torch.compiler.disable  # the factor differs from step to step
def weighted(loss: torch.Tensor, *, sum: bool = False) -> torch.Tensor:
    """Return the loss with a gradient that is weighted by this worker's samples: eddis.weighted(loss).backward().

    The value is unchanged.  With it, the mean over ranks that DistributedDataParallel and others take is the mean over
    all samples of the step.

    loss: the whole loss, a mean over this worker's samples, or over a micro-batch times its share of them.
    sum: the loss is a sum over samples; the result is the gradient of the sum over all workers' samples.

    After `attach`, every step of the loop over the loader needs a backward pass of a weighted loss.  Raises
    RuntimeError without `attach`, or outside of the loop.
    """
    if _pass is None:
        raise RuntimeError("nothing is attached: call eddis.torch.attach(model) before the loop")
    if not worker.in_step:
        raise RuntimeError("eddis.torch.weighted is for the loop over eddis.torch.loader, whose steps have weights")
    return _Weighted.apply(loss, sum)


def attach(model: torch.nn.Module, group: Any = None, *, reduction: str = "mean",
           weights: str = "samples") -> torch.nn.Module:
    """Let torch.distributed combine this model's gradients, with batches of the plan.  Return the model.

        loader = eddis.loader(DataLoader(dataset, batch_size=256, shuffle=True))
        model = eddis.attach(DistributedDataParallel(model))
        for epoch in loader.epochs(20):
            for x, y in loader:
                optimizer.zero_grad()
                eddis.weighted(loss_of(model(x), y)).backward()
                optimizer.step()

    model: DistributedDataParallel or a module of fully_shard, whose gradients are the mean over the group's ranks; any
    other module is wrapped in DistributedDataParallel, after init_process_group if the script has not called it.
    group: the process group of all workers that combines the gradients; None: the default group.
    reduction: "sum" if what combines the gradients takes their sum.
    weights: "told" if batches hold other numbers than the plan, or losses are means over tokens: then the workers sum
    up what `set_weight` gives, or else what their batches hold.

    Several models may be attached, with equal arguments.  Call it before the first step and before a collective of
    eddis.  Leave DistributedOptimizer out.  The job's mode must be sync; "auto" becomes sync.

    Raises ValueError for impossible arguments or a group that is not of all workers; RuntimeError if the job was joined
    already, or a DistributedOptimizer combines gradients.
    """
    global _pass
    _check(reduction, weights)
    model = _combined(model, group)
    _refuse_parts(model)
    n = _ranks_of(model, group)
    if n != worker.size:
        raise ValueError(f"the process group is not of all {worker.size} workers: attach takes models whose gradients "
                         "are combined over all workers")
    trained = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    if not trained:
        raise ValueError("the model has no parameter that requires a gradient")
    if any(model is it for it in _models):
        raise ValueError("the model is attached already")
    device = _device_of(*trained[0])
    if _pass and (reduction == "mean", weights) != (_pass.is_mean, _pass.weights):
        raise ValueError("models are attached with the same reduction and weights")
    worker.set_options("call eddis.torch.attach before a collective or len(loader)", gradients=NAME, own_pace=1)
    if _pass is None:
        _pass = _Pass(n, reduction, weights, device)
        worker.before_commit.append(_register)
        worker.before_end.append(lambda: tell_sums(worker, _whole_parameters()))
        worker.before_restore.append(lambda: look_for_partial(
            worker, [(name, p) for m in _models for name, p in m.named_parameters() if not is_sharded(p)]))
    _models.append(model)
    if hasattr(_inner(model), "no_sync"):
        also_without_sync.append(_inner(model).no_sync)
    _watch(model)
    return model


def _check(reduction: str, weights: str) -> None:
    """Raise ValueError or RuntimeError if `attach` cannot be called now, or not with these arguments."""
    if reduction not in REDUCTIONS:
        raise ValueError(f"reduction is {reduction!r}, but gradients are combined to their 'mean' or 'sum'")
    if weights not in WEIGHTS:
        raise ValueError(f"weights is {weights!r}, but workers weigh by 'samples' of the plan or by what is 'told'")
    if worker.committed:
        raise RuntimeError("the first step has begun: call eddis.torch.attach before the loop")
    if distributed_optimizers():
        raise RuntimeError("eddis.torch.DistributedOptimizer combines gradients already: leave it out, or attach")
    if worker.options.get("pieces"):
        raise RuntimeError("eddis.torch.init(pieces=True) is for eddis.torch.DistributedOptimizer: leave it out, since "
                           "all ranks must make equally many backward passes here")


def attached_parameters() -> list[tuple[str, torch.nn.Parameter]]:
    """Return the trained parameters of all attached models by name."""
    return [(name, p) for model in _models for name, p in model.named_parameters() if p.requires_grad]


# ---- the model

def is_sharded(parameter: torch.Tensor) -> bool:
    """Return whether a parameter is a DTensor, of which this rank has a part."""
    return any(kind.__name__ == "DTensor" for kind in type(parameter).__mro__)


def _device_of(name: str, parameter: torch.Tensor) -> Device | None:
    """Return the device of this rank's part of a parameter; None: the host's memory.  Raises TypeError for devices
    other than CPU and CUDA."""
    try:
        return device_of(parameter.to_local() if is_sharded(parameter) else parameter)
    except TypeError as reason:
        raise TypeError(f"parameter '{name}': {reason}") from None


def _whole_parameters() -> list[torch.Tensor]:
    """Return the parameters of the attached models that each rank has whole."""
    return [p for model in _models for p in model.parameters() if not is_sharded(p)]


def _inner(model: torch.nn.Module) -> torch.nn.Module:
    """Return the module that torch.compile has wrapped, or the model itself."""
    return getattr(model, "_orig_mod", model)


def _combined(model: torch.nn.Module, group: Any) -> torch.nn.Module:
    """Return the model as one whose gradients torch.distributed combines: itself if it is, else wrapped in
    DistributedDataParallel.  With one worker, return it as it is."""
    if isinstance(_inner(model), DistributedDataParallel) or any(is_sharded(p) for p in model.parameters()) or \
            worker.size == 1:
        return model
    device = next(model.parameters()).device
    if not distributed.is_initialized():
        distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    if worker.rank == 0:
        say("the model is wrapped in DistributedDataParallel: its own attributes are those of model.module")
    return DistributedDataParallel(model, process_group=group)


def _ranks_of(model: torch.nn.Module, group: Any) -> int:
    """Return the number of ranks over which the model's gradients are combined."""
    if not distributed.is_initialized():
        return 1
    sizes = {parameter.device_mesh.size() for parameter in model.parameters() if is_sharded(parameter)}
    if isinstance(_inner(model), DistributedDataParallel):
        sizes.add(_inner(model).process_group.size())
    return min(sizes | {distributed.get_world_size(group)})


def _refuse_parts(model: torch.nn.Module) -> None:
    """Raise ValueError if the gradients of some parameters are not combined to the mean over all ranks: for the older
    FullyShardedDataParallel, for tensor, pipeline or context parallelism, and if only some are in fully_shard."""
    if any(type(module).__name__ == "FullyShardedDataParallel" for module in model.modules()):
        raise ValueError("attach takes fully_shard, not the older FullyShardedDataParallel")
    sharded = {p for module in model.modules() if _is_fsdp_module(module) for p in module.parameters()}
    has_shards = any(is_sharded(p) for p in model.parameters())
    for name, parameter in model.named_parameters():
        if not is_sharded(parameter):
            if has_shards and parameter.requires_grad:
                raise ValueError(f"parameter '{name}' is in no module of fully_shard, so nothing combines its "
                                 "gradient: call fully_shard(model), too")
            continue
        mesh, kinds = parameter.device_mesh, [type(p).__name__ for p in parameter.placements]
        is_hybrid = mesh.ndim == 2 and kinds[0] == "Replicate"
        if parameter not in sharded or mesh.ndim > 1 and not is_hybrid:
            raise ValueError(f"parameter '{name}' is on a mesh of {'x'.join(map(str, mesh.shape))} ranks: attach takes "
                             "models whose gradients are the mean over all workers, without tensor, pipeline or "
                             "context parallelism")


def _register() -> None:
    """Give the library the sizes of the models.  All ranks register whole parameters, of which each may have a part.
    Raises RuntimeError if eddis and torch.distributed have other workers.  A callback before commit."""
    if worker.size != _pass.n:
        raise RuntimeError(f"torch.distributed has {_pass.n} ranks, the job {worker.size}: start the script by "
                           "eddis-run, which starts the ranks of both")
    layer = L.call("add_layer_to", worker.handle, 0, f"torch, weights by {_pass.weights}".encode(), 0)
    types = {torch.float32: L.FLOAT32, torch.float64: L.FLOAT64, torch.float16: L.FLOAT16,
             torch.bfloat16: L.BFLOAT16}
    sizes: dict[int, int] = {}
    for parameter in {p for model in _models for p in model.parameters()}:
        kind = types.get(parameter.dtype, L.FLOAT32)
        sizes[kind] = sizes.get(kind, 0) + parameter.numel()
    for kind, n in sorted(sizes.items()):
        p = L.Parameter(name=f"parameters of type {kind}".encode(), dtype=kind, n_dims=1)
        p.dims[0] = n
        L.call("add_parameter", worker.handle, layer, p)


def _watch(model: torch.nn.Module) -> None:
    """Have the model's outputs check that backward passes are weighted, and mark where its passes wait for others."""
    for module in model.modules():
        if _is_fsdp_module(module):
            _bracket(module)
    if isinstance(_inner(model), DistributedDataParallel):  # it waits for rank 0's buffers before the forward pass
        _inner(model).register_forward_pre_hook(_waits, prepend=True)
        _inner(model).module.register_forward_pre_hook(_goes_on, prepend=True)
    model.register_forward_hook(_see)  # after the hooks of _bracket, so that its gradient arrives after theirs


@torch.compiler.disable
def _see(module: torch.nn.Module, arguments: Any, output: Any) -> None:
    """Have the gradients of a model's outputs arrive at `_Pass.arrived`.  A forward hook."""
    if worker.in_step and torch.is_grad_enabled():
        for tensor in _tensors_of(output):
            tensor.register_hook(_pass.arrived)


def _is_fsdp_module(module: torch.nn.Module) -> bool:
    """Return whether fully_shard was called with this module."""
    return any(kind.__name__ == "FSDPModule" for kind in type(module).__mro__)


def _tensors_of(output: Any) -> list[torch.Tensor]:
    """Return all tensors of a model's output that require a gradient."""
    if dataclasses.is_dataclass(output) and not isinstance(output, type):
        output = vars(output)
    return [t for t in tree_leaves(output) if torch.is_tensor(t) and t.requires_grad]


# ---- where a pass waits for other ranks

@torch.compiler.disable
def _waits(*_: Any) -> None:
    """Mark that this rank begins to wait.  A hook of modules and tensors."""
    if worker.in_step:
        worker.mark(Mark.WAITS)


@torch.compiler.disable
def _goes_on(*_: Any) -> None:
    """Mark that this rank goes on.  A hook of modules and tensors."""
    if worker.in_step:
        worker.mark(Mark.GOES_ON)


@torch.compiler.disable
def _hook_output(hook: Callable[..., None], module: torch.nn.Module, arguments: Any, output: Any) -> None:
    """Have `hook` called when the output's gradient arrives.  A forward hook."""
    for tensor in _tensors_of(output)[:1]:
        tensor.register_hook(hook)


def _bracket(module: torch.nn.Module) -> None:
    """Mark the times in which fully_shard gathers this module's parameters: its hooks are between these."""
    module.register_forward_pre_hook(_waits, prepend=True)
    module.register_forward_pre_hook(_goes_on)
    module.register_forward_hook(functools.partial(_hook_output, _waits), prepend=True)
    module.register_forward_hook(functools.partial(_hook_output, _goes_on))
    if next(module.parameters()).device.type == "cpu" and hasattr(module, "set_custom_reduce_scatter"):
        module.set_custom_reduce_scatter(_timed_reduce_scatter())


def _timed_reduce_scatter() -> Any:
    """Return fully_shard's reduce-scatter with marks around it: on CPUs it blocks."""
    from torch.distributed.fsdp._fully_shard._fsdp_collectives import DefaultReduceScatter

    class Timed(DefaultReduceScatter):
        """The default, and marks."""

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            worker.mark(Mark.WAITS)
            try:
                return super().__call__(*args, **kwargs)
            finally:
                worker.mark(Mark.GOES_ON)
    return Timed()
