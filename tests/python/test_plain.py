# SPDX-License-Identifier: Apache-2.0
"""test_plain.py - scripts as they are: where nothing combines the workers' models that is said, and nowhere else"""

from __future__ import annotations

import pytest
from rows import slow
from started import PROGRAMS, ended

PROGRAM = PROGRAMS / "plain.py"
ALONE = "if these 3 workers trained, each trained a separate model: none used libeddis or MPI"  # or they do not train


@pytest.mark.parametrize("how", ["alone", slow("ddp"), slow("file")])
def test_plain(tmp_path, how):
    code, output = ended(tmp_path, "eddis-run", "-n", "3", "--", "python3", PROGRAM, how)
    assert code == 0, output
    assert "\nworkers   3 " in output and "plan  " not in output, output
    assert (ALONE in output) == (how == "alone"), output
