# SPDX-License-Identifier: Apache-2.0
"""attached_alone.py KIND STEPS PACE_MS RANK TIMES FROM - a plain script of torch.distributed over gloo of which eddis
knows nothing but `attach` and `save`: rank RANK takes TIMES as long as the others from step FROM on.  KIND: ddp, fsdp,
no-sync, where every other backward pass combines no gradients, or loss, where all ranks wait in the script's own
all_reduce of the loss."""

import contextlib
import sys
import time

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

import eddis.torch as eddis

KIND, STEPS, PACE_S = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]) / 1e3
SLOW, TIMES, FROM = int(sys.argv[4]), float(sys.argv[5]), int(sys.argv[6])

torch.set_num_threads(1)
distributed.init_process_group("gloo")
rank = distributed.get_rank()
torch.manual_seed(rank)
model = nn.Sequential(nn.Linear(20, 20), nn.BatchNorm1d(20), nn.Linear(20, 2))
if KIND == "fsdp":
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    mesh = init_device_mesh("cpu", (distributed.get_world_size(),))
    model = fully_shard(nn.Sequential(*(fully_shard(part, mesh=mesh) for part in model)), mesh=mesh)
else:
    model = DistributedDataParallel(model)
eddis.attach(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

for step in range(STEPS):
    for last in [False, True] if KIND == "no-sync" else [True]:
        with contextlib.nullcontext() if last else model.no_sync():
            outputs = model(torch.randn(16, 20))
            time.sleep(PACE_S * (TIMES if rank == SLOW and step >= FROM else 1) / (2 if KIND == "no-sync" else 1))
            loss = outputs.square().mean()
            if KIND == "loss":
                distributed.all_reduce(loss.detach().clone())
            loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step == 1:
        eddis.save({"step": step, "rank": rank}, "saved.pt")
        assert torch.load("saved.pt") == {"step": 1, "rank": 0}
assert eddis.rank() == rank
