# SPDX-License-Identifier: Apache-2.0
"""Have torch.compile divide the graphs of models, so that gradients are combined while a backward pass computes.

A compiled graph has one backward pass, and autograd gets all its gradients at the end.  torch.compile divides a graph
that it compiles inside of a DistributedDataParallel, from the last layers on: after 1 MB of parameters, then after each
`bucket_bytes_cap`.  A class attribute of DistributedDataParallel shows it which module is active.  Here an object of
eddis takes that place, so that scripts may compile their models as they do.  PyTorch reads nothing else of it.  With
torch._dynamo.config.optimize_ddp = False graphs stay whole.  A graph without a MB of parameters stays whole, too.
"""

from __future__ import annotations

import torch
from torch.nn.parallel import DistributedDataParallel

from .._worker import worker
from ._groups import release

SINCE = 2, 15  # PyTorch's version: the first that was tested; some before refuse graphs with activation checkpoints


class _Active:
    """What torch.compile takes for the active module."""

    bucket_bytes_cap = 25 << 20  # bytes of the parameters of each graph, as DistributedDataParallel has them

    def __bool__(self) -> bool:
        """Return whether a graph that is compiled now may compute gradients of a step."""
        return worker.in_step and torch.is_grad_enabled()


def divide_graphs() -> None:
    """Have graphs divided that are compiled in steps from now on, if this version of PyTorch does so.  A callback after
    commit."""
    if worker.world.n_group_ranks > 1 and release() >= SINCE and \
            getattr(DistributedDataParallel, "_active_ddp_module", worker) is None:
        DistributedDataParallel._active_ddp_module = _Active()
