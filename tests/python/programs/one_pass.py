# SPDX-License-Identifier: Apache-2.0
"""one_pass.py [FEW [TYPE]] - trains a large layer and small ones of a device and prints, in per cent of the gradients,
what was copied to the host, what was copied back, and what was locked, for gradients and for results; and the sum of
the last gradients.  In the first step the small layers' copy to the host only begins when the large one's copy back has
begun.  FEW: up to so many workers of a node have the results in their slots, to which the library copies them.  TYPE:
that of the parameters, such as float16."""

import os
import sys
import threading

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from eddis import _lib as L
from eddis.torch import _device, _gradients, _slots

MINUTES = 5 * 60


class Watched(_device._Thread):
    """Counts copies and locked memory, and holds the second copy to the host back."""

    def __init__(self):
        super().__init__()
        self.copies = self.runs = 0
        self.locked = []
        self.is_back = threading.Event()

    def lock(self, memory):
        self.locked.append(memory.numel())

    def gather(self, runs, factor, behind):
        self.copies += 1
        self.runs += len(runs)
        if self.copies == 2:
            self._begin_out(self.hold)
        return super().gather(runs, factor, behind)

    def hold(self):
        if not self.is_back.wait(MINUTES):
            os._exit(9)

    def scatter(self, runs):
        super().scatter(runs)
        self.is_back.set()


_device._Thread = Watched

import eddis.torch as eddis  # noqa: E402

announced = []
send = _gradients.announce


def announce(worker, message, number, source, result):
    announced.append((source, result))
    send(worker, message, number, source, result)


_gradients.announce = announce
_slots.FEW = int(sys.argv[1]) if len(sys.argv) > 1 else _slots.FEW
of = getattr(torch, sys.argv[2]) if len(sys.argv) > 2 else torch.float32
SMALL = 8
loader = eddis.loader(DataLoader(TensorDataset(torch.randn(16, 64)), batch_size=4))
WIDE = 16384 // of.itemsize  # so wide that the large layer is a bucket
model = nn.Sequential(*(nn.Linear(64, 64, bias=False) for _ in range(SMALL)), nn.Linear(64, WIDE, bias=False)).to(of)
optimizer = eddis.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model=model)
steps = 0
for epoch in loader.epochs(1):
    for x, in loader:
        optimizer.zero_grad()
        model(x.to(of)).square().mean().backward()
        optimizer.step()
        steps += 1
device = _device.device_of(x)
place = L.IN_PLACE if _slots.FEW == 3 else 0
assert device.copies == device.runs == 2 * steps, "small layers are not copied together"
assert announced.count((L.WEIGHTED, place)) == (SMALL + 1) * steps, "weighted or copied by the library"
assert len(announced) == (SMALL + 2) * steps, announced
n_bytes = sum(p.nbytes for p in model.parameters())
out, back, *locked = (round(100 * n / n_bytes) for n in (device.n_out / steps, device.n_back / steps, *device.locked))
total = sum(p.grad.double().sum().item() for p in model.parameters())
print(f"rank {eddis.rank()}: out {out} back {back} locked {locked[0]} {sum(locked[1:])} gradients {total!r}")
