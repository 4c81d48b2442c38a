# SPDX-License-Identifier: Apache-2.0
"""test_streams.py - loader(stream=True): batches of the plan's sizes from a stream of each worker's own; the first
that ends ends the epoch of all"""

from __future__ import annotations

import json
import re

import pytest

from rows import slow
from started import ended, job, said, script

# Rank r counts from 1000 r; rank 1 is the first whose stream ends.
STREAM = """import json
import sys

from eddis._worker import worker

READERS = int(sys.argv[1])


class Stream(data.IterableDataset):
    def __init__(self):
        first = 1000 * eddis.rank()
        self.own = data.Subset(range(3000), range(first, first + (50 if eddis.rank() == 1 else 200)))

    def __iter__(self):
        reader = data.get_worker_info()
        return iter([float(n) for n in self.own.indices[reader.id if reader else 0::max(READERS, 1)]])


loader = eddis.loader(data.DataLoader(Stream(), batch_size=5, num_workers=READERS), stream=True)
model = eddis.attach(torch.nn.Linear(1, 1, bias=False).double())
told = {"batches": [], "epochs": [], "steps": []}
for epoch in loader.epochs(range(1, 3)):
    told["epochs"].append(epoch)
    for batch in loader:
        model.zero_grad()
        eddis.weighted(model(batch[:, None]).mean()).backward()
        own = torch.tensor([batch.sum() * (worker.step.count > 0), worker.step.count], dtype=torch.float64)
        total = eddis.allreduce(own, eddis.Op.SUM)
        weight, = model.parameters()
        assert abs(float(weight.grad) - float(total[0] / total[1])) < 1e-9
        told["batches"].append(batch.int().tolist() if worker.step.count else [])
    told["steps"].append(len(told["batches"]))
print("told" + json.dumps({"rank": eddis.rank(), **told}))
"""


@pytest.mark.parametrize("readers, first", [(0, 0.2), slow(2, 0.2), slow(0, 0.001)])
def test_first_end(tmp_path, readers, first):
    """Each step has the batches of the plan; both epochs end where one worker has too few samples."""
    devices = f"[{{rate: {first}, a_ms: 2, c_ms: 4}}, {{rate: 0.4}}, {{rate: 1}}]"
    output = said(tmp_path, *job(script(tmp_path, STREAM), readers, devices=devices, batch__global=24, batch__min=0,
                                 batch__rebalance="off", restarts=0))
    ranks = {row["rank"]: row for row in map(json.loads, re.findall(r'told(\{.*?\})', output))}
    share = [len(ranks[rank]["batches"][0]) for rank in range(3)]
    assert sum(share) == 24 and (share[0] == 0) == (first < 0.1), share
    steps = 50 // share[1]
    for rank, row in ranks.items():
        assert row["epochs"] == [1, 2] and row["steps"] == [steps, 2 * steps], row
        assert {len(batch) for batch in row["batches"]} == {share[rank]}
        once = [n for batch in row["batches"][:steps] for n in batch]
        assert len({*once}) == len(once) and all(n // 1000 == rank for n in once)
        assert row["batches"][:steps] == row["batches"][steps:]


# A worker that has no share in 100 000 steps, and then one
WAITING = """from eddis import _lib as L
from eddis._worker import worker
from eddis.torch._streams import _Stream

LAST = 100_000


class Stream(data.IterableDataset):
    def __iter__(self):
        return iter(range(4))


worker.plan_step = lambda number: L.Step(count=2 * (number == LAST)) if number <= LAST else None
batches = list(_Stream(data.DataLoader(Stream(), batch_size=4, collate_fn=tuple)))
print(len(batches), batches[LAST - 1:])
"""


@pytest.mark.slow
def test_long_without_share(tmp_path):
    """Samples that have only filled batches stay the next ones."""
    output = said(tmp_path, "python3", script(tmp_path, WAITING))
    assert output == "100001 [[(0, 1)], [(0, 1)]]\n", output


WRONG = {
    "mapped": ("data.TensorDataset(torch.ones(9))", "batch_size=3", "", "stream=True) is for iterable data sets"),
    "batches": ("Stream()", "batch_size=None", "", "a stream with batch_size=None is of batches already"),
    "length": ("Stream()", "batch_size=3", "len(loader)", "the number of steps of eddis.torch.loader(stream=True) is"),
    "without": ("Stream()", "batch_size=3", "", "an iterable data set gives samples in its own order")}


@pytest.mark.slow
@pytest.mark.parametrize("what", WRONG)
def test_refused(tmp_path, what):
    dataset, size, line, told = WRONG[what]
    program = script(tmp_path, f"""class Stream(data.IterableDataset):
    def __iter__(self):
        return iter(range(9))


loader = eddis.loader(data.DataLoader({dataset}, {size}), stream={what != "without"})
{line}
""")
    code, output = ended(tmp_path, "python3", program)
    assert code == 1 and told in output, output


@pytest.mark.slow
def test_too_short(tmp_path):
    """A stream that has no batch for the first step says so, on all ranks."""
    program = script(tmp_path, """class Stream(data.IterableDataset):
    def __iter__(self):
        return iter([torch.ones(1)] * (3 if eddis.rank() == 1 else 90))


loader = eddis.loader(data.DataLoader(Stream(), batch_size=4), stream=True)
model = eddis.attach(torch.nn.Linear(1, 1))
for _ in range(3):
    for x in loader:
        eddis.weighted(model(x).mean()).backward()
""")
    code, output = ended(tmp_path, *job(program, options=["-n", 2], restarts=0, batch__global=8, batch__rebalance="off",
                                        devices="[{rate: 1, a_ms: 1, c_ms: 1}, {rate: 1}]"))
    assert code == 1 and "the stream of rank 1 has fewer samples than its batch of the first step" in output, output
