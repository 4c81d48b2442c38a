# SPDX-License-Identifier: Apache-2.0
"""Find this worker's GPU, and refuse a model on another worker's: two workers would share one, with shares that the
plan made for others."""

from __future__ import annotations

import os
from collections.abc import Iterable

import torch

from .._worker import Worker


def _shows_all(worker: Worker) -> bool:
    """Return whether this worker sees the GPUs of all workers of the node, in the order of LOCAL_RANK, as eddis-run
    shows them."""
    variable = "ROCR_VISIBLE_DEVICES" if torch.version.hip else "CUDA_VISIBLE_DEVICES"
    shown = os.environ.get(variable, "").split(",")
    return worker.has_plan and len(shown) == worker.local_size and all(name.startswith("GPU-") for name in shown)


def own_gpu(worker: Worker) -> int:
    """Return the index of this worker's GPU: the one that eddis-run shows for it, else the current one."""
    return worker.local_rank if _shows_all(worker) else torch.cuda.current_device()


def refuse_others_gpu(worker: Worker, parameters: Iterable[torch.Tensor]) -> None:
    """Raise RuntimeError if parameters are on GPUs, but none on this worker's own.  If eddis-run does not show the GPUs
    of all workers, nothing is checked."""
    used = sorted({p.device.index for p in parameters if p.device.type == "cuda"})
    own = worker.local_rank
    if used and own not in used and _shows_all(worker):
        raise RuntimeError(f"the model is on cuda:{used[0]}, but this worker's GPU is cuda:{own}: call "
                           "torch.cuda.set_device(eddis.local_rank()) before the model moves to 'cuda'")
