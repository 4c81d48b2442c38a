# SPDX-License-Identifier: Apache-2.0
"""late.py - trains with a parameter of a device that on rank 0 reads memory of the host long after it was told to, and
says how often that had changed by then.  Rank 0 uses the parameter only where it has no samples."""

import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from eddis.torch import _device


class Late(_device._Thread):
    """Copies are made at once, and what was copied from is looked at again later."""

    def __init__(self):
        super().__init__()
        self.copied, self.changed, self.looked = [], 0, 0

    def scatter(self, runs):
        def copy():
            for run in runs:
                run.fill()
                self.copied.append((run.host, run.host.clone()))
        self._begin_back(copy)

    def join(self):
        super().join()
        return self._begin_back(self.look)

    def look(self):
        time.sleep(0.3 if eddis.rank() == 0 else 0)
        self.looked += len(self.copied)
        self.changed += sum(not torch.equal(host, copied) for host, copied in self.copied)
        self.copied.clear()


_device._Thread = Late

import eddis.torch as eddis  # noqa: E402
from eddis._worker import worker  # noqa: E402

loader = eddis.loader(DataLoader(TensorDataset(torch.arange(12.0).view(-1, 1)), batch_size=2))
model = nn.Linear(1, 1)  # its weight is of the device, its bias is not
optimizer = eddis.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model=model)
for epoch in loader.epochs(1):
    for number, (x,) in enumerate(loader):
        optimizer.zero_grad()
        out = model(x + 1) if eddis.rank() == 1 or not worker.step.count else model.bias
        (out.sum() * (1 + number)).backward()
        optimizer.step()
device = _device.device_of(torch.zeros(1, 1))
assert device.looked
print(f"rank {eddis.rank()}: changed {device.changed}")
