# SPDX-License-Identifier: Apache-2.0
"""test_draws.py - random numbers of a job's workers: alike before the first step, others on each worker from then on"""

from __future__ import annotations

import json
import re

import pytest

from rows import slow
from started import PROGRAMS, said

PROGRAM = PROGRAMS / "draws.py"


def drawn(tmp_path, workers, *options):
    """What each rank says."""
    start = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(workers)] if workers > 1 else []
    output = said(tmp_path, *start, "python3", PROGRAM, *options)
    # mpirun may put one's line amidst the other's.
    told = [json.loads(text) for text in re.findall(r'\{"rank[^}]*\}', output)]
    assert len(told) == workers, output
    return sorted(told, key=lambda row: row["rank"])


def numbers(rows):
    return [number for row in rows for number in row]


@pytest.mark.parametrize("options", [(), slow("generator=1"), slow("workers=0")])
def test_differ(tmp_path, options):
    one, other = drawn(tmp_path, 2, *([options] if isinstance(options, str) else options))
    assert one["before"] == other["before"]
    for what in "read", "loop":
        found = numbers(one[what]) + numbers(other[what])
        # Each process of a loader is seeded for each epoch.
        assert len(set(found)) == len(found), what


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("generator=1",)])
def test_again(tmp_path, options):
    """The same job draws the same, rank 0 what one process draws, and rank 1 the same beside a third."""
    alone, = drawn(tmp_path, 1, *options)
    two, again, three = (drawn(tmp_path, n, *options) for n in (2, 2, 3))
    assert two == again
    assert two[0]["loop"][0] == alone["loop"][0] and two[0]["read"][0] == alone["read"][0][:len(two[0]["read"][0])]
    assert [row["loop"][0] for row in two] == [row["loop"][0] for row in three[:2]]
    assert [row["read"][0][0] for row in two] == [row["read"][0][0] for row in three[:2]]
