# SPDX-License-Identifier: Apache-2.0
"""kernels.py EDDIS-TRAIN SHIM SOURCE - where OpenBLAS does not know the processor eddis-train begins anew, once"""

import os
import subprocess
import sys
import tempfile

TRAIN, SHIM, SOURCE = map(os.path.realpath, sys.argv[1:4])


def trained(folder, **variables):
    """[pid, OPENBLAS_CORETYPE] of each program that began, and the last line that was printed."""
    begun = os.path.join(folder, "begun")
    env = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"}
    p = subprocess.run([TRAIN, "--data", os.path.join(SOURCE, "examples/digits/digits.csv"), "--test", "360", "--epochs", "2"],
                       env=dict(env, LD_PRELOAD=SHIM, BEGUN=begun, **variables), capture_output=True, text=True, timeout=120)
    assert p.returncode == 0 and p.stderr == "", p
    assert p.stdout.splitlines()[-1].startswith("epoch 2/2"), p.stdout
    with open(begun) as f:
        rows = [line.split() for line in f]
    os.unlink(begun)
    return rows


def main():
    with open("/proc/cpuinfo") as f:
        flags = set(next((line for line in f if line.startswith("flags")), "").split())
    with tempfile.TemporaryDirectory() as folder:
        rows = trained(folder)
        if {"avx2", "fma"} <= flags:
            assert len(rows) == 2 and rows[0][0] == rows[1][0], rows
            assert rows[0][1] == "-" and rows[1][1] in ("SkylakeX", "Haswell"), rows
        else:
            assert len(rows) == 1, rows
        rows = trained(folder, OPENBLAS_CORETYPE="Haswell" if "avx2" in flags else "Prescott")
        assert len(rows) == 1, rows


main()
