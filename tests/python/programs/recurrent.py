# SPDX-License-Identifier: Apache-2.0
"""recurrent.py FOLDER WHAT EPOCHS PACE... - trains without a DataLoader, in a function that makes the steps of an epoch

WHAT: `states`, a recurrent network by columns of a text, whose states are kept from step to step; `outputs`, the same
with weighted outputs; `drawn`, random rows that are drawn a step ahead, two batches a step; or `alone`: one process
without eddis makes `states`.  PACE: seconds that each rank takes for a row.
FOLDER/<rank>.pt is {"weights": the model's numbers, "counts": the rank's rows of each step, "drawn": for each batch the
numbers of the rows that count, "states": the sum of the last states}.
"""

import pathlib
import sys
import time

import torch
from torch import nn

folder, what, epochs = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
paces = [float(pace) for pace in sys.argv[4:]]
COLUMNS, LENGTH, SPAN = 12, 60, 5
POOL = 500

torch.set_num_threads(1)
torch.manual_seed(0)
text = torch.randn(LENGTH, COLUMNS, 3, dtype=torch.float64)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(3, 4, num_layers=2)
        self.out = nn.Linear(4, 1)

    def forward(self, x, states):
        y, states = self.rnn(x, states)
        return self.out(y), states


model = (nn.Linear(3, 1) if what == "drawn" else Net()).double()
told = {"counts": [], "drawn": [], "states": 0.0}
if what != "alone":
    import eddis.torch as eddis
    from eddis._worker import worker

    pace = paces[eddis.rank()] if paces else 0
    model = eddis.attach(model, weigh="outputs" if what == "outputs" else "loss")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def detached(states):
    return tuple(state.detach() for state in states)


def states():
    kept = tuple(torch.zeros(2, COLUMNS, 4, dtype=torch.float64) for _ in range(2))
    places = range(0, LENGTH, SPAN)
    if what != "alone":
        eddis.steps(places, batch=COLUMNS)
        ahead = eddis.rows()
    for i in places if what == "alone" else eddis.steps(places, batch=COLUMNS):
        optimizer.zero_grad()
        if what == "alone":
            y, kept = model(text[i:i + SPAN], detached(kept))
            y.square().mean().backward()
        else:
            assert i or ahead == eddis.rows()
            told["counts"].append(worker.step.count)
            time.sleep(pace * worker.step.count)
            y, kept = model(text[i:i + SPAN, eddis.rows()], eddis.keep_rows(kept))
            loss = y.square().mean()
            (loss if what == "outputs" else eddis.weighted(loss)).backward()
        optimizer.step()
    if what == "alone":
        told["states"] += float(kept[0].detach().sum())
    elif told["counts"][-1]:
        told["states"] += float(kept[0].detach().sum())


def draw(n):
    if what == "alone":
        return None
    numbers = torch.randint(POOL, (n,), generator=own)
    told["drawn"].append(numbers.tolist() if worker.step.count or not worker.in_step else [])
    return numbers


def drawn():
    global rows
    n = 0
    for n in eddis.steps(LENGTH // SPAN, batch=COLUMNS).shares():
        told["counts"].append(worker.step.count)
        time.sleep(pace * worker.step.count)
        optimizer.zero_grad()
        for _ in range(2):
            loss = model(pool[rows]).tanh().square().mean()
            taken, rows = rows, draw(n)  # a step ahead
            eddis.weighted(loss / 2, n=len(taken)).backward()
        optimizer.step()


if what == "drawn":
    pool = torch.randn(POOL, 3, dtype=torch.float64)
    own = torch.Generator().manual_seed(eddis.rank())
    rows = draw(COLUMNS // eddis.size())  # before the loop
for _ in range(epochs):
    drawn() if what == "drawn" else states()
torch.save({"weights": [p.detach() for p in model.parameters()], **told},
           folder / ("alone.pt" if what == "alone" else f"{eddis.rank()}.pt"))
