# SPDX-License-Identifier: Apache-2.0
"""allreduce_torch.py - PyTorch's all-reduce over gloo: float32 buffers, in place

Run by torchrun.  Each line on rank 0's standard input is a request {"size": bytes, "row_s": seconds}: make one
all-reduce that is checked and not counted, then as many as fit into so many seconds, at least one.  The answer is
{"s": ...}, the mean seconds of one on the slowest rank.  The first line of output is PyTorch's version.
"""

import json
import sys
import time

import torch
from torch import distributed

ROW_MAX = 1000


def row(x, rows):
    """Return the seconds of one of `rows` all-reduces of x on the slowest rank."""
    distributed.barrier()
    start = time.perf_counter()
    for _ in range(rows):
        distributed.all_reduce(x)
    seconds = torch.tensor([(time.perf_counter() - start) / rows], dtype=torch.float64)
    distributed.all_reduce(seconds, op=distributed.ReduceOp.MAX)
    return seconds.item()


def measure(size, row_s):
    """Check and measure an all-reduce of `size` bytes; return the seconds of one."""
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    x = torch.arange(size // 4).remainder_(97).add_(rank).to(torch.float32)
    distributed.all_reduce(x)
    assert x[-1].item() == ranks * ((len(x) - 1) % 97) + ranks * (ranks - 1) // 2
    x.zero_()
    seconds = row(x, 1)
    rows = min(int(row_s / seconds), ROW_MAX)
    return row(x, rows) if rows > 1 else seconds


def requests(first):
    """Yield rank 0's lines of standard input, parsed, on all ranks."""
    while True:
        line = [sys.stdin.readline() if first else None]
        distributed.broadcast_object_list(line)
        if not line[0]:
            return
        yield json.loads(line[0])


def main():
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    rank = distributed.get_rank()
    if rank == 0:
        print(json.dumps({"torch": torch.__version__}), flush=True)
    for request in requests(rank == 0):
        seconds = measure(**request)
        if rank == 0:
            print(json.dumps({"s": seconds}), flush=True)
    distributed.destroy_process_group()


main()
