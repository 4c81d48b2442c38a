# SPDX-License-Identifier: Apache-2.0
"""Report in which precision the script multiplies matrices, as its first steps show: by its rates in that precision
eddis-run compares GPUs before it has measured steps."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import torch
from torch.utils.hooks import RemovableHandle

from .._worker import worker
from ._groups import release

# Inside of an activation checkpoint earlier versions of PyTorch leave a graph that writes to Python's objects in parts,
# and all others of the model's class.  2.15 is the first later one that was tested.
_MAY_WRITE = release() >= (2, 15)
_NAMES = {torch.float16: b"fp16", torch.bfloat16: b"bf16"}

_models: list[torch.nn.Module] = []
_parameters: list[torch.Tensor] = []  # of optimizers without a model
_hooks: list[RemovableHandle] = []
_is_reported = False


class _Seen:
    """Types in which the models compute."""

    autocast: torch.dtype | None = None  # to which autocast converts
    own: torch.dtype | None = None  # of the largest matrix
    is_traced = False  # torch.compile has made a hook a part of the program
    on_gpu = False  # some matrix is on a CUDA device
    convolves = False  # most matrices are weights of convolutions


_seen = _Seen()


def report_precision(model: torch.nn.Module | None, parameters: Iterable[torch.Tensor] = ()) -> None:
    """Report the precision of this model's products, or without a model that of the parameters, with the first step in
    which the model is called.

    The hooks stay in the model until then only, since the script may copy or save it; but those that torch.compile has
    traced stay, since it would compile again without them.  So the hooks read nothing that changes.
    """
    if not _models and not _parameters:
        worker.after_commit.append(_begin)
        worker.before_end.append(_report)
    if model is not None:
        _models.append(model)
    else:
        _parameters.extend(parameters)


def _begin() -> None:
    """Install the hooks of the first step, and look at the models, which steps do not.  A callback after commit."""
    weights = [p for model in _models for p in model.parameters() if p.dim() > 1]
    _seen.on_gpu = any(p.device.type == "cuda" for p in weights)
    _seen.convolves = 2 * sum(p.dim() > 2 for p in weights) > len(weights)
    for model in _models:
        device = next((p.device.type for p in model.parameters()), None)
        if isinstance(model, torch.jit.ScriptModule) or device is None:  # the former takes no hooks
            continue
        owner = _owner_of_largest(model)
        own = None if _MAY_WRITE or owner is None else _largest_type(owner)
        _hooks.append(model.register_forward_pre_hook(functools.partial(_see_autocast, device, own)))
        if owner is not None:
            _hooks.append(owner.register_forward_pre_hook(_see_own))


def _owner_of_largest(model: torch.nn.Module) -> torch.nn.Module | None:
    """Return the module that has the model's largest matrix; None: there is no matrix.  Within a model's call autocast
    may begin behind the model's own hooks."""
    sizes = [(p.numel(), module) for module in model.modules() for p in module.parameters(recurse=False)
             if p.dim() > 1 and not isinstance(module, torch.jit.ScriptModule)]
    return max(sizes, key=lambda it: it[0])[1] if sizes else None


def _largest_type(owner: torch.nn.Module) -> torch.dtype:
    """Return the type of the module's largest matrix."""
    return max((p for p in owner.parameters(recurse=False) if p.dim() > 1), key=torch.Tensor.numel).dtype


def _autocast_type(device: str) -> torch.dtype | None:
    """Return the type to which autocast converts on this type of device; None: autocast is off."""
    if hasattr(torch, "get_autocast_dtype"):
        return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None
    if device == "cuda":  # before torch 2.4
        return torch.get_autocast_gpu_dtype() if torch.is_autocast_enabled() else None
    return torch.get_autocast_cpu_dtype() if torch.is_autocast_cpu_enabled() else None


def _see_autocast(device: str, own: torch.dtype | None, module: torch.nn.Module, arguments: tuple[Any, ...]) -> None:
    """Keep the type of autocast on this type of device, and that of the largest matrix, if it is given.  A pre-hook of
    a model."""
    if torch.compiler.is_compiling():
        _seen.is_traced = True
    if own is not None:
        _seen.own = own
    if (of := _autocast_type(device)) is not None:
        _seen.autocast = of


def _see_own(module: torch.nn.Module, arguments: tuple[Any, ...]) -> None:
    """Keep the type of autocast, or that of the module's matrix.  A pre-hook of the module with the largest matrix."""
    if torch.compiler.is_compiling():
        if not _MAY_WRITE:
            return
        _seen.is_traced = True
    for parameter in module._parameters.values():
        if parameter is not None and parameter.dim() > 1:
            _seen.own = parameter.dtype
            if (of := _autocast_type(parameter.device.type)) is not None:
                _seen.autocast = of
            return


def _report() -> None:
    """Add the precision to the step's report, once it is known.  A callback before a step ends."""
    global _is_reported
    if _is_reported or not worker.step.count:
        return
    seen = _seen.autocast or _seen.own
    if seen is None and not _models:
        seen = next((p.dtype for p in _parameters if p.dim() > 1 and p.dtype in _NAMES), None)
    if _seen.is_traced and not _MAY_WRITE and not _seen.autocast:
        seen = None  # autocast may begin inside of the graph
    if seen is None and _models:
        return
    for hook in _hooks if not _seen.is_traced else ():
        hook.remove()
    _hooks.clear()
    _is_reported = True
    if seen is not None:
        worker.report.precision = _NAMES.get(seen) or (b"tf32" if _uses_tf32() else b"fp32")


def _uses_tf32() -> bool:
    """Check whether products of float32 on a CUDA device use TF32, as PyTorch's settings are: by default convolutions
    do, and other products do not.  A model's products count as convolutions if most of its matrices are such weights.
    """
    if not _seen.on_gpu:
        return False
    if _seen.convolves:
        return _is_tf32(getattr(torch.backends.cudnn, "conv", None), torch.backends.cudnn)
    return _is_tf32(torch.backends.cuda.matmul, torch.backends.cuda.matmul)


def _is_tf32(settings: Any, older: Any) -> bool:
    """Check whether these settings allow TF32: as torch 2.9 names it, else as before."""
    precision = getattr(settings, "fp32_precision", "none")
    if precision != "none":
        return bool(precision == "tf32")
    try:
        return bool(older.allow_tf32)
    except RuntimeError:  # the script has set the one and the other
        return False
