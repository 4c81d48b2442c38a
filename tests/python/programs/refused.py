# SPDX-License-Identifier: Apache-2.0
"""refused.py - says what State refuses, and what a forked child is told, a line each; then trains"""

import os

import numpy
import torch
from torch.utils.data import DataLoader, RandomSampler, SequentialSampler, TensorDataset

import eddis.torch as eddis


def refused(call, *arguments, **keywords):
    try:
        call(*arguments, **keywords)
    except (TypeError, ValueError, RuntimeError) as reason:
        print(f"{type(reason).__name__}: {reason}", flush=True)


def train():
    for epoch in loader.epochs(1):
        for batch in loader:
            optimizer.zero_grad()
            (model(batch[0]).sum() + alone.sum()).backward()
            optimizer.step()


dataset = TensorDataset(torch.zeros(4, 2))
for sampler in (RandomSampler(dataset, replacement=True), RandomSampler(dataset, num_samples=2),
                type("Own", (SequentialSampler,), {})(dataset)):
    refused(eddis.loader, DataLoader(dataset, batch_size=4, sampler=sampler))
loader = eddis.loader(DataLoader(dataset, batch_size=4))
model, alone = torch.nn.Linear(2, 1), torch.nn.Parameter(torch.zeros(1))
optimizer = eddis.DistributedOptimizer(torch.optim.SGD([*model.parameters(), alone], lr=1.0))
refused(eddis.State, model=model, optimizer=optimizer, ends=len)
refused(eddis.State, model=model, best=numpy.zeros(2))
refused(eddis.State, model=model, scheduler=3)
refused(eddis.State, resumed=True)
state = eddis.State(model=model)
refused(eddis.State, model=model)
refused(train)
state._keep("optimizer", optimizer)
refused(train)
state._keep("alone", torch.nn.ParameterList([alone]))
child = os.fork()
if not child:
    refused(eddis.set_metric, "test_loss", 1.0)
    os._exit(0)
os.waitpid(child, 0)
refused(eddis.allreduce, torch.ones(2), weight=0)
refused(list, loader.epochs(1))
train()
refused(eddis.State, model=model)
print("done")
