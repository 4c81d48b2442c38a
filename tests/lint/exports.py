# SPDX-License-Identifier: Apache-2.0
"""exports.py LIBRARY - the symbols that libeddis exports are exactly those of exports.txt, every
one of them is declared in an installed header, and the library needs nothing but MPI and the C library."""

import re
import subprocess
import sys

from source import ROOT, finish


HEADERS = ["eddis.h", "eddis_checkpoint.h", "eddis_collective.h", "eddis_parameters.h", "eddis_samples.h", "eddis_smb.h"]

# The C library's own, and what sanitizers and coverage add.
MAY_NEED = re.compile(r"lib(c|m|pthread|mpi|asan|ubsan|tsan|gcov|gcc_s)\.so|ld-linux")


def needed(library):
    out = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)\]", out)


def main():
    out = subprocess.run(["nm", "-D", "--defined-only", sys.argv[1]], check=True,
                         capture_output=True, text=True).stdout
    have = {line.split()[-1].split("@")[0] for line in out.splitlines() if line.split()[1] != "A"}
    want = set((ROOT / "tests/lint/exports.txt").read_text().split())
    header = "".join((ROOT / "lib" / name).read_text() for name in HEADERS)
    code = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    declared = set(re.findall(r"\b(eddis_\w+)\s*\(", code))
    faults = [f"{s} is exported and not in exports.txt" for s in sorted(have - want)]
    faults += [f"{s} is in exports.txt and not exported" for s in sorted(want - have)]
    faults += [f"{s} is exported and in no installed header" for s in sorted(have - declared)]
    faults += [f"{s} is declared and not exported" for s in sorted(declared - have)]
    faults += [f"{lib} is needed by the library" for lib in needed(sys.argv[1])
               if not MAY_NEED.match(lib)]
    finish(faults, f"{len(have)} symbols")


main()
