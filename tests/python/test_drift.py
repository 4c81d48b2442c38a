# SPDX-License-Identifier: Apache-2.0
"""test_drift.py - workers whose models are not one any more, and losses that are no numbers, are told of"""

from __future__ import annotations

import json
import pathlib

import pytest
from rows import slow
from started import ended

PROGRAM = pathlib.Path(__file__).resolve().parent / "programs/drifting.py"
WORKERS = "profile.emulate=[{rate: 1, a_ms: 2, c_ms: 0.3}, {rate: 0.5}, {rate: 0.2}]"


def run(tmp_path, how, *more):
    """Its exit code, all that it said, and its summary."""
    code, output = ended(tmp_path, "eddis-run", "--set", WORKERS, "--set", "batch.global=48", "--set", "sync.mode=sync",
                         "--restarts", "0", *more, "--job-dir", tmp_path / "job", "--", "python3", PROGRAM, how)
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
    assert "from a generator seeded alike (torch.Generator), or write checks: {models: off}" in output, output
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
