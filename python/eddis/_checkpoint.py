# SPDX-License-Identifier: Apache-2.0
"""Write and read checkpoints of the library: named bytes of each worker, collectively.  No framework."""

from __future__ import annotations

import ctypes
import errno
import io
import os
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


Entries = Callable[[], Iterable[tuple[str, io.BytesIO]]]  # gives pairs of name and bytes


def _tell_failure(error: L.Error) -> None:
    """Print by rank 0 why a checkpoint could not be written, unless the previous one could not be either.  Raise the
    error if the job cannot go on."""
    global _is_unsaved
    if error.code in _FATAL:
        raise error
    if not _is_unsaved:
        note(f"no checkpoint is written, training goes on: {error}")
    _is_unsaved = True


class Writing:
    """A checkpoint that is being written: `folder`, its path, and what is to be done, in this order: put, and commit or
    give_up."""

    def __init__(self, handle: ctypes.c_void_p) -> None:
        self._handle = handle
        self.folder: str = os.fsdecode(L.lib.eddis_checkpoint_folder(handle))

    def put(self, entries: Entries) -> None:
        """Write this worker's entries.  A failure is reported by the commit, on all workers."""
        for name, data in entries():
            with data.getbuffer() as bytes_:
                L.lib.eddis_checkpoint_put(self._handle, name.encode(), _address(bytes_), len(bytes_), None)

    def commit(self) -> None:
        """Complete the checkpoint.  If the workers give it up, or it cannot be written, rank 0 prints why and training
        continues; Error is raised only if the job cannot go on.  Collective."""
        global _is_unsaved
        try:
            given_up, why = L.told("checkpoint_commit", self._handle, KEEP_AS_THE_JOB_SAYS)
        except L.Error as error:
            _tell_failure(error)
            return
        finally:
            run_all(worker.after_values)
        if given_up:
            note(f"no checkpoint is written: {why}")
        if _is_unsaved:
            note("checkpoints are written again")
        _is_unsaved = False

    def give_up(self, reason: str) -> None:
        """Remove the checkpoint; rank 0 prints why, as for one that cannot be written.  Collective."""
        try:
            L.call("checkpoint_abandon", self._handle)
        finally:
            run_all(worker.after_values)
        tell_unwritten(reason)


def tell_unwritten(reason: str) -> None:
    """Print by rank 0 why there is no checkpoint, unless there was none before either."""
    _tell_failure(L.Error(0, reason))


def begin() -> Writing | None:
    """Begin a checkpoint.  The parameters then have the values to be kept.  If there can be none, rank 0 prints why,
    and this returns None on all workers; Error is raised only if the job cannot go on.  Collective."""
    checkpoint = ctypes.c_void_p()
    run_all(worker.before_values)
    try:
        while L.call("checkpoint_begin", worker.handle, None, checkpoint) == L.ROUND_ENDED:
            run_all(worker.at_round)
    except L.Error as error:
        _tell_failure(error)
        return None
    run_all(worker.after_values)
    return Writing(checkpoint)


def write(entries: Entries) -> None:
    """Write one checkpoint with this worker's entries. `entries` is called when the parameters have the values to be
    kept.  Failures as of `begin` and `Writing.commit`.  Collective."""
    writing = begin()
    if writing:
        writing.put(entries)
        writing.commit()


class Reading:
    """The open checkpoint from which the job starts: `info`, and `folder`, its path."""

    def __init__(self, handle: ctypes.c_void_p) -> None:
        self._handle = handle
        self.info = L.CheckpointInfo()
        L.call("checkpoint_info", handle, self.info)
        self.folder: str = os.fsdecode(L.lib.eddis_checkpoint_folder(handle))

    def has(self, rank: int, name: str) -> bool:
        """Return whether this rank, or the library for it, stored something under this name."""
        return L.checkpoint_size(self._handle, rank, name.encode()) >= 0

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
