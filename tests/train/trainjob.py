# SPDX-License-Identifier: Apache-2.0
"""trainjob.py - start eddis-train alone, under mpirun, or with a plan; read what it saved"""

import array
import math
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples/digits/digits.csv"
TIMEOUT_S = 600

# One thread a rank, and no rank that spins on a core that another one needs.
ENVIRONMENT = dict(os.environ, OPENBLAS_NUM_THREADS="1", OMPI_MCA_mpi_yield_when_idle="1",
                   OMPI_MCA_btl_tcp_if_include="lo", OMPI_MCA_oob_tcp_if_include="lo",
                   OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def run(words, code=0):
    """Run, and end the test unless it ends with this code; gives (standard output, error)."""
    words = [str(w) for w in words]
    done = subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True, timeout=TIMEOUT_S)
    if done.returncode != code:
        fail(f"{' '.join(words)}\nended with {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def mpirun(n):
    return ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", n] if n > 1 else []


def digits(*options):
    return ["--data", DIGITS, "--test", 360, "--threads", 1, *options]


def accuracy(text):
    """Of the last epoch."""
    return float(re.findall(r"test accuracy ([0-9.]+)", text)[-1])


def parameters(path):
    """All numbers of a safetensors file, in the order of the file."""
    whole = pathlib.Path(path).read_bytes()
    numbers = array.array("f")
    numbers.frombytes(whole[8 + int.from_bytes(whole[:8], "little"):])
    return numbers


def distance(a, b):
    """||a - b|| / ||a||"""
    if len(a) != len(b):
        fail(f"{len(a)} parameters against {len(b)}")
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b)) / sum(x * x for x in a))


def check(ok, sentence):
    print(("ok    " if ok else "FAILED ") + sentence, flush=True)
    if not ok:
        sys.exit(1)


def fail(sentence):
    check(False, sentence)
