# SPDX-License-Identifier: Apache-2.0
"""attached_bare.py OUT [HOW] - a script of one process that attaches its model, and keeps it in State

OUT.<rank> is what the model is at the end.  HOW is "fails": rank 1 fails at step 6 of the first start; or "around":
PyTorch has no `replicate`."""

import copy
import os
import pickle
import sys

import torch
from torch import distributed, nn
from torch.utils.data import DataLoader, TensorDataset

import eddis.torch as eddis
from eddis.torch import _replicated


class Coder(nn.Module):
    """Has a method of its own, and a buffer with which every rank begins differently."""

    def __init__(self):
        super().__init__()
        self.into, self.back = nn.Linear(6, 3), nn.Linear(3, 6)
        self.register_buffer("centre", torch.randn(6))

    def decode(self, z):
        return self.back(z) + self.centre

    def forward(self, x):
        return self.decode(torch.tanh(self.into(x)))


def own_hook(*_):
    """Is the script's own, and stays in copies."""


def check_copies(model):
    """A copy of the attached model, and one from a file of it, are plain models."""
    for plain in copy.deepcopy(model), pickle.loads(pickle.dumps(model)):
        assert type(plain) is Coder and vars(plain).keys() == vars(Coder()).keys()
        assert [*plain._forward_hooks.values()] == [own_hook] and not plain._forward_pre_hooks
        assert all(torch.equal(value, model.state_dict()[name]) for name, value in plain.state_dict().items())
        plain(torch.zeros(1, 6, dtype=torch.float64)).sum().backward()
        assert all(p.grad is not None for p in plain.parameters())


torch.set_num_threads(1)
torch.manual_seed(int(os.environ.get("RANK", 0)))
data = torch.randn(96, 6, generator=torch.Generator().manual_seed(1))
loader = eddis.loader(DataLoader(TensorDataset(data), batch_size=12, shuffle=True))
model = Coder().double()
model.register_forward_hook(own_hook)
how = sys.argv[2] if sys.argv[2:] else ""
if how == "around":
    _replicated._replicate = None
    model = eddis.attach(model)
    assert isinstance(model, nn.parallel.DistributedDataParallel)
    plain = model.module
else:
    names, plain = list(model.state_dict()), model
    assert eddis.attach(model) is model and isinstance(model, Coder) and list(model.state_dict()) == names
if eddis.rank() == 0 and how != "around":  # of one rank alone: no message of others is awaited
    with torch.no_grad():
        model(data.double())
if how != "around":
    check_copies(model)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
state = eddis.State(model=plain, optimizer=optimizer)
steps = 0
for epoch in loader.epochs(2):
    for x, in loader:
        optimizer.zero_grad()
        eddis.weighted((model(x.double()) - x).square().mean()).backward()
        optimizer.step()
        steps += 1
        if how == "fails" and not state.resumed and steps == 6 and eddis.rank() == 1:
            raise ValueError("this rank fails once")
with torch.no_grad():  # evaluated by the function that trains
    loss = (model(data.double()) - data).square().mean()
    assert eddis.weighted(loss) is loss
if how != "around":
    check_copies(plain)
plain.decode(torch.zeros(1, 3, dtype=torch.float64))
torch.save({"model": plain.state_dict(), "resumed": state.resumed, "backend": distributed.get_backend()},
           f"{sys.argv[1]}.{eddis.rank()}")
