# SPDX-License-Identifier: Apache-2.0
"""test_endings.py - how scripts end: by themselves, in the midst of their steps, without a State, with few samples"""

from __future__ import annotations

import signal

import pytest

import kept
from rows import slow
from started import PROGRAMS, ended, job, said, script

REFUSED = (
    "ValueError: the sampler RandomSampler would", "ValueError: the sampler RandomSampler would",
    "ValueError: the sampler Own would",
    "TypeError: State's ends is of type builtin_function_or_method, which eddis.torch.State cannot keep",
    "TypeError: State's best is of type numpy.ndarray, which", "TypeError: scheduler is of type int, which",
    "ValueError: 'resumed' is a name of State's own", "RuntimeError: there is an eddis.torch.State already",
    "RuntimeError: an optimizer (SGD) is not in eddis.torch.State",
    "RuntimeError: parameter 'group0.2' is in no model of eddis.torch.State",
    "Error: eddis cannot be used in a child made by fork", "ValueError: the weights of all workers are 0",
    "RuntimeError: epoch 0 went by without a loop", "RuntimeError: the first step has begun", "done")
ALIKE = "[{rate: 1, a_ms: 1, c_ms: 0.1}, {rate: 1}]"


@pytest.mark.parametrize("how, code, told", [
    (("do=exit", "status=4"), 4, "exited 4"), slow(("do=raise",), 1, "IndexError: pop from empty list"),
    slow(("do=_exit", "status=5"), 5, "exited 5"),
    slow(("do=kill", "signal=11"), 128 + 11, "Segmentation fault")])
def test_failing(tmp_path, how, code, told):
    """At a step's end, of rank 1."""
    found, output = kept.run(tmp_path / "out", "at=1:3", *how, workers=2, restarts=0)
    assert found == code and "rank 1" in output and told in output, output
    assert "rank 0" not in output, output  # it was stopped


def test_interrupted(tmp_path):
    """A worker that waits for another one gets Ctrl-C, and not the other."""
    code, output = kept.stopped(tmp_path / "out", signal.SIGINT, "at=1:3", rank=0, workers=2, restarts=0)
    assert code == 130 and "KeyboardInterrupt" in output and "rank 0" in output, output


@pytest.mark.parametrize("mode", ["sync", slow("async")])
def test_stop(tmp_path, mode):
    """Asked for by one worker; epochs are left."""
    code, output = kept.run(tmp_path / "out", "stop=1:10", mode=mode, workers=2, restarts=0)
    assert code == 0, output
    steps = [len(kept.steps(rows)) for rows in kept.lines(tmp_path / "out").values()]
    assert len(steps) == 2 and all(steps), steps
    assert all(10 < n < 48 for n in steps) if mode == "sync" else sum(steps) < 2 * 48, steps
    assert mode == "async" or steps[0] == steps[1]


@pytest.mark.slow
def test_without_state(tmp_path):
    """The job asks for checkpoints; none is written, and nobody waits for one."""
    code, output = kept.stopped(tmp_path / "out", signal.SIGINT, "at=1:10", "state=0", workers=2)
    assert code == 130 and output.count("the script has no eddis.torch.State") == 1, output
    assert "--resume" not in output and not list(tmp_path.glob("state/eddis/jobs/*/checkpoints/step-*")), output


@pytest.mark.parametrize("mode, tail", [("sync", 1), slow("async", 1), slow("sync", 0), slow("sync", 2)])
def test_tail(tmp_path, mode, tail):
    """Behind the whole batches of an epoch, under batch normalisation, which takes two samples or none."""
    code, output = kept.run(tmp_path / "out", "batch_norm=1", f"samples={36 + tail}", "epochs=2", mode=mode)
    assert code == 0, output
    times = kept.times(*map(kept.steps, kept.lines(tmp_path / "out").values()))
    left_out = [2 if tail == 1 else 0]
    if mode == "async":  # ranges are cut at the epochs' border wherever that falls, with one sample on a side, or both
        left_out = range(4)
    assert 2 * (36 + tail) - sum(times.values()) in left_out and max(times.values()) == 2, times


@pytest.mark.parametrize("mode", ["async", slow("hybrid")])
def test_untold(tmp_path, mode):
    """Nobody tells how many epochs there are: workers just end, at unlike moments, some while others write a
    checkpoint."""
    settings = {"sync__groups": 2} if mode == "hybrid" else {}
    code, output = kept.run(tmp_path / "out", "told=0", "epochs=3", mode=mode, restarts=0, **settings)
    assert code == 0, output
    times = kept.times(*map(kept.steps, kept.lines(tmp_path / "out").values()))
    assert len(times) == 96 and set(times.values()) == {3}, times


@pytest.mark.slow
def test_left(tmp_path):
    """The same of workers with one model, in a step."""
    code, output = kept.run(tmp_path / "out", "told=0", "leave=9", workers=2, restarts=0)
    assert code == 0 and "rank 0: resumed False, steps 9" in output, output


def test_left_before(tmp_path):
    """Each epoch is left before a backward pass, and the next one begins with its batch; behind the last one the job is
    done."""
    code, output = ended(tmp_path, *job(PROGRAMS / "left.py", devices=ALIKE, options=["-n", "2"], restarts=0,
                                        batch__global=8))
    assert code == 0 and "stopped by the program after step 8 of 20" in output, output
    assert "0,1 (2 ranks): epoch 3 has been" in output and "0,1 (2 ranks): model" in output, output


def test_refused(tmp_path):
    lines = said(tmp_path, "python3", PROGRAMS / "refused.py").splitlines()
    assert len(lines) == len(REFUSED), lines
    for line, begin in zip(lines, REFUSED):
        assert line.startswith(begin), lines


ALONE = """import sys

p = torch.nn.Parameter(torch.zeros(1))
loader = eddis.loader(data.DataLoader(data.TensorDataset(torch.ones(80, 1)), batch_size=4))
optimizer = eddis.DistributedOptimizer(torch.optim.SGD([p], lr=0.1))
EPOCHS, at = 5, int(sys.argv[2])
for epoch in loader.epochs(EPOCHS) if sys.argv[1] == "told" else range(EPOCHS):
    for step, (batch,) in enumerate(loader):
        (p * batch).sum().backward()
        optimizer.step()
        if (epoch, step, eddis.rank()) == (at, 3, 1):
            break
"""


@pytest.mark.slow
@pytest.mark.parametrize("epochs, at, told", [
    ("told", 1, "RuntimeError: at step 14 rank 1 is in its loop 3 over eddis.torch.loader and rank 0 still in loop 2"),
    ("told", 4, "has ended its steps with step 43, but rank 0 waits for it in the next step"),
    ("untold", 4, "has ended its steps with step 43, but rank 0 waits for it in the next step")])
def test_left_alone(tmp_path, epochs, at, told):
    """One worker leaves an epoch early and goes on with the next, or the last one, and is named at once."""
    code, output = ended(tmp_path, *job(script(tmp_path, ALONE), epochs, at, devices=ALIKE, batch__global=8, restarts=0,
                                        timeouts__hang="1h"))
    assert code == (1 if at == 1 else 124) and told in output, output
