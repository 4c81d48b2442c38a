# SPDX-License-Identifier: Apache-2.0
"""attach(weigh="outputs"): the gradients of a model's outputs are weighted, for code whose loss cannot be reached.

Each tensor that the model returns passes a node of its own, whose backward pass multiplies the gradient by the rank's
factor.  A hook of the tensor itself would not do: a model that returns its loss and what the loss is of would have the
one weighted within the other.
"""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from .._worker import worker
from . import _weighted
from ._parts import parts


def weigh_outputs(model: torch.nn.Module, others: list[torch.nn.Module]) -> None:
    """Have the gradients of the model's outputs weighted.  others: models for which this was called before.  Raises
    ValueError if the model has parameters of one of them, whose outputs would be weighted twice."""
    theirs = {p for other in others for p in other.parameters()}
    for name, parameter in model.named_parameters():
        if parameter in theirs:
            raise ValueError(f"parameter '{name}' is of another attached model, too, so its gradient would be weighted "
                             "twice: attach the whole model once, or leave out weigh='outputs'")
    model.register_forward_pre_hook(_refuse_chain, prepend=True, with_kwargs=True)
    model.register_forward_hook(_pass_nodes)


@torch.compiler.disable
def _refuse_chain(model: torch.nn.Module, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    """Raise RuntimeError if an input of the model requires a gradient, which would be weighted here and again where it
    comes from.  A forward pre-hook."""
    if not worker.in_step or not torch.is_grad_enabled():
        return
    if any(torch.is_tensor(t) and t.requires_grad for t in tree_leaves((arguments, keywords))):
        raise RuntimeError("an input of an attached model requires a gradient, so what comes through the model, as in "
                           "D(G(z)), would be weighted twice: leave out weigh='outputs', and call "
                           "eddis.torch.weighted(loss).backward()")


@torch.compiler.disable  # the factor differs from step to step
def _pass_nodes(model: torch.nn.Module, arguments: Any, output: Any) -> Any:
    """Return the output with its tensors behind nodes that weight their gradients.  A forward hook."""
    return _behind_nodes(output) if worker.in_step and torch.is_grad_enabled() else None


def _behind_nodes(output: Any) -> Any:
    """Return a copy of an output of tensors in lists, tuples, dicts and data classes, in which each tensor that
    requires a gradient is behind a node.  Raises TypeError for an object that may have others."""
    leaves, spec = tree_flatten(output)
    return tree_unflatten([_behind_node(leaf) for leaf in leaves], spec)


def _behind_node(leaf: Any) -> Any:
    """See _behind_nodes, for what is no list, tuple or dict."""
    if torch.is_tensor(leaf):
        return _Node.apply(leaf) if leaf.requires_grad else leaf
    if dataclasses.is_dataclass(leaf) and not isinstance(leaf, type):
        changed = copy.copy(leaf)
        for name, value in vars(leaf).items():
            object.__setattr__(changed, name, _behind_nodes(value))
        return changed
    if leaf is None or isinstance(leaf, (bool, int, float, str, bytes)):
        return leaf
    raise TypeError(f"an attached model returns an object of type {type(leaf).__name__}, in which eddis finds no "
                    "tensors: return tensors in lists, tuples, dicts or data classes, or leave out weigh='outputs', "
                    "and call eddis.torch.weighted(loss).backward()")


class _Node(torch.autograd.Function):
    """A tensor, unchanged; its gradient times the rank's factor."""

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor) -> torch.Tensor:
        ctx.part = parts.use()
        return tensor.clone() if tensor.numel() <= 1024 else tensor.detach()  # the script may change both in place

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return _weighted.passes.times_factor(gradient, ctx.part)
