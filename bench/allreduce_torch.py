# SPDX-License-Identifier: Apache-2.0
"""allreduce_torch.py - one rank of PyTorch's all-reduce over gloo: float32 buffers, in place

Each line on standard input is {"size": ..., "rows": ...}: one all-reduce that is checked and not counted, then as
many in a row.  Rank 0 answers with {"s": ...}, the mean of one on the slowest rank.  The first answer is PyTorch's
version.
"""

import json
import sys
import time

import torch
from torch import distributed


def measure(size, rows):
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    x = torch.arange(size // 4).remainder_(97).add_(rank).to(torch.float32)
    distributed.all_reduce(x)
    assert x[-1].item() == ranks * ((len(x) - 1) % 97) + ranks * (ranks - 1) // 2
    x.zero_()
    distributed.barrier()
    start = time.perf_counter()
    for _ in range(rows):
        distributed.all_reduce(x)
    seconds = torch.tensor([(time.perf_counter() - start) / rows], dtype=torch.float64)
    distributed.all_reduce(seconds, op=distributed.ReduceOp.MAX)
    return seconds.item()


def main():
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    first = distributed.get_rank() == 0
    if first:
        print(json.dumps({"torch": torch.__version__}), flush=True)
    for line in sys.stdin:
        seconds = measure(**json.loads(line))
        if first:
            print(json.dumps({"s": seconds}), flush=True)
    distributed.destroy_process_group()


main()
