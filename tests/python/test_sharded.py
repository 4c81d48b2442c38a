# SPDX-License-Identifier: Apache-2.0
"""test_sharded.py - models of fully_shard that the script saves in the job's checkpoints, by programs/sharded.py"""

from __future__ import annotations

import os
import re
import signal

import pytest
import torch

import attached
import kept
import started
from rows import slow
from started import PROGRAMS, ended

SAMPLES, EPOCHS, STEPS = 96, 4, 32
DEVICES = ("{rate: 1.0, a_ms: 4, c_ms: 0.5}", "{rate: 0.8}", "{rate: 0.6}", "{rate: 0.9}")

pytestmark = pytest.mark.skipif(attached.fully_shard is None or torch.__version__ < "2.7",
                                reason="fully_shard of this PyTorch does not run on CPUs")


def job(folder, *options, workers=3, **settings):
    """The command of one that saves every 4 steps, by fixed shares."""
    told = {"batch__global": 12, "batch__rebalance": "off", "checkpoint__every": 4, **settings}
    return started.job(PROGRAMS / "sharded.py", folder, *options, devices=f"[{', '.join(DEVICES[:workers])}]", **told)


def run(folder, *options, **settings):
    return ended(folder.parent, *job(folder, *options, **settings))


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unbroken") / "out"
    code, output = run(folder)
    assert code == 0 and "no checkpoint is written" not in output, output
    return folder


def checkpoints(folder):
    """The folders of the job's checkpoints, oldest first."""
    return sorted(folder.parent.glob("state/eddis/jobs/*/checkpoints/step-*"))


def assert_equal(folder, unbroken, *parts):
    """The result has the same bits; the parts are of each rank its steps, and these are the same, too."""
    one, other = (torch.load(run / "model.pt") for run in (folder, unbroken))
    assert all(torch.equal(one[name], other[name]) for name in other)
    for rank, rows in kept.lines(unbroken).items():
        assert [row for part in parts for row in part[rank]] == kept.steps(rows), rank


def before_last(folder, generation, n):
    """Of each rank the steps before its newest checkpoint but n."""
    told = {}
    for rank, rows in kept.lines(folder, generation).items():
        ends = [i for i, row in enumerate(rows) if "kept" in row]
        told[rank] = kept.steps(rows[:ends[-1 - n]])
    return told


def rest(folder, generation):
    return {rank: kept.steps(rows) for rank, rows in kept.lines(folder, generation).items()}


@pytest.mark.slow
@pytest.mark.parametrize("do, how", [("kill", "save"), ("raise", "save"), ("kill", "async"), ("freeze", "save")])
def test_broken(tmp_path, unbroken, do, how):
    """A rank ends or stops in the middle of an epoch and is behind its checkpoint by two steps."""
    folder = tmp_path / "out"
    code, output = run(folder, "at=1:13", f"do={do}", f"how={how}", timeouts__hang="15s" if do == "freeze" else "1h")
    assert code == 0 and "1 restart" in output and "no checkpoint is written" not in output, output
    assert output.count("resumed True, steps 32, rate 0.006561") == 3, output
    assert_equal(folder, unbroken, before_last(folder, 1, 0), rest(folder, 2))


def test_while_it_is_written(tmp_path, unbroken):
    """A rank ends between torch's part and ours: the older checkpoint holds, and nothing of the newer one remains."""
    folder = tmp_path / "out"
    code, output = run(folder, "at=1:11c", "do=kill")
    assert code == 0 and "1 restart" in output, output
    assert_equal(folder, unbroken, before_last(folder, 1, 1), rest(folder, 2))
    assert all(re.fullmatch(r"step-\d+", path.name) for path in checkpoints(folder))


@pytest.mark.parametrize("workers", [slow(2), slow(4)])
def test_other_ranks(tmp_path, unbroken, workers):
    """Ctrl-C saves first, and other ranks take their parts of that."""
    folder, more = tmp_path / "out", tmp_path / "more"
    process = stopped(folder, "at=1:9", "do=wait")
    code, output = kept.resumed(tmp_path, process, job(more, workers=workers))
    assert code == 0 and output.count("resumed True, steps 32, rate 0.006561") == workers, output
    one, other = (torch.load(run / "model.pt") for run in (more, unbroken))
    assert max((one[name] - other[name]).abs().max() for name in other) <= 1e-12
    first, second = kept.lines(folder), kept.lines(more)
    assert len(kept.steps(first[0])) + len(kept.steps(second[0])) == STEPS, "it was saved where it stopped"
    parts = map(kept.steps, (*first.values(), *second.values()))
    assert kept.times(*parts) == {n: EPOCHS for n in range(SAMPLES)}


def stopped(folder, *options):
    """Run a job that gets Ctrl-C while a rank waits; return its name."""
    code, output = kept.end_by(folder, signal.SIGINT, job(folder, *options))
    assert code == 130, output
    return re.search(r"job (\S+)", output)[1]


UNSAVED = {
    "none": "state.due() was true, but the script has saved nothing in state.folder",
    "undue": "a model of fully_shard is saved by the script where state.due() is true, and it did not call state.due()",
    "unfinished": "'dcp' in state.folder has no .metadata, which torch.distributed.checkpoint writes last",
}


@pytest.mark.slow
@pytest.mark.parametrize("how", UNSAVED)
def test_unsaved(tmp_path, how):
    """A checkpoint without the script's part is none; rank 0 says so once, and training goes on."""
    folder = tmp_path / "out"
    code, output = run(folder, f"how={how}")
    assert code == 0 and output.count(f"no checkpoint is written, training goes on: {UNSAVED[how]}") == 1, output
    assert not checkpoints(folder)


@pytest.mark.slow
def test_anew(tmp_path):
    """A script that does not load its part cannot go on with another model."""
    code, output = run(tmp_path / "out", "at=1:13", "do=kill", "how=anew")
    assert code == 1 and "a model of fully_shard would begin anew: load it from state.folder" in output, output


@pytest.mark.slow
def test_in_the_background(tmp_path, unbroken):
    """All checkpoints of async_save are whole, and so is the last one."""
    folder = tmp_path / "out"
    code, output = run(folder, "how=async", checkpoint__keep=20)
    assert code == 0 and "no checkpoint is written" not in output, output
    assert [int(path.name[5:]) for path in checkpoints(folder)] == [*range(4, STEPS + 1, 4)]
    for path in checkpoints(folder):
        assert "-------- " in (path / "MANIFEST").read_text() and (path / "dcp/.metadata").exists()
    assert_equal(folder, unbroken, rest(folder, 1))


@pytest.mark.slow
def test_no_utf8(tmp_path, unbroken, monkeypatch):
    """The folder of the checkpoints has bytes in its path that are no UTF-8: they are written and read there."""
    told = started.environment(tmp_path)
    monkeypatch.setattr(started, "environment",
                        lambda _: {**told, "XDG_STATE_HOME": os.fsdecode(os.fsencode(tmp_path) + b"/state-\xff")})
    folder = tmp_path / "out"
    code, output = run(folder, "at=1:13", "do=kill")
    assert code == 0 and "1 restart" in output and "no checkpoint is written" not in output, output
    assert_equal(folder, unbroken, before_last(folder, 1, 0), rest(folder, 2))
