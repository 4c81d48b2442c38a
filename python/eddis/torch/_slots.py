# SPDX-License-Identifier: Apache-2.0
"""The library's memory for gradients, as tensors: a slot for the gradient of each parameter, and the node's results.

A device copies gradients straight into their slots and reads results where they lie, so the library copies nothing
itself.  Slots of one data type that are neighbours are copied together, as one run of at most BLOCK_BYTES; a larger one
is copied alone.  Between two slots the library keeps a few bytes that are zero, and a mark, which it sets when a
gradient is announced: a run writes zeros there.

A worker locks its gradients, and of the node's results at most a quarter as much.  Up to FEW workers of a node have the
results in their slots: without other nodes the library sums there, else it copies the results there.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterable

import torch

from .. import _lib as L
from .._worker import Worker
from ._device import BLOCK_BYTES, Device, Run

FEW = 3  # COMM_SHM_FEW of lib/comm/shm.h: results of so few would take more than a quarter of all gradients' memory


class Slots:
    """The slots of all parameters that are registered, from the commit on."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        n_bytes = ctypes.c_size_t()
        self.first: int = L.lib.eddis_gradient_block(worker.handle, n_bytes)
        self.block = _bytes_at(self.first, n_bytes.value)
        results = L.lib.eddis_result_block(worker.handle, n_bytes)
        is_few = worker.world.n_local_ranks <= FEW
        self.result = 0 if results and is_few else L.IN_PLACE  # announced as the place of a result; 0: the slot
        # Memory of the results; None: they are in the slots.
        self.results = _bytes_at(results, n_bytes.value) if results and not is_few else None
        slots = {number: L.lib.eddis_gradient(worker.handle, number) for number in worker.outliving}
        self.start = {number: slot - self.first for number, slot in slots.items() if slot}
        starts = sorted(self.start.values())
        self.next = dict(zip(starts, starts[1:]))  # start of the slot behind the one that starts there
        self.devices: list[Device] = []  # those that copy from and to the memory; the first has locked it for all

    def lock(self, device: Device) -> None:
        """Lock the memory in place, for all devices of this kind, unless that has been done.  It is unlocked before the
        library frees it: an address that stays locked would be a danger to the next owner."""
        if device in self.devices:
            return
        self.devices.append(device)
        if len(self.devices) > 1:
            return
        if self.results is None:  # it may be private, and its pages would move when they are written after a fork
            self._advise(mmap.MADV_DONTFORK)
        for memory in self._memories():
            device.lock(memory)
        self.worker.before_close.append(self._unlock)

    def _unlock(self) -> None:
        """Unlock the memory after the last copies back, for which no host has waited.  A callback before the library
        is closed."""
        for device in self.devices:
            device.join().synchronize()
        for memory in self._memories():
            self.devices[0].unlock(memory)
        if self.results is None:
            self._advise(mmap.MADV_DOFORK)

    def _memories(self) -> list[torch.Tensor]:
        """Return the memory of gradients, and of results if that is another."""
        return [self.block] if self.results is None else [self.block, self.results]

    def _advise(self, advice: int) -> None:
        """Tell the system how to treat the pages of the slots, which have no other owner."""
        ctypes.CDLL(None).madvise(ctypes.c_void_p(self.first), ctypes.c_size_t(self.block.numel()), advice)

    def runs(self, gradients: Iterable[tuple[int, torch.Tensor]]) -> list[Run]:
        """Return the runs that the slots of these gradients, by number of their parameters, form.  The gradients are
        dense."""
        return self._runs([(self.start[number], self.block, gradient) for number, gradient in gradients])

    def result_runs(self, gradients: Iterable[tuple[int, torch.Tensor]]) -> list[Run]:
        """Return the runs of the combined gradients that go to these tensors, as `runs` does; after a wait for them."""
        parts = []
        for number, gradient in gradients:
            start = self.start[number]
            at = L.lib.eddis_result(self.worker.handle, number) - self.first
            parts.append((start, self.block if self.results is None or at == start else self.results, gradient))
        return self._runs(parts)

    def _runs(self, parts: list[tuple[int, torch.Tensor, torch.Tensor]]) -> list[Run]:
        """Return the runs of `parts`, tuples (start in bytes, memory that contains it, gradient)."""
        runs: list[Run] = []
        first = 0  # start of the newest run
        goes_on: tuple[int | None, int, torch.dtype] | None = None  # slot that would continue the run; None: none
        for start, memory, gradient in sorted(parts, key=lambda part: part[0]):
            flat = gradient.detach().as_strided((gradient.numel(),), (1,))
            is_full = start + flat.nbytes - first > BLOCK_BYTES
            if is_full or goes_on != (start, id(memory), flat.dtype):
                runs.append(Run(memory, start, flat.dtype))
                first = start
            runs[-1].add(start, flat)
            goes_on = self.next.get(start), id(memory), flat.dtype
        return runs


def _bytes_at(address: int, n_bytes: int) -> torch.Tensor:
    """Return the memory at this address as a tensor of bytes, which does not own it."""
    return torch.frombuffer((ctypes.c_ubyte * n_bytes).from_address(address), dtype=torch.uint8)
