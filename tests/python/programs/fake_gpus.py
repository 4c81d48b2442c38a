# SPDX-License-Identifier: Apache-2.0
"""fake_gpus.py - what _device._Cuda asks of PyTorch, on a stand-in of torch.cuda: whose context is current, and memory
that cannot be locked; and a model on another worker's GPU"""

import os
import threading
import types
import unittest.mock
import warnings

import torch

from eddis.torch import _device, _own_gpu, _slots

_current = threading.local()  # each thread begins with the first GPU


class Current:
    """torch.cuda.device"""

    def __init__(self, device):
        self.index = device.index

    def __enter__(self):
        self.before = getattr(_current, "index", 0)
        _current.index = self.index

    def __exit__(self, *_):
        _current.index = self.before


class Event:
    """torch.cuda.Event: on the GPU of the stream that records it, which must be the current one when it is asked"""

    def __init__(self, **options):
        self.on = None

    def record(self, stream):
        self.on, self.stream = stream.index, stream

    def query(self):
        assert getattr(_current, "index", 0) == self.on, "a context on another GPU"
        return True

    def synchronize(self):
        assert self.query()
        self.stream.behind.append("host")

    def elapsed_time(self, other):
        return 2.0


class Stream:
    """torch.cuda.Stream"""

    made = 0

    def __init__(self, device):
        self.index = device.index
        self.number, Stream.made = Stream.made, Stream.made + 1
        self.behind = []  # what it waits for

    def wait_stream(self, stream):
        self.behind.append(stream.number)

    def wait_event(self, event):
        self.behind.append("event")


class Refuses:
    """torch.cuda.cudart(), of a system that locks no memory"""

    def cudaHostRegister(self, address, n_bytes, flags):
        return 801


def ones(*args, device=None, **options):
    """torch.ones, whose first kernel on a GPU repeats the last error"""
    raise RuntimeError("CUDA error: operation not supported")


def stand_in():
    return unittest.mock.patch.multiple(torch.cuda, device=Current, Event=Event, Stream=Stream, cudart=Refuses,
                                        current_stream=Stream, stream=lambda stream: Current(stream))


def contexts():
    """The announcer's thread, whose current GPU is the first, waits for copies of the second with that one current."""
    came = []
    device = _device._Cuda(torch.device("cuda", 1))
    announcer = _device.Announcer(lambda number, source, result: came.append(number))
    announcer.put(device.to_host([], [], [device.here()]), [(7, 0, 0)])
    announcer.drain()
    copied = device.join()
    copied.synchronize()
    assert copied.is_done() and came == [7] and device.elapsed_ns(device.mark(), device.mark()) == 2000000


def directions():
    """Copies to the GPU wait for the script's stream and not for those to the host, which wait for earlier ones to the
    GPU; the script's stream waits for both."""
    script = Stream(torch.device("cuda", 1))
    with unittest.mock.patch("torch.cuda.current_stream", lambda device: script):
        device = _device._Cuda(torch.device("cuda", 1))
        out, back = device._out, device._back
        device.gather([], 0.5, [script])
        assert (out.behind, back.behind) == ([back.number, script.number], [])
        device.scatter([])
        assert (len(out.behind), back.behind, script.behind) == (2, [script.number], [])
        device.join()
        assert (back.behind, script.behind) == ([script.number, out.number], ["event"])


class Locks:
    """torch.cuda.cudart(), of a system that locks memory"""

    calls = []
    most = 2  # calls to lock memory that succeed

    def cudaHostRegister(self, address, n_bytes, flags):
        Locks.calls.append((address, n_bytes))
        return 0 if len(Locks.calls) <= Locks.most else 2

    def cudaHostUnregister(self, address):
        Locks.calls.append(address)


def locked():
    """The library's memory is locked once for all GPUs, and unlocked before it is freed, when all their copies
    back are over."""
    memory = [torch.zeros(4096, dtype=torch.uint8) for _ in range(2)]
    slots = _slots.Slots.__new__(_slots.Slots)
    slots.worker, slots.devices = types.SimpleNamespace(before_close=[]), []
    slots.block, slots.results = memory
    devices = [_device._Cuda(torch.device("cuda", index)) for index in range(2)]
    with unittest.mock.patch("torch.cuda.cudart", Locks):
        for device in devices * 2:
            slots.lock(device)
        both = [(it.data_ptr(), 4096) for it in memory]
        assert Locks.calls == both and len(slots.worker.before_close) == 1
        slots.worker.before_close[0]()
    assert Locks.calls == both + [address for address, _ in both]
    assert all(device._back.behind[-1] == "host" for device in devices)


def locked_in_part():
    """Memory that was locked is unlocked, and no other, also if the system locks no more."""
    Locks.calls.clear()
    first, second = (torch.zeros(4096, dtype=torch.uint8) for _ in range(2))
    device = _device._Cuda(torch.device("cuda", 1))
    with warnings.catch_warnings(record=True), unittest.mock.patch("torch.ones", ones), \
            unittest.mock.patch("torch.cuda.cudart", Locks), unittest.mock.patch.object(Locks, "most", 1):
        warnings.simplefilter("always")
        for memory in (first, second):
            device.lock(memory)
        for memory in (first, second):
            device.unlock(memory)
    assert Locks.calls[2:] == [first.data_ptr()]


def unlocked():
    """Memory that cannot be locked serves all the same, with one warning."""
    unlocked_first(_device._Cuda(torch.device("cuda", 1)))
    device = _device._Cuda(torch.device("cuda", 1))
    with warnings.catch_warnings(record=True) as told, unittest.mock.patch("torch.ones", ones):
        warnings.simplefilter("always")
        for _ in range(2):
            device.lock(_device.places_for([torch.zeros(3, 4)])[0])
        place = device.host_like(torch.zeros(2))
    assert len(told) == 1 and "cannot be locked for cuda:1 (error 801 of CUDA)" in str(told[0].message), told
    assert place.shape == (2,) and not place.is_pinned()


def unlocked_first(device):
    """So it does where PyTorch finds it first."""
    empty = torch.empty

    def refuses(*args, pin_memory=False, **options):
        if pin_memory:
            raise RuntimeError("CUDA error: operation not supported")
        return empty(*args, **options)
    with warnings.catch_warnings(record=True) as told, unittest.mock.patch("torch.empty", refuses):
        warnings.simplefilter("always")
        assert [device.host_like(torch.zeros(2)).shape for _ in range(2)] == [(2,)] * 2
    assert len(told) == 1 and "(CUDA error: operation not supported)" in str(told[0].message), told


def own():
    """Refused only where eddis-run shows each worker the GPUs of all, and the model is on none of its own."""
    worker = types.SimpleNamespace(local_rank=1, local_size=2, has_plan=True)
    both = "GPU-a,GPU-b"
    cases = [(both, [0], True), (both, [1], False), (both, [0, 1], False), (both, [], False), ("GPU-b", [0], False),
             ("0,1", [0], False), ("", [0], False), ("GPU-a,GPU-b,GPU-c,GPU-d", [0, 1], True),
             ("GPU-a,GPU-b,GPU-c,GPU-d", [2], False), ("GPU-a,GPU-b,GPU-c,GPU-d", [2, 3], False)]
    cases = [(*case, 2 if "GPU-d" in case[0] else 1) for case in cases] + [("GPU-c,GPU-d", [0], False, 2)]
    for shown, used, refused, each in cases:
        parameters = [types.SimpleNamespace(device=torch.device("cuda", index)) for index in used] + [torch.zeros(1)]
        for hip, variable, other in ((None, "CUDA", "ROCR"), ("6.3", "ROCR", "CUDA")):
            environ = {f"{variable}_VISIBLE_DEVICES": shown, f"{other}_VISIBLE_DEVICES": "0,1",
                       "EDDIS_GPUS_PER_WORKER": str(each)}
            with unittest.mock.patch.dict(os.environ, environ), unittest.mock.patch("torch.version.hip", hip):
                try:
                    _own_gpu.refuse_others_gpu(worker, parameters)
                except RuntimeError as error:
                    whose = "GPU is cuda:1: call" if shown == both else "GPUs are cuda:2 to cuda:3: they begin at"
                    assert refused and f"the model is on cuda:0, but this worker's {whose}" in str(error)
                else:
                    assert not refused, (shown, used, hip)


with stand_in():
    for look in (contexts, directions, locked, locked_in_part, unlocked):
        look()
own()
