# SPDX-License-Identifier: Apache-2.0
"""test_progress.py BUILD SOURCE [CASE ...] - programs that only tell their steps, by eddis_progress: seen, and missed, like any."""

import json
import os
import subprocess
import sys

from cases import run, table
from job import Folders, Job, request, tool
from node import wait_for

BUILD = sys.argv[1]
FOLDERS = Folders()
STEPS = 150
PROGRAM = os.path.join(BUILD, "tests/cluster/progress-worker")


def job(folder, how, *args):
    return Job(BUILD, FOLDERS, [*args, "--", PROGRAM, folder, how])


def go(name):
    os.makedirs(FOLDERS.path("work", name), exist_ok=True)
    open(FOLDERS.path("work", name, "go"), "w").close()


def shown():
    """Steps, samples and their times in status and metrics; nothing is learnt of devices by them."""
    with job("shown", "alive", "--set", f"progress.steps={2 * STEPS}") as j:
        wait_for("all steps of both", lambda: [w.get("steps_done") for w in j.workers()] == [STEPS, STEPS])
        url, token = j.driver()
        status = json.loads(request(url + "/v1/job", token)[1])
        assert status["steps_done"] == STEPS and status["samples"] == 30 * STEPS, status
        assert status["steps_total"] == 2 * STEPS and status["eta_s"] > 0, status
        page = tool(BUILD, "eddis-status", j.dir, timeout=300).stdout
        assert f"step {STEPS}/{2 * STEPS}" in page and ", ETA " in page, page
        for w in j.workers():
            assert w["step_ms"] >= 2 and w["state"] == "compute" and "figures" not in w, w
        go("shown")
        j.check(0, "ok")
        assert j.summary()["steps_done"] == STEPS, j.summary()
        assert j.metrics()[-1]["steps_done"] == STEPS
        assert not j.events("plan_proposed"), j.events()


def hang():
    """One that tells nothing any more is named; the other says that it is alive."""
    with job("never", "stop", "--restarts", "0", "--set", "timeouts.hang=10s") as j:
        j.check(124, "hang", "rank 1 (node", "has made no step for 0:", f"last step {STEPS - 1}", failed_rank=1)


def ends_well(how):
    """A handle that is opened later has the page, and gives it back; a child made by fork is not the worker."""
    go(how)
    with job(how, how) as j:
        j.check(0, "ok")


def alone():
    """Without eddis-run it does nothing."""
    go("alone")
    environ = {k: v for k, v in os.environ.items() if not k.startswith("EDDIS_")}
    subprocess.run([PROGRAM, FOLDERS.path("work", "alone"), "alive"], env=environ, check=True, timeout=300)


run([shown, hang, table(ends_well, {"with_a_handle": ("open",), "child": ("fork",)}), alone], sys.argv[3:])
