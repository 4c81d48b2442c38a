# SPDX-License-Identifier: Apache-2.0
"""test_library.py - where the package finds libeddis, and what it says where there is none"""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

from started import BUILD, ROOT, environment

SAY = "import eddis._lib as l; print(l.lib._name)"


def said(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", SAY], env=dict(environment, PYTHONPATH=str(ROOT / "python")),
                          capture_output=True, text=True, timeout=600)


@pytest.mark.parametrize("folder", ["lib", "lib64", "lib/x86_64-linux-gnu"])
def test_installed(tmp_path, folder):
    (tmp_path / "bin").mkdir()
    (tmp_path / folder).mkdir(parents=True)
    program, library = tmp_path / "bin/eddis-run", tmp_path / folder / "libeddis.so.0"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    library.symlink_to(BUILD / "lib/libeddis.so.0")
    assert pathlib.Path(said({"PATH": str(tmp_path / "bin")}).stdout.strip()) == library


def test_built():
    assert said({"PATH": str(BUILD / "cmd")}).stdout.strip() == str(BUILD.resolve() / "lib/libeddis.so.0")


def test_named():
    name = str(BUILD / "lib/libeddis.so.0")
    assert said({"PATH": "", "EDDIS_LIBRARY": name}).stdout.strip() == name


def test_missing(tmp_path):
    done = said({"PATH": "", "EDDIS_LIBRARY": str(tmp_path / "none")})
    assert done.returncode == 1 and "EDDIS_LIBRARY" in done.stderr.splitlines()[-1], done.stderr


@pytest.mark.parametrize("named", [None, "/one/of/the/caller.so"])
def test_of_workers(tmp_path, named):
    """An eddis-run of another release is first in PATH."""
    of_another = tmp_path / "other/bin/eddis-run"
    of_another.parent.mkdir(parents=True)
    of_another.write_text("#!/bin/sh\n")
    of_another.chmod(0o755)
    told = environment(tmp_path)
    told["PATH"] = f"{of_another.parent}:{told['PATH']}"
    told.pop("EDDIS_LIBRARY", None)
    if named:
        told["EDDIS_LIBRARY"] = named
    done = subprocess.run([BUILD / "cmd/eddis-run", "--set", "profile.emulate=[{rate: 1, a_ms: 1, c_ms: 1}]",
                           "--set", "batch.global=1", "--", "sh", "-c", "echo library $EDDIS_LIBRARY"],
                          cwd=tmp_path, env=told, capture_output=True, text=True, timeout=600)
    assert f"library {named or BUILD / 'lib/libeddis.so.0'}\n" in done.stdout, done
