# SPDX-License-Identifier: Apache-2.0
"""Checkpoints as the library has them: named bytes of each worker, written and read with all others.  No framework."""

from __future__ import annotations

import ctypes
import errno
import io
import sys
from collections.abc import Callable, Iterable

from . import _lib as L
from ._worker import worker

KEEP_AS_THE_JOB_SAYS = 0
# After these nothing goes on; after another failure of a checkpoint training does.
_FATAL = (-errno.ESTALE, -errno.ETIMEDOUT, -errno.ECONNABORTED)

_is_unsaved = False  # the checkpoint before could not be written


def note(text: str) -> None:
    """Say it once for all workers, to those who watch the job."""
    if worker.rank == 0:
        print(f"eddis: {text}", file=sys.stderr, flush=True)


def _address(data: memoryview) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(data))


def _put(entries: Callable[[], Iterable[tuple[str, io.BytesIO]]]) -> None:
    checkpoint = ctypes.c_void_p()
    for prepare in worker.before_values:
        prepare()
    L.call("checkpoint_begin", worker.handle, None, checkpoint)
    try:
        for take in worker.after_values:
            take()
        for name, data in entries():
            with data.getbuffer() as bytes_:
                n = len(bytes_)
                # What fails here the commit tells, to all workers.
                L.lib.eddis_checkpoint_put(checkpoint, name.encode(), _address(bytes_), n, None)
        given_up, why = L.told("checkpoint_commit", checkpoint, KEEP_AS_THE_JOB_SAYS)
        if given_up:
            note(f"no checkpoint is written: {why}")
    finally:
        for take in worker.after_values:
            take()


def write(entries: Callable[[], Iterable[tuple[str, io.BytesIO]]]) -> None:
    """Write one, of the entries that this worker has; they are made while the parameters are what is to be kept.  Where
    it cannot be written training goes on, and rank 0 says so.  Collective."""
    global _is_unsaved
    try:
        _put(entries)
    except L.Error as error:
        if error.code in _FATAL:
            raise
        if not _is_unsaved:
            note(f"no checkpoint is written, training goes on: {error}")
        _is_unsaved = True
        return
    if _is_unsaved:
        note("checkpoints are written again")
    _is_unsaved = False


class Reading:
    """The checkpoint to begin with, open."""

    def __init__(self, handle: ctypes.c_void_p) -> None:
        self._handle = handle
        self.info = L.CheckpointInfo()
        L.call("checkpoint_info", handle, self.info)
        self.folder: str = L.lib.eddis_checkpoint_folder(handle).decode(errors="replace")

    def get(self, rank: int, name: str) -> io.BytesIO | None:
        """What this rank has put under this name; None: nothing."""
        n = L.checkpoint_size(self._handle, rank, name.encode())
        if n < 0:
            return None
        data = io.BytesIO()
        data.seek(max(0, n - 1))
        data.write(b"\0")
        with data.getbuffer() as bytes_:
            L.call("checkpoint_get_from", self._handle, rank, name.encode(), _address(bytes_), n)
        data.seek(0)
        return data


def read(take: Callable[[Reading], None]) -> bool:
    """Open the checkpoint to begin with, if there is one, have its entries taken, and go on behind it.  Collective.
    What it holds of the parameters has to be in them when `take` returns."""
    handle = ctypes.c_void_p()
    found, passed_over = L.told("restore_begin", worker.handle, None, handle)
    if passed_over:
        note(passed_over)
    if not found:
        return False
    reading = Reading(handle)
    take(reading)
    for prepare in worker.before_values:
        prepare()
    L.call("restore_end", handle)
    worker.next_step = reading.info.step
    return True
