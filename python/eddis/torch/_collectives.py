# SPDX-License-Identifier: Apache-2.0
"""Send tensors and objects between workers, apart from the steps' gradients."""

from __future__ import annotations

import enum
import io
from collections.abc import Iterable, Mapping

import torch

from .. import _lib as L
from .._worker import worker
from ._gradients import DTYPES

_PACK_BYTES = 32 << 20  # small tensors are sent together, up to about this size


class Op(enum.Enum):
    """How `allreduce` combines the workers' numbers."""

    AVERAGE = "average"
    SUM = "sum"
    MIN = "min"
    MAX = "max"


_OPS = {Op.AVERAGE: L.SUM, Op.SUM: L.SUM, Op.MIN: L.MIN, Op.MAX: L.MAX}


def allreduce(tensor: torch.Tensor, op: Op = Op.AVERAGE, weight: float | None = None) -> torch.Tensor:
    """Combine the workers' tensors element by element.  Return a new tensor of the same shape, type and device, with
    the same bits on all workers.  Collective.

    op: Op.AVERAGE is the mean over workers. weight: weight of this worker in a weighted mean, for Op.AVERAGE only: for
    a metric, the number of samples it is over.  The tensor of a worker with weight 0 is not read.  Shapes and types
    must be equal on all workers.  With several models all workers must call it, though at different steps.

    Raises TypeError for a type that cannot be combined so, and ValueError for an impossible weight.
    """
    mean = op is Op.AVERAGE
    if mean and not tensor.is_floating_point():
        raise TypeError(f"the mean of {tensor.dtype} is not of that type: convert it, or take Op.SUM")
    if weight is not None:
        if not mean:
            raise ValueError("a weight is for Op.AVERAGE")
        return _weighted_mean(tensor, weight)
    result = _on_host(tensor)
    if result.dtype not in DTYPES:
        raise TypeError(f"eddis combines no {tensor.dtype}")
    worker.collective(L.ALLREDUCE, result, result.numel(), dtype=DTYPES[result.dtype], op=_OPS[op])
    return (result / worker.size if mean else result).to(tensor.device)


def _weighted_mean(tensor: torch.Tensor, weight: float) -> torch.Tensor:
    """Return the mean of the workers' tensors weighted by their weights, computed in float64.  Raises ValueError for a
    negative weight, or if all weights are 0.  Collective."""
    if weight < 0:
        raise ValueError(f"a weight of {weight} is not possible")
    total = torch.zeros(tensor.numel() + 1, dtype=torch.float64, device="cpu")
    if weight:
        total[:-1] = tensor.detach().reshape(-1) * weight
        total[-1] = weight
    total = allreduce(total, Op.SUM)
    if not total[-1]:
        raise ValueError("the weights of all workers are 0, so there is no mean")
    return (total[:-1] / total[-1]).reshape(tensor.shape).to(tensor.dtype).to(tensor.device)


def _on_host(tensor: torch.Tensor) -> torch.Tensor:
    """Return a contiguous copy on the CPU."""
    return tensor.detach().to("cpu", copy=True).contiguous()


def broadcast(tensor: torch.Tensor, root_rank: int = 0) -> torch.Tensor:
    """Overwrite this tensor with root_rank's elements on all workers, and return it.  Shape and type must be equal on
    all workers.  Collective."""
    broadcast_tensors([tensor], root_rank)
    return tensor


def broadcast_tensors(tensors: list[torch.Tensor], root: int) -> None:
    """Overwrite these tensors, of any types, with the root's elements on all workers.  Collective."""
    worker.open()
    if worker.size == 1:
        return
    packed: list[torch.Tensor] = []
    n_bytes = 0
    for tensor in tensors:
        packed.append(tensor)
        n_bytes += tensor.numel() * tensor.element_size()
        if n_bytes >= _PACK_BYTES:
            _broadcast_packed(packed, root)
            packed, n_bytes = [], 0
    if packed:
        _broadcast_packed(packed, root)


def _broadcast_packed(tensors: list[torch.Tensor], root: int) -> None:
    """Broadcast the elements of all tensors in one message.  Collective."""
    parts = [_on_host(t).reshape(-1).view(torch.uint8) for t in tensors if t.numel()]
    if not parts:
        return
    flat = torch.cat(parts)
    worker.collective(L.BROADCAST, flat, flat.numel(), root=root)
    at = 0
    with torch.no_grad():
        for tensor in (t for t in tensors if t.numel()):
            n = tensor.numel() * tensor.element_size()
            tensor.copy_(flat[at:at + n].clone().view(tensor.dtype).view(tensor.shape))
            at += n


def broadcast_parameters(params: torch.nn.Module | Mapping[str, object] | Iterable[tuple[str, object]],
                         root_rank: int = 0) -> None:
    """Overwrite a model, a state_dict() or named_parameters() with root_rank's values on all workers.  Collective.

    The first step does this by itself, from rank 0, for every parameter of a DistributedOptimizer and for all other
    tensors of its `model`.
    """
    if isinstance(params, torch.nn.Module):
        params = params.state_dict()
    named = params.items() if isinstance(params, Mapping) else params
    broadcast_tensors([t for _, t in sorted(named, key=lambda row: row[0]) if torch.is_tensor(t)], root_rank)


def broadcast_object(obj: object, root_rank: int = 0) -> object:
    """Return root_rank's object on all workers.  It is pickled by torch.save; on other ranks its tensors are on the
    CPU. Collective."""
    worker.open()
    if worker.rank == root_rank:
        data = io.BytesIO()
        torch.save(obj, data)
        worker.broadcast_bytes(data.getvalue(), root_rank)
        return obj
    received = worker.broadcast_bytes(None, root_rank)
    return torch.load(io.BytesIO(received), map_location="cpu", weights_only=False)


def broadcast_optimizer_state(optimizer: torch.optim.Optimizer, root_rank: int = 0) -> None:
    """Overwrite the optimizer's state with root_rank's on all workers.  Collective."""
    optimizer.load_state_dict(broadcast_object(optimizer.state_dict(), root_rank))
