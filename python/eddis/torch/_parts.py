# SPDX-License-Identifier: Apache-2.0
"""Parts of a step: loader(dl, pieces=k) yields the batch of each step in k parts, on every rank, whatever its share.

Frameworks accumulate gradients over a fixed number of batches, and SyncBatchNorm, FSDP and DeepSpeed need equally many
passes on all ranks.  So a rank with fewer samples than k has empty parts, whose batches hold samples that count
nothing.  Part j of rank i has n_ij of its n_i samples, and `weighted` multiplies the step's weight by n_ij / n_i.
"""

from __future__ import annotations

from .._worker import worker

FILLING = 2  # samples in the batch of a step or a part in which the worker has none: they count nothing


def sizes_of(count: int, n: int) -> list[int]:
    """Return how many of `count` samples each of n parts has: equal numbers as far as possible, and at least min_count,
    or none."""
    filled = max(1, min(n, count // max(1, worker.options.get("min_count", 0))))
    return [count // filled + (part < count % filled) if part < filled else 0 for part in range(n)]


class Parts:
    """The parts of the present step, and the one whose passes the script makes."""

    def __init__(self) -> None:
        self.n = 1  # parts of each step
        self.at = 0  # number of the present part, from 0
        self.counts = [0]  # samples of each part that count
        self._is_used = False  # the loss of the present part was weighted
        self._skipped = -1  # a part whose loss was not weighted before the next one came

    def begin(self, counts: list[int]) -> None:
        """Begin a step whose parts hold so many samples that count."""
        self.counts = counts
        self.enter(0)

    def enter(self, part: int) -> None:
        """Begin with the passes of this part.  For frameworks, which take all parts of a step from the loader first:
        before each forward pass."""
        self.at, self._is_used, self._skipped = part, False, -1
        if self.n > 1:
            worker.is_empty = not self.counts[part]

    def follow(self, part: int) -> None:
        """Begin with this part, which the loop gets now."""
        skipped = self._skipped
        if part and skipped < 0 and not self._is_used:
            skipped = part - 1
        self.enter(part)
        self._skipped = skipped if part else -1

    def use(self) -> int:
        """Return the number of the present part, whose loss is weighted now.  Raises RuntimeError if the loop is ahead
        of the losses."""
        if self._skipped >= 0:
            self._refuse(self._skipped)
        self._is_used = True
        return self.at

    def end(self) -> None:
        """End the step.  Raises RuntimeError if a part had no weighted loss."""
        if self.n > 1 and not self._is_used:
            self._refuse(self._skipped if self._skipped >= 0 else self.at)

    def _refuse(self, part: int) -> None:
        """Raise RuntimeError for a part that had no weighted loss."""
        raise RuntimeError(f"part {part + 1} of {self.n} of step {worker.step.step} went by without a "
                           "weighted loss: weight the loss of each part before the loop goes on, "
                           "multiplied by 0 if it must not count")

    def share(self, part: int, is_share: bool) -> float:
        """Return the factor of this part's loss to the loss of the whole step: its share of the samples.  is_share: the
        loss has the share in it, as a sum; then 1.  0 for an empty part."""
        if self.n == 1:
            return 1.0
        own = self.counts[part]
        return float(own > 0) if is_share else own / max(1, sum(self.counts))


parts = Parts()
