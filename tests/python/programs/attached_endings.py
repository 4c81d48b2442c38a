# SPDX-License-Identifier: Apache-2.0
"""attached_endings.py FOLDER [KEY=VALUE ...] - trains an attached model with a State, and one rank does something else

FOLDER/<rank>.pt is {"model": numbers at the end, "scale": of the scaler, "resumed", "steps": number of steps, "finite":
number of finite losses}.

at=RANK:STEP  this rank does in this step of the first generation what `do` says:
  kill, freeze: itself by a signal; raise: an exception; sleep: for ever; all of them where `where` says: in the
                forward pass (the default), "before" it, "between" the backward pass and the optimizer's step, or at
                the step's "end"
  wait: until FOLDER/go is there, after FOLDER/waiting; where `where` says
  break, continue: leaves the loop, or the loop's body, before the backward pass
  leave: leaves the loop after the optimizer's step
  forward: makes one more forward pass; backward: two forward and backward passes
  nan, inf: its loss is no number, or infinite
with=ddp|fsdp  what combines the gradients
norm=1    the model has batch normalisation; DistributedDataParallel keeps the order of its buckets, which it would else
          change after the first step, so that a restart's first step would round otherwise
scaler=0  without GradScaler
reduce=1  the script sums up something itself in each step, before the forward pass
"""

import os
import pathlib
import signal
import sys
import time

import torch
from torch import distributed, nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

import eddis.torch as eddis
from eddis._worker import worker

folder = pathlib.Path(sys.argv[1])
options = dict(word.split("=", 1) for word in sys.argv[2:])
N, EPOCHS = 192, int(options.get("epochs", 3))
generation = int(os.environ.get("EDDIS_GENERATION", 1))
do, where = options.get("do"), options.get("where", "forward")
WHEN = tuple(map(int, options.get("at", "-1:-1").split(":")))
IS_DDP = options.get("with", "ddp") == "ddp"


def fail():
    raise ValueError("as a bug in a script")


def wait():
    (folder / "waiting").touch()
    while not (folder / "go").exists():
        time.sleep(0.02)


ENDS = {"kill": lambda: os.kill(os.getpid(), signal.SIGKILL), "freeze": lambda: os.kill(os.getpid(), signal.SIGSTOP),
        "raise": fail, "sleep": lambda: time.sleep(3600), "wait": wait}


def ends(here):
    """Do what ends this rank or holds it up, if it is due in this place."""
    if is_due() and here == where and do in ENDS:
        ENDS[do]()


def is_due():
    return generation == 1 and (distributed.get_rank(), worker.step.step) == WHEN


class Net(nn.Sequential):
    def forward(self, x):
        if self.training:
            ends("forward")
        return super().forward(x)


torch.set_num_threads(1)
distributed.init_process_group("gloo")
torch.manual_seed(5)
torch.set_default_dtype(torch.float64)
x = torch.randn(N, 8)
y = (x @ torch.randn(8, 3)).argmax(1)
loader = eddis.loader(DataLoader(TensorDataset(x, y), batch_size=12, shuffle=True))
torch.manual_seed(1)
net = Net(nn.Linear(8, 16), nn.BatchNorm1d(16) if options.get("norm") else nn.Identity(), nn.Tanh(), nn.Dropout(0.2),
          nn.Linear(16, 3))
if IS_DDP:
    model = eddis.attach(DistributedDataParallel(net, find_unused_parameters=bool(options.get("norm"))))
else:
    from torch.distributed.fsdp import fully_shard
    fully_shard(net[0])
    model = eddis.attach(fully_shard(net))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=7, enabled=options.get("scaler") != "0")
state = eddis.State(model=net, optimizer=optimizer, scaler=scaler, steps=0, finite=0) if IS_DDP else None
for epoch in loader.epochs(EPOCHS):
    for x, y in loader:
        if is_due() and do == "break":
            break
        ends("before")
        if options.get("reduce"):
            distributed.all_reduce(torch.ones(1))
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x), y)
        if is_due():
            if do == "continue":
                continue
            if do == "forward":
                model(x)
            if do == "backward":
                scaler.scale(eddis.weighted(functional.cross_entropy(model(x), y))).backward()
            if do in ("nan", "inf"):
                loss = loss * float(do)
        scaler.scale(eddis.weighted(loss)).backward()
        ends("between")
        scaler.step(optimizer)
        scaler.update()
        eddis.report(loss=loss)
        if state:
            state.steps += 1
            state.finite += bool(loss.isfinite())
        ends("end")
        if is_due() and do == "leave":
            break
if state:
    torch.save({"model": [p.detach() for p in (*net.parameters(), *net.buffers())], "scale": scaler.get_scale(),
                "resumed": state.resumed, "steps": state.steps, "finite": state.finite},
               folder / f"{eddis.rank()}.pt")
distributed.destroy_process_group()
