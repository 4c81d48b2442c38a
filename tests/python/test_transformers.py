# SPDX-License-Identifier: Apache-2.0
"""test_transformers.py - Hugging Face's Trainer with the plan's batches: three ranks make what one process makes of all
samples"""

from __future__ import annotations

import signal

import pytest
import torch

import framed
from started import ended

transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")
pytestmark = pytest.mark.slow

import trainers  # noqa: E402


def far(ranks, name, train=framed.train):
    """Return the distance to one process, and the losses of its steps."""
    kind, losses = trainers.KINDS[name], []
    model = kind.model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0)
    scheduler = transformers.get_linear_schedule_with_warmup(optimizer, 0, len(framed.unions(ranks)))
    optimizer.register_step_post_hook(lambda *_: scheduler.step())

    def loss_of(numbers):
        loss = kind.loss(model, kind.batch(numbers))
        losses.append(loss.item())
        return loss

    return train(ranks, model.train(), optimizer, loss_of, 0.5), losses


def assert_exact(ranks, name, times=1):
    """The model is that of one process, and so is the loss that every step has logged.  times: how often as long as
    usual it was trained."""
    kind, (away, losses) = trainers.KINDS[name], far(ranks, name)
    logged = [row["loss"] for row in ranks[0]["log"] if "loss" in row]
    worst = max(abs(a - b) for a, b in zip(losses, logged, strict=True))
    print(f"{name}: {away:.1e}, logged losses {worst:.1e}")
    assert away <= kind.tolerance * times and worst <= 1e-5


@pytest.mark.parametrize("kind, pieces, options", [
    ("own", 1, []), ("own", 4, []), ("tokens", 1, []), ("tokens", 4, []), ("classes", 1, []),
    ("classes", 2, ["mean=1"])])
def test_exact(tmp_path, kind, pieces, options):
    ranks, output = framed.trained(tmp_path, "trainer.py", kind, f"pieces={pieces}", *options)
    assert framed.splits(ranks)[0] == (3, 6, 15) and "gradients by torch" in output
    assert "stopped by the program" not in output
    framed.assert_once(ranks, 2)
    assert_exact(ranks, kind)
    assert far(ranks, kind, framed.train_plainly)[0] > 1e-3
    evaluated = [[row["eval_loss"] for row in rank["log"] if "eval_loss" in row] for rank in ranks]
    assert len(evaluated[0]) == 2 and evaluated[0][1] < evaluated[0][0]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["checkpoint-10", "checkpoint-20"]
    assert (tmp_path / "out/checkpoint-20/trainer_state.json").exists()


def test_resumed(tmp_path):
    """Trainer's own checkpoint of the first epoch: a second job makes the second one."""
    parts = []
    for name, *options in ("whole", ), ("rest", f"resume={tmp_path}/whole/out/checkpoint-10"):
        (tmp_path / name).mkdir()
        parts.append(framed.trained(tmp_path / name, "trainer.py", "own", *options)[0])
    for before, rank in zip(*parts, strict=True):
        assert len(rank["samples"]) == 10
        rank["samples"][:0] = before["samples"][:10]
    framed.assert_once(parts[1], 2)
    assert_exact(parts[1], "own")


@pytest.mark.parametrize("options", [[], ["state=1"]])
def test_stopped(tmp_path, options):
    """Any rank may end the training; all end it after the same step, and Trainer saves first.  A State changes nothing,
    since the job makes no checkpoint."""
    ranks, output = framed.trained(tmp_path, "trainer.py", "own", "stop=4", "strategy=steps", *options)
    n = len(ranks[0]["samples"])
    assert 5 <= n <= 8 and len(framed.unions(ranks)) == n and "stopped by the program" in output
    assert [path.name for path in (tmp_path / "out").iterdir()] == [f"checkpoint-{n}"]


def test_no_step(tmp_path):
    found, output = ended(tmp_path, *framed.job(tmp_path, "trainer.py", "own", "size=20"))
    assert found == 1 and "an epoch has no step, since the data set has 20 samples, fewer than the batch of all " \
                          "workers, 24" in output, output


@pytest.mark.parametrize("kind", ["own", "tokens"])
def test_without_samples(tmp_path, kind):
    ranks, _ = framed.trained(tmp_path, "trainer.py", kind, emulate=framed.NO_SAMPLES, batch__min=0)
    assert not any(ranks[0]["samples"])
    assert_exact(ranks, kind)


def test_replan(tmp_path):
    ranks, epochs = framed.replanned(tmp_path, "trainer.py", "own")
    assert_exact(ranks, "own", times=epochs // 2)


def test_bf16(tmp_path):
    """Each rank rounds its own passes to 8 bits, and the difference to one process is of that size only."""
    ranks, _ = framed.trained(tmp_path, "trainer.py", "tokens", "bf16=1", "rate=0.1")
    assert framed.splits(ranks)[0] == (3, 6, 15)
    framed.assert_once(ranks, 2)
    kind = trainers.KINDS["tokens"]

    def away(train, **rounding):
        model = kind.model()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scheduler = transformers.get_linear_schedule_with_warmup(optimizer, 0, len(framed.unions(ranks)))
        optimizer.register_step_post_hook(lambda *_: scheduler.step())

        def loss_of(numbers):
            with torch.autocast("cpu", torch.bfloat16, **rounding):
                return kind.loss(model, kind.batch(numbers))

        return train(ranks, model.train(), optimizer, loss_of, 0.5)

    found = away(framed.train), away(framed.train, enabled=False), away(framed.train_plainly)
    print(*map("{:.1e}".format, found))
    assert found[0] <= 2e-3 and found[1] > 1e-5 and found[2] > 2 * 2e-3


@pytest.mark.parametrize("pieces", [1, 4])
def test_sharded(tmp_path, pieces):
    """Trainer shards the model by FSDP2."""
    ranks, _ = framed.trained(tmp_path, "trainer.py", "tokens", "fsdp=1", f"pieces={pieces}", "strategy=no")
    assert framed.splits(ranks)[0] == (3, 6, 15) and all(rank["sharded"] for rank in ranks)
    framed.assert_once(ranks, 2)
    assert_exact(ranks, "tokens")


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    return framed.trained(tmp_path_factory.mktemp("unbroken"), "trainer.py", "dropped", "state=1",
                          checkpoint__every=0)[0]


def logged(rank):
    """What Trainer has logged, but for its times."""
    return [{name: value for name, value in row.items() if "second" not in name and "runtime" not in name
             and name not in ("train_loss", "total_flos")} for row in rank["log"]]


def assert_like(ranks, unbroken):
    """Every rank ended with the bits of the unbroken run, and has logged the same."""
    for rank, expected in zip(ranks, unbroken, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(rank["model"], expected["model"], strict=True))
        assert logged(rank) == logged(expected)


@pytest.mark.parametrize("how", framed.ENDINGS)
def test_restarted(tmp_path, unbroken, how):
    """Trainer goes on from the job's checkpoint, which is of the middle of an epoch."""
    do, where, told = framed.ENDINGS[how]
    ranks = framed.broken(tmp_path, "trainer.py", "dropped", do=do, where=where, told=told, checkpoint__every=8)
    assert_like(ranks, unbroken)


@pytest.mark.parametrize("best, step", [("largest", 10), ("smallest", 20)])
def test_best(tmp_path, best, step):
    """Trainer finds its best model, of the first epoch or the last, although the job's checkpoints hold it, too."""
    out = tmp_path / "out"
    ranks, output = framed.trained(tmp_path, "trainer.py", "tokens", "state=1", f"best={best}", checkpoint__every=10)
    assert "no checkpoint is written" not in output, output
    assert all(rank["best"] == str(out / f"checkpoint-{step}") for rank in ranks)
    assert [path.name for path in out.iterdir()] == [f"checkpoint-{step}"]
    found = transformers.AutoModelForCausalLM.from_pretrained(out / f"checkpoint-{step}")
    assert all(torch.equal(a, b) for a, b in zip(ranks[0]["model"], found.parameters(), strict=True))
    kept = list(tmp_path.glob("state/eddis/jobs/*/checkpoints/step-*/checkpoint-*"))
    assert kept and all((path / "optimizer.pt").exists() for path in kept), "save_only_model is not for the job's"


@pytest.mark.parametrize("options", [[], ["pieces=2"]])
def test_restarted_with_the_epoch(tmp_path, unbroken, options):
    """The checkpoint is of the end of an epoch."""
    do, where, told = framed.ENDINGS["kill"]
    ranks = framed.broken(tmp_path, "trainer.py", "dropped", *options, do=do, where=where, told=told,
                          checkpoint__every=10)
    if options:
        (tmp_path / "unbroken").mkdir()
        unbroken = framed.trained(tmp_path / "unbroken", "trainer.py", "dropped", "state=1", *options,
                                  checkpoint__every=0)[0]
    assert_like(ranks, unbroken)


@pytest.mark.parametrize("workers, by", [(2, signal.SIGINT), (4, signal.SIGTERM)])
def test_other_ranks(tmp_path, workers, by):
    """Ctrl-C and SIGTERM save first, and other ranks take the rest."""
    first, name = framed.stopped(tmp_path / "first", by, "trainer.py", "own")
    rest = framed.resumed(tmp_path / "rest", name, "trainer.py", "own", workers=workers)
    whole = framed.together(first, rest)
    framed.assert_once(whole, 2)
    assert_exact([{**whole[0], "log": rest[0]["log"]}], "own")
