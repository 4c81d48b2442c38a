# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's Trainer with the plan's batches: unequal shares, and gradients that torch.distributed combines.

    from eddis.transformers import Trainer

    trainer = Trainer(model=model, args=arguments, train_dataset=dataset)
    trainer.train()

`Mixin` makes the same of a class derived from Trainer: class MyTrainer(eddis.transformers.Mixin, SFTTrainer).

With eddis.torch.State() before `train` the job's checkpoints hold those of Trainer, and a job that restarts or resumes
goes on from the step of its checkpoint.

Workers weigh by the items over which their losses are means: tokens where Trainer counts them, else samples.  Trainer
takes all batches of a step from the loader before the first of their passes.
"""

from __future__ import annotations

import contextlib
import itertools
import pathlib
from collections.abc import Iterator
from typing import Any

import torch
import transformers
from transformers import trainer as library
from transformers.trainer_utils import SaveStrategy

from . import _lib as L
from ._worker import worker
from .torch import _attach, _loader, _weighted, report
from .torch._apart import Apart, leave, steps_of
from .torch._batchnorm import set_min_count
from .torch._parts import parts

__all__ = ["Mixin", "Trainer"]


@contextlib.contextmanager
def _unprepared(accelerator: Any) -> Iterator[None]:
    """While the context is active, accelerator.prepare returns a DataLoader as it is.  A context manager."""
    accelerator.prepare = lambda made: made
    try:
        yield
    finally:
        del accelerator.prepare


@contextlib.contextmanager
def _unskipped(loader_of: type) -> Iterator[None]:
    """While the context is active, Trainer takes a loader of this type as it is when it resumes within an epoch, since
    it begins where the checkpoint ended.  A context manager."""
    skip = library.skip_first_batches
    library.skip_first_batches = lambda loader, *n: loader if isinstance(loader, loader_of) else skip(loader, *n)
    try:
        yield
    finally:
        library.skip_first_batches = skip


class _Follow(transformers.TrainerCallback):
    """Attaches the model that Trainer has wrapped, and ends the steps of the plan."""

    def __init__(self, trainer: Mixin) -> None:
        self._trainer = trainer

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Attach the model, which Trainer has wrapped by now.  Raises RuntimeError for a second training, and if
        Trainer does not combine gradients over all workers."""
        if worker.committed:
            raise RuntimeError("this process has trained already: a Trainer of eddis trains once in a process")
        model, loader = self._trainer.model_wrapped, _loader.the_loader()
        if _attach.attach(model, weights="told") is not model:
            raise RuntimeError(f"Trainer does not combine gradients over {worker.size} workers: start the script by "
                               "eddis-run, and let Trainer make the process group")
        steps, apart = steps_of(loader), self._trainer._apart
        before = (state.global_step - apart.step()) // steps  # epochs of a checkpoint that is not the job's
        loader._epochs = state.num_train_epochs - before
        apart.begin()
        loader.iterations = max(loader.iterations, state.global_step // steps - before)

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Save what the last step of the epoch before has asked for, now that Trainer has evaluated and saved."""
        self._trainer._save_due()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        """End the step before Trainer evaluates and saves, so that these take no time of the step.  End the training
        after the last step of the plan, or where the job stops: Trainer then saves, unless the job's checkpoint is
        due."""
        self._trainer._apart.end_step()
        if worker.step.flags & L.STEP_STOP:
            if state.global_step < state.max_steps and not self._trainer._apart.is_due:
                control.should_save |= args.save_strategy != SaveStrategy.NO
            control.should_training_stop = True
        if control.should_evaluate or control.should_save:
            worker.set_phase(L.PHASE_EVALUATE)
        return control

    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Save what the last step has asked for where the job stops within an epoch, and have Trainer save if that
        cannot be.  Report that this worker evaluates or saves."""
        if self._trainer._apart.is_due and worker.step.flags & L.STEP_STOP and state.global_step < state.max_steps:
            if not self._trainer._save_due():  # in the epoch, and before Trainer may load its best model
                control.should_save |= args.save_strategy != SaveStrategy.NO
        worker.set_phase(L.PHASE_EVALUATE)

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """End the job's steps on all workers."""
        self._trainer._save_due()
        leave()


class Mixin:
    """Makes a class derived from transformers.Trainer follow the plan: class MyTrainer(Mixin, SFTTrainer).

    Evaluation, saving, logging and schedulers are those of Trainer; a training loss in the log is the mean over all
    workers' samples or tokens.  eddis-run sets the batch; without it each worker takes per_device_train_batch_size
    samples, gradient_accumulation_steps times.  Trainer trains once.

    With a State the job's checkpoints contain those of Trainer.  `train` continues from them by itself, without
    resume_from_checkpoint.  Trainer's own checkpoints are written as its arguments say; one more when the job stops
    early without a checkpoint of its own, unless save_strategy is "no".

    args.average_tokens_across_devices becomes False, since eddis sums the tokens, and args.ignore_data_skip becomes
    True: training that resumes from a checkpoint of args.output_dir within an epoch begins with this epoch's data anew.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.args.average_tokens_across_devices = False
        self.args.ignore_data_skip = True
        self.add_callback(_Follow(self))
        self._loader: _loader.Loader | None = None
        self._own_loss: float | torch.Tensor = 0.0  # of the step so far: the mean over this worker's items
        self._part = -1  # number of the present batch in its step, from 0
        self._apart = Apart("Trainer", "checkpoint-*")
        self._folder: pathlib.Path | None = None  # of the job's checkpoint that is being written

    def train(self, resume_from_checkpoint: Any = None, *args: Any, **options: Any) -> Any:
        """Train, see transformers.Trainer.train.  With a State continue from the job's checkpoint, if there is one.
        Raises ValueError if that is not of Trainer."""
        if not (found := self._apart.found()):
            return super().train(resume_from_checkpoint, *args, **options)
        self.args.ignore_data_skip = False  # so Trainer counts the steps of the epoch that are made
        with _unskipped(_loader.Loader):
            return super().train(str(found), *args, **options)

    def _save_due(self) -> bool:
        """Save Trainer's checkpoint in the job's, if the last step has asked for it; else return False.  Collective."""
        return self._apart.save(self._save_in)

    def _save_in(self, folder: pathlib.Path) -> None:
        """Save Trainer's checkpoint in this folder.  Collective."""
        args = self.args
        before = args.push_to_hub, args.save_strategy, args.save_only_model
        # Without a strategy Trainer does not look for its best model in this folder, which is renamed later, and ranks
        # do not wait for rank 0, which may fail to write; training goes on with the optimizer's state
        args.push_to_hub, args.save_strategy, args.save_only_model, self._folder = False, SaveStrategy.NO, False, folder
        try:
            self._save_checkpoint(self.model_wrapped, None)
        finally:
            (args.push_to_hub, args.save_strategy, args.save_only_model), self._folder = before, None

    def _get_output_dir(self, *args: Any, **options: Any) -> str:
        """Return the folder for Trainer's checkpoints."""
        return str(self._folder) if self._folder else super()._get_output_dir(*args, **options)

    def _load_best_model(self) -> None:
        """Load the best model into the place of the last one, which the job's checkpoint is to hold."""
        self._save_due()
        super()._load_best_model()

    def _load_rng_state(self, *args: Any, **options: Any) -> None:
        """Restore the random states of a checkpoint that is not the job's: those are State's."""
        if not self._apart.step():
            super()._load_rng_state(*args, **options)

    def get_train_dataloader(self) -> _loader.Loader:
        """Return a loader that follows the plan, made from the DataLoader of the class above.  Raises ValueError or
        TypeError for data and samplers that cannot follow it."""
        if self._loader is None:
            _attach.expect()
            set_min_count(self.model.train())
            with _unprepared(self.accelerator):
                made = super().get_train_dataloader()
            self._loader = _loader.loader(made, pieces=self.args.gradient_accumulation_steps)
        return self._loader

    def set_initial_training_values(self, *args: Any, **options: Any) -> Any:
        """Return Trainer's numbers of steps and epochs.  Raises ValueError if an epoch has no step."""
        if self._loader is not None:
            steps_of(self._loader)  # Trainer would say that the loader has no length
        return super().set_initial_training_values(*args, **options)

    def get_batch_samples(self, epoch_iterator: Iterator[Any], num_batches: int,
                          device: torch.device) -> tuple[list[Any], Any]:
        """Return the batches of the next step and the number of items over which their losses are means; None: each is
        a mean over its samples.  Begin to sum up the workers' weights."""
        self._save_due()  # of the step before, which has ended
        worker.set_phase(L.PHASE_INPUT)
        batches = list(itertools.islice(epoch_iterator, num_batches))
        counting = [batch for batch, n in zip(batches, parts.counts) if n] or batches
        items = self._get_num_items_in_batch(counting, torch.device("cpu"))  # not on a GPU, for which this would wait
        self._own_loss, self._part = 0.0, -1
        if batches and items is not None and (parts.n == 1 or self._is_scaled(items)):
            worker.set_weight(float(items))
        return batches, items.to(device) if torch.is_tensor(items) else items

    def _is_scaled(self, items: Any) -> bool:
        """Return whether the losses of a step's batches are sums divided by the number of items of all of them.  If
        not, Trainer divides each by the number of batches."""
        if getattr(self, "loss_is_scaled_for_ga", None) is not None:
            return self.loss_is_scaled_for_ga
        return self.model_accepts_loss_kwargs and items is not None or self.compute_loss_func is not None

    def compute_loss(self, model: torch.nn.Module, inputs: Any, return_outputs: bool = False,
                     num_items_in_batch: Any = None, **others: Any) -> Any:
        """Return the loss of the class above; in a step, weighted by this worker's items."""
        got = super().compute_loss(model, inputs, return_outputs=return_outputs, num_items_in_batch=num_items_in_batch,
                                   **others)
        if not (worker.in_step and torch.is_grad_enabled()):
            return got
        loss, *outputs = got if return_outputs else (got,)
        loss = _weighted.weighted(loss)
        if not self._is_scaled(num_items_in_batch):  # batches of unlike sizes, but Trainer divides by their number
            loss = loss * self.current_gradient_accumulation_steps
        return (loss, *outputs) if return_outputs else loss

    def training_step(self, model: torch.nn.Module, inputs: Any, num_items_in_batch: Any = None) -> torch.Tensor:
        """Make the passes of a batch.  Return its part of the loss, so that the plain mean over the workers, which
        Trainer logs, is the mean over all items."""
        self._part += 1
        parts.enter(self._part)
        loss = super().training_step(model, inputs, num_items_in_batch)
        passes = _weighted.passes
        share = parts.share(self._part, passes.told.is_set)
        self._own_loss = self._own_loss + (loss * share if share else 0.0)
        worker.is_empty = not worker.step.count
        if self._part == parts.n - 1:
            report(loss=self._own_loss)
        scale = passes.scale(False, None, self._part)
        return loss * scale if scale else torch.zeros_like(loss)


class Trainer(Mixin, transformers.Trainer):
    """transformers.Trainer with the plan's batches, see `Mixin`."""
