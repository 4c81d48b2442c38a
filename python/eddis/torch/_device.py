# SPDX-License-Identifier: Apache-2.0
"""Tensors that are not in the memory of the host: the library reads and writes places there, which follow them.

Gradients are copied to their places on a stream of their own, some together, begun by the hook in which the last of
these is complete, or by the pass's end, so that the copies run beside the rest of the backward pass; a thread waits for
them one after the other and announces what has arrived.  No hook waits for the device, and the script's own stream goes
on.  When all are combined they are copied back, and the script's stream waits for that, not the script.  Values of
parameters are copied where the library reads or has written them, which it tells.

How long the device was busy only its own marks tell: a step ends here long before it has ended there.  Those of a step
up to its last round have passed when the step ends; what comes after, the update, is told of the newest step before
that the device has ended.

EDDIS_TORCH_STAGING=cpu has parameters on the CPU take the same way, for tests: the stream is a thread, memory is plain.
With EDDIS_TORCH_STAGING=some only those of two dimensions or more do.
"""

from __future__ import annotations

import atexit
import ctypes
import mmap
import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import torch

from .. import _lib as L
from .._worker import Mark, Worker

DEVICES = ("cpu", "cuda")
ALIGNMENT = 64  # bytes
_PORTABLE = 1  # cudaHostRegisterPortable: of all devices
_WAIT_S = L.SLICE_NS / 1e9
_EXIT_S = 5  # for a copy under way when the script ends


class Copied(Protocol):
    """Copies under way."""

    def synchronize(self) -> None:
        """Wait for them."""


class Device(Protocol):
    """What holds tensors, and copies them while the host goes on."""

    def host_like(self, tensor: torch.Tensor) -> torch.Tensor:
        """Memory of the host for this tensor's elements, in their order."""

    def places_for(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        """The same for many, until the process ends, and for what the library does behind the interpreter's end."""

    def here(self) -> Any:
        """All that the device was told to do in this place until now, for `to_host`."""

    def to_host(self, hosts: list[torch.Tensor], tensors: list[torch.Tensor], behind: Iterable[Any]) -> Copied:
        """Begin to copy, behind these and all copies begun before."""

    def to_device(self, tensors: list[torch.Tensor], hosts: list[torch.Tensor]) -> None:
        """The same, behind what it was told here."""

    def join(self) -> Copied:
        """What the device is told to do from now on comes behind the copies, which are what is returned."""

    def mark(self) -> Any:
        """A mark behind all that the device was told to do."""

    def elapsed_ns(self, first: Any, last: Any) -> int | None:
        """Between two marks; None: the last one has not passed."""


def _served(name: str) -> Callable[[Callable[[], object]], object]:
    """Who has a thread of its own make calls in order.  The thread ends before the interpreter does, for one that comes
    back from PyTorch behind that takes the process down with it; from then on calls are made at once."""
    calls: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()

    def serve() -> None:
        while call := calls.get():
            call()
    thread = threading.Thread(target=serve, name=name, daemon=True)
    thread.start()

    def end() -> None:
        calls.put(None)
        thread.join(_EXIT_S)
    atexit.register(end)
    return lambda call: calls.put(call) if thread.is_alive() else call()


class _Cuda:
    """A GPU of CUDA or ROCm: copies by its copy engines, which need memory that stays where it is."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device)

    def host_like(self, tensor: torch.Tensor) -> torch.Tensor:
        with torch.cuda.device(self._device):  # else the first one gets a context
            flat = torch.empty(tensor.numel(), dtype=tensor.dtype, device="cpu", pin_memory=True)
        return flat.as_strided(tensor.size(), tensor.stride())

    def places_for(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        # CUDA may take back memory of its own when the process ends, before the library's last use of it, but what it
        # was lent stays.
        block, places = _places_for(tensors)
        with torch.cuda.device(self._device):  # else the first one gets a context
            code = int(torch.cuda.cudart().cudaHostRegister(block.data_ptr(), block.numel(), _PORTABLE))
        if code:
            raise RuntimeError(f"{block.numel()} bytes of the host's memory cannot be locked for {self._device}: "
                               f"error {code} of CUDA")
        return places

    def here(self) -> torch.cuda.Stream:
        return torch.cuda.current_stream(self._device)  # a script may use several

    def to_host(self, hosts: list[torch.Tensor], tensors: list[torch.Tensor],
                behind: Iterable[torch.cuda.Stream]) -> Copied:
        self._copy(hosts, tensors, behind)
        copied = torch.cuda.Event(blocking=True)  # no core is kept busy by waiting
        copied.record(self._stream)
        return copied

    def to_device(self, tensors: list[torch.Tensor], hosts: list[torch.Tensor]) -> None:
        self._copy(tensors, hosts, [self.here()])

    def _copy(self, to: list[torch.Tensor], sources: list[torch.Tensor], behind: Iterable[torch.cuda.Stream]) -> None:
        for stream in behind:
            self._stream.wait_stream(stream)
        with torch.cuda.stream(self._stream), torch.no_grad():
            for one, source in zip(to, sources):
                one.copy_(source, non_blocking=True)

    def join(self) -> Copied:
        copied = torch.cuda.Event(blocking=True)
        copied.record(self._stream)
        torch.cuda.current_stream(self._device).wait_event(copied)
        return copied

    def mark(self) -> torch.cuda.Event:
        mark = torch.cuda.Event(enable_timing=True)
        mark.record(torch.cuda.current_stream(self._device))
        return mark

    def elapsed_ns(self, first: torch.cuda.Event, last: torch.cuda.Event) -> int | None:
        return int(first.elapsed_time(last) * 1e6) if first.query() and last.query() else None


class _Thread:
    """The CPU as a device: copies are made later, in order, by a thread."""

    def __init__(self) -> None:
        self._call = _served("eddis stream")

    def host_like(self, tensor: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(tensor, requires_grad=False)

    def places_for(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        return _places_for(tensors)[1]

    def here(self) -> None:
        return None  # the CPU has done what it was told

    def to_host(self, hosts: list[torch.Tensor], tensors: list[torch.Tensor], behind: Iterable[None]) -> Copied:
        return _Passed(self._begin(lambda: [host.copy_(tensor.detach()) for host, tensor in zip(hosts, tensors)]))

    def to_device(self, tensors: list[torch.Tensor], hosts: list[torch.Tensor]) -> None:
        self._begin(lambda: [tensor.detach().copy_(host) for tensor, host in zip(tensors, hosts)])

    def _begin(self, copy: Callable[[], object]) -> threading.Event:
        copied = threading.Event()

        def run() -> None:
            copy()
            copied.set()
        self._call(run)
        return copied

    def join(self) -> Copied:
        copied = _Passed(self._begin(lambda: None))
        copied.synchronize()  # the CPU does at once what it is told
        return copied

    def mark(self) -> int:
        return time.perf_counter_ns()

    def elapsed_ns(self, first: int, last: int) -> int | None:
        return last - first


class _Passed:
    """An event of a thread as one of a device."""

    def __init__(self, event: threading.Event) -> None:
        self._event = event

    def synchronize(self) -> None:
        self._event.wait()


def _pages(n_bytes: int) -> torch.Tensor:
    """Plain memory until the process ends, of whole pages: a device locks pages, and each only once.  Children do not
    have it, since a page that they share would move where it is written."""
    pages = mmap.mmap(-1, max(1, -(-n_bytes // mmap.PAGESIZE)) * mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    pages.madvise(mmap.MADV_DONTFORK)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(pages))
    return torch.frombuffer(pages, dtype=torch.uint8)


def _places_for(tensors: list[torch.Tensor]) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """A block of such memory, and the tensors' places in it."""
    sizes = [-(-t.numel() * t.element_size() // ALIGNMENT) * ALIGNMENT for t in tensors]
    block = _pages(sum(sizes))
    rows = block[:sum(sizes)].split(sizes)
    parts = [part[:t.numel() * t.element_size()].view(t.dtype) for t, part in zip(tensors, rows)]
    return block, [part.as_strided(t.size(), t.stride(), part.storage_offset()) for t, part in zip(tensors, parts)]


_devices: dict[Any, Device] = {}


def device_of(tensor: torch.Tensor) -> Device | None:
    """What holds the tensor; None: the memory of the host.  Raises TypeError for other devices."""
    kind = tensor.device.type
    if kind == "cpu":
        staged = os.environ.get("EDDIS_TORCH_STAGING")
        return _made("cpu", _Thread) if staged == "cpu" or staged == "some" and tensor.dim() > 1 else None
    if kind == "cuda":
        return _made(tensor.device.index, lambda: _Cuda(tensor.device))
    raise TypeError(f"it is in the memory of '{kind}': eddis takes tensors of a CPU or of CUDA")


def _made(key: Any, make: Callable[[], Device]) -> Device:
    if key not in _devices:
        _devices[key] = make()
    return _devices[key]


class Places:
    """Tensors of devices whose values the library reads and writes in the memory of the host."""

    def __init__(self, worker: Worker) -> None:
        self._of: list[tuple[Device, list[Callable[[], torch.Tensor]], list[torch.Tensor]]] = []
        worker.before_values.append(self._fetch)
        worker.after_values.append(self._put)

    def add(self, device: Device, tensors: list[Callable[[], torch.Tensor]]) -> list[torch.Tensor]:
        """The places of the tensors that these return."""
        places = device.places_for([tensor() for tensor in tensors])
        self._of.append((device, tensors, places))
        return places

    def _fetch(self) -> None:
        for copied in [device.to_host(places, [tensor().detach() for tensor in tensors], [device.here()])
                       for device, tensors, places in self._of]:
            copied.synchronize()

    def _put(self) -> None:
        for device, tensors, places in self._of:
            device.to_device([tensor().detach() for tensor in tensors], places)
            device.join()


class Announcer:
    """Announces in the order in which it was told to, when what is announced has arrived; one for all sets, so that
    their rounds begin in one order on all workers."""

    def __init__(self, announce: Callable[[int, int, int], None]) -> None:
        self._announce = announce
        self._call = _served("eddis announcer")
        self._changed = threading.Condition()
        self._left = 0
        self._error: BaseException | None = None

    def put(self, copied: Copied | None, announced: list[tuple[int, int, int]]) -> None:
        """(number, source, result) of each."""
        with self._changed:
            self._left += 1
        self._call(lambda: self._run(copied, announced))

    def drain(self) -> None:
        """Wait until all are announced.  Raises what one of them has failed with."""
        with self._changed:
            while self._left:
                self._changed.wait(_WAIT_S)  # Ctrl-C comes in between
            if self._error:
                raise self._error

    def _run(self, copied: Copied | None, announced: list[tuple[int, int, int]]) -> None:
        try:
            if copied:
                copied.synchronize()
            for number, source, result in announced:
                self._announce(number, source, result)
        except BaseException as error:
            self._error = self._error or error
        with self._changed:
            self._left -= 1
            if not self._left:
                self._changed.notify_all()


class Clock:
    """A device's own time, for the plan."""

    def __init__(self, worker: Worker, device: Device) -> None:
        self._worker, self._device = worker, device
        self._asked: Any = None  # where the loop has asked for a batch,
        self._got: Any = None  # and got it
        self._since: Any = None  # where the device began to compute
        self._parts: list[tuple[Any, Any]] = []  # of this step, up to rounds
        self._ends: deque[tuple[Any, Any]] = deque()  # of steps before, behind their last rounds, not known yet
        self._end_ns = 0  # the newest that is known
        worker.marks.append(self._take)

    def _take(self, what: Mark) -> None:
        now = self._device.mark()
        if what is Mark.ASKED:
            self._asked = now
        elif what is Mark.GOT:
            self._got = now
        elif what is Mark.BEGUN:
            self._since, self._parts = now, []
        elif what is Mark.WAITS:
            self._parts.append((self._since, now))
        elif what is Mark.GOES_ON:
            self._since = now
        else:
            self._tell((self._since, now))

    def _tell(self, last: tuple[Any, Any]) -> None:
        while self._ends and (end_ns := self._device.elapsed_ns(*self._ends[0])) is not None:
            self._end_ns = end_ns
            self._ends.popleft()
        parts = [self._device.elapsed_ns(*part) for part in self._parts]
        report = self._worker.report
        report.compute_ns = sum(part or 0 for part in parts) + self._end_ns
        if self._asked is not None and self._got is not None:
            report.input_ns = max(1, self._device.elapsed_ns(self._asked, self._got) or 0)
        self._ends.append(last)
        self._asked = None


_late: tuple[torch.Tensor, torch.Tensor, Copied] | None = None  # a loss, its place and the copy under way


def late_loss(loss: torch.Tensor) -> float | None:
    """The loss, or of a device that of the call before: None at first."""
    global _late
    loss = loss.detach()
    device = device_of(loss) if loss.device.type in DEVICES else None
    if device is None:
        return float(loss)
    before = _late
    place = device.host_like(loss)
    _late = loss, place, device.to_host([place], [loss], [device.here()])
    if before is None:
        return None
    before[2].synchronize()
    return float(before[1])
