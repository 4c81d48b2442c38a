# SPDX-License-Identifier: Apache-2.0
"""Losses that scripts report: one on a device is copied while the host goes on, and reported with a later step.

A host that waited for the copy of an earlier step would be at most one step ahead of its device.
"""

from __future__ import annotations

import math
from collections import deque

import torch

from ._device import DEVICES, Copied, device_of

KEPT = 64  # copies in progress; of a device that is further behind no more losses are copied


class LateLosses:
    """The losses of this process that are on their way from a device, in the order of their copies."""

    def __init__(self) -> None:
        self._begun: deque[tuple[torch.Tensor, torch.Tensor, Copied]] = deque()  # a loss, its place and its copy
        self._has_bad = False  # a loss that is not finite has arrived

    def report(self, loss: torch.Tensor) -> float | None:
        """Return a loss in host memory.  For a loss on a device, begin to copy it, and return the newest loss that has
        arrived since the previous call; None: none has.  The first loss that is not finite is returned by itself, so
        that it is not lost.  Does not wait for the device."""
        loss = loss.detach()
        device = device_of(loss) if loss.device.type in DEVICES else None
        if device is None:
            return float(loss)
        arrived = self._arrived()
        if len(self._begun) < KEPT:
            place = device.host_like(loss)
            self._begun.append((loss, place, device.to_host([place], [loss], [device.here()])))
        return arrived

    def _arrived(self) -> float | None:
        """Forget the losses that have arrived, and return the newest; or the first that is not finite, and leave the
        later ones for the next call."""
        newest = None
        while self._begun and self._begun[0][2].is_done():
            newest = float(self._begun.popleft()[1])
            if not (self._has_bad or math.isfinite(newest)):
                self._has_bad = True
                break
        return newest


late_loss = LateLosses().report
