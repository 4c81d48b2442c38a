# SPDX-License-Identifier: Apache-2.0
"""Combine gradients: announce each when autograd has completed it, combine them in place, and wait at the end of the
backward pass.

The parameters of one optimizer are a set.  A set is combined in rounds, one for each backward pass that is the last of
its micro-batches.  A round replaces each gradient by the weighted mean over the workers.  The mean is linear and the
weights add up to 1, so the part of a gradient that an earlier round has combined does not change.  So several backward
passes in a step, and activation checkpoints that run backward passes of their own, give the right result without
special handling.

A parameter without a gradient counts as zero for the other workers.  Each round also combines one number per parameter:
whether any worker had a gradient.  If none had, the gradient stays None as in one process, so that momentum and weight
decay do not change the parameter, on all workers alike.  One more number is the parity of the worker's number of loops.
If parities differ, a worker has left a loop in which others still are, and would make its last step long before them.

If losses are sums over samples, each worker with samples has weight 1.  Its gradients are multiplied by the number of
such workers before they are added to the present ones.  Their mean is then the gradient of the sum.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
import threading
import weakref
from collections.abc import Callable, Collection, Iterator
from typing import Any

import torch
from torch.autograd import Variable
from torch.autograd.graph import get_gradient_edge

from .. import _lib as L
from .._worker import Mark, Worker
from ._device import Announcer, Clock, Copied, Device, Places, device_of
from ._own_gpu import refuse_others_gpu
from ._slots import Slots

DTYPES = {torch.float32: L.FLOAT32, torch.float64: L.FLOAT64, torch.float16: L.FLOAT16,
          torch.bfloat16: L.BFLOAT16, torch.int32: L.INT32, torch.int64: L.INT64, torch.uint8: L.UINT8}
FLOATING = (torch.float32, torch.float64, torch.float16, torch.bfloat16)

TOGETHER_BYTES = 1 << 20  # least size of a copy from a device: to begin one takes about as long as copying so much

ROUNDING = 0.01  # largest rounding error of a number between 0 and 1 that is sent in half precision

_task = torch._C._current_graph_task_id  # autograd's number of the present backward pass
_use_count = getattr(torch._C, "_storage_Use_Count", None)  # before PyTorch 2.8 only in builds with CUDA
_announce = L.lib.eddis_announce
_message = L._Message()  # for announcements in the thread of the backward pass; written only if an announcement fails
_announcer: Announcer | None = None  # set if a parameter is on a device
_slots: Slots | None = None  # set if there is an announcer, and the group has several workers


class Member:
    """A parameter of a set, with the state of its gradient in the present round."""

    __slots__ = ("parameter", "name", "id", "index", "dtype", "n", "on", "stride", "value", "address", "round", "spare",
                 "device", "adds")

    def __init__(self, parameter: torch.nn.Parameter, name: str, index: int) -> None:
        self.parameter, self.name, self.index = parameter, name, index
        self.settle()
        self.id = -1
        self.round = -1  # last round in which the gradient was announced
        self.spare: torch.Tensor | None = None  # receives the other workers' gradient if this worker has none
        self.device: Device | None = None  # device of the parameter; None: in host memory

    def settle(self) -> None:
        """Record the parameter's type, size, device and memory order, which must not change from now on, and its
        address, which may.  Keep its memory, if it is the host's, until the script replaces it."""
        p = self.parameter.detach()
        self.dtype, self.n, self.on, self.stride = p.dtype, p.numel(), p.device, p.stride()
        self.value = p if p.is_cpu else None  # keeps the memory that the library uses until the script replaces it
        self.address = p.data_ptr()  # address of that memory at this time; its storage may move later

    def check(self, tensor: torch.Tensor) -> None:
        """Raise RuntimeError if the parameter, or its gradient, has another type, size or device than at the first
        step."""
        if tensor.dtype is not self.dtype or tensor.numel() != self.n or tensor.device != self.on:
            raise RuntimeError(f"parameter '{self.name}' is of another type, size or device than at the first step: "
                               "convert and move a model before the loop over eddis.torch.loader")


class _Together:
    """Gradients of one device that are copied to the host together, and back when they are combined."""

    def __init__(self) -> None:
        self.members: list[Member] = []
        self.gradients: list[torch.Tensor] = []
        self.behind: set[Any] = set()  # streams whose present work computes the gradients
        self.n_bytes = 0


class _Pass:
    """A backward pass in progress.  `over` is called by autograd at its end."""

    def __init__(self, task: int, over: Callable[[], None]) -> None:
        # Number of the pass in autograd, and the thread of its first hook.
        self.task, self.thread = task, threading.get_ident()
        self._over = weakref.ref(over)  # autograd keeps `over` alive as long as the pass runs
        Variable._execution_engine.queue_callback(over)

    @property
    def has_failed(self) -> bool:
        """True if an exception has ended the pass."""
        return self._over() is None


class ParameterSet:
    """The parameters that one optimizer updates, and the rounds that combine their gradients.

    passes: backward passes per step; all but the last only add up. is_sum: losses are sums over samples.
    """

    def __init__(self, worker: Worker, number: int, named: list[tuple[str, torch.nn.Parameter]],
                 passes: int, is_sum: bool) -> None:
        self.worker, self.number, self.passes, self.is_sum = worker, number, passes, is_sum
        self.members = [Member(p, name, i) for i, (name, p) in enumerate(named)]
        self.round = 0  # number of the present round
        self.announced = 0  # members announced in this round
        self.passed = 0  # backward passes of this step whose gradients only add up
        self.is_held = False  # inside of hold()
        self.armed: _Pass | None = None  # the backward pass in progress, or one that an exception has ended
        # Gradients of this round that the library uses, kept even if the script drops them.
        self.under_way: list[torch.Tensor] = []
        # Gradients whose memory other tensors share, and the copies that are combined instead.
        self.shared: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.is_combining = False  # waiting for a round; stays True if an exception has ended the wait
        self.lock = threading.Lock()  # with several devices, autograd calls hooks from several threads
        self.is_local = False  # there are gradients that no round has combined
        self.places = Places(worker)
        self.members_of: dict[Device, list[Member]] = {}
        self.together: dict[Device, _Together] = {}  # gradients whose copy has not begun
        # Gradients of this round whose copy has begun, with the number of their announcement.
        self.begun: list[tuple[Device, _Together, int]] = []
        self.factor: float | None = None  # of this round's gradients, see eddis_factor; None: not asked for yet
        # Copies of the latest results to the devices; when they are done, the results may be replaced.
        self.taken: dict[Device | None, Copied] = {}
        worker.before_commit.append(self._register)
        worker.before_values.append(self._find)
        worker.before_steps.append(self._find)
        worker.after_commit.append(self._settle)
        worker.before_end += [self.check_passed, self._wait_taken]

    # ---- registration

    def _register(self) -> None:
        """Register all parameters with the library, and one more, `used`: for each parameter, whether this worker had a
        gradient.  A callback before commit."""
        layers: dict[str, int] = {}
        n = len(self.members)
        refuse_others_gpu(self.worker, [member.parameter for member in self.members])
        for member in self.members:
            member.settle()
        values = {member: member.parameter.detach() for member in self.members}
        for device, members in self._by_device().items():
            values.update(zip(members, self.places.add(device, [functools.partial(getattr, m, "parameter")
                                                                for m in members])))
        self.used = torch.ones(n + 1, dtype=torch.float32, device="cpu")  # the last element: parity of the loops
        self.used_by_any = torch.ones(n + 1, dtype=torch.float32, device="cpu")
        self.used_id = self._add("eddis.used", f"eddis.used{self.number}", self.used, layers)
        for member in self.members:
            layer = member.name.rpartition(".")[0] or member.name
            member.id = self._add(layer, member.name, values[member], layers)

    def _by_device(self) -> dict[Device, list[Member]]:
        """Set each member's device, and return the members on devices, by device.  Raises TypeError for a parameter
        that is not dense or is on an unsupported device."""
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
        """Register one parameter in its layer, which is added at first use.  Return the library's number of it.  Raises
        TypeError for a type other than floating point."""
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
        """Give the library the new address of each parameter whose memory the script has replaced.  In sync mode the
        library does not read the values, so nothing is done.  Raises RuntimeError if type, size, device or memory order
        differ from the first step."""
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
        """Install autograd's hooks, now that the group is known.  If the group has several workers, the hooks combine
        gradients; otherwise they only record that the step was used.  Raises RuntimeError for a parameter frozen since.
        A callback after commit."""
        if self.worker.world.n_group_ranks == 1:
            for member in self.members:
                is_trained = member.parameter.requires_grad
                member.parameter.requires_grad_(True).register_post_accumulate_grad_hook(self._touch)
                member.parameter.requires_grad_(is_trained)  # a parameter that is frozen now may be trained later
            return
        for device in self.members_of:
            _slots_of(self.worker).lock(device)
        if any(member.device is None for member in self.members):
            _users_in_hook()  # makes a backward pass of its own, so not inside of the script's
        for member in self.members:
            if not member.parameter.requires_grad:
                raise RuntimeError(f"parameter '{member.name}' was frozen after eddis.torch.DistributedOptimizer: "
                                   "freeze it before, or after the first step")
            member.parameter.register_post_accumulate_grad_hook(functools.partial(self._ready, member))
            if self.is_sum:
                member.adds = get_gradient_edge(member.parameter).node  # kept alive, so that it stays the parameter's
                member.adds.register_prehook(self._scale)

    # ---- a backward pass

    def _scale(self, gradients: tuple[torch.Tensor | None, ...]) -> tuple[torch.Tensor | None, ...]:
        """Multiply a gradient by the number of workers with samples, for losses that are sums.  An autograd hook that
        runs before the gradient is added to the present one."""
        n = self.worker.n_with_samples() if self.worker.in_step else 1
        return gradients if n == 1 else tuple(None if g is None else g * n for g in gradients)

    def _touch(self, parameter: torch.Tensor) -> None:
        """Record that the step was used.  An autograd hook for a worker that is alone in its group."""
        self.worker.is_touched = True

    def _ready(self, member: Member, parameter: torch.Tensor) -> None:
        """Announce a member's gradient, which is complete for this backward pass, if the pass is the last of its
        micro-batches.  Raises RuntimeError outside of the loop over the loader.  An autograd hook, in a thread of
        autograd's engine."""
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
        """Raise RuntimeError for a backward pass outside of the loop over the loader."""
        if not self.worker.in_step:
            raise RuntimeError("a backward pass outside of the loop over eddis.torch.loader: its gradients would be "
                               "this worker's alone; take those of a parameter that is not trained by "
                               "torch.autograd.grad")

    def _arm(self, task: int) -> None:
        """At the first hook of a backward pass, ask autograd to call _pass_over at its end.  A pass inside of another
        one, as torch.utils.checkpoint makes, is part of that one.  Raises RuntimeError outside of the loop over the
        loader, or if an earlier pass has not ended."""
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
        """Raise RuntimeError if a backward pass of this set has begun and not ended."""
        if self.armed or self.is_combining:
            raise RuntimeError("a backward pass of this optimizer's parameters has begun and not ended, so that the "
                               "other workers wait for the rest of its gradients: let the exception that it raised end "
                               "the script, and take no step inside of one")

    def _wait_taken(self) -> None:
        """Before the end of a step without a round, for which the library packs zeros, wait until the devices have
        copied the results before, which may lie in the same memory.  A callback before a step ends."""
        if not self.worker.rounds:
            for copied in self.taken.values():
                copied.synchronize()

    def _announce(self, member: Member, alone: Callable[[], int]) -> None:
        """Announce a member's gradient, or begin to copy it from its device.  A gradient in another memory order is
        replaced by a copy.  A gradient whose memory other tensors share is combined in a copy.  alone: function that
        returns what _users_of returns for a gradient that nobody shares."""
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
            # Autograd still uses this memory through a view, perhaps as the gradient of an earlier layer.
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
        else:  # weight 0: nobody reads the gradient
            self._send([(member.id, L.ZERO, _slots_of(self.worker).result)], self.taken.get(member.device))

    def _put_together(self, device: Device, member: Member, gradient: torch.Tensor) -> None:
        """Collect a gradient until enough of them can be copied together, or the pass is over.  The first gradient,
        which begins a round, is copied immediately: rounds of several sets must begin in the same order on all workers,
        including those without samples or devices."""
        together = self.together.setdefault(device, _Together())
        together.members.append(member)
        together.gradients.append(gradient)
        together.behind.add(device.here())
        together.n_bytes += gradient.numel() * gradient.element_size()
        if self.announced == 1 or together.n_bytes >= TOGETHER_BYTES:
            self._begin_copies()

    def _begin_copies(self) -> None:
        """Begin to copy all collected gradients to their slots, and have them announced when they have arrived.  The
        device weights them, unless only the library can: then their factor is 0."""
        while self.together:
            device, together = self.together.popitem()
            if self.factor is None:
                self.factor = L.lib.eddis_factor(self.worker.handle, self.number)
            ids = [member.id for member in together.members]
            slots = _slots_of(self.worker)
            runs = slots.runs(zip(ids, together.gradients))
            copied = device.gather(runs, self.factor or 1.0, together.behind)
            source = L.WEIGHTED if self.factor else 0
            number = self._send([(member_id, source, slots.result) for member_id in ids], copied)
            self.begun.append((device, together, number))

    def _send(self, announced: list[tuple[int, int, int]], copied: Copied | None = None) -> int:
        """Announce gradients, tuples (number, source, result): immediately, or by the announcer when `copied` is done.
        Return the announcer's number of the announcement; 0: no announcer."""
        if _announcer:
            return _announcer.put(copied, announced)
        for number, source, result in announced:
            announce(self.worker, _message, number, source, result)
        return 0

    def _pass_over(self) -> None:
        """End a backward pass: if it is the last of its micro-batches, combine the gradients.  Called by autograd's
        engine, in the thread that called backward or in a thread of a device."""
        self.armed = None
        self.is_local = True
        if self.passed + 1 < self.passes:
            self.passed += 1
            return
        self.synchronize()

    def synchronize(self) -> None:
        """Combine all gradients that have come since the last round: announce the rest, wait until the round is
        combined, and take its results.  Do nothing if none have come.  Collective in the group."""
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
        self._take_first()
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
        self._take_rest(unused)
        self.worker.mark(Mark.GOES_ON)
        self._take_unused(unused)
        self.is_combining = False
        if ROUNDING < self.used_by_any[-1] < 1 - ROUNDING:  # on all workers alike
            self.worker.compare_loops()

    def _announce_rest(self) -> list[Member]:
        """Announce the members that had no hook in this pass: with the gradients of earlier micro-batches, or as zero.
        Return the members without a gradient."""
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
            place = _slots_of(self.worker).result if member.device else member.spare.data_ptr()
            self._send([(member.id, L.ZERO, place)], self.taken.get(member.device))
            unused.append(member)
        for member in unused:
            self.used[member.index] = 0
        return unused

    def _take_first(self) -> None:
        """As soon as gradients are combined that were copied to the host together, begin to copy them back, while
        others still travel.  Waits until all of these are combined."""
        for device, together, number in self.begun:
            _announcer.wait(number)
            ids = [member.id for member in together.members]
            L.wait("wait_parameters", self.worker.handle, len(ids), (ctypes.c_int * len(ids))(*ids))
            self._take(device, together.members, ())

    def _take_rest(self, unused: list[Member]) -> None:
        """Begin to copy all combined gradients back to the devices that _take_first has not; for members without a
        gradient, to `spare`.  The devices' later work waits for all copies."""
        taken = {member for _, together, _ in self.begun for member in together.members}
        without = set(unused) if self.members_of else ()
        for device, members in self.members_of.items():
            rest = [member for member in members if member not in taken]
            if rest:
                self._take(device, rest, without)
            self.taken[device] = device.join()
            if self.worker.is_several:  # the next exchange of models may use the memory of the results
                self.taken[device].synchronize()
        self.begun.clear()
        self.factor = None

    def _take(self, device: Device, members: list[Member], without: Collection[Member]) -> None:
        """Begin to copy combined gradients of a device's members back, to `spare` for those in `without`."""
        tensors = [member.spare if member in without else member.parameter.grad for member in members]
        device.scatter(_slots_of(self.worker).result_runs(zip([member.id for member in members], tensors)))

    def _take_unused(self, unused: list[Member]) -> None:
        """For members without a gradient here, take the other workers' gradient if any worker had one; otherwise the
        gradient stays None."""
        for member in unused:
            self.used[member.index] = 1
            if self.used_by_any[member.index] > 0:
                member.parameter.grad, member.spare = member.spare, None
        if not self.worker.weight:
            self._drop_unused()

    def _drop_unused(self) -> None:
        """On a worker of weight 0, set gradients to None that no worker had."""
        for member in self.members:
            if not self.used_by_any[member.index] > 0:
                member.parameter.grad = None

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """While the context is active, backward passes only add up their gradients.  A context manager."""
        before, self.is_held = self.is_held, True
        try:
            yield
        finally:
            self.is_held = before


def announce(worker: Worker, message: L._Message, number: int, source: int, result: int) -> None:
    """Call eddis_announce.  Raises Error with the text in `message`."""
    code = _announce(worker.handle, number, source, result, message)
    if code < 0:
        raise L.Error(code, message.text.decode(errors="replace"))


def _follow(worker: Worker, device: Device) -> None:
    """Prepare for parameters on a device: start the announcer, and for the first device a clock that measures its
    times."""
    global _announcer
    if _announcer is None:
        _announcer = Announcer(functools.partial(announce, worker, L._Message()))
        Clock(worker, device)


def _slots_of(worker: Worker) -> Slots:
    """Return the library's memory for gradients, which all sets share."""
    global _slots
    if _slots is None:
        _slots = Slots(worker)
    return _slots


def is_dense(tensor: torch.Tensor) -> bool:
    """Check whether a tensor's elements fill its memory without gaps or overlaps, in any order."""
    return torch.ops.aten.is_non_overlapping_and_dense(tensor)


def as_laid_out(gradient: torch.Tensor, parameter: torch.Tensor) -> torch.Tensor:
    """Return a dense copy of the gradient in the parameter's memory order."""
    dense = gradient.to_dense() if gradient.layout != torch.strided else gradient
    return torch.empty_like(parameter).copy_(dense)


def _users_of(tensor: torch.Tensor) -> int:
    """Return how many tensors share this tensor's memory, plus a constant of this call; a large number if PyTorch
    cannot report it."""
    return _use_count(tensor.untyped_storage()._cdata) if _use_count else sys.maxsize


@functools.cache
def _users_of_one() -> int:
    """Return what _users_of returns for a tensor whose memory no other tensor shares."""
    return _users_of(torch.empty(1, device="cpu")) if _use_count else 0


@functools.cache
def _users_in_hook() -> int:
    """Return what _users_of returns, inside of its hook, for a gradient that only its parameter has: in some versions
    autograd has another reference.  Not computed at import, since autograd refuses to run in a process forked after it
    has run."""
    if not _use_count:
        return 0
    found = []
    with torch.enable_grad():
        parameter = torch.ones(1, device="cpu", requires_grad=True)
        parameter.register_post_accumulate_grad_hook(lambda p: found.append(_users_of(p.grad)))
        (parameter * 2).sum().backward()
    return found[0]
