# SPDX-License-Identifier: Apache-2.0
"""Tensors on devices with memory of their own: the library reads and writes copies of them in host memory.

Gradients are gathered in blocks on the device, multiplied there by the worker's share of the batch, and each block is
copied once, straight into the library's memory (_slots.py), on a separate stream.  A copy is begun by the hook in which
the last of its gradients is complete, or at the end of the pass, so that it overlaps with the rest of the backward
pass.  A thread waits for the copies one after the other and announces the gradients that have arrived.  No hook waits
for the device, and the script's own stream goes on.  As soon as the gradients of a block are combined they are copied
back from where the library has combined them, on a second stream, while other blocks still travel.  The end of the
backward pass waits until all are combined; in sync mode only the script's stream waits for the copies back, in the
other modes the script does, too, since the next exchange of values may use the memory.

The host waits until all are combined, and does not only have the script's stream wait (cuStreamWaitValue32):
- Only a combined round shows which parameters no worker has used.  Their gradients stay None, and the script may look
  at them next.  A worker that has a gradient for every parameter could go on, but for the rest of this list.
- While a stream waits, a call that waits for the whole device does not return until other workers have sent their
  gradients: the first call of a kernel with lazy loading, or one that frees memory.  It may hold locks of the driver,
  and the thread that waits for this worker's own copies needs them.  Then no worker would ever go on.
- If a worker fails, the library ends the host's wait with an error, and Ctrl-C ends it.  To end a stream's wait, one
  would have the device go on with gradients that are not combined.
Little would be saved: when the host goes on, only the last copies back are under way.

Values of parameters have places in host memory.  They are copied when the library is about to read them or has written
them.

Only marks on the device's stream measure how long the device was busy, since a step ends on the host long before it
ends there.  The marks of a step up to its last round have passed when the step ends.  The rest, the update, is reported
for the newest earlier step that the device has finished.

For tests: with EDDIS_TORCH_STAGING=cpu, parameters on the CPU are handled in this way, with a thread as the stream and
plain memory.  With EDDIS_TORCH_STAGING=some, only those of two dimensions or more are.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import mmap
import os
import queue
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import torch

from .. import _lib as L
from .._worker import Mark, Worker

DEVICES = ("cpu", "cuda")
ALIGNMENT = 64  # bytes
BLOCK_BYTES = 4 << 20  # largest block of gradients that are copied together, and of products that a copy needs
_PORTABLE = 1  # cudaHostRegisterPortable: for all devices
_WAIT_S = L.SLICE_NS / 1e9  # longest single wait, so that Python can run signal handlers
_EXIT_S = 5  # longest wait for a copy in progress when the script ends


class Copied(Protocol):
    """Copies in progress."""

    def synchronize(self) -> None:
        """Wait until the copies are done."""

    def is_done(self) -> bool:
        """Return whether the copies are done, without waiting."""


class Run:
    """Tensors of one device and type whose host memory is one block, with gaps: `start` bytes behind the start of
    `memory`.  Each tensor has one dimension and no gaps."""

    def __init__(self, memory: torch.Tensor, start: int, dtype: torch.dtype) -> None:
        self._memory, self._start, self._dtype = memory, start, dtype
        self.tensors: list[torch.Tensor] = []
        self._at: list[int] = []  # of each tensor in the block, in elements
        self._n = 0  # elements of the block

    def add(self, start: int, tensor: torch.Tensor) -> None:
        """Add the next tensor, whose host memory is `start` bytes behind the start of the memory."""
        self._at.append((start - self._start) // self._dtype.itemsize)
        self._n = self._at[-1] + tensor.numel()
        self.tensors.append(tensor)

    @property
    def host(self) -> torch.Tensor:
        """The block in host memory."""
        return self._memory[self._start:self._start + self._n * self._dtype.itemsize].view(self._dtype)

    def empty(self, factor: float) -> None:
        """Copy the tensors, multiplied by factor, and zeros in the gaps to the block in host memory: all at once, but
        large tensors in parts, so that their products take little of the device's memory.  The products have the bits
        of the library's own."""
        if len(self.tensors) == 1:
            n = max(1, self._n) if factor == 1 else BLOCK_BYTES // self._dtype.itemsize
            for part, host in zip(self.tensors[0].split(n), self.host.split(n)):
                host.copy_(part if factor == 1 else part * factor, non_blocking=True)
            return
        block = torch.zeros(self._n, dtype=self._dtype, device=self.tensors[0].device)
        torch._foreach_copy_(self._parts(block), self.tensors)
        self.host.copy_(block if factor == 1 else block.mul_(factor), non_blocking=True)

    def fill(self) -> None:
        """Copy the block in host memory to the tensors, all at once."""
        if len(self.tensors) == 1:
            self.tensors[0].copy_(self.host, non_blocking=True)
            return
        block = torch.empty(self._n, dtype=self._dtype, device=self.tensors[0].device)
        block.copy_(self.host, non_blocking=True)
        torch._foreach_copy_(self.tensors, self._parts(block))

    def _parts(self, block: torch.Tensor) -> list[torch.Tensor]:
        """Return the parts of a block that belong to the tensors."""
        return [block[at:at + tensor.numel()] for at, tensor in zip(self._at, self.tensors)]


class Device(Protocol):
    """A device that holds tensors, and copies them while the host goes on."""

    def host_like(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return host memory for this tensor's elements, in the same memory order."""

    def lock(self, memory: torch.Tensor) -> None:
        """Lock whole pages of host memory for faster copies, as far as the system allows it."""

    def unlock(self, memory: torch.Tensor) -> None:
        """Unlock memory that `lock` was given and that no copy uses any more."""

    def here(self) -> Any:
        """Return the stream on which the script's thread now gives work to the device, for `to_host`."""

    def to_host(self, hosts: list[torch.Tensor], tensors: list[torch.Tensor], behind: Iterable[Any]) -> Copied:
        """Begin to copy tensors to hosts, after the present work of the streams `behind` and after all copies begun
        before."""

    def to_device(self, tensors: list[torch.Tensor], hosts: list[torch.Tensor]) -> None:
        """Begin to copy hosts to tensors, after all work given to the device until now."""

    def gather(self, runs: list[Run], factor: float, behind: Iterable[Any]) -> Copied:
        """Begin to copy the tensors of each run, multiplied by factor, to its host memory, like `to_host`."""

    def scatter(self, runs: list[Run]) -> None:
        """Begin to copy the host memory of each run to its tensors, after all work given to the device until now but
        for copies to the host, which may be of other tensors only."""

    def join(self) -> Copied:
        """Let all later work of the device wait for the copies begun until now, and return these copies."""

    def mark(self) -> Any:
        """Return a time mark after all work given to the device until now."""

    def elapsed_ns(self, first: Any, last: Any) -> int | None:
        """Return the ns between two marks; None: the last one has not passed yet."""


def _served(name: str) -> Callable[[Callable[[], object]], object]:
    """Return a function that takes a call and has a thread of its own make it, in order, without waiting.  The thread
    ends before the interpreter does: a thread that returns from PyTorch afterwards would crash the process.  From then
    on the caller makes its calls itself."""
    calls: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
    is_over = threading.Event()

    def serve() -> None:
        while call := calls.get():
            call()
    thread = threading.Thread(target=serve, name=name, daemon=True)
    thread.start()

    def end() -> None:
        is_over.set()
        calls.put(None)
        thread.join(_EXIT_S)
    atexit.register(end)

    def make(call: Callable[[], object]) -> None:
        if not is_over.is_set():
            calls.put(call)
            return
        thread.join()  # it may take longer than _EXIT_S
        call()
    return make


class _CudaCopied:
    """Copies in progress of a GPU, for which any thread may wait.  In a new thread the first GPU is the current one: a
    wait would make a context on it, some 500 MB, if the copies' own GPU were not set."""

    def __init__(self, device: torch.device, stream: torch.cuda.Stream) -> None:
        self._device = device
        self.event = torch.cuda.Event(blocking=True)  # waiting must not keep a core busy
        self.event.record(stream)

    def synchronize(self) -> None:
        """See Copied.synchronize."""
        with torch.cuda.device(self._device):
            self.event.synchronize()

    def is_done(self) -> bool:
        """See Copied.is_done."""
        with torch.cuda.device(self._device):
            return self.event.query()


class _Cuda:
    """A GPU of CUDA or ROCm.  Its copy engines, one for each direction, are fastest with locked memory, which stays at
    its address.  Where the system locks none, as some containers, plain memory does, and CUDA copies it in pieces."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._out = torch.cuda.Stream(device)  # to the host
        self._back = torch.cuda.Stream(device)
        self._locks = True  # the system locks memory, as far as known
        self._locked: set[int] = set()  # addresses of memory that is locked

    def host_like(self, tensor: torch.Tensor) -> torch.Tensor:
        """See Device.host_like: pinned memory, unless it cannot be had."""
        try:
            with torch.cuda.device(self._device):  # else the first GPU would get a context, too
                flat = torch.empty(tensor.numel(), dtype=tensor.dtype, device="cpu", pin_memory=self._locks)
        except RuntimeError as error:
            if not self._locks:
                raise
            self._go_on_unlocked(tensor.numel() * tensor.element_size(), str(error))
            flat = torch.empty(tensor.numel(), dtype=tensor.dtype, device="cpu")
        return flat.as_strided(tensor.size(), tensor.stride())

    def lock(self, memory: torch.Tensor) -> None:
        """See Device.lock.  Memory that cannot be locked stays plain, with a warning at the first time."""
        with torch.cuda.device(self._device):  # else the first GPU would get a context, too
            code = int(torch.cuda.cudart().cudaHostRegister(memory.data_ptr(), memory.numel(), _PORTABLE))
        if code:
            self._go_on_unlocked(memory.numel(), f"error {code} of CUDA")
        else:
            self._locked.add(memory.data_ptr())

    def unlock(self, memory: torch.Tensor) -> None:
        """See Device.unlock.  Memory that could not be locked stays as it is."""
        if memory.data_ptr() in self._locked:
            self._locked.remove(memory.data_ptr())
            with torch.cuda.device(self._device):
                torch.cuda.cudart().cudaHostUnregister(memory.data_ptr())

    def _go_on_unlocked(self, n_bytes: int, reason: str) -> None:
        """Warn that memory could not be locked, and ask for no more."""
        with contextlib.suppress(RuntimeError):
            torch.ones(1, device=self._device)  # CUDA repeats its last error at the next kernel: at this one
        if self._locks:
            warnings.warn(f"{n_bytes} bytes of the host's memory cannot be locked for {self._device} ({reason}), so "
                          "its copies are slower: raise the limit of locked memory (ulimit -l) if there is one",
                          stacklevel=2)
        self._locks = False

    def here(self) -> torch.cuda.Stream:
        return torch.cuda.current_stream(self._device)  # a script may use several

    def to_host(self, hosts: list[torch.Tensor], tensors: list[torch.Tensor],
                behind: Iterable[torch.cuda.Stream]) -> Copied:
        with self._copying(self._out, [self._back, *behind]):
            for host, tensor in zip(hosts, tensors):
                host.copy_(tensor, non_blocking=True)
        return _CudaCopied(self._device, self._out)

    def to_device(self, tensors: list[torch.Tensor], hosts: list[torch.Tensor]) -> None:
        with self._copying(self._back, [self._out, self.here()]):
            for tensor, host in zip(tensors, hosts):
                tensor.copy_(host, non_blocking=True)

    def gather(self, runs: list[Run], factor: float, behind: Iterable[torch.cuda.Stream]) -> Copied:
        with self._copying(self._out, [self._back, *behind]):
            for run in runs:
                run.empty(factor)
        return _CudaCopied(self._device, self._out)

    def scatter(self, runs: list[Run]) -> None:
        with self._copying(self._back, [self.here()]):
            for run in runs:
                run.fill()

    @contextlib.contextmanager
    def _copying(self, stream: torch.cuda.Stream, behind: Iterable[torch.cuda.Stream]) -> Iterator[None]:
        """While the context is active, work goes to this copy stream, after the present work of the streams `behind`.
        Blocks that are made there are used again only by later work of the same stream."""
        for other in behind:
            stream.wait_stream(other)
        with torch.cuda.stream(stream), torch.no_grad():
            yield

    def join(self) -> Copied:
        self._back.wait_stream(self._out)
        copied = _CudaCopied(self._device, self._back)
        torch.cuda.current_stream(self._device).wait_event(copied.event)
        return copied

    def mark(self) -> torch.cuda.Event:
        mark = torch.cuda.Event(enable_timing=True, blocking=True)  # waiting must not keep a core busy
        mark.record(torch.cuda.current_stream(self._device))
        return mark

    def elapsed_ns(self, first: torch.cuda.Event, last: torch.cuda.Event) -> int | None:
        with torch.cuda.device(self._device):  # as _CudaCopied
            return int(first.elapsed_time(last) * 1e6) if first.query() and last.query() else None


class _Thread:
    """The CPU as a device, for tests: threads make the copies later, in order, one for each direction."""

    def __init__(self) -> None:
        self._out = _served("eddis stream")
        self._back = _served("eddis stream back")
        self._begun_out = self._begun_back = _Passed()  # newest copies
        self._begun_out.set()
        self.n_out = self.n_back = 0  # bytes of gradients that were copied, for tests

    def host_like(self, tensor: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(tensor, requires_grad=False)

    def lock(self, memory: torch.Tensor) -> None:
        """See Device.lock: nothing is gained."""

    def unlock(self, memory: torch.Tensor) -> None:
        """See Device.unlock."""

    def here(self) -> None:
        return None  # the CPU has no work left

    def to_host(self, hosts: list[torch.Tensor], tensors: list[torch.Tensor], behind: Iterable[None]) -> Copied:
        return self._begin_out(lambda: [host.copy_(tensor.detach()) for host, tensor in zip(hosts, tensors)])

    def to_device(self, tensors: list[torch.Tensor], hosts: list[torch.Tensor]) -> None:
        self._begin_back(lambda: [tensor.detach().copy_(host) for tensor, host in zip(tensors, hosts)],
                         self._begun_out)

    def gather(self, runs: list[Run], factor: float, behind: Iterable[None]) -> Copied:
        self.n_out += sum(run.host.nbytes for run in runs)
        return self._begin_out(lambda: [run.empty(factor) for run in runs])

    def scatter(self, runs: list[Run]) -> None:
        self.n_back += sum(run.host.nbytes for run in runs)
        self._begin_back(lambda: [run.fill() for run in runs])

    def _begin_out(self, copy: Callable[[], object]) -> _Passed:
        """Begin copies to the host, behind all copies back."""
        self._begun_out = _begin(self._out, self._begun_back, copy)
        return self._begun_out

    def _begin_back(self, copy: Callable[[], object], behind: _Passed | None = None) -> _Passed:
        """Begin copies back, behind the copies `behind`."""
        self._begun_back = _begin(self._back, behind, copy)
        return self._begun_back

    def join(self) -> Copied:
        copied = self._begin_back(lambda: None, self._begun_out)
        copied.synchronize()  # the CPU's next work comes at once
        return copied

    def mark(self) -> int:
        return time.perf_counter_ns()

    def elapsed_ns(self, first: int, last: int) -> int | None:
        return last - first


class _Passed(threading.Event):
    """A threading.Event as a Copied."""

    def synchronize(self) -> None:
        self.wait()

    def is_done(self) -> bool:
        return self.is_set()


def _begin(call: Callable[[Callable[[], object]], object], behind: _Passed | None, copy: Callable[[], object]) -> \
        _Passed:
    """Have the thread of _served run `copy`, after its calls before and after `behind`; return an event that is set
    when it is done."""
    copied = _Passed()

    def run() -> None:
        if behind:
            behind.synchronize()
        with torch.no_grad():
            copy()
        copied.set()
    call(run)
    return copied


def _pages(n_bytes: int) -> torch.Tensor:
    """Return plain memory of whole pages, at least n_bytes, which stays until the process ends.  Whole pages, since a
    device locks pages, and each only once.  Children made by fork do not get it: a shared page would move when it is
    written."""
    pages = mmap.mmap(-1, max(1, -(-n_bytes // mmap.PAGESIZE)) * mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    pages.madvise(mmap.MADV_DONTFORK)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(pages))
    return torch.frombuffer(pages, dtype=torch.uint8)


def places_for(tensors: list[torch.Tensor]) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Return a block of memory of _pages, and a list of tensors in it, one for each given tensor, with the same
    data type, shape and strides.  It is valid until the process ends, so that the library can use it after the
    interpreter's end."""
    sizes = [-(-t.numel() * t.element_size() // ALIGNMENT) * ALIGNMENT for t in tensors]
    block = _pages(sum(sizes))
    rows = block[:sum(sizes)].split(sizes)
    parts = [part[:t.numel() * t.element_size()].view(t.dtype) for t, part in zip(tensors, rows)]
    return block, [part.as_strided(t.size(), t.stride(), part.storage_offset()) for t, part in zip(tensors, parts)]


_devices: dict[Any, Device] = {}


def device_of(tensor: torch.Tensor) -> Device | None:
    """Return the device that holds the tensor; None: the host's memory.  Raises TypeError for devices other than CPU
    and CUDA."""
    kind = tensor.device.type
    if kind == "cpu":
        staged = os.environ.get("EDDIS_TORCH_STAGING")
        return _made("cpu", _Thread) if staged == "cpu" or staged == "some" and tensor.dim() > 1 else None
    if kind == "cuda":
        return _made(tensor.device.index, lambda: _Cuda(tensor.device))
    raise TypeError(f"it is in the memory of '{kind}': eddis takes tensors of a CPU or of CUDA")


def _made(key: Any, make: Callable[[], Device]) -> Device:
    """Return the device of this key; at the first call for a key, make the device."""
    if key not in _devices:
        _devices[key] = make()
    return _devices[key]


class Places:
    """The places of device tensors whose values the library reads and writes.  The tensors are copied to them before
    the library reads, and back after it has written."""

    def __init__(self, worker: Worker) -> None:
        self._of: list[tuple[Device, list[Callable[[], torch.Tensor]], list[torch.Tensor]]] = []
        self._blocks: list[tuple[Device, torch.Tensor]] = []
        self._worker = worker
        worker.after_commit.append(self._lock)
        worker.before_values.append(self._fetch)
        worker.after_values.append(self._put)

    def add(self, device: Device, tensors: list[Callable[[], torch.Tensor]]) -> list[torch.Tensor]:
        """Make places for tensors on a device, and return the places.  Each tensor is given by a function that returns
        it, since the script may replace it."""
        block, places = places_for([tensor() for tensor in tensors])
        self._blocks.append((device, block))
        self._of.append((device, tensors, places))
        return places

    def _lock(self) -> None:
        """Lock the places where they are used in every exchange of values: not in sync mode, which copies values at the
        start only.  A callback after commit."""
        for device, block in self._blocks if self._worker.is_several else ():
            device.lock(block)

    def _fetch(self) -> None:
        """Copy all tensors to their places, and wait for it."""
        for copied in [device.to_host(places, [tensor().detach() for tensor in tensors], [device.here()])
                       for device, tensors, places in self._of]:
            copied.synchronize()

    def _put(self) -> None:
        """Begin to copy all places to their tensors; the device's later work waits for the copies."""
        for device, tensors, places in self._of:
            device.to_device([tensor().detach() for tensor in tensors], places)
            device.join()


class Announcer:
    """Announces gradients in the order of the calls, each when its copies are done.  There is one for all parameter
    sets, so that their rounds begin in the same order on all workers."""

    def __init__(self, announce: Callable[[int, int, int], None]) -> None:
        self._announce = announce
        self._call = _served("eddis announcer")
        self._changed = threading.Condition()
        self._begun = self._done = 0  # calls of put, and those whose gradients are announced
        self._error: BaseException | None = None  # first error of an announcement

    def put(self, copied: Copied | None, announced: list[tuple[int, int, int]]) -> int:
        """Have the thread announce these gradients, tuples (number, source, result), when the copies are done; None:
        there are no copies to wait for.  Does not wait.  Return the number of this call, for `wait`."""
        with self._changed:
            self._begun += 1
            number = self._begun
        self._call(lambda: self._run(copied, announced))
        return number

    def wait(self, number: int) -> None:
        """Wait until the gradients of the call of `put` with this number are announced, and of those before.  Raises
        the first error of an announcement."""
        with self._changed:
            while self._done < number:
                self._changed.wait(_WAIT_S)  # in slices, so that Ctrl-C is handled
            if self._error:
                raise self._error

    def drain(self) -> None:
        """Wait until all gradients given to `put` are announced.  Raises the first error of an announcement."""
        self.wait(self._begun)

    def _run(self, copied: Copied | None, announced: list[tuple[int, int, int]]) -> None:
        """Wait for the copies and announce the gradients; keep the first error for `wait`.  Runs in the announcer's
        thread."""
        try:
            if copied:
                copied.synchronize()
            for number, source, result in announced:
                self._announce(number, source, result)
        except BaseException as error:
            self._error = self._error or error
        with self._changed:
            self._done += 1
            self._changed.notify_all()


class Clock:
    """Measures a device's computing and input time in each step, for the plan."""

    def __init__(self, worker: Worker, device: Device) -> None:
        self._worker, self._device = worker, device
        self._asked: Any = None  # mark: the loop asked for a batch
        self._got: Any = None  # mark: the batch arrived
        self._since: Any = None  # mark: the device began to compute, at the step's begin or after a round
        self._parts: list[tuple[Any, Any]] = []  # computing in this step before each round, pairs of marks
        self._ends: deque[tuple[Any, Any]] = deque()  # of earlier steps, after the last round, not yet measured
        self._end_ns = 0  # newest measured time after the last round
        for what, callback in ((Mark.ASKED, self._ask), (Mark.GOT, self._get), (Mark.BEGUN, self._begin),
                               (Mark.WAITS, self._wait), (Mark.GOES_ON, self._go_on), (Mark.ENDS, self._end)):
            worker.marks[what].append(callback)

    # Callbacks of Worker.marks: each sets a mark on the device

    def _ask(self) -> None:
        self._asked = self._device.mark()

    def _get(self) -> None:
        self._got = self._device.mark()

    def _begin(self) -> None:
        self._since, self._parts = self._device.mark(), []

    def _wait(self) -> None:
        if self._since is not None:  # it may wait already
            self._parts.append((self._since, self._device.mark()))
            self._since = None

    def _go_on(self) -> None:
        if self._since is None:  # it may go on already
            self._since = self._device.mark()

    def _end(self) -> None:
        now = self._device.mark()
        self._tell((now if self._since is None else self._since, now))

    def _tell(self, last: tuple[Any, Any]) -> None:
        """Set compute_ns and input_ns of the step's report. `last`: the marks of the step's part after its last round.
        """
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
