# SPDX-License-Identifier: Apache-2.0
"""changed.py WHAT - trains, and in the midst of it does what scripts should not, or what eddis has to follow

memory  parameters get other memory in every step; says how far apart the workers' models are at the end, and in
        hybrid mode those of a group before
type    the model becomes one of float64
failed  a backward pass raises, behind a gradient of the model; the script goes on by a step, and by another pass
begun   the same of the first of two passes a step; the script makes it again
shared  two parameters get one gradient"""

import sys

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
    if what == "shared":
        return ((model[0].weight.view(-1) + model[2].weight.view(-1)) ** 2).sum()
    return (model(x.to(model[0].weight.dtype)) ** 2).mean()


samples = torch.arange(96.0).view(-1, 1).sin().repeat(1, 3)
loader = eddis.loader(data.DataLoader(data.TensorDataset(samples), batch_size=8))
model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))
optimizer = eddis.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model=model,
                                       backward_passes_per_step=2 if what == "begun" else 1)
for epoch in loader.epochs(2):
    for number, (x,) in enumerate(loader):
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
flat = nn.utils.parameters_to_vector(model.parameters()).detach()
apart = eddis.allreduce(flat, eddis.Op.MAX) - eddis.allreduce(flat, eddis.Op.MIN)
if eddis.rank() == 0:
    print(f"apart {apart.max().item():g}")
