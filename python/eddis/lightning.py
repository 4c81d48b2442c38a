# SPDX-License-Identifier: Apache-2.0
"""Lightning with the plan's batches: unequal shares, and gradients that its strategy combines.

    import eddis.torch as eddis

    loader = eddis.loader(DataLoader(dataset, batch_size=256, shuffle=True))
    trainer = Trainer(strategy="ddp", devices=eddis.local_size(), num_nodes=eddis.size() // eddis.local_size(),
                      callbacks=[eddis.lightning.Callback()])
    trainer.fit(module, loader)

With a State the job's checkpoints hold those of Lightning, and a job that restarts or resumes goes on from there:

    state = eddis.State()
    trainer.fit(module, loader, ckpt_path=eddis.lightning.ckpt_path())
"""

from __future__ import annotations

import pathlib
from typing import Any

import torch

try:
    from lightning import pytorch as lightning
except ImportError:  # the package of another name
    import pytorch_lightning as lightning

from . import _lib as L
from ._worker import worker
from .torch import _attach, _loader, _weighted, report
from .torch._apart import Apart, leave, steps_of
from .torch._batchnorm import set_min_count
from .torch._combined import is_combined
from .torch._parts import parts

__all__ = ["Callback", "ckpt_path"]

_apart = Apart("Lightning", "lightning/trainer.ckpt")
_was_asked = False  # the script has asked for the path, to give it to Lightning


def ckpt_path() -> str | None:
    """Return the path of Lightning's part of the job's checkpoint from which the job continues, for fit(ckpt_path=);
    None if it begins.  Raises RuntimeError without an eddis.torch.State, and ValueError for a checkpoint of something
    else."""
    global _was_asked
    if not _apart.is_used:
        raise RuntimeError("there is no eddis.torch.State, with which Lightning's checkpoints are part of the job's: "
                           "make one before eddis.lightning.ckpt_path()")
    _was_asked = True
    found = _apart.found()
    return str(found) if found else None


def _refuse_stream() -> None:
    """Raise RuntimeError for a loader without a length.  A callback before commit."""
    if not _loader.the_loader().has_length:
        raise RuntimeError("Lightning reads a batch ahead of a loader without a length, but a step begins with its "
                           "batch: give fit() a loader of a data set with a length, not "
                           "eddis.torch.loader(stream=True)")


class Callback(lightning.Callback):
    """Attaches the model that Lightning's strategy has wrapped, and weights the loss of each training step.

    With accumulate_grad_batches=k, give the loader pieces=k: then each step of the plan is one of the optimizer.
    Without pieces k steps of the plan are one.

    weights: "told" if losses are means over tokens: then call eddis.torch.set_weight in each training_step.

    Make it before len(loader) and collectives of eddis.  At the start of the training it raises RuntimeError if the
    strategy does not combine gradients over all workers, `fit` was not given a loader of eddis, or there is a State and
    `fit` was not given `ckpt_path`.
    """

    def __init__(self, weights: str = "samples") -> None:
        _attach.expect()
        worker.before_commit.insert(0, _refuse_stream)
        self._weights = weights
        self._loss: float | torch.Tensor = 0.0  # of the step's parts so far

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Let each worker get two samples at least if the model normalises batches, before Lightning asks for the
        loader's length, which joins the job."""
        set_min_count(pl_module)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Attach the model."""
        model, loader = trainer.strategy.model, _loader.the_loader()
        if loader not in (trainer.train_dataloader if isinstance(trainer.train_dataloader, (list, tuple))
                          else [trainer.train_dataloader]):
            raise RuntimeError("Lightning trains with a loader that does not follow the plan: give fit() what "
                               "eddis.torch.loader returned")
        if worker.size > 1 and not is_combined(model):  # attach could, but Lightning takes each rank for the only one
            raise RuntimeError(f"Lightning's {type(trainer.strategy).__name__} does not combine gradients over "
                               f"{worker.size} workers: give Trainer strategy='ddp', or another one of "
                               "DistributedDataParallel, and devices=eddis.local_size()")
        _attach.attach(model, weights=self._weights)
        if parts.n not in (1, trainer.accumulate_grad_batches):
            raise RuntimeError(f"Lightning accumulates {trainer.accumulate_grad_batches} batches, but the loader "
                               f"divides each step into {parts.n}: give Trainer accumulate_grad_batches={parts.n}")
        steps, made = steps_of(loader), (trainer.fit_loop.total_batch_idx + 1) // parts.n
        before = (made - _apart.step()) // steps  # epochs of a checkpoint that is not the job's
        loader._epochs = max(0, (trainer.max_epochs or 0) - before)
        self._begin(trainer.ckpt_path)
        loader.iterations = max(loader.iterations, made // steps - before)

    @staticmethod
    def _begin(path: str | None) -> None:
        """Let State continue from the checkpoint whose part Lightning has loaded from this path.  Collective."""
        if _apart.is_used and (not _was_asked or _apart.step() and str(_apart.found()) != str(path)):
            raise RuntimeError("with an eddis.torch.State Lightning goes on from the job's checkpoint: call "
                               "fit(..., ckpt_path=eddis.lightning.ckpt_path())")
        _apart.begin()

    def on_before_backward(self, trainer: Any, pl_module: Any, loss: torch.Tensor) -> None:
        """Weight the loss's gradient."""
        if worker.in_step:
            # Lightning has divided the loss of a part by the number of parts, which may be of unlike sizes
            _weighted.weight_in_place(loss, parts.n)
            self._report(loss.detach() * parts.n)

    def _report(self, loss: torch.Tensor) -> None:
        """Report this worker's loss in the step, with its last part if the loader divides it into parts."""
        if parts.n > 1:
            told = _weighted.passes.told
            share = parts.share(parts.at, bool(told and told.is_set))
            self._loss = (self._loss if parts.at else 0.0) + (loss * share if share else 0.0)
            worker.is_empty = not worker.step.count
        if parts.at == parts.n - 1:
            report(loss=self._loss if parts.n > 1 else loss)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """End the step before Lightning validates and saves, so that these take no time of the step.  End the training
        after the last step of the plan."""
        if parts.at + 1 < parts.n:
            return
        _apart.end_step()
        if worker.step.flags & L.STEP_STOP:
            trainer.should_stop = True
        if trainer.should_stop or not trainer.is_last_batch:
            self._save(trainer)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Save what the last step of an epoch has asked for, now that Lightning has validated."""
        self._save(trainer)

    @staticmethod
    def _save(trainer: Any) -> None:
        """Save Lightning's checkpoint in the job's, if the last step has asked for it.  Collective."""
        def write(folder: pathlib.Path) -> None:
            # As trainer.save_checkpoint, but without its barrier, in which others would wait if rank 0 fails to write
            made = trainer._checkpoint_connector.dump_checkpoint(False)
            trainer.strategy.save_checkpoint(made, folder / "lightning/trainer.ckpt")

        _apart.save(write)

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """Report that this worker evaluates, between its first step and its last."""
        if worker.handle and not worker.over:
            worker.set_phase(L.PHASE_EVALUATE)

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Report that this worker goes on."""
        if worker.handle and not worker.over:
            worker.set_phase(L.PHASE_INPUT)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """End the job's steps on all workers."""
        self._save(trainer)
        leave()
