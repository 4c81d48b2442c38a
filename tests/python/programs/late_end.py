# SPDX-License-Identifier: Apache-2.0
"""late_end.py - leaves its loop by break while a device has still to copy the gradients of the step before from memory
of the host, and says what arrives"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from eddis.torch import _device


class Late(_device._Thread):
    """Makes copies of gradients from the host as late as it may: when the host waits for them, or before the next ones
    to the host."""

    def __init__(self):
        super().__init__()
        self.runs = []

    def scatter(self, runs):
        self.runs += runs

    def gather(self, *arguments):
        self.synchronize()
        return super().gather(*arguments)

    def join(self):
        super().join()
        return self

    def synchronize(self):
        while self.runs:
            self.runs.pop().fill()


_device._Thread = Late

import eddis.torch as eddis  # noqa: E402

loader = eddis.loader(DataLoader(TensorDataset(torch.arange(12.0).view(-1, 1)), batch_size=2))
model = nn.Linear(1, 1)
optimizer = eddis.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model=model)
for epoch in loader.epochs(1):
    for number, (x,) in enumerate(loader):
        if number == 2:
            break
        optimizer.zero_grad()
        (model(x).sum() * 0 + model.weight.sum() * 3 + model.bias.sum() * 5).backward()
device = _device.device_of(torch.zeros(1))
device.synchronize()
print(f"rank {eddis.rank()}: gradients {model.weight.grad.item():.3f} {model.bias.grad.item():.3f}")
