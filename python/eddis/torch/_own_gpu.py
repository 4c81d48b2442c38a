# SPDX-License-Identifier: Apache-2.0
"""Refuse a model on another worker's GPU: two workers would share one, with shares that the plan made for others."""

from __future__ import annotations

import os
from collections.abc import Iterable

import torch

from .._worker import Worker


def refuse_others_gpu(worker: Worker, parameters: Iterable[torch.Tensor]) -> None:
    """Raise RuntimeError if parameters are on GPUs, but none on this worker's own.  eddis-run shows each worker the
    GPUs of all workers of the node, in the order of LOCAL_RANK, for each worker as many as gpus_per_worker says; where
    other ones are shown, nothing is checked."""
    shown = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    used = sorted({p.device.index for p in parameters if p.device.type == "cuda"})
    if len(shown) % worker.local_size or not all(name.startswith("GPU-") for name in shown):
        return
    each = len(shown) // worker.local_size  # gpus_per_worker
    own = worker.local_rank * each
    if not worker.has_plan or not used or not set(used).isdisjoint(range(own, own + each)):
        return
    if each == 1:
        raise RuntimeError(f"the model is on cuda:{used[0]}, but this worker's GPU is cuda:{own}: call "
                           "torch.cuda.set_device(eddis.local_rank()) before the model moves to 'cuda'")
    raise RuntimeError(f"the model is on cuda:{used[0]}, but this worker's GPUs are cuda:{own} to "
                       f"cuda:{own + each - 1}: they begin at eddis.local_rank() * {each}")
