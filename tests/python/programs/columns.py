# SPDX-License-Identifier: Apache-2.0
"""columns.py FOLDER HOW [STOP] - trains a model by columns of a text, without a DataLoader

HOW: attached, optimized, or alone: one process without eddis that takes all columns.  STOP: the step, counted through
all epochs, in which rank 0 fails unless the job has resumed.
FOLDER/<rank>.pt is {"weight": the model's numbers, "items": of each step, "rows": of each step, "resumed"}.
"""

import pathlib
import sys

import torch
from torch import nn

folder, how, stop = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else -1
COLUMNS, LENGTH, SPAN, EPOCHS = 12, 30, 5, 2

torch.set_num_threads(1)
torch.manual_seed(0)
text = torch.randn(LENGTH, COLUMNS, 3, dtype=torch.float64)
model = nn.Linear(3, 1).double()
if how != "alone":
    import eddis.torch as eddis
    from eddis._worker import worker

    steps = eddis.steps(LENGTH // SPAN, batch=COLUMNS)
    if how == "attached":
        module, model = model, eddis.attach(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    if how == "optimized":
        module, optimizer = model, eddis.DistributedOptimizer(optimizer, model=model)
    state = eddis.State(model=module, optimizer=optimizer, items=[], rows=[])
else:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def train(part):
    optimizer.zero_grad()
    loss = model(part).tanh().square().mean()
    (eddis.weighted(loss) if how == "attached" else loss).backward()
    optimizer.step()


if how == "alone":
    for epoch in range(EPOCHS):
        for i in range(0, LENGTH, SPAN):
            train(text[i:i + SPAN])
    torch.save({"weight": model.weight.detach()}, folder / "alone.pt")
else:
    for epoch in steps.epochs(EPOCHS):
        for i in steps.over(range(0, LENGTH, SPAN)):
            rows = eddis.rows()
            if worker.step.step == stop and not state.resumed and not eddis.rank():
                raise SystemExit(3)
            state.items.append(i)
            state.rows.append([rows.start, rows.stop] if worker.step.count else [0, 0])
            train(text[i:i + SPAN, rows])
    assert len(steps) == LENGTH // SPAN
    torch.save({"weight": module.weight.detach(), "items": state.items, "rows": state.rows, "resumed": state.resumed},
               folder / f"{eddis.rank()}.pt")
