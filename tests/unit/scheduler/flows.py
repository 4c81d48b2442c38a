#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""flows.py - samples per second of groups that average models, by flows that share full-duplex links fairly

Messages are flows from a node to another.  At each moment they have max-min fair rates: no flow can get more of a
link without taking it from a flow that has less.  The order of messages is that of lib/sync/elastic.c and hsgd.c: the
stripes of the center are read from four nodes at a time, the increment is written to them in the same way, and a group
on several nodes passes the model on while it writes.  Gradients begin when the first sixteenth of the backward pass is
over.

Prints the figures that test_modes.c has recorded.  It is a slow and separate calculation, for comparison with
scheduler/modes.h, which has no events.
"""

import random

LINK = 23.9e6             # bytes per second: 200 Mbit/s without headers
MODEL = 4e6               # bytes
COMPUTE = 0.010 + 0.0015 * 32  # seconds of a step of the fastest worker
ORDERS = 4                # SMB_ORDERS of lib/smb
LAYERS = 16
JITTER = 0.02             # of a step's time
STEPS = 60
LEAST, MARGIN = 0.1, 1.25  # ELASTIC_AHEAD_... of lib/sync/elastic_ahead.h


def fair_rates(flows, link):
    """Return {number of the flow: bytes per second}."""
    left, users, rates = {}, {}, {}
    for i, flow in enumerate(flows):
        for end in (("from", flow.source), ("to", flow.target)):
            left[end] = link
            users.setdefault(end, set()).add(i)
    while len(rates) < len(flows):
        tightest = min((e for e in users if users[e]), key=lambda e: left[e] / len(users[e]))
        share = left[tightest] / len(users[tightest])
        for i in list(users[tightest]):
            rates[i] = share
            for end in (("from", flows[i].source), ("to", flows[i].target)):
                users[end].discard(i)
                left[end] -= share
    return rates


class Flow:
    """A message of so many bytes, after which `then` is called."""

    def __init__(self, source, target, size, then):
        self.source, self.target, self.left, self.then = source, target, size, then


class Group:
    """Workers that train one model, one on each of these nodes.  compute: seconds of a step.  number, of: its turn
    among the groups."""

    def __init__(self, job, nodes, compute, number, of):
        self.job, self.nodes, self.compute, self.number, self.of = job, nodes, compute, number, of
        self.steps, self.ends = 0, []
        self.writing, self.reading, self.ahead, self.waits = False, False, False, False
        self.read_s, self.begun_s, self.over_s, self.step_s = 0.0, 0.0, 0.0, 0.0

    def gather(self, count, then):
        """Return a function whose call number `count` calls then."""
        calls = []

        def one():
            calls.append(1)
            if len(calls) == count:
                then()
        return one

    def step(self):
        """Compute, and combine gradients by a ring of the group's nodes."""
        compute, n = self.compute * (1 + JITTER * self.job.chance.gauss(0, 1)), len(self.nodes)
        if n == 1:
            self.job.after(compute, self.end_step)
            return
        one = self.gather(n + 1, self.end_step)

        def combine():
            for i, node in enumerate(self.nodes):
                self.job.send(node, self.nodes[(i + 1) % n], 2 * (n - 1) / n * self.job.gradients, one)
        self.job.after(compute / 3 + compute * 2 / 3 / LAYERS, combine)
        self.job.after(compute, one)

    def left(self):
        """Return the number of steps from the present one to the one before which the next exchange is due."""
        return self.job.period - (self.steps + self.number * self.job.period // self.of) % self.job.period

    def end_step(self):
        self.steps += 1
        self.ends.append(self.job.now)
        if self.left() < self.job.period:
            self.step()
            self.read_ahead()
            return
        self.step_s = (self.job.now - self.over_s) / self.job.period
        self.waits = True
        self.go_on()

    def go_on(self):
        """Continue the exchange that is due, if nothing is under way."""
        if self.reading or self.writing:
            return
        if self.ahead:
            self.pull()
        else:
            self.read()

    def read(self):
        self.reading, self.ahead, self.begun_s = True, True, self.job.now
        self.stripes(True, self.have_read)

    def have_read(self):
        self.reading, self.read_s = False, self.job.now - self.begun_s
        if self.waits:
            self.go_on()

    def read_ahead(self):
        """Begin to read the center for the next exchange, if it is so many steps ahead as reading takes."""
        if len(self.nodes) > 1 or self.writing or self.ahead or self.waits:
            return
        if self.read_s < LEAST * self.step_s:
            return
        if self.step_s and self.left() <= 1 + MARGIN * self.read_s // self.step_s:
            self.read()

    def stripes(self, reading, then):
        """Read or write the stripes of all other nodes."""
        root, job = self.nodes[0], self.job
        others = [(root + 1 + i) % job.nodes for i in range(job.nodes - 1)]
        one = self.gather(len(others), then)

        def begin():
            if others:
                node = others.pop(0)
                job.send(node if reading else root, root if reading else node, MODEL / job.nodes, done)

        def done():
            begin()
            one()
        for _ in range(ORDERS):
            begin()

    def pull(self):
        """Write the increment, and pass the model on by a chain of the group's nodes."""
        self.writing, self.ahead, self.waits = True, False, False
        self.stripes(False, self.written)
        if len(self.nodes) == 1:
            self.over()
            return
        one = self.gather(len(self.nodes) - 1, self.over)
        for source, target in zip(self.nodes, self.nodes[1:]):
            self.job.send(source, target, MODEL, one)

    def over(self):
        self.over_s = self.job.now
        self.step()
        self.read_ahead()

    def written(self):
        self.writing = False
        if self.waits:
            self.go_on()
        else:
            self.read_ahead()


class Job:
    """Groups of these nodes, which exchange models every `period` steps.  gradients: bytes of a worker's gradients.
    unlike: part of a step by which each group is slower than the one before."""

    def __init__(self, groups, period, gradients, unlike=0.0):
        self.nodes, self.period, self.gradients = sum(len(g) for g in groups), period, gradients
        self.now, self.flows, self.timers, self.chance = 0.0, [], [], random.Random(1)
        self.groups = [Group(self, nodes, COMPUTE * (1 + unlike * i), i, len(groups)) for i, nodes in enumerate(groups)]

    def after(self, seconds, then):
        self.timers.append((self.now + seconds, then))

    def send(self, source, target, size, then):
        self.flows.append(Flow(source, target, size, then))

    def advance(self):
        """Go to the next end of a flow or a timer."""
        rates = fair_rates(self.flows, LINK)
        least = min([t - self.now for t, _ in self.timers] + [f.left / rates[i] for i, f in enumerate(self.flows)])
        self.now += least
        for i, flow in enumerate(self.flows):
            flow.left -= least * rates[i]
        over = [f.then for f in self.flows if f.left < 1e-3]
        over += [then for t, then in self.timers if t <= self.now + 1e-12]
        self.flows = [f for f in self.flows if f.left >= 1e-3]
        self.timers = [t for t in self.timers if t[0] > self.now + 1e-12]
        for then in over:
            then()

    def samples_per_s(self, batch):
        """Return the samples per second of the later half of the run.  batch: of a worker."""
        for group in self.groups:
            group.step()
        while min(g.steps for g in self.groups) < STEPS:
            self.advance()
        half = self.now / 2
        return sum(batch * len(g.nodes) * sum(t > half for t in g.ends) for g in self.groups) / half


def main():
    for period in (1, 2, 4, 8, 16):
        job = Job([[i] for i in range(8)], period, MODEL, 0.25)
        print(f"async    {period:2} {job.samples_per_s(32):4.0f}")
    for wire, gradients in (("float32", MODEL), ("bfloat16", MODEL / 2)):
        for period in (2, 4, 8, 16):
            print(f"{wire:8} {period:2} {Job([[0, 1], [2, 3]], period, gradients).samples_per_s(32):4.0f}")


if __name__ == "__main__":
    main()
