# SPDX-License-Identifier: Apache-2.0
"""test_precision.py - the precision in which a script computes is reported, and decides the plan of the fake GPUs of
tests/gpu/fake_cards.h"""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess

import pytest

from started import BUILD, MINUTES, environment, job, said, script

SPEEDS = 6.0, 3.4, 1.0  # of an A100, a V100 and a 1080 Ti with mixed precision, relative to the last one
BATCH = 256

# Each rank takes the time that its card would take; the best step is a quarter of a second.
MIXED = f"""
import time

unit_s = 0.25 * sum({SPEEDS}) / {BATCH}
model = torch.nn.Linear(4, 1)
optimizer = eddis.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model=model)
loader = eddis.loader(data.DataLoader(data.TensorDataset(torch.randn({BATCH} * 14, 4)), batch_size={BATCH}))
for epoch in loader.epochs(1):
    for x, in loader:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = model(x).float().pow(2).mean()
        time.sleep(len(x) * unit_s / {SPEEDS}[eddis.rank()])
        loss.backward()
        optimizer.step()
"""


def best_s() -> float:
    """The shortest step of all splits of the batch."""
    return min(longest_s((a, b, BATCH - a - b)) for a in range(1, BATCH) for b in range(1, BATCH - a))


def longest_s(batches: tuple[int, ...]) -> float:
    return max(n / speed for n, speed in zip(batches, SPEEDS))


def run(tmp_path: pathlib.Path, folder: pathlib.Path) -> list[tuple[int, dict]]:
    """The plans of a job on the three cards, each with its first step."""
    fakes = {"LD_LIBRARY_PATH": str(BUILD / "tests/gpu"), "FAKE_GPUS": "A100,V100,1080Ti", "FAKE_CUDA": "",
             "FAKE_SALT": str(os.getpid()), "CUDA_VISIBLE_DEVICES": "0,1,2"}
    command = job(tmp_path / "script.py", options=["--job-dir", folder], batch__global=BATCH, sync__mode="sync",
                  batch__max=BATCH)  # else the first plan is by the GPUs' memory
    done = subprocess.run([*map(str, command)], cwd=tmp_path, env={**environment(tmp_path), **fakes}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=MINUTES)
    assert done.returncode == 0, done.stdout
    since = {1: 0}
    for line in (folder / "events.jsonl").read_text().splitlines():
        if match := re.search(r"version (\d+) from step (\d+)", json.loads(line).get("text", "")):
            since[int(match[1])] = int(match[2])
    plans = [json.loads(path.read_text()) for path in folder.glob("plan*.json")]
    by_version = {plan["version"]: plan for plan in plans}
    return [(since[version], plan) for version, plan in sorted(by_version.items()) if version in since]


def quality(plan: dict) -> float:
    """How near its step is to the best one; 1: it is."""
    return best_s() / longest_s(tuple(worker["batch"] for worker in plan["workers"]))


@pytest.mark.slow  # test_gpus.py has a short one of C
def test_mixed_precision(tmp_path: pathlib.Path) -> None:
    """The first plan is by the rates in fp32; soon after the first step it is by those in fp16, which the next job of
    the same program begins with."""
    script(tmp_path, MIXED)
    plans = run(tmp_path, tmp_path / "first")
    assert plans[0][1]["precision"] == "fp32" and quality(plans[0][1]) < 0.7, plans
    by_ten = [plan for since, plan in plans if since <= 10][-1]
    assert quality(by_ten) >= 0.9, [(since, plan["change"], quality(plan)) for since, plan in plans]
    assert plans[1][1]["precision"] == "fp16", plans
    script(tmp_path, MIXED.replace("* 14", "* 2"))  # of this job the first plan matters alone
    assert run(tmp_path, tmp_path / "second")[0][1]["precision"] == "fp16"


CASES = """
from eddis._worker import worker
from eddis.torch import _precision

linear = lambda: torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 2))


class Inside(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = linear()

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.layers(x)


def reported(make, *, autocast=None, compiled=False, named=False):
    \"\"\"What the first step with this model reports.\"\"\"
    for kept in _precision._models, _precision._parameters, _precision._hooks:
        kept.clear()
    _precision._seen.autocast = _precision._seen.own = None
    _precision._is_reported = False
    worker.report.precision, worker.step.count = None, 1
    model = make()
    _precision.report_precision(None if named else model, model.parameters())
    if compiled:  # once, also when the hooks have done their work
        torch._dynamo.config.error_on_recompile = True
        model = torch.compile(model, backend="eager", fullgraph=True)
    _precision._begin()
    _precision._report()
    assert named or worker.report.precision is None, "no module was called yet"
    type = next(model.parameters()).dtype
    for _ in range(2):
        with torch.autocast("cpu", dtype=autocast or torch.bfloat16, enabled=bool(autocast)):
            model(torch.ones(4, 8, dtype=type))
        _precision._report()
    assert compiled or not any(module._forward_pre_hooks for module in model.modules())
    return (worker.report.precision or b"none").decode()


print(reported(linear), reported(linear, autocast=torch.float16), reported(linear, autocast=torch.bfloat16),
      reported(Inside), reported(lambda: linear().bfloat16()), reported(lambda: linear().double()),
      reported(linear, named=True), reported(lambda: linear().half(), named=True),
      reported(linear, autocast=torch.float16, compiled=True))

settings = torch.backends.cuda.matmul, torch.backends.cudnn
allows = _precision._is_tf32
print(allows(settings[0], settings[0]), allows(getattr(settings[1], "conv", None), settings[1]))
settings[0].allow_tf32, settings[1].allow_tf32 = True, False
print(allows(settings[0], settings[0]), allows(getattr(settings[1], "conv", None), settings[1]))
"""


def test_what_is_reported(tmp_path: pathlib.Path) -> None:
    """Autocast, around the model or inside of it, the type of the parameters, and torch's settings of TF32."""
    lines = said(tmp_path, "python3", script(tmp_path, CASES)).splitlines()
    assert lines == ["fp32 fp16 bf16 bf16 bf16 fp32 none fp16 fp16", "False True", "True False"]
