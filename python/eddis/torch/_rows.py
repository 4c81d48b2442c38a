# SPDX-License-Identifier: Apache-2.0
"""Count the samples in a batch, since a collate function of the script may have left some out.

The mean loss over such a batch is one over the remaining samples, so they are the weight of the worker's gradients.
The number is derived from the batch's parts only: tensors, arrays and lists whose first dimension is the samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch


def rows_of(batch: Any, samples: int) -> int:
    """Return how many samples the batch holds: `samples`, unless all of its parts have the same smaller number of rows.

    Parts of different lengths do not show how many samples they have, so `samples` is returned.  The same holds for
    sequences side by side, [time, samples, ...], for sequences joined in one row, [1, time], and for a list that may be
    one of samples.
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
    """Check whether the batch may be a list of samples, not of parts.  It may be if it has `samples` items of one kind,
    if all items are mappings, or if they are tensors of one shape with three dimensions or more, such as images."""
    if not isinstance(batch, (tuple, list)):
        return False
    kinds = {(type(it), getattr(it, "dtype", None), getattr(it, "ndim", None)) for it in batch}
    if len(batch) == samples and len(kinds) == 1 or all(isinstance(it, Mapping) for it in batch):
        return True
    images = {tuple(it.shape) if torch.is_tensor(it) and it.dim() > 2 else () for it in batch}
    return len(images) == 1 and () not in images


def _parts(batch: Any) -> Iterator[tuple[int, ...]]:
    """Yield the shape of each part of a batch; a nested list counts as a part with its length as rows."""
    if isinstance(batch, Mapping):
        for value in batch.values():
            yield from _parts(value)
    elif isinstance(batch, (tuple, list)):
        for value in batch:
            yield from (_parts(value) if isinstance(value, Mapping) else _shape(value))
    else:
        yield from _shape(batch)


def _shape(part: Any) -> Iterator[tuple[int, ...]]:
    """Yield the shape of a tensor, an array of NumPy or a list (its length); nothing for other values and for scalars.
    """
    shape = tuple(part.shape) if torch.is_tensor(part) or type(part).__module__ == "numpy" else None
    if shape is None and isinstance(part, (tuple, list)):
        shape = len(part),
    if shape:
        yield shape
