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

# What a script does with what an engine keeps
BY_ENGINE = ("leave it out, and save it by engine.save_checkpoint(state.folder / 'engine') on all ranks where "
             "state.due() is true")
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


def is_divided(engine: Any) -> bool:
    """Return whether ZeRO divides the state of this engine among the ranks."""
    return engine.zero_optimization_stage() > 0


def optimizers_of(engine: Any) -> list[Any]:
    """Return the optimizer of an engine, and those inside of it, of which ZeRO makes its own."""
    found: list[Any] = []
    it = getattr(engine, "optimizer", None)
    while it is not None and not any(it is other for other in found):
        found.append(it)
        it = getattr(it, "optimizer", None)
    return found


def refuse_in_state(name: str, thing: Any, engines: list[Any]) -> None:
    """Raise TypeError for an object of State that each rank has a part of: an engine, the model or an optimizer of one
    under ZeRO, or torch's ZeroRedundancyOptimizer.  name: that of the object in State; engines: the attached ones."""
    while isinstance(thing, torch.optim.Optimizer) and hasattr(thing, "optimizer"):
        thing = thing.optimizer  # inside of accelerate's wrapper
    kinds = [kind.__name__ for kind in type(thing).__mro__]
    zero = [engine for engine in engines if is_divided(engine)]
    if "DeepSpeedEngine" in kinds:
        raise TypeError(f"{name} of eddis.torch.State is an engine of deepspeed.initialize: {BY_ENGINE}")
    if "ZeROOptimizer" in kinds or any(thing is it for engine in zero for it in optimizers_of(engine)):
        raise TypeError(f"{name} of eddis.torch.State is an optimizer of DeepSpeed's ZeRO, so each rank has a part of "
                        f"its state: {BY_ENGINE}")
    if "ZeroRedundancyOptimizer" in kinds:
        raise TypeError(f"{name} of eddis.torch.State is a ZeroRedundancyOptimizer, so each rank has a part of its "
                        "state: leave it out; where state.due() is true call consolidate_state_dict() on all ranks, "
                        "and have rank 0 save the state_dict() in state.folder; where state.resume() is true load it "
                        "on all ranks")
    if isinstance(thing, torch.nn.Module):
        theirs = {p for engine in zero for p in engine.parameters()}
        if any(p in theirs or hasattr(p, "ds_numel") for p in thing.parameters()):
            raise TypeError(f"{name} of eddis.torch.State is a model of DeepSpeed's ZeRO, whose engine has parts of it "
                            f"of its own on each rank: {BY_ENGINE}")


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
