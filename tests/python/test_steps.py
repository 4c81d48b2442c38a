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


WRONG = {
    "batch": ("for _ in steps: pass", "the steps of the script have 12 rows, the job's batch.global is 24", {}),
    "items": ("list(steps.over('four'))", "there are 4 items for the 6 steps", {}),
    "few": ("list(steps.over(iter('')))", "the items end before step 0 of the 6 steps", {"batch__global": 12}),
    "outside": ("eddis.rows()", "eddis.torch.rows is for the loop over eddis.torch.steps", {}),
    "async": ("for _ in steps: pass", "eddis.torch.steps needs sync.mode: sync, but the job's mode is async",
              {"batch__global": 12, "sync__mode": "async"})}


@pytest.mark.parametrize("what", [name if name == "batch" else slow(name) for name in WRONG])
def test_refused(tmp_path, what):
    line, told, settings = WRONG[what]
    program = script(tmp_path, f"""steps = eddis.steps(6, batch=12)
p = torch.nn.Parameter(torch.zeros(1))
optimizer = eddis.DistributedOptimizer(torch.optim.SGD([p], lr=0.1))
{line}
""")
    code, output = ended(tmp_path, *job(program, options=["-n", 2], restarts=0, **{"batch__global": 24, **settings}))
    assert code == 1 and told in output, output
