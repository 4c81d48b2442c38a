# SPDX-License-Identifier: Apache-2.0
"""pace.py - paced workers on hosts of tests/lab: devices of given speeds, of which eddis is not told

bench/pace.c makes a matrix product of F operations last F / flops + call_s.  So the time of a step of
b samples can be computed from the products that eddis-train makes in it, and the best plan, the
*oracle*, is the exact integer optimum of these times.  How good a plan is, its share, depends on its
batches alone and not on what else the machine does.
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
    """What a step's matrix products are."""

    def layers(self):
        """[(rows a sample, inner, columns, products, samples of one product or None)]"""
        raise NotImplementedError

    def work(self, batch):
        """(operations, calls) of a step."""
        operations = calls = 0
        for rows, inner, columns, products, group in self.layers() if batch else []:
            operations += products * 2 * batch * rows * inner * columns
            calls += products * (-(-batch // group) if group else 1)
        return operations, calls


class Mlp(Network):
    """bench/torch_paced.py's."""

    def __init__(self, widths):
        self.widths = widths

    def layers(self):
        return [(1, inner, columns, 3 if i else 2, None)  # nobody asks for the inputs' gradient
                for i, (inner, columns) in enumerate(zip(self.widths, self.widths[1:]))]


class Cnn(Network):
    """eddis-train's cnn on the digits, each pixel `zoom` times as wide and high, in a frame."""

    def __init__(self, side, zoom, widths):
        self.side, self.zoom, self.widths = side, zoom, widths

    def layers(self):
        w, first, second = self.widths, self.side ** 2, (self.side // 2) ** 2

        def group(pixels, channels):
            return max(1, COL_BYTES // (4 * 9 * channels * pixels))
        return [(first, 9, w[0], 2, group(first, 1)),  # nobody asks for the images' gradient
                (second, 9 * w[0], w[1], 3, group(second, w[0])),
                (1, (self.side // 4) ** 2 * w[1], w[2], 3, None), (1, w[2], CLASSES, 3, None)]

    def image(self, row):
        frame, picture = (self.side - 8 * self.zoom) // 2, bytearray(self.side ** 2)
        for y in range(8 * self.zoom):
            for x in range(8 * self.zoom):
                value = row[y // self.zoom * 8 + x // self.zoom]
                picture[(y + frame) * self.side + x + frame] = min(255, 16 * value)
        return bytes(picture)


LARGE = Cnn(28, 3, (32, 64, 128))
WARM_UP = (2 * 2 * 256 ** 3, 2)  # (operations, calls) before the first step, of cmd/train/model/matmul.c
SMALL = Cnn(8, 1, (16, 32, 64))  # little to compute: paced steps last as long where a machine is busy


class Pace:
    """A device's law for a cnn; gflops: what it makes of LARGE, and of another as many samples a second."""

    def __init__(self, gflops, call_us=0, cnn=LARGE):
        self.cnn, self.gflops, self.call_us = cnn, gflops, call_us
        self.flops = gflops * 1e9 * cnn.work(1)[0] / LARGE.work(1)[0]

    def seconds(self, batch):
        operations, calls = self.cnn.work(batch)
        return operations / self.flops + calls * self.call_us * 1e-6

    def slower(self, times):
        return Pace(self.gflops / times, self.call_us * times, self.cnn)


def proportional(cnn):
    return [Pace(r, 0, cnn) for r in (18, 12, 9, 6)]


def affine(cnn):
    return [Pace(r, s, cnn) for r, s in ((18, 400), (12, 4000), (9, 1000), (6, 2000))]


LAWS = {"proportional": proportional, "affine": affine}


def slowness(cnn, times):
    """Devices that are so many times as slow as the fastest, and together as fast as the others."""
    fastest = sum(p.gflops for p in proportional(cnn)) / sum(1 / t for t in times)
    return [Pace(fastest / t, 0, cnn) for t in times]


def step_s(paces, batches):
    return max(p.seconds(b) for p, b in zip(paces, batches))


def oracle(paces, total=GLOBAL):
    """The batches of the shortest step: each sample goes where it is done first, which is the optimum
    for times that do not fall with the batch."""
    batches = [0] * len(paces)
    queue = [(p.seconds(1), i) for i, p in enumerate(paces)]
    heapq.heapify(queue)
    for _ in range(total):
        _, i = heapq.heappop(queue)
        batches[i] += 1
        heapq.heappush(queue, (paces[i].seconds(batches[i] + 1), i))
    return batches


def share(paces, batches):
    """Of the oracle's throughput, 1 at most."""
    return step_s(paces, oracle(paces, sum(batches))) / step_s(paces, batches)


def moved(paces, batches, part):
    """The plan with this part of the global batch moved from the slowest device to the fastest."""
    order = sorted(range(len(paces)), key=lambda i: paces[i].seconds(GLOBAL))
    n, other = round(part * sum(batches)), list(batches)
    other[order[0]] += n
    other[order[-1]] -= n
    return other


# ---- on hosts ----

def write_images(cnn, digits, folder):
    """IMAGES of the digits as IDX files, so many that every step is full."""
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
    """The paced devices of a cluster's nodes, one each; the cores of this machine in turn."""

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
        return os.path.join(self.folder, node)

    def set(self, node, pace):
        """From the next product on; the program has the file mapped."""
        with open(self.file(node), "r+b") as f:
            f.write(struct.pack("dd", pace.flops, pace.call_us * 1e-6))

    def counted(self, node):
        """{calls, operations, late_s} since the device was made."""
        with open(self.file(node), "rb") as f:
            fields = DEVICE.unpack(f.read(DEVICE.size))
        return dict(zip(("calls", "operations", "late_s"), fields[3:]))

    def variables(self):
        """Arguments of eddis-run, by which workers compute on the devices and its probe does not."""
        return ["-x", f"LD_PRELOAD={self.build}/bench/bench-pace.so", "-x", f"PACE_DIR={self.folder}"]


def eddis_train(cluster, build, cnn, epochs):
    """The command of a job that trains on IMAGES so often."""
    return [os.path.join(build, "cmd/eddis-train"), "--data", cluster.shared + "/images", "--labels",
            cluster.shared + "/labels", "--model", "cnn", "--widths", ",".join(map(str, cnn.widths)), "--threads", "1",
            "--quiet", "--epochs", str(epochs)]


def arguments(cluster, build, network, steps, batch=GLOBAL, program=eddis_train):
    """Of eddis-run, after its options: train so many steps, in whole epochs."""
    return ["-H", ",".join(cluster.nodes), "--set", f"batch.global={batch}", "--set", "binding=none", "--set",
            "sync.mode=sync", "--set", "restarts=0", "--",
            *program(cluster, build, network, -(-steps * batch // IMAGES))]


def write_plan(path, plan, batches):
    """The plan with other batches."""
    workers = [dict(w, batch=b, weight=b / sum(batches)) for w, b in zip(plan["workers"], batches)]
    with open(path, "w") as f:
        json.dump(dict(plan, workers=workers), f)


# ---- this machine ----

class Busy:
    """How much of its time this machine's processors were busy."""

    def __init__(self):
        self.before = self.read()

    @staticmethod
    def read():
        with open("/proc/stat") as f:
            times = [int(v) for v in f.readline().split()[1:9]]
        return sum(times), times[3] + times[4]

    def part(self):
        total, idle = (now - then for now, then in zip(self.read(), self.before))
        return 1 - idle / total


# ---- what a job's folder tells ----

def lines(path):
    try:
        with open(path) as f:
            return [json.loads(line) for line in f if line.endswith("\n")]
    except FileNotFoundError:
        return []


def batches_of(plan):
    return [w["batch"] for w in sorted(plan["workers"], key=lambda w: w["rank"])]


def plans(folder):
    """[(the step from which it held, version, batches)] of the first generation, in order; [] at first."""
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
    """The newest version of the plan, whether workers have agreed on it or not."""
    found = [e["text"].split()[1] for e in lines(os.path.join(folder, "events.jsonl")) if e["type"] == "plan_published"]
    return max((int(v.rstrip(":,")) for v in found), default=1)


def rate(folder, first, last):
    """Samples a second between two steps, by the clock; None: the job told too little of them."""
    known = lines(os.path.join(folder, "metrics.jsonl"))
    at = [(line["steps_done"], line["wall_s"]) for line in known if first <= line["steps_done"] <= last]
    at = [now for before, now in zip(at, at[1:]) if now[0] > before[0]]  # each when the step was seen first
    if len(at) < 2:
        return None
    return known[-1]["global_batch"] * (at[-1][0] - at[0][0]) / (at[-1][1] - at[0][1])
