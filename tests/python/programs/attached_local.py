# SPDX-License-Identifier: Apache-2.0
"""attached_local.py FOLDER [KEY=VALUE ...] - trains models in local mode, whose gradients torch.distributed combines in
each group

FOLDER/<rank>.pt is {"steps": numbers of the samples of each step and whether a round ends behind it, "models": numbers
of each, "statistics": ..., "group": the rank's group, "rounds": how many rounds have ended, "resumed": ...}.

kinds=A,B: of attached_rounds.py  weights=told, sparse: samples count by their numbers, in sparse most of them nothing
epochs=  stop=R:S: rank R asks for a stop in its step S  raise=R:S: rank R raises an exception there, at the first start
update=sgd: no momentum  min_count=  state=1: saves, of fully_shard by torch.distributed.checkpoint
"""

import pathlib
import sys

import torch
from torch import distributed
from torch.utils.data import DataLoader, TensorDataset

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import attached_rounds  # noqa: E402
import eddis.torch as eddis  # noqa: E402
import training  # noqa: E402
from eddis import _lib  # noqa: E402
from eddis._worker import worker  # noqa: E402

folder = pathlib.Path(sys.argv[1])
options = dict(word.split("=", 1) for word in sys.argv[2:])
told = options.get("weights", "")


def at(what):
    """Whether this rank is to do this in this step."""
    rank, step = map(int, options.get(what, "-1:-1").split(":"))
    return (rank, step) == (eddis.rank(), worker.step.step)


torch.set_num_threads(1)
if "min_count" in options:
    eddis.init(min_count=int(options["min_count"]))
x, y = training.data()
n_epochs = int(options.get("epochs", 2))
loader = eddis.loader(DataLoader(TensorDataset(x, y, torch.arange(training.N)), batch_size=24, shuffle=True), n_epochs)
models = {kind: attached_rounds.KINDS[kind](eddis, options.get("update"), weights="told" if told else "samples")
          for kind in options.get("kinds", "bare").split(",")}
state = eddis.State(**{f"{name}_{kind}": getattr(model, name) for kind, model in models.items() if kind != "sharded"
                       for name in ("inner", "optimizer")}, steps=[]) if "state" in options else None
saved = {}
if state and "sharded" in models:
    from torch.distributed import checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

    class Parts(dcp.stateful.Stateful):
        """The model and its optimizer, as torch.distributed.checkpoint takes them."""

        def __init__(self, model):
            self.both = model.model, model.optimizer

        def state_dict(self):
            return dict(zip(("model", "optimizer"), get_state_dict(*self.both)))

        def load_state_dict(self, state):
            set_state_dict(*self.both, model_state_dict=state["model"], optim_state_dict=state["optimizer"])

    saved = {"parts": Parts(models["sharded"])}
    if state.resume():
        dcp.load(saved, checkpoint_id=state.folder / "dcp", process_group=eddis.group())
steps, n_rounds = state.steps if state else [], 0


def count():
    global n_rounds
    n_rounds += 1


worker.at_round.append(count)
for epoch in loader.epochs(n_epochs):
    for x, y, numbers in loader:
        if state:
            steps = state.steps
        steps.append((numbers.tolist() if worker.step.count else [], bool(worker.step.flags & _lib.STEP_READS)))
        if at("raise") and worker.world.generation == 1:
            raise ValueError("asked for")
        if at("stop"):
            eddis.stop()
        weights = attached_rounds.weights_of(numbers, told == "sparse") if told else None
        if told:
            eddis.set_weight(weights.sum() if worker.step.count else 0)
        for model in models.values():
            model.step(x, y, weights)
        if saved and state.due():
            dcp.save(saved, checkpoint_id=state.folder / "dcp", process_group=eddis.group())
torch.save({"steps": steps, "models": {kind: model.numbers() for kind, model in models.items()},
            "statistics": {kind: model.statistics() for kind, model in models.items()}, "group": worker.world.group,
            "rounds": n_rounds, "resumed": bool(state and state.resumed), "algorithm": worker.world.algorithm.decode()},
           folder / f"{eddis.rank()}.pt")
if distributed.is_initialized():
    distributed.destroy_process_group()
