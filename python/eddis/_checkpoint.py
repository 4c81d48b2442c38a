# SPDX-License-Identifier: Apache-2.0
"""Write and read checkpoints of the library: named bytes of each worker, collectively.  No framework."""

from __future__ import annotations

import ctypes
import errno
import io
from collections.abc import Callable, Iterable

from . import _lib as L
from ._worker import run_all, say, worker

KEEP_AS_THE_JOB_SAYS = 0  # keep as many checkpoints as the job's setting says
# Errors that end the job.  After any other failure of a checkpoint training continues.
_FATAL = (-errno.ESTALE, -errno.ETIMEDOUT, -errno.ECONNABORTED)

_is_unsaved = False  # the previous checkpoint could not be written


def note(text: str) -> None:
    """Print a message once for all workers: by rank 0, to standard error."""
    if worker.rank == 0:
        say(text)


def _address(data: memoryview) -> int:
    """Return the address of the memory of a writable memoryview."""
    return ctypes.addressof(ctypes.c_char.from_buffer(data))


def _put(entries: Callable[[], Iterable[tuple[str, io.BytesIO]]]) -> None:
    """Write one checkpoint of these entries; raise Error if that fails.  If the workers give the checkpoint up, rank 0
    prints why.  `entries` is called when the parameters have the values to be kept.  Collective."""
    checkpoint = ctypes.c_void_p()
    run_all(worker.before_values)
    L.call("checkpoint_begin", worker.handle, None, checkpoint)
    try:
        run_all(worker.after_values)
        for name, data in entries():
            with data.getbuffer() as bytes_:
                n = len(bytes_)
                # A failure here is reported by the commit, on all workers.
                L.lib.eddis_checkpoint_put(checkpoint, name.encode(), _address(bytes_), n, None)
        given_up, why = L.told("checkpoint_commit", checkpoint, KEEP_AS_THE_JOB_SAYS)
        if given_up:
            note(f"no checkpoint is written: {why}")
    finally:
        run_all(worker.after_values)


def write(entries: Callable[[], Iterable[tuple[str, io.BytesIO]]]) -> None:
    """Write one checkpoint with this worker's entries, pairs of name and bytes. `entries` is called when the parameters
    have the values to be kept.  If the checkpoint cannot be written, rank 0 prints why and training continues; Error is
    raised only if the job cannot go on.  Collective."""
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
    """The open checkpoint from which the job starts: `info`, and `folder`, its path."""

    def __init__(self, handle: ctypes.c_void_p) -> None:
        self._handle = handle
        self.info = L.CheckpointInfo()
        L.call("checkpoint_info", handle, self.info)
        self.folder: str = L.lib.eddis_checkpoint_folder(handle).decode(errors="replace")

    def get(self, rank: int, name: str) -> io.BytesIO | None:
        """Return the bytes that this rank stored under this name; None: it stored nothing."""
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
    """Open the checkpoint from which the job starts, if there is one, and continue from its step.  Return False if
    there is none. `take` reads its entries; when it returns, the parameters must have the checkpoint's values.
    Collective."""
    handle = ctypes.c_void_p()
    found, passed_over = L.told("restore_begin", worker.handle, None, handle)
    if passed_over:
        note(passed_over)
    if not found:
        return False
    reading = Reading(handle)
    take(reading)
    run_all(worker.before_values)
    L.call("restore_end", handle)
    worker.next_step = reading.info.step
    return True
