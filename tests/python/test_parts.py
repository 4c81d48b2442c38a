# SPDX-License-Identifier: Apache-2.0
"""test_parts.py - loader(pieces=): three ranks that add up the gradients of each step's parts make what one process
makes of all samples at once"""

from __future__ import annotations

import pathlib

import pytest
import torch

import attached
import training
from rows import slow
from started import PROGRAMS, ended, job, said, script
from test_attach import EQUAL, NO_SAMPLES, UNEQUAL, assert_once, skip_without_sharding


def parted(folder: pathlib.Path, kind: str, *options: str, emulate: str = UNEQUAL, **settings: object) -> list[dict]:
    """Return what each rank wrote down."""
    told = {"batch__global": 24, "batch__rebalance": "off", **settings}
    said(folder, *job(PROGRAMS / "parted.py", folder, kind, *options, devices=f"[{emulate}]", **told))
    return [torch.load(path) for path in sorted(folder.glob("[0-9].pt"))]


def assert_exact(kind: str, ranks: list[dict], times: int = 1) -> None:
    """Every case is that of one process that takes each step at once."""
    x, y = training.lines() if kind == "told" else training.data()
    far = {}
    for name in ranks[0]["models"]:
        case = attached.KINDS[kind][name](attached.Alone)
        for parts in zip(*(rank["samples"] for rank in ranks), strict=True):
            numbers = [n for part in parts for n in part]
            case.step(x[numbers], y[numbers])
        far[name] = max(training.largest(zip(case.numbers(), rank["models"][name], strict=True)) for rank in ranks), \
            case.tolerance * times
    print({name: f"{row[0]:.1e}" for name, row in far.items()})
    assert far and not {name: row for name, row in far.items() if not row[0] <= row[1]}


@pytest.mark.parametrize("kind", ["ddp", slow("fsdp"), slow("told")])
def test_exact(tmp_path, kind):
    """The first rank has three samples for four parts."""
    skip_without_sharding(kind)
    ranks = parted(tmp_path, kind)
    assert [rank["counts"][0] for rank in ranks] == [[1, 1, 1, 0], [2, 2, 1, 1], [4, 4, 4, 3]]
    assert {rank["length"] for rank in ranks} == {40}
    assert_once(ranks, 2)
    assert_exact(kind, ranks)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ddp", "fsdp"])
def test_without_samples(tmp_path, kind):
    skip_without_sharding(kind)
    ranks = parted(tmp_path, kind, emulate=NO_SAMPLES, batch__min=0)
    assert not any(ranks[0]["samples"])
    assert_exact(kind, ranks)


@pytest.mark.slow
def test_held(tmp_path):
    """A collate function leaves samples out of the parts."""
    ranks = parted(tmp_path, "held")
    assert sum(map(sum, (n for rank in ranks for n in rank["counts"]))) < 2 * training.N
    assert_exact("held", ranks)


@pytest.mark.slow
def test_replan(tmp_path):
    """The shares follow what the ranks take, and reading ahead stays within its steps."""
    ranks = parted(tmp_path, "ddp", "epochs=6", "pace=2,2,12", "readers=1", "only=plain", emulate=EQUAL,
                   batch__rebalance=4)
    splits = [tuple(map(len, parts)) for parts in zip(*(rank["samples"] for rank in ranks), strict=True)]
    whole = [split for split in splits if sum(split) == 24]
    assert whole[0] == (8, 8, 8) and whole[-1][2] < 5 < 8 < whole[-1][0], splits
    assert_once(ranks, 6)
    assert_exact("ddp", ranks, times=3)


# Beside the model of the job one that takes a part of all workers at once
NORMED = """from eddis._worker import worker

torch.manual_seed(0)
x = torch.randn(24, 3, dtype=torch.float64)


def net():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Tanh(),
                               torch.nn.Linear(4, 1)).double()


loader = eddis.loader(data.DataLoader(data.TensorDataset(x, torch.arange(24)), batch_size=6), pieces=2)
model = eddis.attach(eddis.SyncBatchNorm.convert_sync_batchnorm(net()))
alone = net()
optimizers = [torch.optim.SGD(it.parameters(), lr=0.5) for it in (model, alone)]
for epoch in loader.epochs(1):
    for i, (b, n) in enumerate(loader):
        j = i % 2
        for optimizer in optimizers if j == 0 else ():
            optimizer.zero_grad()
        eddis.weighted(model(b).square().mean()).backward()
        have = torch.zeros(24, dtype=torch.int64)
        if loader.counts[j]:
            have[n] = 1
        have = eddis.allreduce(have, eddis.Op.SUM).bool()
        if have.any():
            (alone(x[have]).square().mean() * int(have.sum()) / worker.step.batch).backward()
        for optimizer in optimizers if j else ():
            optimizer.step()
off = max(float((a - b).abs().max()) for a, b in zip(model.parameters(), alone.parameters()))
print("exact" if off < 1e-12 else f"off by {off}", loader.counts)
"""


@pytest.mark.slow
def test_normalised(tmp_path):
    """Batch normalisation over a part of all workers, in which one has no sample."""
    output = said(tmp_path, *job(script(tmp_path, NORMED), devices="[{rate: 0.1, a_ms: 2, c_ms: 4}, {rate: 1}]",
                                 batch__global=12, batch__rebalance="off", restarts=0))
    assert "exact [1, 0]" in output and output.count("exact") == 2, output


def test_alone(tmp_path):
    """Without eddis-run each part has the batch size of the script; a look at a part is given back."""
    program = script(tmp_path, """
loader = eddis.loader(data.DataLoader(data.TensorDataset(torch.arange(20.0)), batch_size=3), pieces=2)
p = torch.nn.Linear(1, 1, bias=False)
p = eddis.attach(p)
first = next(iter(loader))
seen, sizes = [], []
for epoch in loader.epochs(2):
    for x, in loader:
        if not loader.part:
            p.zero_grad()
        eddis.weighted(p(x[:, None]).mean()).backward()
        seen += x.tolist()
        sizes.append(len(x))
        if loader.part:
            step = torch.cat([x for x, in loader.parts])
            assert abs(float(p.weight.grad) - float(step.mean())) < 1e-5
print(len(loader), sizes, sorted(seen) == sorted(2 * list(range(20))))
""")
    assert said(tmp_path, "python3", program) == f"8 {2 * [3, 3, 3, 3, 3, 3, 1, 1]} True\n"


@pytest.mark.slow
def test_least(tmp_path):
    """One worker gets two samples in a part, or none, for batch normalisation."""
    program = script(tmp_path, """
loader = eddis.loader(data.DataLoader(data.TensorDataset(torch.randn(20, 3)), batch_size=3), pieces=2)
model = eddis.attach(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)))
for epoch in loader.epochs(1):
    for x, in loader:
        eddis.weighted(model(x).square().mean()).backward()
print(loader.counts, len(loader))
""")
    assert said(tmp_path, "python3", program) == "[2, 0] 8\n"


WRONG = {
    "few": ("", "pieces=0", "", "pieces is 0, but a step has at least 1"),
    "both": ("eddis.init(pieces=True)", "pieces=2", "", "on all: leave one of them out"),
    "none": ("", "pieces=2", "for _ in loader: pass", r"attach the model, or with DistributedOptimizer leave pieces"),
    "ahead": ("", "pieces=2", """
model = eddis.attach(torch.nn.Linear(1, 1))
parts = iter(loader)
for x, in [next(parts), next(parts)]:
    eddis.weighted(model(x[:, None]).mean()).backward()
""", "part 1 of 2 of step 0 went by without a weighted loss"),
    "last": ("", "pieces=2", """
model = eddis.attach(torch.nn.Linear(1, 1))
for x, in loader:
    if loader.part == 0:
        eddis.weighted(model(x[:, None]).mean()).backward()
""", "part 2 of 2 of step 0 went by without a weighted loss"),
    "told": ("", "pieces=2", """
model = eddis.attach(torch.nn.Linear(1, 1), weights="told")
for x, in loader:
    eddis.set_weight(3)
    eddis.weighted(model(x[:, None]).mean()).backward()
""", "step 0 has its weight already, which is that of all its 2 parts")}


@pytest.mark.slow
@pytest.mark.parametrize("what", WRONG)
def test_refused(tmp_path, what):
    before, pieces, after, told = WRONG[what]
    program = script(tmp_path, f"""{before}
loader = eddis.loader(data.DataLoader(data.TensorDataset(torch.arange(20.0)), batch_size=3), {pieces})
{after}
""")
    code, output = ended(tmp_path, "python3", program)
    assert code == 1 and told in output, output
