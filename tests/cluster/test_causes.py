# SPDX-License-Identifier: Apache-2.0
"""test_causes.py BUILD SOURCE [CASE ...] - why a worker has become slow: what the machine takes from it

Three ranks: two only sleep in their steps, so that what else the machine does says nothing of them, and
rank 1 uses a processor.  What is taken from that is real: a quota of its control group, other programs.
All of it comes before what else the machine does, or that would be the cause.
"""

import contextlib
import os
import re
import subprocess
import sys

from cases import Skip, run, table
from files import write
from job import Folders, Job
from node import cgroup, marked, wait_for

BUILD = os.path.realpath(sys.argv[1])
WORKER = os.path.join(BUILD, "tests/cluster/paced-worker")
ASLEEP_MS, BUSY_MS = 60, 20  # of a step
PERCENT = 10                 # of a core
VICTIM, RANKS = 1, 3
ON_ITS_CORE = 'if [ "$RANK" = "$0" ]; then exec taskset -c "$@"; fi; shift; exec "$@"'


def core():
    return min(os.sched_getaffinity(0))


@contextlib.contextmanager
def processors(name, percent=0):
    """A group whose processes come before all others."""
    group = cgroup.processor(name, percent)
    if not group:
        raise Skip("needs a control group of processors that may be made here")
    try:
        yield group
    finally:
        cgroup.remove(group)


@contextlib.contextmanager
def job(group):
    folders = Folders()
    paces = folders.path("work", "paces")
    os.mkdir(paces)
    for rank in range(RANKS):
        write(os.path.join(paces, str(rank)), f"0 {BUSY_MS}" if rank == VICTIM else f"{ASLEEP_MS}")
    with Job(BUILD, folders, ["--set", "sync.mode=sync", "--set", "binding=none", "--set", "batch.rebalance=off", "--restarts", "0",
                              "--", "sh", "-c", ON_ITS_CORE, str(VICTIM), str(core()), WORKER, paces], ranks=RANKS, lease=20,
             before=cgroup.inside(group)) as j:
        yield j


def victim(j):
    """The process of rank 1."""
    for pid, line in marked(j.mark).items():
        if line.startswith(WORKER):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/environ") as f:
                if f"RANK={VICTIM}" in f.read().split("\0"):
                    return pid
    raise AssertionError(f"no process of rank {VICTIM}: {marked(j.mark)}")


def named(trouble, words):
    """Trouble comes in mid-run and goes; its rank is named with these words and no other rank is.  Where the
    machine was in its way before, the case begins again."""
    for _ in range(5):
        with processors("job") as group, job(group) as j:
            j.wait_steps(39)
            before = j.events("straggler")
            if not before:
                with trouble(group, victim(j)):
                    wait_for("a straggler", lambda: j.events("straggler"))
                wait_for("its end", lambda: j.events("straggler_over"))
            j.interrupted()
            if before:
                continue
            found = j.events("straggler")
            assert {e["rank"] for e in found} == {VICTIM}, found
            text = found[0]["text"]
            assert re.search(r"times as long as before since step \d+ \(processor explains \d+ % of it: ", text) and re.search(words, text), text
            assert j.summary()["stragglers"] == len(found), (j.summary()["stragglers"], found)
            return
    raise AssertionError("it was slow before anything was done to it, five times")


@contextlib.contextmanager
def little_processor(group, pid):
    with processors("little", PERCENT) as little:
        cgroup.write(os.path.join(little, "cgroup.procs"), pid)
        try:
            yield
        finally:
            cgroup.write(os.path.join(group, "cgroup.procs"), pid)


@contextlib.contextmanager
def others(group, _):
    """Two programs on its core."""
    loop = [*cgroup.inside(group), "taskset", "-c", str(core()), "sh", "-c", "while :; do :; done"]
    loops = [subprocess.Popen(loop) for _ in range(2)]
    try:
        yield
    finally:
        for one in loops:
            one.kill()
            one.wait()


CASES = {"throttled": (little_processor, "it is throttled in "),
         # They may have taken as much before.
         "shared_core": (others, "its main thread waits for a processor|other programs take ")}

run(table(named, CASES), sys.argv[3:])
