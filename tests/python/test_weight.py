# SPDX-License-Identifier: Apache-2.0
"""test_weight.py - what a worker's gradient counts for, by the script's word or by what its batches hold"""

from __future__ import annotations

import re

import pytest

from rows import slow
from started import PROGRAMS, job, said, script

UNEQUAL = "[{rate: 1, a_ms: 2, c_ms: 0.3}, {rate: 0.3}]"


@pytest.mark.slow
def test_without_samples(tmp_path):
    output = said(tmp_path, *job(PROGRAMS / "weighted.py", devices="[{rate: 1, a_ms: 5, c_ms: 1}, {rate: 0.001}]",
                                 batch__global=4, batch__min=0))
    assert re.search(r"^ +1 .* 0 +0\.000\b", output, re.M), output  # rank 1 has no samples
    assert re.search(r": parameter -1$", output, re.M), output


@pytest.mark.parametrize("kind", ["mean", slow("sum")])
def test_left_out(tmp_path, kind):
    """Of samples that a collate function leaves out nothing counts: the gradient is that of the mean over the others,
    or of their sum."""
    output = said(tmp_path, *job(PROGRAMS / "collated.py", kind, devices=UNEQUAL, batch__global=24))
    rows = re.findall(r"rank \d: off (\S+) sizes \[(.*)\]", output)
    assert "not finite" not in output, output
    assert len(rows) == 2 and all(float(off) < 1e-13 for off, _ in rows), output
    sizes = [[int(n) for n in row.split(",")] for _, row in rows]
    assert any(0 in row for row in sizes) and all(sum(step) for step in zip(*sizes)), sizes


@pytest.mark.parametrize("kind, of_two", [("sum", (8, 4)), slow("mean", (1, 1))])
def test_pieces(tmp_path, kind, of_two):
    """The gradient of all pieces is that of the whole batch."""
    output = said(tmp_path, "python3", PROGRAMS / "summed.py", kind)
    steps = [f"{n} samples: {of_two[n < 8]:.3f} by {of_two[n < 8]:.3f}" for n in (8, 8, 4)]
    assert output.splitlines() == steps, output


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sum", "mean"])
def test_models_of_their_own(tmp_path, kind):
    """Each sample moves the mean of two models as far as it moves one in sync mode, by whichever worker."""
    output = said(tmp_path, *job(PROGRAMS / "summed.py", kind, devices=UNEQUAL, batch__global=8, sync__mode="async"))
    steps = [(int(n), float(by)) for n, by in re.findall(r"(\d+) samples: \S+ by (\S+)", output)]
    whole = 1 if kind == "sum" else 8
    assert len({n for n, _ in steps}) > 1, output  # lines of both workers that are alike may be one
    assert all(abs(by - 2 * n / whole) < 2e-3 for n, by in steps), output


AHEAD = """from eddis._worker import worker
from eddis.torch import _weighted


def counted(*steps):
    passes = _weighted.Passes(1, "mean", "samples", "loss", None)
    worker.step.batch = 12
    for worker.step.count, ns in steps:
        passes._forget()
        counts = [round(passes.scale(False, n, 0) * 12) for n in ns]
    return counts


assert counted((1, [1]), (0, [2]), (2, [2])) == [2]
assert counted((0, [2]), (1, [1])) == [1]
assert counted((4, [2, 2]), (1, [1]), (0, [2]), (3, [2, 1])) == [2, 1]
assert counted((2, [2]), (1, [2]), (0, [1]), (2, [2])) == [0]
assert counted((0, [2]), (0, [2]), (6, [2])) == [0]  # the first step has none before
assert counted((2, [2]), (0, [2]), (6, [2])) == [0]
assert counted((5, [5, 5]), (4, [5, 4]), (0, [4, 2]), (3, [2, 3])) == [0, 3]
"""


@pytest.mark.slow
def test_ahead(tmp_path):
    """The two samples that fill a batch count nothing in the next step, if batches are fetched a step ahead: this shows
    where the numbers of samples change."""
    said(tmp_path, "python3", script(tmp_path, AHEAD))
