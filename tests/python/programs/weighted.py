# SPDX-License-Identifier: Apache-2.0
"""weighted.py - a worker that says one weight whatever its samples; rank 0 prints the parameter after a step"""

import torch
from torch.utils.data import DataLoader, TensorDataset

import eddis.torch as eddis

COUNTS, WITHOUT = 1.0, 7.0  # gradients of workers with samples and without

loader = eddis.loader(DataLoader(TensorDataset(torch.zeros(4, 1)), batch_size=4))
parameter = torch.nn.Parameter(torch.zeros(1))
optimizer = eddis.DistributedOptimizer(torch.optim.SGD([parameter], lr=1.0))
for epoch in loader.epochs(1):
    for batch in loader:
        has_samples = eddis.rank() == 0
        eddis.set_weight(5)
        (parameter * (COUNTS if has_samples else WITHOUT)).sum().backward()
        optimizer.step()
print(f"parameter {parameter.item():g}")
