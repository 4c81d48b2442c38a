# SPDX-License-Identifier: Apache-2.0
"""normed.py FOLDER SAMPLES EPOCHS MIN_COUNT [DEVICE [pieces]] - trains models with synchronised batch normalisation,
each by an optimizer of its own, and some without; leaves what every worker did and has in FOLDER"""

import copy
import os
import pathlib
import sys
import threading

import torch
from torch.utils.data import DataLoader

import eddis.torch as eddis
from eddis._worker import worker
from eddis.torch import _gradients
from norms import KINDS, MODELS, OTHERS, Numbered, made, optimizer_of, passed, pieces_of, step

if os.environ.get("EDDIS_TORCH_STAGING") != "some":
    _gradients.TOGETHER_BYTES = 300  # some gradients leave a device before the end of their pass
folder, samples, epochs = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
DEVICE = sys.argv[5] if len(sys.argv) > 5 else "cpu"
eddis.init(min_count=int(sys.argv[4]), pieces=sys.argv[6:] == ["pieces"])
loader = eddis.loader(DataLoader(Numbered(samples), batch_size=8), epochs)
models = {name: made(name, eddis.rank()) for name in [*MODELS, *OTHERS]}
for name in MODELS:
    models[name] = eddis.SyncBatchNorm.convert_sync_batchnorm(models[name])
for model in models.values():
    model.to(DEVICE)
optimizers = {name: eddis.DistributedOptimizer(optimizer_of(name, model), model=model)
              for name, model in models.items()}


def states():
    return {name: copy.deepcopy(model.state_dict()) for name, model in models.items()}


def looked_at(numbers):
    """One pass of every kind of input, and what does not synchronise."""
    norms = [eddis.SyncBatchNorm(dims[0], affine=affine, dtype=torch.float64 if dtype == torch.float64 else None)
             for dtype, dims, affine in KINDS]
    out = [passed(norm.to(DEVICE), dtype, dims, numbers) for norm, (dtype, dims, _) in zip(norms, KINDS)]
    norm = eddis.SyncBatchNorm(6).to(DEVICE)
    with torch.no_grad():
        norm(values(numbers))
    after = copy.deepcopy(norm.state_dict())
    norm.eval()
    with torch.no_grad():
        alone = norm(values(numbers))
    assert all(torch.equal(a, b) for a, b in zip(after.values(), norm.state_dict().values())), "eval changes statistics"
    assert torch.equal(alone, torch.nn.functional.batch_norm(values(numbers), norm.running_mean, norm.running_var))
    return out, after


def values(numbers):
    return (torch.arange(6.0) + numbers[:, None]).to(DEVICE)


steps, before, looks = [], None, None
for epoch in loader.epochs(epochs):
    for numbers in loader:
        before = before or states()
        looks = looks or looked_at(numbers)
        steps.append((numbers[:worker.step.count], worker.step.lr_factor))
        for name, model in models.items():
            step(name, model, optimizers[name], pieces_of(name, numbers), eddis.no_sync)
        last = states()
staged = any(thread.name == "eddis announcer" for thread in threading.enumerate())
torch.save({"group": worker.world.group, "steps": steps, "looks": looks, "before": before, "last": last,
            "after": states(), "staged": staged}, folder / f"{eddis.rank()}.pt")
