# SPDX-License-Identifier: Apache-2.0
"""kept.py FOLDER [KEY=VALUE ...] - trains with a State, and writes down what it does

FOLDER/<generation>-<rank>.jsonl has a line for each step, {"step", "epoch", "samples", "rate", "scale", "random"}, and
a line {"kept": NUMBER} where a checkpoint is made; FOLDER/model.pt is the model at the end, of rank 0, and
FOLDER/<rank>.pid the process.

at=RANK:STEP,...  this worker, or with * every one, does at the end of this step what `do` says, of each generation one:
                  kill (itself by a signal, 9 or signal=N), exit (status=N), raise, _exit (status=N), wait (until
                  FOLDER/go is there)
stop=RANK:STEP    this worker has all stop, at the end of this step
told=0            the job is not told how many epochs there are
leave=STEP        the loops are left by break at this step, before its backward pass
samples=, epochs=, width=, batch_norm=1, state=0, workers= (of the loader)
"""

import json
import os
import pathlib
import random
import sys
import time

import numpy
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import eddis.torch as eddis
from eddis._worker import worker

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from training import device  # noqa: E402

folder = pathlib.Path(sys.argv[1])
options = dict(word.split("=", 1) for word in sys.argv[2:])
N, EPOCHS = int(options.get("samples", 96)), int(options.get("epochs", 6))
WIDTH = int(options.get("width", 16))
generation = int(os.environ.get("EDDIS_GENERATION", 1))
AT = dict(enumerate(options.get("at", "").split(","), 1)).get(generation)
STATUS, SIGNAL = int(options.get("status", 0)), int(options.get("signal", 9))
LEAVE = int(options.get("leave", -1))
HAS_STATE, BATCH_NORM = options.get("state", "1") == "1", options.get("batch_norm") == "1"
folder.mkdir(exist_ok=True)
(folder / f"{eddis.rank()}.pid").write_text(str(os.getpid()))
out = (folder / f"{generation}-{eddis.rank()}.jsonl").open("w", buffering=1)


class Log:
    """Asked for its state it writes that down."""

    number = 0

    def state_dict(self):
        self.number += 1
        print(json.dumps({"kept": self.number}), file=out)
        return {"lines": [{"number": self.number}], "by": ("log", 0.5)}

    def load_state_dict(self, state):
        assert state["by"] == ("log", 0.5)


def wait():
    (folder / "waiting").touch()
    while not (folder / "go").exists():
        time.sleep(0.05)


ENDS = {"kill": lambda: os.kill(os.getpid(), SIGNAL), "exit": lambda: sys.exit(STATUS), "wait": wait,
        "_exit": lambda: os._exit(STATUS), "raise": lambda: [].pop()}

torch.manual_seed(eddis.rank())
random.seed(eddis.rank())
numpy.random.seed(eddis.rank())
torch.set_default_dtype(torch.float64)
made = torch.Generator().manual_seed(1)
x, y = torch.randn(N, 6, generator=made), torch.randn(N, 1, generator=made)
if BATCH_NORM:
    eddis.init(min_count=2)
loader = eddis.loader(DataLoader(TensorDataset(x, y, torch.arange(N)), batch_size=12, drop_last=False,
                                 num_workers=int(options.get("workers", 0))))
model = nn.Sequential(nn.Linear(6, WIDTH), nn.BatchNorm1d(WIDTH) if BATCH_NORM else nn.Tanh(), nn.Linear(WIDTH, 1))
model.to(device())
optimizer = eddis.DistributedOptimizer(torch.optim.Adam(model.parameters(), lr=0.01), model=model)
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [2, 3, 5], gamma=0.5)
scaler = torch.amp.GradScaler(device().type, init_scale=1024.0, growth_interval=7)
if HAS_STATE:
    state = eddis.State(model=model, optimizer=optimizer, scheduler=scheduler, scaler=scaler, loader=loader, log=Log(),
                        steps=0, best=numpy.float64(0), worst=[], ended=[])

for epoch in range(EPOCHS) if options.get("told") == "0" else loader.epochs(EPOCHS):
    for x, y, numbers in loader:
        if LEAVE == worker.step.step:
            break
        optimizer.zero_grad()
        loss = ((model(x.to(device())) - y.to(device())) ** 2).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        eddis.report(loss=loss)
        if HAS_STATE:
            state.steps += 1
            state.worst.append(len(state.worst))
        print(json.dumps({"step": worker.step.step, "epoch": epoch, "rate": optimizer.param_groups[0]["lr"],
                          "scale": scaler.get_scale(), "samples": numbers.tolist() if worker.step.count else [],
                          "random": [torch.rand((), device=device()).item(), random.random(), numpy.random.rand()]}),
              file=out)
        if options.get("stop") == f"{eddis.rank()}:{worker.step.step}":
            eddis.stop()
        if AT in (f"{eddis.rank()}:{worker.step.step}", f"*:{worker.step.step}"):
            ENDS[options["do"]]()
    if LEAVE == worker.step.step:
        break
    scheduler.step()
    if HAS_STATE:
        state.ended.append(epoch)

if HAS_STATE:
    is_kept = state.worst == [*range(state.steps)]
    print(f"rank {eddis.rank()}: resumed {state.resumed}, steps {state.steps}, kept {is_kept}, ended {state.ended}")
if eddis.rank() == 0:
    torch.save(model.state_dict(), folder / "model.pt")
