# SPDX-License-Identifier: Apache-2.0
"""trained.py FOLDER KIND [KEY=VALUE ...] - trains cases of this kind, and writes down the samples and the models

FOLDER/<rank>.pt is {"samples": numbers of each step, "epochs": how many steps each had, "models": {case: numbers},
"losses": of the first case, "staged": whether gradients took the way of a device's}.

epochs=  workers=A,B,C: loader processes of each rank  memory=RANK: it has none left, in the first generation
break=K: after so many steps of each epoch  test=1: rank 0 alone tests the first case after each epoch
pace=A,B,C: milliseconds of each rank for a sample, which the plan does not have
"""

import os
import pathlib
import sys
import threading
import time

import torch
from torch.utils.data import DataLoader, TensorDataset

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import eddis.torch as eddis  # noqa: E402
import kinds  # noqa: E402
from training import N, PAD, device  # noqa: E402
from eddis._worker import worker  # noqa: E402
from eddis.torch import _gradients  # noqa: E402


class Distributed:
    """How a worker does what cases ask for."""

    no_sync, pieces = staticmethod(eddis.no_sync), staticmethod(eddis.pieces)

    @staticmethod
    def distributed(optimizer, model, passes=1):
        return eddis.DistributedOptimizer(optimizer, model=model, backward_passes_per_step=passes)


# Some gradients of the larger models leave a device before the end of their pass: of a GAN's maker, 9344 bytes, whose
# pass reaches its critic first, which has 8456.
_gradients.TOGETHER_BYTES = 9000
folder, kind = pathlib.Path(sys.argv[1]), sys.argv[2]
options = dict(word.split("=", 1) for word in sys.argv[3:])
n_loaders = [int(n) for n in options.get("workers", "0,0,0").split(",")]
most_steps = int(options.get("break", 1 << 60))
no_memory = options.get("memory") == str(eddis.rank()) and os.environ.get("EDDIS_GENERATION") == "1"

pace_s = [int(ms) / 1000 for ms in options["pace"].split(",")] if "pace" in options else None

eddis.init(pieces=True, own_pace=bool(pace_s), read_ahead=max(n_loaders) * 2 or None)
x, y = kinds.data(kind)
data = TensorDataset(x, y)
loader = eddis.loader(DataLoader(TensorDataset(x, y, torch.arange(N)), batch_size=24, shuffle=True,
                                 num_workers=n_loaders[eddis.rank()]))
torch.manual_seed(eddis.rank())  # that of rank 0 counts
cases = kinds.made(kind, Distributed)
samples, epochs, losses = [], [], []
for epoch in loader.epochs(int(options.get("epochs", 1))):
    before = len(samples)
    for x, y, numbers in loader:
        samples.append(numbers.tolist() if worker.step.count else [])
        x, y = x.to(device()), y.to(device())
        if kind == "words":
            eddis.set_weight((y != PAD).sum())
        losses.append(next(iter(cases.values())).loss(x, y).item())
        if pace_s:
            time.sleep(pace_s[eddis.rank()] * worker.step.count)
        for case in cases.values():
            case.step(x, y)
        if no_memory:
            sys.exit(79)
        if len(samples) - before == most_steps:
            break
    for case in cases.values():
        case.ended()
    epochs.append(len(samples) - before)
    if options.get("test") and eddis.rank() == 0:
        tested = next(iter(cases.values()))
        with torch.no_grad():
            losses.append(sum(tested.loss(x.to(device()), y.to(device())).item()
                              for x, y in DataLoader(data, batch_size=7)))
if "break" in options:
    eddis.stop()
    eddis.finish()

staged = any(thread.name == "eddis announcer" for thread in threading.enumerate())
torch.save({"samples": samples, "staged": staged, "epochs": epochs, "losses": losses, "piece": worker.step.piece,
            "models": {name: case.numbers() for name, case in cases.items()}}, folder / f"{eddis.rank()}.pt")
