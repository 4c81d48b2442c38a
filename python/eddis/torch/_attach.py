# SPDX-License-Identifier: Apache-2.0
"""attach: gradients that torch.distributed combines, as DistributedDataParallel and fully_shard do, with batches of the
plan.  libeddis sends no gradients: the workers agree on plans and samples from the step's begin to its end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from .. import _lib as L
from .._worker import worker
from ._alone import begin_alone
from ._batchnorm import set_min_count
from ._combined import combined, device_of_part, inner, is_sharded, ranks_of, refuse_norms, refuse_old_sharding, \
    refuse_other_ranks, refuse_parts
from ._deepspeed import elements_of, is_engine
from ._groups import is_local, own_members
from ._optimizer import also_without_sync, distributed_optimizers
from ._outputs import weigh_outputs
from ._own_gpu import refuse_others_gpu
from ._precision import report_precision
from ._replicated import without_sync_of
from ._rounds import add_to_rounds
from ._sums import look_for_partial, tell_sums
from ._waits import watch
from ._weighted import Passes, begin_passes

NAME = b"torch"  # name of torch.distributed in plans
WEIGHTS = ("samples", "told")
REDUCTIONS = ("mean", "sum")
WEIGHS = ("loss", "outputs")

_models: list[torch.nn.Module] = []


def attach(model: torch.nn.Module, group: Any = None, *, reduction: str = "mean",
           weights: str = "samples", weigh: str = "loss") -> torch.nn.Module:
    """Let torch.distributed combine this model's gradients, with batches of the plan.  Return the model.

        loader = eddis.loader(DataLoader(dataset, batch_size=256, shuffle=True))
        model = eddis.attach(DistributedDataParallel(model))
        for epoch in loader.epochs(20):
            for x, y in loader:
                optimizer.zero_grad()
                eddis.weighted(loss_of(model(x), y)).backward()
                optimizer.step()

    model: DistributedDataParallel, a module of fully_shard, or an engine of deepspeed.initialize, whose gradients are
    the mean over the group's ranks.  Any other module becomes one in place, by torch's `replicate`, after
    init_process_group if the script has not called it: it keeps its methods and the names of its state_dict().  One of
    torch.compile is wrapped in DistributedDataParallel.
    group: the process group of all workers that combines the gradients; None: the default group.  In local mode it is
    that of the worker's group, as eddis.torch.group returns it, and models are combined at the end of a round.
    reduction: "sum" if what combines the gradients takes their sum.
    weights: "told" if batches hold other numbers than the plan, or losses are means over tokens: then the workers sum
    up what `set_weight` gives, or else what their batches hold.
    weigh: "outputs" for code whose loss cannot be reached by `weighted`, which must then not be called: the gradients
    of the model's outputs are weighted.  The loss must be a mean over this worker's samples, and reach the model
    through its outputs.  No input of the model may require a gradient.

    Several models may be attached, with equal arguments.  Call it before the first step and before a collective of
    eddis or len(loader), unless `init(attach=True)` comes before these.  Leave DistributedOptimizer out.  The job's
    mode must be sync or local; "auto" becomes sync.

    Raises ValueError for impossible arguments, a group that is not of all workers, or in local mode a model whose
    gradients are combined over other ranks than those of the group, or whose parts are not alike in all groups;
    TypeError in local mode for a trained parameter that is no floating-point number; RuntimeError if the job was joined
    already, a DistributedOptimizer combines gradients, or fully_shard is that of a PyTorch before 2.7.
    """
    _check(reduction, weights, weigh)
    if not any(p.requires_grad for p in model.parameters()):
        raise ValueError("the model has no parameter that requires a gradient")
    refuse_norms(model)
    refuse_old_sharding(model)
    model = combined(model, group)
    refuse_parts(model)
    refuse_other_ranks(model, group)
    n = len(own_members()) if is_local() else ranks_of(model, group)
    if n != worker.size and not is_local():
        raise ValueError(f"the process group is not of all {worker.size} workers: attach takes models whose gradients "
                         "are combined over all workers")
    trained = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    if any(model is it for it in _models):
        raise ValueError("the model is attached already")
    refuse_others_gpu(worker, [p for _, p in trained])
    device = device_of_part(*trained[0])
    _set_options()
    passes = begin_passes(n, reduction, weights, weigh, device)
    begin_alone(device)
    add_to_rounds(model, passes.told.of_step if passes.told else None)
    if not _models:
        worker.before_commit.append(lambda: _register(passes))
        worker.before_end.append(lambda: tell_sums(worker, _whole_parameters()))
        worker.before_restore.append(lambda: look_for_partial(
            worker, [(name, p) for m in _models for name, p in m.named_parameters() if not is_sharded(p)]))
    watch(model, passes.arrived if weigh == "loss" else None)
    if weigh == "outputs":
        weigh_outputs(model, _models)
    _models.append(model)
    set_min_count(model)
    report_precision(model)
    if without_sync := without_sync_of(inner(model)):
        also_without_sync.append(without_sync)
    return model


def _set_options() -> None:
    """Set the options of joining for models whose gradients torch.distributed combines.  Raises RuntimeError if the job
    was joined without them."""
    worker.set_options("call eddis.torch.attach before a collective or len(loader), or eddis.torch.init(attach=True) "
                       "before all", gradients=NAME, own_pace=1)


def expect() -> None:
    """Join the job as one whose models will be given to `attach` before the first step.  The first step raises
    RuntimeError if there is none.  Later calls do nothing.  Raises RuntimeError if the job was joined already."""
    _set_options()
    if _refuse_none not in worker.before_commit:
        worker.before_commit.insert(0, _refuse_none)


def _refuse_none() -> None:
    """Raise RuntimeError if no model is attached.  A callback before commit."""
    if not _models:
        raise RuntimeError("no model is attached at the first step, although eddis.torch.init(attach=True) or a "
                           "callback of eddis has announced one: call eddis.torch.attach(model) before the loop")


def _check(reduction: str, weights: str, weigh: str) -> None:
    """Raise ValueError or RuntimeError if `attach` cannot be called now, or not with these arguments."""
    if reduction not in REDUCTIONS:
        raise ValueError(f"reduction is {reduction!r}, but gradients are combined to their 'mean' or 'sum'")
    if weights not in WEIGHTS:
        raise ValueError(f"weights is {weights!r}, but workers weigh by 'samples' of the plan or by what is 'told'")
    if weigh not in WEIGHS:
        raise ValueError(f"weigh is {weigh!r}, but the gradient of the 'loss' or of the model's 'outputs' is weighted")
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


def attached_engines() -> list[Any]:
    """Return the engines of DeepSpeed among the attached models."""
    return [model for model in _models if is_engine(model)]


def _whole_parameters() -> Iterator[torch.Tensor]:
    """Yield the parameters of the attached models that each rank has whole.  To look for them takes a millisecond for a
    hundred layers, and most steps need none."""
    return (p for model in _models for p in model.parameters() if not is_sharded(p))


def _register(passes: Passes) -> None:
    """Give the library the sizes of the models.  All ranks register whole parameters, of which each may have a part.
    Raises RuntimeError if eddis and torch.distributed have other workers.  A callback before commit."""
    if is_local() and passes.n != worker.world.n_group_ranks:
        raise RuntimeError(f"torch.distributed combines gradients of {passes.n} ranks, but this worker's group has "
                           f"{worker.world.n_group_ranks}: make the model with process_group=eddis.group()")
    if not is_local() and passes.n != worker.size:
        raise RuntimeError(f"torch.distributed has {passes.n} ranks, the job {worker.size}: start the script by "
                           "eddis-run, which starts the ranks of both")
    layer = L.call("add_layer_to", worker.handle, 0, f"torch, weights by {passes.weights}".encode(), 0)
    types = {torch.float32: L.FLOAT32, torch.float64: L.FLOAT64, torch.float16: L.FLOAT16,
             torch.bfloat16: L.BFLOAT16}
    sizes: dict[int, int] = {}
    for parameter in {p for model in _models for p in model.parameters()}:
        kind = types.get(parameter.dtype, L.FLOAT32)
        sizes[kind] = sizes.get(kind, 0) + elements_of(parameter)
    for kind, n in sorted(sizes.items()):
        p = L.Parameter(name=f"parameters of type {kind}".encode(), dtype=kind, n_dims=1)
        p.dims[0] = n
        L.call("add_parameter", worker.handle, layer, p)
