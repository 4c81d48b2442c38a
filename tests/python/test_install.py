# SPDX-License-Identifier: Apache-2.0
"""test_install.py - the package installed by pip, where there is no framework"""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from started import BUILD, ROOT

SAY = "import sys, eddis; print(eddis.version(), *sorted({'numpy', 'torch', 'tensorflow'} & set(sys.modules)))"


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """A Python that has the package and nothing else."""
    folder = tmp_path_factory.mktemp("venv")
    shutil.copytree(ROOT / "python", folder / "python", ignore=shutil.ignore_patterns("build", "*.egg-info"))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    site = next((folder / "venv").glob("lib/python*/site-packages"))
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation", "--target",
                    site, folder / "python"], check=True)
    return folder / "venv/bin/python"


def said(python, *, library, code=SAY):
    return subprocess.run([python, "-c", code], env={"EDDIS_LIBRARY": str(library), "PATH": ""}, capture_output=True,
                          text=True, timeout=600)


def test_no_framework(python):
    done = said(python, library=BUILD / "lib/libeddis.so.0")
    version, *frameworks = done.stdout.split()
    assert version == (ROOT / "python/pyproject.toml").read_text().split('version = "')[1].split('"')[0], done
    assert not frameworks and not done.stderr, done


def test_progress(python):
    done = said(python, library=BUILD / "lib/libeddis.so.0", code="import eddis; eddis.progress(samples=1)")
    assert done.returncode == 0 and not done.stdout + done.stderr, done


def test_without_library(python, tmp_path):
    done = said(python, library=tmp_path / "none")
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1 and "ImportError" in done.stderr and last.startswith("Install eddis"), done


def test_without_torch(python):
    done = said(python, library=BUILD / "lib/libeddis.so.0", code="import eddis.torch")
    assert done.returncode == 1 and done.stderr.splitlines()[-1] == "ModuleNotFoundError: No module named 'torch'", done
