# SPDX-License-Identifier: Apache-2.0
"""DeepSpeed's engines: every stage of ZeRO combines gradients to the mean over the data-parallel ranks.

A rank waits for the others in DeepSpeed's collectives, in the passes and after them: marks around these leave the waits
out of the rank's own computing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from .._worker import Mark, worker

# Functions of deepspeed.comm in which ranks wait for each other
_COLLECTIVES = ("all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_reduce", "all_reduce_coalesced",
                "allgather_fn", "barrier", "broadcast", "reduce", "reduce_scatter", "reduce_scatter_fn",
                "reduce_scatter_tensor")


def is_engine(model: torch.nn.Module) -> bool:
    """Return whether a model is an engine of deepspeed.initialize."""
    return any(kind.__name__ == "DeepSpeedEngine" for kind in type(model).__mro__)


def elements_of(parameter: torch.Tensor) -> int:
    """Return the number of a parameter's elements on all ranks together, of which ZeRO 3 leaves each rank a part."""
    return getattr(parameter, "ds_numel", parameter.numel())


def refuse_other_engines(engine: Any) -> None:
    """Raise ValueError for an engine whose gradients are not the mean over all ranks: of pipelines, or of models whose
    layers or sequences are divided among ranks."""
    if any(kind.__name__ == "PipelineEngine" for kind in type(engine).__mro__) or \
            max(engine.mp_world_size, engine.sequence_parallel_size) > 1:
        raise ValueError("the DeepSpeed engine divides layers or sequences among ranks: attach takes engines whose "
                         "gradients are the mean over all workers, of ZeRO 1 to 3 or without ZeRO")


def watch_collectives() -> None:
    """Mark where this rank waits in DeepSpeed's collectives.  Later calls do nothing."""
    from deepspeed import comm
    for name in _COLLECTIVES:
        function = getattr(comm, name, None)
        if function is not None and not hasattr(function, "is_marked_by_eddis"):
            setattr(comm, name, _marked(function))


def _marked(collective: Callable[..., Any]) -> Callable[..., Any]:
    """Return this function with marks around it."""
    @functools.wraps(collective)
    def marked(*args: Any, **kwargs: Any) -> Any:
        if not worker.in_step:
            return collective(*args, **kwargs)
        worker.mark(Mark.WAITS)
        try:
            return collective(*args, **kwargs)
        finally:
            worker.mark(Mark.GOES_ON)

    marked.is_marked_by_eddis = True
    return marked
