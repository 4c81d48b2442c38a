# SPDX-License-Identifier: Apache-2.0
"""framed_ends.py - what a rank of a script of a framework does to itself, once"""

from __future__ import annotations

import os
import pathlib
import signal
import time

import torch

from eddis._worker import worker


class Ends:
    """Does what the options say.  at=RANK:STEP  in this step of the first generation this rank does what `do` says,
    where `where` says: in the "forward" pass (the default), "before" it or "between" the passes and the optimizer's
    step.

    do=kill, freeze: itself by a signal; raise, memory: an exception, or that of too little memory; wait: until
    FOLDER/go is there, after FOLDER/waiting
    """

    def __init__(self, folder: pathlib.Path, options: dict[str, str]) -> None:
        self._folder = folder
        self._do, self._where = options.get("do"), options.get("where", "forward")
        self._at = tuple(map(int, options.get("at", "-1:-1").split(":")))
        self._is_first = int(os.environ.get("EDDIS_GENERATION", 1)) == 1

    def __call__(self, where: str) -> None:
        """Do it if it is due here."""
        if self._is_first and where == self._where and worker.in_step and (worker.rank, worker.step.step) == self._at:
            getattr(self, self._do.replace("raise", "raise_"))()

    def kill(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def freeze(self) -> None:
        os.kill(os.getpid(), signal.SIGSTOP)

    def wait(self) -> None:
        (self._folder / "waiting").touch()
        while not (self._folder / "go").exists():
            time.sleep(0.02)

    @staticmethod
    def memory() -> None:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

    @staticmethod
    def raise_() -> None:
        raise ValueError("as a bug in a script")
