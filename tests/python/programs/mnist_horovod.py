# SPDX-License-Identifier: Apache-2.0
"""mnist_horovod.py - the digits, in the shape of Horovod's own example pytorch_mnist.py: it knows nothing of eddis"""

import pathlib

import horovod.torch as hvd
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

DATA = pathlib.Path(__file__).resolve().parents[3] / "examples/digits/digits.csv"
EPOCHS, BATCH, LR = 8, 32, 0.02


def metric_average(value, name):
    return hvd.allreduce(torch.tensor(value), name=name).item()


def main():
    hvd.init()
    torch.manual_seed(42)
    torch.set_num_threads(1)
    rows = torch.tensor([[float(v) for v in line.split(",")] for line in DATA.read_text().split()])
    data = TensorDataset(rows[:, :-1] / 16, rows[:, -1].long())
    train = torch.utils.data.Subset(data, range(len(data) - 360))
    test = torch.utils.data.Subset(data, range(len(data) - 360, len(data)))
    sampler = DistributedSampler(train, num_replicas=hvd.size(), rank=hvd.rank())
    loader = DataLoader(train, batch_size=BATCH, sampler=sampler)
    test_sampler = DistributedSampler(test, num_replicas=hvd.size(), rank=hvd.rank())
    test_loader = DataLoader(test, batch_size=BATCH, sampler=test_sampler)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=LR * hvd.size(), momentum=0.9)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters(), op=hvd.Average)
    for epoch in range(EPOCHS):
        model.train()
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        right = sum((model(x).argmax(1) == y).sum().item() for x, y in test_loader)
    accuracy = metric_average(right / len(test_sampler), "avg_accuracy")
    if hvd.rank() == 0:
        print(f"{hvd.size()} workers, test accuracy {accuracy:.3f}")


main()
