# SPDX-License-Identifier: Apache-2.0
"""trainer.py FOLDER KIND [KEY=VALUE ...] - trains by Hugging Face's Trainer, with the plan's batches

FOLDER/<rank>.pt has Trainer's "log", too, and its files are in FOLDER/out.

KIND: own (a module with a mean loss), dropped (the same with a dropout), tokens (a causal language model) or classes (a
classifier)
epochs=  pieces=  rate=  pace=A,B,C: milliseconds of each rank for a sample, which the plan does not have
resume=FOLDER: of a checkpoint    stop=N: rank 1 ends the training in step N
state=1: with a State    at=RANK:STEP, do=, where=: see framed_ends.py
strategy=: when Trainer saves; epoch by default
size=N: only so many samples, and no batch that is smaller than the others
mean=1: Trainer divides the losses by the number of batches, for a model that does not do it by that of the items
best=largest, smallest: the model with this loss is the best one, which Trainer loads in the end, and it saves the model
only
bf16=1: mixed precision, and plain gradient descent, which does not enlarge the rounding
fsdp=1: FSDP2 instead of DistributedDataParallel, which accelerate would else make on CPUs without a word
"best" is the folder of the best model.
"""

import pathlib
import sys
import time

import torch
import transformers
from accelerate import state as accelerated

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import eddis.torch as eddis  # noqa: E402
import framed_ends  # noqa: E402
import trainers  # noqa: E402
from eddis.transformers import Mixin, Trainer  # noqa: E402

folder, kind = pathlib.Path(sys.argv[1]), trainers.KINDS[sys.argv[2]]
options = dict(word.split("=", 1) for word in sys.argv[3:])
pace_s = [int(ms) / 1000 for ms in options.get("pace", "0,0,0,0").split(",")]
pieces, samples = int(options.get("pieces", 1)), []
read = []  # the numbers of each batch
ends = framed_ends.Ends(folder, options)


def collate(numbers):
    if numbers[0] >= 0:
        read.append(numbers)
    return kind.batch([n if n >= 0 else -1 - n for n in numbers])


class Told(transformers.TrainerCallback):
    """Writes down what each step has, and takes the time of its samples."""

    def on_step_begin(self, args, state, control, **_):
        loader = trainer.callback_handler.train_dataloader
        samples.append([n for part, n_counting in zip(read[-pieces:], loader.counts) for n in part[:n_counting]])
        ends("before")
        if state.global_step == int(options.get("stop", -1)) and eddis.rank() == 1:
            eddis.stop()
        time.sleep(pace_s[eddis.rank()] * len(samples[-1]))

    def on_pre_optimizer_step(self, args, state, control, **_):
        ends("between")


def whole(parameter):
    """Return the numbers of a parameter, which may be sharded."""
    return (parameter.full_tensor() if hasattr(parameter, "full_tensor") else parameter).detach()


def shard_on_cpus():
    """Have accelerate shard by FSDP2 on CPUs, too."""
    begin = accelerated.AcceleratorState.__init__

    def init(self, *args, fsdp_plugin=None, **options):
        begin(self, *args, fsdp_plugin=fsdp_plugin, **options)
        if fsdp_plugin and self.distributed_type == accelerated.DistributedType.MULTI_CPU:
            self.distributed_type, self.fsdp_plugin = accelerated.DistributedType.FSDP, fsdp_plugin

    accelerated.AcceleratorState.__init__ = init


class Derived(transformers.Trainer):
    """A class of a script, with a loss of its own."""

    def compute_loss(self, model, inputs, *args, **kwargs):
        self.n_losses = getattr(self, "n_losses", 0) + 1
        return super().compute_loss(model, inputs, *args, **kwargs)


class Mixed(Mixin, Derived):
    pass


torch.set_num_threads(1)
arguments = transformers.TrainingArguments(
    output_dir=folder / "out", use_cpu=True, ddp_backend="gloo", per_device_train_batch_size=24,
    per_device_eval_batch_size=50, num_train_epochs=int(options.get("epochs", 2)), lr_scheduler_type="linear",
    learning_rate=float(options.get("rate", 1e-3)), max_grad_norm=0.5, gradient_accumulation_steps=pieces,
    save_strategy=options.get("strategy", "epoch"), ddp_find_unused_parameters="state" in options, report_to=[],
    eval_strategy="epoch", logging_steps=1, disable_tqdm=True, bf16="bf16" in options,
    optim="sgd" if "bf16" in options else "adamw_torch", label_names=kind.labels)
if "fsdp" in options:
    shard_on_cpus()
    arguments.fsdp, arguments.fsdp_config = True, {"version": 2, "transformer_layer_cls_to_wrap": ["LlamaDecoderLayer"]}
    arguments.__post_init__()
rows = trainers.Numbers()
if "size" in options:
    arguments.dataloader_drop_last, rows = True, torch.utils.data.Subset(rows, range(int(options["size"])))
if "best" in options:
    arguments.load_best_model_at_end, arguments.metric_for_best_model = True, "eval_loss"
    arguments.greater_is_better = options["best"] == "largest"
    arguments.save_only_model, arguments.save_total_limit = True, 1
model = kind.model()
model.register_forward_pre_hook(lambda *_: ends("forward"))
trainer = (Mixed if sys.argv[2] == "own" else Trainer)(
    model=model, args=arguments, train_dataset=rows, eval_dataset=trainers.Numbers(True),
    data_collator=collate, callbacks=[Told()])
if "mean" in options:
    trainer.loss_is_scaled_for_ga = False
if "state" in options:
    state = eddis.State()
trainer.train(resume_from_checkpoint=options.get("resume"))
torch.save({"samples": samples, "model": list(map(whole, model.parameters())), "log": trainer.state.log_history,
            "best": trainer.state.best_model_checkpoint, "resumed": "state" in options and state.resumed,
            "sharded": any(hasattr(p, "full_tensor") for p in model.parameters())},
           folder / f"{eddis.rank()}.pt")
torch.distributed.destroy_process_group()
