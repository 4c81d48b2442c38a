# SPDX-License-Identifier: Apache-2.0
"""ddp.py FOLDER STEPS [PACE] - a plain script of distributed data parallelism over gloo that knows nothing of
eddis: any launcher that sets torchrun's variables runs it, and it goes on from its own file in FOLDER."""

import os
import sys
import time

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

FOLDER, STEPS, PACE_S = sys.argv[1], int(sys.argv[2]), float((sys.argv + ["0.05"])[3])
SAVED = os.path.join(FOLDER, "model.pt")

torch.set_num_threads(1)
distributed.init_process_group("gloo")
rank = distributed.get_rank()
torch.manual_seed(rank)
model = DistributedDataParallel(nn.Linear(100, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
begin = 0
if os.path.exists(SAVED):
    state = torch.load(SAVED)
    model.module.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    begin = state["step"]
print(f"rank {rank} of {distributed.get_world_size()} begins at step {begin}", flush=True)

for step in range(begin + 1, STEPS + 1):
    time.sleep(PACE_S)
    optimizer.zero_grad()
    model(torch.randn(16, 100)).square().mean().backward()
    optimizer.step()
    if rank == 0 and step % 10 == 0:
        torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "step": step},
                   SAVED + ".part")
        os.replace(SAVED + ".part", SAVED)

print(f"rank {rank} ends after step {STEPS}", flush=True)
distributed.destroy_process_group()
