# SPDX-License-Identifier: Apache-2.0
"""interface.py [--write] - every name that users rely on is still there: what the installed headers declare, Python's `__all__`,
keys of train.yaml, options, environment variables, keys of the HTTP documents, events, manual pages, files of a job's folder,
exit codes.

interface.json holds the names; `--write` adds new ones.  A name is taken out of the file by hand, with a line in CHANGELOG.md.
"""

import ast
import json
import re
import sys

from source import ROOT, finish

STORED = ROOT / "tests/lint/interface.json"
HEADERS = ["eddis.h", "eddis_checkpoint.h", "eddis_collective.h", "eddis_parameters.h", "eddis_progress.h",
           "eddis_samples.h", "eddis_smb.h"]
COMMENT = re.compile(r"/\*.*?\*/", re.S)
STRUCT = re.compile(r"struct (\w+) \{(.*?)\n\};", re.S)
MEMBER = re.compile(r"(\w+)(?:\[[^\]]*\])*\s*(?=[;,])")


def read(path):
    return (ROOT / path).read_text()


def pages():
    return {p.name: p.read_text() for p in sorted((ROOT / "man").glob("*.[1-8]"))}


def declared():
    """Functions, macros, enumerators, and members as "struct.member" of the installed headers."""
    found = set()
    for header in HEADERS:
        text = COMMENT.sub("", read(f"lib/{header}"))
        found |= set(re.findall(r"\b(?:eddis|EDDIS)_\w+", text))
        for name, body in STRUCT.findall(text):
            found |= {f"{name}.{member}" for member in MEMBER.findall(body)}
    return {name for name in found if not re.fullmatch(r"EDDIS_\w*_?H", name)}


def exported():
    """Names in the `__all__` of each Python package."""
    found = set()
    for path in (ROOT / "python/eddis").rglob("__init__.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
                package = ".".join(path.parent.relative_to(ROOT / "python").parts)
                found |= {f"{package}.{name}" for name in ast.literal_eval(node.value)}
    return found


def options():
    """Long options as "program --option", which lint/options compares with --help."""
    rows = re.findall(r'^\s*\[(eddis-\w+)\]="([^"]*)"', read("completion/eddis"), re.M)
    return {f"{program} {option}" for program, line in rows for option in line.split()}


def collect():
    manuals = pages()
    text = "\n".join(manuals.values())
    return {
        "headers": declared(),
        "python": exported(),
        "keys": set(re.findall(r"^\.It Ic ([a-z_.]+)", manuals["eddis-train.yaml.5"], re.M)),
        "options": options(),
        "variables": set(re.findall(r"\bEDDIS_[A-Z_]+\b", text)) - {"EDDIS_H"},
        "documents": set(re.findall(r"^\s+([a-z_0-9]+):", read("agents/driver/openapi.yaml"), re.M)),
        "events": set(re.findall(r'\] = "(\w+)"', read("agents/job/job_event.c"))),
        "manuals": set(manuals),
        "files": set(re.findall(r"^\.It Pa (\S+)", manuals["eddis-run.1"], re.M)),
        "exit codes": {" ".join(row) for row in re.findall(r"^\.It ([0-9+ n]+) Ta (\w+)", text, re.M)},
    }


def main():
    found = collect()
    stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    if sys.argv[1:] == ["--write"]:
        merged = {kind: sorted(names | set(stored.get(kind, []))) for kind, names in found.items()}
        STORED.write_text(json.dumps(merged, indent=1) + "\n")
        return
    faults = [f"{kind}: {name} is gone" for kind, names in stored.items() for name in names if name not in found[kind]]
    faults += [f"{kind}: {name} is new: run interface.py --write" for kind, names in found.items()
               for name in sorted(names) if name not in stored[kind]]
    finish(faults, f"{sum(map(len, found.values()))} names")


main()
