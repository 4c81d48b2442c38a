# SPDX-License-Identifier: Apache-2.0
"""batches.py [KEY=VALUE ...] - prints the sizes of this worker's batches, epoch by epoch

samples=  batch=  epochs=  loaders=A,B: processes of each rank  sampler=1: the script makes the
batch sampler, which drops the last batch  early=1: a collective comes before the loader"""

import sys

import torch
from torch.utils import data

import eddis.torch as eddis

options = dict(word.split("=", 1) for word in sys.argv[1:])
samples, batch = int(options["samples"]), int(options["batch"])
if "early" in options:
    eddis.broadcast_object(0)
dataset = data.TensorDataset(torch.ones(samples, 1))
if "sampler" in options:
    chooser = data.BatchSampler(data.RandomSampler(dataset), batch, True)
    loader = eddis.loader(data.DataLoader(dataset, batch_sampler=chooser))
else:
    n_loaders = [int(n) for n in options.get("loaders", "0,0").split(",")][eddis.rank()]
    loader = eddis.loader(data.DataLoader(dataset, batch_size=batch, shuffle=True, num_workers=n_loaders))
parameter = torch.nn.Parameter(torch.zeros(1))
optimizer = eddis.DistributedOptimizer(torch.optim.SGD([parameter], lr=1.0))
sizes = []
for epoch in loader.epochs(int(options.get("epochs", 1))):
    for x, in loader:
        sizes.append(len(x))
        optimizer.zero_grad()
        (parameter * x).mean().backward()
        optimizer.step()
print(f"rank {eddis.rank()}: {sizes}, {len(loader)} an epoch")
