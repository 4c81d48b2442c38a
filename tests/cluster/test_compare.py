# SPDX-License-Identifier: Apache-2.0
"""test_compare.py BUILD SOURCE [CASE ...] - eddis-run --compare: one job in each mode, one after another.

The program of most cases counts its starts, so that a case decides what the run of the second mode does.
"""

import json
import os
import shutil
import sys

import cases
from files import read, write
from job import Folders, Job, tool
from node import PATIENCE, marked, wait_for

BUILD, SOURCE = (os.path.realpath(a) for a in sys.argv[1:3])
FOLDERS = Folders()
DIGITS = os.path.join(SOURCE, "examples/digits")
TRAIN = (f"exec {BUILD}/cmd/eddis-train --data {DIGITS}/digits.csv --test 360 --model mlp --widths 32 --lr $LR "
         "--epochs 100000 --eval-every 1 --quiet")
# Rank 0 counts the starts; the others wait until it has.
COUNT = 'if [ $RANK = 0 ]; then echo >> starts; : > "counted-$EDDIS_JOB_ID"; fi; until [ -e "counted-$EDDIS_JOB_ID" ]; do sleep 0.05; done; ' \
        'LR=0.05; n=$(($(wc -l < starts))); '


class Comparison:
    """A comparison whose program is a shell script, in a folder of its own for the program and one for its results."""

    def __init__(self, name, script):
        self.work, self.dir = FOLDERS.path("work", name), FOLDERS.path(name)
        os.mkdir(self.work)
        self.file = write(os.path.join(self.work, "train.yaml"),
                          f"name: {name}\ncommand: {json.dumps(['sh', '-c', COUNT + script])}\nbatch: {{global: 64}}\n"
                          f"checkpoint: {{dir: {self.work}/saved, every: 1s}}\n"
                          "profile: {emulate: [{rate: 1.0, a_ms: 2, c_ms: 0.1}, {rate: 0.5}]}\n")

    def start(self, *args):
        return Job(BUILD, FOLDERS, ["--job-dir", self.dir, "--compare", "--modes", "sync,hybrid", *args, self.file], ranks=0)

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def result(self):
        return json.loads(read(self.path("compare.json")))

    def starts(self):
        try:
            return len(read(os.path.join(self.work, "starts")).split("\n")) - 1
        except FileNotFoundError:
            return 0

    def states(self):
        return [run["state"] for run in self.result()["runs"]]


def gone(job):
    wait_for("all processes to go", lambda: not marked(job.mark))


def digits():
    """The example, by one command without a folder: the same command again only prints, here as JSON."""
    command = ["--compare", "--modes", "sync,hybrid", "--until", "accuracy=0.9", os.path.join(DIGITS, "train.yaml")]
    FOLDERS.know(BUILD)
    p = tool(BUILD, "eddis-run", *command, env=FOLDERS.environ(), timeout=2 * PATIENCE)
    assert p.returncode == 0 and not p.stderr, p
    for text in ("compare digits: sync, hybrid until accuracy 0.9", "\nsync, seed 0: accuracy 0.9 after ", "\nhybrid, seed 0: ",
                 "efficiency", " is best"):
        assert text in p.stdout, (text, p.stdout)
    again = tool(BUILD, "eddis-run", "--json", *command, env=FOLDERS.environ())
    result = json.loads(again.stdout)
    assert again.returncode == 0 and result["finished"] and result["best"] in ("sync", "hybrid"), again
    sync, hybrid = result["modes"]
    assert sync["efficiency"] == 1 and sync["efficiency_by"] == "target" and sync["writers"] == 1 and sync["period"] == 0, sync
    assert hybrid["writers"] > 1 and hybrid["period"] >= 1 and hybrid["efficiency"] > 0, hybrid
    for row, run in zip(result["modes"], result["runs"]):
        assert row["global_batch"] == 480 and row["model_bytes"] == 38440 and row["wire"] == "float32", row
        assert run["state"] == "reached" and run["accuracy"] >= 0.9 and run["seconds"] > 0 and run["curve"], run
        assert run["samples"] <= run["curve"][-1]["samples"], run
    later = tool(BUILD, "eddis-run", "--dry-run", "--json", command[-1], env=FOLDERS.environ())
    planned = {c["mode"]: c for c in json.loads(later.stdout)["plan"]["candidates"]}
    assert planned["hybrid"]["measured"] and not planned["async"]["measured"], planned
    if planned["hybrid"]["period"] == hybrid["period"]:
        assert abs(planned["hybrid"]["efficiency"] - min(hybrid["efficiency"], 1.25)) < 1e-9, (planned, hybrid)


def ordinary_jobs():
    """What --compare measures, jobs in two modes show as well: the next plan has the efficiency that their losses show."""
    FOLDERS.know(BUILD)
    own = FOLDERS.path("digits")  # another program than that of other cases
    shutil.copytree(DIGITS, own)
    file = os.path.join(own, "train.yaml")

    def planned():
        p = tool(BUILD, "eddis-run", "--dry-run", "--json", "--set", "sync.mode=auto", file, env=FOLDERS.environ())
        return {c["mode"]: c for c in json.loads(p.stdout)["plan"]["candidates"]}

    for mode, measured in (("async", []), ("sync", ["async"]), ("hybrid", ["async", "hybrid"])):
        with Job(BUILD, FOLDERS, ["--set", f"sync.mode={mode}", file], ranks=0) as job:
            assert job.end() == 0, job.err
        assert sorted(m for m, c in planned().items() if c["measured"]) == measured, (mode, planned())
    assert 0.2 < planned()["async"]["efficiency"] <= 1.25, planned()


def goes_on():
    """Ctrl-C and the death of eddis-run end the job that trains; the finished run stays; the job's checkpoints do, too."""
    c = Comparison("goes-on", 'trap "exit 9" TERM; while [ $n -gt 1 ] && [ -e block ]; do sleep 0.05; done; ' + TRAIN)
    block = write(os.path.join(c.work, "block"), "")
    target = ["--until", "samples=6400"]
    with c.start(*target) as job:
        wait_for("the second run", lambda: c.starts() == 2)
        job.interrupt()
        assert "the same command goes on" in job.err, job.err
        gone(job)
    assert c.states() == ["reached", "open"] and not c.result()["finished"], c.result()
    first = c.result()["runs"][0]
    with c.start(*target) as job:
        wait_for("the second run", lambda: c.starts() == 3)
        other = tool(BUILD, "eddis-run", *job.process.args[1:], env=FOLDERS.environ())
        assert other.returncode == 2 and "another eddis-run compares in" in other.stderr, other
        job.process.kill()
        gone(job)
    os.unlink(block)
    with c.start(*target) as job:
        assert job.end(2 * PATIENCE) == 0, (job.err, job.out)
        assert "goes on: 1 of 2 runs have ended" in job.out and not job.err, (job.err, job.out)
        gone(job)
    assert c.starts() == 4 and c.states() == ["reached", "reached"], c.result()
    assert c.result()["runs"][0] == first
    assert not os.path.exists(os.path.join(c.work, "saved")), "the job's own checkpoints"
    with c.start("--until", "samples=6401") as job:
        assert job.end() == 2 and "has another comparison" in job.err, (job.code, job.err)


def late():
    """A run that takes three times the best time is ended; its time is a lower limit."""
    c = Comparison("late", "if [ $n = 2 ]; then LR=0; fi; " + TRAIN)
    with c.start("--until", "accuracy=0.5") as job:
        assert job.end(4 * PATIENCE) == 0, (job.err, job.out)
        assert "sync is best: no other mode has reached accuracy 0.5" in job.out, job.out
    sync, hybrid = c.result()["runs"]
    assert sync["state"] == "reached" and hybrid["state"] == "late" and hybrid["seconds"] > 3 * sync["seconds"], c.result()
    rows = c.result()["modes"]
    assert not rows[0]["above"] and rows[1]["above"] and "> " in job.out, (rows, job.out)


def failed():
    """A mode that fails is a row, and is tried again by the same command."""
    c = Comparison("unlucky", f"if [ $n = 2 ]; then echo no luck >&2; exit 7; fi; {TRAIN}")
    target = ["--until", "samples=640"]
    with c.start(*target) as job:
        assert job.end(2 * PATIENCE) == 0, (job.err, job.out)
        assert "\nhybrid failed: " in job.out, job.out
    assert c.states() == ["reached", "failed"], c.result()
    with c.start(*target) as job:
        assert job.end(2 * PATIENCE) == 0 and "failed" not in job.out, (job.err, job.out)
    assert c.states() == ["reached", "reached"] and c.starts() == 3, c.result()


def not_run():
    """A mode that the job excludes is named, and not started."""
    c = Comparison("not-run", TRAIN)
    with c.start("--set", "sync.algorithm=allreduce", "--until", "samples=640") as job:
        assert job.end(2 * PATIENCE) == 0, (job.err, job.out)
        assert "\nhybrid was not run: " in job.out and '"sync.algorithm" is allreduce' in job.out, job.out
    assert c.states() == ["reached", "not run"] and c.starts() == 1, c.result()


def refused():
    """Wrong requests: one sentence, and exit code 2."""
    file = os.path.join(DIGITS, "train.yaml")
    for args, sentence in (
            (["--until", "accuracy=2"], "--until: an accuracy is above 0 and at most 1, not 2"),
            (["--until", "loss=nan"], '--until: the loss "nan" is not a number'),
            (["--until", "samples=0"], "--until: the number of samples is a whole number from 1"),
            (["--until", "time=-1"], '--until: the time "-1" is not a duration above 0'),
            (["--modes", ""], "--modes has an empty name"),
            (["--modes", "sync,sync"], "--modes names sync twice"),
            (["--modes", "fast"], '--modes: there is no mode "fast"'),
            (["--rounds", "0"], '--rounds "0" is not a whole number'),
            (["--detach"], "--compare and --detach exclude each other"),
            (["--resume", "x"], "--compare and --resume exclude each other"),
            (["--plan", "x"], "--compare and --plan exclude each other"),
            (["--dry-run"], "--compare and --dry-run exclude each other"),
            (["--profile"], "--compare and --profile exclude each other"),
            (["--check"], "--compare and --check exclude each other"),
            (["--slurm"], "--compare and --slurm exclude each other"),
            (["--measure-equal", "20"], "--compare and --measure-equal exclude each other"),
            (["--job-dir", DIGITS], "contains files that are not of a comparison")):
        p = tool(BUILD, "eddis-run", "--compare", *args, file, env=FOLDERS.environ())
        assert p.returncode == 2 and not p.stdout and sentence in p.stderr and p.stderr.count("\n") == 1, p
    p = tool(BUILD, "eddis-run", "--until", "loss=1", file, env=FOLDERS.environ())
    assert p.returncode == 2 and "need --compare" in p.stderr, p


cases.run([digits, ordinary_jobs, goes_on, late, failed, not_run, refused], sys.argv[3:])
