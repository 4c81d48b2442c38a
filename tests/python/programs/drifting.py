# SPDX-License-Identifier: Apache-2.0
"""drifting.py HOW - a model that all workers train alike, or that one of them does not.

alike, bfloat16: nothing is wrong.  scaler: rank 0 has another scaler than the others, as with another card.  skips:
rank 2's loss is NaN once, and only it leaves that step out.  last: rank 1 changes its model behind the last step's
update.  loss: rank 1 reports NaN once, and trains on.  masked: nothing is wrong with a model that has parameters with
infinities from the start, as masks have, and one of no numbers.  unmasked: of such a model rank 1 changes what is
finite behind the last step's update.  noise: each adds noise of its own to the model.  alike_noise: all draw it alike.
"""

import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

import eddis.torch as eddis

STEPS = 10
how = sys.argv[1]
torch.manual_seed(0)
x = torch.randn(48 * STEPS, 8)
loader = eddis.loader(DataLoader(TensorDataset(x, x.sum(1)), batch_size=48))
model = torch.nn.Linear(8, 1).to(torch.bfloat16 if how == "bfloat16" else torch.float32)
if how.endswith("masked"):
    model.mask = torch.nn.Parameter(torch.full((4, 4), float("-inf")).triu(1))
    model.unset = torch.nn.Parameter(torch.full((3,), float("nan")))
optimizer = eddis.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=1e-5 if how == "scaler" else 0.01),
                                       model=model)
alike = torch.Generator().manual_seed(1) if how == "alike_noise" else None
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, enabled=how == "scaler" and eddis.rank() > 0)
for epoch in loader.epochs(1):
    for k, (a, b) in enumerate(loader):
        optimizer.zero_grad()
        bad = how == "skips" and k == 3 and eddis.rank() == 2
        loss = (model(a.to(model.weight.dtype))[:, 0] - b).square().mean() * (float("nan") if bad else 1)
        scaler.scale(loss).backward()
        eddis.report(loss=float("nan") if how == "loss" and k == 3 and eddis.rank() == 1 else loss)
        if how != "skips" or loss.isfinite():
            scaler.step(optimizer)
        scaler.update()
        if how.endswith("noise"):
            with torch.no_grad():
                model.weight.add_(torch.randn(model.weight.shape, generator=alike))
        if how in ("last", "unmasked") and k == STEPS - 1 and eddis.rank() == 1:
            with torch.no_grad():
                (model.weight if how == "last" else model.mask).add_(2)
