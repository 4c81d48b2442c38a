# SPDX-License-Identifier: Apache-2.0
"""refused_torch.py - prints the sentence of each thing that eddis.torch refuses; a batch without backward comes last"""

import torch
from torch.utils import data

import eddis.torch as eddis


class Lines(data.IterableDataset):
    def __iter__(self):
        yield torch.zeros(1)


class Batches(data.BatchSampler):
    pass


def refused(what, call):
    try:
        call()
    except (RuntimeError, TypeError, ValueError) as error:
        print(f"{what}: {type(error).__name__}: {error}", flush=True)


samples = data.TensorDataset(torch.ones(8, 1))
weighted = data.WeightedRandomSampler([1.0] * 8, 8)
refused("iterable", lambda: eddis.loader(data.DataLoader(Lines())))
refused("no batch", lambda: eddis.loader(data.DataLoader(samples, batch_size=None)))
refused("sampler", lambda: eddis.loader(data.DataLoader(samples, sampler=weighted)))
refused("sampler of batches", lambda: eddis.loader(data.DataLoader(
    samples, batch_sampler=data.BatchSampler(weighted, 4, False))))
refused("batches", lambda: eddis.loader(data.DataLoader(samples, batch_sampler=Batches(weighted, 2, False))))
refused("empty", lambda: eddis.loader(data.DataLoader(data.TensorDataset(torch.ones(0, 1)))))
refused("far ahead", lambda: eddis.loader(data.DataLoader(samples, num_workers=40, prefetch_factor=2)))
eddis.broadcast_object(0)
refused("late option", lambda: eddis.init(min_count=2))
refused("drop last", lambda: eddis.loader(data.DataLoader(samples, batch_size=4, drop_last=True)))
loader = eddis.loader(data.DataLoader(samples, batch_size=4))
refused("second loader", lambda: eddis.loader(data.DataLoader(samples)))

p, q = torch.nn.Parameter(torch.zeros(1)), torch.nn.Parameter(torch.zeros(1))
frozen = torch.nn.Parameter(torch.zeros(1), requires_grad=False)
refused("frozen", lambda: eddis.DistributedOptimizer(torch.optim.SGD([frozen], lr=1.0)))
refused("passes", lambda: eddis.DistributedOptimizer(torch.optim.SGD([p], lr=1.0), backward_passes_per_step=0))
optimizer = eddis.DistributedOptimizer(torch.optim.SGD([p], lr=1.0))
refused("mean of whole", lambda: eddis.allreduce(torch.tensor(3), weight=2))
refused("taken", lambda: eddis.DistributedOptimizer(torch.optim.SGD([p, q], lr=1.0)))
refused("weight outside", lambda: eddis.set_weight(1))
refused("before the loop", optimizer.step)
refused("unlike", lambda: list(eddis.pieces((torch.zeros(2), torch.zeros(3)))))
for epoch in loader.epochs(1):
    for number, (batch,) in enumerate(loader):
        refused("late", lambda: eddis.DistributedOptimizer(torch.optim.SGD([q], lr=1.0)))
        if number == 1:
            continue
        optimizer.zero_grad()
        (p * batch).sum().backward()
        optimizer.step()
        optimizer.add_param_group({"params": [q]})
        refused("added", optimizer.step)
        del optimizer.param_groups[1]
        optimizer.param_groups[0]["params"] = [q]
        refused("replaced", optimizer.step)
        optimizer.param_groups[0]["params"] = [p]
