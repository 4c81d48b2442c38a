# SPDX-License-Identifier: Apache-2.0
"""attached_cases.py FOLDER KIND [KEY=VALUE ...] - trains cases whose gradients torch.distributed combines

FOLDER/<rank>.pt is {"samples": numbers of each step, "models": {case: numbers},
"world": mode and algorithm}.

epochs=  pace=A,B,C: milliseconds that each rank takes for a sample, of which the plan is not told
"""

import pathlib
import sys
import time

import torch
from torch import distributed
from torch.utils.data import DataLoader, TensorDataset

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import attached  # noqa: E402
import attached_more  # noqa: E402
import eddis.torch as eddis  # noqa: E402
import training  # noqa: E402
from eddis._worker import worker  # noqa: E402

folder, kind = pathlib.Path(sys.argv[1]), sys.argv[2]
options = dict(word.split("=", 1) for word in sys.argv[3:])
pace_s = [int(ms) / 1000 for ms in options.get("pace", "0,0,0,0").split(",")]

torch.set_num_threads(1)
distributed.init_process_group("gloo")
x, y = training.lines() if kind == "told" else training.data()
loader = eddis.loader(DataLoader(TensorDataset(x, y, torch.arange(training.N)), batch_size=24, shuffle=True))
how = attached.HOW.get(kind, {})
cases = {name: case(attached.Rank(eddis, **how)) for name, case in attached_more.KINDS[kind].items()}
samples = []
for epoch in loader.epochs(int(options.get("epochs", 2))):
    for x, y, numbers in loader:
        samples.append(numbers.tolist() if worker.step.count else [])
        if kind == "told":
            eddis.set_weight((y != training.PAD).sum())
        time.sleep(pace_s[eddis.rank()] * worker.step.count)
        for case in cases.values():
            case.step(x, y)
torch.save({"samples": samples, "models": {name: case.numbers() for name, case in cases.items()},
            "world": (worker.world.mode.decode(), worker.world.algorithm.decode())}, folder / f"{eddis.rank()}.pt")
distributed.destroy_process_group()
