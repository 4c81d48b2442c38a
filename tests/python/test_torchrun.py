# SPDX-License-Identifier: Apache-2.0
"""test_torchrun.py - what a script finds in its environment under torchrun it finds under eddis-run, and what --check
finds out about torch"""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys

import torch

from started import MINUTES, ended, environment

RANKS = 2
NOT_SET = {"TORCHELASTIC_ERROR_FILE", "TORCHELASTIC_SIGNALS_TO_HANDLE"}  # as the manual says; the launcher's own
OWN_VALUES = {"MASTER_ADDR", "MASTER_PORT", "OMP_NUM_THREADS", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_MAX_RESTARTS",
              "TORCHELASTIC_USE_AGENT_STORE"}
VARIABLES = """
import json, os, pathlib, sys
rank = os.environ["RANK"]
pathlib.Path(sys.argv[1] + rank).write_text(json.dumps(dict(os.environ)))
"""
RECORDS = """
import os
from torch.distributed.elastic.multiprocessing.errors import record
@record
def main():
    if os.environ["RANK"] == "1":
        raise ValueError("bad sample 17")
main()
"""


def seen(where) -> list[dict[str, str]]:
    return [json.loads(where.with_name(where.name + str(rank)).read_text()) for rank in range(RANKS)]


def test_variables(tmp_path):
    """All that torchrun sets, and of one node the same values, but those that the launcher chooses."""
    (tmp_path / "variables.py").write_text(VARIABLES)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={RANKS}",
               tmp_path / "variables.py", tmp_path / "torchrun"]
    plain = environment(tmp_path)
    done = subprocess.run([*map(str, command)], cwd=tmp_path, env=plain, capture_output=True, text=True,
                          timeout=MINUTES)
    assert done.returncode == 0, done.stderr
    code, said = ended(tmp_path, "eddis-run", "-n", str(RANKS), "--restarts", "0", "--", sys.executable,
                       tmp_path / "variables.py", tmp_path / "eddis")
    assert code == 0, said
    for theirs, ours in zip(seen(tmp_path / "torchrun"), seen(tmp_path / "eddis")):
        names = {name for name in theirs if plain.get(name) != theirs[name]} - NOT_SET
        assert len(names) >= 14 and names <= set(ours), names - set(ours)
        differ = {name: (theirs[name], ours[name]) for name in names - OWN_VALUES if theirs[name] != ours[name]}
        assert not differ, differ
    assert NOT_SET.isdisjoint(seen(tmp_path / "eddis")[0])


def test_record(tmp_path):
    """The exception of a function with @record is shown, and its rank is named."""
    (tmp_path / "records.py").write_text(RECORDS)
    code, said = ended(tmp_path, "eddis-run", "-n", str(RANKS), "--restarts", "0", "--", sys.executable,
                       tmp_path / "records.py")
    assert code == 1 and "ValueError: bad sample 17" in said, said
    assert re.search(r"rank 1 \(node \S+, pid \d+\) exited 1", said), said


def test_check(tmp_path):
    """eddis-run --check shows the versions of the command's own Python, without running the script."""
    code, said = ended(tmp_path, "eddis-run", "-n", "1", "--check", "--json", "--", sys.executable, "-c",
                       "open('trained', 'w')")
    assert code == 0, said
    node = json.loads(said[said.index("{"):])["nodes"][0]
    assert node["torch"] == torch.__version__ and node["cuda"] == (torch.version.cuda or ""), node
    assert node["python"] == platform.python_version() and bool(node["nccl"]) == bool(node["cuda"]), node
    assert not (tmp_path / "trained").exists()
