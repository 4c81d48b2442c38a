# SPDX-License-Identifier: Apache-2.0
"""test_state.py - jobs that lose a worker, are stopped, and go on: the same numbers, every sample once"""

from __future__ import annotations

import re
import signal

import pytest

import kept
from rows import slow
from started import ended, job, script

SAMPLES, EPOCHS = 96, 6


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unbroken") / "out"
    code, output = kept.run(folder)
    assert code == 0, output
    return folder


def assert_once(*parts):
    assert kept.times(*parts) == {n: EPOCHS for n in range(SAMPLES)}


def job_of(output):
    """Its name."""
    return re.search(r"job (\S+)", output)[1]


def said_at_end(output):
    """What rank 0 says."""
    return re.search(r"rank 0: (.*)", output)[1]


def assert_equal(folder, parts, unbroken, ranks=3):
    """The parts are of each rank its steps, in order."""
    assert kept.distance(folder, unbroken) <= 1e-12
    assert_once(*parts.values())
    whole = kept.lines(unbroken)
    for rank in range(ranks):
        expected = kept.steps(whole[rank])
        assert [row["step"] for row in parts[rank]] == [row["step"] for row in expected]
        for name in ("rate", "scale", "epoch", "random"):
            assert [row[name] for row in parts[rank]] == [row[name] for row in expected], (rank, name)


def test_killed(tmp_path, unbroken):
    """It goes on from the end of an epoch of 8 steps, and then from the middle of one, of which samples were loaded
    ahead."""
    folder = tmp_path / "out"
    code, output = kept.run(folder, "at=1:9,0:14", "do=kill", "workers=2", checkpoint__every=4)
    assert code == 0 and "2 restarts" in output and "Warning" not in output, output
    assert said_at_end(output) == "resumed True, steps 48, kept True, ended [0, 1, 2, 3, 4, 5]"
    one, two, three = (kept.lines(folder, generation) for generation in (1, 2, 3))
    parts = {rank: kept.kept(one[rank]) + kept.kept(two[rank]) + kept.steps(three[rank]) for rank in range(3)}
    assert [len(kept.kept(rows[0])) for rows in (one, two)] == [8, 4]
    assert_equal(folder, parts, unbroken)
    assert len({row["scale"] for row in parts[0]}) > 4


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["async", "hybrid"])
def test_killed_models(tmp_path, mode):
    folder = tmp_path / "out"
    code, output = kept.run(folder, "at=1:16", "do=kill", mode=mode)
    assert code == 0 and "1 restart" in output and "resumed True" in said_at_end(output), output
    first, second = kept.lines(folder, 1), kept.lines(folder, 2)
    assert_once(*map(kept.kept, first.values()), *map(kept.steps, second.values()))


@pytest.mark.parametrize("mode", ["sync", slow("async"), slow("hybrid")])
def test_interrupted(tmp_path, unbroken, mode):
    """Ctrl-C while the others wait for a worker, which they do not in other modes, and on with a worker less."""
    folder, more = tmp_path / "out", tmp_path / "more"
    code, output = kept.stopped(folder, signal.SIGINT, "at=1:10" if mode == "sync" else "at=*:10", mode=mode)
    assert code == 130, output
    code, output = kept.resumed(tmp_path, job_of(output), kept.job(more, mode=mode, workers=2))
    assert code == 0 and "resumed True" in said_at_end(output), output
    first, second = kept.lines(folder), kept.lines(more)
    parts = {rank: kept.kept(first[rank]) + kept.steps(second.get(rank, [])) for rank in first}
    assert_once(*parts.values())
    if mode == "sync":
        assert kept.distance(more, unbroken) <= 1e-12
        assert len(kept.kept(first[0])) == len(kept.steps(first[0]))  # it was saved where it stopped


@pytest.mark.slow
def test_terminated(tmp_path, unbroken):
    """SIGTERM, and on with a worker more, which draws random numbers of its own."""
    folder, more = tmp_path / "out", tmp_path / "more"
    code, output = kept.stopped(folder, signal.SIGTERM, "at=0:3", workers=2)
    assert code == 75 and "--resume" in output, output
    code, output = kept.resumed(tmp_path, job_of(output), kept.job(more))
    assert code == 0 and output.count("resumed True, steps 48, kept True") == 3, output
    first, second = kept.lines(folder), kept.lines(more)
    assert kept.distance(more, unbroken) <= 1e-12
    assert_once(*map(kept.kept, first.values()), *map(kept.steps, second.values()))
    drawn = [row["random"][0] for rows in (*first.values(), *second.values()) for row in kept.steps(rows)]
    assert len({*drawn}) == len(drawn)


MOMENTUM = """import sys

model = torch.nn.Linear(1, 1)
optimizer = eddis.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.25))
seen = set()
optimizer.register_step_pre_hook(lambda *_: seen.add(tuple(optimizer.param_groups[0][option]
                                                           for option in ("momentum", "nesterov"))))
loader = eddis.loader(data.DataLoader(data.TensorDataset(torch.ones(16, 1)), batch_size=4))
state = eddis.State(model=model, optimizer=optimizer)
for _ in loader.epochs(int(sys.argv[1])):
    for x, in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
if eddis.rank() == 0:
    print(f"resumed {state.resumed}: steps by {seen}, then {optimizer.param_groups[0]['momentum']}", flush=True)
"""


@pytest.mark.slow
def test_momentum_of_the_job(tmp_path):
    """A job's momentum holds in its steps alone, also where the checkpoint is of a job that had another."""
    program, told = script(tmp_path, MOMENTUM), []
    jobs = (2, "sync", {}), (4, "async", {"sync__momentum": 0.9}), (6, "sync", {})
    checkpoint = []
    for epochs, mode, settings in jobs:
        command = job(program, epochs, options=[*checkpoint, "-n", "2"], sync__mode=mode, batch__global=4,
                      checkpoint__every=4, **settings)
        code, output = ended(tmp_path, *command)
        assert code == 0, output
        told += re.findall("(resumed.*)", output)
        checkpoint = ["--resume", job_of(output)]
    assert told == ["resumed False: steps by {(0.25, False)}, then 0.25",
                    "resumed True: steps by {(0.9, True)}, then 0.25",
                    "resumed True: steps by {(0.25, False)}, then 0.25"], told


@pytest.mark.parametrize("option, told", [
    ("width=8", "ValueError: checkpoint '.*' is of another model: its model has '0.weight' of 16x6, this one "
     "'0.weight' of 8x6"),
    slow("state=0", "RuntimeError: the job resumes from a checkpoint, but the script has no eddis.torch.State")])
def test_of_another_script(tmp_path, unbroken, option, told):
    checkpoint = max(unbroken.parent.glob("state/eddis/jobs/*/checkpoints/step-*"))
    code, output = kept.resumed(tmp_path, checkpoint, kept.job(tmp_path / "out", option, workers=1))
    assert code == 1 and re.search(told, output), output


@pytest.mark.slow
def test_of_another_program(tmp_path):
    """The library's own."""
    rows = tmp_path / "rows.csv"
    rows.write_text("".join(f"{i % 7},{i % 5},{i % 2}\n" for i in range(SAMPLES)))
    command = kept.job(tmp_path / "out", workers=1)
    code, output = ended(tmp_path, *command[:command.index("--") + 1], "eddis-train", "--data", rows, "--model",
                         "softmax", "--epochs", "1")
    assert code == 0, output
    checkpoint = max(tmp_path.glob("state/eddis/jobs/*/checkpoints/step-*"))
    code, output = kept.resumed(tmp_path, checkpoint, command)
    assert code == 1 and re.search("ValueError: checkpoint '.*' is not of eddis.torch.State", output), output


OWN_FILES = """import os, signal, sys

model = torch.nn.Linear(1, 1)
optimizer = eddis.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.01), model=model)
loader = eddis.loader(data.DataLoader(data.TensorDataset(torch.ones(16, 1)), batch_size=4), 4)
state = eddis.State(model=model, optimizer=optimizer, steps=0)
if state.resume():
    own = (state.folder / "own" / str(eddis.rank())).read_text(), (state.folder / "beside.txt").read_text()
    assert own == (str(state.steps),) * 2, own
for epoch in loader.epochs(4):
    for x, in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
        state.steps += 1
        if state.steps == 10 and not state.resumed and eddis.rank() == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if state.due():
            assert state.due() and state.folder.name.endswith(".part")
            (state.folder / "own").mkdir(exist_ok=True)
            (state.folder / "own" / str(eddis.rank())).write_text(str(state.steps))
            if eddis.rank() == 0:
                (state.folder / "beside.txt").write_text(str(state.steps))
print(f"rank {eddis.rank()}: resumed {state.resumed}, steps {state.steps}", flush=True)
"""


@pytest.mark.slow
def test_own_files(tmp_path):
    """Files that the script adds to a State of whole models are of the same step."""
    code, output = ended(tmp_path, *job(script(tmp_path, OWN_FILES), options=["-n", "3"], batch__global=6,
                                        checkpoint__every=3))
    assert code == 0 and "no checkpoint is written" not in output, output
    assert output.count("resumed True, steps 12") == 3, output
