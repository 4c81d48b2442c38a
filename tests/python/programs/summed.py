# SPDX-License-Identifier: Apache-2.0
"""summed.py KIND - trains in pieces and prints each step's gradient, a "mean" or a "sum" over as many samples, and how
far the step has gone in a sample's gradients"""

import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

import eddis.torch as eddis
from eddis._worker import worker

N, BATCH, PIECE = 20, 8, 3

loader = eddis.loader(DataLoader(TensorDataset(torch.ones(N, 1)), batch_size=BATCH))
model = torch.nn.Linear(1, 1, bias=False)
torch.nn.init.zeros_(model.weight)
optimizer = eddis.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=1.0), model=model, loss=sys.argv[1])
for epoch in loader.epochs(1):
    for batch, in loader:
        worker.step.piece = PIECE  # as eddis-run says it after a worker has run out of memory
        optimizer.zero_grad()
        for part, share in eddis.pieces(batch):
            of_part = model(part)
            ((of_part.sum() if sys.argv[1] == "sum" else of_part.mean()) * share).backward()
        before, gradient = model.weight.item(), model.weight.grad.item()
        optimizer.step()
        sys.stdout.write(f"{len(batch)} samples: {gradient:.3f} by {before - model.weight.item():.3f}\n")
