# SPDX-License-Identifier: Apache-2.0
"""loops.py - loops over a loader of a class of its own that end early, look, test, and come after the last epoch

Each rank prints, as JSON, how often it had each sample in steps, the numbers of its epochs, what tests saw, and how
many steps it made."""

import json
import sys

import torch
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import eddis.torch as eddis

N, BATCH, EPOCHS = 60, 6, 4


class Doubling(DataLoader):
    """One that is a batch ahead of its loop, as those that copy to devices are."""

    def __init__(self, dataset, factor):
        self.factor = factor
        super().__init__(dataset, BATCH, sampler=DistributedSampler(dataset, 1, 0))

    def __iter__(self):
        ahead = None
        for x, in super().__iter__():
            if ahead is not None:
                yield ahead
            ahead = self.factor * x
        if ahead is not None:
            yield ahead


loader = eddis.loader(Doubling(TensorDataset(torch.arange(float(N))), 2))
p = torch.nn.Parameter(torch.zeros(1))
optimizer = eddis.DistributedOptimizer(torch.optim.SGD([p], lr=0.0))
told = {"samples": [], "epochs": [], "tests": [], "steps": 0, "size": loader.batch_size, "sampler": len(loader.sampler),
        "workers": loader.num_workers, "factor": loader.factor}


def train(batches):
    for x in batches:
        held.clear()  # an iterator that a loop has gone on from ends in it
        assert loader.is_inside and loader.iterations == epoch + 1
        optimizer.zero_grad()
        (p * x).sum().backward()
        optimizer.step()
        told["samples"] += (x / 2).int().tolist()
        told["steps"] += 1


def tested():
    told["tests"].append(len({n for x in loader for n in x.tolist()}))


held = [iter(loader)]
first = next(held[0])
for epoch in loader.epochs(EPOCHS):
    told["epochs"].append(epoch)
    loader.sampler.set_epoch(epoch)
    looked = next(iter(loader))  # as scripts do to tell the batch's size
    if epoch == 0:
        assert torch.equal(first, looked)
    with torch.no_grad():
        tested()
    if epoch == 1:
        train(x for x, _ in zip(loader, range(2)))  # which takes a third batch and drops it
        for x in loader:
            break  # and again
    else:
        train(loader)
tested()
sys.stdout.write(f"{json.dumps({'rank': eddis.rank(), **told})}\n")
