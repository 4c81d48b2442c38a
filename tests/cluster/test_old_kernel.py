# SPDX-License-Identifier: Apache-2.0
"""test_old_kernel.py BUILD SOURCE [CASE ...] - jobs where pidfd_open and pidfd_send_signal are not there, as on Linux before 5.3 or
under a filter of a container's: the ends of processes are seen all the same."""

import errno
import os
import signal
import subprocess
import sys

from cases import Skip, run, table
from job import Folders, Job
from node import PATIENCE

BUILD = sys.argv[1]
FOLDERS = Folders()
REFUSE = os.path.join(BUILD, "tests/cluster/refuse-call")


def job(error, text, **options):
    before = [REFUSE, str(error)]
    if subprocess.run([*before, "true"], timeout=PATIENCE).returncode == 77:
        raise Skip("no filter of system calls may be had here")
    return Job(BUILD, FOLDERS, ["--set", "binding=none", "--", "sh", "-c", text], before=before, **options)


def ends():
    with job(errno.EPERM, "exit $((3 * RANK))") as j:
        j.check(3, "rank_exit", failed_rank=1)


def not_known():
    with job(errno.ENOSYS, "true") as j:
        j.check(0, "ok")


def killed(name, code, reason, sentence, error=errno.EPERM, failed_rank=None):
    with job(error, "trap '' TERM; setsid sleep 300 & echo $$ up; sleep 1000") as j:
        j.wait_up()
        j.wait_event("rank_started", 2)
        shared = j.shared_memory()
        os.kill(j.pids(name)[0] if name else int(j.log(1).split()[-2]), signal.SIGKILL)
        j.check(code, reason, sentence, failed_rank=failed_rank)
        assert not any(map(os.path.exists, shared)), shared


KILLED = {"rank_killed": (None, 137, "rank_signal", "died of signal 9 (Killed)", errno.EPERM, 1),
          "wrapper_killed": ("eddis-rank", 137, "rank_signal", "died of signal 9", errno.EPERM, 0),
          "mpirun_killed": ("mpirun", 1, "internal", "mpirun died of signal 9"),
          "agent_killed": ("eddis-agent", 1, "node_lost", "its agent", errno.ENOSYS),
          "keeper_killed": ("eddis-keeper", 1, "node_lost", "its supervisor was killed")}


def driver_killed():
    with job(errno.EPERM, "trap '' TERM; setsid sleep 300 & echo up; sleep 1000") as j:
        j.wait_log(0, "up")
        j.process.kill()
        j.end()
        j.check_nothing_left()


CASES = [ends, not_known, table(killed, KILLED), driver_killed]

run(CASES, sys.argv[3:])
