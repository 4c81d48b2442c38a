# SPDX-License-Identifier: Apache-2.0
"""compiled.py - trains equal models, each compiled in another way, and prints how many graphs the backward pass of each
has, and whether a copy of gradients to the host begins before the last of these graphs computes"""

import copy

import torch
from functorch.compile import make_boxed_func
from torch import nn
from torch._dynamo.backends.common import aot_autograd
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

from eddis.torch import _device

came = []  # what has happened in the present backward pass


class Watched(_device._Thread):
    """Notes when copies of gradients begin."""

    def gather(self, *arguments):
        came.append("copy")
        return super().gather(*arguments)


_device._Thread = Watched

import eddis.torch as eddis  # noqa: E402


def noted(graph, inputs):
    """Compile the graph of a backward pass to one that notes when it computes."""
    def run(*values):
        came.append("graph")
        return graph(*values)
    return make_boxed_func(run)


def backend():
    """Make one for each model: graphs of one backend are used again for another model."""
    return aot_autograd(fw_compiler=lambda graph, inputs: make_boxed_func(graph.forward), bw_compiler=noted)


class Block(nn.Module):
    """A layer of 2 MB."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(512, 512, dtype=torch.float64)

    def forward(self, x):
        return x + torch.tanh(self.linear(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(3))
        self.is_checkpointed = False

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.is_checkpointed else block(x)
        return x


def distributed(model):
    return eddis.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model=model)


def before(model):
    """The script compiles the model before it makes the optimizer, as one graph."""
    model = torch.compile(model, backend=backend(), fullgraph=True)
    return model, distributed(model)


def after(model):
    optimizer = distributed(model)
    return torch.compile(model, backend=backend()), optimizer


def in_place(model):
    model.compile(backend=backend())
    return model, distributed(model)


def undivided(model):
    """The script's setting of PyTorch leaves the graph whole."""
    return torch.compile(model, backend=backend()), distributed(model)


def checkpoints(model):
    """Some versions of PyTorch do not divide a graph with activation checkpoints."""
    model.is_checkpointed = True
    return torch.compile(model, backend=backend()), distributed(model)


def blocks(model):
    """The script compiles each block of the model for itself."""
    for block in model.blocks:
        block.compile(backend=backend())
    return model, distributed(model)


WAYS = before, after, in_place, undivided, checkpoints, blocks
torch.manual_seed(0)
first = Net()
loader = eddis.loader(DataLoader(TensorDataset(torch.randn(24, 512, dtype=torch.float64)), batch_size=8))
plain = copy.deepcopy(first)
alone = distributed(plain)
torch._dynamo.config.cache_size_limit = 64  # of all models together, whose functions are the same
made = [way(copy.deepcopy(first)) for way in WAYS]
for epoch in loader.epochs(1):
    for x, in loader:
        found = []
        for model, optimizer in [(plain, alone), *made]:
            optimizer.zero_grad()
            came.clear()
            torch._dynamo.config.optimize_ddp = model is not made[WAYS.index(undivided)][0]
            model(x).square().mean().backward()
            last = max((number for number, what in enumerate(came) if what == "graph"), default=0)
            found.append(f"graphs {came.count('graph')} overlap {'copy' in came[:last]}")
            optimizer.step()
for way, (model, _), graphs in zip(WAYS, made, found[1:]):
    same = all(torch.allclose(p, q, rtol=0, atol=1e-12) for p, q in zip(plain.parameters(), model.parameters()))
    print(f"rank {eddis.rank()}: {way.__name__} {graphs} same {same}")
