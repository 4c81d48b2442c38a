# SPDX-License-Identifier: Apache-2.0
"""Marks where a rank waits for others in the passes of a model that torch.distributed combines.

With fully_shard a rank waits when it gathers a module's parameters and, on CPUs, when it reduces gradients; with
DistributedDataParallel when rank 0 sends its buffers.  The marks leave these times out of the rank's own computing, and
eddis-run sees there that the rank waits: the rank that all wait for is the one that computes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils._pytree import tree_leaves

from .. import _lib as L
from .._worker import Mark, worker
from . import _alone
from ._combined import inner, is_fsdp_module
from ._deepspeed import is_engine, watch_collectives
from ._script_waits import watch_script


_set_phase = L.lib.eddis_set_phase
# By attached model.  Their hooks hold none of this: a script may pickle or copy the model, and a copy is not watched.
_arrived: dict[torch.nn.Module, Callable[[torch.Tensor], torch.Tensor | None]] = {}
_watched: dict[torch.nn.Module, _alone.Watched] = {}


def _show_wait() -> None:
    """Show eddis-run that this rank waits for others.  A callback of Worker.marks."""
    if worker.in_step:
        _set_phase(worker.handle, L.PHASE_WAIT)


def _show_compute() -> None:
    """Show eddis-run that this rank computes.  A callback of Worker.marks."""
    if worker.in_step:
        _set_phase(worker.handle, L.PHASE_COMPUTE)


def watch(model: torch.nn.Module, arrived: Callable[[torch.Tensor], torch.Tensor | None] | None) -> None:
    """Have the gradients of the model's outputs given to `arrived`, unless it is None, and mark where its passes wait
    for others."""
    if _show_wait not in worker.marks[Mark.WAITS]:
        worker.marks[Mark.WAITS].append(_show_wait)
        worker.marks[Mark.GOES_ON].append(_show_compute)
    watch_script()
    for module in model.modules():
        if is_fsdp_module(module):
            _bracket(module)
    if isinstance(inner(model), DistributedDataParallel):
        _bracket_buffers(inner(model))
    if is_engine(model):
        watch_collectives()
    # After the hooks of _bracket, so that the gradients arrive after theirs
    if arrived:
        _arrived[model] = arrived
        model.register_forward_hook(_see)
    if _alone.alone:  # before fully_shard's, which wait
        _watched[model] = _alone.Watched(model)
        model.register_forward_hook(_see_alone, prepend=True)


def _bracket_buffers(model: DistributedDataParallel) -> None:
    """Mark the time in which the model waits for rank 0's buffers before its forward pass.  In its first passes it also
    waits for the order of its buckets, so without buffers only these are marked."""
    first = None if any(True for _ in model.module.buffers()) else _First()
    hooks = [model.register_forward_pre_hook(_waits, prepend=True),
             model.module.register_forward_pre_hook(first or _goes_on, prepend=True)]
    if first:
        first.hooks = hooks


class _First:
    """The hook that marks the end of the wait before a forward pass, and removes both hooks after the first passes.  An
    object, since a script may pickle the module."""

    def __init__(self) -> None:
        self.hooks: list[Any] = []
        self._n_left = 3

    @torch.compiler.disable
    def __call__(self, *_: Any) -> None:
        _goes_on()
        self._n_left -= 1
        if not self._n_left:
            for hook in self.hooks:
                hook.remove()


@torch.compiler.disable
def _see(model: torch.nn.Module, arguments: Any, output: Any) -> None:
    """Have the gradients of an attached model's outputs given to the function that `watch` got with it.  A forward
    hook."""
    if worker.in_step and torch.is_grad_enabled() and (arrived := _arrived.get(model)):
        for tensor in _tensors_of(output):
            tensor.register_hook(arrived)


def _tensors_of(output: Any) -> list[torch.Tensor]:
    """Return all tensors of a model's output that require a gradient."""
    if torch.is_tensor(output):  # tree_leaves takes 20 us
        return [output] if output.requires_grad else []
    if dataclasses.is_dataclass(output) and not isinstance(output, type):
        output = vars(output)
    return [t for t in tree_leaves(output) if torch.is_tensor(t) and t.requires_grad]


@torch.compiler.disable
def _see_alone(model: torch.nn.Module, arguments: Any, output: Any) -> None:
    """Have the backward pass of an attached model measured if the script has not joined the job.  A forward hook."""
    if torch.is_grad_enabled() and (watched := _watched.get(model)) and watched.look():
        for tensor in _tensors_of(output):
            tensor.register_hook(watched.arrived)


@torch.compiler.disable
def _waits(*_: Any) -> None:
    """Mark that this rank begins to wait.  A hook of modules and tensors."""
    if worker.in_step:
        worker.mark(Mark.WAITS)
    elif _alone.alone:
        _alone.alone.waits()


@torch.compiler.disable
def _goes_on(*_: Any) -> None:
    """Mark that this rank goes on.  A hook of modules and tensors."""
    if worker.in_step:
        worker.mark(Mark.GOES_ON)
    elif _alone.alone:
        _alone.alone.goes_on()


def _bracket(module: torch.nn.Module) -> None:
    """Mark the times in which fully_shard gathers this module's parameters: its hooks are between these.  Its policy
    may cast the output behind its own hook, so both marks are at the tensors that the module itself returns."""
    returned: list[torch.Tensor] = []

    @torch.compiler.disable
    def before(_: torch.nn.Module, __: Any, output: Any) -> None:
        returned[:] = _tensors_of(output)
        for tensor in returned:
            tensor.register_hook(_waits)

    @torch.compiler.disable
    def behind(*_: Any) -> None:
        for tensor in returned:
            tensor.register_hook(_goes_on)
        returned.clear()
    module.register_forward_pre_hook(_waits, prepend=True)
    module.register_forward_pre_hook(_goes_on)
    module.register_forward_hook(before, prepend=True)
    module.register_forward_hook(behind)
    first = next(module.parameters(), None)  # None for a layer without parameters, which fully_shard takes, too
    if first is not None and first.device.type == "cpu" and hasattr(module, "set_custom_reduce_scatter"):
        reduces_on = _mark_all_reduce(module)
        module.set_custom_reduce_scatter(_timed_reduce_scatter(reduces_on))


def _mark_all_reduce(module: torch.nn.Module) -> bool:
    """Have the end of fully_shard's all-reduce marked where a mesh of two dimensions needs one behind each
    reduce-scatter; return whether it does."""
    groups = getattr(module._get_fsdp_state(), "_fsdp_param_groups", [])
    if len(groups) != 1 or not getattr(groups[0], "_is_hsdp", False) or getattr(groups[0], "_all_reduce_hook", None):
        return False  # the script's own hook stays
    module.set_all_reduce_hook(_goes_on)
    return True


def _timed_reduce_scatter(reduces_on: bool) -> Any:
    """Return fully_shard's reduce-scatter with marks around it: on CPUs it blocks.  reduces_on: an all-reduce follows,
    which marks its end."""
    from torch.distributed.fsdp._fully_shard._fsdp_collectives import DefaultReduceScatter

    class Timed(DefaultReduceScatter):
        """The default, and marks."""

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            _waits()
            try:
                return super().__call__(*args, **kwargs)
            finally:
                if not reduces_on:
                    _goes_on()
    return Timed()
