#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ddp_attached.py - ddp.py with batches that follow the plan; its gradients stay those of DistributedDataParallel

    eddis-run examples/pytorch/attached.yaml
"""

import pathlib

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

import eddis.torch as eddis

EPOCHS = 10


def digits(test=360):
    """The rows of digits.csv: 64 values from 0 to 16, and the digit; the last ones are for the test."""
    text = (pathlib.Path(__file__).resolve().parent / "../digits/digits.csv").read_text()
    rows = torch.tensor([[float(value) for value in line.split(",")] for line in text.split()])
    x, y = rows[:, :-1].reshape(-1, 1, 8, 8) / 16, rows[:, -1].long()
    return TensorDataset(x[:-test], y[:-test]), TensorDataset(x[-test:], y[-test:])


def accuracy_of(model, test):
    x, y = test.tensors
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


distributed.init_process_group("gloo")
torch.manual_seed(0)
train, test = digits()
sampler = DistributedSampler(train)
loader = eddis.loader(DataLoader(train, batch_size=48, sampler=sampler))
model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
                      nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 10))
model = eddis.attach(DistributedDataParallel(model))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
loss_of = nn.CrossEntropyLoss()

for epoch in loader.epochs(EPOCHS):
    sampler.set_epoch(epoch)
    for x, y in loader:
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        eddis.weighted(loss).backward()
        optimizer.step()

accuracy = accuracy_of(model.module, test)
if distributed.get_rank() == 0:
    print(f"test accuracy {accuracy:.3f}")
distributed.destroy_process_group()
