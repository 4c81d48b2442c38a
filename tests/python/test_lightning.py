# SPDX-License-Identifier: Apache-2.0
"""test_lightning.py - Lightning with the plan's batches: three ranks make what one process makes of all samples"""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

import framed
import training
from started import ended

pytest.importorskip("lightning")
pytestmark = pytest.mark.slow


def far(ranks):
    """Return the distance to one process."""
    x, y = training.data()
    torch.manual_seed(3)
    model = training.mlp().double()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    return framed.train(ranks, model, optimizer, lambda n: functional.cross_entropy(model(x[n]), y[n]), 0.5)


@pytest.mark.parametrize("pieces", [1, 4])
def test_exact(tmp_path, pieces):
    """Clipped, accumulated, and validated before the training and after each epoch."""
    ranks, output = framed.trained(tmp_path, "lit.py", f"pieces={pieces}")
    assert framed.splits(ranks)[0] == (3, 6, 15) and "gradients by torch" in output
    framed.assert_once(ranks, 2)
    assert far(ranks) <= 1e-12
    assert len({tuple(rank["validated"]) for rank in ranks}) == 1
    assert ranks[0]["validated"][-1] < ranks[0]["validated"][-2]
    assert [path.name for path in (tmp_path / "out").rglob("*.ckpt")] == ["epoch=1-step=20.ckpt"]


def test_stopped(tmp_path):
    """Any rank may end the training; all end it after the same step."""
    ranks, _ = framed.trained(tmp_path, "lit.py", "stop=4")
    assert 5 <= len(ranks[0]["samples"]) <= 8 and len(framed.unions(ranks)) == len(ranks[0]["samples"])


def test_without_samples(tmp_path):
    ranks, _ = framed.trained(tmp_path, "lit.py", emulate=framed.NO_SAMPLES, batch__min=0)
    assert not any(ranks[0]["samples"])
    assert far(ranks) <= 1e-12


def test_replan(tmp_path):
    ranks, _ = framed.trained(tmp_path, "lit.py", "epochs=6", "pace=2,2,12", emulate=framed.EQUAL, batch__rebalance=4)
    whole = framed.splits(ranks)
    assert whole[0] == (8, 8, 8) and whole[-1][2] < 5 < 8 < whole[-1][0], whole
    framed.assert_once(ranks, 6)
    assert far(ranks) <= 3e-12


@pytest.mark.parametrize("what, words", [
    ("loader", "Lightning trains with a loader that does not follow the plan"),
    ("strategy", "give Trainer strategy='ddp'")])
def test_refused(tmp_path, what, words):
    found, output = ended(tmp_path, *framed.job(tmp_path, "lit.py", f"wrong={what}"))
    assert found == 1 and words in output, output
