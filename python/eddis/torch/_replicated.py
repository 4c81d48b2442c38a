# SPDX-License-Identifier: Apache-2.0
"""Plain models whose gradients torch.distributed combines in place, by torch's `replicate`: a
DistributedDataParallel around the model's parameters alone, which hooks of the model call.  The model stays the object
it was: its methods, attributes and the names in its state_dict()."""

from __future__ import annotations

import contextlib
import copyreg
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from .._worker import worker
from . import _weighted
from ._collectives import broadcast_tensors
from ._groups import is_local

try:
    from torch.distributed._composable.contract import REGISTRY_KEY, STATE_KEY
    from torch.distributed._composable.replicate import replicate as _replicate
except ImportError:  # another place than in PyTorch 2.3 to 2.15, or a build without torch.distributed
    _replicate = REGISTRY_KEY = None

_OURS = "eddis.", "torch.distributed._composable."  # modules of the hooks of `replicate` and of eddis


def replicas_of(model: torch.nn.Module) -> DistributedDataParallel | None:
    """Return the DistributedDataParallel in which `replicate` has put the model's parameters; None for another model.
    """
    state = _replicate.state(model) if _replicate else None
    if state is None:
        return None
    if not state.has_initialized:
        state.lazy_init()  # else at the first forward pass, which may be one of this rank alone
    return state._ddp


def replicate(model: torch.nn.Module, group: Any, **options: Any) -> bool:
    """Have torch.distributed combine the gradients of this model, in place; return False if this version of PyTorch, or
    a model that torch.compile or torch.jit has made, does not allow it.  All ranks get rank 0's parameters now, and
    its other tensors at a start without checkpoint.  options: of DistributedDataParallel.  Collective."""
    if _replicate is None or hasattr(model, "_orig_mod") or isinstance(model, torch.jit.ScriptModule):
        return False
    plain = type(model)
    _replicate(model, **({} if group is None else {"process_group": group}), **options)
    replicas = replicas_of(model)
    _refuse_other_passes(model, replicas)
    _allow_copies(model, plain)
    if not is_local():  # else the rounds begin with the tensors of rank 0, also for groups of one rank
        worker.at_start.append(lambda: broadcast_tensors([b for b in model.buffers() if is_own(b)], 0))
    return True


def _allow_copies(model: torch.nn.Module, plain: type[torch.nn.Module]) -> None:
    """Have pickle, torch.save and copy.deepcopy make plain models of the class that this one had: pickle does not find
    the class that `replicate` has made, and deepcopy is refused there.  In PyTorch 2.3 the model still has its class.
    """
    made = type(model)

    def reduce(model: torch.nn.Module, protocol: Any) -> Any:
        reduced = super(cls, model).__reduce_ex__(protocol)
        if not isinstance(reduced, tuple) or reduced[0] is not copyreg.__newobj__ or not isinstance(reduced[2], dict):
            return reduced
        return reduced[0], (plain, *reduced[1][1:]), _plain(reduced[2]), *reduced[3:]
    # pickle compares __class__ with the class that it writes
    cls = type(made.__name__, (plain,) if made is plain else made.__bases__, {
        "__reduce_ex__": reduce, "__class__": property(lambda _: plain, object.__dict__["__class__"].__set__)})
    model.__class__ = cls


def _plain(state: dict[Any, Any]) -> dict[Any, Any]:
    """Return the attributes of a model without the hooks and the records of `replicate` and of eddis."""
    ours = {number for name in ("_forward_pre_hooks", "_forward_hooks") for number, hook in state[name].items()
            if (getattr(getattr(hook, "func", hook), "__module__", None) or "").startswith(_OURS)}
    state = {name: type(value)((n, hook) for n, hook in value.items() if n not in ours)
             if isinstance(name, str) and name.startswith("_forward_") else value for name, value in state.items()}
    for key in (STATE_KEY, REGISTRY_KEY):
        state.pop(key, None)
    return state


def is_own(buffer: torch.Tensor) -> bool:
    """Return whether the elements of a buffer can be written: not those of an expanded or a sparse one."""
    return buffer.layout is torch.strided and (buffer.numel() == 0 or 0 not in buffer.stride() or
                                               buffer.is_contiguous())


def _refuse_other_passes(model: torch.nn.Module, replicas: DistributedDataParallel) -> None:
    """Have a backward pass raise RuntimeError if nothing combines its gradients, since each needs a forward pass before
    it: if the model's other methods were called alone, or two backward passes follow one forward pass."""
    has_run = False
    newest = -1  # number of the newest backward pass that reached the model

    def ran(*_: Any) -> None:
        nonlocal has_run
        has_run = has_run or torch.is_grad_enabled()

    def check(_: torch.Tensor) -> None:
        nonlocal has_run, newest
        if not worker.in_step or not replicas.require_backward_grad_sync or newest == _weighted.passes.number:
            return
        if not has_run:
            raise RuntimeError("a backward pass reaches the parameters of a model that eddis.torch.attach was given, "
                               "but without a forward pass of its own nothing combines their gradients: call "
                               "model(x), not only other methods of the model, once for each backward pass")
        has_run, newest = False, _weighted.passes.number
    model.register_forward_hook(ran)
    trained = [p for p in model.parameters() if p.requires_grad]
    for parameter in {trained[0], trained[-1]}:
        parameter.register_post_accumulate_grad_hook(check)


def without_sync_of(model: torch.nn.Module) -> Callable[[], Any] | None:
    """Return what makes a context in which the passes of this model only add up gradients, also within another such
    context; None if the model has none."""
    if not hasattr(model, "set_requires_gradient_sync"):
        return getattr(replicas_of(model) or model, "no_sync", None)  # replicas: in PyTorch 2.3
    depth = 0

    @contextlib.contextmanager
    def without_sync() -> Iterator[None]:
        nonlocal depth
        depth += 1
        model.set_requires_gradient_sync(False)
        try:
            yield
        finally:
            depth -= 1
            model.set_requires_gradient_sync(not depth)
    return without_sync
