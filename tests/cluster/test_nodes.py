# SPDX-License-Identifier: Apache-2.0
"""test_nodes.py BUILD [NAME ...] - several nodes: mpirun through agents, against small drivers."""

import os
import signal
import sys
import time
import traceback

from node import LEASE, alive, marked, wait_for
from nodes import Nodes

BUILD = os.path.abspath(sys.argv[1])
SLEEP = ["sleep", "1000"]


def sh(script):
    return ["sh", "-c", script]


def worker(steps):
    return [f"{BUILD}/tests/cluster/node-worker", str(steps)]


def test_environment(make):
    c = make(sh("echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $NODE_RANK $GROUP_RANK "
                "$MASTER_ADDR $EDDIS_GENERATION $TORCHELASTIC_MAX_RESTARTS $EDDIS_STALENESS "
                "$GLOO_SOCKET_IFNAME $NCCL_SOCKET_IFNAME $UCX_NET_DEVICES \"$SECRET\" "
                "$OMPI_COMM_WORLD_RANK $OMPI_COMM_WORLD_LOCAL_RANK; echo $MASTER_PORT; "
                "test -f $EDDIS_BOARD && echo board; pwd; "
                "echo \"${EDDIS_RANK_FILE-unset}\"; case $PATH in *libexec*) echo path;; esac"),
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
            assert lines[2:] == ["board", n.dir, "unset"], lines
            rank += 1
    assert len(ports) == 1 and int(ports.pop()) > 1023, ports
    assert c.node[0].driver.wait("mpirun_exit")["code"] == 0
    assert [n.driver.find("mpirun_exit") for n in c.node[1:]] == [[], []]
    c.stop("kill")
    c.leave()


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
    assert c.node[0].read("mpirun.log") == "", c.node[0].read("mpirun.log")
    c.stop("kill")
    c.leave()


def main():
    wanted = sys.argv[2:]
    failed = []
    for name, test in list(globals().items()):
        if not name.startswith("test_") or (wanted and name[5:] not in wanted):
            continue
        made, wrong, began = [], False, time.monotonic()

        def make(command, workers, **more):
            made.append(Nodes(BUILD, command, workers, **more))
            return made[-1]

        try:
            test(make)
        except Exception:
            wrong = True
            traceback.print_exc(file=sys.stdout)
        for c in made:
            c.close(wrong)
        print(f"{'FAIL' if wrong else 'ok  '} {name} {time.monotonic() - began:.1f} s", flush=True)
        if wrong:
            failed.append(name)
    if failed:
        sys.exit(f"failed: {' '.join(failed)}")


main()
