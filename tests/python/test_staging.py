# SPDX-License-Identifier: Apache-2.0
"""test_staging.py - parameters of a device, whose gradients and values take the way over the host's memory, train as
those of the CPU do; EDDIS_TORCH_STAGING has the CPU take that way"""

from __future__ import annotations

import re

import pytest
import torch

import kinds
from rows import slow
from started import PROGRAMS, ended, job, said
from test_batchnorm import check_common, check_equal, trained
from test_equality import NONE

DEVICES = "[{rate: 1, a_ms: 1, c_ms: 0.5}, {rate: 2}, {rate: 5}]"


@pytest.mark.slow
def test_sync(tmp_path, monkeypatch):
    """The same bits with some parameters on a device, also of a worker without samples."""
    job, plain, staged = (tmp_path / name for name in ("job", "plain", "staged"))
    plain.mkdir()
    staged.mkdir()
    expected = trained(plain, "sync", DEVICES, 98, 1, "--job-dir", job)
    monkeypatch.setenv("EDDIS_TORCH_STAGING", "some")
    for worker, other in zip(trained(staged, "sync", DEVICES, 98, 1, "--plan", job), expected):
        assert worker["staged"] and not other["staged"]
        for when in ("before", "last", "after"):
            for name, state in worker[when].items():
                for key, value in state.items():
                    assert torch.equal(value, other[when][name][key]), (when, name, key)


@pytest.mark.slow
def test_groups(tmp_path, monkeypatch):
    """Gradients over the group, and values to the common model and back."""
    monkeypatch.setenv("EDDIS_TORCH_STAGING", "cpu")
    workers = trained(tmp_path, "hybrid", "[{rate: 1, a_ms: 1, c_ms: 0.5}, {rate: 3}, {rate: 2}, {rate: 2}]", 96, 1,
                      "--set", "sync.groups=[[0, 1], [2, 3]]", "--set", "sync.period=1000")
    assert all(worker["staged"] for worker in workers)
    check_equal(workers, few=True)
    check_common(workers)


def test_alone(tmp_path, monkeypatch):
    """Values go to the common model and come back in every step."""
    monkeypatch.setenv("EDDIS_TORCH_STAGING", "cpu")
    workers = trained(tmp_path, "async", "[{rate: 1, a_ms: 1, c_ms: 0.5}, {rate: 2}]", 80, 1, "--set", "sync.period=1")
    check_common(workers)
    for name, state in workers[0]["after"].items():
        assert not any(torch.equal(value, workers[0]["before"][name][key]) for key, value in state.items()
                       if value.is_floating_point() and key not in ("mask", "4.weight", "4.bias")), name


@pytest.mark.slow
def test_rounds(tmp_path, monkeypatch):
    """A backward pass that reaches the parameters of two optimizers, one of which has many: on a worker without samples
    no gradient waits for others."""
    monkeypatch.setenv("EDDIS_TORCH_STAGING", "cpu")
    ranks = kinds.job(tmp_path, "scripts", "epochs=1", **NONE)
    assert all(rank["staged"] for rank in ranks) and not any(ranks[0]["samples"])
    assert not kinds.too_far(kinds.one_process("scripts", ranks), ranks)


@pytest.mark.parametrize("program", ["device.py", "fake_gpus.py"])
def test_parts(tmp_path, program):
    said(tmp_path, "python3", PROGRAMS / program)


@pytest.mark.parametrize("rate", [0.001, slow(1)])
def test_late(tmp_path, monkeypatch, rate):
    """Results are not written where a device still reads those before: of a worker without samples, and of one that
    uses no parameter of the device."""
    monkeypatch.setenv("EDDIS_TORCH_STAGING", "some")
    output = said(tmp_path, *job(PROGRAMS / "late.py", devices=f"[{{rate: {rate}, a_ms: 5, c_ms: 1}}, {{rate: 1}}]",
                                 batch__global=2, batch__min=0, batch__rebalance="off", restarts=0))
    assert output.count("changed 0\n") == 2, output


def test_left(tmp_path, monkeypatch):
    """A loop left by break takes nothing from a device that has still to read the step before's results."""
    monkeypatch.setenv("EDDIS_TORCH_STAGING", "cpu")
    output = said(tmp_path, *job(PROGRAMS / "late_end.py", devices="[{rate: 1, a_ms: 5, c_ms: 1}, {rate: 1}]",
                                 batch__global=4, batch__rebalance="off", restarts=0))
    assert output.count("gradients 3.000 5.000\n") == 2, output


@pytest.mark.parametrize("n, few", [slow(2, ()), slow(3, ()), (4, ()), slow(4, (4,)), (2, (3, "float16")),
                                    slow(4, (3, "bfloat16"))])
def test_one_pass(tmp_path, monkeypatch, n, few):
    """The host only adds: a device copies weighted gradients to where they are added, and sums from there, each once,
    the first before the last have come.  Memory is locked for the gradients of a worker and the sums of its node, the
    latter for at most a quarter of all workers' gradients."""
    monkeypatch.setenv("EDDIS_TORCH_STAGING", "cpu")
    devices = ", ".join(["{rate: 1, a_ms: 5, c_ms: 1}"] * n)
    output = said(tmp_path, *job(PROGRAMS / "one_pass.py", *few, devices=f"[{devices}]", batch__global=8,
                                 batch__rebalance="off", restarts=0))
    rows = re.findall(r"out 100 back 100 locked (\d+) (\d+) gradients (\S+)\n", output)
    assert len(rows) == n and len({total for _, _, total in rows}) == 1, output
    locked = sum(int(gradients) for gradients, _, _ in rows) + max(int(results) for _, results, _ in rows)
    assert locked == (125 * n if n == 4 and few != (4,) else 100 * n), output


@pytest.mark.slow
def test_compiled(tmp_path, monkeypatch):
    """Copies begin while a compiled model's backward pass computes: where PyTorch divides its graph, and where the
    script compiles its blocks.  A graph that PyTorch refuses to divide stays whole, with a warning.  The model trains
    like one that is not compiled."""
    monkeypatch.setenv("EDDIS_TORCH_STAGING", "cpu")
    code, output = ended(tmp_path, *job(PROGRAMS / "compiled.py", devices="[{rate: 1, a_ms: 5, c_ms: 1}, {rate: 1}]",
                                        batch__global=8, batch__rebalance="off", restarts=0))
    assert not code, output
    whole, divided = "graphs 1 overlap False", "graphs 2 overlap True"
    refuses = "cannot divide a graph with activation checkpoints" in output
    assert refuses or torch.__version__ >= "2.15", output
    expected = {"before": divided, "after": divided, "in_place": divided, "undivided": whole,
                "checkpoints": whole if refuses else divided, "blocks": "graphs 3 overlap True"}
    for way, graphs in expected.items():
        assert output.count(f"{way} {graphs} same True\n") == 2, output
