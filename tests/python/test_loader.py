# SPDX-License-Identifier: Apache-2.0
"""test_loader.py - batches of loaders: whose size they are, alone, under mpirun and where the plan changes"""

from __future__ import annotations

import pathlib
import re

import pytest

from started import ended, said

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
BATCHES = PROGRAMS / "batches.py"


@pytest.mark.parametrize("options, told", [
    (("samples=600", "batch=256", "epochs=2"), "[256, 256, 88, 256, 256, 88], 3 an epoch"),
    pytest.param(("samples=100", "batch=32", "sampler=1"), "[32, 32, 32], 3 an epoch", marks=pytest.mark.slow)])
def test_alone(tmp_path, options, told):
    """Those that the script says, as without eddis."""
    assert said(tmp_path, "python3", BATCHES, *options) == f"rank 0: {told}\n"


def test_mpirun(tmp_path):
    """Each worker has its own of the size that the script says."""
    output = said(tmp_path, "mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", "python3", BATCHES,
                  "samples=300", "batch=48")
    # mpirun may put one's line amidst the other's.
    lines = re.findall(r"rank \d: [^r]*epoch", output)
    assert sorted(lines) == [f"rank {rank}: [48, 48, 48, 6], 4 an epoch" for rank in range(2)]


@pytest.mark.slow
def test_joined_before(tmp_path):
    """By a collective, when nobody knew the size."""
    code, output = ended(tmp_path, "python3", BATCHES, "samples=600", "batch=256", "early=1")
    assert code == 1 and "RuntimeError: the job was joined with batches of 64 samples" in output, output


def test_unlike_loaders(tmp_path):
    code, output = ended(tmp_path, "mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", "python3", BATCHES,
                         "samples=60", "batch=8", "loaders=0,2")
    assert code == 1 and "say the most of all workers by eddis.torch.init(read_ahead=)" in output, output
