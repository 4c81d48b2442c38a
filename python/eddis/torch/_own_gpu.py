# SPDX-License-Identifier: Apache-2.0
"""Refuse a model on another worker's GPU: two workers would share one, with shares that the plan made for others."""

from __future__ import annotations

import os
from collections.abc import Iterable

import torch

from .._worker import Worker


def refuse_others_gpu(worker: Worker, parameters: Iterable[torch.Tensor]) -> None:
    """Raise RuntimeError if parameters are on GPUs, but none on this worker's own.  eddis-run shows each worker the
    GPUs of all workers of the node, in the order of LOCAL_RANK; where other ones are shown, nothing is checked."""
    variable = "ROCR_VISIBLE_DEVICES" if torch.version.hip else "CUDA_VISIBLE_DEVICES"
    shown = os.environ.get(variable, "").split(",")
    used = sorted({p.device.index for p in parameters if p.device.type == "cuda"})
    own = worker.local_rank
    if len(shown) != worker.local_size or not all(name.startswith("GPU-") for name in shown):
        return
    if worker.has_plan and used and own not in used:
        raise RuntimeError(f"the model is on cuda:{used[0]}, but this worker's GPU is cuda:{own}: call "
                           "torch.cuda.set_device(eddis.local_rank()) before the model moves to 'cuda'")
