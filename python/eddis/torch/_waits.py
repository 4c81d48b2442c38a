# SPDX-License-Identifier: Apache-2.0
"""Marks where a rank waits for others in the passes of a model that torch.distributed combines.

With fully_shard a rank waits when it gathers a module's parameters and, on CPUs, when it reduces gradients; with
DistributedDataParallel when rank 0 sends its buffers.  The marks leave these times out of the rank's own computing.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils._pytree import tree_leaves

from .._worker import Mark, worker
from . import _alone
from ._combined import inner, is_fsdp_module


def watch(model: torch.nn.Module, arrived: Callable[[torch.Tensor], torch.Tensor | None]) -> None:
    """Have the gradients of the model's outputs given to `arrived`, and mark where its passes wait for others."""
    for module in model.modules():
        if is_fsdp_module(module):
            _bracket(module)
    if isinstance(inner(model), DistributedDataParallel):  # it waits for rank 0's buffers before the forward pass
        inner(model).register_forward_pre_hook(_waits, prepend=True)
        inner(model).module.register_forward_pre_hook(_goes_on, prepend=True)
    # After the hooks of _bracket, so that the gradients arrive after theirs
    model.register_forward_hook(functools.partial(_see, arrived))
    # Before fully_shard's, which wait
    model.register_forward_hook(functools.partial(_see_alone, _alone.Watched(model)), prepend=True)


@torch.compiler.disable
def _see(arrived: Callable[[torch.Tensor], torch.Tensor | None], module: torch.nn.Module, arguments: Any,
         output: Any) -> None:
    """Have the gradients of a model's outputs given to `arrived`.  A forward hook."""
    if worker.in_step and torch.is_grad_enabled():
        for tensor in _tensors_of(output):
            tensor.register_hook(arrived)


def _tensors_of(output: Any) -> list[torch.Tensor]:
    """Return all tensors of a model's output that require a gradient."""
    if dataclasses.is_dataclass(output) and not isinstance(output, type):
        output = vars(output)
    return [t for t in tree_leaves(output) if torch.is_tensor(t) and t.requires_grad]


@torch.compiler.disable
def _see_alone(model: _alone.Watched, module: torch.nn.Module, arguments: Any, output: Any) -> None:
    """Have the backward pass measured if the script has not joined the job.  A forward hook."""
    if torch.is_grad_enabled() and model.look():
        for tensor in _tensors_of(output):
            tensor.register_hook(model.arrived)


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
            _waits()
            try:
                return super().__call__(*args, **kwargs)
            finally:
                _goes_on()
    return Timed()
