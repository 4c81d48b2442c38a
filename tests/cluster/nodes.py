# SPDX-License-Identifier: Apache-2.0
"""nodes.py - several nodes of one job: an agent each, on this machine's loopback.

A small driver stands before each agent; what the real one does between them, passing relays on, is
done here by a thread.  Agents on one machine cannot tell that they are: each has folders of its
own, mpirun calls their nodes by numbers, and host names are alike, as in carelessly made clusters.
"""

import os
import threading
import time

from node import LEASE, PATIENCE, Driver, Node, marked, wait_for  # noqa: F401

NETWORK = "127.0.0.0/8"


class Nodes:
    """workers: how many ranks each node has.  more: of the briefs."""

    def __init__(self, build, command, workers, hosts=None, **more):
        """hosts: of a lab, (words that enter it, its address) each; the drivers are on the first."""
        self.workers = workers
        self.hosts = hosts or [((), "127.0.0.1")] * len(workers)
        self.build, self.command, self.more = build, command, more
        self.wrong = lambda relay: relay  # what a test makes of one on its way
        self.node = [self.start(i) for i in range(len(workers))]
        self.relays = True  # whether they are passed on
        self.over = False
        self.thread = threading.Thread(target=self.pass_relays, daemon=True)
        self.thread.start()

    def start(self, i):
        return Node(self.build, self.command, driver=Driver(i, self.hosts[0][1]), agent=i,
                    host=f"c{i:02}", enter=self.hosts[i][0], **self.more)

    def replace(self, i):
        """Another agent where one was closed."""
        self.node[i] = self.start(i)

    def pass_relays(self):
        seen = [0] * len(self.node)
        while not self.over:
            for i, n in enumerate(self.node):
                wishes = n.driver.find("relay")
                while self.relays and seen[i] < len(wishes):
                    e = wishes[seen[i]]
                    seen[i] += 1
                    to = int(e["relay"]["host"][1:])
                    self.node[to].driver.order("relay", e["generation"], relay=self.wrong(e["relay"]))
            time.sleep(0.002)

    def registered(self):
        for n in self.node:
            n.registered()

    def prepare(self, generation=1, share="", network=NETWORK, address=None, probe=False, refused=False):
        workers = [1] * len(self.node) if probe else self.workers
        total = sum(workers)
        first = 0
        rows = [{"agent": i, "host": f"c{i:02}", "address": address or self.hosts[i][1], "n_ranks": w}
                for i, w in enumerate(workers)]
        for n, w in zip(self.node, workers):
            n.driver.order_start(generation, rows, [2] * total, first, w, probe=probe, network=network, share=share,
                                 mpi_secret="0123456789abcdef" * 4)
            first += w
        if not refused:
            for n in self.node:
                n.driver.wait("prepared", generation=generation)

    def begin(self, generation=1, **more):
        """Prepare all and start the first node's mpirun."""
        self.registered()
        self.prepare(generation, **more)
        self.node[0].driver.order("start", generation)

    def wait_each(self, kind):
        """The event of this kind of each node."""
        return [n.driver.wait(kind) for n in self.node]

    def check(self, generation=1):
        for n in self.node:
            n.driver.order("check", generation, program_ns=0)

    def launch(self, generation=1, **more):
        """Prepare, start, wait for all ranks.  Returns their pids."""
        self.begin(generation, **more)
        pids, first = [], 0
        for n, w in zip(self.node, self.workers):
            pids += [n.driver.wait("rank_started", rank=first + i, generation=generation)["pid"]
                     for i in range(w)]
            first += w
        return pids

    def where(self, rank):
        """The node that has this rank."""
        for n, w in zip(self.node, self.workers):
            if rank < w:
                return n
            rank -= w
        raise IndexError(rank)

    def log(self, rank):
        return self.where(rank).read(f"rank-{rank:04}.log")

    def exits(self):
        return {e["rank"]: e for n in self.node for e in n.driver.find("rank_exit")}

    def daemon(self, i):
        """The pid of mpirun or of its daemon on node i."""
        word = "mpirun " if i == 0 else "orted "  # of Open MPI 4
        return wait_for(f"{word}of node {i}", lambda: next(
            (p for p, c in marked(self.node[i].mark).items() if c.startswith(word)), None))

    def stop(self, ladder, generation=1):
        for n in self.node:
            n.driver.stop(ladder, generation)
        wait_for("all nodes to have stopped", lambda: all(
            n.driver.find("stopped", generation=generation) for n in self.node))

    def stop_and_leave(self, ladder="failure"):
        self.stop(ladder)
        self.leave()

    def expect_nothing_left(self):
        """Without any driver."""
        for n in self.node:
            n.driver.silent = True
        for n in self.node:
            n.expect_nothing_left()

    def leave(self):
        for n in self.node:
            n.driver.order("bye")
        for n in self.node:
            assert n.keeper.wait(PATIENCE) == 0, n.keeper.returncode
        for n in self.node:
            n.expect_nothing_left()

    def close(self, failed):
        if self.over:
            return
        self.over = True
        for n in self.node:
            if failed:
                print(f"--- node {n.brief['agent']}: {n.driver.events}" + "".join(
                    f"{name}:\n{n.read(name)}" for name in sorted(os.listdir(n.dir))
                    if name.startswith("rank-") or name.startswith("mpirun-")))
            n.close(failed)
