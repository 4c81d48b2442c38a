# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of a framework in the folder of the job's: it saves model, optimizer and its own counts there, State the
rest.

A framework loads its checkpoint before the model is attached, when the job has not yet chosen the one from which it
continues.  So `found` looks for it, and `resume` compares."""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Callable
from concurrent.futures import Future

from .. import _lib as L
from .._worker import worker
from ._loader import Loader, the_loader
from ._parts import parts
from ._state import the_state

_STEP = re.compile(r"step-(\d+)")
_STEP_OF = re.compile(r"^step (\d+)$", re.M)  # in the manifest
_MANIFEST = "MANIFEST"  # is written last, so it makes a checkpoint complete


class Apart:
    """The part of the job's checkpoints that a framework saves and loads itself, if the script has a State.  name: the
    framework's, for messages; kept: how its part is found in a checkpoint's folder, a pattern of pathlib."""

    def __init__(self, name: str, kept: str) -> None:
        self._name = name
        self._kept = kept
        self._found: pathlib.Path | None = None  # checkpoint of the job whose part is loaded
        self._is_due = False  # a step has ended that asks for a checkpoint

    @property
    def is_used(self) -> bool:
        """True if the script has a State, whose checkpoints have this part."""
        return the_state() is not None

    @property
    def is_due(self) -> bool:
        """True if the last step has asked for a checkpoint with this part, which `save` has not yet begun."""
        return self._is_due

    def found(self) -> pathlib.Path | None:
        """Return the path of the framework's part of the checkpoint from which the job will continue; None if the
        script has no State, or the job begins.  Raises ValueError for a checkpoint without that part."""
        self._found = _newest() if self.is_used else None
        if self._found is None:
            return None
        kept = sorted(self._found.glob(self._kept))
        if not kept:
            raise ValueError(f"checkpoint '{self._found}' has no checkpoint of {self._name} in it: start without "
                             "--resume, or resume from another checkpoint")
        return kept[-1]

    def step(self) -> int:
        """Return the number of steps in the checkpoint that was found; 0: none was."""
        # The folder may have been renamed
        return int(_STEP_OF.search((self._found / _MANIFEST).read_text())[1]) if self._found else 0

    def begin(self) -> None:
        """Begin, and let State continue from the checkpoint.  Raises RuntimeError if the job continues from another one
        than was found.  Collective."""
        state = the_state()
        if state is None:
            return
        state.leaves_models = True
        state.resume()
        if state.folder != self._found:
            raise RuntimeError(f"{self._name} has loaded {_words(self._found)}, but the job continues from "
                               f"{_words(state.folder)}, since the newest one is damaged or of another time: remove it")

    def end_step(self) -> None:
        """End the step.  Without a State, say that no checkpoint is written where one is due."""
        if not self.is_used:
            worker.end()
        elif worker.in_step:
            worker.end_step()
            self._is_due = bool(worker.step.flags & L.STEP_CHECKPOINT)

    def save(self, write: Callable[[pathlib.Path], None]) -> bool:
        """Make the checkpoint that the last step has asked for, if it has.  write: saves the framework's part in a
        folder; if it fails, there is no checkpoint, and rank 0 says why.  Return False if none was begun, on all ranks.
        Collective."""
        state, is_due, self._is_due = the_state(), self._is_due, False
        if not is_due or not state._due.begin():
            return False
        worker.set_phase(L.PHASE_CHECKPOINT)
        if worker.step.flags & L.STEP_END_OF_EPOCH:
            the_loader().is_inside = False  # a framework that counts batches has not asked for one more
        written: Future[None] = Future()
        try:
            write(state.folder)
            written.set_result(None)
        except Exception as failure:  # whatever the framework raises
            written.set_exception(failure)
        state.wait_for(written)
        state._due.complete(True)
        worker.set_phase(L.PHASE_INPUT)
        return True


def steps_of(loader: Loader) -> int:
    """Return the number of steps of an epoch.  Raises ValueError if it has none.  Joins the job.  Collective before the
    first step."""
    if not (n := len(loader) // parts.n):
        raise ValueError(f"an epoch has no step, since the data set has {len(loader.dataset)} samples, fewer than the "
                         f"batch of all workers, {worker.world.batch}: set a smaller batch.global in train.yaml, or "
                         "leave out drop_last")
    return n


def leave() -> None:
    """End the job's steps on all workers: as planned, or if steps are left, as the program's own end.  Collective."""
    if worker.over:
        return
    worker.end(is_left=True)
    if worker.plan_step(worker.next_step):
        worker.stop()
    worker.finish()


def _newest() -> pathlib.Path | None:
    """Return the newest complete checkpoint of those from which the job may continue; None: there is none."""
    told = os.environ.get("EDDIS_RESUME_FROM")
    if not told:
        return None
    folder = pathlib.Path(told).absolute()
    if (folder / _MANIFEST).exists():
        return folder
    steps = [path for path in folder.glob("step-*") if _STEP.fullmatch(path.name) and (path / _MANIFEST).exists()]
    return max(steps, key=lambda path: int(_STEP.fullmatch(path.name)[1]), default=None)


def _words(folder: pathlib.Path | None) -> str:
    """Return words for a checkpoint in a message."""
    return f"checkpoint '{folder}'" if folder else "no checkpoint"
