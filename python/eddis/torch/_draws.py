# SPDX-License-Identifier: Apache-2.0
"""Random numbers: each worker draws others, and the same ones again in the same job.

Scripts seed all workers alike, so that models and splits of the data come out alike.  That holds until the first step.
From then on augmentation, dropout and noise have to differ, or the samples of one step would be altered in one way.
Rank 0 goes on as it is, and so does a process alone.  The others seed their generators anew, by a number that these
give and by their rank: neither the other workers nor how many there are changes what a worker draws.
"""

from __future__ import annotations

import random
import sys
from typing import Any

import torch
from torch.utils import data

from .._worker import worker

_own: int | None = None  # what torch.initial_seed() is since this worker draws its own


def seed_of(*of: int) -> int:
    """Return a seed that these numbers give, on every machine the same."""
    return random.Random(" ".join(map(str, of))).getrandbits(63)


def numpy() -> Any:
    """Return NumPy where the script has imported it."""
    return sys.modules.get("numpy")


def seed(number: int) -> None:
    """Seed the generators of PyTorch, of all devices, of Python and of NumPy."""
    torch.manual_seed(number)
    random.seed(number)
    if (np := numpy()) is not None:
        np.random.seed(number % 2**32)


def differ() -> None:
    """Have this worker draw other numbers than the others, at the first step and where the script has seeded anew."""
    if worker.rank and torch.initial_seed() != _own:
        drawn = [int(torch.empty((), dtype=torch.int64, device="cpu").random_()), random.getrandbits(63)]
        if (np := numpy()) is not None:
            drawn.append(int(np.random.randint(2**31)))
        torch.manual_seed(seed_of(drawn[0], worker.rank))
        random.seed(seed_of(drawn[1], worker.rank))
        if np is not None:
            np.random.seed(seed_of(drawn[-1], worker.rank) % 2**32)
        keep()


def own() -> int | None:
    """Return what torch.initial_seed() is while this worker draws its own numbers; None: it does not yet."""
    return _own


def keep(seed: int | None = None) -> None:
    """Leave the generators as they are: they are this worker's own, with that seed where a checkpoint holds them."""
    global _own
    _own = torch.initial_seed() if seed is None else seed


def of_loader(made_from: data.DataLoader, step: int) -> torch.Generator | None:
    """Return the generator that seeds the loader's processes; None: that of PyTorch, which the loader draws from when
    it begins.

    step: the one that an epoch goes on with behind a checkpoint, 0: it is begun.
    """
    given = made_from.generator
    if type(made_from) is data.DataLoader and not step and not (given and worker.rank):
        return given
    # A class of the script's own may begin at its first batch, when the random numbers are those of a checkpoint.
    drawn = int(torch.empty((), dtype=torch.int64, device="cpu").random_(generator=given))
    return torch.Generator().manual_seed(seed_of(drawn, worker.rank if given else 0, step))
