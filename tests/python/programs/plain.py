# SPDX-License-Identifier: Apache-2.0
"""plain.py HOW - trains a model for two seconds: alone; ddp: as torch.distributed combines; file: met in a file"""

import os
import sys
import time

import torch

how = sys.argv[1]
if how == "ddp":
    torch.distributed.init_process_group("gloo")
if how == "file":
    torch.distributed.init_process_group("gloo", init_method=f"file://{os.getcwd()}/met", rank=int(os.environ["RANK"]),
                                         world_size=int(os.environ["WORLD_SIZE"]))
model = torch.nn.Linear(8, 1)
trained = torch.nn.parallel.DistributedDataParallel(model) if how != "alone" else model
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
end = time.monotonic() + 2
for _ in range(40):
    optimizer.zero_grad()
    trained(torch.randn(16, 8)).square().mean().backward()
    optimizer.step()
    time.sleep(max(0, min(0.05, end - time.monotonic())))
if how != "alone":
    torch.distributed.destroy_process_group()
