# SPDX-License-Identifier: Apache-2.0
"""test_hosts.py BUILD SOURCE [CASE ...] - what a user says of several hosts, on hosts of tests/lab: hostfile,
-H, unequal workers, secrets, a check, a job in the background."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading

from cases import run
from files import write
from lab import HOME, LOGIN, Cluster, network
from node import LEASE, wait_for

BUILD = os.path.realpath(sys.argv[1])
RUN = os.path.join(BUILD, "cmd/eddis-run")
STATUS = os.path.join(BUILD, "cmd/eddis-status")
FAST = ["--set", f"timeouts.lease={LEASE}s"]


def unequal(c):
    """1, 2 and 3 workers train together; who says so twice adds up."""
    write(c.path(LOGIN, HOME + "/hosts"), "# three of them\nnode1\nnode2 slots=2\nnode3:2\nnode3 1\n")
    with c.job(["--hostfile", "hosts", "-x", "MY_API_KEY=swordfish", "--", "sh", "-c",
                "echo rank $RANK of $WORLD_SIZE, key $MY_API_KEY"]) as j:
        assert j.end() == 0, (j.code, j.err, j.out)
        nodes = [w["node"] for w in j.summary()["workers"]]
        assert nodes == ["node1"] + ["node2"] * 2 + ["node3"] * 3, nodes
        assert "swordfish" not in j.file("job.yaml") and "swordfish" not in j.file("events.jsonl")
        assert "{host: node3, workers: 3}" in j.file("job.yaml"), j.file("job.yaml")
        assert "nodes     3   node1" in j.out, j.out
        assert "workers   6   on CPU cores: ranks 0 on node1, 1-2 on node2, 3-5 on node3;" in j.out, j.out
        assert "no checkpoints are saved" not in j.out, "of a program that may write none"
        os.remove(c.path(LOGIN, HOME + "/hosts"))
        j.check_nothing_left()


def left_early(c):
    """Who has closed its last handle leaves by _exit, and the others on other nodes go on and end."""
    with c.job(["-H", "node1,node2,node3", "--", os.path.join(BUILD, "tests/mpi/test_mpi_eddis"), "gone"]) as j:
        assert j.end() == 0, (j.code, j.err, j.out)
        assert "rank 0 has gone on" in j.out and "rank 2 has gone on" in j.out, j.out
        assert j.summary()["reason"] == "ok" and "mpirun" not in j.err, j.err
        j.check_nothing_left()


def check(c):
    def checked(*words):
        return c.run(LOGIN, [RUN, *FAST, "--check", *words], cwd=HOME)
    p = checked("-H", "node1,node2", "--", "sh", "-c", "touch trained")
    assert p.returncode == 0 and "all nodes are ready; nothing was trained" in p.stdout, p
    assert "network" in p.stdout, p.stdout
    # A checkpoint folder that all nodes share is made to find out, and does not stay; one that they
    # do not share is told of once.
    for place, code in ((os.path.join(c.shared, "new/deep"), 0), (HOME + "/new/deep", 3)):
        p = checked("--set", f"checkpoint.dir={place}", "-H", "node1,node2", "--", "true")
        assert p.returncode == code, p
        assert (p.stdout + p.stderr).count("is not the same folder") == (code == 3), p
        assert not any(os.path.exists(c.path(h, os.path.dirname(place))) for h in c.hosts), place
    # Each host that cannot be used is named, not only the first.
    p = checked("--json", "-H", "node1,nowhere,nobody", "--", "true")
    answer = json.loads(p.stdout)
    assert p.returncode == 3 and not answer["ready"], p
    assert [bool(n["trouble"]) for n in answer["nodes"]] == [False, True, True], answer
    c.check_nothing_left()


def turns(c):
    """The hosts are one machine: who has no profile yet measures while no other does, and who has one is not
    asked to."""
    def jobs():
        with c.job(["-H", "node1,node2,node3", "--", "true"]) as j:
            assert j.end() == 0, (j.code, j.err, j.out)
            return [(e["type"], e["node"]) for e in j.events() if e["type"] in ("measures", "profiled")]

    for host in c.nodes:
        shutil.rmtree(c.path(host, HOME + "/.cache/eddis"), ignore_errors=True)
    with Measuring(c) as seen:
        got = jobs()
    assert sorted(node for _, node in got[::2]) == c.nodes, got
    assert [kind for kind, _ in got] == ["measures", "profiled"] * 3, got
    assert got[::2] == [("measures", node) for _, node in got[1::2]], got
    assert seen.most == 1, f"{seen.most} hosts were measured at the same time"
    got = jobs()
    assert [kind for kind, _ in got] == ["profiled"] * 3, got


class Measuring:
    """On how many hosts a probe computed at the same time, as seen from outside: its measurements are children of
    the one that the agent has started."""

    def __init__(self, c):
        self.c, self.most, self.over, self.looked = c, 0, threading.Event(), False
        self.thread = threading.Thread(target=self.look, daemon=True)

    def look(self):
        while not self.over.wait(0.02):
            self.most = max(self.most, sum(len(self.c.pids(h, "eddis-probe")) > 1 for h in self.c.nodes))
        self.looked = True

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *ignored):
        self.over.set()
        self.thread.join()
        assert self.looked, "nobody looked to the end"


def background(c):
    folder = HOME + "/job-900"
    p = c.run(LOGIN, [RUN, *FAST, "--detach", "--job-dir", folder, "-H", "node1,node2", "--", "sleep", "600"], cwd=HOME)
    assert p.returncode == 0 and "continues in the background" in p.stdout, p
    s = c.run(LOGIN, [STATUS, folder + "/", "--json"])
    assert json.loads(s.stdout)["state"] == "running", s
    assert c.pids("node2", "sleep")
    p = c.run(LOGIN, [RUN, "--stop", folder + "/"])
    assert p.returncode == 0 and "exit code 130" in p.stdout, p
    assert "stopped by eddis-run --stop" in p.stdout and "Ctrl-C" not in p.stdout, p
    wait_for("the workers to be gone", lambda: not c.pids("node1", "sleep") and not c.pids("node2", "sleep"))
    c.check_nothing_left()


def refused(c):
    """A wrong host, a refused key: one sentence each, and the host that could be reached is clean."""
    with c.job(["-H", "node1,nowhere", "--", "true"]) as j:
        assert j.end() == 3 and "nowhere" in j.err and j.err.count("\n") == 1, (j.code, j.err)
        j.check_nothing_left()


IDLE = """
import os, resource, socket, sys, time
n, doors = int(sys.argv[1]), [d.rsplit(":", 1) for d in sys.argv[2:]]
resource.setrlimit(resource.RLIMIT_NOFILE, (20000, 20000))
os.setgroups([]); os.setgid(65534); os.setuid(65534)
held = []
for i in range(n):
    for host, port in doors:
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex((host, int(port)))
        held.append(s)
    if i % 100 == 0:
        time.sleep(0.01)
print("idle", flush=True)
sys.stdin.read()
"""


def idle(c, host, n, doors):
    p = c.lab.popen(host, ["/usr/bin/python3", "-c", IDLE, str(n), *doors], cwd="/", stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, text=True)
    assert p.stdout.readline() == "idle\n"
    return p


def doors(c):
    """Another user opens connections and says nothing, at both doors: the job goes on, agents that
    were not answered come in again, and who may look sees it.  While the driver is stopped the job's
    folder tells."""
    with c.job(["-H", "node1,node2", "--", "sh", "-c", "while [ ! -e ~/over ]; do sleep 0.05; done"], lease=12) as j:
        j.wait_events("both ranks", lambda e: e["type"] == "rank_started" and e.get("rank") == 1)
        address = network.address(0)
        people = json.loads(j.file("driver.json"))["url"].split("//")[1]
        ports = [s.split()[-1] for s in c.sockets(LOGIN)]
        agents = [f"{address}:{p}" for p in ports if p != people.split(":")[1]]
        assert agents, (ports, people)
        idle_ones = [idle(c, LOGIN, 900, [people] + agents), idle(c, "node2", 1500, agents)]
        try:
            s = c.run(LOGIN, [STATUS, j.place + "/", "--once", "--json"])
            assert s.returncode == 0 and json.loads(s.stdout)["state"] in ("profiling", "launching", "running"), s
            assert s.stderr == "", s  # it was the driver that answered
            os.kill(j.process.pid, signal.SIGSTOP)
            s = c.run(LOGIN, [STATUS, j.place + "/", "--once", "--json"])
            os.kill(j.process.pid, signal.SIGCONT)
            assert s.returncode == 0 and json.loads(s.stdout)["job"], s
            assert f"(pid {j.process.pid}) is suspended" in s.stderr, s
            assert "this status is from the job's folder" in s.stderr, s
            for node in ("node1", "node2"):
                open(c.path(node, HOME + "/over"), "w").close()
            assert j.end() == 0 and j.summary()["generations"] == 1, (j.code, j.err)
        finally:
            for p in idle_ones:
                p.kill()
                p.communicate()
    for node in ("node1", "node2"):
        os.remove(c.path(node, HOME + "/over"))
    c.check_nothing_left()


CASES = [unequal, left_early, check, turns, background, refused, doors]


with Cluster(3, build=BUILD) as c:
    run(CASES, sys.argv[3:], c)
