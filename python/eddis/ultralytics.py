# SPDX-License-Identifier: Apache-2.0
"""Ultralytics' YOLO with the plan's batches: unequal shares, and gradients that torch.distributed combines.

    from eddis.ultralytics import Trainer

    YOLO("yolo11n.yaml").train(trainer=Trainer, data="coco8.yaml", epochs=3)

`Mixin` makes the same of another trainer: class MyTrainer(eddis.ultralytics.Mixin, SegmentationTrainer).

Each rank is to Ultralytics one of its DDP ranks, of one GPU or of the CPU: it has RANK and LOCAL_RANK, so it starts no
processes of its own, rank 0 alone writes files, and all ranks validate.  Its `world_size` is 1, since the plan shares
out the batch, and eddis weights the loss.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import torch
import ultralytics.engine.validator as validator
from torch import distributed
from ultralytics import utils
from ultralytics.cfg import get_cfg, get_save_dir
from ultralytics.models.yolo.detect import DetectionTrainer
from ultralytics.nn.tasks import ClassificationModel, RTDETRDetectionModel
from ultralytics.utils.torch_utils import TORCH_2_13, parse_device, unwrap_model

from . import _lib as L
from ._worker import MAX_READ_AHEAD, say, worker
from .torch import _attach, _loader, _replicated, _weighted, report
from .torch._batchnorm import set_min_count

__all__ = ["Mixin", "Trainer"]

_BATCH = 16  # replaces Ultralytics' estimate for one GPU: the plan sets the batch
# Models whose loss is a mean over the images or their objects; that of others is multiplied by the number of images
_WITH_MEANS = ClassificationModel, RTDETRDetectionModel
_OWN_BUFFERS = {"forward_sync_buffers" if TORCH_2_13 else "broadcast_buffers": False}


class Mixin:
    """Makes a trainer of Ultralytics follow the plan: class MyTrainer(Mixin, SegmentationTrainer).

    `batch` is the batch of all ranks together, and eddis-run's `batch: {global: ...}` replaces it.  Accumulation by
    `nbs`, warm-up, EMA, validation and checkpoints are Ultralytics'.  rect=True becomes False.  A loss that is no
    number ends the training with RuntimeError after its epoch, unless it is the first.  Without eddis-run it is the
    trainer that it is derived from.

    Raises RuntimeError if Ultralytics does not know its rank, or for a second training in the process.
    """

    def __init__(self, cfg: Any = utils.DEFAULT_CFG, overrides: dict[str, Any] | None = None,
                 _callbacks: dict | None = None) -> None:
        self._follows = worker.has_plan
        self._is_built = self._is_attached = self._makes_train_loader = False
        self._asks = False  # this rank's script has stopped the training
        self._is_interrupted = False  # the job has, before its last epoch
        if self._follows:
            if worker.committed:
                raise RuntimeError("this process has trained already: a Trainer of eddis trains once in a process")
            cfg, overrides = _arguments_of_rank(cfg, overrides or {})
            worker.is_told_unsaved = True  # Ultralytics saves
        super().__init__(cfg, overrides, _callbacks)
        if not self._follows:
            return
        self.world_size, self.ddp = 1, False
        if self.args.batch < 1:
            self.args.batch = self.batch_size = _BATCH
        if self.args.rect:
            utils.LOGGER.warning("'rect=True' is incompatible with the plan's batches, setting 'rect=False'")
            self.args.rect = False

    def _setup_train(self) -> None:
        """Set up the training, and give the loader the number of epochs, which a resumed training has fewer of."""
        super()._setup_train()
        if self._follows:
            if not self._is_attached:
                self.model = _attach.attach(self.model)
            self.train_loader._epochs = 0 if self.args.time else self.epochs - self.start_epoch
            scale = self.scaler.scale
            self.scaler.scale = lambda loss: scale(self._weighted(loss))

    def _build_train_pipeline(self) -> None:
        """Attach the model, before Ultralytics copies it for its EMA, and build loaders and optimizer.  Raises
        RuntimeError if Ultralytics wants to try a smaller batch."""
        if self._follows:
            if self._is_built:
                raise RuntimeError("the memory is too small for this rank's share of the batch: set batch.max of its "
                                   "node, or a smaller batch.global, in train.yaml") from sys.exc_info()[1]
            self._agree_on_amp()
            self._model_train()
            self._attach()
            self._is_built = self._makes_train_loader = True
        super()._build_train_pipeline()

    def _agree_on_amp(self) -> None:
        """Compute in mixed precision if rank 0 does, which has tried it.  Collective."""
        told = [self.amp]
        if distributed.is_initialized():
            distributed.broadcast_object_list(told, 0)
        if told[0] != self.amp:
            self.amp = told[0]
            self.scaler = torch.amp.GradScaler(self.device.type, enabled=self.amp and self.args.amp != "bf16")

    def _attach(self) -> None:
        """Have torch.distributed combine the gradients, as Ultralytics would: a batch without objects leaves some
        parameters without one, and each rank keeps its own statistics of batch normalisation.  A model that is not
        attached in place cannot be copied afterwards, so it is attached after its EMA was made.  Collective."""
        if worker.size > 1 and _replicated.replicate(self.model, None, find_unused_parameters=True, **_OWN_BUFFERS):
            self.model = _attach.attach(self.model)
            self._is_attached = True
            return
        _attach.expect()
        set_min_count(self.model)
        for tensor in self.model.state_dict().values() if distributed.is_initialized() else ():
            distributed.broadcast(tensor, 0)

    def get_dataloader(self, dataset_path: Any, batch_size: int = 16, rank: int = 0, mode: str = "train") -> Any:
        """Return a loader that follows the plan for training.  For validation return Ultralytics' own, which gives each
        rank its part."""
        if not self._follows:
            return super().get_dataloader(dataset_path, batch_size, rank, mode)
        if mode != "train":
            made = super().get_dataloader(dataset_path, -(-batch_size // worker.size), rank, mode)
            return _as_true(made)
        made = super().get_dataloader(dataset_path, batch_size, rank, mode)
        if not self._makes_train_loader:
            return made  # to calibrate with
        self._makes_train_loader = False
        if made.num_workers:
            made.prefetch_factor = max(1, min(made.prefetch_factor, MAX_READ_AHEAD // made.num_workers))
        made = _loader.loader(made)
        made.join()
        if worker.world.batch != self.batch_size and worker.rank == 0:
            say(f"the batch of all ranks is {worker.world.batch}, as the plan sets it, not batch={self.batch_size}")
        self.args.batch = self.batch_size = worker.world.batch
        return made

    def _weighted(self, loss: torch.Tensor) -> torch.Tensor:
        """Return the loss with a gradient that makes the ranks' mean that of all images: of a sum over them, or of
        their mean.  Report the mean over this rank's images."""
        is_sum = not isinstance(unwrap_model(self.model), _WITH_MEANS)
        worker.is_empty = not worker.step.count
        report(loss=loss.detach() / max(1, worker.step.count) if is_sum else loss.detach())
        return _weighted.weighted(loss, sum=is_sum)

    def run_callbacks(self, event: str) -> None:
        """Run the callbacks of an event.  After those of a batch, end the step of the plan, so that validation takes no
        time of it, and the training after the plan's last step.  A rank that wants to stop stops all."""
        super().run_callbacks(event)
        if event == "on_train_batch_end" and self._follows:
            self._asks = self._asks or bool(self.stop)
            if self.stop:
                worker.stop()
            worker.end()
            self.stop = bool(worker.step.flags & L.STEP_STOP)
            if self.stop:
                # With time= each rank has its own guess of the number of epochs
                self._is_interrupted = not _any(self._asks or self.epoch + 1 >= self.epochs)

    def validate(self) -> Any:
        """Validate on all ranks, each its part, by rank 0's statistics of batch normalisation; see Ultralytics'.  If
        the job has been stopped, return what was found last, so that Ultralytics saves soon."""
        if not self._follows:
            return super().validate()
        if self._is_interrupted:
            return self.metrics, self.fitness
        if worker.handle and not worker.over:
            worker.set_phase(L.PHASE_EVALUATE)
        if distributed.is_initialized():
            for buffer in self.ema.ema.buffers() if self.ema else ():
                distributed.broadcast(buffer, 0)
        metrics, fitness = super().validate()
        self._sum_losses(metrics)
        if worker.handle and not worker.over:
            worker.set_phase(L.PHASE_INPUT)
        return metrics, fitness

    def _sum_losses(self, metrics: dict[str, float] | None) -> None:
        """Make the losses in rank 0's metrics the means over the batches of all ranks.  Collective."""
        names = list(getattr(self.validator, "loss", None) or ())
        if not (names and distributed.is_initialized()):
            return
        sums = torch.stack([self.validator.loss[name].detach().float().reshape(()) for name in names] +
                           [torch.tensor(float(len(self.test_loader)), device=self.device)])
        distributed.all_reduce(sums)
        if metrics is not None:
            means = dict(zip(names, (sums[:-1] / sums[-1].clamp(min=1)).cpu()))
            metrics.update({k: v for k, v in self.label_loss_items(means, prefix="val").items() if k in metrics})

    def _handle_nan_recovery(self, epoch: int) -> bool:
        """Raise RuntimeError if Ultralytics would make the epoch again, since its samples have been used."""
        if super()._handle_nan_recovery(epoch) and self._follows:
            raise RuntimeError(f"the loss of epoch {epoch + 1} is not a number, and the plan makes no epoch twice: "
                               f"train on from {self.last} with resume=True")
        return False

    def final_eval(self) -> None:
        """End the job's steps on all ranks, and validate the best model.  If the job has been stopped, leave the
        checkpoints as they are, with what a resumed training needs."""
        if not self._follows:
            super().final_eval()
            return
        if worker.handle and not worker.over:
            worker.end(is_left=True)
            worker.stop()
            worker.finish()
        if self._is_interrupted:
            utils.LOGGER.info(f"The job was stopped: train on from {self.last} with resume=True")
            return
        with _validated_on(self.device):
            super().final_eval()


def _arguments_of_rank(cfg: Any, overrides: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return Ultralytics' arguments for this rank: its device, and the folder that rank 0 chooses.  Make the process
    group.  Collective."""
    if worker.size > 1 and utils.RANK != worker.rank:
        raise RuntimeError(f"Ultralytics has RANK {utils.RANK} but eddis {worker.rank}: leave the variables RANK, "
                           "LOCAL_RANK and WORLD_SIZE as eddis-run sets them")
    cfg = {**vars(get_cfg(cfg)), "save_dir": ""}
    told = get_cfg(cfg, overrides)
    device, overrides = parse_device(told.device), dict(overrides)
    is_cuda = torch.cuda.is_available() and device not in ("cpu", "mps")
    if is_cuda:
        overrides["device"] = str(worker.local_rank % torch.cuda.device_count())
        torch.cuda.set_device(int(overrides["device"]))
    if worker.size > 1:
        if not distributed.is_initialized():
            # As long as Ultralytics lets ranks wait while one makes its files
            distributed.init_process_group("nccl" if is_cuda else "gloo", timeout=timedelta(hours=3))
        if not told.resume:
            chosen = [str(get_save_dir(told)) if worker.rank == 0 else None]
            distributed.broadcast_object_list(chosen, 0)
            overrides["save_dir"] = chosen[0]
    return cfg, overrides


def _as_true(made: Any) -> Any:
    """Return the loader of a rank's part of the images to validate, as an object that is true even if the part is
    empty: else Ultralytics would replace it by a loader of all images at the end."""
    made.__class__ = type(type(made).__name__, (type(made),), {"__bool__": lambda _: True})
    return made


def _any(value: bool) -> bool:
    """Return whether the value is True on any rank.  Collective."""
    values = [value] * worker.size
    if distributed.is_initialized():
        distributed.all_gather_object(values, value)
    return any(values)


@contextlib.contextmanager
def _validated_on(device: torch.device) -> Iterator[None]:
    """While the context is active, a model that a rank reads for validation is on its device also if that is the CPU:
    Ultralytics takes the present GPU on each rank of several.  A context manager."""
    if device.type != "cpu" or utils.RANK == -1:
        yield
        return
    names = "AutoBackend", "get_torch_device_backend"
    before = {name: getattr(validator, name) for name in names}
    validator.AutoBackend = lambda **options: before["AutoBackend"](**{**options, "device": device})
    validator.get_torch_device_backend = lambda _: _NoDevices
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(validator, name, value)


class _NoDevices:
    """Stands for torch.cuda where there are no GPUs."""

    @staticmethod
    def current_device() -> int:
        """Return the number of a device that is not used."""
        return 0


class Trainer(Mixin, DetectionTrainer):
    """Ultralytics' DetectionTrainer with the plan's batches, see `Mixin`."""
