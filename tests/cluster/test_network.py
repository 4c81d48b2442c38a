# SPDX-License-Identifier: Apache-2.0
"""test_network.py BUILD [NAME ...] - what a job on several hosts finds out before it trains.

Real eddis-run, ssh and mpirun on the hosts of tests/lab: which network works, how fast it is, and
one sentence for each thing that is missing on a node.
"""

import json
import os
import re
import sys
import time

from cases import run
from lab import HOME, Cluster
import network

BUILD = os.path.realpath(sys.argv[1])
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
WORKER = [f"{BUILD}/tests/cluster/node-worker", "20"]
TRAIN = [f"{BUILD}/cmd/eddis-train", "--data", os.path.join(ROOT, "examples/digits/digits.csv"), "--test", "360",
         "--model", "mlp", "--widths", "512", "--epochs", "1"]
HOSTS = ["-H", "node1,node2,node3"]


def block(c, one, other):
    """A firewall between two hosts; both still reach all others."""
    network.run(c.lab.state()["switch"][0], ["nft", "-f", "-"], [
        "add table bridge pair", "add chain bridge pair c { type filter hook forward priority 0; }",
        "flush chain bridge pair c"] + ([f'add rule bridge pair c iifname "{one}" oifname "{other}" drop']
                                        if one else []))


def test_works(c):
    """The pairs are in the profile; a cable that is slower than the others shows there."""
    c.lab.rate("node3", "100mbit")
    with c.job(HOSTS + ["--"] + WORKER) as j:
        j.end(60)
        assert j.code == 0, j.err
        with open(os.path.join(j.dir, "profile.json")) as f:
            net = json.load(f)["network"]
        assert net["network"] == network.SUBNET + ".0/24" and len(net["links"]) == 6, net
        slow = max(x["bytes_per_s"] for x in net["links"] if 2 in (x["from"], x["to"]))
        fast = min(x["bytes_per_s"] for x in net["links"] if 2 not in (x["from"], x["to"]))
        assert slow < 20e6 and fast > slow, net
        j.check_nothing_left(2)
    stale(c)


def train(c, rate):
    """A job of libeddis when node3's cable is so fast.  Returns it, what it said of a network that has changed, the
    period that it trained with, and whether the network's figures are kept for the next one."""
    c.lab.rate("node3", rate)
    with c.job(HOSTS + ["--set", f"checkpoint.dir={c.shared}", "--set", "sync.mode=async", "--set", "batch.global=96",
                        "--set", "profile.emulate=[{rate: 1.0, a_ms: 5, c_ms: 0.1}]", "--"] + TRAIN) as j:
        assert j.end(60) == 0, j.err
        changed = [e["text"] for e in j.events() if e["type"] in ("say", "network") and
                   "the network is not what an earlier job has measured: from node" in e.get("text", "")]
        plan = json.loads(j.file("plan-1-1.json"))
        assert "not confirmed" not in plan["network_reason"], plan
        kept = any(f.startswith("network-") for f in os.listdir(c.path("login", HOME + "/.cache/eddis")))
        return j, changed, plan["options"]["period"] if "options" in plan else plan["period"], kept


def stale(c):
    """The cable has changed since: said, the period that it gave is another, and it is not believed again.
    Nobody looks before there are workers with libeddis, and the first job of a program may have none."""
    j, changed, _, kept = train(c, "100mbit")
    assert "network not confirmed" in j.out, j.out
    while not kept:  # a busy machine has looked like another network
        assert changed, j.events()
        j, changed, _, kept = train(c, "100mbit")
    j, changed, period, kept = train(c, "0")
    printed = int(re.search(r"easgd, period (\d+)", j.out).group(1))
    assert "network not confirmed" not in j.out and changed and not kept, (j.out, changed, kept)
    assert f"; period {period} instead of {printed};" in j.err and period < printed, (period, j.err)


def test_pair_cannot_connect(c):
    block(c, "node2", "node3")
    began = time.monotonic()
    with c.job(HOSTS + ["--set", "profile.cache=0s", "--"] + WORKER) as j:
        j.end(60)
        assert j.code == 3, (j.code, j.err)
        assert "node2 got no answer of node3" in j.err or "node3 got no answer of node2" in j.err, j.err
        assert time.monotonic() - began < 30
        j.check_nothing_left(2)
    block(c, None, None)


def refused(c, args, *words, tidy=lambda: None):
    """tidy: removes what this test, or the user's own wish, has put on the nodes."""
    with c.job(HOSTS + args) as j:
        j.end(60)
        assert j.code == 3, (j.code, j.err)
        for word in words:
            assert word in j.err, (word, j.err)
        tidy()
        j.check_nothing_left(2)


def test_private_checkpoints(c):
    def tidy():  # nothing was left of it
        for node in c.nodes:
            assert not os.path.exists(c.path(node, "/tmp/checkpoints")), node

    refused(c, ["--set", "checkpoint.dir=/tmp/checkpoints", "--"] + WORKER,
            "checkpoint.dir '/tmp/checkpoints", "is not the same folder on node",
            "name one that all nodes share", tidy=tidy)


def test_checkpoints_cannot_be_written(c):
    refused(c, ["--set", "checkpoint.dir=/proc/self/checkpoints", "--"] + WORKER,
            "checkpoint.dir", "/proc/self/checkpoints")


def test_program_missing_on_one(c):
    paths = [c.path(node, "/tmp/only-here") for node in ("node1", "node2")]
    for path in paths:
        os.symlink("/bin/true", path)
    refused(c, ["--", "/tmp/only-here"], "node3", "no program '/tmp/only-here'",
            tidy=lambda: [os.unlink(path) for path in paths])


def test_folder_missing_on_one(c):
    """The probe is the first that would work there: said is what lacks, not what could not start."""
    folders = [c.path(node, "/tmp/work-here") for node in ("node1", "node2")]
    for folder in folders:
        os.mkdir(folder)
    refused(c, ["--set", "workdir=/tmp/work-here", "--", "true"],
            "node3: no folder '/tmp/work-here' to work in; make it there",
            tidy=lambda: [os.rmdir(folder) for folder in folders])


tests = {name[5:]: test for name, test in list(globals().items()) if name.startswith("test_")}
with Cluster(3, build=BUILD) as c:
    run(tests, sys.argv[2:], c)
