# SPDX-License-Identifier: Apache-2.0
"""test_attach_endings.py - an attached model, of which one rank fails, hangs, or does something else than the others"""

from __future__ import annotations

import pathlib
import re
import shutil
import signal
import sys

import pytest
import torch

import attached
import kept
import training
from rows import slow
from started import PROGRAMS, ended, job

HANG_S = 15  # a busy machine may keep a rank from its step for some of it, above all after the last one
DEVICES = "[{rate: 0.2, a_ms: 2, c_ms: 4}, {rate: 0.4}, {rate: 1}]"  # samples 1:2:5
KEPT = "norm=1"  # what is computed equals an unbroken run to the last bit


def started(folder: pathlib.Path, *options: str, **settings: object) -> tuple[int, str]:
    """Return the exit code of the job, and what it printed."""
    told = {"batch__global": 24, "batch__rebalance": "off", "checkpoint__every": 8, **settings}
    return ended(folder, *job(PROGRAMS / "attached_endings.py", folder, *options, devices=DEVICES, **told))


def results(folder: pathlib.Path) -> list[dict]:
    """Return what each rank wrote down at the end."""
    return [torch.load(path) for path in sorted(folder.glob("[0-9].pt"))]


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unbroken")
    code, output = started(folder, KEPT)
    assert code == 0, output
    return results(folder)


def blamed(output: str) -> list[str]:
    """Return the ranks that eddis-run blames for failures, in order."""
    return re.findall(r"^eddis-run: (?:before that: )?rank (\d+) \(node [^)]*\) (?:died|exited|has made|has ended)",
                      output, re.MULTILINE)


def assert_like(ranks, unbroken):
    """Every rank ended with the bits of the unbroken run, after a restart."""
    assert len(ranks) == len(unbroken)
    for rank, expected in zip(ranks, unbroken):
        assert rank["resumed"] and not expected["resumed"]
        assert all(rank[name] == expected[name] for name in ("scale", "steps", "finite"))
        assert all(torch.equal(a, b) for a, b in zip(rank["model"], expected["model"], strict=True))


@pytest.mark.parametrize("do, where, told", [
    slow("kill", "forward", r"rank 1 \(.*\) died of signal 9 \(Killed\) at step 13"),
    slow("kill", "between", r"rank 1 \(.*\) died of signal 9 \(Killed\) at step 13"),
    slow("raise", "forward", r"rank 1 \(.*\) exited 1 at step 13"),
    slow("freeze", "forward", r"rank 1 \(.*\) was suspended by a signal and did not continue: killed")])
def test_restarted(tmp_path, unbroken, do, where, told):
    """The ranks that gloo failed on are not blamed.  The restart has the bits of the unbroken run."""
    limit = f"{HANG_S}s" if do == "freeze" else "1h"
    code, output = started(tmp_path, f"do={do}", "at=1:13", f"where={where}", KEPT, timeouts__hang=limit)
    assert code == 0 and re.search(told, output) and "restarting from step 8" in output, output
    assert blamed(output)[:1 if do == "freeze" else None] == ["1"], output
    print(re.findall(r"\(.* from the last failure to the next step\)", output))
    assert_like(results(tmp_path), unbroken)


@pytest.mark.slow
@pytest.mark.parametrize("by, exit_code", [(signal.SIGTERM, 75), (signal.SIGUSR1, 75)])
def test_signalled(tmp_path, unbroken, by, exit_code):
    """SIGTERM and SIGUSR1, as Slurm sends them, save first: the step is of no period.  The job that resumes has the
    bits of the unbroken run."""
    folder = tmp_path / "run"
    folder.mkdir()

    def command(*options):
        return [*map(str, job(PROGRAMS / "attached_endings.py", folder, KEPT, *options, devices=DEVICES,
                              batch__global=24, batch__rebalance="off", checkpoint__every=1000))]
    code, output = kept.end_by(folder, by, command("do=wait", "at=1:13"))
    assert code == exit_code and re.search(r"stopped by .* at step (\d+); newest checkpoint: step \1;", output), output
    code, output = kept.resumed(tmp_path, re.search(r"job (\S+)", output)[1], command())
    assert code == 0, output
    assert_like(results(folder), unbroken)


@pytest.mark.slow
def test_rounded(tmp_path):
    """DistributedDataParallel orders its buckets anew after the first step of a start, so a restart's first step sums
    up in another order."""
    folders = tmp_path / "unbroken", tmp_path / "killed"
    for folder, options in zip(folders, ((), ("do=kill", "at=1:13"))):
        folder.mkdir()
        code, output = started(folder, *options)
        assert code == 0, output
    for rank, expected in zip(*map(results, folders), strict=True):
        assert training.largest(zip(rank["model"], expected["model"], strict=True)) < 1e-12


@pytest.mark.parametrize("what", ["nan", "inf"])
@pytest.mark.slow
def test_skipped(tmp_path, what):
    """GradScaler sees the combined gradients, so one rank's loss makes all ranks skip the step."""
    code, output = started(tmp_path, f"do={what}", "at=1:5", "epochs=2")
    assert code == 0 and "the loss of rank 1" in output and "was not finite" in output, output
    ranks = results(tmp_path)
    assert [(rank["scale"], rank["finite"]) for rank in ranks] == [(1024.0, 16), (1024.0, 15), (1024.0, 16)]
    for rank in ranks:
        assert all(p.isfinite().all() and torch.equal(p, q)
                   for p, q in zip(rank["model"], ranks[0]["model"], strict=True))


@pytest.mark.parametrize("checks, code, told, staging", [
    ("off", 0, "done in", ""), ("off", 0, "done in", "cpu"), ("4", 1, "the model holds NaN or infinity", "")])
@pytest.mark.slow
def test_not_a_number(tmp_path, monkeypatch, checks, code, told, staging):
    """Without GradScaler one rank's loss spoils the models of all ranks, as without eddis, which ends such a job.  The
    loss has the number of its own step, also if a device gives it later."""
    monkeypatch.setenv("EDDIS_TORCH_STAGING", staging)
    found, output = started(tmp_path, "do=nan", "at=1:5", "epochs=2", "scaler=0", checks__models=checks, restarts=0)
    assert found == code and told in output, output
    assert re.search("the loss of rank 1 .* at step 6 was not finite", output), output
    ranks = results(tmp_path)
    assert len(ranks) == (0 if code else 3) and all(p.isnan().any() for rank in ranks for p in rank["model"])


@pytest.mark.parametrize("options, doing", [
    ((), "computing; ranks 0, 2 wait for it"), slow(("where=between",), "computing; ranks 0, 2 wait for it"),
    slow(("reduce=1",), "computing"), slow(("with=fsdp",), "computing; ranks 0, 2 wait for it")],
                         ids=["forward", "between", "reduce", "fsdp"])
def test_hangs(tmp_path, options, doing):
    """A rank that hangs is blamed, although the others wait inside of torch.distributed."""
    if "with=fsdp" in options and (attached.fully_shard is None or torch.__version__ < "2.7"):
        pytest.skip("fully_shard of this PyTorch does not run on CPUs")
    code, output = started(tmp_path, "do=sleep", "at=1:5", "epochs=1", *options, timeouts__hang=f"{HANG_S}s",
                           restarts=0)
    assert code == 124 and blamed(output) == ["1"] and f"last step 4, {doing}" in output, output


@pytest.mark.parametrize("do, code, told", [
    slow("break", 124, "waiting for other ranks, which wait in a collective operation that it does not make"),
    slow("leave", 124, r"has ended its steps with step \d+, but rank \d waits for it in the next step"),
    slow("continue", 1, "ends without a backward pass that combines gradients")])
def test_alone(tmp_path, do, code, told):
    """A rank that leaves a loop or its body alone is blamed, with what to do about it."""
    found, output = started(tmp_path, f"do={do}", "at=1:5", "epochs=1", timeouts__hang=f"{HANG_S}s", restarts=0)
    assert found == code and blamed(output) == ["1"] and re.search(told, output), output


@pytest.mark.slow
@pytest.mark.parametrize("options, told", [
    (("do=forward", KEPT), r"all ranks wait for each other \(make the same passes on all ranks"),
    (("do=sleep", "where=before", "reduce=1"),
     r"computing; ranks 0, 2 wait for it: it is in .*; rank 0 waits in all_reduce")])
def test_located(tmp_path, options, told):
    """A rank that makes one forward pass more waits for buffers that nobody sends; one hangs before a collective of the
    script, in which the others are.  Their source lines tell."""
    python = pathlib.Path(sys.executable)
    if not (python.parent / "py-spy").exists() and not shutil.which("py-spy"):
        pytest.skip("there is no py-spy beside this Python: python3 -m pip install py-spy")
    code, output = started(tmp_path, "at=1:5", "epochs=1", *options, timeouts__hang=f"{HANG_S}s", restarts=0)
    assert code == 124 and blamed(output) == ["1"] and re.search(told, output), output
