# SPDX-License-Identifier: Apache-2.0
"""test_changed.py - scripts that change parameters in the midst of training, or whose backward passes fail"""

from __future__ import annotations

import pytest

from rows import slow
from started import PROGRAMS, ended, job

PROGRAM = PROGRAMS / "changed.py"
KIND = "' is of another type, size or device than at the first step: convert and move"
BEGUN = "RuntimeError: a backward pass of this optimizer's parameters has begun and not ended"


def run(tmp_path, what, mode="sync"):
    settings = {"sync__period": 2} if mode != "sync" else {}
    devices = "{rate: 1, a_ms: 1, c_ms: 0.5}, {rate: 0.7}"
    if mode == "hybrid":
        settings["sync__groups"] = "[[0, 1], [2, 3]]"
        devices += ", {rate: 1}, {rate: 0.7}"
    return ended(tmp_path, *job(PROGRAM, what, devices=f"[{devices}]", batch__global=8, sync__mode=mode, restarts=0,
                                **settings))


@pytest.mark.parametrize("mode", ["hybrid", slow("async"), slow("sync")])
def test_memory(tmp_path, mode):
    """The common model is read from where the parameters are, and written there."""
    code, output = run(tmp_path, "memory", mode)
    assert code == 0 and "apart 0\n" in output, output
    assert mode != "hybrid" or "apart in groups 0\n" in output, output


@pytest.mark.parametrize("mode", ["sync", slow("async")])
def test_type(tmp_path, mode):
    code, output = run(tmp_path, "type", mode)
    assert code == 1 and KIND in output, output


def test_failed(tmp_path):
    """Neither a step nor another pass goes on with gradients of this worker alone."""
    code, output = run(tmp_path, "failed")
    assert code == 1 and output.count(BEGUN) >= 2 and "twice in one backward pass" not in output, output


@pytest.mark.slow
def test_begun(tmp_path):
    """Nothing was on its way."""
    code, output = run(tmp_path, "begun")
    assert code == 0 and "ArithmeticError" in output and "apart 0\n" in output, output


def test_view(tmp_path):
    """What one sample's gradient is added to has its memory; buckets leave at once."""
    code, output = ended(tmp_path, *job(PROGRAM, "view", options=["-n", "2"], batch__global=2, sync__mode="sync",
                                        restarts=0, communication__bucket_mb=0.001))
    assert code == 0 and output.count("changed 0\n") and "changed" not in output.replace("changed 0\n", ""), output
