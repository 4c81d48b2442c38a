# SPDX-License-Identifier: Apache-2.0
"""test_start.py BUILD SOURCE [CASE ...] - starts on the hosts of a lab, and what is left of them.

What test_ssh.py cannot have on loopback: hosts that cannot be reached, or cannot reach the driver.
"""

import os
import re
import signal
import sys

from cases import Skip, run
from lab import HOME, LEASE, LOGIN, Cluster
import network

BUILD = os.path.abspath(sys.argv[1])
HOSTS = ["-H", "node1,node2,node3", "-n", "1"]
SLEEP = ["--", "sh", "-c", "echo up; sleep 1000"]

# Connections to the driver are refused to one host; logins are not touched.
WALL = """add table inet wall
add chain inet wall in {{ type filter hook input priority 0; }}
add rule inet wall in ip saddr {address} tcp dport 1024-65535 tcp flags syn / syn,ack reject
"""


def job(c, *args, launch="20s", lease=LEASE):
    return c.job(["--set", f"timeouts.launch={launch}", "--set", "profile.emulate=[{rate: 1, a_ms: 2, c_ms: 0.1}]",
                  *HOSTS, *args], lease=lease)


def running(c, lease=LEASE):
    """A job whose ranks are all up."""
    j = job(c, *SLEEP, launch="60s", lease=lease)
    j.wait_events("all ranks to be up", lambda e: e["type"] == "rank_started" and
                  sum(f["type"] == "rank_started" for f in j.events()) == 3)
    return j


def cleanup(c, j):
    return c.run(LOGIN, [f"{BUILD}/cmd/eddis-run", "--cleanup", f"{HOME}/{os.path.basename(j.dir)}/"])


def unreachable_driver(c):
    """A login works, but not the way back: both are told apart."""
    address = network.address(c.hosts.index("node3"))
    wall = c.run(LOGIN, ["nft", WALL.format(address=address)])
    if wall.returncode:
        raise Skip("needs nftables")
    with job(c, *SLEEP) as j:
        assert j.end() == 3, (j.code, j.err)
        assert re.search(r"node3: its agent exited 3 before it registered: cannot reach the driver at "
                         r"[0-9.]+:\d+", j.err), j.err
        j.check_nothing_left()
    c.run(LOGIN, ["nft", "delete table inet wall"])


def unreachable_host(c):
    c.lab.cut("node2")
    try:
        with job(c, *SLEEP, launch="6s") as j:
            assert j.end() == 3, (j.code, j.err)
            assert re.search(r"node2: ssh: no (answer|route to the host)", j.err), j.err
            j.check_nothing_left()
    finally:
        c.lab.join("node2")


def driver_killed(c):
    """Every host is empty within the lease, and --cleanup finds it so."""
    with running(c) as j:
        j.signal(signal.SIGKILL)
        j.process.wait()
        j.check_nothing_left()
        r = cleanup(c, j)
        assert r.returncode == 0 and not r.stderr, r
        assert sorted(r.stdout.splitlines()) == [f"node{i}: nothing was left" for i in (1, 2, 3)], r


def cleanup_at_once(c):
    """The driver is dead and the lease not over: all that is the job's goes, host by host; a host
    that cannot be reached is named, and is empty by itself a lease later."""
    with running(c, lease=60) as j:
        r = cleanup(c, j)
        assert r.returncode == 2 and "is running" in r.stderr, r
        j.signal(signal.SIGKILL)
        j.process.wait()
        r = cleanup(c, j)
        assert r.returncode == 0 and not r.stderr, r
        assert len(re.findall(r"node\d: killed \d+ processes \(.*\), removed 2 folders", r.stdout)) == 3, r
        j.check_nothing_left()
    with running(c) as j:
        j.signal(signal.SIGKILL)
        j.process.wait()
        c.lab.cut("node2")
        try:
            assert j.file("nodes.jsonl").count('"host":"node2"') == 1
            r = cleanup(c, j)
            assert r.returncode == 1 and "node2: ssh: no " in r.stderr, r
            assert r.stdout.count("node1: ") == 1 and r.stdout.count("node3: ") == 1, r
        finally:
            c.lab.join("node2")
        j.check_nothing_left()


CASES = [unreachable_driver, unreachable_host, driver_killed, cleanup_at_once]


with Cluster(3, build=BUILD) as c:
    run(CASES, sys.argv[3:], c)
