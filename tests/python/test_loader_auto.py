# SPDX-License-Identifier: Apache-2.0
"""test_loader_auto.py - loader(workers="auto"): a loader whose worker waits for data gets more processes"""

from __future__ import annotations

import json
import re

import pytest

from rows import slow
from started import ended, job, said, script

# Each sample takes far longer than a step computes.  Launcher and worker seem to have the same processors.
SLOW = """import json, multiprocessing, os, sys, time

auto, n, processors = sys.argv[1] or None, int(sys.argv[2]), int(sys.argv[3])
os.sched_getaffinity = lambda pid: set(range(processors))


class Slow(data.Dataset):
    def __len__(self):
        return 48

    def __getitem__(self, number):
        time.sleep(0.01)
        return torch.tensor([float(number)])


class Ahead(data.DataLoader):
    def __iter__(self):
        held = []
        for batch in super().__iter__():
            held.append(batch)
            if len(held) > 1:
                yield held.pop(0)
        yield from held


options = json.loads(sys.argv[4])
kind = Ahead if options else data.DataLoader
loader = eddis.loader(kind(Slow(), batch_size=8, shuffle=True, num_workers=n, **options), workers=auto)
p = torch.nn.Parameter(torch.zeros(1))
optimizer = eddis.DistributedOptimizer(torch.optim.SGD([p], lr=0.1))
epochs, processes = [], []
for epoch in loader.epochs(4):
    epochs.append([])
    for x in loader:
        epochs[-1].append([int(k) for k in x.flatten()])
        if len(epochs[-1]) == 1:
            processes.append(len(multiprocessing.active_children()))
            assert all(getattr(loader._inner, name) == value for name, value in options.items())
        optimizer.zero_grad()
        (p * x).mean().backward()
        optimizer.step()
print(json.dumps({"rank": eddis.rank(), "epochs": epochs, "processes": processes}), flush=True)
"""


def rows_of(output):
    return [json.loads(text) for text in re.findall(r'\{"rank.*?\}', output)]


@pytest.mark.parametrize("n, options", [(0, "{}"), slow(1, '{"persistent_workers": true, "prefetch_factor": 3}')])
def test_more(tmp_path, n, options):
    """One process becomes two and so on, and the batches are those of a loader that keeps its number, also of a class
    of the script's own."""
    program = script(tmp_path, SLOW)
    before = [n, max(1, 2 * n), max(2, 4 * n)]
    code, output = ended(tmp_path, "python3", program, "auto", n, before[-1], options)
    row, = rows_of(output)
    assert code == 0 and row["processes"] == [*before, before[-1]], output
    told = re.findall(r"^eddis: rank 0 waited for data for (\d+) % of the last epoch: its loader (.*)$", output, re.M)
    assert all(5 <= int(part) <= 100 for part, _ in told), output
    assert [rest for _, rest in told[:2]] == [
        f"has {after} process{'es' * (after > 1)} from now on, not {n}" for n, after in zip(before, before[1:])], output
    # Why it keeps them depends on the machine's load: test_judged has a clock of its own.
    assert all(rest.startswith(f"keeps {before[-1]} processes, since ") for _, rest in told[2:]), output
    kept = said(tmp_path, "python3", program, "", n, 8, options)
    assert rows_of(kept)[0]["epochs"] == row["epochs"]
    assert rows_of(kept)[0]["processes"] == [n] * 4 and "waited" not in kept


@pytest.mark.slow
def test_two_workers(tmp_path):
    """Two that share 4 processors get two processes each at most, and each sample comes once an epoch."""
    program = script(tmp_path, SLOW)
    code, output = ended(tmp_path, *job(program, "auto", 0, 4, "{}", options=["-n", 2], batch__global=8, restarts=0))
    rows = rows_of(output)
    assert code == 0 and sorted(row["rank"] for row in rows) == [0, 1], output
    for row in rows:
        assert row["processes"] == [0, 1, 2, 2], output
        assert f"rank {row['rank']} waited for data for " in output, output
    assert len(re.findall("its loader has 2 processes from now on, not 1", output)) == 2, output
    for epoch in zip(*(row["epochs"] for row in rows)):
        assert sorted(k for own in epoch for batch in own for k in batch) == list(range(48)), output


# Rows of epochs, whose steps take these times on a clock of the test: (wait for a batch, all), in ns.
JUDGED = """import json, os, sys
from eddis.torch import _processes

os.environ["LOCAL_WORLD_SIZE"] = "2"
_processes.time.perf_counter_ns = lambda: now
worker, Mark = _processes.worker, _processes.Mark
worker.step.count = 4
for row in json.loads(sys.argv[1]):
    os.sched_getaffinity = lambda pid: set(range(8 if pid else row["own"]))
    worker.options["read_ahead"] = row["ahead"]
    for callbacks in worker.marks.values():
        callbacks.clear()
    made = data.DataLoader(data.TensorDataset(torch.ones(8)), batch_size=4, num_workers=row["n"])
    it, now, numbers = _processes.Processes(made, 0), 1, []
    for wait, step in row["epochs"]:
        it.begin()
        numbers.append(it.n)
        for _ in range(6):
            worker.mark(Mark.ASKED)
            now += wait
            worker.mark(Mark.GOT)
            now += step - wait
        worker.mark(Mark.ASKED)
    it.begin()
    print(*numbers, it.n, file=sys.stderr)
"""
ROWS = [
    # Up to the worker's own processors; up to its part of those that it shares with another
    ({}, "0 1 2 3 3", "this worker has 3 processors"),
    ({"own": 8}, "0 1 2 4 4", "this worker has 4 processors"),
    # Waits that matter little; waits that the second process has not made shorter
    ({"epochs": [(4, 100)] * 2}, "0 0 0", ""),
    ({"epochs": [(90, 100), (85, 100), (84, 100), (84, 100)]}, "0 1 2 2 2", "it waited as long with 1"),
    # Slow data, beside which the first process can only compute
    ({"own": 7, "epochs": [(99, 100), (98, 99), (49, 50)]}, "0 1 2 4", ""),
    # Steps read ahead
    ({"own": 6, "ahead": 8, "n": 2, "epochs": [(80, 100), (40, 60), (20, 40)]}, "2 4 4 4",
     "more would read over 8 steps ahead: call eddis.torch.init(read_ahead=), up to 64")]


def test_judged(tmp_path):
    """How many processes each epoch has, and why they get no more."""
    usual = {"own": 3, "n": 0, "ahead": 64, "epochs": [(80, 100), (60, 80), (30, 50), (20, 40)]}
    code, output = ended(tmp_path, "python3", script(tmp_path, JUDGED),
                         json.dumps([{**usual, **values} for values, _, _ in ROWS]))
    assert code == 0, output
    numbers, why = [], [""] * len(ROWS)
    for line in output.splitlines():
        if kept := re.search("its loader keeps .*, since (.*)", line):
            why[len(numbers)] = kept[1]
        elif line[0].isdigit():
            numbers.append(line)
    assert list(zip(numbers, why)) == [row[1:] for row in ROWS], output


@pytest.mark.slow
def test_bound(tmp_path):
    """Workers that eddis-run has bound to processors have all of these, also inside of a shell."""
    program = script(tmp_path, """import os, pathlib
from eddis.torch import _processes


def affinity(pid):
    is_bound = not pid or pathlib.Path(f"/proc/{pid}/comm").read_text().strip() in ("eddis-rank", "sh")
    return set(range(3 if is_bound else 8))


os.sched_getaffinity = affinity
eddis.broadcast_object(0)
print(f"rank {eddis.rank()} has", _processes.processors(), flush=True)
""")
    code, output = ended(tmp_path, "eddis-run", "-n", 2, "--set", "batch.global=8", "--", "sh", "-c",
                         f"python3 {program}; exit $?")
    assert code == 0 and sorted(re.findall(r"rank \d has \d", output)) == ["rank 0 has 3", "rank 1 has 3"], output


def test_refused(tmp_path):
    program = script(tmp_path, """class Stream(data.IterableDataset):
    def __iter__(self):
        return iter(range(8))


for data_set, options in (data.TensorDataset(torch.ones(8)), {"workers": 2}), (Stream(), {"workers": "auto",
                                                                                          "stream": True}):
    try:
        eddis.loader(data.DataLoader(data_set, batch_size=4), **options)
    except ValueError as error:
        print(error)
""")
    few, stream = said(tmp_path, "python3", program).splitlines()
    assert few.startswith('workers is 2, but it is "auto" or None: '), few
    assert "each of them may yield other samples of the stream" in stream, stream
