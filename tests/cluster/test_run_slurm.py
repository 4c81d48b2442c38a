# SPDX-License-Identifier: Apache-2.0
"""test_run_slurm.py - eddis-run --slurm: a job of a real Slurm, as if it ran here.

Usage: test_run_slurm.py BUILD SOURCE [CASE...]
"""

import contextlib
import os
import re
import select
import shutil
import signal
import sys
import time

import cases
from lab import LOGIN
from node import PATIENCE, wait_for
from slurm_cluster import SlurmCluster, skip_without_slurm

BUILD, SOURCE = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])


class Following:
    """A running eddis-run --slurm on the login host; what it has said so far is in two files, or, with a
    descriptor `out`, in one."""

    def __init__(self, c, args, path="", out=None):
        self.c = c
        self.files = [open(f"{c.lab.folder}/{name}", "w+") for name in ("out", "err")]
        self.process = c.begin(f"eddis-run --slurm {args}", c.environ(path), stdout=out or self.files[0],
                               stderr=self.files[1])

    def said(self, which):
        self.files[which].seek(0)
        return self.files[which].read()

    def wait_said(self, text, which=1):
        wait_for(f"'{text}'", lambda: text in self.said(which) or self.process.poll() is not None)
        assert text in self.said(which), (self.said(0), self.said(1))

    def signal(self, number=signal.SIGINT):
        self.process.send_signal(number)

    def end(self, code):
        assert self.process.wait(PATIENCE) == code, (self.process.returncode, self.said(0), self.said(1))
        self.c.await_empty()


def follows(c):
    """The output and the exit code are the job's; the state is told beside it."""
    c.write("train.yaml", "name: short\ncommand: [sh, -c, 'echo here on $(hostname)']\nslurm: {nodes: 2}\n")
    f = Following(c, "--set checkpoint.dir=$PWD/checkpoints train.yaml")
    f.end(0)
    assert "here on node1" in f.said(0) and "here on node2" in f.said(0) and "done in" in f.said(0), f.said(0)
    assert "is in Slurm's queue" in f.said(1), f.said(1)
    f = Following(c, "-q -- sh -c 'echo a \"b  c\"; exit 7'")
    f.end(7)
    assert f.said(1) == "", f.said(1)


def waits(c):
    """Why it does not start yet; Ctrl-C takes it out of the queue."""
    other = c.sh("sbatch --parsable -N2 --exclusive --wrap 'exec sleep 1000'").stdout.strip()
    c.await_state(other, "RUNNING")
    c.write("train.yaml", "command: [sh, -c, 'until test -e go; do sleep 0.1; done']\n")
    f = Following(c, "train.yaml")
    f.wait_said("(Resources)")
    c.sh(f"scancel {other}")
    f.wait_said("runs on node1")
    c.write("go", "")
    f.end(0)
    f = Following(c, "train.yaml --set slurm.extra=[--hold]")
    f.wait_said("scontrol release")
    f.signal()
    f.end(130)
    f = held(c)
    f.signal(signal.SIGTERM)
    f.end(143)


@contextlib.contextmanager
def program(c, name, script):
    """One that stands before Slurm's own of this name, for a block; yields what to put before PATH."""
    os.mkdir(c.shared + "/bin")
    c.write("bin/" + name, "#!/bin/sh\n" + script, 0o755)
    try:
        yield c.shared + "/bin:"
    finally:
        shutil.rmtree(c.shared + "/bin")


def held(c, path=""):
    """One that follows a job which waits, since it is held."""
    c.write("train.yaml", "command: [sleep, \"1000\"]\n")
    f = Following(c, "train.yaml --set slurm.extra=[--hold]", path)
    f.wait_said("waits")
    return f


def silent(c):
    """Ctrl-C while a program of Slurm's does not end: the job is cancelled, and the third one waits for nothing."""
    c.write("train.yaml", "command: [sleep, \"1000\"]\n")
    with program(c, "scontrol", f"echo asked >>{c.shared}/asked\nexec sleep 1000\n") as path:
        f = Following(c, "train.yaml --set slurm.extra=[--hold]", path)
        for turn in range(1, 4):
            wait_for("scontrol to be asked", lambda: os.path.exists(c.shared + "/asked") and
                     c.read("asked").count("asked") == turn)
            f.signal()
        f.end(130)
    assert "is no longer followed" in f.said(1), f.said(1)
    os.unlink(c.shared + "/asked")


def banner(c):
    """What a site's sbatch says around the number is none."""
    c.write("train.yaml", "command: [\"true\"]\n")
    with program(c, "sbatch", "echo Welcome to the cluster\n/usr/bin/sbatch \"$@\" || exit\necho since 2009\n") as path:
        f = Following(c, "train.yaml", path)
        f.end(0)
    assert re.search(r"^eddis-run: job \d+ is in Slurm's queue$", f.said(1), re.M), f.said(1)


def held_down(c):
    """Ctrl-C, held down: a second one does not end the scancel that obeys the first."""
    with program(c, "scancel", f"echo begun >>{c.shared}/cancels\nsleep 1\n/usr/bin/scancel \"$@\"\n") as path:
        f = held(c, path)
        while f.process.poll() is None:
            f.signal()
            time.sleep(0.03)
        f.end(130)
    assert "does not answer" not in f.said(1) and "cannot be" not in f.said(1), f.said(1)


def deaf(c):
    """Ctrl-C while scancel does not end: that is said before anybody thinks that nothing was heard."""
    with program(c, "scancel", "exec sleep 1000\n") as path:
        f = held(c, path)
        f.signal()
        f.wait_said("cannot be cancelled")
        assert "scancel has not ended within 10 s" in f.said(1), f.said(1)
        c.sh("scancel -u root")
        f.end(130)


def unread(c):
    """Ctrl-C while nobody reads the output, of which there is more than a pipe holds."""
    c.write("train.yaml", "command: [sh, -c, 'yes this is a line | head -c 1000000; touch up; exec sleep 1000']\n")
    ends = os.pipe()
    f = Following(c, "train.yaml", out=ends[1])
    wait_for("the job to be up", lambda: os.path.exists(c.shared + "/up"))
    # How many bytes that is depends on the sizes of the writes: each may take a page of its own.
    wait_for("the pipe to be full", lambda: not select.select([], ends[1:], [], 0)[1])
    f.signal()
    f.wait_said("was asked to save and end")
    c.await_empty()
    f.signal()
    f.end(130)
    os.close(ends[0])
    os.close(ends[1])
    os.unlink(c.shared + "/up")


def names(c):
    """What looks like a field of scontrol's is none; and relative paths are of the folder where they were written."""
    c.write("train.yaml", "command: [echo, here]\n")
    os.makedirs(c.shared + "/elsewhere/a JobState=FAILED b=c")
    f = Following(c, "train.yaml --job-dir the-job --log-dir=the-logs --set "
                     "'slurm.extra=[-J, x JobState=FAILED y, -o, a JobState=FAILED b=c/out, -D, elsewhere]'")
    f.end(0)
    assert os.path.exists(c.shared + "/the-job/summary.json") and os.listdir(c.shared + "/the-logs"), os.listdir(c.shared)
    assert "here" in f.said(0) and not os.path.exists(c.shared + "/elsewhere/the-job"), (f.said(0), f.said(1))
    c.write("hosts", "node2\n")
    f = Following(c, "train.yaml --hostfile hosts --set 'slurm.extra=[-D, elsewhere]'")
    f.end(0)
    assert re.search("(runs|ran) on node2", f.said(1)), f.said(1)


def short(c):
    """Where a job ran is told also when it is over before Slurm is asked again."""
    c.write("train.yaml", "command: [\"true\"]\n")
    with program(c, "scontrol", 'until /usr/bin/scontrol "$@" | grep -q JobState=COMPLETED; do sleep 0.1; done\n'
                                'exec /usr/bin/scontrol "$@"\n') as path:
        f = Following(c, "train.yaml", path)
        f.end(0)
    assert "ran on node" in f.said(1) and "runs on" not in f.said(1), f.said(1)


def rewritten(c):
    """The output of a job that was put back goes into the same file, and is longer at once."""
    c.write("train.yaml", "command: [sh, -c, 'test -e once && { echo second turn; exec sleep 1; }; touch once up; exec sleep 1000']\n")
    f = Following(c, "train.yaml --set 'slurm.extra=[-o, out]'")
    up(c, f)
    os.kill(f.process.pid, signal.SIGSTOP)  # it sees nothing of what is between
    c.sh(f"scontrol requeue {c.queue()[0]}")
    wait_for("the second turn", lambda: "second turn" in c.read("out"))
    os.kill(f.process.pid, signal.SIGCONT)
    f.end(0)
    assert f.said(0).endswith(c.read("out")) and "second turn" in f.said(0), (f.said(0), f.said(1))
    os.unlink(c.shared + "/once")


def unfollowed(c):
    """Many jobs, and those of another cluster, are not one job that can be followed."""
    c.write("train.yaml", "command: [\"true\"]\n")
    for args, words in (("--set slurm.extra=[--array=1-3]", "--array=1-3"), ("--set 'slurm.extra=[-a, 1-3]'", "-a"),
                        ("--set 'slurm.extra=[--arr, 1-3]'", "--arr"), ("--set slurm.extra=[-Meast]", "--clusters"),
                        ("--set slurm.extra=[--clusters=east]", "--clusters"), ("--set slurm.extra=[--wait]", "--wait")):
        f = Following(c, "train.yaml " + args)
        f.end(2)
        assert words in f.said(1) and f.said(1).count("\n") == 1, f.said(1)
    for name in ("SBATCH_CLUSTERS", "SLURM_CLUSTERS", "SBATCH_ARRAY_INX"):
        p = c.sh(f"{name}=1 eddis-run --slurm train.yaml")
        assert p.returncode == 2 and name in p.stderr and p.stderr.count("\n") == 1, p
        assert not c.queue()


def up(c, f):
    wait_for("the job to be up", lambda: os.path.exists(c.shared + "/up") or f.process.poll() is not None)
    os.unlink(c.shared + "/up")
    f.wait_said("runs on")


def interrupted(c):
    """The first Ctrl-C is the driver's, the second Slurm's."""
    c.write("train.yaml", "command: [sh, -c, 'touch up; exec sleep 1000']\n")
    f = Following(c, "train.yaml")
    up(c, f)
    f.signal()
    f.end(130)
    assert "was asked to save and end" in f.said(1) and "interrupted" in f.said(0), (f.said(0), f.said(1))
    c.write("train.yaml", "command: [sh, -c, 'trap \"\" INT TERM; touch up; while :; do sleep 1; done']\n"
                          "timeouts: {grace: 30m}\n")
    f = Following(c, "train.yaml")
    up(c, f)
    f.signal()
    f.wait_said("Ctrl-C again")
    f.signal()
    f.end(130)


def cancelled(c):
    """By somebody else, while it waits and while it runs."""
    f = held(c)
    c.sh("scancel -u root")
    f.end(143)
    assert "CANCELLED" in f.said(1), f.said(1)
    c.write("train.yaml", "command: [sh, -c, 'touch up; exec sleep 1000']\n")
    f = Following(c, "train.yaml")
    up(c, f)
    c.sh("scancel -u root")
    f.end(143)


def requeued(c):
    """A job that is put back waits and runs again, and its output is followed anew."""
    c.write("train.yaml", "command: [sh, -c, 'echo turn; test -e once && exit 0; touch once up; exec sleep 1000']\n")
    f = Following(c, "train.yaml")
    up(c, f)
    f.wait_said("turn", 0)
    c.sh(f"scontrol requeue {c.queue()[0]}")
    f.wait_said("(BeginTime)")
    f.end(0)
    assert f.said(0).count("turn\n") == 2 and "done in" in f.said(0), (f.said(0), f.said(1))


def out_of_time(c):
    """Before the time limit the job is told, saves and is put back, and is followed until it has gone on to its end."""
    c.write("train.yaml", f"command: [sh, -c, 'exec eddis-train --data {SOURCE}/examples/digits/digits.csv --epochs $(cat epochs)']\n"
                          "checkpoint: {dir: checkpoints, every: 0}\ntimeouts: {checkpoint: 4m, grace: 1m}\n"
                          "profile: {emulate: [{rate: 1, a_ms: 20, c_ms: 0.5}]}\n"
                          "slurm: {nodes: 2, time: 1h, requeue: on}\n")
    c.write("epochs", "1000000")
    f = Following(c, "train.yaml")
    f.wait_said("runs on")
    job, = c.queue()
    c.run_out(job, lambda: f.said(0))
    told = re.search(r"stopped by Slurm's time limit \(SIGUSR1\) at step (\d+); newest checkpoint: step (\d+)",
                     f.said(0))
    assert told and told[1] == told[2], f.said(0)[-2000:]
    name = f"slurm-{c.lab.name}-{job}"
    assert sorted(os.listdir(f"{c.shared}/checkpoints/{name}")) == [".generation", f"step-{int(told[1]):08}"], told[0]
    c.write("epochs", str(int(told[1]) // 7 + 2))  # 1797 samples are 7 steps of 256
    f.end(0)
    assert f"continues from step {told[1]} " in f.said(0) and "done in" in f.said(0), f.said(0)[-2000:]


def piped(c):
    """What goes to a named pipe is its reader's."""
    c.write("train.yaml", "command: [echo, here]\n")
    os.mkfifo(c.shared + "/pipe")
    reader = c.begin("cat pipe")
    f = Following(c, "train.yaml --set 'slurm.extra=[-o, pipe]'")
    f.end(0)
    assert "here" in reader.communicate(timeout=PATIENCE)[0] and not f.said(0), f.said(0)


def late(c):
    """Output that comes into sight when the job is over."""
    c.write("train.yaml", "command: [echo, here]\n")
    f = Following(c, "train.yaml --set 'slurm.extra=[-o, /tmp/out]'")
    f.wait_said("for its output in /tmp/out")
    assert f.process.poll() is None
    c.run(LOGIN, "echo seen >/tmp/out")
    f.end(0)
    assert f.said(0) == "seen\n" and "cannot see" not in f.said(1), (f.said(0), f.said(1))
    f = Following(c, "train.yaml --set 'slurm.extra=[-o, /tmp/out-%j]'")
    f.wait_said("for its output in")
    f.signal()
    f.end(130)


def unseen(c):
    """Output that this machine does not see is told of; what is no job is refused at once."""
    c.write("train.yaml", "command: [\"true\"]\n")
    for host in ("node1", "node2"):
        c.run(host, "mkdir -p /tmp/own")
    f = Following(c, "train.yaml --set 'slurm.extra=[-o, /tmp/own/out-%j]'")
    f.end(0)
    assert "for its output in" not in f.said(1), f.said(1)
    assert "which this machine cannot see" in f.said(1) and not f.said(0), (f.said(0), f.said(1))
    for args, code, words in (("train.yaml --set slurm.partition=nope", 3, "Invalid partition"),
                              ("train.yaml --detach", 2, "eddis-sbatch train.yaml"),
                              ("train.yaml --dry-run", 2, "--dry-run"),
                              ("train.yaml --set slurm.time=1m", 2, "timeouts.checkpoint")):
        f = Following(c, args)
        f.end(code)
        assert words in f.said(1) and f.said(1).count("\n") == 1, f.said(1)
    p = c.sh("SLURM_JOB_ID=7 eddis-run --slurm train.yaml")
    assert p.returncode == 2 and "Slurm's job 7" in p.stderr, p


CASES = [follows, waits, silent, banner, held_down, deaf, unread, names, short, rewritten, unfollowed, interrupted, cancelled,
         requeued, out_of_time, piped, late, unseen]


def main():
    skip_without_slurm()
    with SlurmCluster(2, build=BUILD) as c:
        cases.run(CASES, sys.argv[3:], c)


main()
