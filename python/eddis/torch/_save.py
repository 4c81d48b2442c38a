# SPDX-License-Identifier: Apache-2.0
"""save: torch.save by rank 0 of a file that is never half-written, while the other ranks wait."""

from __future__ import annotations

import os
from typing import Any

import torch
from torch import distributed

from .._worker import worker

_MODE = 0o666  # permissions of a new file, from which the umask is taken


def save(obj: Any, path: str | os.PathLike[str]) -> None:
    """Save obj to a file on rank 0, as torch.save does, and return on all ranks when it is complete.

        eddis.save(model.state_dict(), "model.pt")

    Rank 0 writes a new file beside `path` and renames it, so that `path` is the older file or the new one, even if the
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
    new = f"{path}.{os.getpid()}.new"
    try:
        try:
            with open(new, "xb", opener=_opener) as file:
                torch.save(obj, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(new, path)
        except BaseException:
            _remove(new)
            raise
    except OSError as reason:
        return reason.strerror or str(reason)
    except Exception as reason:  # of several types: whatever pickle cannot take
        return str(reason).strip().split("\n")[0] or type(reason).__name__
    return ""


def _opener(path: str, flags: int) -> int:
    """Open a new file with the permissions that any other program's have.  For `open`."""
    return os.open(path, flags, _MODE)


def _remove(path: str) -> None:
    """Remove a file if it is there."""
    try:
        os.unlink(path)
    except OSError:
        pass
