# SPDX-License-Identifier: Apache-2.0
"""accelerated.py FOLDER [KEY=VALUE ...] - trains by accelerate, with the plan's batches

epochs=  pieces=  ours=1: by eddis.accelerate
pace=A,B,C: milliseconds of each rank for a sample, which the plan does not have
state=1: with a State, and a dropout    at=RANK:STEP, do=, where=: see framed_ends.py
"""

import pathlib
import sys
import time

import torch
from accelerate import Accelerator, DistributedDataParallelKwargs
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import eddis.torch as eddis  # noqa: E402
import framed_ends  # noqa: E402
import training  # noqa: E402

folder = pathlib.Path(sys.argv[1])
options = dict(word.split("=", 1) for word in sys.argv[2:])
pace_s = [int(ms) / 1000 for ms in options.get("pace", "0,0,0").split(",")]
epochs, pieces = int(options.get("epochs", 2)), int(options.get("pieces", 1))

torch.set_num_threads(1)
x, y = training.data()
ours = "ours" in options
if ours:
    buckets = DistributedDataParallelKwargs(find_unused_parameters="state" in options)
    accelerator = eddis.accelerate.Accelerator(cpu=True, gradient_accumulation_steps=pieces, kwargs_handlers=[buckets])
else:
    accelerator = Accelerator(cpu=True, step_scheduler_with_optimizer=False, gradient_accumulation_steps=pieces)
loader = eddis.loader(DataLoader(TensorDataset(x, y, torch.arange(training.N)), batch_size=24, shuffle=True),
                      pieces=pieces)
if not ours:
    eddis.init(attach=True)
torch.manual_seed(3)
model = training.mlp().double()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * len(loader) // pieces)
model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
assert isinstance(loader, eddis.Loader)
model = model if ours else eddis.attach(model)
samples, ends = [], framed_ends.Ends(folder, options)
state = eddis.State(model=model, optimizer=optimizer, scheduler=scheduler) if "state" in options else None
for epoch in loader.epochs(epochs):
    for i, (x, y, numbers) in enumerate(loader):
        if i % pieces == 0:
            samples.append([])
        samples[-1] += numbers[:loader.counts[loader.part]].tolist()
        time.sleep(pace_s[eddis.rank()] * loader.counts[loader.part])
        with accelerator.accumulate(model):
            ends("forward")
            loss = functional.cross_entropy(model(functional.dropout(x, 0.2) if state else x), y)
            accelerator.backward(loss if ours else eddis.weighted(loss) * pieces)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            if accelerator.sync_gradients:
                scheduler.step()
            optimizer.zero_grad()
torch.save({"samples": samples, "model": [p.detach() for p in model.parameters()],
            "resumed": bool(state and state.resumed)}, folder / f"{eddis.rank()}.pt")
accelerator.end_training()
