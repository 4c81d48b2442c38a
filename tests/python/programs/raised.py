# SPDX-License-Identifier: Apache-2.0
"""raised.py collective|gradients FILE - rank 0's handler of a signal raises while it waits for the other worker, and
the script drops what was on its way; what the library writes in the end is nobody else's memory.  FILE is made in
between"""

import pathlib
import signal
import sys
import time

import torch
from torch.utils import data

import eddis.torch as eddis

N = 1 << 18
raised, finished = pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[2] + ".finished")


def late(*_):
    raise TimeoutError


def wait_for(file):
    until = time.monotonic() + 60
    while not file.exists() and time.monotonic() < until:
        time.sleep(0.01)


def given_up(call):
    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        call()
    except TimeoutError:
        return
    raise SystemExit("nothing was raised")


def allocated():
    return [torch.full((N,), 7.0) for _ in range(64)]


def check(mine):
    assert all(torch.equal(it, torch.full((N,), 7.0)) for it in mine)
    print("nothing is written", flush=True)


def collective():
    if eddis.rank():
        wait_for(raised)
        assert torch.equal(eddis.allreduce(torch.full((N,), 3.0)), torch.full((N,), 2.0))
    else:
        given_up(lambda: eddis.allreduce(torch.ones(N)))
        mine = allocated()
        raised.touch()
    assert eddis.allreduce(torch.ones(1)) == 1  # comes behind the other one
    if eddis.rank() == 0:
        check(mine)


def gradients():
    p = torch.nn.Parameter(torch.zeros(N))
    optimizer = eddis.DistributedOptimizer(torch.optim.SGD([p], lr=1.0))
    for batch, in eddis.loader(data.DataLoader(data.TensorDataset(torch.ones(8, 1)), batch_size=4)):
        if eddis.rank():
            wait_for(raised)
            (p * batch.sum()).sum().backward()
            finished.touch()
        else:
            given_up((p * batch.sum()).sum().backward)
            optimizer.zero_grad()
            mine = allocated()
            raised.touch()
            wait_for(finished)
            check(mine)
        optimizer.step()


eddis.allreduce(torch.ones(1))  # both have joined
{"collective": collective, "gradients": gradients}[sys.argv[1]]()
