# SPDX-License-Identifier: Apache-2.0
"""changed.py WHAT - trains, and in the midst of it does what scripts should not, or what eddis has to follow

memory  parameters get other memory in every step; says how far apart the workers' models are at the end, and in
        hybrid mode those of a group before
type    the model becomes one of float64
failed  a backward pass raises, behind a gradient of the model; the script goes on by a step, and by another pass
begun   the same of the first of two passes a step; the script makes it again
view    a parameter's gradient is memory that autograd has not done with; says how often that changed under it"""

import sys
import time

import torch
from torch import nn
from torch.utils import data

import eddis.torch as eddis

what = sys.argv[1]


class Raises(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        raise ArithmeticError


class Reads(torch.autograd.Function):
    """Long after a parameter behind it got its gradient."""
    kept, changed = [], 0

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        time.sleep(0.3)
        Reads.changed += not torch.equal(gradient, Reads.kept.pop())
        return gradient


class Position(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.last = nn.ParameterList([torch.zeros(700, 3)])

    def forward(self, x):
        h = Reads.apply(self.first(x).unsqueeze(1).expand(-1, 700, -1)) + self.last[0].unsqueeze(0)
        h.register_hook(lambda gradient: Reads.kept.append(gradient.clone()))
        return h * x.sum()


def refused(call):
    try:
        call()
    except (RuntimeError, ArithmeticError) as error:
        print(f"{type(error).__name__}: {error}", flush=True)


def move():
    flat = nn.utils.parameters_to_vector(model.parameters()).detach()
    nn.utils.vector_to_parameters(flat.clone(), model.parameters())
    model[0].bias.data = model[0].bias.data.clone()


def compare_groups():
    """Workers 0 and 1, and 2 and 3, train one model each."""
    rows = torch.zeros(eddis.size(), 24)
    rows[eddis.rank()] = nn.utils.parameters_to_vector(model.parameters()).detach()
    rows = eddis.allreduce(rows, eddis.Op.SUM)
    if eddis.rank() == 0:
        print(f"apart in groups {(rows[0::2] - rows[1::2]).abs().max().item():g}", flush=True)


def fails(x):
    return (model[2](model[1](Raises.apply(model[0](x)))) ** 2).mean().backward()


def loss_of(x):
    return (model(x.to(next(model.parameters()).dtype)) ** 2).mean()


samples = torch.arange(96.0).view(-1, 1).sin().repeat(1, 3)
loader = eddis.loader(data.DataLoader(data.TensorDataset(samples), batch_size=8))
model = Position() if what == "view" else nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))
optimizer = eddis.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model=model,
                                       backward_passes_per_step=2 if what == "begun" else 1)
for epoch in loader.epochs(2):
    for number, (x,) in enumerate(loader):
        if what == "view" and number == 6:
            eddis.stop()
        optimizer.zero_grad()
        if what == "type" and number == 2:
            model.double()
        if what == "begun":
            refused(lambda: fails(x))
            loss_of(x).backward()
        if what == "failed":
            refused(lambda: fails(x))
            refused(optimizer.step)
        loss_of(x).backward()
        optimizer.step()
        if what == "memory":
            move()
            if eddis.mode() == "hybrid" and (epoch, number) == (0, 3):
                compare_groups()
if what == "view":
    print(f"changed {Reads.changed}", flush=True)
flat = nn.utils.parameters_to_vector(model.parameters()).detach()
apart = eddis.allreduce(flat, eddis.Op.MAX) - eddis.allreduce(flat, eddis.Op.MIN)
if eddis.rank() == 0:
    print(f"apart {apart.max().item():g}")
