# SPDX-License-Identifier: Apache-2.0
"""test_slow_disk.py BUILD SOURCE [CASE ...] - jobs whose folder is on a file system that does not answer for a
while, longer than agents and keepers hold their leases.

The folder is the driver's and, on this one machine, the agent's and the ranks' too.
"""

import os
import signal
import sys
import time

from cases import run
from job import Folders, Job, LEASE
from node import marked, wait_for
from slow_disk import SlowDisk

BUILD = sys.argv[1]
FOLDERS = Folders()
HANG_S = 2.5 * LEASE


def slow_disk():
    os.makedirs(FOLDERS.path("slow"), exist_ok=True)
    return SlowDisk(FOLDERS.path("slow"))


def job(text, *args):
    return Job(BUILD, FOLDERS, [*args, "--", "sh", "-c", text], place=FOLDERS.path("slow"))


def asleep(j):
    """The programs of the ranks, without a look into the folder."""
    return [pid for pid, line in marked(j.mark).items() if line.startswith("sleep ")]


def started(j):
    wait_for("the ranks", lambda: len(asleep(j)) == 2)
    j.wait_event("rank_started", 2)


def goes_on():
    """Nothing of the job ends, and no record but of figures is missing or in another place."""
    with slow_disk() as disk, job("sleep 1000; echo well") as j:
        started(j)
        with disk.hanging():
            time.sleep(HANG_S)
            assert j.process.poll() is None
        for pid in asleep(j):
            os.kill(pid, signal.SIGTERM)
        j.check(0, "ok")
        assert "has not answered" in j.err and "answers again" in j.err, j.err
        assert [e["n"] for e in j.events()] == list(range(1, len(j.events()) + 1)), j.events()
        assert j.summary()["generations"] == 1 and "well" in j.log(0)
        rows = j.metrics()
        assert rows and all(rows), rows
        assert not os.path.exists(j.path("driver.json"))


def interrupted():
    """Ctrl-C ends it; the end waits for the folder, but not behind another Ctrl-C, and names what is missing."""
    with slow_disk() as disk, job("sleep 1000") as j:
        started(j)
        with disk.hanging():
            j.signal(signal.SIGINT)
            wait_for("the ranks to be gone", lambda: not asleep(j))
            wait_for("the agent to be gone", lambda: not j.pids("eddis-agent") and not j.pids("eddis-keeper"))
            j.signal(signal.SIGINT)
            assert j.end() == 130, (j.code, j.err)
        assert "events.jsonl" in j.err and "summary.json" in j.err and "does not answer" in j.err, j.err
        assert not marked(j.mark), marked(j.mark)


run([goes_on, interrupted], sys.argv[3:])
