# SPDX-License-Identifier: Apache-2.0
"""test_network.py BUILD SOURCE [NAME ...] - what a job on several hosts finds out before it trains.

Real eddis-run, ssh and mpirun on the hosts of tests/lab: which network works, how fast it is, and
one sentence for each thing that is missing on a node.
"""

import glob
import json
import os
import re
import signal
import sys

from cases import run
from lab import HOME, Cluster
from node import wait_for
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
    """The pairs are in the profile; a cable that is slower than the others shows there, once a busy machine does not slow
    those as well."""
    def shows():
        forget(c)
        with c.job(HOSTS + ["--"] + WORKER) as j:
            assert j.end() == 0, j.err
            net = json.loads(j.file("profile.json"))["network"]
            assert net["network"] == network.SUBNET + ".0/24" and len(net["links"]) == 6, net
            slow = max(x["bytes_per_s"] for x in net["links"] if 2 in (x["from"], x["to"]))
            fast = min(x["bytes_per_s"] for x in net["links"] if 2 not in (x["from"], x["to"]))
            assert slow < 20e6, net  # no machine is fast enough for more
            j.check_nothing_left()
        return fast > slow

    c.lab.rate("node3", "100mbit")
    wait_for("cables that are faster than the slow one", shows)
    stale(c)


CHANGED = ("the network has changed since an earlier job measured it: from node", "communication that does not overlap with computing")


def trainer(c, mode, batch, *args, ms=20, command=TRAIN):
    """A job of three workers that train: of steps of so many ms and more."""
    return c.job(HOSTS + ["--set", f"checkpoint.dir={c.shared}", "--set", f"sync.mode={mode}",
                          "--set", f"batch.global={batch}",
                          "--set", f"profile.emulate=[{{rate: 1.0, a_ms: {ms}, c_ms: 0.1}}]", "--", *command, *args])


def wide(c, mode):
    """One of a larger model, which trains until it is ended."""
    return trainer(c, mode, 72, "448,448", "--epochs", "100000", command=TRAIN[:-3])


def train(c, rate, whole=False):
    """A job of libeddis when node3's cable is so fast, all of it or its first steps.  Returns it, what it said of a
    network that has changed, and whether the network's figures are kept for the next one."""
    c.lab.rate("node3", rate)
    with trainer(c, "async", 96, "--epochs", "100", ms=5) as j:
        if not whole:
            wait_for("its network", lambda: "not confirmed" not in network_reason(j))
            j.signal(signal.SIGINT)
        assert j.end() == (0 if whole else 130), j.err
        changed = [e["text"] for e in j.events() if e["type"] in ("say", "network") and
                   any(text in e.get("text", "") for text in CHANGED)]
        assert "not confirmed" not in network_reason(j), j.out
        return j, changed, periods(j), kept(c)


def network_reason(j):
    try:
        return j.plan()["network_reason"]
    except FileNotFoundError:
        return "not confirmed"


def kept(c):
    """Files of networks that earlier jobs have measured."""
    return glob.glob(c.path("login", HOME + "/.cache/eddis/network-*"))


def forget(c):
    for path in kept(c):
        os.unlink(path)


def periods(j):
    """Of all plans of the first generation, in order."""
    found = []
    while os.path.exists(j.path(f"plan-1-{len(found) + 1}.json")):
        plan = j.plan(len(found) + 1)
        found.append(plan["options"]["period"] if "options" in plan else plan["period"])
    return found


def stale(c):
    """The cable has changed since: said, the period that it gave is another, and it is not believed again.
    Nobody looks before there are workers with libeddis, and the first job of a program may have none."""
    j, changed, _, there = train(c, "10mbit")
    assert "network not confirmed" in j.out, j.out
    while not there:  # a busy machine has looked like another network
        assert changed, j.events()
        j, changed, _, there = train(c, "10mbit")
    j, changed, found, there = train(c, "0", whole=True)
    printed = int(re.search(r"easgd, period (\d+)", j.out).group(1))
    assert "network not confirmed" not in j.out and changed and not there, (j.out, changed, there)
    assert found[0] == printed and min(found) < printed, (found, j.err)
    assert "models are exchanged every" in j.err, j.err


def test_slow_meanwhile(c):
    """The cable is slow once the plan is made: what the ranks wait for is not what was measured.  That is said, the
    mode and the buckets stay, and the network is not believed again.  A worker alone would be faster, which is said once."""
    c.lab.rate("node3", "0")
    with trainer(c, "sync", 60, "--epochs", "8") as j:
        j.wait_event("communication")  # behind the ranks' own measuring, which would find the slow cable
        c.lab.rate("node3", "10mbit")
        assert j.end() == 0, j.err
        said = re.search(r"overlap with computing takes ([\d.]+) ms of a step, where the measured network speed predicts "
                         r"([\d.e-]*\d)", j.err)
        assert said and float(said[1]) > float(said[2]), j.err  # how much depends on how busy the machine was before
        plans = [j.plan(v + 1) for v in range(len(periods(j)))]
        laid = {str(p["communication"]["buckets"]) for p in plans if p["communication"]}
        assert {p["mode"] for p in plans} == {"sync"} and len(laid) == 1, (laid, plans)
        assert "the next job measures it again" in j.err and not kept(c), j.err
        assert len(re.findall(r"rank \d on node\d would train [\d.]+ times as fast alone", j.err)) == 1, j.err
    c.lab.rate("node3", "0")


def test_slow_meanwhile_async(c):
    """Models of their own, on cables of 1 Gbit/s that become as slow as 20 Mbit/s: what exchanges take says so, models
    are exchanged more seldom, and that stays so: the network is never taken for one that is faster than it was."""
    cables(c, "1gbit")
    with wide(c, "async") as j:
        wait_for("steps", lambda: len(j.metrics()) > 1 and j.steps_done() > 60)
        cables(c, "20mbit")
        wait_for("a slower network", lambda: networks(j)[-1:] and networks(j)[-1] < 60e6)
        wait_for("a longer period", lambda: periods(j)[-1] > 1.5 * periods(j)[0])
        found, at = len(periods(j)), j.steps_done()
        wait_for("steps", lambda: j.steps_done() > at + 3 * periods(j)[-1])
        assert min(periods(j)[found - 1:]) > periods(j)[0], (periods(j), j.events())
        assert max(networks(j)) < 250e6, networks(j)
        j.interrupt()
    cables(c, "0")


def test_slow_link(c):
    """One cable becomes slow in mid-run: where all wait for each other its node's worker is named for it, and no other
    is, until it is as fast as before."""
    def of_links(kind):
        return [e for e in j.events(kind) if "(network explains " in e["text"]]

    cables(c, "1gbit")
    with wide(c, "sync") as j:
        j.wait_steps(400)
        c.lab.rate("node3", "50mbit")
        wait_for("a slow link", lambda: of_links("straggler"))
        c.lab.rate("node3", "1gbit")
        wait_for("its end", lambda: [e for e in j.events("straggler_over") if e["rank"] == 2])
        j.interrupt()
        assert {e["rank"] for e in of_links("straggler")} == {2}, of_links("straggler")
        assert re.search(r"the connection from (node3 to node[12]|node[12] to node3) carries [\d.]+ MB/s instead of",
                         of_links("straggler")[0]["text"]), of_links("straggler")
        assert j.summary()["stragglers"] >= 1, j.summary()
    cables(c, "0")


def cables(c, rate):
    for node in c.nodes:
        c.lab.rate(node, rate)


def networks(j):
    """Bytes a second that the network was assumed to carry, one after the other."""
    return [1e6 * float(re.search(r"assumed to carry ([\d.e+]+) MB/s", e["text"])[1]) for e in j.events()
            if e["type"] in ("say", "network") and "assumed to carry" in e.get("text", "")]


def test_pair_cannot_connect(c):
    block(c, "node2", "node3")
    with c.job(HOSTS + ["--set", "profile.cache=0s", "--"] + WORKER) as j:
        assert j.end() == 3, (j.code, j.err)
        assert "node2 got no answer from node3" in j.err or "node3 got no answer from node2" in j.err, j.err
        j.check_nothing_left()
    block(c, None, None)


def refused(c, args, *words, tidy=lambda: None):
    """tidy: removes what this test, or the user's own wish, has put on the nodes."""
    with c.job(HOSTS + args) as j:
        assert j.end() == 3, (j.code, j.err)
        for word in words:
            assert word in j.err, (word, j.err)
        tidy()
        j.check_nothing_left()


def test_private_checkpoints(c):
    def tidy():  # nothing was left of it
        for node in c.nodes:
            assert not os.path.exists(c.path(node, "/tmp/checkpoints")), node

    refused(c, ["--set", "checkpoint.dir=/tmp/checkpoints", "--"] + WORKER,
            "checkpoint.dir '/tmp/checkpoints", "is not the same folder on node",
            "name a folder that all nodes share", tidy=tidy)


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
            "node3: the working folder '/tmp/work-here' does not exist; make it there",
            tidy=lambda: [os.rmdir(folder) for folder in folders])


tests = {name[5:]: test for name, test in list(globals().items()) if name.startswith("test_")}
with Cluster(3, build=BUILD) as c:
    run(tests, sys.argv[3:], c)
