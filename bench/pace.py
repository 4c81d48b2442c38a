# SPDX-License-Identifier: Apache-2.0
"""pace.py - paced workers on hosts of tests/lab: devices of given speeds, which eddis does not know

bench/pace.c makes a matrix product of F operations last F / flops + call_s.  So the time of a step of b samples can be
computed from the products that eddis-train makes in it.  The best plan, the *oracle*, is the exact integer optimum for
these times.  The quality of a plan, its share, depends only on its batches and not on the load of the machine.
"""

import heapq
import json
import os
import struct

COL_BYTES = 1 << 20  # CONV_COL_BYTES of cmd/train/model/conv.h: images of a convolution's group share one product
CLASSES = 10
DEVICE = struct.Struct("ddqqqd")  # struct device of bench/pace.c
GLOBAL = 256
IMAGES = 60 * GLOBAL


class Network:
    """The matrix products of a training step."""

    def layers(self):
        """Return a list of layers: (rows per sample, inner, columns, products, samples in one product or None for all).
        """
        raise NotImplementedError

    def work(self, batch):
        """Return (operations, calls) of a step with `batch` samples."""
        operations = calls = 0
        for rows, inner, columns, products, group in self.layers() if batch else []:
            operations += products * 2 * batch * rows * inner * columns
            calls += products * (-(-batch // group) if group else 1)
        return operations, calls


class Mlp(Network):
    """The network of bench/torch_paced.py."""

    def __init__(self, widths):
        self.widths = widths

    def layers(self):
        return [(1, inner, columns, 3 if i else 2, None)  # the inputs need no gradient
                for i, (inner, columns) in enumerate(zip(self.widths, self.widths[1:]))]


class Cnn(Network):
    """eddis-train's cnn on the digits, each pixel `zoom` times as wide and high, inside of a frame."""

    def __init__(self, side, zoom, widths):
        self.side, self.zoom, self.widths = side, zoom, widths

    def layers(self):
        w, first, second = self.widths, self.side ** 2, (self.side // 2) ** 2

        def group(pixels, channels):
            return max(1, COL_BYTES // (4 * 9 * channels * pixels))
        return [(first, 9, w[0], 2, group(first, 1)),  # the images need no gradient
                (second, 9 * w[0], w[1], 3, group(second, w[0])),
                (1, (self.side // 4) ** 2 * w[1], w[2], 3, None), (1, w[2], CLASSES, 3, None)]

    def image(self, row):
        """Return the pixels of a digit, 64 values of 0 to 16, as the bytes of an image of side * side."""
        frame, picture = (self.side - 8 * self.zoom) // 2, bytearray(self.side ** 2)
        for y in range(8 * self.zoom):
            for x in range(8 * self.zoom):
                value = row[y // self.zoom * 8 + x // self.zoom]
                picture[(y + frame) * self.side + x + frame] = min(255, 16 * value)
        return bytes(picture)


LARGE = Cnn(28, 3, (32, 64, 128))
WARM_UP = (2 * 2 * 256 ** 3, 2)  # (operations, calls) before the first step, of cmd/train/model/matmul.c
SMALL = Cnn(8, 1, (16, 32, 64))  # little to compute, so that paced steps keep their time on a busy machine


class Pace:
    """The step-time law of a device for a network. gflops: its speed for LARGE; other networks take as many samples per
    second. call_us: extra time of each product."""

    def __init__(self, gflops, call_us=0, cnn=LARGE):
        self.cnn, self.gflops, self.call_us = cnn, gflops, call_us
        self.flops = gflops * 1e9 * cnn.work(1)[0] / LARGE.work(1)[0]

    def seconds(self, batch):
        """Return the seconds of a step with `batch` samples."""
        operations, calls = self.cnn.work(batch)
        return operations / self.flops + calls * self.call_us * 1e-6

    def slower(self, times):
        """Return a device that takes `times` times as long."""
        return Pace(self.gflops / times, self.call_us * times, self.cnn)


def proportional(cnn):
    """Return four devices whose times are proportional to the batch."""
    return [Pace(r, 0, cnn) for r in (18, 12, 9, 6)]


def affine(cnn):
    """Return four devices whose times have a constant part, too."""
    return [Pace(r, s, cnn) for r, s in ((18, 400), (12, 4000), (9, 1000), (6, 2000))]


LAWS = {"proportional": proportional, "affine": affine}


def slowness(cnn, times):
    """Return devices that are so many times as slow as the fastest one, and together as fast as those of
    proportional()."""
    fastest = sum(p.gflops for p in proportional(cnn)) / sum(1 / t for t in times)
    return [Pace(fastest / t, 0, cnn) for t in times]


def step_s(paces, batches):
    """Return the seconds of a step with these batches: those of the slowest device."""
    return max(p.seconds(b) for p, b in zip(paces, batches))


def oracle(paces, total=GLOBAL):
    """Return the batches of the shortest step.  Each sample goes to the device that would finish it first; this is
    optimal for times that do not decrease with the batch."""
    batches = [0] * len(paces)
    queue = [(p.seconds(1), i) for i, p in enumerate(paces)]
    heapq.heapify(queue)
    for _ in range(total):
        _, i = heapq.heappop(queue)
        batches[i] += 1
        heapq.heappush(queue, (paces[i].seconds(batches[i] + 1), i))
    return batches


def share(paces, batches):
    """Return the throughput of these batches relative to the oracle's, at most 1."""
    return step_s(paces, oracle(paces, sum(batches))) / step_s(paces, batches)


def moved(paces, batches, part):
    """Return the batches after moving this part of the global batch from the slowest device to the fastest."""
    order = sorted(range(len(paces)), key=lambda i: paces[i].seconds(GLOBAL))
    n, other = round(part * sum(batches)), list(batches)
    other[order[0]] += n
    other[order[-1]] -= n
    return other


# ---- on hosts ----

def write_images(cnn, digits, folder):
    """Write IMAGES images of the digits to folder as IDX files; so many that every step is full."""
    with open(digits) as f:
        rows = [[int(v) for v in line.split(",")] for line in f]
    images = [cnn.image(row) for row in rows]
    with open(os.path.join(folder, "images"), "wb") as f:
        f.write(struct.pack(">IIII", 0x803, IMAGES, cnn.side, cnn.side))
        f.writelines(images[i % len(rows)] for i in range(IMAGES))
    with open(os.path.join(folder, "labels"), "wb") as f:
        f.write(struct.pack(">II", 0x801, IMAGES))
        f.write(bytes(rows[i % len(rows)][64] for i in range(IMAGES)))


class Devices:
    """The paced devices of a cluster's nodes, one on each, bound to two cores of this machine alternately."""

    def __init__(self, cluster, paces, build):
        self.cluster, self.build, self.folder = cluster, build, os.path.join(cluster.shared, "pace")
        os.makedirs(self.folder, exist_ok=True)
        self.nodes = cluster.nodes[:len(paces)]
        cores = sorted(os.sched_getaffinity(0))
        both = cores[:2] if len(cores) > 1 else cores * 2
        for i, (node, pace) in enumerate(zip(self.nodes, paces)):
            with open(self.file(node), "wb") as f:  # the fastest and the slowest share a core
                f.write(DEVICE.pack(pace.flops, pace.call_us * 1e-6, both[(i + 1) // 2 % 2], 0, 0, 0.0))

    def file(self, node):
        """Return the path of a node's device file."""
        return os.path.join(self.folder, node)

    def set(self, node, pace):
        """Change a node's device from its next product on; the program has the file mapped."""
        with open(self.file(node), "r+b") as f:
            f.write(struct.pack("dd", pace.flops, pace.call_us * 1e-6))

    def counted(self, node):
        """Return {calls, operations, late_s} of a node since its device was created."""
        with open(self.file(node), "rb") as f:
            fields = DEVICE.unpack(f.read(DEVICE.size))
        return dict(zip(("calls", "operations", "late_s"), fields[3:]))

    def variables(self):
        """Return arguments of eddis-run that let workers, but not eddis' probe, compute on the devices."""
        return ["-x", f"LD_PRELOAD={self.build}/bench/bench-pace.so", "-x", f"PACE_DIR={self.folder}"]


def eddis_train(cluster, build, cnn, epochs):
    """Return the command of a job that trains on IMAGES for so many epochs."""
    return [os.path.join(build, "cmd/eddis-train"), "--data", cluster.shared + "/images", "--labels",
            cluster.shared + "/labels", "--model", "cnn", "--widths", ",".join(map(str, cnn.widths)), "--threads", "1",
            "--quiet", "--epochs", str(epochs)]


def arguments(cluster, build, network, steps, batch=GLOBAL, program=eddis_train):
    """Return the arguments of eddis-run, after its options, to train so many steps, rounded up to whole epochs."""
    return ["-H", ",".join(cluster.nodes), "--set", f"batch.global={batch}", "--set", "binding=none", "--set",
            "sync.mode=sync", "--set", "restarts=0", "--",
            *program(cluster, build, network, -(-steps * batch // IMAGES))]


def write_plan(path, plan, batches):
    """Write the plan with other batches to path."""
    workers = [dict(w, batch=b, weight=b / sum(batches)) for w, b in zip(plan["workers"], batches)]
    with open(path, "w") as f:
        json.dump(dict(plan, workers=workers), f)


# ---- this machine ----

class Busy:
    """Measures the part of their time for which this machine's processors are busy."""

    def __init__(self):
        self.before = self.read()

    @staticmethod
    def read():
        """Return (total, idle) processor time of this machine in clock ticks."""
        with open("/proc/stat") as f:
            times = [int(v) for v in f.readline().split()[1:9]]
        return sum(times), times[3] + times[4]

    def part(self):
        """Return the busy part since this object was made, 0 to 1."""
        total, idle = (now - then for now, then in zip(self.read(), self.before))
        return 1 - idle / total


# ---- results in a job's folder ----

def lines(path):
    """Return the complete lines of a JSON-lines file, parsed; [] if there is none."""
    try:
        with open(path) as f:
            return [json.loads(line) for line in f if line.endswith("\n")]
    except FileNotFoundError:
        return []


def batches_of(plan):
    """Return the batches of a plan by rank."""
    return [w["batch"] for w in sorted(plan["workers"], key=lambda w: w["rank"])]


def plans(folder):
    """Return [(first step, version, batches)] of the plans of the first generation, in order; [] if there are none yet.
    """
    since = {1: 0} if os.path.exists(os.path.join(folder, "plan-1-1.json")) else {}
    for e in lines(os.path.join(folder, "events.jsonl")):
        if e["type"] == "plan_agreed":
            words = e["text"].split()  # version 2 from step 17
            since[int(words[1])] = int(words[4])
    found = []
    for version, step in sorted(since.items()):
        with open(os.path.join(folder, f"plan-1-{version}.json")) as f:
            found.append((step, version, batches_of(json.load(f))))
    return found


def newest(folder):
    """Return the newest published plan version, even if workers have not agreed on it."""
    found = [e["text"].split()[1] for e in lines(os.path.join(folder, "events.jsonl")) if e["type"] == "plan_published"]
    return max((int(v.rstrip(":,")) for v in found), default=1)


def rate(folder, first, last):
    """Return the samples per second between two steps by the wall clock; None: too few of them were recorded."""
    known = lines(os.path.join(folder, "metrics.jsonl"))
    at = [(line["steps_done"], line["wall_s"]) for line in known if first <= line["steps_done"] <= last]
    at = [now for before, now in zip(at, at[1:]) if now[0] > before[0]]  # each when the step was seen first
    if len(at) < 2:
        return None
    return known[-1]["global_batch"] * (at[-1][0] - at[0][0]) / (at[-1][1] - at[0][1])
