# SPDX-License-Identifier: Apache-2.0
"""save: torch.save by rank 0 of a file that is never half-written, while the other ranks wait."""

from __future__ import annotations

import os
import re
import stat
from typing import Any

import torch
from torch import distributed

from .._worker import worker

_MODE = 0o666  # permissions of a new file, from which the umask is taken
_LEFT_S = 3600  # age up to which another process's new file is kept: that process may be alive


def save(obj: Any, path: str | os.PathLike[str]) -> None:
    """Save obj to a file on rank 0, as torch.save does, and return on all ranks when it is complete.

        eddis.save(model.state_dict(), "model.pt")

    Rank 0 writes a new file and renames it to `path`, so that `path` is the older file or the new one, even if the
    process is killed.  obj: what torch.save takes; the other ranks' obj is ignored.  path: in an existing folder.

    It works inside and outside of the loop, and without eddis-run.  In a job of several workers whose script has not
    called init_process_group it joins the job, so call it after `attach` and `loader` there.  Raises RuntimeError on
    all ranks if rank 0 cannot save.  Collective.
    """
    path = os.fsdecode(path)
    rank = _rank()
    reason = _write(obj, path) if rank == 0 else ""
    reason = _from_rank_0(reason)
    if reason:
        raise RuntimeError(f"rank 0 cannot save '{path}': {reason}")


def _is_of_torch() -> bool:
    """Return whether ranks of torch.distributed save together: those that eddis does not know, as under torchrun, and
    those of all workers before the job is joined."""
    if (worker.handle and worker.size > 1) or not (distributed.is_available() and distributed.is_initialized()):
        return False
    n = distributed.get_world_size()
    return n > 1 and (n == worker.size or not (worker.has_plan or worker.n_joining > 1))


def _rank() -> int:
    """Return this process's number among those that save together.  Joins the job if it has several workers that cannot
    do it by torch.distributed."""
    if _is_of_torch():
        return distributed.get_rank()
    if worker.size > 1 and (worker.has_plan or worker.n_joining > 1):
        worker.open()
    return worker.rank if worker.handle else 0


def _from_rank_0(text: str) -> str:
    """Return rank 0's text on all ranks.  Collective."""
    if _is_of_torch():
        texts = [text]
        distributed.broadcast_object_list(texts, 0)
        distributed.barrier()  # a rank whose script ends while gloo still broadcasts may abort
        return texts[0]
    if not worker.handle or worker.size == 1:
        return text
    return worker.broadcast_bytes(text.encode(errors="replace"), 0).decode(errors="replace")


def _write(obj: Any, path: str) -> str:
    """Save obj to a new file and rename it to `path`.  Return "" or, if that fails, why."""
    path = os.path.realpath(path)  # a link stays one
    new = f"{path}.{int.from_bytes(os.urandom(6), 'big')}.new"  # other hosts may have a process of this number
    try:
        try:
            unnamed, fd = _open(path, new)
            with open(fd, "wb") as file:
                torch.save(obj, file)
                file.flush()
                os.fsync(fd)
                if unnamed:  # os.link follows the link in /proc only if it has src_dir_fd
                    os.link(f"/proc/self/fd/{fd}", new, src_dir_fd=fd)
                _remove_left(path, os.fstat(fd).st_mtime)
            os.replace(new, path)
        except BaseException:
            _remove(new)
            raise
    except OSError as reason:
        return reason.strerror or str(reason)
    except Exception as reason:  # of several types: whatever pickle cannot take
        return str(reason).strip().split("\n")[0] or type(reason).__name__
    return ""


def _open(path: str, new: str) -> tuple[bool, int]:
    """Open a new file in the folder of `path`, with the permissions that any other program's have.  It has no name, so
    that nothing is left if the process is killed; or the name `new`, if the file system needs names.  Return whether it
    has no name, and its descriptor."""
    if os.path.exists("/proc/self/fd"):
        try:
            return True, os.open(os.path.dirname(path), os.O_TMPFILE | os.O_RDWR, _MODE)
        except OSError:
            pass
    return False, os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _MODE)


def _remove_left(path: str, now: float) -> None:
    """Remove the new files for `path` that killed processes have left: those of this user that are _LEFT_S old.  now:
    the time of a file that was just written there, by the clock of the file server."""
    folder, file = os.path.split(path)
    is_new = re.compile(re.escape(file) + r"\.[0-9]+\.new").fullmatch
    try:
        with os.scandir(folder) as entries:
            for entry in filter(lambda e: is_new(e.name), entries):
                state = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(state.st_mode) and state.st_uid == os.geteuid() and now - state.st_mtime > _LEFT_S:
                    _remove(entry.path)
    except OSError:  # another process may remove them, too
        pass


def _remove(path: str) -> None:
    """Remove a file if it is there."""
    try:
        os.unlink(path)
    except OSError:
        pass
