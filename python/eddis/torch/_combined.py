# SPDX-License-Identifier: Apache-2.0
"""The models whose gradients torch.distributed combines: DistributedDataParallel, modules of fully_shard, and engines
of DeepSpeed."""

from __future__ import annotations

from typing import Any

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from .._worker import say, worker
from ._deepspeed import is_engine, refuse_other_engines
from ._device import Device, device_of
from ._groups import SHARDING_SINCE, begin_torch, group as own_group, is_local, own_members, release
from ._replicated import REGISTRY_KEY, replicas_of, replicate


def is_sharded(parameter: torch.Tensor) -> bool:
    """Return whether a parameter is a DTensor, of which this rank has a part."""
    return any(kind.__name__ == "DTensor" for kind in type(parameter).__mro__)


def device_of_part(name: str, parameter: torch.Tensor) -> Device | None:
    """Return the device of this rank's part of a parameter; None: the host's memory.  Raises TypeError for devices
    other than CPU and CUDA."""
    try:
        return device_of(parameter.to_local() if is_sharded(parameter) else parameter)
    except TypeError as reason:
        raise TypeError(f"parameter '{name}': {reason}") from None


def inner(model: torch.nn.Module) -> torch.nn.Module:
    """Return the module that torch.compile has wrapped, or the model itself."""
    return getattr(model, "_orig_mod", model)


def is_combined(model: torch.nn.Module) -> bool:
    """Return whether torch.distributed combines the model's gradients already."""
    return isinstance(inner(model), DistributedDataParallel) or any(is_sharded(p) for p in model.parameters()) or \
        is_engine(model) or replicas_of(model) is not None or _is_of_older_sharding(model)


def combined(model: torch.nn.Module, group: Any) -> torch.nn.Module:
    """Return the model as one whose gradients torch.distributed combines: itself if it is or can become one in place,
    else wrapped in DistributedDataParallel.  With one worker, or a group of one in local mode, return it as it is."""
    if worker.size == 1 or is_combined(model):
        return model
    begin_torch(next(model.parameters()).device.type)
    if is_local():
        group = group or own_group()
        if len(own_members()) == 1:
            return model
    if replicate(model, group):
        return model
    if worker.rank == 0:
        say("the model is wrapped in DistributedDataParallel: its own attributes are those of model.module")
    return DistributedDataParallel(model, process_group=group)


def ranks_of(model: torch.nn.Module, group: Any) -> int:
    """Return the number of ranks over which the model's gradients are combined."""
    if not distributed.is_initialized():
        return 1
    sizes = {parameter.device_mesh.size() for parameter in model.parameters() if is_sharded(parameter)}
    wrapper = inner(model) if isinstance(inner(model), DistributedDataParallel) else replicas_of(model)
    if wrapper:
        sizes.add(wrapper.process_group.size())
    if is_engine(model):
        sizes.add(model.dp_world_size)
    return min(sizes | {distributed.get_world_size(group)})


def refuse_other_ranks(model: torch.nn.Module, group: Any) -> None:
    """In local mode raise ValueError for a model whose gradients are combined over other ranks than those of this
    worker's group."""
    if not is_local() or worker.size == 1:
        return
    if is_engine(model):
        raise ValueError("an engine of deepspeed.initialize combines gradients over all workers, and local mode over "
                         "those of a group: set sync.mode: sync")
    wrapper = inner(model) if isinstance(inner(model), DistributedDataParallel) else replicas_of(model)
    found = [(p.device_mesh.mesh.flatten().tolist(), "fully_shard(model, mesh=eddis.mesh())")
             for p in model.parameters() if is_sharded(p)]
    if group:
        found.append((distributed.get_process_group_ranks(group), "eddis.attach(model, eddis.group())"))
    if wrapper:
        found.append((distributed.get_process_group_ranks(wrapper.process_group),
                      "DistributedDataParallel(model, process_group=eddis.group())"))
    for ranks, line in found:
        if sorted(ranks) != list(own_members()):
            raise ValueError(f"the model's gradients are combined over ranks {_listed(ranks)}, and in local mode the "
                             f"ranks of a group train a model, here {_listed(own_members())}: write {line}")


def _listed(ranks: Any) -> str:
    """Return numbers as text, of many the first and the last."""
    words = [*map(str, ranks)]
    return ", ".join(words) if len(words) < 9 else f"{words[0]} to {words[-1]}"


def refuse_old_sharding(model: torch.nn.Module) -> None:
    """Raise RuntimeError for a model of fully_shard whose PyTorch is too old: none of these was tested, and they have
    no public hooks for what `watch` marks."""
    if release() >= SHARDING_SINCE:
        return
    for name, module in model.named_modules():
        if is_fsdp_module(module) or "fully_shard" in (_registry(module) or ()):
            where = f"module '{name}'" if name else "the model"
            raise RuntimeError(f"{where} is of fully_shard of PyTorch {torch.__version__}, and attach takes that of "
                               f"PyTorch {'.'.join(map(str, SHARDING_SINCE))} or later: install a later PyTorch, or "
                               "wrap the model in DistributedDataParallel")


def _registry(module: torch.nn.Module) -> Any:
    """Return the names of the functions such as `fully_shard` that have changed this module; None: none has."""
    return vars(module).get(REGISTRY_KEY) if REGISTRY_KEY else None


def refuse_norms(model: torch.nn.Module) -> None:
    """Raise ValueError for a torch.nn.SyncBatchNorm on CPUs."""
    for name, module in model.named_modules():
        tensors = module.state_dict().values() if isinstance(module, torch.nn.SyncBatchNorm) else ()
        if any(t.device.type == "cpu" for t in tensors):
            raise ValueError(f"module '{name}' is a torch.nn.SyncBatchNorm, which computes on GPUs only: give attach "
                             "what eddis.torch.SyncBatchNorm.convert_sync_batchnorm(model) returns")


def refuse_parts(model: torch.nn.Module) -> None:
    """Raise ValueError if the gradients of some parameters are not combined to the mean over all ranks: for the older
    FullyShardedDataParallel, for tensor, pipeline or context parallelism, and if only some are in fully_shard."""
    if is_engine(model):
        refuse_other_engines(model)
    if _is_of_older_sharding(model):
        raise ValueError("attach takes fully_shard, not the older FullyShardedDataParallel")
    sharded = {p for module in model.modules() if is_fsdp_module(module) for p in module.parameters()}
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


def _is_of_older_sharding(model: torch.nn.Module) -> bool:
    """Return whether a module of the model is a FullyShardedDataParallel."""
    return any(type(module).__name__ == "FullyShardedDataParallel" for module in model.modules())


def is_fsdp_module(module: torch.nn.Module) -> bool:
    """Return whether fully_shard was called with this module; its class has the shorter name before PyTorch 2.4."""
    return any(kind.__name__ == "FSDPModule" or (kind.__name__ == "FSDP" and "_composable" in kind.__module__)
               for kind in type(module).__mro__)
