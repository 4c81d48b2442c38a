# SPDX-License-Identifier: Apache-2.0
"""test_any_hosts.py BUILD SOURCE [CASE ...] - a script that knows nothing of eddis on four hosts, of which something fails.

Every rank waits for all others in each step, over plain sockets, and says as gloo does that its collective failed.
"""

import os
import signal
import sys

from cases import run, table
from lab import Cluster
from node import wait_for

BUILD = os.path.realpath(sys.argv[1])
NODES, LEASE, NODE_LOST = 4, 3, 5
HOSTS = ",".join(f"node{i + 1}" for i in range(NODES))
VICTIM = "node3"
SCRIPT = """
import os, socket, sys, time
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
first = os.environ["EDDIS_GENERATION"] == "1"
if rank == 0:
    door = socket.create_server(address)
    peers = [door.accept()[0] for _ in range(world - 1)]
else:
    while True:
        try:
            peers = [socket.create_connection(address)]
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
def wait(peer):
    try:
        gone = peer.recv(1) != b"x"
    except OSError:
        gone = True
    if gone:
        raise RuntimeError("[gloo/transport/tcp/pair.cc:553] Connection closed by peer")
def barrier():
    if rank == 0:
        for peer in peers:
            wait(peer)
    for peer in peers:
        peer.sendall(b"x")
    if rank != 0:
        wait(peers[0])
step = 0
while first or step < 3:
    barrier()
    step += 1
    print("generation", os.environ["EDDIS_GENERATION"], "of", world, "step", step, flush=True)
    if first and rank == 0 and step == 5:
        open(os.path.join(os.path.dirname(sys.argv[0]), "stepped"), "w").close()
    time.sleep(0.1)
"""


def job(c, restarts):
    path = c.write("train.py", SCRIPT)
    return c.job(["-H", HOSTS, "--restarts", str(restarts), "--", "/usr/bin/python3", path], lease=LEASE, node_lost=NODE_LOST)


def kill(c):
    victim, = [pid for pid, line in c.processes(VICTIM).items() if line.startswith("/usr/bin/python3")]
    os.kill(victim, signal.SIGKILL)


STRIKES = {  # what is done, undone, and how many nodes the next generation may have
    "kill": (kill, lambda c: None, (NODES,)),
    "lose": (lambda c: c.lab.crash(VICTIM), lambda c: c.lab.revive(VICTIM), (NODES - 1,)),
    "freeze": (lambda c: c.lab.freeze(VICTIM), lambda c: c.lab.thaw(VICTIM), (NODES - 1,)),
    "cut": (lambda c: c.lab.cut(VICTIM), lambda c: c.lab.join(VICTIM), (NODES - 1,)),
}


def fails(c, how, restarts):
    strike, undo, nodes = STRIKES[how]
    with job(c, restarts) as j:
        wait_for("some steps", lambda: os.path.exists(os.path.join(c.shared, "stepped")))
        os.remove(os.path.join(c.shared, "stepped"))
        strike(c)
        code = j.end()
        undo(c)
        s = j.summary()
        if restarts:
            assert code == 0 and s["reason"] == "ok" and s["generations"] == 2, (code, s, j.err)
            assert "restarting from the point where the program itself resumes" in j.err, j.err
            assert any(f"generation 2 of {n} step 3" in j.out for n in nodes), j.out
        else:
            wanted = (137, "rank_signal") if how == "kill" else (1, None)
            assert code == wanted[0] and wanted[1] in (None, s["reason"]) and s["generations"] == 1, (code, s, j.err)
            assert "not started again" not in j.err, j.err
        if how == "kill":
            assert s["first_failure"]["node"] == VICTIM, s
        j.check_nothing_left()


CASES = {f"{how}_{'again' if restarts else 'once'}": (how, restarts) for how in STRIKES for restarts in (2, 0)}


with Cluster(NODES, build=BUILD) as c:
    run(table(fails, CASES), sys.argv[3:], c)
