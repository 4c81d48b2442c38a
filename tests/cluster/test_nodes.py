# SPDX-License-Identifier: Apache-2.0
"""test_nodes.py BUILD SOURCE [NAME ...] - several nodes: mpirun through agents, against small drivers."""

import json
import os
import random
import re
import signal
import sys
import tempfile
import time

from cases import table
from node import PATIENCE, SLEEP, run_tests, sh, wait_for
from nodes import Nodes

BUILD = os.path.abspath(sys.argv[1])
SHARES = ["f00d" * 8, "f00e" * 8]


def worker(steps):
    return [f"{BUILD}/tests/cluster/node-worker", str(steps)]


def test_environment(make):
    c = make(sh("echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $NODE_RANK $GROUP_RANK "
                "$MASTER_ADDR $EDDIS_GENERATION $TORCHELASTIC_MAX_RESTARTS $EDDIS_STALENESS "
                "$GLOO_SOCKET_IFNAME $NCCL_SOCKET_IFNAME $UCX_NET_DEVICES \"$SECRET\" "
                "$OMPI_COMM_WORLD_RANK $OMPI_COMM_WORLD_LOCAL_RANK; echo $MASTER_PORT; "
                "test -f $EDDIS_BOARD && echo board; pwd; "
                "echo \"${EDDIS_RANK_FILE-unset}\"; "
                # What makes an all-reduce between hosts as fast as their links.
                "echo $OMPI_MCA_btl_tcp_flags $OMPI_MCA_coll_tuned_use_dynamic_rules; "
                "grep -c '^1048576 4' $OMPI_MCA_coll_tuned_dynamic_rules_filename; "
                f"case $PATH in *{BUILD}*libexec*) echo path;; esac"),
             [1, 2, 3], restarts=4, env=["SECRET=a  b"])
    c.launch()
    ports, rank = set(), 0
    for node, n in enumerate(c.node):
        for local in range(c.workers[node]):
            e = n.driver.wait("rank_exit", rank=rank)
            assert (e["code"], e["by_us"]) == (0, False), e
            lines = c.log(rank).splitlines()
            assert lines[0] == (f"{rank} 6 {local} {node + 1} {node} {node} 127.0.0.1 1 4 0 "
                                f"lo =lo lo a  b {rank} {local}"), lines
            ports.add(lines[1])
            assert lines[2:] == ["board", n.dir, "unset", "1 1", "1"], lines
            rank += 1
    assert len(ports) == 1 and int(ports.pop()) > 1023, ports
    assert c.node[0].driver.wait("mpirun_exit")["code"] == 0
    assert [n.driver.find("mpirun_exit") for n in c.node[1:]] == [[], []]
    c.stop_and_leave("kill")


def test_training(make):
    """MPI between all, shared memory on each node, progress of every board."""
    c = make(worker(40), [1, 2, 3])
    c.launch()
    for rank in range(6):
        assert c.where(rank).driver.wait("rank_exit", rank=rank)["code"] == 0
    assert c.node[0].driver.wait("mpirun_exit")["code"] == 0
    for n, w in zip(c.node, c.workers):
        wait_for("the last progress", lambda: [p["steps_done"] for p in n.driver.progress.values()]
                 == [40] * w)
    assert c.node[0].mpirun_log() == "", c.node[0].mpirun_log()
    c.stop_and_leave("kill")


def test_stopped_before_any_rank(make):
    """mpirun waits for daemons that nobody starts any more, and the stop for no rank."""
    c = make(SLEEP, [1, 1])
    c.relays = False
    c.begin()
    c.node[0].driver.wait("relay")
    for n in c.node:
        n.driver.stop("orderly")
    c.wait_each("stopped")
    c.leave()


def test_network(make):
    """Generation 0: one rank a node, whatever the job has; nothing of it is in the job's folder."""
    c = make(SLEEP, [1, 2, 3, 1])
    c.begin(0, probe=True)
    e = c.node[0].driver.wait("network", generation=0)
    net = json.loads(e["text"])
    assert net["nodes"] == 4 and net["failed"] == "" and len(net["links"]) == 12, net
    assert all(l["bytes_per_s"] > 0 and l["latency_s"] > 0 for l in net["links"]), net
    assert c.node[0].driver.wait("mpirun_exit")["code"] == 0
    assert not any(n.driver.find("network") for n in c.node[1:])
    c.stop("kill", 0)
    assert not any(f.startswith("rank-") for n in c.node for f in os.listdir(n.dir))
    c.launch()  # and the job itself follows
    c.stop_and_leave()


def test_unshared_checkpoints(make):
    """Each node has a folder of its own behind the same name: refused, and nothing is left."""
    with tempfile.TemporaryDirectory(prefix="nodes-test-") as top:
        shared = os.path.join(top, "a", "b")
        c = make(SLEEP, [1, 1], checkpoint_dir=shared)
        c.registered()
        c.prepare(share=SHARES[0])
        assert sorted(os.listdir(shared)) == [f".{SHARES[0]}-0", f".{SHARES[0]}-1"], os.listdir(shared)
        c.check()
        c.wait_each("checked")
        c.stop("kill")
        assert not os.path.exists(shared)
        os.makedirs(shared)  # which of the two would have made it, only its file tells
        c.prepare(2, share=SHARES[1])
        os.unlink(os.path.join(shared, f".{SHARES[1]}-1"))
        c.check(2)
        assert c.node[0].driver.wait("failed")["text"] == (
            f"checkpoint.dir '{shared}' is not the same folder on c00: a file that c01 wrote there is not "
            "visible; name a folder that all nodes share")
        c.stop("kill", 2)
        assert os.listdir(shared) == []
        c.leave()


def test_checkpoints_cannot_be_written(make):
    c = make(SLEEP, [1, 1], checkpoint_dir="/proc/self/x")
    c.registered()
    c.prepare(share=SHARES[0], refused=True)
    for e in c.wait_each("failed"):
        assert e["text"].startswith("checkpoint.dir") and "/proc/self/x" in e["text"], e
    c.leave()


def test_missing_on_a_node(make):
    for command, more, begins in ((["no-such-program"], {}, "no program 'no-such-pro"),
                                  (SLEEP, {"data_path": "/no/data"}, "cannot read the data '/no/data'")):
        c = make(command, [1, 1], **more)
        c.registered()
        c.prepare(refused=True)
        text = c.node[1].driver.wait("failed")["text"]
        assert text.startswith(begins), text
        c.leave()


def test_address_is_gone(make):
    c = make(SLEEP, [1, 1])
    c.registered()
    c.prepare(address="192.0.2.77", network="192.0.2.0/24", refused=True)
    assert "192.0.2.77" in c.node[1].driver.wait("failed")["text"]
    c.leave()


def test_generations(make):
    c = make(sh("echo g$EDDIS_GENERATION; exec sleep 1000"), [1, 2])
    for g in (1, 2, 3):
        c.launch(g)
        c.stop("failure", g)
    assert c.log(2) == "g1\n[eddis: start 2]\ng2\n[eddis: start 3]\ng3\n", c.log(2)
    c.leave()


def test_daemon_killed(make):
    """mpirun's daemon dies: told at once, with its node; the others end."""
    c = make(worker(0), [1, 2, 1])
    c.launch()
    os.kill(c.daemon(1), signal.SIGKILL)
    e = c.node[1].driver.wait("mpirun_exit")
    assert (e["signal"], e["by_us"]) == (9, False), e
    assert e["text"] == "mpirun's daemon, orted, died of signal 9 (Killed)", e["text"]
    c.stop_and_leave()


def test_daemon_missing(make):
    """Open MPI is on the first node only."""
    c = make(SLEEP, [1, 1])
    c.registered()
    with tempfile.TemporaryDirectory(prefix="nodes-test-") as top:
        os.symlink("/bin/sleep", os.path.join(top, "sleep"))
        c.node[1].close(False)
        path, os.environ["PATH"] = os.environ["PATH"], top
        try:
            c.replace(1)
        finally:
            os.environ["PATH"] = path
        c.registered()
        assert c.node[1].driver.hello["mpi_version"] == ""
        assert c.node[0].driver.hello["mpi_version"][0] in "45", c.node[0].driver.hello
        c.prepare()
        c.node[0].driver.order("start")
        text = c.node[1].driver.wait("failed")["text"]
        assert text.startswith("Open MPI is needed") and "orted" in text, text
        c.stop_and_leave()


def test_daemon_cannot_connect(make):
    """What a firewall does: mpirun ends with many lines, of which one sentence is made."""
    c = make(SLEEP, [1, 1])
    c.wrong = lambda relay: {**relay, "uri": relay["uri"].rsplit(":", 1)[0] + ":9"}
    c.begin()
    e = c.node[1].driver.wait("mpirun_exit")
    assert e["code"] > 0 and "orted" in e["text"], e
    c.stop_and_leave()


def test_daemon_of_a_stranger(make):
    """Whoever gets hold of one node's token may not make another's daemon obey his own mpirun."""
    c = make(SLEEP, [1, 1])
    c.wrong = lambda relay: {**relay, "uri": re.sub(r"//[0-9.]+", "//127.0.0.9", relay["uri"])}
    c.begin()
    text = c.node[1].driver.wait("failed")["text"]
    assert "mpirun's daemon was to connect to" in text and "which is not c00" in text, text
    c.stop_and_leave()


def test_first_failure(make):
    c = make(sh("test $RANK = 2 || exec sleep 1000; echo bad; sleep 0.3; exit 7"), [1, 2, 1])
    c.launch()
    e = c.node[1].driver.wait("rank_exit")
    assert (e["rank"], e["code"], e["by_us"], e["last_lines"]) == (2, 7, False, "bad\n"), e
    time.sleep(1.5)  # mpirun alone would have killed the others by now
    assert list(c.exits()) == [2]
    c.stop("failure")
    assert {r: e["by_us"] for r, e in c.exits().items()} == {0: True, 1: True, 2: False, 3: True}, c.exits()
    c.leave()


def kill_actor(make, who, sig, node):
    """Without any driver: whatever dies on one node, nothing is left on any."""
    c = make(sh("setsid sleep 1000 & exec " + " ".join(worker(0))), [1, 2, 1])
    pids = c.launch()
    wait_for("all to train", lambda: all("up" in c.log(r) for r in range(4)))
    n = c.node[node]
    rank = [0, 1, 3][node]
    actors = {"agent": n.agent, "keeper": n.keeper.pid, "daemon": c.daemon(node),
              "wrapper": n.wrapper(pids[rank]), "rank": pids[rank]}
    os.kill(actors[who], sig)
    c.expect_nothing_left()
    for other in c.node:
        other.keeper.wait(PATIENCE)


def kill_actors(make, sig):
    for who in ("agent", "keeper", "daemon", "wrapper", "rank"):
        for node in (0, 1):
            print(f"   {who} of node {node}: {sig.name}", flush=True)
            kill_actor(make, who, sig, node)


ENDED = {"test_any_actor_killed": (signal.SIGKILL,), "test_any_actor_stopped": (signal.SIGSTOP,)}


def test_relay_not_passed_on(make):
    """A driver that does not pass relays on: mpirun waits, and the stop ends it."""
    c = make(SLEEP, [1, 1, 1])
    c.relays = False
    c.begin()
    c.node[0].driver.wait("relay", n=2)
    assert {e["relay"]["host"] for e in c.node[0].driver.find("relay")} == {"c01", "c02"}
    c.stop_and_leave()


def test_kill_at_any_moment(make):
    """While things are being started is when there is most to get wrong."""
    random.seed(11)
    for round_ in range(12):
        c = make(worker(0), [1, 2, 1])
        c.begin()
        time.sleep(random.uniform(0, 0.9))
        n = c.node[round_ % 3]
        os.kill(n.agent if round_ % 2 else n.keeper.pid, signal.SIGKILL)
        n.expect_nothing_left()
        c.expect_nothing_left()
        c.close(False)


run_tests({**globals(), **table(kill_actors, ENDED)}, Nodes)
