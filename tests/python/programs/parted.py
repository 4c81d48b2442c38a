# SPDX-License-Identifier: Apache-2.0
"""parted.py FOLDER KIND [KEY=VALUE ...] - trains cases of attached.py by the parts of each step

FOLDER/<rank>.pt is {"samples": numbers of each step, "models": {case: numbers}, "counts": samples of the parts of each
step, "length": len(loader)}.

epochs=  pieces=  pace=A,B,C: milliseconds of each rank for a sample, which the plan does not have
only=: one case  readers=: the loader's processes
"""

import contextlib
import pathlib
import sys
import time

import torch
from torch import distributed
from torch.utils.data import DataLoader, TensorDataset, default_collate

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import attached  # noqa: E402
import eddis.torch as eddis  # noqa: E402
import training  # noqa: E402

folder, kind = pathlib.Path(sys.argv[1]), sys.argv[2]
options = dict(word.split("=", 1) for word in sys.argv[3:])
pace_s = [int(ms) / 1000 for ms in options.get("pace", "0,0,0").split(",")]
k = int(options.get("pieces", 4))
# Cases that make their passes of a whole step, or whose statistics are of one
WHOLE = ("unweighted", "accumulated", "unused", "static", "ahead", "normalised")


def left_out(samples):
    """A batch without every fifth sample; with the first, since no loss is of nothing."""
    return default_collate([row for i, row in enumerate(samples) if not i or row[2] % 5])


def part_of(case, x, y, j):
    """What a script does with a part."""
    if not j:
        case.optimizer.zero_grad()
    is_last = j == k - 1
    if hasattr(case.model, "set_requires_gradient_sync"):
        case.model.set_requires_gradient_sync(is_last)
    apart = hasattr(case.model, "no_sync") and not is_last
    with case.model.no_sync() if apart else contextlib.nullcontext():
        if kind == "told":
            eddis.weighted(case.sum(x, y) / sum_of_words).backward()
        else:
            case.backward(x, y)
    if is_last:
        case.before_update()
        case.optimizer.step()


torch.set_num_threads(1)
distributed.init_process_group("gloo")
x, y = training.lines() if kind == "told" else training.data()
loader = eddis.loader(DataLoader(TensorDataset(x, y, torch.arange(training.N)), batch_size=24, shuffle=True,
                                 num_workers=int(options.get("readers", 0)),
                                 collate_fn=left_out if kind == "held" else default_collate), pieces=k)
cases = {name: case(attached.Rank(eddis, **attached.HOW.get(kind, {}))) for name, case in attached.KINDS[kind].items()
         if name not in WHOLE and options.get("only", name) == name}
samples, counts = [], []
for epoch in loader.epochs(int(options.get("epochs", 2))):
    for i, (x, y, numbers) in enumerate(loader):
        j = i % k
        assert j == loader.part and loader.parts[j][1] is y
        if not j:
            samples.append([])
            counts.append(loader.counts)
            if kind == "told":
                sum_of_words = sum(int((part[1] != training.PAD).sum()) for part, n in zip(loader.parts, loader.counts)
                                   if n)
                eddis.set_weight(sum_of_words)
                sum_of_words = max(1, sum_of_words)
        if loader.counts[j]:
            samples[-1] += numbers.tolist()
        time.sleep(pace_s[eddis.rank()] * loader.counts[j])
        for case in cases.values():
            part_of(case, x, y, j)
    assert j == k - 1
torch.save({"samples": samples, "models": {name: case.numbers() for name, case in cases.items()}, "counts": counts,
            "length": len(loader)}, folder / f"{eddis.rank()}.pt")
distributed.destroy_process_group()
