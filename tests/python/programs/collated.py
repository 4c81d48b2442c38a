# SPDX-License-Identifier: Apache-2.0
"""collated.py [sum] - trains on batches of which a collate function leaves samples out, perhaps all of a worker's

Each rank prints the largest difference of a step's gradient to that of the mean loss over what was left, and how many
samples it was left with in each step.  sum: of the loss that is a sum, by two backward passes."""

import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

import eddis.torch as eddis

N, BATCH = 240, 24
IS_SUM = "sum" in sys.argv[1:]


def collate(rows):
    left = [(x, y) for x, y in rows if y % 6 == 0]
    return (torch.stack([x for x, _ in left]) if left else torch.zeros(0, 3, dtype=torch.float64),
            torch.tensor([int(y) for _, y in left], dtype=torch.float64))


made = torch.Generator().manual_seed(1)
x, y = torch.randn(N, 3, generator=made, dtype=torch.float64), torch.randint(N, (N,), generator=made)
loader = eddis.loader(DataLoader(TensorDataset(x, y), batch_size=BATCH, collate_fn=collate))
model = torch.nn.Linear(3, 1).double()
optimizer = eddis.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.0), model=model,
                                       loss="sum" if IS_SUM else "mean")


def gradient(loss):
    return torch.autograd.grad(loss, [*model.parameters()])


def squares(x, y):
    return (model(x)[:, 0] - y / N).square()


worst, sizes = 0.0, []
for epoch in loader.epochs(1):
    for x, y in loader:
        own = [g.flatten() for g in gradient(squares(x, y).sum())]
        total = eddis.allreduce(torch.cat([*own, torch.tensor([len(x)], dtype=torch.float64)]), eddis.Op.SUM)
        optimizer.zero_grad()
        if IS_SUM:
            with eddis.no_sync():
                squares(x[:1], y[:1]).sum().backward()
            squares(x[1:], y[1:]).sum().backward()
        else:
            squares(x, y).mean().backward()
        right = total[:-1] if IS_SUM else total[:-1] / total[-1]
        found = torch.cat([p.grad.flatten() for p in model.parameters()])
        worst = max(worst, (found - right).abs().max().item())
        eddis.report(loss=squares(x, y).mean())  # of no samples it is no number
        sizes.append(len(x))
        optimizer.step()
print(f"rank {eddis.rank()}: off {worst:.1e} sizes {sizes}")
