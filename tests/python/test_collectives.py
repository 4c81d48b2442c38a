# SPDX-License-Identifier: Apache-2.0
"""test_collectives.py - what workers tell each other, and eddis-run"""

from __future__ import annotations

import json
import pathlib

import pytest

from started import ended, said

UNMAPS = "env", "MALLOC_MMAP_THRESHOLD_=65536"  # what is freed of the memory of tensors
PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"


def test_collectives(tmp_path):
    output = said(tmp_path, "eddis-run", "--set", "batch.global=6", "--set", "restarts=0", "--set",
                  "profile.emulate=[{rate: 1, a_ms: 1, c_ms: 0.5}, {rate: 1}, {rate: 1}]", "--", "python3",
                  PROGRAMS / "collectives.py")
    assert all(f"rank {rank} is done\n" in output for rank in range(3)), output


@pytest.mark.slow
def test_raised(tmp_path):
    """A signal's handler raises in mid-wait, and the script goes on: memory that the library still writes is kept."""
    output = said(tmp_path, *UNMAPS, "eddis-run", "-n", "2", "--set", "restarts=0", "--", "python3",
                  PROGRAMS / "raised.py", "collective", tmp_path / "raised")
    assert "nothing is written" in output, output


def test_raised_in_pass(tmp_path):
    """The same while gradients are combined; an optimizer takes no step by such."""
    code, output = ended(tmp_path, *UNMAPS, "eddis-run", "-n", "2", "--set", "restarts=0", "--", "python3",
                         PROGRAMS / "raised.py", "gradients", tmp_path / "raised")
    assert "nothing is written" in output, output
    assert code == 1 and "parameters has begun and not ended" in output, output


def test_progress(tmp_path):
    """Of a script that wants nothing else: steps and samples of both workers."""
    said(tmp_path, "eddis-run", "-n", "2", "--", "python3", PROGRAMS / "watched.py")
    metrics, = tmp_path.glob("state/eddis/jobs/*/metrics.jsonl")
    told = json.loads(metrics.read_text().splitlines()[-1])
    assert (told["steps_done"], told["samples"]) == (6, 60), told
