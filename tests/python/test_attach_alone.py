# SPDX-License-Identifier: Apache-2.0
"""test_attach_alone.py - `attach` alone in a plain script of torch.distributed: a slow rank is named, and no other"""

from __future__ import annotations

import json
import pathlib

import pytest
import torch

import attached
from rows import slow
from started import PROGRAMS, ended, job, script

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


@pytest.mark.parametrize("kind", ["ddp", slow("no-sync"), slow("fsdp"), slow("loss")])
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


MARKS = """import functools
import time
from eddis._worker import Mark, worker

torch.distributed.init_process_group("gloo")
loader = eddis.loader(data.DataLoader(data.TensorDataset(torch.ones(16, 1)), batch_size=4))
model = eddis.attach(torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1)))
marks = []
for what in Mark.WAITS, Mark.GOES_ON:
    worker.marks[what].append(functools.partial(marks.append, what))
for epoch in loader.epochs(1):
    for x, in loader:
        marks.clear()
        torch.distributed.all_reduce(torch.ones(1))
        torch.distributed.barrier(async_op=True).wait()
        assert marks == [Mark.WAITS, Mark.GOES_ON] * 2, marks
        eddis.weighted(model(x).mean()).backward()
        assert marks[1::2] == [Mark.GOES_ON] * (len(marks) // 2), marks
work = torch.distributed.all_reduce(torch.ones(1), async_op=True)
work.wait()
began = time.perf_counter()
for _ in range(20000):
    work.wait()
print(f"waited {(time.perf_counter() - began) / 20000 * 1e6:.2f} us")
"""


def test_marks_in_the_loop(tmp_path):
    """In the loop over the loader, too, the script's own collectives count as waits."""
    code, output = ended(tmp_path, *job(script(tmp_path, MARKS), options=["-n", "2"]))
    assert code == 0, output
