# SPDX-License-Identifier: Apache-2.0
"""ring_torch.py BYTES - one rank of PyTorch's all-reduce over gloo: a float32 buffer, in place

Each line on standard input is a round: one all-reduce that is not counted, then one that is.  Rank 0 answers with
{"s": ..., "cpu_s": ...}, the seconds of the slowest rank and the processor seconds of all ranks.  The first line of
output is PyTorch's version.
"""

import json
import sys
import time

import torch
from torch import distributed


def once(x, rank, ranks):
    """Make and check one all-reduce; return the seconds of the slowest rank and the processor seconds of all."""
    x.copy_(torch.arange(len(x)).remainder_(97).add_(rank))
    distributed.barrier()
    wall, cpu = time.perf_counter(), time.process_time()
    distributed.all_reduce(x)
    wall = torch.tensor([time.perf_counter() - wall], dtype=torch.float64)
    cpu = torch.tensor([time.process_time() - cpu], dtype=torch.float64)
    distributed.all_reduce(wall, op=distributed.ReduceOp.MAX)
    distributed.all_reduce(cpu)
    assert x[-1].item() == ranks * ((len(x) - 1) % 97) + ranks * (ranks - 1) // 2
    return {"s": wall.item(), "cpu_s": cpu.item()}


def main():
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    x = torch.empty(int(sys.argv[1]) // 4)
    if rank == 0:
        print(json.dumps({"torch": torch.__version__}), flush=True)
    for _ in sys.stdin:
        once(x, rank, ranks)
        answer = once(x, rank, ranks)
        if rank == 0:
            print(json.dumps(answer), flush=True)
    distributed.destroy_process_group()


main()
