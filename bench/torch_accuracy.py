# SPDX-License-Identifier: Apache-2.0
"""torch_accuracy.py DIGITS SEED EPOCHS OUT - one worker of bench/torch --accuracy: train the network of bench/accuracy
on the digits with the same optimizer; rank 0 writes the final test accuracy to OUT"""

import pathlib
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import eddis.torch as eddis

N_TEST = 360


def main():
    digits, seed, epochs, out = sys.argv[1:]
    rows = torch.tensor([[float(value) for value in line.split(",")] for line in pathlib.Path(digits).open()])
    x, y = rows[:, :-1] / 16, rows[:, -1].long()
    loader = eddis.loader(DataLoader(TensorDataset(x[:-N_TEST], y[:-N_TEST]), batch_size=256), epochs=int(epochs))
    torch.manual_seed(int(seed))
    model = nn.Sequential(nn.Linear(x.shape[1], 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    optimizer = eddis.DistributedOptimizer(optimizer, model=model)
    for _ in loader.epochs(int(epochs)):
        for samples, labels in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(samples), labels).backward()
            optimizer.step()
    with torch.no_grad():
        hits = (model(x[-N_TEST:]).argmax(1) == y[-N_TEST:]).sum().item()
    if eddis.rank() == 0:
        pathlib.Path(out).write_text(str(hits / N_TEST))


main()
