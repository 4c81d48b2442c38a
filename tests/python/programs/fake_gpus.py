# SPDX-License-Identifier: Apache-2.0
"""fake_gpus.py - what _device._Cuda asks of PyTorch, on a stand-in of torch.cuda: whose context is current, and memory
that cannot be locked; and a model on another worker's GPU"""

import os
import threading
import types
import unittest.mock
import warnings

import torch

from eddis.torch import _device, _own_gpu

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
        self.on = stream.index

    def query(self):
        assert getattr(_current, "index", 0) == self.on, "a context on another GPU"
        return True

    synchronize = query

    def elapsed_time(self, other):
        return 2.0


class Stream:
    """torch.cuda.Stream"""

    def __init__(self, device):
        self.index = device.index

    def wait_stream(self, stream):
        pass

    wait_event = wait_stream


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
    device.join().synchronize()
    assert came == [7] and device.elapsed_ns(device.mark(), device.mark()) == 2000000


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
             ("0,1", [0], False), ("", [0], False)]
    for shown, used, refused in cases:
        parameters = [types.SimpleNamespace(device=torch.device("cuda", index)) for index in used] + [torch.zeros(1)]
        with unittest.mock.patch.dict(os.environ, CUDA_VISIBLE_DEVICES=shown):
            try:
                _own_gpu.refuse_others_gpu(worker, parameters)
            except RuntimeError as error:
                assert refused and "the model is on cuda:0, but this worker's GPU is cuda:1: call" in str(error)
            else:
                assert not refused, (shown, used)


with stand_in():
    for look in (contexts, unlocked):
        look()
own()
