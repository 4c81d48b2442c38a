# SPDX-License-Identifier: Apache-2.0
"""Random numbers: each worker draws different ones, and the same ones again when the same job runs again.

Scripts seed all workers alike, so that models and splits of the data are equal.  This holds until the first step.
After it, augmentation, dropout and noise must differ between workers, or all samples of a step would be altered in the
same way.  Rank 0, and a process alone, continues with its generators.  The other workers seed theirs anew, by a number
drawn from them and by the rank.  So neither the other workers nor their number changes what a worker draws.
"""

from __future__ import annotations

import random
import sys
from typing import Any

import torch
from torch.utils import data

from .._worker import worker

_own: int | None = None  # torch.initial_seed() since this worker draws numbers of its own; None: it does not yet


def seed_of(*of: int) -> int:
    """Return a seed of 63 bits that depends on these numbers only, equal on every machine."""
    return random.Random(" ".join(map(str, of))).getrandbits(63)


def numpy() -> Any:
    """Return the module NumPy if the script has imported it; else None."""
    return sys.modules.get("numpy")


def seed(number: int) -> None:
    """Seed the generators of PyTorch (all devices), Python and, if the script has imported it, NumPy."""
    torch.manual_seed(number)
    random.seed(number)
    if (np := numpy()) is not None:
        np.random.seed(number % 2**32)


def differ() -> None:
    """Make this worker draw numbers different from the others': at the first step, and after the script has seeded
    anew."""
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
    """Return torch.initial_seed() since this worker draws numbers of its own; None: it does not yet."""
    return _own


def keep(seed: int | None = None) -> None:
    """Record that the generators draw this worker's own numbers, so that `differ` does not seed them.  seed: torch's
    initial seed, if a checkpoint has restored the generators; None: the present one."""
    global _own
    _own = torch.initial_seed() if seed is None else seed


def of_loader(made_from: data.DataLoader, step: int) -> torch.Generator | None:
    """Return the generator that seeds the loader's processes; None: PyTorch's default, from which the loader draws when
    it begins.

    step: the step at which an epoch continues after a checkpoint; 0: the epoch begins.
    """
    given = made_from.generator
    if type(made_from) is data.DataLoader and not step and not (given and worker.rank):
        return given
    # A class derived from DataLoader may begin at its first batch, after the checkpoint's random state is restored.
    drawn = int(torch.empty((), dtype=torch.int64, device="cpu").random_(generator=given))
    return torch.Generator().manual_seed(seed_of(drawn, worker.rank if given else 0, step))
