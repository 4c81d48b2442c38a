# SPDX-License-Identifier: Apache-2.0
"""test_loader.py - batches of loaders: whose size they are, alone, under mpirun and where the plan changes"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter

import pytest

from rows import slow
from started import MINUTES, PROGRAMS, ended, environment, job, said, script

BATCHES = PROGRAMS / "batches.py"


@pytest.mark.parametrize("options, told", [
    (("samples=600", "batch=256", "epochs=2"), "[256, 256, 88, 256, 256, 88], 3 an epoch"),
    slow(("samples=100", "batch=32", "sampler=1"), "[32, 32, 32], 3 an epoch")])
def test_alone(tmp_path, options, told):
    """Those that the script says, as without eddis."""
    assert said(tmp_path, "python3", BATCHES, *options) == f"rank 0: {told}\n"


@pytest.mark.slow
def test_mpirun(tmp_path):
    """Each worker has its own of the size that the script says."""
    output = said(tmp_path, "mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", "python3", BATCHES,
                  "samples=300", "batch=48")
    # mpirun may put one's line amidst the other's.
    lines = re.findall(r"rank \d: [^r]*epoch", output)
    assert sorted(lines) == [f"rank {rank}: [48, 48, 48, 6], 4 an epoch" for rank in range(2)]


@pytest.mark.slow
def test_joined_before(tmp_path):
    """By a collective, when nobody knew the size."""
    code, output = ended(tmp_path, "python3", BATCHES, "samples=600", "batch=256", "early=1")
    assert code == 1 and "RuntimeError: the job was joined with batches of 64 samples" in output, output


@pytest.mark.slow
def test_unlike_loaders(tmp_path):
    code, output = ended(tmp_path, "mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", "python3", BATCHES,
                         "samples=60", "batch=8", "loaders=0,2")
    assert code == 1 and "set the largest number of all workers with eddis.torch.init(read_ahead=)" in output, output


def test_slurm_signals_its_readers(tmp_path):
    """So that the job saves Slurm may signal all processes: those that read samples live on; others end them."""
    program = script(tmp_path, """import multiprocessing, sys

seen = []
p = torch.nn.Parameter(torch.zeros(1))
optimizer = eddis.DistributedOptimizer(torch.optim.SGD([p], lr=1.0))
loader = eddis.loader(data.DataLoader(data.TensorDataset(torch.arange(64.0)), batch_size=2, num_workers=2,
                                      worker_init_fn=lambda number: None))
for batch, in loader:
    if not seen:
        print(*(child.pid for child in multiprocessing.active_children()), flush=True)
        sys.stdin.readline()
    seen += batch.tolist()
    optimizer.zero_grad()
    (p * batch).sum().backward()
    optimizer.step()
print(sorted(seen) == list(range(64)), flush=True)
""")
    env = dict(environment(tmp_path), EDDIS_SLURM_PID=str(os.getpid()))
    for is_slurm in True, False:
        with subprocess.Popen([sys.executable, program], env=env, cwd=tmp_path, text=True, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as run:
            readers = [int(pid) for pid in run.stdout.readline().split()]
            assert len(readers) == 2
            for pid in readers:
                if is_slurm:
                    os.kill(pid, signal.SIGTERM)
                    os.kill(pid, signal.SIGUSR1)
                else:
                    subprocess.run(["kill", "-TERM", str(pid)], check=True)
            output = run.communicate("\n", timeout=MINUTES)[0]
        assert (run.returncode == 0) == is_slurm, output
        # What a reader had begun to hand over goes with it: then that is what the loader says.
        told = ["True"] if is_slurm else ["killed by signal: Terminated", "Connection reset by peer"]
        assert any(words in output for words in told), output


def test_loops(tmp_path):
    """A look at a batch, a zip that ends before the loader, and tests cost no sample and no epoch."""
    output = said(tmp_path, "mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", "python3",
                  PROGRAMS / "loops.py")
    # mpirun may put one's line amidst the other's.
    ranks = [json.loads(text) for text in re.findall(r'\{"rank[^}]*\}', output)]
    assert len(ranks) == 2, output
    for row in ranks:
        # Of five steps each, but that the second was left after two and has gone on in the third
        assert row["epochs"] == [0, 1, 2, 3] and row["steps"] == 5 + 2 + 3 + 5, row
        assert row["tests"] == [60] * 5, row
        assert (row["size"], row["sampler"], row["workers"], row["factor"]) == (6, 60, 0, 2), row
    times = Counter(n for row in ranks for n in row["samples"])
    assert len(times) == 60 and set(times.values()) == {3}, times


def test_left_used(tmp_path):
    """A batch whose gradients have only been added to others' is a used one, also of a worker alone."""
    program = script(tmp_path, """\
loader = eddis.loader(data.DataLoader(data.TensorDataset(torch.arange(16.0)), batch_size=2))
p, frozen = (torch.nn.Parameter(torch.zeros(1)) for _ in range(2))
optimizer = eddis.DistributedOptimizer(torch.optim.SGD([p, frozen], lr=0.1))
frozen.requires_grad_(False)
seen = []
for _ in range(2):
    for k, (batch,) in enumerate(loader):
        seen += batch.tolist()
        (p * batch).sum().backward()
        if k % 2:
            optimizer.step()
            optimizer.zero_grad()
        if k == 2:
            break
print(len(seen), "samples", len({*seen}), "different")
""")
    assert said(tmp_path, "python3", program) == "12 samples 12 different\n"


@pytest.mark.slow
@pytest.mark.parametrize("yields, told", [
    ("if k % 2: yield x", "Own.__iter__ has ended with 2 batches left"),
    ("yield x; yield x", "Own.__iter__ has yielded a batch that is of no step")])
def test_other_batches(tmp_path, yields, told):
    """A class of the script's own yields one batch for each that it gets."""
    program = script(tmp_path, f"""class Own(data.DataLoader):
    def __iter__(self):
        for k, x in enumerate(super().__iter__()):
            {yields}

p = torch.nn.Parameter(torch.zeros(1))
optimizer = eddis.DistributedOptimizer(torch.optim.SGD([p], lr=1.0))
for batch, in eddis.loader(Own(data.TensorDataset(torch.ones(8)), batch_size=2)):
    optimizer.zero_grad()
    (p * batch).sum().backward()
    optimizer.step()
""")
    code, output = ended(tmp_path, "python3", program)
    assert code == 1 and f"RuntimeError: {told}" in output, output


@pytest.mark.parametrize("repeats", [slow(True), slow(False)])
def test_repeating(tmp_path, repeats):
    """A batch sampler that only repeats another, as those do that keep readers between epochs; and numbers of epochs
    that begin with 1."""
    each = "it" if repeats else "it[:1]"
    program = script(tmp_path, f"""class Repeated:
    def __init__(self, sampler):
        self.sampler = sampler

    def __iter__(self):
        while True:
            yield from ({each} for it in self.sampler)


class Infinite(data.DataLoader):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        object.__setattr__(self, "batch_sampler", Repeated(self.batch_sampler))
        self.iterator = super().__iter__()

    def __len__(self):
        return len(self.batch_sampler.sampler)

    def __iter__(self):
        for _ in range(len(self)):
            yield next(self.iterator)


loader = eddis.loader(Infinite(data.TensorDataset(torch.arange(10.0)), batch_size=4, num_workers=1, shuffle=True))
p = torch.nn.Parameter(torch.zeros(1))
optimizer = eddis.DistributedOptimizer(torch.optim.SGD([p], lr=0.1))
for epoch in loader.epochs(range(1, 3)):
    loader.sampler.set_epoch(epoch)
    seen = []
    for batch, in loader:
        optimizer.zero_grad()
        (p * batch).sum().backward()
        optimizer.step()
        seen += batch.tolist()
    print(epoch, len(loader), len(loader.sampler), sorted(seen) == list(range(10)), loader.batch_sampler is not None)
print(sum(len(batch) for batch, in loader))
""")
    code, output = ended(tmp_path, "python3", program)
    if repeats:
        assert (code, output) == (0, "1 3 10 True True\n2 3 10 True True\n10\n"), output
    else:
        assert code == 1 and "a batch sampler of its own (Repeated) decides" in output, output


@pytest.mark.parametrize("seed", ["", slow("generator=torch.Generator().manual_seed(3)")])
def test_split(tmp_path, seed):
    """Workers whose data are other samples, of a split that nothing has seeded, also inside of another data set."""
    program = script(tmp_path, f"""class Twice(data.Dataset):
    def __init__(self, parts):
        self.parts = parts

    def __len__(self):
        return len(self.parts[0])

    def __getitem__(self, number):
        return self.parts[0][number]


train, test = data.random_split(data.TensorDataset(torch.arange(40.0)), [30, 10], {seed})
loader = eddis.loader(data.DataLoader(data.Subset(Twice([train, test]), range(20)), batch_size=10))
p = torch.nn.Parameter(torch.zeros(1))
optimizer = eddis.DistributedOptimizer(torch.optim.SGD([p], lr=0.1))
for epoch in loader.epochs(1):
    for batch, in loader:
        (p * batch).sum().backward()
""")
    code, output = ended(tmp_path, *job(program, options=["-n", 2], batch__global=10, restarts=0))
    if seed:
        assert code == 0, output
    else:
        assert code == 1 and "has other samples on rank 1 than on rank 0, as random_split makes it" in output, output


# Rank 1 is in its first step until rank 0 has taken so many samples that it has made more steps than the plan has.
ONE_CYCLE = """import pathlib
import sys
import time

EPOCHS, MORE = 2, 5
seen, short = pathlib.Path(sys.argv[1]), int(sys.argv[2])
loader = eddis.loader(data.DataLoader(data.TensorDataset(torch.ones(80, 1)), batch_size=8))
p = torch.nn.Parameter(torch.zeros(1))
optimizer = eddis.DistributedOptimizer(torch.optim.SGD([p], lr=0.1, momentum=0.9))
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=EPOCHS * len(loader) - short)
steps = 0
for epoch in loader.epochs(EPOCHS):
    for batch, in loader:
        while eddis.rank() and not seen.exists():
            time.sleep(0.01)
        group, = optimizer.param_groups
        if steps >= 19 and not short:
            assert abs(group["lr"] - group["min_lr"]) < 1e-12 and group["momentum"] == 0.95, (steps, group)
        optimizer.zero_grad()
        (p * batch).mean().backward()
        optimizer.step()
        schedule.step()
        steps += 1
        if steps == 20 + MORE:
            seen.touch()
print("steps", steps, "of", schedule.total_steps)
"""


@pytest.mark.slow
@pytest.mark.parametrize("short", [0, 1])
def test_one_cycle(tmp_path, short):
    """OneCycleLR of all steps that a loader says keeps its last rate on a worker that makes more; one of fewer is the
    script's mistake."""
    program = script(tmp_path, ONE_CYCLE)
    code, output = ended(tmp_path, *job(program, tmp_path / "seen", short, batch__global=8, batch__rebalance="off",
                                        sync__mode="async", restarts=0,
                                        devices="[{rate: 1, a_ms: 1, c_ms: 0.1}, {rate: 1}]"))
    if short:
        assert code == 1 and "Tried to step 20 times. The specified number of total steps is 19" in output, output
    else:
        assert code == 0 and output.count("eddis: rank 0 makes more than the 20 steps of its OneCycleLR") == 1, output
        made = {int(n) for n in re.findall(r"steps (\d+) of 20", output)}
        assert len(made) == 2 and max(made) >= 25 and sum(made) == 40, output
