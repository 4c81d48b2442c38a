# SPDX-License-Identifier: Apache-2.0
"""test_lacking.py - scripts on workers whose memory is too small for their share: they get less, and the job goes on
"""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import framed
from rows import slow
from started import MINUTES, PROGRAMS, ended, environment, job, said, script

THREE = "[{rate: 1, a_ms: 1, c_ms: 0.05}, {rate: 1}, {rate: 1}]"  # 56 of 168 samples each
LOTS = 1000


def run(folder, how, most, *kind, restarts=1, batch=168):
    """Return the exit code, what the job said, and {rank: [(generation, samples)]} of this job."""
    out = folder / "out"
    out.mkdir(exist_ok=True)
    for path in out.iterdir():
        path.unlink()
    code, output = ended(folder, *job(PROGRAMS / "lacking.py", out, how, ",".join(map(str, most)), *kind, devices=THREE,
                                      batch__global=batch, batch__rebalance="off", checkpoint__every=10,
                                      restarts=restarts))
    return code, output, {int(path.name): [tuple(map(int, line.split())) for line in path.read_text().splitlines()]
                          for path in out.iterdir()}


@pytest.mark.parametrize("how, most, halves", [
    ("start", 28, [28]), slow("start", 3, [28, 14, 7, 3]), slow("later", 20, [28, 14]), slow("backward", 30, [28]),
    slow("thread", 30, [28])])
def test_fits(tmp_path, how, most, halves):
    """One restart that counts is allowed, and none is needed for less memory; the next job knows what fits."""
    code, output, steps = run(tmp_path, how, (LOTS, LOTS, most))
    assert code == 0 and output.count("done") >= 3, output
    assert [int(n) for n in re.findall(r"rank 2 ran out of memory .* gets at most (\d+) from now on", output)] == halves
    assert "OutOfMemoryError: CUDA out of memory" in output and "exited 79: out of memory" in output, output
    assert max(n for generation, n in steps[2] if generation == len(halves) + 1) == halves[-1], steps[2]
    code, output, steps = run(tmp_path, how, (LOTS, LOTS, most))
    assert code == 0 and "out of memory" not in output, output
    assert {generation for generation, _ in steps[2]} == {1} and max(n for _, n in steps[2]) == halves[-1], steps[2]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cublas", "nccl", "calloc", "cpu", "python", "cause"])
def test_kinds(tmp_path, kind):
    """All errors that say so."""
    code, output, _ = run(tmp_path, "start", (LOTS, LOTS, 30), kind)
    assert code == 0 and "rank 2 ran out of memory with 56 samples at once; it gets at most 28" in output, output


@pytest.mark.slow
def test_others(tmp_path):
    """Another error ends the script as ever, and one that the script catches does not end it."""
    code, output, _ = run(tmp_path, "start", (LOTS, LOTS, 30), "other", restarts=0)
    assert code == 1 and "exited 1" in output and "out of memory" not in output, output
    code, output, steps = run(tmp_path, "caught", (LOTS, LOTS, 30), "python")
    assert code == 0 and "caught" in output and "out of memory" not in output, output
    assert {generation for generation, _ in steps[2]} == {1}, steps


@pytest.mark.slow
def test_one_sample(tmp_path):
    """No plan helps: the job ends, and names the memory and its size."""
    code, output, steps = run(tmp_path, "start", (LOTS, LOTS, 0), restarts=3, batch=6)
    assert code == 79 and steps[2][-1][1] == 1, output
    assert "not started again: its memory is too small for one sample, so no plan helps" in output, output
    assert re.search(r"rank 2 is on node \S+, whose memory of \d+ bytes is too small for one sample", output), output


@pytest.mark.slow
@pytest.mark.parametrize("framework, program, options", [
    ("lightning", "lit.py", ()), ("transformers", "trainer.py", ("own",))])
def test_frameworks(tmp_path, framework, program, options):
    """They let the exception through."""
    pytest.importorskip(framework)
    ranks = framed.broken(tmp_path, program, *options, do="memory", where="forward", checkpoint__every=8,
                          told=r"rank 1 \(.*\) exited 79: out of memory at step 13")
    assert {split[1] for split in framed.splits(ranks)} == {3}


HOOKS = """import os, sys, threading
from eddis._memory import exit_by_code
{before}
exit_by_code(lambda: threading.current_thread().name == "steps", os._exit)
def fails():
    raise MemoryError
def steps(fails=fails):
    thread = threading.Thread(target=fails, name="steps")
    thread.start()
    thread.join()
{then}
print("goes on")
"""
HANDED_ON = "threading.excepthook = lambda a: sys.excepthook(a.exc_type, a.exc_value, a.exc_traceback)"
CAUGHT = "try:\n    fails()\nexcept MemoryError:\n    sys.excepthook(*sys.exc_info())"
RAISES = "def hook(a):\n    raise ValueError\nthreading.excepthook = hook"


@pytest.mark.parametrize("before, then, code", [
    ("", "fails()", 79), ("", "steps()", 79), (HANDED_ON, "steps()", 79), (RAISES, "steps()", 79), ("", CAUGHT, 0),
    ("", "threading.Thread(target=fails).start()", 0), ("", "sys.exit(3)", 3), ("", "raise KeyboardInterrupt", -2),
    ("sys.excepthook = lambda *_: sys.exit(4)", "fails()", 4)],
    ids=["script", "steps", "handed-on", "raises", "caught", "thread", "exit", "interrupt", "own-exit"])
def test_hooks(tmp_path, before, then, code):
    """Only an exception that ends the script, or the thread of its steps, gives it the exit code."""
    done = subprocess.run([sys.executable, "-c", HOOKS.format(before=before, then=then)], text=True,
                          timeout=MINUTES, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment(tmp_path))
    assert done.returncode == code and ("goes on" in done.stdout) == (code == 0), done


PEAKS = """from eddis import _worker

peaks = iter(range(1000, 2000, 10))
torch.cuda.is_initialized, torch.cuda.current_device = lambda: True, lambda: 3
torch.cuda.max_memory_reserved = lambda device: next(peaks) + device
told = []
model = torch.nn.Linear(1, 1)
loader = eddis.loader(data.DataLoader(data.TensorDataset(torch.ones(80, 1)), batch_size=2))
optimizer = eddis.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model=model)
_worker.worker.marks[_worker.Mark.ENDS].append(lambda: told.append(_worker.worker.report.memory_bytes))
for epoch in loader.epochs(1):
    for (x,) in loader:
        model(x).sum().backward()
        optimizer.step()
print(told)
"""


def test_peaks(tmp_path):
    """The peak of the worker's own GPU is looked up at some steps, and reported at each."""
    told = eval(said(tmp_path, "python3", script(tmp_path, PEAKS)))
    assert len(told) == 40 and told[0] == 1003 and told == sorted(told), told
    assert 8 < len(set(told)) < 13 and told[:3] == [1003, 1013, 1023], told
