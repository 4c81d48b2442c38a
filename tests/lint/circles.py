# SPDX-License-Identifier: Apache-2.0
"""circles.py BUILD - modules of one folder that need each other stay few.

A module is a .c and .h of one name; an edge leads from it to a module of its folder that defines a
symbol which its object uses, by nm.  A circle is a strongly connected part of that graph.
"""

import collections
import json
import os
import subprocess
import sys

from source import ROOT, finish

# The most modules of a circle, by the longest beginning of the folder's path.
LIMITS = {
    "agents": 3,
    "cmd": 1,
    "cmd/train/data": 3,
    "lib": 1,
    "lib/checkpoint": 3,
    "lib/comm": 3,
    "lib/model": 2,
    "lib/smb": 2,
    "lib/sync": 3,
    "lib/worker": 3,
    "profiler": 1,
    "scheduler": 1,
}
PRODUCT = ("agents", "cmd", "lib", "profiler", "scheduler")


def objects(build):
    """(source from the root, object) of the product's files; one that is compiled twice counts once."""
    found = {}
    with open(os.path.join(build, "compile_commands.json")) as f:
        for row in json.load(f):
            source = os.path.relpath(os.path.realpath(os.path.join(row["directory"], row["file"])), ROOT)
            if source.endswith(".c") and source.split("/")[0] in PRODUCT:
                found.setdefault(source, os.path.join(row["directory"], row["output"]))
    return {source: path for source, path in found.items() if os.path.exists(path)}


def symbols(paths):
    """{object: (defined, used)}."""
    found = {path: (set(), set()) for path in paths}
    out = subprocess.run(["nm", "--print-file-name", *paths], check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        path, rest = line.split(":", 1)
        kind, name = rest.split()[-2:]
        if kind in "TDBRVWC":
            found[path][0].add(name)
        elif kind == "U":
            found[path][1].add(name)
    return found


def edges(build):
    """{module: modules of its folder that it needs}."""
    homes, uses, graph = collections.defaultdict(set), {}, {}
    files = objects(build)
    names = symbols(files.values())
    for source, path in files.items():
        module = source[:-len(".c")]
        defined, uses[module] = names[path]
        for name in defined:
            homes[name].add(module)
    for module, names in uses.items():
        needed = {home for name in names for home in homes.get(name, ())}
        graph[module] = {m for m in needed if m != module and os.path.dirname(m) == os.path.dirname(module)}
    return graph


def reached(graph, start):
    found, todo = set(), [start]
    while todo:
        for module in graph[todo.pop()] - found:
            found.add(module)
            todo.append(module)
    return found


def circles(graph):
    """Lists of modules that reach each other, each list sorted."""
    far = {module: reached(graph, module) for module in graph}
    found = {tuple(sorted(m for m in far[module] if module in far[m])) for module in graph if module in far[module]}
    return sorted(found, key=lambda c: (-len(c), c))


def limit(folder):
    fitting = [f for f in LIMITS if folder == f or folder.startswith(f + "/")]
    return LIMITS[max(fitting, key=len)]


def main():
    graph = edges(sys.argv[1])
    faults = [] if graph else [f"there is no object in {sys.argv[1]}"]
    for circle in circles(graph):
        folder = os.path.dirname(circle[0])
        print(f"{len(circle):3} {folder}: " + " ".join(os.path.basename(m) for m in circle))
        if len(circle) > limit(folder):
            faults.append(f"{folder}: a circle of {len(circle)} modules, over {limit(folder)}")
    finish(faults, f"{len(graph)} modules")


main()
