# SPDX-License-Identifier: Apache-2.0
"""Find this worker's GPU, and refuse a model on another worker's: two workers would share one, with shares that the
plan made for others."""

from __future__ import annotations

import os
from collections.abc import Iterable

import torch

from .._worker import Worker


def _shown() -> list[str]:
    """Return the ids of the GPUs that this process sees."""
    return os.environ.get("ROCR_VISIBLE_DEVICES" if torch.version.hip else "CUDA_VISIBLE_DEVICES", "").split(",")


def _each() -> int:
    """Return how many GPUs each worker has (gpus_per_worker)."""
    return int(os.environ.get("EDDIS_GPUS_PER_WORKER") or 1)


def _shows_all(worker: Worker) -> bool:
    """Return whether this worker sees the GPUs of all workers of the node, in the order of LOCAL_RANK, as eddis-run
    shows them, and not only those that the script has chosen of them."""
    shown = _shown()
    is_all = len(shown) == worker.local_size * _each()
    return worker.has_plan and is_all and all(name.startswith("GPU-") for name in shown)


def own_gpus(worker: Worker) -> range:
    """Return the indices of this worker's GPUs: those that eddis-run shows for it, all if the script has chosen so
    many, else the current one."""
    if _shows_all(worker):
        return range(worker.local_rank * _each(), (worker.local_rank + 1) * _each())
    if torch.cuda.device_count() == _each():
        return range(_each())
    return range(torch.cuda.current_device(), torch.cuda.current_device() + 1)


def refuse_others_gpu(worker: Worker, parameters: Iterable[torch.Tensor]) -> None:
    """Raise RuntimeError if parameters are on GPUs, but none on this worker's own.  If eddis-run does not show the GPUs
    of all workers, nothing is checked."""
    used = sorted({p.device.index for p in parameters if p.device.type == "cuda"})
    each = _each()
    own = worker.local_rank * each
    if not used or not set(used).isdisjoint(range(own, own + each)) or not _shows_all(worker):
        return
    if each == 1:
        raise RuntimeError(f"the model is on cuda:{used[0]}, but this worker's GPU is cuda:{own}: call "
                           "torch.cuda.set_device(eddis.local_rank()) before the model moves to 'cuda'")
    raise RuntimeError(f"the model is on cuda:{used[0]}, but this worker's GPUs are cuda:{own} to "
                       f"cuda:{own + each - 1}: they begin at eddis.local_rank() * {each}")
