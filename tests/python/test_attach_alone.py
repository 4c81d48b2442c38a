# SPDX-License-Identifier: Apache-2.0
"""test_attach_alone.py - `attach` alone in a plain script of torch.distributed: a slow rank is named, and no other"""

from __future__ import annotations

import json
import pathlib

import pytest
import torch

import attached
from rows import slow
from started import PROGRAMS, ended

PROGRAM = PROGRAMS / "attached_alone.py"
PACE_MS = 30
STEPS = 120


def steps_of(folder: pathlib.Path, *arguments: object, ranks: int = 4) -> tuple[list[dict], dict, str]:
    """Return the events about slow ranks, the summary, and what the job printed."""
    code, output = ended(folder, "eddis-run", "-n", str(ranks), "--job-dir", folder / "job", "--", "python3", PROGRAM,
                         *arguments)
    assert code == 0, output
    events = [json.loads(line) for line in (folder / "job/events.jsonl").read_text().splitlines()]
    return ([event for event in events if event["type"].startswith("straggler")],
            json.loads((folder / "job/summary.json").read_text()), output)


@pytest.mark.parametrize("kind", ["ddp", slow("no-sync"), slow("fsdp")])
def test_slow(tmp_path, kind):
    """One rank becomes three times as slow: all steps last three times as long, and this rank alone is named."""
    if kind == "fsdp" and (attached.fully_shard is None or torch.__version__ < "2.7"):
        pytest.skip("fully_shard of this PyTorch does not run on CPUs")
    found, summary, output = steps_of(tmp_path, kind, STEPS, PACE_MS, 2, 3, STEPS // 2)
    assert [(event["type"], event["rank"]) for event in found] == [("straggler", 2)], (found, output)
    assert summary["steps_done"] == STEPS and summary["samples_per_s"] is None, summary
    slow_ms = [row["compute_ms"] for row in summary["workers"]]
    assert max(slow_ms) == slow_ms[2], slow_ms
    assert "rank 2 on" in output and "the program divides its data itself" in output, output


@pytest.mark.slow
def test_equal(tmp_path):
    found, summary, output = steps_of(tmp_path, "ddp", STEPS, PACE_MS, 2, 1, 0)
    assert not found and "no stragglers" in output, (found, output)


def test_one_rank(tmp_path):
    """A save in a job of one worker does not join the job: its steps are still reported."""
    _, summary, output = steps_of(tmp_path, "ddp", 20, 1, 2, 1, 0, ranks=1)
    assert summary["steps_done"] == 20, output
