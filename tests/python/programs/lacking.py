# SPDX-License-Identifier: Apache-2.0
"""lacking.py FOLDER HOW MOST,... [KIND] - a job whose ranks have memory for so many samples: more raise an error

HOW: "start", from the first step; "later", from step 50 on; "backward", in the backward pass; "caught": the script
catches it, and trains with half of the samples; "thread": the loop is in a thread of its own.
KIND: of the error, "torch" unless it is given.  FOLDER/RANK has "GENERATION SAMPLES" of each step that was begun."""

import os
import sys
import threading

import torch
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

import eddis.torch as eddis
from eddis._worker import worker

LATER = 50
TEXT = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 10.91 GiB"
# What PyTorch, CUDA's libraries, NCCL and Python raise
ERRORS = {
    "torch": lambda: torch.cuda.OutOfMemoryError(TEXT),
    "cublas": lambda: RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    "nccl": lambda: RuntimeError("NCCL error in: ProcessGroupNCCL.cpp:2\nLast error:\nCuda failure 2 'out of memory'"),
    "calloc": lambda: RuntimeError("NCCL error: unhandled cuda error\nLast error:\nFailed to CUDA calloc async 608"),
    "cpu": lambda: RuntimeError("[enforce fail at alloc_cpu.cpp:1] . DefaultCPUAllocator: can't allocate memory: you"),
    "python": MemoryError,
    "cause": lambda: caused_by(MemoryError()),
    "other": lambda: RuntimeError("the loss is no number"),
}


def caused_by(cause):
    """An error with this cause."""
    error = RuntimeError("a layer of the model has failed")
    error.__cause__ = cause
    return error


class Needs(torch.autograd.Function):
    """The identity, whose backward pass needs memory."""

    @staticmethod
    def forward(context, x, need):
        context.need = need
        return x.view_as(x)

    @staticmethod
    def backward(context, gradient):
        context.need()
        return gradient, None


def main():
    folder, how, most, *kind = sys.argv[1:]
    loader = eddis.loader(DataLoader(TensorDataset(torch.randn(5040, 8), torch.randint(4, (5040,))), batch_size=56))
    model = torch.nn.Linear(8, 4)
    optimizer = eddis.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model=model)
    eddis.State(model=model, optimizer=optimizer)
    for _ in loader.epochs(3):
        for x, y in loader:
            with open(f"{folder}/{eddis.rank()}", "a") as out:
                print(os.environ["EDDIS_GENERATION"], len(x), file=out)
            fits = int(most.split(",")[eddis.rank()]) if how != "later" or worker.step.step >= LATER else len(x)

            def need(n=len(x), fits=fits):
                if n > fits:
                    raise ERRORS[kind[0] if kind else "torch"]()
            optimizer.zero_grad()
            if how == "caught":
                try:
                    need()
                except MemoryError:
                    print("caught")
            elif how != "backward":
                need()
            functional.cross_entropy(Needs.apply(model(x), need if how == "backward" else lambda: None), y).backward()
            optimizer.step()
    print("done", eddis.rank())


if sys.argv[2] == "thread":
    thread = threading.Thread(target=main)
    thread.start()
    thread.join()
else:
    main()
