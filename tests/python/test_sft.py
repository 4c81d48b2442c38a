# SPDX-License-Identifier: Apache-2.0
"""test_sft.py - trl's SFTTrainer with the plan's batches: three ranks make what one process makes of all samples"""

from __future__ import annotations

import pytest

import framed

pytest.importorskip("transformers")
pytest.importorskip("trl")
pytestmark = pytest.mark.slow

from test_transformers import assert_exact  # noqa: E402


@pytest.mark.parametrize("pieces", [1, 4])
def test_exact(tmp_path, pieces):
    ranks, output = framed.trained(tmp_path, "sft.py", f"pieces={pieces}")
    assert framed.splits(ranks)[0] == (3, 6, 15) and "gradients by torch" in output
    framed.assert_once(ranks, 2)
    assert_exact(ranks, "tokens")


def test_replan(tmp_path):
    ranks, epochs = framed.replanned(tmp_path, "sft.py")
    assert_exact(ranks, "tokens", times=epochs // 2)
