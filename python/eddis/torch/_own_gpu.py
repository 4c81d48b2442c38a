# SPDX-License-Identifier: Apache-2.0
"""Find this worker's GPU, and refuse a model on another worker's: two workers would share one, with shares that the
plan made for others."""

from __future__ import annotations

import os
from collections.abc import Iterable

import torch

from .._worker import Worker


def _shown_each(worker: Worker) -> int:
    """Return how many GPUs each worker of the node has (gpus_per_worker), if this worker sees the GPUs of all of them,
    in the order of LOCAL_RANK, as eddis-run shows them; 0 if it sees other ones."""
    variable = "ROCR_VISIBLE_DEVICES" if torch.version.hip else "CUDA_VISIBLE_DEVICES"
    shown = os.environ.get(variable, "").split(",")
    is_all = worker.has_plan and len(shown) % worker.local_size == 0 and all(name.startswith("GPU-") for name in shown)
    return len(shown) // worker.local_size if is_all else 0


def own_gpus(worker: Worker) -> range:
    """Return the indices of this worker's GPUs: those that eddis-run shows for it, else the current one."""
    each = _shown_each(worker)
    first = worker.local_rank * each if each else torch.cuda.current_device()
    return range(first, first + max(1, each))


def refuse_others_gpu(worker: Worker, parameters: Iterable[torch.Tensor]) -> None:
    """Raise RuntimeError if parameters are on GPUs, but none on this worker's own.  If eddis-run does not show the GPUs
    of all workers, nothing is checked."""
    used = sorted({p.device.index for p in parameters if p.device.type == "cuda"})
    each = _shown_each(worker)
    own = worker.local_rank * each
    if not each or not used or not set(used).isdisjoint(range(own, own + each)):
        return
    if each == 1:
        raise RuntimeError(f"the model is on cuda:{used[0]}, but this worker's GPU is cuda:{own}: call "
                           "torch.cuda.set_device(eddis.local_rank()) before the model moves to 'cuda'")
    raise RuntimeError(f"the model is on cuda:{used[0]}, but this worker's GPUs are cuda:{own} to "
                       f"cuda:{own + each - 1}: they begin at eddis.local_rank() * {each}")
