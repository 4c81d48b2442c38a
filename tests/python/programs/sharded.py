# SPDX-License-Identifier: Apache-2.0
"""sharded.py FOLDER [KEY=VALUE ...] - trains a model of fully_shard, which the script saves, with a State for the rest

FOLDER/<generation>-<rank>.jsonl has a line for each step, {"step", "epoch", "samples", "random"}, and a line {"kept":
STEP} where a checkpoint was begun; FOLDER/model.pt is the whole model at the end, and FOLDER/<rank>.pid the process.

at=RANK:STEP,...  as of kept.py; in a checkpoint it is done behind what dcp has written, before it is committed
do=kill, freeze, raise, wait, exit
how=save, async, none (state.due() is true, and nothing saved), unfinished (as if dcp still wrote, unknown to State),
    undue (state.due() is not called), anew (state.resume() is not called)
"""

import json
import os
import pathlib
import random
import signal
import sys
import time

import torch
from torch import distributed, nn
from torch.distributed import checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, TensorDataset

import eddis.torch as eddis
from eddis._worker import worker

N, EPOCHS = 96, 4
folder = pathlib.Path(sys.argv[1])
options = dict(word.split("=", 1) for word in sys.argv[2:])
generation = int(os.environ.get("EDDIS_GENERATION", 1))
AT = dict(enumerate(options.get("at", "").split(","), 1)).get(generation)
HOW = options.get("how", "save")
folder.mkdir(exist_ok=True)
(folder / f"{eddis.rank()}.pid").write_text(str(os.getpid()))
out = (folder / f"{generation}-{eddis.rank()}.jsonl").open("w", buffering=1)


def wait():
    (folder / "waiting").touch()
    while not (folder / "go").exists():
        time.sleep(0.05)


ENDS = {"kill": lambda: os.kill(os.getpid(), signal.SIGKILL), "freeze": lambda: os.kill(os.getpid(), signal.SIGSTOP),
        "exit": lambda: sys.exit(0), "wait": wait, "raise": lambda: [].pop()}


class Parts(dcp.stateful.Stateful):
    """The model and its optimizer, as torch.distributed.checkpoint takes them."""

    def state_dict(self):
        return dict(zip(("model", "optimizer"), get_state_dict(model, optimizer)))

    def load_state_dict(self, state):
        set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])


def at(step):
    if AT == f"{eddis.rank()}:{step}":
        ENDS[options["do"]]()


def save():
    print(json.dumps({"kept": worker.step.step}), file=out)
    where = state.folder / "dcp"
    if HOW == "async":
        state.wait_for(dcp.async_save({"parts": Parts()}, checkpoint_id=where, process_group=beside))
    elif HOW != "none":
        dcp.save({"parts": Parts()}, checkpoint_id=where)
    if HOW == "unfinished" and eddis.rank() == 0:
        (where / ".metadata").unlink()
    at(f"{worker.step.step}c")


torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)
distributed.init_process_group("gloo")
beside = distributed.new_group(backend="gloo") if HOW == "async" else None
torch.manual_seed(3)
made = torch.Generator().manual_seed(1)
x, y = torch.randn(N, 6, generator=made), torch.randn(N, 1, generator=made)
loader = eddis.loader(DataLoader(TensorDataset(x, y, torch.arange(N)), batch_size=12, shuffle=True), EPOCHS)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 5), nn.Tanh(), nn.Linear(5, 1))
for module in (model[0], model[2]):
    fully_shard(module)
model = eddis.attach(fully_shard(model))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
state = eddis.State(scheduler=scheduler, steps=0)
random.seed(eddis.rank())
if HOW != "anew" and state.resume():
    assert state.resumed and state.folder.name.startswith("step-") and not state.folder.name.endswith(".part")
    dcp.load({"parts": Parts()}, checkpoint_id=state.folder / "dcp")
for epoch in loader.epochs(EPOCHS):
    for x, y, numbers in loader:
        optimizer.zero_grad()
        eddis.weighted(((model(x) - y) ** 2).mean()).backward()
        optimizer.step()
        state.steps += 1
        print(json.dumps({"step": worker.step.step, "epoch": epoch, "random": random.random(),
                          "samples": numbers.tolist() if worker.step.count else []}), file=out)
        at(worker.step.step)
        if HOW != "undue" and state.due():
            save()
    scheduler.step()

print(f"rank {eddis.rank()}: resumed {state.resumed}, steps {state.steps}, rate {scheduler.get_last_lr()[0]:.6f}")
whole = {name: value.full_tensor() for name, value in model.state_dict().items()}
eddis.save(whole, folder / "model.pt")
distributed.destroy_process_group()
