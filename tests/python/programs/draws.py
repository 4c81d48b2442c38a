# SPDX-License-Identifier: Apache-2.0
"""draws.py [KEY=VALUE ...] - prints what each rank draws: before the loop, in it, and in a process of its loader

generator=1: the script gives the loader a generator of its own  workers=0: the loader's samples are read by the script
"""

import json
import random
import sys

import numpy
import torch
from torch.utils.data import DataLoader, Dataset

import eddis.torch as eddis


def draw():
    return [torch.rand(()).item(), random.random(), numpy.random.rand()]


class Drawn(Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, i):
        return torch.tensor(draw(), dtype=torch.float64)


options = dict(word.split("=", 1) for word in sys.argv[1:])
torch.manual_seed(1)
random.seed(1)
numpy.random.seed(1)
given = torch.Generator().manual_seed(1) if "generator" in options else None
loader = eddis.loader(DataLoader(Drawn(), batch_size=4, num_workers=int(options.get("workers", 1)), generator=given))
p = torch.nn.Parameter(torch.zeros(1))
optimizer = eddis.DistributedOptimizer(torch.optim.SGD([p], lr=1.0))
told = {"before": draw(), "read": [], "loop": []}
for epoch in loader.epochs(2):
    if epoch == 1:
        torch.manual_seed(7)  # a script may seed every epoch
    for x in loader:
        told["loop"].append(draw())
        if epoch == 1:
            torch.manual_seed(100 + len(told["loop"]))  # or every step
        told["read"].append(x.flatten().tolist())
        optimizer.zero_grad()
        (p * x.float()).sum().backward()
        optimizer.step()
sys.stdout.write(f"{json.dumps({'rank': eddis.rank(), **told})}\n")
