# SPDX-License-Identifier: Apache-2.0
"""test_steps.py - steps of scripts without a DataLoader: together the workers take each row of each step once"""

from __future__ import annotations

import pytest
import torch

from rows import slow
from started import PROGRAMS, ended, job, said, script

THREE = "[{rate: 0.2, a_ms: 2, c_ms: 4}, {rate: 0.4}, {rate: 1}]"
NONE = "[{rate: 0.001, a_ms: 2, c_ms: 4}, {rate: 0.4}, {rate: 1}]"


def assert_alike(folder, ranks):
    """The workers' rows are all rows of each step, and the model is that of one process."""
    for parts in zip(*(rank["rows"] for rank in ranks), strict=True):
        assert sorted(n for first, end in parts for n in range(first, end)) == list(range(12)), parts
    said(folder, "python3", PROGRAMS / "columns.py", folder, "alone")
    alone = torch.load(folder / "alone.pt")["weight"]
    assert max((rank["weight"] - alone).abs().max() for rank in ranks) < 1e-12


def trained(folder, how, *more, devices=THREE, **settings):
    said(folder, *job(PROGRAMS / "columns.py", folder, how, *more, devices=devices, batch__global=12,
                      batch__rebalance="off", **settings))
    return [torch.load(folder / f"{rank}.pt") for rank in range(3)]


@pytest.mark.parametrize("how, devices", [("attached", THREE), slow("optimized", THREE), slow("attached", NONE)])
def test_columns(tmp_path, how, devices):
    ranks = trained(tmp_path, how, devices=devices, batch__min=0)
    assert all(rank["items"] == 2 * [0, 5, 10, 15, 20, 25] for rank in ranks)
    assert (ranks[0]["rows"][0] == [0, 0]) == (devices == NONE)
    assert_alike(tmp_path, ranks)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["attached", "optimized"])
def test_restart(tmp_path, how):
    """After a failure amidst an epoch the items go on, too."""
    ranks = trained(tmp_path, how, 8, checkpoint__every=3, restarts=1)
    assert all(rank["resumed"] and rank["items"] == 2 * [0, 5, 10, 15, 20, 25] for rank in ranks)
    assert_alike(tmp_path, ranks)


EQUAL = "[{rate: 1, a_ms: 1, c_ms: 1}, {rate: 1}, {rate: 1}]"
LONG = 6, 0.002, 0.002, 0.05  # epochs, and seconds that a row takes: so much that the shares change


def grown(folder, what, epochs, *paces, devices=THREE, **settings):
    """Return what each rank wrote down: the model is the same on all."""
    said(folder, *job(PROGRAMS / "recurrent.py", folder, what, epochs, *paces, devices=devices, batch__global=12,
                      batch__min=0, restarts=0, **{"batch__rebalance": "off", **settings}))
    ranks = [torch.load(folder / f"{rank}.pt") for rank in range(3)]
    assert all(torch.equal(a, b) for rank in ranks for a, b in zip(rank["weights"], ranks[0]["weights"], strict=True))
    return ranks


def assert_kept(folder, ranks, epochs):
    """Model and states are those of one process."""
    said(folder, "python3", PROGRAMS / "recurrent.py", folder, "alone", epochs)
    alone = torch.load(folder / "alone.pt")
    far = max((a - b).abs().max() for a, b in zip(ranks[0]["weights"], alone["weights"], strict=True))
    print(f"{far:.1e}")
    assert far < 1e-12 and abs(sum(rank["states"] for rank in ranks) - alone["states"]) < 1e-11


def assert_drawn(ranks):
    """The model is that of one process which takes each batch of all ranks at once."""
    torch.manual_seed(0)
    torch.randn(60, 12, 3, dtype=torch.float64)  # as the program does
    model = torch.nn.Linear(3, 1).double()
    pool = torch.randn(500, 3, dtype=torch.float64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    batches = [sum(parts, []) for parts in zip(*(rank["drawn"] for rank in ranks), strict=True)]
    assert all(len(batch) == 12 for batch in batches)
    for first, second in zip(batches[:-1:2], batches[1::2]):
        optimizer.zero_grad()
        for batch in first, second:
            (model(pool[batch]).tanh().square().mean() / 2).backward()
        optimizer.step()
    far = max((a - b).abs().max() for a, b in zip(ranks[0]["weights"], model.parameters(), strict=True))
    print(f"{far:.1e}")
    assert far < 1e-12


@pytest.mark.parametrize("what, devices", [("states", THREE), slow("states", NONE), slow("outputs", THREE)])
def test_kept_states(tmp_path, what, devices):
    """What is kept for all rows, or for those of the rank, goes on in the next step; a second call of steps goes on."""
    ranks = grown(tmp_path, what, 2, devices=devices)
    assert len({rank["counts"][0] for rank in ranks}) == 3 and len(ranks[0]["counts"]) == 24
    assert_kept(tmp_path, ranks, 2)


@pytest.mark.parametrize("devices", [THREE, NONE])
@pytest.mark.slow
def test_drawn_ahead(tmp_path, devices):
    assert_drawn(grown(tmp_path, "drawn", 2, devices=devices))


@pytest.mark.slow
@pytest.mark.parametrize("what", ["states", "drawn"])
def test_replan(tmp_path, what):
    """Rows change hands within an epoch, and their states with them."""
    ranks = grown(tmp_path, what, *LONG, devices=EQUAL, batch__rebalance=4)
    counts = [*zip(*(rank["counts"] for rank in ranks), strict=True)]
    assert counts[0] == (4, 4, 4) and counts[-1][2] < 3, counts
    assert any(a != b for n, (a, b) in enumerate(zip(counts, counts[1:]), 1) if n % 12), counts
    assert_drawn(ranks) if what == "drawn" else assert_kept(tmp_path, ranks, LONG[0])


WRONG = {
    "batch": ("for _ in steps: pass", "the steps of the script have 12 rows, the job's batch.global is 24", {}),
    "items": ("list(steps.over('four'))", "there are 4 items for the 6 steps", {}),
    "few": ("list(steps.over(iter('')))", "the items end before step 0 of the 6 steps", {"batch__global": 12}),
    "before": ("eddis.rows()", "the steps of the script have 12 rows, the job's batch.global is 24", {}),
    "over": ("for _ in steps.epochs(1): [p.sum().backward() for _ in steps]\neddis.rows()",
             "the steps of eddis.torch.steps are over", {"batch__global": 12}),
    "others": ("eddis.steps(6, batch=13)", "there are 6 steps of 12 rows already, and not 6 of 13", {}),
    "outside": ("eddis.keep_rows(p)", "eddis.torch.keep_rows is for the loop over eddis.torch.steps", {}),
    "states": ("for _ in steps: eddis.keep_rows(torch.ones(1, 5))", "of shape [1, 5] has 5 rows, but this worker had 6",
               {"batch__global": 12}),
    "async": ("for _ in steps: pass", "eddis.torch.steps needs sync.mode: sync, but the job's mode is async",
              {"batch__global": 12, "sync__mode": "async"})}


@pytest.mark.slow
@pytest.mark.parametrize("what", WRONG)
def test_refused(tmp_path, what):
    line, told, settings = WRONG[what]
    program = script(tmp_path, f"""steps = eddis.steps(6, batch=12)
p = torch.nn.Parameter(torch.zeros(1))
optimizer = eddis.DistributedOptimizer(torch.optim.SGD([p], lr=0.1))
{line}
""")
    code, output = ended(tmp_path, *job(program, options=["-n", 2], restarts=0, **{"batch__global": 24, **settings}))
    assert code == 1 and told in output, output


EVALUATED = """import numpy

items = [0, 5, 10, 15]
p = torch.nn.Parameter(torch.zeros(1))
optimizer = eddis.DistributedOptimizer(torch.optim.SGD([p], lr=0.1))
for epoch in eddis.steps(numpy.int64(4), batch=24, epochs=1).epochs(1):
    for training in True, False:
        with torch.set_grad_enabled(training):
            assert list(eddis.steps(items, batch=24)) == items if not training else True
            for item in eddis.steps(items, batch=24):
                if training:
                    (p * item).sum().backward()
                    optimizer.step()
assert list(eddis.steps(items, batch=24)) == items  # after the last epoch
with torch.no_grad():
    list(eddis.steps(items, batch=24).shares())
"""


@pytest.mark.slow
def test_evaluated(tmp_path):
    """Loops that do not train have the items, and no shares."""
    code, output = ended(tmp_path, *job(script(tmp_path, EVALUATED), options=["-n", 2], restarts=0, batch__global=24))
    assert code == 1 and "the shares of eddis.torch.steps are those of loops that train" in output, output
