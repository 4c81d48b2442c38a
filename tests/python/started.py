# SPDX-License-Identifier: Apache-2.0
"""started.py - runs programs as a user does, with what was built in EDDIS_BUILD"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from collections.abc import Iterable

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("EDDIS_BUILD", ROOT / "build")).resolve()
PROGRAMS = ROOT / "tests/python/programs"
MINUTES = 10 * 60
# What nearly every script begins with
IMPORTS = "import torch\nfrom torch.utils import data\n\nimport eddis.torch as eddis\n\n"


def environment(tmp_path: pathlib.Path) -> dict[str, str]:
    # A plan gives a GPU to one worker, and these want more than one
    hidden = {} if os.environ.get("EDDIS_TEST_DEVICE") == "cuda" else {"CUDA_VISIBLE_DEVICES": ""}
    path = os.pathsep.join([str(pathlib.Path(sys.executable).parent), str(BUILD / "cmd"), os.environ["PATH"]])
    return {**os.environ, **hidden, "PATH": path, "PYTHONPATH": str(ROOT / "python"),
            "XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_STATE_HOME": str(tmp_path / "state")}


def script(folder: pathlib.Path, text: str) -> pathlib.Path:
    """One of eddis.torch, of which this stands behind IMPORTS."""
    path = folder / "script.py"
    path.write_text(IMPORTS + text)
    return path


def job(*program: object, devices: str = "", options: Iterable[object] = (), **settings: object) -> list[object]:
    """The command of a job of this Python program and its arguments, on emulated devices; settings: a__b=value."""
    told = {name.replace("__", "."): value for name, value in settings.items()}
    if devices:
        told["profile.emulate"] = devices
    return ["eddis-run", *options, *(word for name, value in told.items() for word in ("--set", f"{name}={value}")),
            "--", "python3", *program]


def said(tmp_path: pathlib.Path, *command: str) -> str:
    done = subprocess.run([*map(str, command)], cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True,
                          timeout=MINUTES)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def began(tmp_path: pathlib.Path, *command: str) -> subprocess.Popen[str]:
    """The same, while it runs; what it says goes to one pipe."""
    return subprocess.Popen([*map(str, command)], cwd=tmp_path, env=environment(tmp_path), text=True,
                            errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def ended(tmp_path: pathlib.Path, *command: str) -> tuple[int, str]:
    """Its exit code, and all that it said."""
    job = began(tmp_path, *command)
    output = job.communicate(timeout=MINUTES)[0]
    return job.returncode, output
