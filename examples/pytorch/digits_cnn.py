#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""digits_cnn.py - plain.py on the unequal devices of train.yaml, in any mode; without eddis-run it trains alone"""

import pathlib

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import eddis.torch as eddis

EPOCHS = 10


def digits(test=360):
    """The rows of digits.csv: 64 values from 0 to 16, and the digit; the last ones are for the test."""
    text = (pathlib.Path(__file__).resolve().parent / "../digits/digits.csv").read_text()
    rows = torch.tensor([[float(value) for value in line.split(",")] for line in text.split()])
    x, y = rows[:, :-1].reshape(-1, 1, 8, 8) / 16, rows[:, -1].long()
    return TensorDataset(x[:-test], y[:-test]), TensorDataset(x[-test:], y[-test:])


def accuracy_of(model, test):
    x, y = test.tensors
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


torch.manual_seed(0)
train, test = digits()
loader = eddis.loader(DataLoader(train, batch_size=48, shuffle=True))
model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
                      nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
optimizer = eddis.DistributedOptimizer(optimizer, model=model)
loss_of = nn.CrossEntropyLoss()

for epoch in loader.epochs(EPOCHS):
    for x, y in loader:
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        eddis.report(loss=loss)

accuracy = accuracy_of(model, test)
eddis.set_metric("test_accuracy", accuracy)
if eddis.rank() == 0:
    print(f"test accuracy {accuracy:.3f}")
