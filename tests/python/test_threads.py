# SPDX-License-Identifier: Apache-2.0
"""test_threads.py - backward passes of threads, and inside of one another"""

from __future__ import annotations

import re

import pytest

from rows import slow
from started import PROGRAMS, job, said



@pytest.mark.parametrize("staged", ["no", slow("cpu")])
def test_threads(tmp_path, monkeypatch, staged):
    monkeypatch.setenv("EDDIS_TORCH_STAGING", staged)
    output = said(tmp_path, *job(PROGRAMS / "threads.py", devices="[{rate: 1, a_ms: 1, c_ms: 0.5}, {rate: 1}]",
                                 batch__global=8, sync__mode="sync", restarts=0))
    told = dict(re.findall(r"^\S+: ([a-z ]+): (.*)$", output, re.M))
    refused = told.pop("at once")
    assert told == dict.fromkeys(["by another", "by two", "inside", "recomputed", "recomputed inside"], "equal"), output
    assert refused.startswith("two backward passes of one optimizer's parameters at once"), output
