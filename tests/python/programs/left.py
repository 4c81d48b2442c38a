# SPDX-License-Identifier: Apache-2.0
"""left.py - two workers of four samples each leave every epoch by break, before the backward pass of its third step,
and go on; every rank prints its model."""

import torch
import torch.nn.functional as F
from torch.utils import data

import eddis.torch as eddis

SAMPLES, BATCH = 40, 4


def main():
    dataset = data.TensorDataset(torch.arange(SAMPLES * 3.0).reshape(SAMPLES, 3) / 100)
    torch.manual_seed(1)
    model = torch.nn.Linear(3, 1)
    loader = eddis.loader(data.DataLoader(dataset, batch_size=BATCH, shuffle=True))
    optimizer = eddis.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model.named_parameters())
    for epoch in loader.epochs(4):
        for i, (x,) in enumerate(loader):
            if i == 2:
                break
            optimizer.zero_grad()
            F.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
            optimizer.step()
        print(f"epoch {epoch} has been")
    print("model", [value.tolist() for value in model.parameters()])


main()
