# SPDX-License-Identifier: Apache-2.0
"""test_memory.py BUILD SOURCE [CASE ...] - a worker whose memory holds fewer samples than its share.

All of a job is in a control group of little memory, and rank 1 takes much for each sample: its share
does not fit, half of it does.
"""

import os
import random
import re
import subprocess
import sys

from cases import Skip, run, table
from files import write
from job import Folders, Job
from limits import little_memory
from node import wait_for

BUILD = sys.argv[1]
EMULATE = "profile.emulate=[{rate: 1.0, a_ms: 2, c_ms: 0.05}, {rate: 1.0}]"
SHARE, SAMPLE_KIB = 128, 2560   # 320 MiB, in
LIMIT = 280 << 20               # of which a job of two workers takes some 20 itself, and half a share 160
STEPS = 12
GROWING_KIB, TWICE = 1280, 240  # SHARE takes 160 MiB, and TWICE 300
ROWS, TESTED, WIDTH, FITS = 1200, 300, 1000, 100  # of eddis-train: FITS samples, of half of TESTED and of SHARE
EITHER = (0, 1)                 # the kernel kills rank 0, too, when rank 1's memory is not free at once


def worker(sample_kib, steps, promise, *more):
    return ["--", os.path.join(BUILD, "tests/cluster/memory-worker"), str(sample_kib), str(steps), promise, *more]


def job(folders, before, promise, *args, command=None):
    return Job(BUILD, folders, ["--set", f"batch.global={2 * SHARE}", "--set", EMULATE, "--set", "batch.rebalance=off",
                                "--set", "checkpoint.every=0", *args, *(command or worker(SAMPLE_KIB, STEPS, promise))],
               before=before)


def plan(j, generation):
    p = j.plan(generation=generation)
    return [(w["batch"], w["piece"]) for w in p["workers"]], p


def steps(j, rank):
    """(samples, at once) of the steps that were begun, in all generations."""
    return [tuple(map(int, x)) for x in re.findall(r"step \d+: (\d+) samples, (\d+) at once", j.log(rank))]


def check(before, promise, shares, *args):
    """One restart while nothing is known; then the next job of the program knows what fits."""
    folders = Folders()
    with job(folders, before, promise, *args) as j:
        j.check(0, "ok", "was killed: out of memory", failed_rank=EITHER)
        verb = "holds" if promise == "pieces" else "gets"
        assert f"rank 1 ran out of memory with 128 samples at once; it {verb} at most 64 from now on" in j.err, j.err
        assert "restarting from the beginning" in j.err and j.summary()["restarts"] == 1, (j.err, j.summary())
        assert plan(j, 1)[0] == [(SHARE, 0), (SHARE, 0)], plan(j, 1)[0]
        assert plan(j, 2)[0] == shares, plan(j, 2)[0]
    with job(folders, before, promise, *args) as j:
        j.check(0, "ok")
        assert j.summary()["restarts"] == 0 and "out of memory" not in j.err, j.err
        ranks, p = plan(j, 1)
        assert ranks == shares and p["takes_pieces"] == (promise == "pieces"), p
        return steps(j, 1)


def fits(promise, shares):
    """A program that promises keeps its share, and takes it in halves; without the promise the others take what does
    not fit.  No restart is permitted, but one with fewer samples does not count."""
    with little_memory(LIMIT) as before:
        assert check(before, promise, shares, "--restarts", "0") == shares[1:] * STEPS


def several():
    """In modes with several models, too."""
    for mode in ("async", "hybrid", "local"):
        with little_memory(LIMIT) as before:
            args = ["--set", f"sync.mode={mode}"] + (["--set", "sync.groups=2"] if mode != "async" else [])
            begun = check(before, "pieces", [(SHARE, 0), (SHARE, 64)], *args)
            assert begun and all(once <= 64 for _, once in begun), (mode, begun)
            assert any(count > 64 for count, _ in begun), (mode, begun)


def foreseen():
    """Rank 1 is the faster one by far, and would get twice its first share, which does not fit: its peaks tell how
    much does, before it is tried, and the next job begins with that."""
    for promise in ("pieces", "whole"):
        folders = Folders()
        with little_memory(LIMIT) as before:
            with growing(folders, before, promise) as j:
                wait_for("a plan that gives rank 1 more", lambda: steps_begun(j) and steps_begun(j)[-1][0] > SHARE)
                wait_for("the peak of such steps", lambda: largest_told(j) > SHARE)
                interrupted(j)
            with growing(folders, before, promise) as j:
                wait_for("steps of the first plan", lambda: len(steps_begun(j)) > 10)
                ranks, p = plan(j, 1)
                batch, piece = ranks[1]
                assert SHARE <= piece < TWICE and p["takes_pieces"] == (promise == "pieces"), p
                assert batch > piece if promise == "pieces" else SHARE < batch <= piece, (ranks, p)
                interrupted(j)


def growing(folders, before, promise):
    return Job(BUILD, folders, ["--set", f"batch.global={2 * SHARE}", "--set", "checkpoint.every=0",
                                *worker(GROWING_KIB, 100000, promise, "4000", "200")], before=before)


def steps_begun(j):
    try:
        return steps(j, 1)
    except FileNotFoundError:
        return []


def largest_told(j):
    """Samples a step of rank 1, by its reports: those of more than its first share come with what they take."""
    rows = [w for row in j.metrics() for w in row["workers"]]
    return max((w["figures"]["count"] for w in rows if w["rank"] == 1), default=0)


def interrupted(j):
    """It went on till now, with no more at once than fits."""
    j.interrupted()
    assert j.summary()["restarts"] == 0 and "out of memory" not in j.err, j.err
    assert all(once < TWICE for _, once in steps_begun(j)), steps_begun(j)


def refused():
    """Where nobody is killed, since memory is refused, the program says so by its exit."""
    folders = Folders()
    with job(folders, (), "refused") as j:
        j.check(0, "ok", "exited 79: out of memory", failed_rank=1)
        assert "rank 1 ran out of memory with 128 samples at once; it holds at most 64 from now on" in j.err, j.err
        assert j.summary()["restarts"] == 1 and plan(j, 2)[0] == [(SHARE, 0), (SHARE, 64)], plan(j, 2)[0]
    with job(folders, (), "refused") as j:
        j.check(0, "ok")
        assert j.summary()["restarts"] == 0 and steps(j, 1) == [(SHARE, 64)] * STEPS, steps(j, 1)


def trainer():
    """eddis-train is refused the arrays for more than so many samples, and half its share fits.  The test after an epoch
    has more samples than that, too, and holds no more of them at once than a step does."""
    shim = os.path.join(BUILD, "tests/cluster/small-arrays.so")
    if not os.path.exists(shim):
        raise Skip("a sanitizer comes before what is preloaded")
    folders = Folders()
    data = write(folders.path("work", "sides.csv"), "".join(
        f"{i / ROWS},{int(2 * i > ROWS)}\n" for i in random.Random(1).sample(range(ROWS), ROWS)))
    train = (f"[ $RANK = 0 ] || export LD_PRELOAD={shim} ARRAY_MOST={FITS * WIDTH * 4}; "
             f"exec {BUILD}/cmd/eddis-train --data {data} --test {TESTED} --widths {WIDTH} --epochs 2")
    for restarts in (1, 0):
        with job(folders, (), "", command=["--", "sh", "-c", train]) as j:
            if restarts:
                j.check(0, "ok", "exited 79: out of memory", failed_rank=1)
                assert "rank 1 ran out of memory with 128 samples at once; it holds at most 64 from now on" in j.err, j.err
            else:
                j.check(0, "ok")
            ranks, p = plan(j, 1 + restarts)
            assert ranks == [(SHARE, 0), (SHARE, 64)] and p["takes_pieces"], p
            assert j.summary()["restarts"] == restarts, j.summary()
            assert re.search(r"^epoch 2/2 .* test accuracy", j.log(0), re.M), j.log(0)


def lacking():
    """From 64 samples to the 2 that fit, by more restarts than may be counted; the next job begins with what fits."""
    folders = Folders()
    for restarts in (6, 0):
        with job(folders, (), "", "--restarts", "1", command=worker(60 << 10, STEPS, "refused")) as j:
            j.check(0, "ok", failed_rank=1 if restarts else None)
            assert j.summary()["restarts"] == restarts, j.summary()
            if restarts:
                assert re.findall(r"holds at most (\d+) from now on", j.err) == ["64", "32", "16", "8", "4", "2"]
                assert "with fewer samples, which counts as no restart" in j.err, j.err


def one_sample():
    """No plan helps; the end names the memory that is too small."""
    with Job(BUILD, Folders(), ["--set", "batch.global=2", "--set", EMULATE, "--set", "batch.rebalance=off",
                                *worker(1 << 20, 3, "refused")]) as j:
        j.check(79, "oom", "exited 79: out of memory", "its memory is too small for one sample, so no plan helps", failed_rank=1)
        assert re.search(r"rank 1 is on node \S+, whose memory of \d+ bytes is too small for one sample of this program", j.err), j.err


def no_restart():
    """A restart with fewer samples is made even if no restart is permitted, and the next job needs none."""
    folders = Folders()
    with job(folders, (), "refused", "--restarts", "0") as j:
        j.check(0, "ok", failed_rank=1)
        assert "rank 1 ran out of memory with 128 samples at once; it holds at most 64 from now on" in j.err, j.err
        assert "with fewer samples, which counts as no restart" in j.err and j.summary()["restarts"] == 1, j.err
    with job(folders, (), "refused", "--restarts", "0") as j:
        j.check(0, "ok")
        assert steps(j, 1) == [(SHARE, 64)] * STEPS, steps(j, 1)


def nothing_less():
    """A single sample that does not fit ends the job as it did before."""
    with little_memory(LIMIT) as before:
        with Job(BUILD, Folders(), ["--set", "batch.global=2", "--set", EMULATE, "--set", "batch.rebalance=off",
                                    *worker(1 << 20, 3, "pieces")], before=before) as j:
            j.check(137, "oom", "was killed: out of memory", "not started again: no worker had finished a step",
                    failed_rank=EITHER)


def address_space():
    """A limit that Open MPI dies of, or OpenBLAS waits for ever in, is named instead."""
    data = os.path.join(sys.argv[2], "examples/digits/digits.csv")
    folders = Folders()
    p = subprocess.run(["sh", "-c", 'ulimit -v 100000; exec "$@"', "sh", os.path.join(BUILD, "cmd/eddis-train"), "--version"],
                       text=True, capture_output=True, timeout=60)
    assert p.returncode == 0 and p.stdout.startswith("eddis-train "), p
    for kib in 200000, 160000:
        with Job(BUILD, folders, ["--", "eddis-train", "--data", data, "--test", "360", "--epochs", "1"],
                 before=["sh", "-c", f'ulimit -v {kib}; exec "$@"', "sh"]) as j:
            j.check(1, "rank_exit", "exited 1", failed_rank=EITHER)
            assert f"the address space is limited to {kib * 1024 // 1000000} MB (ulimit -v), but " in j.err, j.err


FITS_IN = {"pieces": ("pieces", [(SHARE, 0), (SHARE, 64)]), "whole": ("whole", [(192, 0), (64, 64)])}
run([table(fits, FITS_IN), several, foreseen, refused, lacking, one_sample, trainer, no_restart, nothing_less, address_space],
    sys.argv[3:])
