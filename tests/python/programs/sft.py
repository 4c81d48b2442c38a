# SPDX-License-Identifier: Apache-2.0
"""sft.py FOLDER [KEY=VALUE ...] - trains by trl's SFTTrainer, with the plan's batches

FOLDER/<rank>.pt has Trainer's "log", too.

epochs=  pieces=  pace=A,B,C: milliseconds of each rank for a sample, which the plan does not have
"""

import pathlib
import sys
import time

import datasets
import torch
import transformers
import trl

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import eddis.torch as eddis  # noqa: E402
import trainers  # noqa: E402
import training  # noqa: E402
from eddis.transformers import Mixin  # noqa: E402

folder, kind = pathlib.Path(sys.argv[1]), trainers.KINDS["tokens"]
options = dict(word.split("=", 1) for word in sys.argv[2:])
pace_s = [int(ms) / 1000 for ms in options.get("pace", "0,0,0").split(",")]
pieces, samples, read = int(options.get("pieces", 1)), [], []


def collate(rows):
    read.append([row["number"] for row in rows])
    return kind.batch(read[-1])


class Told(transformers.TrainerCallback):
    """Writes down what each step has, and takes the time of its samples."""

    def on_step_begin(self, args, state, control, **_):
        loader = trainer.callback_handler.train_dataloader
        samples.append([n for part, n_counting in zip(read[-pieces:], loader.counts) for n in part[:n_counting]])
        time.sleep(pace_s[eddis.rank()] * len(samples[-1]))


class Trainer(Mixin, trl.SFTTrainer):
    pass


def tokenizer():
    from tokenizers import Tokenizer, models
    words = {name: n for n, name in enumerate(["<pad>", "<eos>", "<unk>", *map(str, range(29))])}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel(words, "<unk>")),
                                                pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")


torch.set_num_threads(1)
words = kind.batch(list(range(training.N)))
rows = datasets.Dataset.from_dict({"number": list(range(training.N)), "input_ids": words["input_ids"].tolist(),
                                   "labels": words["labels"].tolist()})
arguments = trl.SFTConfig(
    output_dir=folder / "out", use_cpu=True, ddp_backend="gloo", per_device_train_batch_size=24,
    num_train_epochs=int(options.get("epochs", 2)), learning_rate=1e-3, lr_scheduler_type="linear", max_grad_norm=0.5,
    gradient_accumulation_steps=pieces, report_to=[], save_strategy="no", logging_steps=1, disable_tqdm=True,
    optim="adamw_torch", bf16=False, gradient_checkpointing=False, remove_unused_columns=False,
    dataset_kwargs={"skip_prepare_dataset": True})
model = kind.model()
trainer = Trainer(model=model, args=arguments, train_dataset=rows, data_collator=collate,
                  processing_class=tokenizer(), callbacks=[Told()])
trainer.train()
torch.save({"samples": samples, "model": [p.detach() for p in model.parameters()], "log": trainer.state.log_history},
           folder / f"{eddis.rank()}.pt")
torch.distributed.destroy_process_group()
