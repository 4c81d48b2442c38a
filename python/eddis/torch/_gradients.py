# SPDX-License-Identifier: Apache-2.0
"""Gradients on their way: announced as autograd has them, combined in place, waited for at the backward pass's end.

The parameters of one optimizer are a set, which is combined in rounds, one for each backward pass that is the last of
its micro-batches.  A round replaces each gradient by the mean over the workers' samples.  That is linear and the
weights add up to 1, so what a gradient already holds from a round before comes through unchanged: several backward
passes in a step, and checkpoints that run backward passes of their own, are right without further ado.

A parameter without a gradient is zero for the others.  Whether any worker had one travels with the round, as one
number a parameter: where none had, the gradient stays None, as in one process, so that momentum and weight decay leave
it alone on every worker alike.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator

import torch
from torch.autograd import Variable

from .. import _lib as L
from .._worker import Worker

DTYPES = {torch.float32: L.FLOAT32, torch.float64: L.FLOAT64, torch.float16: L.FLOAT16,
          torch.bfloat16: L.BFLOAT16, torch.int32: L.INT32, torch.int64: L.INT64, torch.uint8: L.UINT8}
FLOATING = (torch.float32, torch.float64, torch.float16, torch.bfloat16)

_message = L._Message()  # of announcements; written where one fails only
_announce = L.lib.eddis_announce


class Member:
    """A parameter of a set."""

    __slots__ = ("parameter", "name", "id", "index", "stride", "round", "spare")

    def __init__(self, parameter: torch.nn.Parameter, name: str, index: int) -> None:
        self.parameter, self.name, self.index = parameter, name, index
        self.stride = parameter.stride()
        self.id = -1
        self.round = -1  # the last one that it was announced in
        self.spare: torch.Tensor | None = None  # for what others make of it where there is no gradient here


class ParameterSet:
    """What one optimizer updates."""

    def __init__(self, worker: Worker, number: int, named: list[tuple[str, torch.nn.Parameter]],
                 passes: int) -> None:
        self.worker, self.number, self.passes = worker, number, passes
        self.members = [Member(p, name, i) for i, (name, p) in enumerate(named)]
        self.round = 0
        self.announced = 0  # members, in this round
        self.passed = 0  # backward passes whose gradients only add up
        self.is_held = False  # by hold()
        self.is_armed = False  # a backward pass is under way
        self.is_local = False  # gradients have come that no round has combined
        worker.before_commit.append(self._register)
        worker.after_commit.append(self._settle)

    # ---- registration

    def _register(self) -> None:
        layers: dict[str, int] = {}
        n = len(self.members)
        self.used = torch.ones(n)
        self.used_by_any = torch.ones(n)
        self.used_id = self._add("eddis.used", f"eddis.used{self.number}", self.used, layers)
        for member in self.members:
            layer = member.name.rpartition(".")[0] or member.name
            member.id = self._add(layer, member.name, member.parameter, layers)

    def _add(self, layer: str, name: str, tensor: torch.Tensor, layers: dict[str, int]) -> int:
        worker = self.worker
        if tensor.dtype not in FLOATING:
            raise TypeError(f"parameter '{name}' is of {tensor.dtype}: eddis combines floating point gradients only")
        if tensor.device.type != "cpu" or not is_dense(tensor):
            raise TypeError(f"parameter '{name}' is not in the dense memory of a CPU")
        if layer not in layers:
            layers[layer] = L.call("add_layer_to", worker.handle, self.number, layer.encode(), 0)
        dims = list(tensor.shape) if tensor.dim() <= L.MAX_DIMS else [tensor.numel()]
        parameter = L.Parameter(name=name.encode(), dtype=DTYPES[tensor.dtype], n_dims=len(dims),
                                value=tensor.data_ptr() or None)
        parameter.dims[:len(dims)] = dims
        worker.outliving.append(tensor)
        return L.call("add_parameter", worker.handle, layers[layer], parameter)

    def _settle(self) -> None:
        """The group is known: hooks, where there is somebody to combine with."""
        if self.worker.world.n_group_ranks == 1:
            return
        for member in self.members:
            member.parameter.register_post_accumulate_grad_hook(functools.partial(self._ready, member))

    # ---- a backward pass

    def _ready(self, member: Member, parameter: torch.Tensor) -> None:
        """autograd's hook: this gradient is complete, for this backward pass."""
        if not self.is_armed:
            self._arm()
        if self.is_held or self.passed + 1 < self.passes:
            return
        self._announce(member)

    def _arm(self) -> None:
        if not self.worker.in_step:
            raise RuntimeError("a backward pass outside of the loop over eddis.torch.loader: its gradients would be "
                               "this worker's alone; take those of a parameter that is not trained by "
                               "torch.autograd.grad")
        self.is_armed = True
        Variable._execution_engine.queue_callback(self._pass_over)

    def _announce(self, member: Member) -> None:
        gradient = member.parameter.grad
        if member.round == self.round:
            raise RuntimeError(f"parameter '{member.name}' got a gradient twice in one backward pass: give "
                               "torch.utils.checkpoint use_reentrant=False")
        if gradient.stride() != member.stride or gradient.layout != torch.strided:
            gradient = member.parameter.grad = as_laid_out(gradient, member.parameter)
        address = gradient.data_ptr()
        member.round = self.round
        self.announced += 1
        self._send(member.id, address, address)

    def _send(self, number: int, source: int, result: int) -> None:
        result = _announce(self.worker.handle, number, source or L.ZERO, result, _message)
        if result < 0:
            raise L.Error(result, _message.text.decode(errors="replace"))

    def _pass_over(self) -> None:
        """The engine's callback, in the thread that has called backward."""
        self.is_armed = False
        self.is_local = True
        if self.is_held or self.passed + 1 < self.passes:
            self.passed += not self.is_held
            return
        self.synchronize()

    def synchronize(self) -> None:
        """Combine what has come since the last round, unless nothing has."""
        if not self.is_local or self.worker.world.n_group_ranks == 1:
            return
        self.is_local = False
        self.passed = 0
        unused = self._announce_rest() if self.announced < len(self.members) else []
        self._send(self.used_id, self.used.data_ptr(), self.used_by_any.data_ptr())
        self.worker.wait_set(self.number)
        self.round += 1
        self.announced = 0
        if unused:
            self._take_unused(unused)
        elif not self.worker.weight:
            self._drop_unused()

    def _announce_rest(self) -> list[Member]:
        """Of micro-batches before, or of none: these are returned."""
        unused = []
        for member in self.members:
            if member.round == self.round:
                continue
            if member.parameter.grad is not None:
                self._announce(member)
                continue
            if member.spare is None:
                member.spare = torch.zeros_like(member.parameter)
            self._send(member.id, L.ZERO, member.spare.data_ptr())
            unused.append(member)
        for member in unused:
            self.used[member.index] = 0
        return unused

    def _take_unused(self, unused: list[Member]) -> None:
        for member in unused:
            self.used[member.index] = 1
            if self.used_by_any[member.index] > 0:
                member.parameter.grad, member.spare = member.spare, None
        if not self.worker.weight:
            self._drop_unused()

    def _drop_unused(self) -> None:
        """This worker had no samples: where no other had a gradient there is none."""
        for member in self.members:
            if not self.used_by_any[member.index] > 0:
                member.parameter.grad = None

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Gradients of backward passes in here only add up."""
        before, self.is_held = self.is_held, True
        try:
            yield
        finally:
            self.is_held = before


def is_dense(tensor: torch.Tensor) -> bool:
    """Whether its elements fill their memory without gaps or overlaps, in whatever order."""
    return torch.ops.aten.is_non_overlapping_and_dense(tensor)


def as_laid_out(gradient: torch.Tensor, parameter: torch.Tensor) -> torch.Tensor:
    """The same numbers, dense, in the order of the parameter's memory."""
    dense = gradient.to_dense() if gradient.layout != torch.strided else gradient
    return torch.empty_like(parameter).copy_(dense)
