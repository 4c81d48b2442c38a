# SPDX-License-Identifier: Apache-2.0
"""test_mixed.py - features of attach, weighted and loader together: the gradients are those of one process"""

from __future__ import annotations

import pytest

from rows import slow
from started import job, said, script
from test_attach import NO_SAMPLES, UNEQUAL

BEGIN = """
torch.manual_seed(0)
x = torch.randn(24, 7, dtype=torch.float64)
n_words = torch.arange(24) % 5 + 3  # of each sample, of seven


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(7, dtype=torch.float64))

    def forward(self, x):
        return (x * self.w).tanh()


def words(i):
    return torch.arange(7) < n_words[i, None]


def check(model, loss_of_all):
    alone = Net()
    loss_of_all(alone).backward()
    off = float((model.w.grad - alone.w.grad).abs().max())
    print(f"rank {eddis.rank()}", "exact" if off < 1e-12 else f"off by {off}")
    raise SystemExit(0)


"""

# Tokens by n: of a rank, or a part of its step, without samples none counts
TOLD = BEGIN + """
k = {pieces}
loader = eddis.loader(data.DataLoader(data.TensorDataset(x, torch.arange(24)), batch_size=8), pieces=k)
model = eddis.attach(Net(), weights="told")
for epoch in loader.epochs(1):
    for b, i in loader:
        if loader.part == 0:
            eddis.set_weight(sum(float(n_words[p[1]].sum()) for p, n in zip(loader.parts, loader.counts) if n))
        n = int(n_words[i].sum())
        eddis.weighted((model(b) * words(i)).sum() / n, n=n).backward()
        if loader.part == k - 1:
            every = torch.arange(24)
            check(model, lambda net: (net(x) * words(every)).sum() / n_words.sum())
"""

# Two losses of one output in one backward pass, of which the one that counts nothing arrives last
NONE = BEGIN + """
loader = eddis.loader(data.DataLoader(data.TensorDataset(x, torch.arange(24)), batch_size=8))
model = eddis.attach(Net())
for epoch in loader.epochs(1):
    for b, i in loader:
        y = model(b)
        none = eddis.weighted(y[i < 0].sum(), n=0)
        (none + eddis.weighted(y.square().mean(), n=len(i))).backward()
        check(model, lambda net: net(x).square().mean())
"""

# Micro-batches by n, also in the step after the epoch's rest, in which the first rank has no samples
FEW = BEGIN + """
from eddis._worker import worker

x = torch.randn(26, 7, dtype=torch.float64)
loader = eddis.loader(data.DataLoader(data.TensorDataset(x, torch.arange(26)), batch_size=8))
model, far = eddis.attach(Net()), []
for epoch in loader.epochs(2):
    for b, i in loader:
        model.zero_grad()
        with eddis.no_sync():
            for part in b[:-1]:
                eddis.weighted(model(part[None]).square().mean(), n=1).backward()
        eddis.weighted(model(b[-1:]).square().mean(), n=1).backward()
        have = torch.zeros(26, dtype=torch.int64)
        have[i] = int(worker.step.count > 0)
        have = eddis.allreduce(have, eddis.Op.SUM).bool()
        alone = Net()
        alone(x[have]).square().mean().backward()
        far.append(float((model.w.grad - alone.w.grad).abs().max()))
print(f"rank {eddis.rank()}", "exact" if max(far) < 1e-12 else f"off by {far}")
"""

# Left after set_weight and before backward
LEFT = BEGIN + """
from eddis._worker import worker

loader = eddis.loader(data.DataLoader(data.TensorDataset(x, torch.arange(24)), batch_size=8))
model = eddis.attach(Net(), weights="told")
steps = []
for epoch in loader.epochs(2):
    for b, i in loader:
        steps.append(worker.step.step)
        eddis.set_weight(3)
        if epoch == 0:
            break
        eddis.weighted(model(b).mean()).backward()
print(eddis.rank(), "steps", steps)
"""


def ended_exact(tmp_path, text, emulate):
    output = said(tmp_path, *job(script(tmp_path, text), devices=f"[{emulate}]", batch__global=24, batch__min=0,
                                 batch__rebalance="off", restarts=0))
    assert output.count("exact") == 3, output


@pytest.mark.parametrize("pieces", [1, slow(4)])
def test_told_by_n(tmp_path, pieces):
    ended_exact(tmp_path, TOLD.replace("{pieces}", str(pieces)), NO_SAMPLES if pieces == 1 else UNEQUAL)


@pytest.mark.slow
def test_one_of_nothing(tmp_path):
    ended_exact(tmp_path, NONE, UNEQUAL)


@pytest.mark.slow
def test_few_after_none(tmp_path):
    ended_exact(tmp_path, FEW, UNEQUAL)


@pytest.mark.slow
def test_left(tmp_path):
    output = said(tmp_path, *job(script(tmp_path, LEFT), devices=f"[{NO_SAMPLES}]", batch__global=8, batch__min=0,
                                 batch__rebalance="off", restarts=0, timeouts__hang="20s"))
    steps = {line.split("steps")[1] for line in output.splitlines() if "steps" in line}
    assert len(steps) == 1, output
