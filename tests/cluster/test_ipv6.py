# SPDX-License-Identifier: Apache-2.0
"""test_ipv6.py BUILD SOURCE [CASE ...] - hosts that are named and reached by IPv6, on hosts of tests/lab.

Their network is one of IPv6 alone, or of both families, 10.77.0.0/24 and fd00:77::/64.
"""

import json
import os
import re
import shutil
import sys

from cases import run, table
from lab import HOME, LOGIN, Cluster, network

BUILD, SOURCE = (os.path.realpath(p) for p in sys.argv[1:3])
RUN = os.path.join(BUILD, "cmd/eddis-run")
FOUR, SIX = network.SUBNET + ".0/24", network.SUBNET6 + "/64"
PRINT = ["--", "sh", "-c", "echo \"rank $RANK of $WORLD_SIZE by $MASTER_ADDR\""]
FIRST, SECOND = network.address6(1), network.address6(2)


def networks(j):
    return [e["text"] for e in j.events("network") if e.get("text")]


def check(j, subnet, ranks, nodes):
    """The job has run on this subnet, with the first node's address in it as MASTER_ADDR."""
    assert j.end() == 0, (j.code, j.err, j.out, networks(j))
    assert [re.match(r"(\S+), on ", t).group(1) for t in networks(j) if ", on " in t][-1] == subnet, networks(j)
    master = network.address6(1) if subnet == SIX else network.address(1)
    for rank in range(ranks):
        assert j.log(rank) == f"rank {rank} of {ranks} by {master}\n", j.log(rank)
    assert [w["node"] for w in j.summary()["workers"]] == nodes, j.summary()["workers"]
    j.check_nothing_left()


# ---- IPv6 alone ----

def only():
    """By a name, and by an address, in another spelling than the kernel's."""
    spelled = SECOND.upper().replace("::", ":0:0::")
    with Cluster(2, build=BUILD, families="6") as c:
        with c.job(["-H", f"node1,[{spelled}]:2", *PRINT]) as j:
            check(j, SIX, 3, ["node1", spelled, spelled])
            assert f"[{spelled}]:2" in j.out or "(3 ranks)" in j.out or "(2 ranks)" in j.out, j.out


def refused():
    """What cannot work is one sentence before any login, and exit code 2."""
    with Cluster(1, build=BUILD, families="6") as c:
        c.write("hosts", "node1\nfe80::1%eth0\n")
        c.write("t.yaml", "command: [a]\nnodes: [{host: node1, address: 'fe80::1'}]\n")
        link = "is a link-local address, which is valid on one network link only"
        for words, sentence in (
                (["-H", "fe80::1%eth0"], link), (["-H", "node1,[fe80::1]:2"], link), (["--hostfile", "shared/hosts"], link),
                (["-H", "ff02::1"], "is not the address of a single machine"),
                (["-H", "[::1"], "is not an IPv6 address in brackets; write one like [fd00::7], or [fd00::7]:2 for 2 workers"),
                (["-H", "1:2:3:4:5:6:7:8:9"], "is not a name or address of a host"), (None, link)):
            args = [*words, "--", "true"] if words else ["shared/t.yaml"]
            p = c.run(LOGIN, [RUN, "--ssh-command", "touch called", "--job-dir", "left", *args], cwd=HOME)
            assert p.returncode == 2 and sentence in p.stderr and p.stderr.count("\n") == 1, (words, p)
            assert not any(os.path.exists(c.path(LOGIN, f"{HOME}/{name}")) for name in ("called", "left")), words


def trains():
    """A job loses a host, and goes on."""
    with Cluster(3, build=BUILD, families="6") as c:
        data = os.path.join(c.shared, "digits.csv")
        shutil.copy(os.path.join(SOURCE, "examples/digits/digits.csv"), data)
        folder = os.path.join(c.shared, "checkpoints")
        with c.job(["-H", "node1,node2,node3", "--set", f"checkpoint.dir={folder}", "--set", "checkpoint.every=20",
                    "--set", "batch.global=128", "--", "eddis-train", "--data", data, "--test", "360", "--model", "mlp",
                    "--widths", "64", "--epochs", "150"]) as j:
            j.wait_checkpoint()
            c.lab.crash("node2")
            assert j.end() == 0, (j.code, j.err, j.out)
            s = j.summary()
            assert s["generations"] == 2 and s["accuracy"] > 0.9, s
            assert {w["node"] for w in s["workers"]} == {"node1", "node3"}, s["workers"]
            c.lab.revive("node2")
            j.check_nothing_left()


def unusable(names, command, has, why):
    """Something on node2 keeps Open MPI from its IPv6: one sentence, or IPv4."""
    for families in "6", "46":
        with Cluster(2, build=BUILD, families=families) as c:
            assert c.run("node2", command).returncode == 0
            with c.job(["-H", ",".join(names), *PRINT]) as j:
                if families == "6":
                    j.check(3, "start", f"; {SIX} on {names[1]}, eth0: {why}",
                            f"no network connects all 2 nodes: {names[0]} has {FIRST}/64; {names[1]} has {has}")
                else:
                    check(j, FOUR, 2, names)
                    assert f"{SIX}: {names[1]}, eth0: {why}" in networks(j), networks(j)


UNUSABLE = {
    # Of an interface.
    "several_addresses": ([FIRST, SECOND], "ip -6 addr add fd00:88::2/64 dev eth0 nodad", "",
                          "several IPv6 addresses, which Open MPI 4 confuses; keep only one, or use IPv4 or "
                          "Open MPI 5"),
    # As its ompi_info says.
    "built_without": (["node1", "node2"], "mount -n -t tmpfs none /usr/local/bin && cd /usr/local/bin && "
                      "printf '#!/bin/sh\\necho a:b\\necho options:ipv6:no\\n' >ompi_info && chmod 755 ompi_info",
                      f"{SECOND}/64; {SIX} on node2",
                      "Open MPI there was built without IPv6; install one with IPv6, or use IPv4")}


# ---- both families ----

def both():
    """Addresses of IPv6 to log in by; the workers use IPv4, as on any network that has it."""
    with Cluster(2, build=BUILD, families="46") as c:
        with c.job(["-H", f"{FIRST},[{SECOND}]:2", *PRINT]) as j:
            check(j, FOUR, 3, [FIRST, SECOND, SECOND])
        c.write("hosts", f"{FIRST} slots=1\n[{SECOND}]:1 # as Open MPI has it\n{FIRST}\n")
        with c.job(["--hostfile", "shared/hosts", *PRINT]) as j:
            check(j, FOUR, 3, [FIRST, FIRST, SECOND])


def asked():
    """The workers use IPv6 where that is asked for: by a network, by an address of it, by addresses of nodes."""
    nodes = [{"host": "node1", "address": FIRST}, {"host": SECOND, "address": SECOND.replace("::", ":0::")}]
    with Cluster(2, build=BUILD, families="46") as c:
        for wish in SIX, SECOND:
            with c.job(["-H", "node1,node2", "--network-interface", wish, *PRINT]) as j:
                check(j, SIX, 2, ["node1", "node2"])
        c.write("t.yaml", json.dumps({"command": PRINT[1:], "nodes": nodes}))
        with c.job(["shared/t.yaml"]) as j:
            check(j, SIX, 2, ["node1", SECOND])


def unlike():
    """Networks of IPv4 that no cable joins, and interfaces of unlike names."""
    with Cluster(2, build=BUILD, families="46") as c:
        for i, node in enumerate(c.nodes):
            done = c.run(node, f"ip -4 addr flush dev eth0 && ip addr add 10.9.{i}.1/24 dev eth0 && ip link set eth0 down "
                               f"&& ip link set eth0 name cable{i} && ip link set cable{i} up && "
                               f"(ip -6 addr show dev cable{i} | grep -q {network.SUBNET6} || "
                               f"ip -6 addr add {network.address6(i + 1)}/64 dev cable{i} nodad)")
            assert done.returncode == 0, done
        with c.job(["-H", f"{FIRST},{SECOND}", *PRINT]) as j:
            check(j, SIX, 2, [FIRST, SECOND])


run([only, refused, trains, table(unusable, UNUSABLE), both, asked, unlike], sys.argv[3:])
