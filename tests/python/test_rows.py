# SPDX-License-Identifier: Apache-2.0
"""test_rows.py - how many samples a batch tells that it holds"""

from __future__ import annotations

import os
import subprocess
import sys

from started import BUILD, ROOT

CASES = """
import numpy, torch
from eddis.torch._rows import rows_of

z, samples = torch.zeros, 8
for batch, n in [
        # Of these some were left out
        (z(5), 5), (z(0, 3), 0), ((z(5, 3), z(5)), 5), ([z(5, 3), z(5)], 5), ({"x": z(5, 3, 9, 9), "y": z(5)}, 5),
        ((z(1, 3), z(1)), 1), (([z(3, 9, 9)] * 5, [{"boxes": z(2, 4)}] * 5), 5), (({"x": z(5, 2)}, z(5)), 5),
        ((z(5, 8), z(5)), 5), ((numpy.zeros((5, 2)), ["a"] * 5), 5), ((z(1, 3), z(1, 1)), 1), ((z(5), 0.5, z(())), 5),
        # and of these none, or nobody knows
        (z(8), 8), ((z(8, 3), z(8)), 8), ((z(40, 3), z(40)), 8), ((z(30, 2), z(8)), 8), ((z(3, 8), z(3, 8)), 8),
        ((z(3, 8, 5), z(8)), 8), ((z(1, 70), z(1, 70)), 8), ([z(3, 9, 9)] * 8, 8), ([z(3, 9, 9)] * 5, 8),
        ([{"image": z(3, 9, 9)}] * 5, 8), ((z(5, 3), z(4)), 8), (None, 8), ((), 8), ("text", 8), (z(()), 8)]:
    assert rows_of(batch, samples) == n, (batch, n, rows_of(batch, samples))
# As many parts as samples, of kinds of their own; or samples
for batch, samples, n in [((z(1, 4), z(1)), 2, 1), ((z(2), z(2).int(), z(2, 4)), 3, 2), ((z(1, 4), z(1, 4)), 2, 2)]:
    assert rows_of(batch, samples) == n, (batch, n, rows_of(batch, samples))
print("done")
"""


def test_rows():
    # In a process of its own: a test loads no library
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python"),
           "EDDIS_LIBRARY": os.environ.get("EDDIS_LIBRARY", str(BUILD / "lib/libeddis.so.0"))}
    done = subprocess.run([sys.executable, "-c", CASES], env=env, capture_output=True, text=True)
    assert done.stdout == "done\n", done.stderr
