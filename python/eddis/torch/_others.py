# SPDX-License-Identifier: Apache-2.0
"""Detect other programs that combine an optimizer's gradients: DistributedDataParallel, FSDP, Horovod.

If two of them combine the gradients one after the other, the result is wrong without any error.  A wrapper does not
mark its parameters, so the wrappers themselves are searched among all objects, if there is a process group.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator

import torch

from .._worker import worker

_ATTACH = "call eddis.torch.attach(model) and leave out eddis.torch.DistributedOptimizer"


def refuse_others(optimizer: torch.optim.Optimizer, named: Iterable[tuple[str, torch.nn.Parameter]]) -> None:
    """Raise RuntimeError if another program combines the gradients of these parameters among several workers."""
    if worker.size == 1:
        return
    if any(kind.__module__.partition(".")[0] == "horovod" for kind in type(optimizer).__mro__):
        raise RuntimeError("Horovod's DistributedOptimizer combines these gradients already, so they would be combined "
                           "twice: give eddis.torch.DistributedOptimizer the optimizer that Horovod was given")
    names = {p: name for name, p in named}
    for p, name in names.items():
        if _is_sharded(p):
            raise RuntimeError(f"each worker has a part of parameter '{name}', which is a DTensor, as fully_shard "
                               f"makes them, and torch.distributed combines its gradients: {_ATTACH}")
    for wrapper in _wrappers():
        for p in wrapper.parameters():
            if p in names:
                kind = type(wrapper).__name__
                if isinstance(wrapper, _fsdp()):
                    raise RuntimeError(f"each worker has a part of parameter '{names[p]}', whose gradients {kind} "
                                       f"combines: {_ATTACH}")
                raise RuntimeError(f"{kind} combines the gradients of parameter '{names[p]}' already, so they would be "
                                   f"combined twice: leave out {kind}, or what wraps the model in it, and give "
                                   "eddis.torch.DistributedOptimizer the model itself")


def _is_sharded(parameter: torch.nn.Parameter) -> bool:
    """Check whether a parameter, or its data, is a DTensor of torch.distributed."""
    return any(kind.__name__ == "DTensor" for it in (parameter, parameter.data) for kind in type(it).__mro__)


def _wrappers() -> Iterator[torch.nn.Module]:
    """Yield all modules of DistributedDataParallel and FSDP with a process group of several processes."""
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return
    kinds = (torch.nn.parallel.DistributedDataParallel, *_fsdp())
    for it in gc.get_objects():
        if issubclass(type(it), kinds):  # isinstance() asks an object, which may be anything
            group = getattr(it, "process_group", None)
            if not isinstance(group, torch.distributed.ProcessGroup) or group.size() > 1:
                yield it


def _fsdp() -> tuple[type, ...]:
    """Return FSDP's class as a tuple, empty if PyTorch was built without it."""
    try:
        from torch.distributed.fsdp import FullyShardedDataParallel
    except ImportError:  # a PyTorch that was built without it
        return ()
    return (FullyShardedDataParallel,)
