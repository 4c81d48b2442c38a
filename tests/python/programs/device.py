# SPDX-License-Identifier: Apache-2.0
"""device.py - what serves devices, by itself: kept values, places, announcements, times, random numbers and late
losses"""

import atexit
import itertools
import math
import mmap
import os
import threading
import types
import unittest.mock

import torch

from eddis import _lib as L
from eddis._worker import Mark, Worker
from eddis.torch import _device, _lateclock, _lateloss, _slots, _state


@atexit.register
def afterwards():
    """What was begun before any device ends behind it, and copies still."""
    device, place = _device.device_of(torch.zeros(1)), torch.zeros(1 << 10)
    device.to_host([place], [torch.ones(1 << 10)], [device.here()]).synchronize()
    if not place.all():
        os._exit(9)


class Told:
    """A device whose marks are the times that it is told; those after `passed` have not passed."""

    def __init__(self):
        self.now = self.passed = 0

    def mark(self):
        return self.now

    def elapsed_ns(self, first, last):
        return last - first if last <= self.passed else None


class Broken:
    """A copy that failed."""

    def synchronize(self):
        raise ValueError("the device is gone")


class Held:
    """A tensor into which a copy goes no earlier than an event, which comes within a minute."""

    def __init__(self, event):
        self.event = event

    def copy_(self, tensor):
        assert self.event.wait(60), "a call waits for the device"


def values():
    """A state's values are read to the CPU and go where the script had them: 'meta' is a device that needs no GPU."""
    ours = {"a": torch.zeros(2, device="meta"), "b": [torch.zeros(1), torch.zeros(1, device="meta")]}
    put = _state.placed({"a": torch.ones(2), "b": [torch.ones(1)] * 3, "c": torch.ones(1)}, ours)
    found = [put["a"].device.type, *(tensor.device.type for tensor in put["b"]), put["c"].device.type]
    assert found == ["meta", "cpu", "meta", "cpu", "cpu"] and put["b"][0] == 1, found
    assert _state.placed((1, {"d": "e"}, None), (ours, 2)) == (1, {"d": "e"}, None)


def places():
    tensors = [torch.randn(3, 4), torch.randn(0, 3), torch.randn(()), torch.randn(7).bfloat16(),
               torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last), torch.randn(4, 3).double().t()]
    made = _device.places_for(tensors)[1]
    for tensor, place in zip(tensors, made):
        place.copy_(tensor)
    for tensor, place in zip(tensors, made):
        assert torch.equal(tensor, place) and tensor.stride() == place.stride()
        assert not place.numel() or place.data_ptr() % _device.ALIGNMENT == 0
    for size in (0, 1, 100, 5000):  # no two blocks on one page
        block = _device.places_for([torch.zeros(size)])[0]
        assert block.data_ptr() % mmap.PAGESIZE == block.numel() % mmap.PAGESIZE == 0 and block.numel() > 4 * size


def runs():
    """Slots that are neighbours are one block, with zeros between them; products have the bits of the library's."""
    torch.manual_seed(3)
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        memory, device = torch.full((4096,), 7, dtype=torch.uint8), _device.device_of(torch.zeros(1))
        tensors = [torch.randn(n).to(dtype) for n in (5, 0, 9)]
        run = _device.Run(memory, 64, dtype)
        for start, tensor in zip((64, 192, 320), tensors):
            run.add(start, tensor)
        kept = [tensor.clone() for tensor in tensors]
        device.gather([run], 1 / 3, []).synchronize()
        block = memory[64:320 + 9 * dtype.itemsize].view(dtype)
        assert torch.equal(run.host, block) and bool((memory[:64] == 7).all())
        assert bool((memory[320 + 9 * dtype.itemsize:] == 7).all())
        factor = torch.tensor(1 / 3, dtype=torch.float64 if dtype == torch.float64 else torch.float32)
        for at, tensor in zip((0, 128, 256), kept):
            first = at // dtype.itemsize
            product = (tensor.to(factor.dtype) * factor).to(dtype)
            assert torch.equal(block[first:first + tensor.numel()], product), dtype
            block[first:first + tensor.numel()] = 1
        assert block.sum() == 14  # zeros in the gaps
        device.scatter([run])
        device.join()
        assert all(bool((tensor == 1).all()) for tensor in tensors)
    large = torch.randn(_device.BLOCK_BYTES // 2 + 3)  # in parts
    run = _device.Run(torch.empty(large.nbytes + 64, dtype=torch.uint8), 64, large.dtype)
    run.add(64, large)
    for factor in (0.3, 1):
        device.gather([run], factor, []).synchronize()
        assert torch.equal(run.host, large * factor)


def bounded():
    """However many neighbours are copied together, their block takes little of the device's memory."""
    slots = _slots.Slots.__new__(_slots.Slots)
    sizes = [1 << 18] * 6 + [0, 3, (2 << 20) - 5, 5, 0, 1 << 20, 1]
    slots.start, at = {}, 0
    for number, size in enumerate(sizes):
        slots.start[number] = at
        at += -(-4 * size // 64) * 64 + 64
    starts = sorted(slots.start.values())
    slots.next, slots.block = dict(zip(starts, starts[1:])), torch.zeros(at, dtype=torch.uint8)
    tensors = [torch.randn(size) for size in sizes]
    made = slots.runs(enumerate(tensors))
    assert [len(run.tensors) for run in made] == [3, 3 + 2, 1, 2, 1, 1]
    assert all(len(run.tensors) == 1 or run.host.nbytes <= _device.BLOCK_BYTES for run in made)
    device = _device.device_of(torch.zeros(1))
    device.gather(made, 1, []).synchronize()
    for number, tensor in enumerate(tensors):
        place = slots.block[slots.start[number]:slots.start[number] + tensor.nbytes].view(torch.float32)
        assert torch.equal(place, tensor)


def announcements():
    """In the order in which they were told, whichever copy ends first; a failure comes out, and nothing waits for
    ever."""
    came = []
    announcer = _device.Announcer(lambda number, source, result: came.append(number))
    device = _device.device_of(torch.zeros(1))
    place = torch.zeros(1 << 20)
    announcer.put(device.to_host([place], [torch.ones(1 << 20)], []), [(0, 0, 0), (1, 0, 0)])
    for number in range(2, 50):
        announcer.put(None, [(number, 0, 0)])
    announcer.drain()
    assert came == list(range(50)) and bool(place.all())
    announcer.put(Broken(), [(50, 0, 0)])
    announcer.put(None, [(51, 0, 0)])
    try:
        announcer.drain()
    except ValueError as error:
        assert str(error) == "the device is gone"
    else:
        raise AssertionError("a failure is lost")


def times():
    """Of a step up to its last round, and of the update of the step before."""
    device, worker = Told(), types.SimpleNamespace(marks={what: [] for what in Mark}, report=None)
    _device.Clock(worker, device)

    def step(*passing, passed):
        worker.report = L.Report()
        device.passed = passed
        for what, device.now in passing:
            worker.marks[what][0]()
        return worker.report.compute_ns, worker.report.input_ns

    def one(at, update):
        return [(Mark.ASKED, at), (Mark.GOT, at + 5), (Mark.BEGUN, at + 6), (Mark.WAITS, at + 36),
                (Mark.GOES_ON, at + 100), (Mark.ENDS, at + 100 + update)]

    assert step(*one(1000, 7), passed=1100) == (30, 5)
    assert step(*one(2000, 9), passed=2100) == (30 + 7, 5)
    assert step(*one(3000, 9), passed=2200) == (9, 1)  # the device is behind
    alone = [(Mark.ASKED, 4000), (Mark.GOT, 4000), (Mark.BEGUN, 4010), (Mark.ENDS, 4060)]
    assert step(*alone, passed=5000) == (9, 1)
    assert step(*alone, passed=5000) == (50, 1)
    # Always behind by two steps
    assert [step(*one(at, at // 1000), passed=at - 1500)[0] for at in range(6000, 10000, 1000)] == [50, 50, 6, 7]


def late_times():
    """Those of the newest step that the device has finished, where that one had as many samples."""
    device, worker = Told(), types.SimpleNamespace(marks={what: [] for what in Mark}, report=None, step=L.Step())
    _lateclock.LateClock(worker, device)

    def step(at, compute, passed, count=8, work=0):
        """From `at` on: reads for 5, computes in two parts, waits for 90, updates for 2."""
        worker.report, worker.step.count, device.passed = L.Report(work=work), count, passed
        middle = at + 6 + compute // 2
        for what, device.now in [(Mark.ASKED, at), (Mark.GOT, at + 5), (Mark.BEGUN, at + 6), (Mark.WAITS, middle),
                                 (Mark.GOES_ON, middle + 60), (Mark.WAITS, middle + 60 + compute - compute // 2),
                                 (Mark.GOES_ON, at + 96 + compute), (Mark.ENDS, at + 98 + compute)]:
            worker.marks[what][0]()
        return worker.report.compute_ns, worker.report.input_ns

    assert step(1000, 30, passed=2000) == (32, 5)  # at once
    assert step(2000, 40, passed=2000) == (32, 5)  # the one before
    assert step(3000, 50, passed=2900) == (42, 5)
    assert step(4000, 90, count=16, passed=3900) == (0, 0)  # all that have passed had other numbers of samples
    assert step(5000, 90, count=16, passed=4100) == (0, 0)  # this one has passed in part
    assert step(6000, 92, count=16, passed=5900) == (92, 5)
    assert [step(at, at // 100, passed=at - 2500, count=16)[0] for at in range(7000, 11000, 1000)] == [92, 92, 94, 72]
    for at in range(11000, 200000, 1000):  # marks do not gather without end
        step(at, 10, passed=8500)
    assert step(200000, 20, passed=300000) == (22, 5)
    assert step(201000, 30, passed=201000, work=4)[0] == 0  # of steps of unlike work
    assert step(202000, 60, passed=202000, work=2)[0] == 16
    assert step(203000, 60, passed=204000, work=2)[0] == 62


def random_numbers():
    """Of the devices that the models are on, whichever is the current one."""
    states = {0: "first", 1: "second"}
    given = {}
    parameters = [types.SimpleNamespace(device=torch.device("cuda", n)) for n in (1, 0)]
    model = types.SimpleNamespace(parameters=lambda: parameters)
    state = types.SimpleNamespace(_of=lambda kind: {"model": model})
    gpus = _state.State._gpus(state)
    with unittest.mock.patch("torch.cuda.get_rng_state", lambda gpu: states[gpu.index]):
        kept = _state._random_states(gpus)
    with unittest.mock.patch("torch.cuda.set_rng_state", lambda value, gpu: given.update({gpu.index: value})):
        _state._set_random_states(kept, gpus[1:])
    assert given == {1: "first"}


def losses():
    """Nothing waits for losses that a device has still to copy; of those that have arrived the newest comes, and the
    first that is not finite.  A step that compares the models waits for them, so that the last ones are not lost."""
    device, go = _device.device_of(torch.zeros(1)), threading.Event()
    worker, step = Worker(), itertools.count()
    losses = _lateloss.LateLosses(worker)

    def report(*values):
        return [losses.report(torch.tensor(value), next(step)) for value in values]

    def held(*values):
        go.clear()
        device.to_host([Held(go)], [torch.zeros(1)], [device.here()])
        came = report(*values)
        go.set()
        device.join()  # all copies are done
        return came

    assert held(1.5, 2.5, 3.5) == [None] * 3
    assert report(4.5) == [(3.5, 1)]
    device.join()
    assert held(5.5, 6.5) == [(4.5, 1), None]
    assert held(math.nan, 7.5, math.nan) == [(6.5, 1), None, None]
    (bad, age), = report(8.5)
    assert math.isnan(bad) and age == 3
    device.join()
    assert losses.report(torch.tensor(8.5), 9) is None  # in the same step
    device.join()
    assert report(9.5) == [(8.5, 1)]
    device.join()
    many = [float(n) for n in range(2 * _lateloss.KEPT)]  # copies do not gather without end
    assert held(*many) == [(9.5, 1)] + [None] * (len(many) - 1)
    assert report(1.5) == [(many[_lateloss.KEPT - 1], _lateloss.KEPT + 1)]
    worker.step.step = next(step) - 1
    worker.mark(Mark.ENDS)
    assert not worker.report.has_loss
    worker.step.flags = L.STEP_SUMS
    worker.mark(Mark.ENDS)
    assert (worker.report.has_loss, worker.report.loss, worker.report.loss_age) == (1, 1.5, 0)
    os.environ["EDDIS_TORCH_STAGING"] = ""
    assert losses.report(torch.tensor(3.5), 7) == (3.5, 0)
    os.environ["EDDIS_TORCH_STAGING"] = "cpu"


def left():
    """The script ends amidst copies, and well."""
    device = _device.device_of(torch.zeros(1))
    source = torch.zeros(1 << 20)
    for _ in range(100):
        device.to_host([torch.empty(1 << 20)], [source], [])


os.environ["EDDIS_TORCH_STAGING"] = "cpu"
for look in (values, places, runs, bounded, announcements, times, late_times, random_numbers, losses, left):
    look()
