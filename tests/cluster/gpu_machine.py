# SPDX-License-Identifier: Apache-2.0
"""gpu_machine.py - a machine with the cards of tests/gpu/fake_cards.h, and plans on it: for tests called with BUILD SOURCE"""

import os
import re
import subprocess
import sys

from job import Folders

BUILD, SOURCE = (os.path.abspath(path) for path in sys.argv[1:3])
FAKE = os.path.join(BUILD, "tests/gpu")
MIXED = "A100,V100,1080Ti"
ROW = re.compile(r"^ +\d+  \S+ +(.+?)  +([\d.]+) +\d+  +[\d.]+  probe$", re.M)


def environ(cards, driver="", **more):
    """A machine with these cards, whatever it has; also where CUDA_VISIBLE_DEVICES hides those of the tests' machine.
    Meson has malloc fill memory: for that of the cards this takes longer than their measurement may."""
    visible = ",".join(str(i) for i in range(cards.count(",") + 1))
    return {"MALLOC_PERTURB_": "0", "LD_LIBRARY_PATH": FAKE, "FAKE_GPUS": cards, "FAKE_CUDA": driver, "FAKE_SALT": str(os.getpid()),
            "CUDA_VISIBLE_DEVICES": visible, **more}


def amd_environ(cards, driver="", **more):
    """A machine with these cards of AMD, and none of NVIDIA."""
    visible = ",".join(str(i) for i in range(cards.count(",") + 1))
    return {"MALLOC_PERTURB_": "0", "LD_LIBRARY_PATH": FAKE, "FAKE_CUDA": "nodevice", "FAKE_AMD_GPUS": cards, "FAKE_HIP": driver,
            "CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": visible, **more}


def plan(cards, *args, code=0, command=("true",), batch=256, driver="", machine=environ, folders=None, **more):
    """[(device, rate)] by rank, and all that eddis-run prints; folders: those of a user whose measurements are kept."""
    kept = ["--set", "profile.cache=0s"] if not folders else []
    folders = folders or Folders()
    done = subprocess.run([os.path.join(BUILD, "cmd/eddis-run"), "--dry-run", *kept, "--set",
                           f"batch.global={batch}", *args, "--", *command], text=True, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**folders.environ(), **machine(cards, driver, **more)})
    assert done.returncode == code, done
    return rates(done.stdout), done.stdout


def rates(output):
    """[(device, rate)] by rank, of a plan that is printed."""
    return [(device, float(rate)) for device, rate in ROW.findall(output)]
