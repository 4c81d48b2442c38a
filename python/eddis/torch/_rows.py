# SPDX-License-Identifier: Apache-2.0
"""How many samples a batch holds, where a collate function of the script's own may have left some out.

A mean loss over the batch is one over what came out, so that is what a worker's gradient counts for.  The rows of a
batch are told from its parts alone: tensors, arrays and lists, whose first dimension is the samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch


def rows_of(batch: Any, samples: int) -> int:
    """Return how many of these samples the batch holds: all, unless all of its parts have the same smaller number of
    rows.

    Parts of unlike lengths do not tell how many samples they are of.  Nor do sequences side by side,
    [time, samples, ...], or one after the other in one row, [1, time], and a list that may be one of samples.
    """
    parts = [] if _is_list_of_samples(batch, samples) else list(_parts(batch))
    lengths = {shape[0] for shape in parts}
    if len(lengths) != 1:
        return samples
    n, = lengths
    is_beside = all(len(shape) > 1 and shape[1] == samples for shape in parts)
    is_packed = n == 1 and all(len(shape) > 1 and shape[1] > 1 for shape in parts)
    return n if n < samples and not is_beside and not is_packed else samples


def _is_list_of_samples(batch: Any, samples: int) -> bool:
    if not isinstance(batch, (tuple, list)):
        return False
    if len(batch) == samples or all(isinstance(it, Mapping) for it in batch):
        return True
    images = {tuple(it.shape) if torch.is_tensor(it) and it.dim() > 2 else () for it in batch}
    return len(images) == 1 and () not in images


def _parts(batch: Any) -> Iterator[tuple[int, ...]]:
    """Yield the shape of each; a list inside of another one has so many rows."""
    if isinstance(batch, Mapping):
        for value in batch.values():
            yield from _parts(value)
    elif isinstance(batch, (tuple, list)):
        for value in batch:
            yield from (_parts(value) if isinstance(value, Mapping) else _shape(value))
    else:
        yield from _shape(batch)


def _shape(part: Any) -> Iterator[tuple[int, ...]]:
    shape = tuple(part.shape) if torch.is_tensor(part) or type(part).__module__ == "numpy" else None
    if shape is None and isinstance(part, (tuple, list)):
        shape = len(part),
    if shape:
        yield shape
