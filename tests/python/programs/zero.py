# SPDX-License-Identifier: Apache-2.0
"""zero.py FOLDER stage=N [KEY=VALUE ...] - trains by DeepSpeed's ZeRO, with the plan's batches

epochs=  pieces=  pace=A,B,C: milliseconds of each rank for a sample, which the plan does not have
state=1: with a State beside the engine's checkpoints; 0: whose checkpoints the script does not save into
at=RANK:STEP, do=, where=: see framed_ends.py
refused=1: prints what State says of the engine and its parts, and gives it the model
"""

import os
import pathlib
import sys
import time

os.environ["DS_ACCELERATOR"] = "cpu"

import torch  # noqa: E402
from torch.nn import functional  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

torch.distributed.init_process_group("gloo")

import deepspeed  # noqa: E402
import deepspeed.ops  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import eddis.torch as eddis  # noqa: E402
import framed_ends  # noqa: E402
import training  # noqa: E402
from eddis.torch import _deepspeed  # noqa: E402

deepspeed.ops.__compatible_ops__.update(dict.fromkeys(deepspeed.ops.__compatible_ops__, False))  # compile nothing

folder = pathlib.Path(sys.argv[1])
options = dict(word.split("=", 1) for word in sys.argv[2:])
pieces, epochs, ends = int(options.get("pieces", 1)), int(options.get("epochs", 2)), framed_ends.Ends(folder, options)
pace_s = [int(ms) / 1000 for ms in options.get("pace", "0,0,0").split(",")]

torch.set_num_threads(1)
x, y = training.data()
loader = eddis.loader(DataLoader(TensorDataset(x.float(), y, torch.arange(training.N)), batch_size=24, shuffle=True),
                      epochs, pieces=pieces)
torch.manual_seed(3)
model = training.mlp()
engine = deepspeed.initialize(
    model=model, optimizer=torch.optim.AdamW(model.parameters(), lr=1e-3), dist_init_required=False,
    config={"train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": pieces, "gradient_clipping": 0.5,
            "zero_allow_untested_optimizer": True, "zero_force_ds_cpu_optimizer": False,
            "zero_optimization": {"stage": int(options["stage"])}})[0]
eddis.attach(engine)
state = None
if "refused" in options:
    for name, thing in dict(engine=engine, optimizer=engine.optimizer, base=engine.optimizer.optimizer).items():
        try:
            _deepspeed.refuse_in_state(name, thing, [engine])
        except TypeError as error:
            print(error)
    eddis.State(model=model)
elif "state" in options:
    state = eddis.State(steps=0)
    if options["state"] == "1" and state.resume():
        assert engine.load_checkpoint(state.folder / "engine")[0] is not None
samples = []
for epoch in loader.epochs(epochs):
    for x, y, numbers in loader:
        count = loader.counts[loader.part]
        if not loader.part:
            samples.append([])
        samples[-1] += numbers[:count].tolist()
        time.sleep(pace_s[eddis.rank()] * count)
        ends("forward")
        engine.backward(eddis.weighted(functional.cross_entropy(engine(x), y)), scale_wrt_gas=False)
        engine.step()
        if state:
            state.steps += 1
        if options.get("state") == "1" and state.due():
            engine.save_checkpoint(state.folder / "engine")
with deepspeed.zero.GatheredParameters(list(model.parameters()), enabled=options["stage"] == "3"):
    numbers = [p.detach().clone() for p in model.parameters()]
torch.save({"samples": samples, "model": numbers, "resumed": state is not None and state.resumed,
            "steps": state.steps if state else 0}, folder / f"{eddis.rank()}.pt")
torch.distributed.destroy_process_group()
