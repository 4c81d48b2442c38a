# SPDX-License-Identifier: Apache-2.0
"""test_lightning.py - Lightning with the plan's batches: three ranks make what one process makes of all samples"""

from __future__ import annotations

import signal

import pytest
import torch
from torch.nn import functional

import framed
import kept
import training
from started import ended

pytest.importorskip("lightning")
pytestmark = pytest.mark.slow


def far(ranks, train=framed.train):
    """Return the distance to one process."""
    x, y = training.data()
    torch.manual_seed(3)
    model = training.mlp().double()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    return train(ranks, model, optimizer, lambda n: functional.cross_entropy(model(x[n]), y[n]), 0.5)


@pytest.mark.parametrize("pieces", [1, 4])
def test_exact(tmp_path, pieces):
    """Clipped, accumulated, and validated before the training and after each epoch."""
    ranks, output = framed.trained(tmp_path, "lit.py", f"pieces={pieces}")
    assert framed.splits(ranks)[0] == (3, 6, 15) and "gradients by torch" in output
    framed.assert_once(ranks, 2)
    assert far(ranks) <= 1e-12
    assert far(ranks, framed.train_plainly) > 1e-3
    assert "stopped by the program" not in output
    assert len({tuple(rank["validated"]) for rank in ranks}) == 1
    assert ranks[0]["validated"][-1] < ranks[0]["validated"][-2]
    assert [path.name for path in (tmp_path / "out").rglob("*.ckpt")] == ["epoch=1-step=20.ckpt"]


def test_stopped(tmp_path):
    """Any rank may end the training; all end it after the same step, and Lightning saves."""
    ranks, output = framed.trained(tmp_path, "lit.py", "stop=4")
    n = len(ranks[0]["samples"])
    assert 5 <= n <= 8 and len(framed.unions(ranks)) == n and "stopped by the program" in output
    assert [path.name for path in (tmp_path / "out").rglob("*.ckpt")] == [f"epoch=0-step={n}.ckpt"]


def test_without_samples(tmp_path):
    ranks, _ = framed.trained(tmp_path, "lit.py", emulate=framed.NO_SAMPLES, batch__min=0)
    assert not any(ranks[0]["samples"])
    assert far(ranks) <= 1e-12


def test_replan(tmp_path):
    ranks, epochs = framed.replanned(tmp_path, "lit.py")
    assert far(ranks) <= 5e-13 * epochs


def test_bf16(tmp_path):
    """Each rank rounds its own passes to 8 bits, and the difference to one process is of that size only."""
    ranks, _ = framed.trained(tmp_path, "lit.py", "bf16=1")
    assert framed.splits(ranks)[0] == (3, 6, 15)
    framed.assert_once(ranks, 2)
    x, y = training.data()

    def away(train, **rounding):
        torch.manual_seed(3)
        model = training.mlp()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def loss_of(numbers):
            with torch.autocast("cpu", torch.bfloat16, **rounding):
                return functional.cross_entropy(model(x[numbers].float()), y[numbers])

        return train(ranks, model, optimizer, loss_of, 0.5)

    found = away(framed.train), away(framed.train, enabled=False), away(framed.train_plainly)
    print(*map("{:.1e}".format, found))
    assert found[0] <= 2e-3 and found[1] > 1e-5 and found[2] > 2 * 2e-3


@pytest.mark.parametrize("what, words", [
    ("loader", "Lightning trains with a loader that does not follow the plan"),
    ("strategy", "give Trainer strategy='ddp'"),
    ("stream", "Lightning reads a batch ahead of a loader without a length"),
    ("state", "fit(..., ckpt_path=eddis.lightning.ckpt_path())")])
def test_refused(tmp_path, what, words):
    found, output = ended(tmp_path, *framed.job(tmp_path, "lit.py", f"wrong={what}", *["state=1"] * (what == "state")))
    assert found == 1 and words in output, output


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    return framed.trained(tmp_path_factory.mktemp("unbroken"), "lit.py", "drop=1", "state=1", checkpoint__every=0)[0]


def assert_like(ranks, unbroken):
    """Every rank ended with the bits of the unbroken run, and the validations that the restart made had its results."""
    for rank, expected in zip(ranks, unbroken, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(rank["model"], expected["model"], strict=True))
        assert rank["steps"] == expected["steps"] == 20
        assert rank["validated"][-1] == expected["validated"][-1]


@pytest.mark.parametrize("every", [8, 10])
@pytest.mark.parametrize("how", framed.ENDINGS)
def test_restarted(tmp_path, unbroken, how, every):
    """Lightning goes on from the job's checkpoint, which is of the middle of an epoch or of its end."""
    do, where, told = framed.ENDINGS[how]
    ranks = framed.broken(tmp_path, "lit.py", "drop=1", do=do, where=where, told=told, checkpoint__every=every)
    assert len(ranks[0]["samples"]) == 20 - every
    assert_like(ranks, unbroken)


@pytest.mark.parametrize("workers, by", [(2, signal.SIGINT), (4, signal.SIGTERM)])
def test_other_ranks(tmp_path, workers, by):
    """Ctrl-C and SIGTERM save first, and other ranks take the rest."""
    first, name = framed.stopped(tmp_path / "first", by, "lit.py")
    whole = framed.together(first, framed.resumed(tmp_path / "rest", name, "lit.py", workers=workers))
    framed.assert_once(whole, 2)
    assert far(whole) <= 1e-12


def test_no_space(tmp_path):
    """If rank 0 cannot write Lightning's part, there is no such checkpoint, and all ranks go on."""
    ranks, output = framed.trained(tmp_path, "lit.py", "state=1", "full=1", "epochs=1", checkpoint__every=4)
    assert "no checkpoint is written, training goes on: [Errno 28] No space left on device" in output
    assert "checkpoints are written again" in output
    kept = tmp_path.glob("state/eddis/jobs/*/checkpoints/step-*")
    assert sorted(int(path.name[5:]) for path in kept)[0] == 8 and {rank["steps"] for rank in ranks} == {10}


def test_renamed(tmp_path):
    """A job goes on from a checkpoint whose folder has another name now."""
    framed.trained(tmp_path, "lit.py", "state=1", "epochs=1", checkpoint__every=4)
    newest = max(tmp_path.glob("state/eddis/jobs/*/checkpoints/step-*"))
    found, output = kept.resumed(tmp_path, newest.rename(tmp_path / "good"),
                                 [*map(str, framed.job(tmp_path, "lit.py", "state=1"))])
    assert found == 0, output
    assert all(rank["resumed"] and rank["steps"] == 20 for rank in framed.results(tmp_path))


def test_damaged(tmp_path):
    """If the newest checkpoint is damaged, the job and Lightning both go on from the one before."""
    framed.trained(tmp_path, "lit.py", "state=1", "epochs=1", checkpoint__every=4)
    newest = max(tmp_path.glob("state/eddis/jobs/*/checkpoints/step-*"))
    entry = min(newest.glob("rank-*"))
    entry.write_bytes(entry.read_bytes()[:-1])
    found, output = kept.resumed(tmp_path, newest.parent, [*map(str, framed.job(tmp_path, "lit.py", "state=1"))])
    assert found == 0 and "is damaged" in output and "continues from step 4" in output, output
    assert all(rank["resumed"] and len(rank["samples"]) == 16 for rank in framed.results(tmp_path))
