# SPDX-License-Identifier: Apache-2.0
"""test_collectives.py - what workers tell each other, and eddis-run"""

from __future__ import annotations

import json

import pytest

from started import PROGRAMS, ended, job, said

UNMAPS = "env", "MALLOC_MMAP_THRESHOLD_=65536"  # what is freed of the memory of tensors


def test_collectives(tmp_path):
    output = said(tmp_path, *job(PROGRAMS / "collectives.py", batch__global=6, restarts=0,
                                 devices="[{rate: 1, a_ms: 1, c_ms: 0.5}, {rate: 1}, {rate: 1}]"))
    assert all(f"rank {rank} is done\n" in output for rank in range(3)), output


def raised(tmp_path, where):
    return [*UNMAPS, *job(PROGRAMS / "raised.py", where, tmp_path / "raised", options=["-n", "2"], restarts=0)]


@pytest.mark.slow
def test_raised(tmp_path):
    """A signal's handler raises in mid-wait, and the script goes on: memory that the library still writes is kept."""
    output = said(tmp_path, *raised(tmp_path, "collective"))
    assert "nothing is written" in output, output


def test_raised_in_pass(tmp_path):
    """The same while gradients are combined; an optimizer takes no step by such."""
    code, output = ended(tmp_path, *raised(tmp_path, "gradients"))
    assert "nothing is written" in output, output
    assert code == 1 and "parameters has begun and not ended" in output, output


@pytest.mark.slow
def test_progress(tmp_path):
    """Of a script that wants nothing else: steps and samples of both workers."""
    said(tmp_path, "eddis-run", "-n", "2", "--", "python3", PROGRAMS / "watched.py")
    metrics, = tmp_path.glob("state/eddis/jobs/*/metrics.jsonl")
    told = json.loads(metrics.read_text().splitlines()[-1])
    assert (told["steps_done"], told["samples"]) == (6, 60), told
