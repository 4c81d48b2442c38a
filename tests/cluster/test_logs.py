# SPDX-License-Identifier: Apache-2.0
"""test_logs.py BUILD SOURCE [CASE ...] - logs of hosts whose disks the driver does not see."""

import os
import re
import signal
import sys

from cases import run
from job import MEET
from lab import Cluster, LOGIN
from node import wait_for

BUILD = os.path.realpath(sys.argv[1])
STATUS = os.path.join(BUILD, "cmd/eddis-status")
HERE = "/root"


def folders(c, host):
    """What a job has left of its logs on a host."""
    return c.run(host, f"ls -d {HERE}/job-*/logs 2>/dev/null; true").stdout.split()


def tidy(c):
    """Remove what stays on the nodes."""
    for host in ("node1", "node2"):
        c.run(host, f"rm -rf {HERE}/job-*")


def job(c, text, nodes="node1,node2"):
    return c.job(["-H", nodes, "--", "sh", "-c", text])


def fetched(c):
    """In the end every log is in the job's folder, and nowhere else."""
    with job(c, "echo I am $RANK; echo $RANK all", "node1:2,node2") as j:
        j.check(0, "ok")
        for rank, node in ((0, "node1"), (1, "node1"), (2, "node2")):
            assert j.log(rank) == f"I am {rank}\n{rank} all\n", j.log(rank)
            assert re.search(rf"^{node}:{rank}: +I am {rank}$", j.out, re.M), j.out
        names = os.listdir(j.path("logs"))
        assert "agent-node1.log" in names and "agent-node2.log" in names, names
        assert not any(n.startswith(".") for n in names), names
        for host in ("node1", "node2"):
            assert not folders(c, host), folders(c, host)


def long_log(c):
    """Of a long one the beginning and the end, and where the rest is."""
    with job(c, "seq 4000000; sleep 1") as j:
        j.check(0, "ok")
        lines = j.log(1).splitlines()
        assert lines[0] == "1" and lines[-1] == "4000000", (lines[0], lines[-1])
        mark = [line for line in lines if line.startswith("[eddis:")]
        assert len(mark) == 1 and "left out here" in mark[0], mark
        assert os.path.getsize(j.path("logs/rank-0001.log")) < 21 << 20
        assert folders(c, "node2"), "all of it is kept there"
        said = re.search(r"2 logs were not fetched completely and are still on their nodes: (.*)", j.err)
        assert said, j.err
        for place in said.group(1).split(", "):
            node, path = place.split(":")
            assert c.run(node, f"tail -n 1 {path}").stdout == "4000000\n", place
        tidy(c)


def cut_short(c):
    """A slow network is not waited for when somebody asks for the end once more."""
    over = os.path.join(c.shared, "over")
    with job(c, f"seq 2000000; while [ ! -e {over} ]; do sleep 0.05; done") as j:
        for host, rank in (("node1", 0), ("node2", 1)):
            whole = f"tail -n 1 {HERE}/job-{c.jobs}/logs/g1/rank-000{rank}.log"
            wait_for("a long log", lambda: c.run(host, whole).stdout == "2000000\n")
        c.lab.rate("node2", "4mbit")  # 14 MB take half a minute
        open(over, "w").close()
        j.wait_event("fetching")
        j.signal(signal.SIGQUIT)
        assert j.end() == 0, (j.code, j.err)  # it had trained to its end
        c.lab.rate("node2", "none")
        assert "not fetched completely" in j.err, j.err
        tidy(c)


def full_disk(c):
    """No room for them: they stay where they are, whole, and a sentence names the places."""
    there = f"{HERE}/job-{c.jobs + 1}"
    p = c.run(LOGIN, f"mkdir -m 700 {there} && mount -t tmpfs -o size=500k,mode=700 none {there}")
    assert p.returncode == 0, p
    with job(c, "seq 100000") as j:
        assert j.end() == 0, (j.code, j.err)
        said = re.search(r"2 logs were not fetched completely \(cannot write '" + re.escape(there) +
                         r"/.*': No space left on device; free space there\) and are still on their nodes: (.*)", j.err)
        assert said, j.err
        for place in said.group(1).split(", "):
            host, path = place.split(":")
            whole = c.run(host, f"cat {path}").stdout
            assert whole == "".join(f"{i}\n" for i in range(1, 100001)), (place, whole[-100:])
            part = j.file("logs/" + os.path.basename(path))
            assert part.endswith(f"\n[eddis: the rest of this log is on {host}]\n"), (place, part[-100:])
        tidy(c)
    c.run(LOGIN, f"umount {there}; rm -rf /run/mount")


def looked_at(c):
    """eddis-status --logs while the job runs, and when it has ended."""
    with job(c, "for i in $(seq 30); do echo $RANK says $i; sleep 0.5; done") as j:
        there = f"{HERE}/job-{c.jobs}/"

        def logs(*args):
            return c.run("login", [STATUS, there, "--logs", "1", *args])
        wait_for("a log", lambda: "1 says 3" in logs().stdout)
        p = logs("-n", "2")
        assert p.returncode == 0 and len(p.stdout.splitlines()) == 2, p
        assert all(line.startswith("1 says ") for line in p.stdout.splitlines()), p
        p = logs("--follow", "-n", "1000")
        assert p.stdout == "".join(f"1 says {i}\n" for i in range(1, 31)), p
        j.check(0, "ok")
        assert logs("-n", "1").stdout == "1 says 30\n"
        p = c.run("login", [STATUS, there, "--logs", "7"])
        assert p.returncode == 1 and "there is no rank 7: the job has 2, from 0 to 1" in p.stderr, p


def pushed_out(c):
    """--logs and --follow show new lines of a rank that has filled its log, on a disk of its node or a shared one."""
    text = "seq 300000; for i in $(seq 20); do echo $RANK says $i; sleep 0.5; done"
    for more in ([], ["--log-dir", os.path.join(c.shared, "logs")]):
        with c.job(["-H", "node1,node2", "--set", "logs.max_mb=1", *more, "--", "sh", "-c", text]) as j:
            there = f"{HERE}/job-{c.jobs}/"

            def logs(*args):
                return c.run("login", [STATUS, there, "--logs", "1", *args])
            wait_for("new lines", lambda: "1 says 3\n" in logs().stdout)
            p = logs("--follow", "-n", "1000")
            assert p.returncode == 0, p
            said = [line for line in p.stdout.splitlines() if re.fullmatch(r"1 says \d+", line)]
            # A log that was fetched has one line more in its middle, so that its last lines may come again.
            said = said if more else list(dict.fromkeys(said))
            assert said == [f"1 says {i}" for i in range(1, 21)], p.stdout[-2000:]
            j.check(0, "ok")
            assert logs("-n", "1").stdout == "1 says 20\n"


def failed(c):
    """Those of a job that failed come as well."""
    with job(c, f"echo words of $RANK; cd {c.shared}; {MEET}[ $RANK = 1 ] && kill -9 $$; sleep 1000") as j:
        j.check(137, "rank_signal", failed_rank=1)
        for rank in (0, 1):
            assert f"words of {rank}\n" == j.log(rank), j.log(rank)


def refused(c):
    """A job that never ran a worker, and a check, leave nothing on any host."""
    with c.job(["-H", "node1,node2", "--", "no-such-program"]) as j:
        j.check(3, "start")
    for mode in ("--dry-run", "--check"):
        p = c.run("login", [os.path.join(BUILD, "cmd/eddis-run"), mode, "--set", "profile.cache=0s",
                            "-H", "node1,node2", "--", "true"])
        assert p.returncode == 0, p
    for host in ("node1", "node2"):
        left = c.run(host, "ls -d /tmp/eddis-*; true").stdout
        assert not folders(c, host) and not left, (host, folders(c, host), left)


CASES = [fetched, long_log, cut_short, full_disk, looked_at, pushed_out, failed, refused]


with Cluster(2, build=BUILD) as c:
    run(CASES, sys.argv[3:], c)
