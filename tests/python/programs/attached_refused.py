# SPDX-License-Identifier: Apache-2.0
"""attached_refused.py WHAT - does this one thing wrong with eddis.attach, in a script that is right otherwise"""

import sys

import torch
from torch import distributed
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

import eddis.torch as eddis


class Found:
    """What only its model knows."""

    def __init__(self, scores):
        self.scores = scores


class Inside(torch.nn.Linear):
    """Weighs its loss itself, which is refused only where torch hides that."""

    options = {"inside": {"find_unused_parameters": True}, "inside-static": {"static_graph": True}}

    def forward(self, x):
        return eddis.weighted(super().forward(x).square().mean())


class Finder(torch.nn.Linear):
    def forward(self, x):
        return Found(super().forward(x))


what = sys.argv[1]
torch.set_num_threads(1)
distributed.init_process_group("gloo")
if what == "attached-late":
    eddis.broadcast_object(1)
loader = eddis.loader(DataLoader(TensorDataset(torch.randn(96, 4)), batch_size=8))
model = {"outputs-object": Finder, **dict.fromkeys(Inside.options, Inside)}.get(what, torch.nn.Linear)(4, 1)
if what == "cpu-norm":
    model = torch.nn.Sequential(model, torch.nn.SyncBatchNorm(1))
if what not in ("methods", "two-passes", "cpu-norm"):  # those are of a plain model
    model = DistributedDataParallel(model, **Inside.options.get(what, {}))
if what == "part":
    eddis.attach(model, distributed.new_group([0, 1]))
elif what == "unlike":
    eddis.attach(model, weights="told" if eddis.rank() == 1 else "samples")
elif what == "expected":
    eddis.init(attach=True)
elif what != "nothing":
    model = eddis.attach(model, reduction="product" if what == "reduction" else "mean",
                         weigh="outputs" if what.startswith("outputs") else "loss")
if what == "again":
    eddis.attach(model)
if what == "outputs-chain":
    other = eddis.attach(DistributedDataParallel(torch.nn.Linear(1, 1)), weigh="outputs")
if what == "outputs-within":
    eddis.attach(torch.nn.Sequential(model.module), weigh="outputs")
if what == "state":
    eddis.State(optimizer=torch.optim.SGD(model.parameters(), lr=0.01))
if what == "redundant":
    eddis.State(model=model, optimizer=ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.01))
if what in ("sharded-state", "sharded-optimizer"):
    from torch.distributed.fsdp import fully_shard
    sharded = fully_shard(torch.nn.Linear(4, 1))
    if what == "sharded-state":
        eddis.State(model=sharded)
    else:
        eddis.State(optimizer=torch.optim.SGD(sharded.parameters(), lr=0.01))
if what == "due":
    eddis.State(model=model).due()
if what == "wait-for":
    eddis.State(model=model).wait_for(None)
if what == "twice":
    eddis.attach(DistributedDataParallel(torch.nn.Linear(4, 1)), weights="told")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
if what == "optimizer":
    eddis.DistributedOptimizer(optimizer)
if what == "outside":
    eddis.weighted(model(torch.randn(2, 4)).mean())
for _ in loader.epochs(1):
    for x, in loader:
        optimizer.zero_grad()
        found = model.forward(x) if what == "methods" else model(x)
        if what == "outputs-chain":
            found = other(found)
        loss = found.square().mean()
        if what == "set-weight":
            eddis.set_weight(3)
        if what == "two-passes":
            eddis.weighted(loss).backward(retain_graph=True)
        if what.startswith("n-"):
            loss = eddis.weighted(loss, n=-1 if what == "n-negative" else 3, sum=what == "n-and-sum")
        if what == "result-left":
            eddis.weighted(loss)
        if what in ("unweighted", "result-left", *Inside.options):
            (found if what in Inside.options else loss).backward()
        elif what != "no-backward":
            eddis.weighted(loss).backward()
        optimizer.step()
