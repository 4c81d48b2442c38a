# SPDX-License-Identifier: Apache-2.0
"""torch_held.py REQUEST - one worker of bench/torch --held: trains a network whose layers sleep, for times
that eddis does not know

A third of a step's sleep is in the forward pass, two thirds are in the backward pass.  The request is JSON:

    way       ddp: DistributedDataParallel; fsdp: fully_shard of every layer
    held_ms   [milliseconds of sleep for a sample, one for each rank]
    batch     the global batch
    steps     number of steps
    out       the file that rank 0 writes: {"torch": version, "ends_s": [time at the end of each step], "batches":
              [samples of each rank, for each step], "told": [for each rank and step: the compute time that it reported
              to eddis, in parts of the time in which its layers slept; null without samples]}
"""

import gc
import json
import sys
import time

import torch
from torch import distributed, nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

import eddis.torch as eddis
from eddis._worker import Mark, worker

LAYERS, WIDTH, CLASSES = 4, 128, 10


class Hold:
    """Sleeps, and measures for how long."""

    def __init__(self, ms):
        self.sample_s, self.slept_s = ms / 1e3, 0.0

    def sleep(self, samples, part):
        """Sleep for this part of the time of so many samples."""
        begun = time.perf_counter()
        time.sleep(part * samples * self.sample_s)
        self.slept_s += time.perf_counter() - begun


class SlowBackward(torch.autograd.Function):
    """Its input; the backward pass sleeps."""

    @staticmethod
    def forward(ctx, x, hold):
        ctx.hold = hold
        return x.view_as(x)

    @staticmethod
    def backward(ctx, dy):
        ctx.hold.sleep(len(dy), 2 / 3 / LAYERS)
        return dy, None


class Held(nn.Module):
    """A linear layer that is held back."""

    def __init__(self, columns, hold):
        super().__init__()
        self.layer, self.hold = nn.Linear(WIDTH, columns), hold

    def forward(self, x):
        self.hold.sleep(len(x), 1 / 3 / LAYERS)
        return SlowBackward.apply(self.layer(x), self.hold)


class Reports:
    """What this rank has reported of each step, in parts of the time that it slept, and its number of samples."""

    def __init__(self, hold):
        self.hold, self.told, self.counts = hold, [], []
        worker.marks[Mark.ENDS].append(self.look)  # behind the clock of attach, which fills in the report

    def look(self):
        """Take the report of a step that ends.  A callback of Worker.marks."""
        self.told.append(worker.report.compute_ns / 1e9 / self.hold.slept_s if worker.step.count else None)
        self.counts.append(worker.step.count)
        self.hold.slept_s = 0.0


def network(way, hold):
    """Return the model, attached."""
    torch.manual_seed(1)
    layers = [Held(WIDTH if i < LAYERS - 1 else CLASSES, hold) for i in range(LAYERS)]
    model = nn.Sequential(*[part for layer in layers for part in (layer, nn.Tanh())][:-1])
    if way == "ddp":
        return eddis.attach(nn.parallel.DistributedDataParallel(model))
    from torch.distributed.fsdp import fully_shard

    for layer in layers:
        fully_shard(layer)
    return eddis.attach(fully_shard(model))


def train(request):
    """Train; return what is to be written, on rank 0."""
    eddis.init(own_pace=True)  # the devices that the plan is for are not emulated
    samples = request["steps"] * request["batch"]
    labels = torch.zeros(1, dtype=torch.int64).expand(samples)
    data = TensorDataset(torch.randn(1, WIDTH).expand(samples, WIDTH), labels)
    loader = eddis.loader(DataLoader(data, batch_size=request["batch"], shuffle=True), epochs=1)
    hold = Hold(request["held_ms"][distributed.get_rank()])
    model = network(request["way"], hold)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    reports, ends = Reports(hold), []
    for x, y in loader:
        optimizer.zero_grad()
        eddis.weighted(functional.cross_entropy(model(x), y)).backward()
        optimizer.step()
        ends.append(time.perf_counter())
    rows = [None] * distributed.get_world_size()
    distributed.all_gather_object(rows, (reports.counts, reports.told))
    counts, told = zip(*rows)
    return {"torch": torch.__version__, "ends_s": ends, "batches": list(zip(*counts)), "told": told}


def main():
    request = json.loads(sys.argv[1])
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    found = train(request)
    if distributed.get_rank() == 0:
        with open(request["out"], "w") as f:
            json.dump(found, f)
    gc.collect()  # frees modules of DDP, which keep the group alive
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
