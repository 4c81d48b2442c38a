# SPDX-License-Identifier: Apache-2.0
"""Have torch.compile divide the graphs of models, so that gradients are combined while a backward pass computes.

A compiled graph has one backward pass, and autograd gets all its gradients at the end.  torch.compile divides a graph
that it compiles inside of a DistributedDataParallel, from the last layers on: after 1 MB of parameters, then after each
`bucket_bytes_cap`.  A class attribute of DistributedDataParallel shows it which module is active.  Here an object of
eddis takes that place, so that scripts may compile their models as they do.  PyTorch reads nothing else of it.  With
torch._dynamo.config.optimize_ddp = False graphs stay whole.  A graph without a MB of parameters stays whole, too.

Some versions of PyTorch refuse to divide graphs with activation checkpoints, and end the script.  Here such a graph
stays whole, with a warning.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from .._worker import worker
from ._groups import release

DIVIDES_ALL = 2, 15  # PyTorch's version: the first tested one that divides graphs with activation checkpoints


class _Active:
    """What torch.compile takes for the active module."""

    bucket_bytes_cap = 25 << 20  # bytes of the parameters of each graph, as DistributedDataParallel has them

    def __bool__(self) -> bool:
        """Return whether a graph that is compiled now may compute gradients of a step."""
        if not (worker.in_step and torch.is_grad_enabled()):
            return False
        if release() < DIVIDES_ALL:
            _keep_refused()  # PyTorch looks its class up after this
        return True


@functools.cache
def _keep_refused() -> None:
    """Have torch.compile leave whole what it refuses to divide, by a subclass instead of its own class.  Not
    called before it compiles, since it takes long to load."""
    from torch._dynamo.backends import distributed

    class Optimizer(distributed.DDPOptimizer):
        """Divides graphs as PyTorch does."""

        def compile_fn(self, graph: torch.fx.GraphModule, inputs: list[torch.Tensor], **options: Any) -> Any:
            """Compile a graph, divided if possible."""
            try:
                return super().compile_fn(graph, inputs, **options)
            except NotImplementedError:
                warnings.warn(f"PyTorch {torch.__version__} cannot divide a graph with activation checkpoints or other "
                              "higher-order operators, so its gradients are combined at its end: call compile() of the "
                              "model's blocks, and not of the whole, to combine them earlier", stacklevel=2)
            return self.backend_compile_fn(graph, inputs, **options)

    distributed.DDPOptimizer = Optimizer


def divide_graphs() -> None:
    """Have graphs divided that are compiled in steps from now on.  A callback after commit."""
    if worker.world.n_group_ranks > 1 and getattr(DistributedDataParallel, "_active_ddp_module", worker) is None:
        DistributedDataParallel._active_ddp_module = _Active()
