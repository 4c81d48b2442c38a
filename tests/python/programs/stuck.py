# SPDX-License-Identifier: Apache-2.0
"""stuck.py FOLDER SECONDS - rank 0 computes for so long while the others wait; then, the first time, rank 1 does not
come to the collective operation of the others"""

import os
import sys
import time

import torch
from torch import distributed

FOLDER, SECONDS = sys.argv[1], float(sys.argv[2])
STUCK = os.path.join(FOLDER, "stuck")


def compute():
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        torch.ones(200, 200) @ torch.ones(200, 200)


def load():
    if not os.path.exists(STUCK):
        open(STUCK, "w").close()
        time.sleep(3600)


def main():
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    if distributed.get_rank() == 0:
        compute()
    distributed.barrier()
    print("computed", flush=True)
    if distributed.get_rank() == 1:
        load()
    distributed.all_reduce(torch.ones(10))
    print("together", flush=True)
    distributed.destroy_process_group()


main()
