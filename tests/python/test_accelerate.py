# SPDX-License-Identifier: Apache-2.0
"""test_accelerate.py - accelerate with the plan's batches: three ranks make what one process makes of all samples"""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

import framed
import training

pytest.importorskip("accelerate")
pytestmark = pytest.mark.slow


def far(ranks, train=framed.train):
    """Return the distance to one process."""
    x, y = training.data()
    torch.manual_seed(3)
    model = training.mlp().double()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, len(ranks[0]["samples"]))
    optimizer.register_step_post_hook(lambda *_: scheduler.step())
    return train(ranks, model, optimizer, lambda n: functional.cross_entropy(model(x[n]), y[n]), 0.5)


@pytest.mark.parametrize("ours", [[], ["ours=1"]])
@pytest.mark.parametrize("pieces", [1, 4])
def test_exact(tmp_path, pieces, ours):
    """Clipped, with a scheduler that was made by len(loader), before the model was attached; accumulated."""
    ranks, output = framed.trained(tmp_path, "accelerated.py", f"pieces={pieces}", *ours)
    assert framed.splits(ranks)[0] == (3, 6, 15) and "gradients by torch" in output
    framed.assert_once(ranks, 2)
    assert far(ranks) <= 1e-12
    assert far(ranks, framed.train_plainly) > 1e-3


def test_without_samples(tmp_path):
    ranks, _ = framed.trained(tmp_path, "accelerated.py", emulate=framed.NO_SAMPLES, batch__min=0)
    assert not any(ranks[0]["samples"])
    assert far(ranks) <= 1e-12


def test_replan(tmp_path):
    ranks, epochs = framed.replanned(tmp_path, "accelerated.py")
    assert far(ranks) <= 5e-13 * epochs


def test_restarted(tmp_path):
    """A State keeps what accelerate has prepared: the restart has the bits of the unbroken run."""
    folders = tmp_path / "unbroken", tmp_path / "killed"
    for folder in folders:
        folder.mkdir()
    unbroken, _ = framed.trained(folders[0], "accelerated.py", "ours=1", "state=1", checkpoint__every=0)
    do, where, told = framed.ENDINGS["kill"]
    ranks = framed.broken(folders[1], "accelerated.py", "ours=1", do=do, where=where, told=told, checkpoint__every=8)
    for rank, expected in zip(ranks, unbroken, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(rank["model"], expected["model"], strict=True))
