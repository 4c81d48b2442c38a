# SPDX-License-Identifier: Apache-2.0
"""Compare which samples the workers' data sets have, where torch.utils.data.Subset chooses them."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils import data

from .. import _lib as L
from .._worker import worker


def compare_subsets(dataset: Any) -> None:
    """Raise RuntimeError on all workers if a Subset in the data set has other samples on one of them.  Collective."""
    if worker.size == 1:
        return
    rows = (ctypes.c_uint64 * worker.size)()
    worker.collective(L.ALLGATHER, rows, ctypes.sizeof(ctypes.c_uint64), input=(ctypes.c_uint64 * 1)(_hash_of(dataset)))
    other = next((rank for rank, found in enumerate(rows) if found != rows[0]), None)
    if other is not None:
        raise RuntimeError(f"a torch.utils.data.Subset in the loader's data set has other samples on rank {other} than "
                           "on rank 0, as random_split makes it without a seed, so some samples would be trained twice "
                           "and others never: give random_split generator=torch.Generator().manual_seed(0)")


def _hash_of(dataset: Any) -> int:
    """Return a number that depends on the indices of all Subsets in the data set; 0 if there is none."""
    found = None
    for subset in _subsets_in(dataset, set()):
        found = found or hashlib.sha256()
        try:
            indices = torch.as_tensor(subset.indices, dtype=torch.int64, device="cpu").contiguous()
        except (TypeError, ValueError, RuntimeError):  # names, for example
            found.update(repr(list(subset.indices)).encode())
            continue
        found.update(ctypes.string_at(indices.data_ptr(), 8 * indices.numel()))
        found.update(b";")
    return int.from_bytes(found.digest()[:8], "little") if found else 0


def _subsets_in(dataset: Any, seen: set[int]) -> Iterator[data.Subset]:
    """Yield the data set if it is a Subset, and all that it holds in its attributes or in lists there, at any depth.
    seen: the ids of what was visited."""
    if id(dataset) in seen:
        return
    seen.add(id(dataset))
    if isinstance(dataset, data.Subset):
        yield dataset
    for value in getattr(dataset, "__dict__", {}).values():
        parts = value if isinstance(value, (list, tuple)) else [value]
        if parts and isinstance(parts[0], data.Dataset):
            for part in parts:
                yield from _subsets_in(part, seen)
