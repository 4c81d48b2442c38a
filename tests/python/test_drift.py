# SPDX-License-Identifier: Apache-2.0
"""test_drift.py - workers whose models are not one any more, and losses that are no numbers, are told of"""

from __future__ import annotations

import json

import pytest
from rows import slow
from started import PROGRAMS, ended, job

PROGRAM = PROGRAMS / "drifting.py"
WORKERS = "[{rate: 1, a_ms: 2, c_ms: 0.3}, {rate: 0.5}, {rate: 0.2}]"


def run(tmp_path, how, *more):
    """Its exit code, all that it said, and its summary."""
    options = ["--set", "sync.mode=sync", *more, "--job-dir", tmp_path / "job"]
    code, output = ended(tmp_path, *job(PROGRAM, how, devices=WORKERS, options=options, batch__global=48, restarts=0))
    return code, output, json.loads((tmp_path / "job/summary.json").read_text())


@pytest.mark.parametrize("how, said", [
    ("scaler", "after step 1 the model of rank 0 (node "),
    slow("noise", "after step 1 the model of rank "),
    slow("skips", "after step 4 the model of rank 2 (node "),
    slow("last", "after step 10 the model of rank 1 (node "),
    slow("unmasked", "after step 10 the model of rank 1 (node "),
])
def test_found(tmp_path, how, said):
    code, output, summary = run(tmp_path, how)
    assert code == 1, output
    assert said in summary["models_say"] and summary["models_say"] in output, output
    assert summary["models_say"] in summary["message"], summary
    assert "(torch.Generator) with the same seed on all workers, or write checks: {models: off}" in output, output
    events = [json.loads(line) for line in (tmp_path / "job/events.jsonl").read_text().splitlines()]
    assert [e for e in events if e.get("text") == summary["models_say"]], events
    assert summary["loss_says"].startswith("the loss of rank 2 ") == (how == "skips"), summary


@pytest.mark.slow
@pytest.mark.parametrize("how", ["alike", "alike_noise", "bfloat16", "masked"])
def test_silent(tmp_path, how):
    code, output, summary = run(tmp_path, how)
    assert output.count("parameter 'mask' and 1 more hold NaN or infinity from the start") == (how == "masked"), output
    assert code == 0 and "after step" not in output and "not finite" not in output, output
    assert summary["models_compared"] >= 4 and summary["models_unlike"] == 0, summary
    assert summary["models_say"] == summary["loss_says"] == ""


@pytest.mark.slow
def test_loss(tmp_path):
    code, output, summary = run(tmp_path, "loss")
    assert code == 0, output
    assert summary["loss_says"].startswith("the loss of rank 1 (node "), summary
    assert "at step 4 " in summary["loss_says"], summary
    assert output.count(summary["loss_says"]) == 2, output  # the line, and the summary


@pytest.mark.slow
@pytest.mark.parametrize("more", [["checks.models=off"], ["sync.mode=async"]])
def test_unasked(tmp_path, more):
    code, output, summary = run(tmp_path, "scaler", *(word for one in more for word in ("--set", one)))
    assert code == 0 and summary["models_compared"] == 0, output


@pytest.mark.slow
def test_resumed(tmp_path):
    """A checkpoint that training has filled with NaN is none that began so: the next comparison finds it.  Numbers
    drawn behind it are those of a job that went on, also where the script seeds each step."""
    script = tmp_path / "resumed.py"
    script.write_text("""import os
import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

import eddis.torch as eddis

torch.manual_seed(0)
x = torch.randn(16 * 30, 8)
loader = eddis.loader(DataLoader(TensorDataset(x, x.sum(1)), batch_size=16))
model = torch.nn.Linear(8, 1)
optimizer = eddis.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.01), model=model)
state = eddis.State(model=model, optimizer=optimizer, n=0)
for epoch in loader.epochs(1):
    for a, b in loader:
        print("draw", eddis.rank(), state.n, torch.rand(()).item(), flush=True)
        optimizer.zero_grad()
        bad = sys.argv[1] == "nan" and state.n == 6
        ((model(a)[:, 0] - b).square().mean() * (float("nan") if bad else 1)).backward()
        optimizer.step()
        torch.manual_seed(100 + state.n)
        state.n += 1
        if state.n == 14 and eddis.rank() == 1 and not state.resumed and sys.argv[1] != "whole":
            os.kill(os.getpid(), 9)
""")

    def run(how, checks):
        code, output = ended(tmp_path, *job(script, how, options=["-n", 2, "--job-dir", tmp_path / how],
                                            batch__global=16, sync__mode="sync", checkpoint__every=10,
                                            checks__models=checks, restarts=1))
        with open(tmp_path / how / "logs/rank-0001.log") as f:
            return code, output, [line for line in f if line.startswith("draw 1 1")]

    whole, resumed = run("whole", "off"), run("killed", "off")
    assert whole[0] == resumed[0] == 0 and set(resumed[2]) == set(whole[2]) and len(whole[2]) == 11, (whole, resumed)
    code, output, _ = run("nan", 20)
    assert code == 1 and "the model holds NaN or infinity on all workers" in output, output
    assert "from the start" not in output, output
