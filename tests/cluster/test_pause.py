# SPDX-License-Identifier: Apache-2.0
"""test_pause.py BUILD SOURCE [CASE ...] - Ctrl-Z: the workers stop for as long as eddis-run does, and go on with it.

A pause lasts for longer than a lease, which ends the workers of a driver that is silent.
"""

import contextlib
import os
import re
import signal
import sys
import time

import lab
from cases import run
from files import write
from job import Folders, Job
from node import LEASE, marked, state_of, stopped, wait_for

BUILD, SOURCE = map(os.path.realpath, sys.argv[1:3])
SHELL = [sys.executable, "-c", "import os, subprocess, sys; sys.exit(subprocess.Popen(sys.argv[1:], preexec_fn=os.setpgrp).wait())"]
WORK = ": >{over}-$RANK; echo up; until [ -e {over} ]; do sleep 0.1; done; echo over"
TRAIN = [os.path.join(BUILD, "cmd/eddis-train"), "--data", os.path.join(SOURCE, "examples/digits/digits.csv"), "--test", "360",
         "--widths", "32", "--quiet"]


def job(*args, lease=LEASE, **options):
    return Job(BUILD, Folders(), ["--set", "binding=none", "--restarts", "0", *args], lease=lease, before=SHELL, **options)


def await_two(over):
    """Both ranks of WORK run: until then a node's own shells would be taken for them."""
    wait_for("two workers", lambda: all(os.path.exists(f"{over}-{rank}") for rank in range(2)))


def stop(j, workers):
    """Stop eddis-run as a shell does; workers(): the processes of the ranks' program."""
    driver = j.pids("eddis-run")[0]
    os.kill(driver, signal.SIGTSTP)
    wait_for("eddis-run to stop", lambda: state_of(driver) == "T")
    wait_for("the workers to stop", lambda: workers() and all(map(stopped, workers())))
    before = sorted(workers())
    time.sleep(1.25 * LEASE)
    assert sorted(workers()) == before and all(map(stopped, before)), (before, workers())
    return driver


def go_on(j, workers):
    os.kill(stop(j, workers), signal.SIGCONT)


def ended_well(j):
    j.check(0, "ok")
    assert j.summary()["restarts"] == 0, j.summary()
    assert re.search(r"the job and its workers were suspended for \d+\.\d s and now continue", j.err), j.err


def goes_on():
    """With their children."""
    with job("--", "sh", "-c", WORK.format(over="over")) as j:
        j.wait_up()
        go_on(j, lambda: j.pids("sh"))
        wait_for("the workers to go on", lambda: not any(map(stopped, j.pids("sh"))))
        write(j.folders.path("work", "over"), "")
        ended_well(j)
        assert j.log(0).endswith("over\n"), j.log(0)


def no_hang():
    """Nobody has stood still for longer than he ran."""
    with job("--set", "timeouts.hang=3s", "--set", "batch.global=64", "--", *TRAIN, "--epochs", "300") as j:
        wait_for("a row of metrics", j.metrics)
        go_on(j, lambda: j.pids("eddis-train"))
        ended_well(j)


def killed():
    """Workers do not outlive an eddis-run that is killed while it is stopped."""
    with job("--", "sh", "-c", WORK.format(over="over")) as j:
        j.wait_up()
        os.kill(stop(j, lambda: j.pids("sh")), signal.SIGKILL)
        j.end()
        wait_for("all to end", lambda: not marked(j.mark))


def between(j, sig):
    """Send sig to an eddis-run that has been told to stop, and waits for its agent."""
    driver, agent = j.pids("eddis-run")[0], j.pids("eddis-agent")[0]
    os.kill(agent, signal.SIGSTOP)
    wait_for("the agent to stop", lambda: state_of(agent) == "T")
    os.kill(driver, signal.SIGTSTP)
    wait_for("eddis-run to hear of it", lambda: '"Stopped"' in j.file("events.jsonl"))
    os.kill(driver, sig)
    wait_for("eddis-run to hear of the next", lambda: f'"{signal.strsignal(sig)}"' in j.file("events.jsonl"))
    os.kill(agent, signal.SIGCONT)
    return driver


def continued():
    """A SIGCONT that comes before eddis-run has stopped is not lost."""
    with job("--", "sh", "-c", WORK.format(over="over"), lease=30.0) as j:
        j.wait_up()
        driver = between(j, signal.SIGCONT)
        time.sleep(2.5)
        assert state_of(driver) != "T", state_of(driver)
        wait_for("the workers to go on", lambda: not any(map(stopped, j.pids("sh"))))
        write(j.folders.path("work", "over"), "")
        j.check(0, "ok")


def interrupted():
    """So with Ctrl-C, and the workers hear of it before they are killed."""
    work = "trap 'echo saved; exit 1' TERM INT; echo up; while :; do sleep 0.1; done"
    with job("--", "sh", "-c", work, lease=30.0) as j:
        j.wait_up()
        driver = between(j, signal.SIGINT)
        j.check(130, "interrupted")
        for rank in range(2):
            assert "saved" in j.log(rank), (driver, rank, j.log(rank))


@contextlib.contextmanager
def two_nodes(c, over):
    """Yields a job of a rank on each of two hosts, which ends when there is this file, and what finds the ranks."""
    path = os.path.join(c.shared, over)
    with c.job(["-H", "node1,node2", "--restarts", "0", "--", "sh", "-c", WORK.format(over=path)], lease=LEASE,
               before=SHELL) as j:
        await_two(path)
        yield j, lambda: [pid for host in ("node1", "node2") for pid in c.pids(host, "sh")]


def nodes():
    """Agents behind ssh stop theirs likewise, and live by their sessions meanwhile."""
    with lab.Cluster(2, build=BUILD) as c:
        with two_nodes(c, "over") as (j, workers):
            go_on(j, workers)
            wait_for("the workers to go on", lambda: not any(map(stopped, workers())))
            c.write("over", "")
            ended_well(j)
        with two_nodes(c, "over2") as (j, workers):
            os.kill(stop(j, workers), signal.SIGKILL)
            j.end()
            wait_for("all to end", lambda: not workers())
            c.check_nothing_left()


def unplugged():
    """Stopped workers do not wait for a machine that is gone, which their session does not show."""
    with lab.Cluster(2, build=BUILD) as c:
        with two_nodes(c, "never") as (j, workers):
            driver = stop(j, workers)
            c.lab.cut(lab.LOGIN)
            wait_for("the workers to end", lambda: not workers())
            c.lab.join(lab.LOGIN)
            os.kill(driver, signal.SIGCONT)
            assert j.end() == 1, (j.code, j.err)
            assert re.search(r"ended (its|the) workers", j.err), j.err


run([goes_on, no_hang, killed, continued, interrupted, nodes, unplugged], sys.argv[3:])
