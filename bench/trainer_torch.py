# SPDX-License-Identifier: Apache-2.0
"""trainer_torch.py - the models of eddis-train in PyTorch, with the same data, batch and optimizer

Reads requests, one JSON object a line.  Answers each with one object: {"error": ...}, or {"samples_per_s": ...}, the
median over epochs.  One process serves all rounds, so that its start is not measured.
"""

import json
import statistics
import sys
import time

import numpy
import torch
from torch import nn


def build(name, classes=10):
    """Return the model of this name."""
    if name == "softmax":
        return nn.Linear(64, classes)
    if name == "mlp":
        return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, classes))
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, classes))


def epoch(step, x, y, batch):
    """Train one epoch in random order; return its samples per second."""
    order = torch.randperm(len(x))
    start = time.perf_counter()
    for first in range(0, len(x), batch):
        part = order[first:first + batch]
        step(x[part], y[part])
    return len(x) / (time.perf_counter() - start)


def measure(x, y, request):
    """Train the request's model on x and y; return the answer."""
    torch.set_num_threads(request["threads"])
    torch.manual_seed(0)
    model, options = build(request["model"]), {}
    if request["model"] == "cnn":
        x = x.reshape(-1, 1, 8, 8)
        if request["channels_last"]:
            x = x.to(memory_format=torch.channels_last)
            model = model.to(memory_format=torch.channels_last)
    if request["fused"]:
        options["fused"] = True
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, **options)
    loss_of = nn.CrossEntropyLoss()

    def loss_forward(a, b):
        return loss_of(model(a), b)

    forward = torch.compile(loss_forward) if request["compile"] else loss_forward
    total = torch.zeros(())

    def step(a, b):
        optimizer.zero_grad(set_to_none=True)
        loss = forward(a, b)
        loss.backward()
        total.add_(loss.detach())
        optimizer.step()

    rates = [epoch(step, x, y, request["batch"]) for _ in range(request["epochs"])]
    with torch.no_grad():
        hits = (model(x).argmax(1) == y).float().mean().item()
    return {"samples_per_s": statistics.median(rates[len(rates) // 3:]), "train_accuracy": hits}


def main():
    rows = numpy.loadtxt(sys.argv[1], delimiter=",", dtype=numpy.float32)[:-360]
    x, y = torch.from_numpy(rows[:, :-1] / 16), torch.from_numpy(rows[:, -1].astype(numpy.int64))
    print(json.dumps({"torch": torch.__version__}), flush=True)
    for line in sys.stdin:
        try:
            answer = measure(x, y, json.loads(line))
        except Exception as e:  # of many kinds, where torch.compile lacks a compiler
            answer = {"error": f"{type(e).__name__}: {e}".strip().splitlines()[0]}
        print(json.dumps(answer), flush=True)


main()
