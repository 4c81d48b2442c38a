# SPDX-License-Identifier: Apache-2.0
"""test_blame.py BUILD SOURCE [CASE ...] - what is said to have ended a job: a cause only if it suffices, else facts alone."""

import os
import re
import signal
import subprocess
import sys

from cases import Skip, run
from job import Folders, Job, tool
from limits import disk, little_memory
from node import parent, wait_for

BUILD, SOURCE = map(os.path.abspath, sys.argv[1:3])
ONCE = ("--set", "binding=none", "--restarts", "0")
UP = "echo $$ up; exec sleep 1000"
TRAIN = [os.path.join(BUILD, "cmd/eddis-train"), "--data", os.path.join(SOURCE, "examples/digits/digits.csv")]


def script(text, *args, **options):
    return Job(BUILD, Folders(), [*ONCE, *args, "--", "sh", "-c", text], **options)


def up(j):
    j.wait_up()
    j.wait_event("rank_started", 2)


def wrapper_killed():
    """The process above a rank is named, and not the rank alone."""
    with script(UP) as j:
        up(j)
        wrapper = parent(int(j.log(1).split()[-2]))
        os.kill(wrapper, signal.SIGKILL)
        j.check(137, "rank_signal", f"after the start; eddis-rank (pid {wrapper}), the eddis process that ran it, had died",
                failed_rank=1)


def memory_elsewhere():
    """Another process of the group lacks memory, and a rank is killed by hand later: two facts, and no cause."""
    with little_memory(300 << 20) as inside, script(UP, before=inside) as j:
        up(j)
        eat = [*inside, sys.executable, "-c", "x = bytearray(b'1' * (600 << 20))"]
        assert subprocess.run(eat).returncode == -signal.SIGKILL
        beats = len(j.metrics())
        wait_for("three seconds more", lambda: len(j.metrics()) > beats + 3)
        os.kill(int(j.log(1).split()[-2]), signal.SIGKILL)
        j.check(137, "rank_signal", "died of signal 9 (Killed)", failed_rank=1)
        assert re.search(r"; \d+\.\d s before, the kernel had killed another process of its control group", j.err), j.err
        assert "out of memory" not in j.err, j.err


def file_limit():
    """A file that has reached its limit is a full disk to us, and the program has its own signal."""
    limited = ["sh", "-c", 'ulimit -f 100; exec "$@"', "sh"]
    dies = "exec 3>out; head -c 9000000 /dev/zero >&3; echo code $?"
    with script(f"cd $(mktemp -d); {dies}; rm -r $PWD; seq 200000", before=limited) as j:
        j.check(0, "ok", "bytes of its log could not be written", "(File too large), and possibly parts of other logs; raise the limit of "
                "the size of files (ulimit -f), or set another folder with logs.dir")
        assert f"code {128 + signal.SIGXFSZ}\n" in j.log(0), j.log(0)[:100]


def no_checkpoints():
    """On a full disk each that fails counts, in all that shows the job, until there is room again."""
    folders = Folders()
    full = folders.path("full")
    os.mkdir(full)
    train = [*TRAIN, "--test", "360", "--widths", "32", "--epochs", "100000", "--eval-every", "1000"]

    def counts():
        return j.metrics()[-1]["checkpoints"] if j.metrics() else {"failed": 0, "written": 0}

    def shown():
        return tool(BUILD, "eddis-status", "--once", j.dir).stdout
    with disk(full, "size=8k,mode=700"):
        with Job(BUILD, folders, [*ONCE, "--set", f"checkpoint.dir={full}", "--set", "checkpoint.every=200", "--", *train]) as j:
            j.wait_event("rank_started", 2)
            wait_for("three failures", lambda: counts()["failed"] > 2)
            assert re.search(r"^saves   (\d+) of \1 checkpoints were not written, there is no checkpoint: .*No space left on device", shown(),
                             re.M), shown()
            subprocess.run(["mount", "-o", "remount,size=64m", full], check=True)
            wait_for("one that is written", lambda: counts()["written"])
            failed = counts()["failed"]
            assert re.search(rf"^saves   {failed} of \d+ checkpoints were not written, the newest checkpoint is of step \d+$", shown(), re.M), shown()
            j.interrupted("a checkpoint was not written and training continues; no checkpoint was written yet; reason: ",
                          "checkpoints are written again; the newest is of step ")
            c = j.summary()["checkpoints"]
            assert c["failed"] == failed and c["written"] > 0 and c["newest"] > 0 and c["reason"] == "", c
            assert f"  {failed} of {failed + c['written']} checkpoints were not written, the newest checkpoint is of step {c['newest']}\n" in j.out, j.out


def small_shm():
    """MPI's own messages are many lines, when they come at all; mpirun itself may die of printing them."""
    with disk("/dev/shm", "size=1m"):
        with Job(BUILD, Folders(), [*ONCE, "--set", "batch.global=8", "--", *TRAIN, "--epochs", "1"], ranks=4) as j:
            j.end()
            assert j.code == 1 and re.search(r"(after the start|died of signal 11 .*); '/dev/shm' has only \d\.\d MB free, but MPI needs 4\.2 MB for each rank of a "
                                             r"node; make it larger, for example with docker run --shm-size=1g; stopping", j.err), (j.code, j.err)
            assert "  mpirun: " not in j.err, j.err


def no_home():
    """A user whom nothing on the machine knows, as a container may have one."""
    if os.geteuid() != 0:
        raise Skip("needs root")
    folders = Folders()
    subprocess.run(["chmod", "-R", "777", folders.root.name], check=True)
    nobody = ["setpriv", "--reuid", "54321", "--regid", "54321", "--clear-groups", "env", "-u", "HOME", "-u", "XDG_RUNTIME_DIR"]
    with Job(BUILD, folders, [*ONCE, "--", "sh", "-c", "echo up"], before=nobody) as j:
        j.check(0, "ok")
        assert j.log(0) == "up\n", j.log(0)


run([wrapper_killed, memory_elsewhere, file_limit, no_checkpoints, small_shm, no_home], sys.argv[3:])
