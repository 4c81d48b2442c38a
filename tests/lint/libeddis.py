# SPDX-License-Identifier: Apache-2.0
"""libeddis.py BUILD LIBRARY - libeddis.so is linked from these archives and no others: programs of any kind load it, so
neither the launcher nor a library beside MPI may come in with it."""

import os
import subprocess
import sys

from source import finish

MAY_LINK = {"lib/libeddis_static.a": "lib/worker", "lib/base/libbase.a": "lib/base", "lib/board/libboard.a": "lib/board",
            "lib/checkpoint/libcheckpoint.a": "lib/checkpoint", "lib/comm/libcomm.a": "lib/comm",
            "lib/comm/libmpi_transport.a": "lib/comm", "lib/data/libsampler.a": "lib/data",
            "lib/model/libalgorithm.a": "lib/model/algorithm", "lib/smb/libsmb.a": "lib/smb", "lib/sync/libsync.a": "lib/sync"}


def linked(build, library):
    """Archives of the build tree that the library is linked from."""
    out = subprocess.run(["ninja", "-C", build, "-t", "query", library], check=True, capture_output=True, text=True).stdout
    names = [line.strip(" |") for line in out.split("outputs:")[0].splitlines()]
    return {name for name in names if name.endswith(".a") and not os.path.isabs(name)}


def main():
    build, library = sys.argv[1], os.path.relpath(os.path.realpath(sys.argv[2]), os.path.realpath(sys.argv[1]))
    found = linked(build, library)
    faults = [f"{name} is linked into libeddis.so" for name in sorted(found - set(MAY_LINK))]
    faults += [f"{name} is no part of libeddis.so any more: take it out of MAY_LINK" for name in sorted(set(MAY_LINK) - found)]
    finish(faults, f"libeddis.so is of {', '.join(sorted(set(MAY_LINK.values())))}")


main()
