# SPDX-License-Identifier: Apache-2.0
"""attached_refused.py WHAT - does this one thing wrong with eddis.attach, in a script that is right otherwise"""

import sys

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

import eddis.torch as eddis

what = sys.argv[1]
torch.set_num_threads(1)
distributed.init_process_group("gloo")
if what == "attached-late":
    eddis.broadcast_object(1)
loader = eddis.loader(DataLoader(TensorDataset(torch.randn(96, 4)), batch_size=8))
model = DistributedDataParallel(torch.nn.Linear(4, 1))
if what == "part":
    eddis.attach(model, distributed.new_group([0, 1]))
elif what == "unlike":
    eddis.attach(model, weights="told" if eddis.rank() == 1 else "samples")
elif what != "nothing":
    model = eddis.attach(model, reduction="product" if what == "reduction" else "mean")
if what == "again":
    eddis.attach(model)
if what == "state":
    eddis.State(optimizer=torch.optim.SGD(model.parameters(), lr=0.01))
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
        loss = model(x).square().mean()
        if what == "set-weight":
            eddis.set_weight(3)
        if what == "unweighted":
            loss.backward()
        elif what != "no-backward":
            eddis.weighted(loss).backward()
        optimizer.step()
