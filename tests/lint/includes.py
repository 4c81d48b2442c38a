# SPDX-License-Identifier: Apache-2.0
"""includes.py - who may include whom: the table of the design, held against every #include.

A file belongs to the longest folder of the table that its path starts with.  It may include its
own folder by bare name and the folders of its row by paths from the root; a third-party header
only in that header's home.
"""

import re

from source import ROOT, c_files, finish

BASE = ["lib/base"]
MODEL = BASE + ["lib/model"]

AGENTS = MODEL + ["lib/job", "lib/slurm", "lib/topo", "lib/http", "lib/board", "profiler", "scheduler", "agents/protocol",
                  "agents/job"]

MAY_INCLUDE = {
    "lib/base": [],
    "lib/model": BASE,
    "lib/hosts": BASE,
    "lib/slurm": BASE + ["lib/hosts"],
    "lib/job": MODEL + ["lib/hosts", "lib/job"],
    "lib/topo": MODEL,
    "lib/http": MODEL,
    "lib/board": MODEL,
    "lib/gpu": MODEL,
    "lib/comm": BASE + ["lib/board", "lib/gpu"],
    "lib/data": BASE,
    "lib/smb": BASE + ["lib/comm"],
    "lib/sync": BASE + ["lib/model/algorithm.h", "lib/model/read_ahead.h", "lib/board", "lib/comm", "lib/smb",
                        "lib/gpu"],
    "lib/checkpoint": BASE,
    # libeddis itself, what is behind eddis.h
    "lib/worker": BASE + ["lib/eddis.h", "lib/eddis_smb.h", "lib/model/algorithm.h",
                          "lib/model/precision.h", "lib/board", "lib/comm", "lib/smb", "lib/sync", "lib/checkpoint",
                          "lib/gpu", "lib/data/ranges.h", "lib/data/sample_rounds.h", "lib/data/sampler.h"],
    "lib": [],
    # eddis-train is an ordinary client of the library
    "cmd/train": BASE + ["lib/eddis.h", "lib/data", "cmd/train", "cmd/shared/options.h"],
    "scheduler": MODEL + ["lib/job/job_text.h", "scheduler"],
    "profiler": MODEL + ["lib/topo", "lib/gpu", "lib/comm"],
    "agents/guard": [],  # is preloaded into programs of others
    "agents/protocol": MODEL + ["lib/slurm/slurm_batch.h", "lib/board/layout.h"],
    "agents/job": MODEL + ["lib/job", "lib/http", "agents/protocol"],
    "agents/node": AGENTS + ["agents/guard/guard.h", "agents/node"],
    "agents/driver": AGENTS + ["agents/driver"],
    "cmd": ["lib", "scheduler", "profiler", "agents", "cmd"],
    "bench": ["lib", "scheduler", "profiler", "agents", "cmd", "bench"],
    "tests": ["lib", "scheduler", "profiler", "agents", "cmd", "tests", "bench/loop.h", "bench/loop_thread.h",
              "bench/simulation.h"],
    "examples": ["lib/eddis.h", "lib/eddis_smb.h"],
}

HOME = {
    "jansson.h": ["lib/base/json", "lib/model"],
    "yaml.h": ["lib/job/tree"],
    "curl/": ["lib/http"],
    "microhttpd.h": ["lib/http"],
    "gnutls/": ["lib/http"],
    "nettle/": ["agents/guard"],
    "mpi.h": ["lib/comm", "bench"],  # where its own all-reduce is measured
    "hwloc": ["lib/topo"],
    "cuda": ["lib/gpu"],
    "nvml.h": ["lib/gpu"],
    "nccl.h": ["lib/gpu"],
    "cublas": ["lib/gpu"],
    "cblas.h": ["cmd/train", "profiler", "bench/pace.c"],
    "zlib.h": ["cmd/train/data"],
    "systemd/": ["agents/node/keep"],
}

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')


def folder_of(path):
    rows = [row for row in MAY_INCLUDE if str(path).startswith(row + "/")]
    return max(rows, key=len)


def within(target, allowed):
    return any(target == a or target.startswith(a + "/") for a in allowed)


def fault_of(path, kind, target):
    """Why this #include may not stand here, or None."""
    if str(path).startswith("tests/"):
        home_free = True  # a test may look at what it tests from outside
    else:
        home_free = False
    for header, homes in HOME.items():
        if kind == "<" and target.startswith(header) and not home_free:
            if not any(str(path).startswith(home) for home in homes):
                return f"<{target}> has its home in {' and '.join(homes)}"
    if kind == "<":
        return None
    if "/" not in target:
        if (ROOT / path.parent / target).exists() or target == "suite.h":
            return None
        return f'"{target}" is not in this folder; write its path from the root'
    if not (ROOT / target).exists():
        return f'"{target}" is not there; paths go from the root'
    row = folder_of(path)
    if within(target, MAY_INCLUDE[row]) or target.startswith(str(path.parent) + "/"):
        return None
    return f'{row} may not include "{target}"'


def cycles(edges):
    """Folders that include each other, directly or in a round."""
    found = []

    def visit(node, trail):
        if node in trail:
            found.append(" -> ".join(trail[trail.index(node):] + [node]))
            return
        for to in sorted(edges.get(node, ())):
            if to not in done:
                visit(to, trail + [node])
        done.add(node)

    done = set()
    for start in sorted(edges):
        visit(start, [])
    return found


def main():
    faults, edges, count = [], {}, 0
    for path in c_files():
        for number, line in enumerate((ROOT / path).read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            count += 1
            fault = fault_of(path, *match.groups())
            if fault:
                faults.append(f"{path}:{number}: {fault}")
            target = match.group(2)
            if match.group(1) == '"' and "/" in target and path.parts[0] not in ("tests", "bench"):
                here, there = str(path.parent), target.rsplit("/", 1)[0]
                if here != there and target != "lib/eddis.h":
                    edges.setdefault(here, set()).add(there)
    faults += [f"a round of includes: {c}" for c in cycles(edges)]
    finish(faults, f"{count} includes follow the table")


main()
