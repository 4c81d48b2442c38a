# SPDX-License-Identifier: Apache-2.0
"""test_networks.py BUILD SOURCE [CASE ...] - which networks a job on several hosts uses, and who gets in.

Hosts of tests/lab have one cable each, 10.77.0.0/24.  Cases give them more addresses or take traffic
away, look at what the driver chose and why, and knock at its doors from elsewhere.
"""

import json
import os
import re
import signal
import sys
import time

from cases import run
from doors import listeners, listening
import lab

BUILD = sys.argv[1]
NODES = f"{lab.network.address(1)}, {lab.network.address(2)}"
PRINT = ["--", "sh", "-c", "echo \"$MASTER_ADDR\""]
KNOCK = """
import socket, ssl, sys
host, port, kind = sys.argv[1], int(sys.argv[2]), sys.argv[3]
s = socket.create_connection((host, port), timeout=100)
if kind != "plain":
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    c.check_hostname, c.verify_mode = False, ssl.CERT_NONE
    c.minimum_version = c.maximum_version = ssl.TLSVersion[kind]
    s = c.wrap_socket(s)
s.sendall(b"GET /v1/agents/0/orders?after=0 HTTP/1.1\\r\\nHost: x\\r\\n"
          b"Authorization: Bearer " + b"0" * 64 + b"\\r\\n\\r\\n")
print(s.recv(4096).decode(errors="replace").split("\\r\\n")[0])
"""


def job(c, *args, command=PRINT, **more):
    return c.job(["-H", ",".join(c.nodes), "--set", f"checkpoint.dir={c.shared}", "--set", "profile.cache=0s",
                  *args, *command], **more)


def everywhere(c, command):
    """Run it on each node; {n} is the node's number."""
    for i, node in enumerate(c.nodes):
        done = c.run(node, command.format(n=i + 1))
        assert done.returncode == 0, (node, done.stderr)


def networks(j):
    return [e["text"] for e in j.events("network") if e.get("text")]


def measured(j):
    return json.loads(j.file("profile.json"))["network"]


def chosen(j):
    """The subnet that the last choice fell on."""
    return [re.match(r"(\S+), on ", t).group(1) for t in networks(j) if ", on " in t][-1]


# ---- who gets in ----

def door():
    """The driver listens on the nodes' network and on loopback, nothing else of eddis listens."""
    with lab.Cluster(2, build=BUILD) as c:
        with job(c, command=["--", "sleep", "60"]) as j:
            j.wait_event("rank_started", 4)  # two of the probe
            doors = {door for door in listeners(c.lab.find(lab.LOGIN)[1]).values() if door[1] != 22}
            own = c.run(lab.LOGIN, "ip -4 -o addr show dev eth0").stdout.split()[3].split("/")[0]
            assert sorted(a for a, _ in doors) == sorted(["127.0.0.1", own]), doors
            for node in c.nodes:
                of_ours = {p for p, line in c.processes(node).items()
                           if re.search(r"/eddis-(agent|keeper|rank|relay)$", line.split(" ")[0])}
                assert of_ours, c.processes(node)
                for pid in of_ours:
                    assert not listening(pid), (node, pid, c.processes(node)[pid])
            port = next(p for a, p in doors if a == own)
            for kind, answer in (("plain", None), ("TLSv1_2", None), ("TLSv1_3", "401")):
                done = c.run(c.nodes[1], ["/usr/bin/python3", "-c", KNOCK, own, str(port), kind])
                if answer:
                    assert answer in done.stdout, (kind, done.stdout, done.stderr)
                else:
                    assert "HTTP/1.1" not in done.stdout, (kind, done.stdout)
            j.signal(2)
            j.check(130, "interrupted", "refused a request from " + lab.network.address(2))
            assert j.summary()["refused"] == f"1 refused request from {lab.network.address(2)}", j.summary()


# ---- which network ----

def block(c, verdict):
    """Nodes hear nothing of each other on the first network; with "reject" they are told so."""
    everywhere(c, f"nft add table ip t && nft add chain ip t i '{{{{ type filter hook input priority 0; }}}}' && "
                  f"nft add rule ip t i ip saddr {{{{ {NODES} }}}} ip daddr {{{{ {NODES} }}}} {verdict}")


def second_cable(c):
    """10.88.0.0/24 on an interface of its own on each node, over the one cable there is."""
    everywhere(c, "ip link add second{n} link eth0 type macvlan mode bridge && ip addr add 10.88.0.{n}/24 dev second{n} "
                  "&& ip link set second{n} up")


def bridges():
    """What containers leave on every node is no network between them; nor is a cable of one node."""
    with lab.Cluster(2, build=BUILD) as c:
        everywhere(c, "ip link add docker0 type bridge && ip addr add 172.17.0.1/16 dev docker0 && ip link set docker0 up "
                      "&& ip link add p{n} type veth peer name q{n} && ip link set p{n} master docker0 up && ip link set q{n} up "
                      "&& ip addr add 10.200.{n}.1/24 dev q{n}")
        with job(c) as j:
            j.check(0, "ok")
            assert chosen(j) == "10.77.0.0/24", networks(j)
            why = "; ".join(networks(j))
            assert "172.17.0.0/16: 172.17.0.1 is on node1 and on node2: a bridge" in why, why
            assert "10.200.1.0/24: node2 has no address of its own in it" in why, why
            assert "slowest from node" in j.out, j.out
            figures = measured(j)
            assert figures["network"] == "10.77.0.0/24" and figures["hosts"] == c.nodes, figures
            assert len(figures["links"]) == 2 and all(l["bytes_per_s"] > 0 for l in figures["links"]), figures


def wish():
    """communication.interface by network, name and address; names differ between nodes."""
    with lab.Cluster(2, build=BUILD) as c:
        second_cable(c)
        for text in "10.88.0.0/24", "10.88.0.2", "second2":
            with job(c, "--set", f"communication.interface={text}") as j:
                j.check(0, "ok")
                assert chosen(j) == "10.88.0.0/24", networks(j)
        with job(c, "--set", "communication.interface=ib0") as j:
            j.check(3, "start", "communication.interface \"ib0\" matches no network that connects all 2 nodes: node1 has ")


def kept():
    """The second job does not measure again, and a network more does not matter."""
    with lab.Cluster(2, build=BUILD) as c:
        args = ["-H", ",".join(c.nodes), "--set", f"checkpoint.dir={c.shared}", *PRINT]
        for probed in 1, 0:
            with c.job(args) as j:
                j.check(0, "ok")
                assert len(j.events("rank_started")) == 2 + 2 * probed, j.events()
                assert measured(j)["network"] == "10.77.0.0/24"
        second_cable(c)
        with c.job(args) as j:
            j.check(0, "ok")
            assert chosen(j) == "10.77.0.0/24", networks(j)
        # A first launch that comes to nothing: mpirun's daemon does not reach it, and it gives up.
        block(c, "reject")
        with c.job(args) as j:
            j.wait_event("relay")
            os.kill(c.pids(c.nodes[0], "mpirun")[-1], signal.SIGTERM)
            everywhere(c, "nft delete table ip t")
            j.check(0, "ok", "it is measured again")
            assert '"links"' not in j.out and j.out.count("nodes     2") == 1 and j.out.count("plan      ") == 2, j.out


def second_choice():
    """Agents come by the first network, but nodes hear nothing of each other there."""
    with lab.Cluster(2, build=BUILD) as c:
        second_cable(c)
        block(c, "drop")
        began = time.monotonic()
        with job(c) as j:
            j.check(0, "ok")
            assert chosen(j) == "10.88.0.0/24", networks(j)
            assert j.events("network_failed"), j.events()
        print(f"second choice after {time.monotonic() - began:.1f} s: {networks(j)}")


CASES = [door, bridges, wish, kept, second_choice]


lab.skip_unless_possible()
run(CASES, sys.argv[3:])
