# SPDX-License-Identifier: Apache-2.0
"""Checkpoints into whose folder the script itself saves what is large or shared out, by torch.distributed.checkpoint.

    the script calls `due`    the step ends; the checkpoint begins
    it saves into `folder`    perhaps in the background
    the loop's body ends      `complete` writes the entries of State
    all have saved            `complete` commits: the checkpoint has both parts, or there is none
"""

from __future__ import annotations

import ctypes
import pathlib
import re
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from .. import _checkpoint
from .. import _lib as L
from .._worker import worker
from ._attach import attached_parameters
from ._combined import is_sharded
from ._groups import folder_of_group, is_local, members, name_of_group
from ._parts import parts

_ENTRY = re.compile(r"rank-\d+\.")  # what names of the entries of State begin with
_DATA, _LIST = "*.distcp", ".metadata"  # files of torch.distributed.checkpoint; it writes the latter when all are done


class Due:
    """The checkpoints that the script begins by `due`.  entries: gives this worker's entries of State; must_save:
    whether the script has to save a part of its own."""

    def __init__(self, entries: _checkpoint.Entries, must_save: Callable[[], bool]) -> None:
        self._entries = entries
        self._must_save = must_save
        self._writing: _checkpoint.Writing | None = None
        self._is_put = False  # the entries of State are written
        self._futures: list[Future[Any]] = []
        self._reason = ""  # why this worker gives the checkpoint up; "": it does not
        worker.complete = self.complete

    @property
    def folder(self) -> pathlib.Path | None:
        """The folder for the script's files, from `due` to the end of the loop's body; else None."""
        return folder_of_group(pathlib.Path(self._writing.folder)) if self._writing and not self._is_put else None

    def due(self) -> bool:
        """Return whether the job asks for a checkpoint after this step; then end the step and begin the checkpoint.
        Raises RuntimeError outside of the loop or in another mode than sync and local.  Collective."""
        if self.folder:
            return True
        if worker.is_several and not worker.at_round:
            raise RuntimeError("state.due() is for sync mode, and for local mode of models of eddis.torch.attach; the "
                               f"job's mode is {worker.mode}: leave it out, and give eddis.torch.State all that is to "
                               "be saved")
        if not worker.in_step:
            raise RuntimeError("state.due() is for the loop over eddis.torch.loader: call it once in its body, after "
                               "the optimizer's step")
        if not worker.step.flags & L.STEP_CHECKPOINT or parts.at < parts.n - 1:  # parts of the step are left
            return False
        worker.end_step()
        return self.begin()

    def begin(self) -> bool:
        """Begin the checkpoint that a step which has ended asks for.  Return False, on all workers alike, if there can
        be none.  Collective."""
        self.complete(True)  # the one before, which is saved in the background
        self._writing, self._is_put = _checkpoint.begin(), False
        if self._writing and is_local() and (reason := self._of_any(_unmade(self.folder))):
            writing, self._writing = self._writing, None
            writing.give_up(reason)
        return self._writing is not None

    def join(self, reason: str) -> None:
        """Take part in a checkpoint that other workers write, and give it up for this reason.  Collective."""
        if self.begin():
            self._reason = reason
            self.complete(True)

    def wait_for(self, future: Future[Any]) -> None:
        """Have the commit wait for this future.  Raises RuntimeError if no checkpoint has begun, TypeError for anything
        else than a future."""
        if not self.folder:
            raise RuntimeError("state.wait_for() is for a checkpoint that state.due() has begun: call it where that is "
                               "true")
        if not callable(getattr(future, "result", None)) or not callable(getattr(future, "done", None)):
            raise TypeError(f"state.wait_for() takes a future, as async_save returns it, not a "
                            f"{type(future).__name__}: of an AsyncSaveResponse give it upload_completion")
        self._futures.append(future)

    def complete(self, must_wait: bool) -> None:
        """Write the entries of State, and commit once all workers' futures are done: now if must_wait, or else perhaps
        after a later step.  If something failed on any worker, give the checkpoint up and say why.  Does nothing if
        none has begun.  Collective."""
        if not self._writing:
            return
        if not self._is_put:
            self._is_put = True
            self._writing.put(self._entries)
            if self._futures:
                worker.set_phase(L.PHASE_INPUT)
        has_futures = self._largest(bool(self._futures))
        # Groups of local mode make steps of their own until the next round's end
        may_go_on = not (must_wait or worker.is_several)
        if has_futures and may_go_on and self._largest(not all(future.done() for future in self._futures)):
            return
        worker.set_phase(L.PHASE_CHECKPOINT)
        writing, self._writing = self._writing, None
        reason = self._failure()
        if not reason and worker.rank == 0:
            reason = _incomplete(writing.folder, self._must_save())
        reason = self._of_any(reason)
        if reason:
            writing.give_up(reason)
        else:
            writing.commit()

    def _failure(self) -> str:
        """Wait for this worker's futures; return why one failed, or ""."""
        reason, self._reason = self._reason, ""
        while self._futures:
            try:
                self._futures.pop().result()
            except Exception as failure:  # whatever the script's saving raises
                reason = str(failure).strip().split("\n")[0] or type(failure).__name__
        return reason

    @staticmethod
    def _largest(number: int) -> int:
        """Return the largest of the workers' numbers.  Collective."""
        result = ctypes.c_int64(number)
        worker.collective(L.ALLREDUCE, result, 1, dtype=L.INT64, op=L.MAX)
        return result.value

    @classmethod
    def _of_any(cls, reason: str) -> str:
        """Return the reason of the last worker that has one, on all workers; "" if none has.  Collective."""
        number = cls._largest(worker.rank + 1 if reason else 0)
        if not number:
            return ""
        return worker.broadcast_bytes(reason.encode(errors="replace"), number - 1).decode(errors="replace")


def has_shards() -> bool:
    """Return whether an attached model is shared out between the ranks, so that State cannot save it."""
    return any(is_sharded(parameter) for _, parameter in attached_parameters())


def _unmade(folder: pathlib.Path) -> str:
    """Make this folder of a group, which its other workers make, too.  Return why that failed, or ""."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as failure:
        return f"rank {worker.rank} cannot make its group's folder: {failure}"
    return ""


def _incomplete(folder: str, must_save: bool) -> str:
    """Return why the script's part of the checkpoint in this folder is not complete, or "".  must_save: there has to be
    one, in local mode of each group."""
    root = pathlib.Path(folder)
    groups = [root / name_of_group(ranks) for ranks in members()] if is_local() else [root]
    for group in groups:  # one that rank 0 does not see has saved nothing
        if must_save and not any(path.is_file() and not _ENTRY.match(path.name) for path in group.rglob("*")):
            return f"state.due() was true, but the script has saved nothing in state.folder{_of(group, root)}"
    for data in root.rglob(_DATA):
        if not (data.parent / _LIST).exists():
            return (f"'{data.parent.relative_to(root)}' in state.folder has no {_LIST}, which "
                    "torch.distributed.checkpoint writes last: give state.wait_for what its async_save returned")
    return ""


def _of(group: pathlib.Path, root: pathlib.Path) -> str:
    """Return words for a group's folder of a checkpoint in a message."""
    return "" if group == root else f" of the group of rank {group.name.split('-')[1]}"
