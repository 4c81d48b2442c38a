# SPDX-License-Identifier: Apache-2.0
"""attached_cases.py FOLDER KIND [KEY=VALUE ...] - trains cases whose gradients torch.distributed combines

FOLDER/<rank>.pt is {"samples": numbers of each step, "models": {case: numbers},
"world": mode and algorithm}.

epochs=  pace=A,B,C: milliseconds of each rank for a sample, which the plan does not have
"""

import pathlib
import sys
import time

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel
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


def check_plain_mean():
    """Raise AssertionError unless the gradients of all ranks are combined to their mean by gloo alone, which has failed
    in some versions (pytorch #162338)."""
    model = torch.nn.Linear(3, 1, bias=False)
    model = attached.fully_shard(model) if kind.startswith("fsdp") else DistributedDataParallel(model)
    model(torch.full((1, 3), distributed.get_rank() + 1.0)).sum().backward()
    gradient = next(model.parameters()).grad
    gradient = getattr(gradient, "full_tensor", lambda: gradient)()
    assert (gradient == (distributed.get_world_size() + 1) / 2).all(), gradient


torch.set_num_threads(1)
distributed.init_process_group("gloo")
check_plain_mean()
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
