# SPDX-License-Identifier: Apache-2.0
"""test_blame.py BUILD SOURCE [CASE ...] - what is said to have ended a job: a cause only if it suffices, else facts alone."""

import os
import re
import signal
import subprocess
import sys

from cases import Skip, run
from job import Folders, Job
from node import parent, wait_for

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "lab"))
import cgroup  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
ONCE = ("--set", "binding=none", "--restarts", "0")
UP = "echo $$ up; exec sleep 1000"


def script(text, *args, **options):
    return Job(BUILD, Folders(), [*ONCE, *args, "--", "sh", "-c", text], **options)


def up(j):
    for rank in (0, 1):
        j.wait_log(rank, "up")
    j.wait_event("rank_started", 2)


def wrapper_killed():
    """The process above a rank is named, and not the rank alone."""
    with script(UP) as j:
        up(j)
        wrapper = parent(int(j.log(1).split()[-2]))
        os.kill(wrapper, signal.SIGKILL)
        j.check(137, "rank_signal", f"after the start; eddis-rank (pid {wrapper}), the process of eddis that ran it, had died",
                failed_rank=1)


def memory_elsewhere():
    """Another process of the group lacks memory, and a rank is killed by hand later: two facts, and no cause."""
    group = cgroup.little_memory(300 << 20)
    if not group:
        raise Skip("needs a control group of memory that may be made here")
    eat = [*cgroup.inside(group), sys.executable, "-c", "x = bytearray(b'1' * (600 << 20))"]
    try:
        with script(UP, before=cgroup.inside(group)) as j:
            up(j)
            assert subprocess.run(eat).returncode == -signal.SIGKILL
            beats = len(j.file("metrics.jsonl").splitlines())
            wait_for("three seconds more", lambda: len(j.file("metrics.jsonl").splitlines()) > beats + 3)
            os.kill(int(j.log(1).split()[-2]), signal.SIGKILL)
            j.check(137, "rank_signal", "died of signal 9 (Killed)", failed_rank=1)
            assert re.search(r"; \d+\.\d s before, the kernel had killed another process of its control group", j.err), j.err
            assert "out of memory" not in j.err, j.err
    finally:
        cgroup.remove(group)


def file_limit():
    """A file that has reached its limit is a full disk to us, and the program has its own signal."""
    limited = ["sh", "-c", 'ulimit -f 100; exec "$@"', "sh"]
    dies = "exec 3>out; head -c 9000000 /dev/zero >&3; echo code $?"
    with script(f"seq 200000; cd $(mktemp -d); {dies}; rm -r $PWD", before=limited) as j:
        j.check(0, "ok", "bytes of its log could not be written", "(File too large), and maybe of others; raise the limit of a "
                "file's size (ulimit -f), or name another place with logs.dir")
    with script(f"cd $(mktemp -d); {dies}; rm -r $PWD", before=limited) as j:
        j.check(0, "ok")
        assert f"code {128 + signal.SIGXFSZ}" in j.log(0), j.log(0)


run([wrapper_killed, memory_elsewhere, file_limit], sys.argv[3:])
