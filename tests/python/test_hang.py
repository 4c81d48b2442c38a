# SPDX-License-Identifier: Apache-2.0
"""test_hang.py - a script that hangs in a collective operation: told of with its place in the source, and restarted"""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import sys

import pytest

from rows import slow
from started import PROGRAMS, ended, environment

PROGRAM = PROGRAMS / "stuck.py"
HANG_S = 6  # a busy machine may keep a program from computing for some of it

# Rank 1 is in load(), the others wait in all_reduce().
STUB = """#!{python}
import json, sys
rank = dict(v.split("=", 1) for v in open(f"/proc/{{sys.argv[-1]}}/environ").read().split("\\0") if "=" in v)["RANK"]
def frame(name, file, line):
    return {{"name": name, "filename": file, "short_filename": file.rpartition("/")[2], "line": line}}
frames = [frame("load", "/home/u/train.py", 34)]
if rank != "1":
    frames = [frame("all_reduce", "/v/lib/python3/site-packages/torch/distributed/c10d.py", 41),
              frame("load", "/home/u/train.py", 33)]
print(json.dumps([{{"thread_name": "MainThread", "frames": frames}}]))
"""
SLEEPS = """
import os, sys, time
mark = sys.argv[1] + os.environ["RANK"]
if not os.path.exists(mark):
    open(mark, "w").close()
    time.sleep(3600)
"""


# The same once it has printed steps: the first rank's alone, as most scripts do, or those of all.
PRINTS = """
import os, sys, time
if os.environ["RANK"] == "0" or sys.argv[2] == "all":
    for step in range(1, 12):
        print("step", step, flush=True)
        time.sleep(0.1)
""" + SLEEPS.lstrip()
# The same by calls.
TELLS = """
import eddis, sys, time
for step in range(12):
    eddis.progress(samples=1)
    time.sleep(0.1)
""" + SLEEPS.lstrip()


def job(tmp_path: pathlib.Path, ranks: int, seconds: int, *command: object, path: str = "",
        more: tuple[str, ...] = ()) -> tuple[str, dict]:
    """What eddis-run said, and its summary."""
    settings = ["--set", f"timeouts.hang={seconds}s", "--set", "timeouts.launch=300s", "--restarts", "2", *more]
    if path:
        settings += ["--env", "PATH=" + path]
    code, said = ended(tmp_path, "eddis-run", "-n", str(ranks), "--job-dir", tmp_path / "job", *settings, "--",
                       *command)
    assert code == 0, said
    return said, json.loads((tmp_path / "job/summary.json").read_text())


def stub(folder: pathlib.Path, text: str) -> str:
    """A search path with this py-spy."""
    folder.mkdir()
    (folder / "py-spy").write_text(text)
    (folder / "py-spy").chmod(0o755)
    return f"{folder}:{environment(folder)['PATH']}"


@pytest.mark.parametrize("ranks", [2, slow(3)])
def test_named(tmp_path, ranks):
    """The one that is not where the others wait, of two as well."""
    (tmp_path / "sleeps.py").write_text(SLEEPS)
    path = stub(tmp_path / "bin", STUB.format(python=sys.executable))
    said, summary = job(tmp_path, ranks, 2, sys.executable, tmp_path / "sleeps.py", tmp_path / "mark", path=path)
    assert summary["first_failure"]["rank"] == 1 and summary["restarts"] == 1, said
    assert re.search(r"it is in load \(train.py:34\); rank [02] waits in all_reduce \(c10d.py:41\), "
                     r"called in load \(train.py:33\)", said), said


@pytest.mark.parametrize("text, who, words", [(PRINTS, "one", "keeps others from their steps"),
                                              slow(PRINTS, "all", "has made no step"),
                                              slow(TELLS, "all", "has made no step")], ids=["printed", "all", "told"])
def test_steps(tmp_path, text, who, words):
    """Of a hang that is seen by steps, too, with the same words, whoever it is that tells of them."""
    (tmp_path / "steps.py").write_text(text)
    path = stub(tmp_path / "bin", STUB.format(python=sys.executable))
    more = () if text is TELLS else ("--set", "progress.pattern=step ([0-9]+)")
    said, summary = job(tmp_path, 2, 3, sys.executable, tmp_path / "steps.py", tmp_path / "mark", who, path=path,
                        more=more)
    assert summary["first_failure"]["rank"] == 1 and summary["restarts"] == 1, said
    assert re.search(words + r" for \S+ \(timeouts.hang is 0:03\); last step 1[01]: it is in load \(train.py:34\); "
                     r"rank 0 waits in all_reduce \(c10d.py:41\), called in load \(train.py:33\)", said), said


@pytest.mark.parametrize("text", ["#!/bin/sh\necho Permission denied >&2\nexit 1\n",
                                  slow("#!/bin/sh\nexec sleep 3600\n")])
def test_silent(tmp_path, text):
    """A py-spy that may not look, or does not end, keeps no hang from being found."""
    (tmp_path / "sleeps.py").write_text(SLEEPS)
    said, summary = job(tmp_path, 2, 2, sys.executable, tmp_path / "sleeps.py", tmp_path / "mark",
                        path=stub(tmp_path / "bin", text))
    assert summary["first_failure"]["rank"] in (0, 1) and summary["restarts"] == 1, said
    assert "Permission denied" not in said and "has neither printed nor computed for" in said, said


def test_collective(tmp_path):
    """By real py-spy, over gloo; while a rank computes for longer than timeouts.hang nothing hangs."""
    python = pathlib.Path(sys.executable)
    if not (python.parent / "py-spy").exists() and not shutil.which("py-spy"):
        pytest.skip("there is no py-spy beside this Python: python3 -m pip install py-spy")
    said, summary = job(tmp_path, 2, HANG_S, python, PROGRAM, tmp_path, 2 * HANG_S)
    log = (tmp_path / "job/logs/rank-0000.log").read_text()
    assert log.count("computed") == 2 and log.count("together") == 1, said + log
    assert summary["first_failure"]["rank"] == 1 and summary["restarts"] == 1, said
    assert "it is in load (stuck.py:25); rank 0 waits in all_reduce (torch/distributed/" in said, said
    assert ", called in main (stuck.py:37)" in said, said
