# SPDX-License-Identifier: Apache-2.0
"""Gradients on their way: announced as autograd has them, combined in place, waited for at the backward pass's end.

The parameters of one optimizer are a set, which is combined in rounds, one for each backward pass that is the last of
its micro-batches.  A round replaces each gradient by the mean over the workers' samples.  That is linear and the
weights add up to 1, so what a gradient already holds from a round before comes through unchanged: several backward
passes in a step, and checkpoints that run backward passes of their own, are right without further ado.

A parameter without a gradient is zero for the others.  Whether any worker had one travels with the round, as one
number a parameter: where none had, the gradient stays None, as in one process, so that momentum and weight decay leave
it alone on every worker alike.  One number more is whether the worker's loops are odd ones: where they are so on some
workers only, one has left a loop that the others are in, and would make its last step long before them.

Where losses are sums over samples each worker with samples weighs 1, and its gradients are multiplied by how many such
workers there are, before they are added to what is there: their mean is then the gradient of the sum.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.autograd import Variable
from torch.autograd.graph import get_gradient_edge

from .. import _lib as L
from .._worker import Mark, Worker
from ._device import Announcer, Clock, Copied, Device, Places, device_of

DTYPES = {torch.float32: L.FLOAT32, torch.float64: L.FLOAT64, torch.float16: L.FLOAT16,
          torch.bfloat16: L.BFLOAT16, torch.int32: L.INT32, torch.int64: L.INT64, torch.uint8: L.UINT8}
FLOATING = (torch.float32, torch.float64, torch.float16, torch.bfloat16)

TOGETHER_BYTES = 1 << 20  # at least so many leave a device at once: to begin takes as long as their way

ROUNDING = 0.01  # most of a number that travels as one of 16 bits

_task = torch._C._current_graph_task_id  # a number of autograd's for each backward pass
_use_count = getattr(torch._C, "_storage_Use_Count", None)  # before 2.8 only where PyTorch has CUDA
_announce = L.lib.eddis_announce
_message = L._Message()  # of announcements in the thread that makes a pass; written where one fails only
_announcer: Announcer | None = None  # where a parameter is of a device


class Member:
    """A parameter of a set."""

    __slots__ = ("parameter", "name", "id", "index", "dtype", "n", "on", "stride", "value", "address", "round", "spare",
                 "device", "place", "adds")

    def __init__(self, parameter: torch.nn.Parameter, name: str, index: int) -> None:
        self.parameter, self.name, self.index = parameter, name, index
        self.settle()
        self.id = -1
        self.round = -1  # the last one that it was announced in
        self.spare: torch.Tensor | None = None  # for what others make of it where there is no gradient here
        self.device: Device | None = None  # where the gradient is copied from
        self.place: torch.Tensor | None = None  # and to

    def settle(self) -> None:
        """It is what it is to stay."""
        p = self.parameter.detach()
        self.dtype, self.n, self.on, self.stride = p.dtype, p.numel(), p.device, p.stride()
        self.value = p if p.is_cpu else None  # what the library reads and writes, until the script's has other memory
        self.address = p.data_ptr()  # where that is: its storage may move it

    def check(self, tensor: torch.Tensor) -> None:
        """The parameter, or its gradient."""
        if tensor.dtype is not self.dtype or tensor.numel() != self.n or tensor.device != self.on:
            raise RuntimeError(f"parameter '{self.name}' is of another type, size or device than at the first step: "
                               "convert and move a model before the loop over eddis.torch.loader")


class _Together:
    """Gradients that leave a device at once."""

    def __init__(self) -> None:
        self.members: list[Member] = []
        self.gradients: list[torch.Tensor] = []
        self.behind: set[Any] = set()  # what has computed them
        self.n_bytes = 0


class _Pass:
    """A backward pass."""

    def __init__(self, task: int, over: Callable[[], None]) -> None:
        self.task, self.thread = task, threading.get_ident()  # autograd's number, and a thread of it
        self._over = weakref.ref(over)  # autograd holds it as long as the pass is under way
        Variable._execution_engine.queue_callback(over)

    @property
    def has_failed(self) -> bool:
        return self._over() is None


class ParameterSet:
    """What one optimizer updates."""

    def __init__(self, worker: Worker, number: int, named: list[tuple[str, torch.nn.Parameter]],
                 passes: int, is_sum: bool) -> None:
        self.worker, self.number, self.passes, self.is_sum = worker, number, passes, is_sum
        self.members = [Member(p, name, i) for i, (name, p) in enumerate(named)]
        self.round = 0
        self.announced = 0  # members, in this round
        self.passed = 0  # backward passes whose gradients only add up
        self.is_held = False  # by hold()
        self.armed: _Pass | None = None  # the backward pass under way, or one that an exception has ended
        self.under_way: list[torch.Tensor] = []  # gradients that are read and written, whoever drops them
        self.shared: list[tuple[torch.Tensor, torch.Tensor]] = []  # gradients that are combined elsewhere, and where
        self.is_combining = False  # or was, as an exception has ended the wait
        self.lock = threading.Lock()  # a pass over devices calls hooks from threads of theirs
        self.is_local = False  # gradients have come that no round has combined
        self.places = Places(worker)
        self.members_of: dict[Device, list[Member]] = {}
        self.together: dict[Device, _Together] = {}  # that no copy has begun of
        self.taken: dict[Device | None, Copied] = {}  # the results before, from their places, which are free then
        worker.before_commit.append(self._register)
        worker.before_values.append(self._find)
        worker.before_steps.append(self._find)
        worker.after_commit.append(self._settle)
        worker.before_end.append(self.check_passed)

    # ---- registration

    def _register(self) -> None:
        layers: dict[str, int] = {}
        n = len(self.members)
        for member in self.members:
            member.settle()
        values = {member: member.parameter.detach() for member in self.members}
        for device, members in self._by_device().items():
            values.update(zip(members, self.places.add(device, [functools.partial(getattr, m, "parameter")
                                                                for m in members])))
        self.used = torch.ones(n + 1, dtype=torch.float32, device="cpu")  # the last: of loops
        self.used_by_any = torch.ones(n + 1, dtype=torch.float32, device="cpu")
        self.used_id = self._add("eddis.used", f"eddis.used{self.number}", self.used, layers)
        for member in self.members:
            layer = member.name.rpartition(".")[0] or member.name
            member.id = self._add(layer, member.name, values[member], layers)

    def _by_device(self) -> dict[Device, list[Member]]:
        """Those that are not in the memory of the host."""
        for member in self.members:
            try:
                member.device = device_of(member.parameter)
            except TypeError as error:
                raise TypeError(f"parameter '{member.name}' is out of reach: {error}") from None
            if not is_dense(member.parameter):
                raise TypeError(f"parameter '{member.name}' does not fill its memory without gaps")
            if member.device:
                self.members_of.setdefault(member.device, []).append(member)
                _follow(self.worker, member.device)
        return self.members_of

    def _add(self, layer: str, name: str, tensor: torch.Tensor, layers: dict[str, int]) -> int:
        worker = self.worker
        if tensor.dtype not in FLOATING:
            raise TypeError(f"parameter '{name}' is of {tensor.dtype}: eddis combines floating point gradients only")
        if layer not in layers:
            layers[layer] = L.call("add_layer_to", worker.handle, self.number, layer.encode(), 0)
        dims = list(tensor.shape) if tensor.dim() <= L.MAX_DIMS else [tensor.numel()]
        parameter = L.Parameter(name=name.encode(), dtype=DTYPES[tensor.dtype], n_dims=len(dims),
                                value=tensor.data_ptr() or None)
        parameter.dims[:len(dims)] = dims
        number = L.call("add_parameter", worker.handle, layers[layer], parameter)
        worker.outliving[number] = tensor
        return number

    def _find(self) -> None:
        """A script may have given parameters other memory; in sync mode nobody reads it."""
        if not self.worker.is_several or not self.worker.committed:
            return
        for member in self.members:
            p = member.parameter
            if member.device or p.data_ptr() == member.address:
                continue
            member.check(p)
            if p.stride() != member.stride:
                raise RuntimeError(f"parameter '{member.name}' is in another order of memory than at the first step: "
                                   "leave it as it is")
            L.call("set_value", self.worker.handle, member.id, p.data_ptr())
            self.worker.outliving[member.id] = member.value = p.detach()
            member.address = p.data_ptr()

    def _settle(self) -> None:
        """The group is known: hooks, of all that is combined with others, or that only say that a step is used."""
        if self.worker.world.n_group_ranks == 1:
            for member in self.members:
                is_trained = member.parameter.requires_grad
                member.parameter.requires_grad_(True).register_post_accumulate_grad_hook(self._touch)
                member.parameter.requires_grad_(is_trained)  # one that is frozen now may be trained later
            return
        for device, members in self.members_of.items():
            for member, place in zip(members, device.places_for([m.parameter for m in members])):
                member.place = place
        if any(member.device is None for member in self.members):
            _users_in_hook()  # a pass of its own
        for member in self.members:
            if not member.parameter.requires_grad:
                raise RuntimeError(f"parameter '{member.name}' was frozen behind eddis.torch.DistributedOptimizer: "
                                   "freeze it before, or after the first step")
            member.parameter.register_post_accumulate_grad_hook(functools.partial(self._ready, member))
            if self.is_sum:
                member.adds = get_gradient_edge(member.parameter).node  # as long as it lives it is the parameter's
                member.adds.register_prehook(self._scale)

    # ---- a backward pass

    def _scale(self, gradients: tuple[torch.Tensor | None, ...]) -> tuple[torch.Tensor | None, ...]:
        """autograd's hook, before a gradient is added to what is there."""
        n = self.worker.n_with_samples() if self.worker.in_step else 1
        return gradients if n == 1 else tuple(None if g is None else g * n for g in gradients)

    def _touch(self, parameter: torch.Tensor) -> None:
        """autograd's hook, of a worker that combines with nobody."""
        self.worker.is_touched = True

    def _ready(self, member: Member, parameter: torch.Tensor) -> None:
        """autograd's hook: this gradient is complete, for this backward pass."""
        self.worker.is_touched = True
        if self.is_held:
            self._check_in_step()
            self.is_local = True
            return
        with self.lock:
            task = _task()
            if not self.armed or task != self.armed.task:
                self._arm(task)
            if self.passed + 1 >= self.passes:
                self._announce(member, _users_in_hook)

    def _check_in_step(self) -> None:
        if not self.worker.in_step:
            raise RuntimeError("a backward pass outside of the loop over eddis.torch.loader: its gradients would be "
                               "this worker's alone; take those of a parameter that is not trained by "
                               "torch.autograd.grad")

    def _arm(self, task: int) -> None:
        """The first hook of a pass asks for a call at its end.  A pass inside of a pass, as of torch.utils.checkpoint,
        is a part of it."""
        self.worker.fix_weight()
        if self.is_combining:
            self.check_passed()
        if self.armed and (self.announced or not self.armed.has_failed):
            if self.armed.has_failed:
                self.check_passed()
            if threading.get_ident() != self.armed.thread:
                raise RuntimeError("two backward passes of one optimizer's parameters at once: make them one after "
                                   "the other, as all workers have to make theirs in one order")
            return
        self._check_in_step()
        self.armed = _Pass(task, functools.partial(self._pass_over))

    def check_passed(self) -> None:
        """Every pass that has begun has ended."""
        if self.armed or self.is_combining:
            raise RuntimeError("a backward pass of this optimizer's parameters has begun and not ended, so that the "
                               "other workers wait for the rest of its gradients: let the exception that it raised end "
                               "the script, and take no step inside of one")

    def _announce(self, member: Member, alone: Callable[[], int]) -> None:
        """alone: how many users a gradient has here that nobody shares."""
        gradient = member.parameter.grad
        if member.round == self.round:
            raise RuntimeError(f"parameter '{member.name}' got a gradient twice in one backward pass: give "
                               "torch.utils.checkpoint use_reentrant=False")
        member.check(gradient)
        address = gradient.data_ptr() if gradient.layout == torch.strided else 0
        if not address or gradient.stride() != member.stride:
            gradient = member.parameter.grad = as_laid_out(gradient, member.parameter)
            address = gradient.data_ptr()
        elif member.device is None and _users_of(gradient) > alone():
            # Autograd's own, behind a view: the pass may still read it, as the gradient of a layer before this one.
            copy = as_laid_out(gradient, member.parameter)
            self.shared.append((gradient.detach(), copy))
            address = copy.data_ptr()
        member.round = self.round
        self.announced += 1
        if member.device is None:
            self.under_way.append(gradient)
            self._send([(member.id, address or L.ZERO, address)])
        elif self.worker.weight:
            self._put_together(member.device, member, gradient)
        else:  # nobody reads it
            place = member.place.data_ptr()
            self._send([(member.id, place or L.ZERO, place)], self.taken.get(member.device))

    def _put_together(self, device: Device, member: Member, gradient: torch.Tensor) -> None:
        """They wait until there are enough of them, or the pass is over; not the first one, with which a round begins:
        rounds of several sets begin in one order on all workers, those without samples or devices, too."""
        together = self.together.setdefault(device, _Together())
        together.members.append(member)
        together.gradients.append(gradient)
        together.behind.add(device.here())
        together.n_bytes += gradient.numel() * gradient.element_size()
        if self.announced == 1 or together.n_bytes >= TOGETHER_BYTES:
            self._begin_copies()

    def _begin_copies(self) -> None:
        while self.together:
            device, together = self.together.popitem()
            places = [member.place for member in together.members]
            copied = device.to_host(places, together.gradients, together.behind)
            self._send([(member.id, place.data_ptr() or L.ZERO, place.data_ptr())
                        for member, place in zip(together.members, places)], copied)

    def _send(self, announced: list[tuple[int, int, int]], copied: Copied | None = None) -> None:
        """(number, source, result) of each."""
        if _announcer:
            _announcer.put(copied, announced)
        else:
            for number, source, result in announced:
                announce(self.worker, _message, number, source, result)

    def _pass_over(self) -> None:
        """The engine's callback, in the thread that has called backward or in a device's."""
        self.armed = None
        self.is_local = True
        if self.passed + 1 < self.passes:
            self.passed += 1
            return
        self.synchronize()

    def synchronize(self) -> None:
        """Combine what has come since the last round, unless nothing has."""
        if not self.is_local or self.worker.world.n_group_ranks == 1:
            return
        self.worker.fix_weight()
        self.is_local = False
        self.is_combining = True
        self.passed = 0
        unused = self._announce_rest() if self.announced < len(self.members) else []
        self._begin_copies()
        self.used[-1] = self.worker.loops % 2
        self._send([(self.used_id, self.used.data_ptr(), self.used_by_any.data_ptr())])
        self.worker.mark(Mark.WAITS)
        if _announcer:
            _announcer.drain()
        self.worker.wait_set(self.number)
        self.used[-1] = 1
        self.round += 1
        self.announced = 0
        for gradient, copy in self.shared:
            gradient.copy_(copy)
        self.shared.clear()
        self.under_way.clear()
        self._take_results(unused)
        self.worker.mark(Mark.GOES_ON)
        if unused:
            self._take_unused(unused)
        elif not self.worker.weight:
            self._drop_unused()
        self.is_combining = False
        if ROUNDING < self.used_by_any[-1] < 1 - ROUNDING:  # on all workers alike
            self.worker.compare_loops()

    def _announce_rest(self) -> list[Member]:
        """Of micro-batches before, or of none: these are returned."""
        unused = []
        for member in self.members:
            if member.round == self.round:
                continue
            if member.parameter.grad is not None:
                self._announce(member, _users_of_one)
                continue
            if member.spare is None:
                member.check(member.parameter)
                member.spare = torch.zeros_like(member.parameter)
            place = member.spare if member.place is None else member.place
            self._send([(member.id, L.ZERO, place.data_ptr())], self.taken.get(member.device))
            unused.append(member)
        for member in unused:
            self.used[member.index] = 0
        return unused

    def _take_results(self, unused: list[Member]) -> None:
        """Those of devices, to there."""
        without = set(unused) if self.members_of else ()
        for device, members in self.members_of.items():
            device.to_device([member.spare if member in without else member.parameter.grad for member in members],
                             [member.place for member in members])
            self.taken[device] = device.join()

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


def announce(worker: Worker, message: L._Message, number: int, source: int, result: int) -> None:
    """Raises Error with what comes in the message."""
    code = _announce(worker.handle, number, source, result, message)
    if code < 0:
        raise L.Error(code, message.text.decode(errors="replace"))


def _follow(worker: Worker, device: Device) -> None:
    """There are parameters of a device: of the first one the times count."""
    global _announcer
    if _announcer is None:
        _announcer = Announcer(functools.partial(announce, worker, L._Message()))
        Clock(worker, device)


def is_dense(tensor: torch.Tensor) -> bool:
    """Whether its elements fill their memory without gaps or overlaps, in whatever order."""
    return torch.ops.aten.is_non_overlapping_and_dense(tensor)


def as_laid_out(gradient: torch.Tensor, parameter: torch.Tensor) -> torch.Tensor:
    """The same numbers, dense, in the order of the parameter's memory."""
    dense = gradient.to_dense() if gradient.layout != torch.strided else gradient
    return torch.empty_like(parameter).copy_(dense)


def _users_of(tensor: torch.Tensor) -> int:
    """How many tensors have its memory, and what this call adds; many where PyTorch does not tell."""
    return _use_count(tensor.untyped_storage()._cdata) if _use_count else sys.maxsize


@functools.cache
def _users_of_one() -> int:
    return _users_of(torch.empty(1, device="cpu")) if _use_count else 0


@functools.cache
def _users_in_hook() -> int:
    """The same of a gradient that is its parameter's alone, in its hook: of some versions autograd itself has another.
    Not at import: where autograd has run it refuses to in a forked process."""
    if not _use_count:
        return 0
    found = []
    with torch.enable_grad():
        parameter = torch.ones(1, device="cpu", requires_grad=True)
        parameter.register_post_accumulate_grad_hook(lambda p: found.append(_users_of(p.grad)))
        (parameter * 2).sum().backward()
    return found[0]
