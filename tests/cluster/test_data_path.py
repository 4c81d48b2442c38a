# SPDX-License-Identifier: Apache-2.0
"""test_data_path.py BUILD SOURCE [CASE ...] - a worker whose samples come slowly is named, and gets fewer of them

Rank 1 reads from a file system each of whose reads, one for a sample, takes 16 ms.  Where it does not read
ahead, three ranks compute 4 ms for a sample, so that it should have 4 of 48; eddis-train, which reads ahead,
computes much faster.  An equal share is 16.  The cases
look at shares and sentences, and at the job's own count of steps, never at speeds.
"""


import datetime
import os
import re
import shutil
import sys

from cases import run, table
from files import write
from job import Folders, Job
from node import wait_for
from slow_disk import SlowDisk

BUILD, SOURCE = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
sys.path.insert(0, os.path.join(SOURCE, "bench"))

from pace import SMALL, write_images  # noqa: E402

FOLDERS = Folders()
DATA, PACES, SLOW = FOLDERS.path("work", "data"), FOLDERS.path("work", "paces"), FOLDERS.path("work", "slow")
RANKS, FAIR, LITTLE = 3, 16, 9
MS = 4  # of a sample
SOON, READ_AHEAD = 20, 2  # steps within which it is named, and that may have been read ahead
SETTINGS = ["--set", f"batch.global={RANKS * FAIR}", "--set", "sync.mode=sync", "--set", "binding=none", "--restarts", "0", "--"]
AHEAD = ('exec eddis-train --data "$1/$RANK/images" --labels "$1/$RANK/labels" --memory 1K --model cnn --widths "$2" '
         '--threads 1 --eval-every 0 --epochs 100000')


class Samples:
    """DATA/RANK holds a rank's samples; those of rank 1 lie on the slow disk."""

    def __enter__(self):
        shutil.rmtree(FOLDERS.path("cache", "eddis"), ignore_errors=True)  # what the case before has learnt
        for folder in DATA, PACES, SLOW:
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
        self.disk = SlowDisk(SLOW)
        try:
            for rank in range(RANKS):
                folder = os.path.join(DATA, str(rank))
                os.symlink(SLOW, folder) if rank == 1 else os.mkdir(folder)
                write_images(SMALL, os.path.join(SOURCE, "examples/digits/digits.csv"), folder)
        except BaseException:
            self.disk.__exit__()
            raise
        return self.disk

    def __exit__(self, *ignored):
        self.disk.__exit__()


def reading_ahead():
    return Job(BUILD, FOLDERS, [*SETTINGS, "sh", "-c", AHEAD, "sh", DATA, ",".join(map(str, SMALL.widths))], ranks=RANKS)


def not_ahead():
    for rank in range(RANKS):
        write(os.path.join(PACES, str(rank)), str(MS))
    return Job(BUILD, FOLDERS, [*SETTINGS, os.path.join(BUILD, "tests/cluster/paced-worker"), PACES, DATA], ranks=RANKS)


def by_input(j):
    """What is told of workers that wait for their data; a busy machine may make others slow as well."""
    return [e for e in j.events("straggler") if "(input explains " in e["text"]]


def agreed(j):
    """[(first step, batches)] of the plans that were agreed on."""
    found = [map(int, re.match(r"version (\d+) from step (\d+)", e["text"]).groups()) for e in j.events("plan_agreed")]
    return [(step, [w["batch"] for w in j.plan(v)["workers"]]) for v, step in found]


def plans(j):
    return [batches for _, batches in agreed(j)]


def moved_at(j):
    """The first step under a plan that gives rank 1 little; None: there is none."""
    return next((since for since, batches in agreed(j) if batches[1] <= LITTLE), None)


def check_soon(j, event):
    """By the job's count of steps when the event came, of a second before at most.  With few samples steps may be so short
    that many fit into the second for which it must have been slow: then its share moved before."""
    at = datetime.datetime.fromisoformat(event["time"].replace("Z", "+00:00")).timestamp()
    done = max((row["steps_done"] for row in j.metrics() if row["start_s"] + row["wall_s"] <= at), default=0)
    since, moved = int(re.search(r"since step (\d+)", event["text"]).group(1)), moved_at(j)
    print(f"     slow since step {since}, named at step {done}, little from step {moved} on", flush=True)
    soon = done if moved is None or moved < since else min(done, moved)
    assert soon - since <= SOON + READ_AHEAD, f"slow since step {since}, named at step {done}: {event['text']}"


def check_named(j, before):
    wait_for("rank 1 to be named", lambda: by_input(j))
    text = by_input(j)[0]["text"]
    assert text.startswith("rank 1 ") and f"times as long as {before} since step" in text, text
    assert re.search(r"\(input explains \d+ % of it: it waits .* ms a step for its data, which arrives at [\d.]+ samples/s", text), text
    check_soon(j, by_input(j)[0])
    wait_for("its share to move", lambda: plans(j) and plans(j)[-1][1] <= LITTLE)
    replanned = [e["text"] for e in j.events("replanned")]
    assert any("waits for data for" in t for t in replanned), replanned


def from_the_start(training):
    with Samples() as disk:
        disk.set_pace(4 * MS)
        with training() as j:
            check_named(j, "without waits for data")
            j.interrupted()
            assert j.summary()["stragglers"] >= 1, j.summary()


def in_mid_run(training):
    """And its share comes back when the path is mended.  Where the machine makes the disk slow before the
    case does, it begins again."""
    for _ in range(5):
        with Samples() as disk, training() as j:
            j.wait_steps(39)
            if not by_input(j):
                slowed(disk, j)
                return
            j.interrupted()
    raise AssertionError("the disk was slow before it was made so, five times")


def slowed(disk, j):
    disk.set_pace(4 * MS)
    check_named(j, "before")
    disk.set_pace(0)
    wait_for("its end", lambda: [e for e in j.events("straggler_over") if e["rank"] == 1 and e["n"] > by_input(j)[0]["n"]])
    wait_for("its share to come back", lambda: plans(j)[-1][1] > LITTLE)
    j.interrupted()
    assert {e["rank"] for e in by_input(j)} == {1}, by_input(j)


run([table(from_the_start, {"ahead_from_the_start": (reading_ahead,), "from_the_start_not_ahead": (not_ahead,)}),
     table(in_mid_run, {"in_mid_run_not_ahead": (not_ahead,)})], sys.argv[3:])
