# SPDX-License-Identifier: Apache-2.0
"""test_ddp.py - a plain DDP script on four hosts of tests/lab: something fails, and it goes on from its own file or
ends at once"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import signal
import sys

import pytest

from rows import slow
from started import BUILD, PROGRAMS, ROOT

sys.path.insert(0, str(ROOT / "tests/cluster"))
from lab import Cluster, hosts  # noqa: E402
from node import wait_for  # noqa: E402

PROGRAM = PROGRAMS / "ddp.py"
STEPS = 300
LEASE_S = 8  # a busy machine may keep a host from answering for some of it
VICTIM = 2   # of 4 ranks, one a host


@pytest.fixture(scope="module")
def cluster():
    try:
        hosts.check_machine()
    except hosts.LabError as e:
        pytest.skip(str(e))
    python = [p for p in (sys.prefix, sys.base_prefix) if not p.startswith("/usr")]
    with Cluster(4, build=str(BUILD), keep=python) as made:
        yield made


@pytest.fixture
def folder(cluster):
    """Seen by all hosts."""
    made = pathlib.Path(cluster.shared) / "model"
    made.mkdir()
    yield made
    shutil.rmtree(made)


def began(cluster, restarts: int, *command: str):
    told = {"restarts": restarts, "timeouts.launch": "300s"}
    options = [word for key, value in told.items() for word in ("--set", f"{key}={value}")]
    options += ["-x", f"TORCHINDUCTOR_CACHE_DIR={hosts.HOME}/shared/torch"]  # not in /tmp
    return cluster.job(["-H", ",".join(cluster.nodes), *options, "--", sys.executable, *command], lease=LEASE_S)


def seen(folder: pathlib.Path) -> str:
    """The same folder as a host sees it."""
    return f"{hosts.HOME}/shared/{folder.name}"


def kill(cluster, job) -> None:
    said = [e["text"] for e in job.events() if e["type"] == "rank_started" and e["rank"] == VICTIM]
    os.kill(int(said[-1].split()[1]), signal.SIGKILL)


def lose(cluster, job) -> None:
    cluster.lab.crash(cluster.nodes[VICTIM])


def freeze(cluster, job) -> None:
    cluster.lab.freeze(cluster.nodes[VICTIM])


def mend(cluster) -> None:
    host = cluster.nodes[VICTIM]
    if cluster.lab.groups.frozen(host):
        cluster.lab.thaw(host)
    cluster.lab.revive(host)


BLOWS = {kill: (137, "rank_signal", "died of signal 9", VICTIM), lose: (1, "node_lost", "node3", -1),
         freeze: (1, "node_lost", "node3", -1)}


@pytest.mark.parametrize("blow, restarts", [
    (kill, 3), *(slow(*row)
                 for row in ((kill, 0), (lose, 3), (lose, 0), (freeze, 3), (freeze, 0)))])
def test_blow(cluster, folder, blow, restarts):
    """Of the ranks whose collectives fail then none is the first failure."""
    code, reason, words, rank = BLOWS[blow]
    left = 4 if blow is kill else 3
    with began(cluster, restarts, str(PROGRAM), seen(folder), str(STEPS)) as job:
        wait_for("a checkpoint", lambda: job.process.poll() is not None or (folder / "model.pt").exists())
        assert job.process.poll() is None, job.process.communicate()
        blow(cluster, job)
        try:
            assert job.end() == (0 if restarts else code), (job.code, job.out, job.err)
        finally:
            mend(cluster)
        summary = job.summary()
        first = summary["first_failure"]
        assert words in job.err and first["rank"] == rank and first["node"] == "node3", (first, job.err)
        counts = (0, 0) if not restarts else (1, 0) if blow is kill else (0, 1)
        assert (summary["restarts"], summary["node_losses"]) == counts, (summary, job.err)
        if restarts:
            assert summary["reason"] == "ok", summary
            steps = [int(s) for s in re.findall(f"rank 0 of {left} begins at step (\\d+)", job.log(0))]
            assert steps[-1] >= 10 and f"rank 0 ends after step {STEPS}" in job.log(0), job.log(0)
        else:
            assert summary["reason"] == reason, summary
        job.check_nothing_left()


def test_typo(cluster, folder):
    """What cannot even begin runs once."""
    (folder / "typo.py").write_text("import torhc\n")
    with began(cluster, 3, seen(folder) + "/typo.py") as job:
        assert job.end() == 1, (job.code, job.err)
        assert "ModuleNotFoundError: No module named 'torhc'" in job.err, job.err
        assert job.summary()["restarts"] == 0 and job.summary()["generations"] == 1, job.summary()
        job.check_nothing_left()
