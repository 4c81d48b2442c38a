# SPDX-License-Identifier: Apache-2.0
"""collectives.py - what workers tell each other outside of their steps; fails where something does not come"""

import unittest.mock

import torch
from torch import nn

import eddis.torch as eddis
from eddis._worker import worker

rank, size = eddis.rank(), eddis.size()
torch.manual_seed(rank)

# Metrics by the samples that they are over; that of a worker with none is not read
of_all = eddis.allreduce(torch.tensor([1.0, 4.0]) if rank else torch.full((2,), torch.nan), weight=rank)
assert of_all.dtype == torch.float32 and torch.equal(of_all, torch.tensor([1.0, 4.0])), of_all
assert eddis.allreduce(torch.tensor(float(rank)), weight=rank + 1) == sum(r * (r + 1) for r in range(size)) / sum(
    r + 1 for r in range(size))
assert eddis.allreduce(torch.tensor(rank), eddis.Op.MAX) == size - 1
assert torch.equal(eddis.broadcast(torch.full((2,), rank), 1), torch.ones(2, dtype=torch.int64))

# Models: a network, a state_dict, named parameters; of any types
model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2), nn.Linear(2, 2).bfloat16())
model[1].num_batches_tracked += rank
for told in (model, model.state_dict(), list(model.named_parameters())):
    with torch.no_grad():
        for p in model.parameters():
            p.add_(rank)
    wanted = eddis.broadcast_object({name: p.clone() for name, p in model.named_parameters()}, root_rank=1)
    eddis.broadcast_parameters(told, root_rank=1)
    assert all(torch.equal(p, wanted[name]) for name, p in model.named_parameters())
    for name, value in model.state_dict().items():
        low, high = (eddis.allreduce(value.double(), op) for op in (eddis.Op.MIN, eddis.Op.MAX))
        assert torch.equal(low, high), name
assert model[1].num_batches_tracked == 1

# Optimizers, whose states begin on one worker only; tensors come to the CPU, whatever device the other had
linear = nn.Linear(2, 1)
eddis.broadcast_parameters(linear)
optimizer = torch.optim.Adam(linear.parameters(), lr=0.1 * (rank + 1))
if rank == 1:
    linear(torch.ones(1, 2)).sum().backward()
    optimizer.step()
with unittest.mock.patch("torch.load", side_effect=torch.load) as load:
    eddis.broadcast_optimizer_state(optimizer, root_rank=1)
assert optimizer.param_groups[0]["lr"] == 0.2
assert torch.equal(optimizer.state[linear.weight]["exp_avg"], torch.full((1, 2), 0.1)), optimizer.state
assert rank == 1 or load.call_args.kwargs["map_location"] == "cpu"
thing = eddis.broadcast_object({"x": torch.full((2,), rank), "set": {rank}, "none": None}, 1)
assert torch.equal(thing["x"], torch.ones(2, dtype=torch.int64)) and thing["set"] == {1} and thing["none"] is None

eddis.report(work=7)
eddis.report(loss=0.5)
assert (worker.report.work, worker.report.loss) == (7, 0.5)
print(f"rank {rank} is done")
