# SPDX-License-Identifier: Apache-2.0
"""yolo.py FOLDER [KEY=VALUE ...] - trains a small YOLO by Ultralytics, with the plan's batches

FOLDER/data has the images.  Ultralytics' files are in FOLDER/runs.  FOLDER/<rank>.pt has the batches of each step, as
Ultralytics' data set made them, the parameters at the begin, the end and of the EMA, where files are, and how many
objects the final validation saw.

alone: in one process, by Ultralytics' own trainer, on the ranks' batches of each step, one after another: it writes
FOLDER/alone.pt
task=detect, task=classify
weigh=plain: the ranks' plain mean; weigh=mean: of losses taken for means over images
stop=N: rank 1 ends the training in step N    guess=N: rank 1 takes this for the number of epochs, as it may with time=
model=FILE: a checkpoint
Others are arguments of Ultralytics.
"""

import pathlib
import sys

import torch
import yaml
from ultralytics import YOLO
from ultralytics.models.yolo.classify import ClassificationTrainer
from ultralytics.models.yolo.detect import DetectionTrainer
from ultralytics.nn.tasks import ClassificationModel, DetectionModel

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import eddis.torch as eddis  # noqa: E402
from eddis.torch import _weighted  # noqa: E402
from eddis.ultralytics import Mixin, Trainer  # noqa: E402

folder = pathlib.Path(sys.argv[1])
options = dict(word.split("=", 1) for word in sys.argv[2:])
is_alone, weigh, stop, guess = (options.pop(name, "") for name in ("alone", "weigh", "stop", "guess"))
task = options.pop("task", "detect")
KEPT = "img", "cls", "bboxes", "batch_idx"
steps, start = [], {}


def parameters(module):
    return {name: p.detach().clone() for name, p in module.named_parameters()}


class Told:
    """Writes down what each step has."""

    def preprocess_batch(self, batch):
        batch = super().preprocess_batch({**batch})
        n = self.train_loader.counts[0]
        names = [int(pathlib.Path(name).stem) for name in batch.get("im_file", ())][:n]
        steps.append({"samples": names, "n": n, "batch": {k: v for k, v in batch.items() if k in KEPT}})
        if stop and len(steps) == int(stop) and eddis.rank() == 1:
            eddis.stop()
        if guess and eddis.rank() == 1:
            self.epochs = int(guess)
        return batch

    def _setup_train(self):
        super()._setup_train()
        start.update({name: value.detach().clone() for name, value in self.model.state_dict().items()})


class Detects(Told, Trainer):
    pass


class Classifies(Told, Mixin, ClassificationTrainer):
    pass


class Parts:
    """A model whose loss of several batches is their sum, or the mean over their images."""

    def loss(self, batch, preds=None):
        if "parts" not in batch:
            return super().loss(batch, preds)
        got = [super(Parts, self).loss(part) for part in batch["parts"]]
        numbers = [len(part["img"]) for part in batch["parts"]]
        if task == "classify":
            return sum(one[0] * n for one, n in zip(got, numbers)) / sum(numbers), got[0][1]
        return sum(one[0] for one in got), got[0][1]


class PartsDetection(Parts, DetectionModel):
    pass


class PartsClassification(Parts, ClassificationModel):
    pass


class Steps:
    """A loader of the ranks' batches in each step."""

    def __init__(self, made, ranks):
        self.made, self.ranks, self.at = made, ranks, 0

    def __len__(self):
        return len(self.ranks[0]["steps"]) // given["epochs"]

    def __iter__(self):
        for _ in range(len(self)):
            told = [rank["steps"][self.at] for rank in self.ranks]
            self.at += 1
            parts = [part["batch"] for part in told if part["n"]]
            yield {**parts[0], "parts": parts}

    def __getattr__(self, name):
        return getattr(self.made, name)


class Alone:
    """Ultralytics' own trainer on the batches of all ranks."""

    def get_dataloader(self, *arguments, mode="train", **others):
        made = super().get_dataloader(*arguments, mode=mode, **others)
        return Steps(made, ranks) if mode == "train" else made

    def get_model(self, *arguments, **others):
        model = super().get_model(*arguments, **others)
        model.__class__ = PartsClassification if task == "classify" else PartsDetection
        return model

    def _setup_train(self):
        self.setup_model()
        self.model.load_state_dict(ranks[0]["start"])
        super()._setup_train()

    def preprocess_batch(self, batch):
        return batch


class DetectsAlone(Alone, DetectionTrainer):
    pass


class ClassifiesAlone(Alone, ClassificationTrainer):
    pass


torch.set_num_threads(1)
if weigh:
    weighted = _weighted.weighted
    _weighted.weighted = lambda loss, sum: weighted(loss)
if weigh == "plain":
    _weighted.Passes.scale = lambda *_: 1.0
ranks = [torch.load(path, weights_only=False) for path in sorted(folder.glob("[0-9].pt"))] if is_alone else []
trainers = {"detect": (Detects, DetectsAlone), "classify": (Classifies, ClassifiesAlone)}[task]
given = {"epochs": 2, "imgsz": 64, "batch": 24, "nbs": 24, "workers": 0, "device": "cpu", "plots": False,
         "optimizer": "SGD", "warmup_epochs": 0, **{name: yaml.safe_load(value) for name, value in options.items()}}
where = {"data": folder / "data" if task == "classify" else folder / "data/data.yaml", "project": folder / "runs"}
if is_alone:
    where["project"] = folder / "alone"
model = YOLO(given.pop("model", folder / "data" / f"{task}.yaml"), task=task)
model.train(trainer=trainers[bool(is_alone)], **{name: str(value) for name, value in where.items()}, **given)
trainer = model.trainer
found = trainer.validator.metrics if task == "detect" and trainer.metrics else None
torch.save({"steps": steps, "start": start, "model": parameters(trainer.model), "ema": parameters(trainer.ema.ema),
            "folder": str(trainer.save_dir), "stopped": trainer.epoch + 1,
            "instances": int(found.nt_per_class.sum()) if found else 0},
           folder / ("alone.pt" if is_alone else f"{eddis.rank()}.pt"))
if torch.distributed.is_initialized():
    torch.distributed.destroy_process_group()
