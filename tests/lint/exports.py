# SPDX-License-Identifier: Apache-2.0
"""exports.py LIBRARY - the symbols that libeddis exports are exactly those of exports.txt, every
one of them is declared in an installed header, with the prototype that a manual page has in its SYNOPSIS, the
structs of these headers have the members that a page lists, and the library needs nothing but MPI and the C library."""

import re
import shlex
import subprocess
import sys

from source import ROOT, finish


HEADERS = ["eddis.h", "eddis_checkpoint.h", "eddis_collective.h", "eddis_parameters.h", "eddis_progress.h",
           "eddis_samples.h", "eddis_smb.h"]
PAGES = ["eddis.3", "eddis_smb.3"]

# The C library's own, and what sanitizers and coverage add.
MAY_NEED = re.compile(r"lib(c|m|pthread|mpi|asan|ubsan|tsan|gcov|gcc_s)\.so|ld-linux")


def needed(library):
    out = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)\]", out)


def spaced(text):
    """As the manual writes it: one blank between words, and none behind a star."""
    return re.sub(r"\* (?=[\w*])", "*", " ".join(text.split()))


def prototypes(code):
    """{name: (what it returns, its arguments)} of headers without comments."""
    flat = re.sub(r"^#.*$", "", re.sub(r"\\\n", " ", code), flags=re.M).replace("\n", " ")
    return {name: (spaced(returns), [spaced(a) for a in arguments.split(",")]) for returns, name, arguments in
            re.findall(r"([\w *]+?)\b(eddis_\w+)\s*\(([^;{}()]*)\)(?:\s*__attribute__\(\(\w+\)\))?;", flat)}


def synopsis(page):
    """The same of a manual page's .Ft with .Fn, or .Fo with .Fa, up to its DESCRIPTION."""
    found, returns, name = {}, None, None
    for line in page.partition(".Sh SYNOPSIS")[2].partition(".Sh ")[0].strip().splitlines():
        macro, *words = shlex.split(line)
        if macro == ".Ft":
            returns = words[0]
        elif macro == ".Fn":
            found[words[0]] = returns, words[1:]
        elif macro == ".Fo":
            name = words[0]
        elif macro == ".Fa":
            found[name] = returns, words
    return found


def manual_faults(code):
    header, manual = prototypes(code), {}
    for page in PAGES:
        for name, prototype in synopsis((ROOT / "man" / page).read_text()).items():
            yield from [f"{name} has two prototypes in the manual"] if name in manual else []
            manual[name] = prototype
    for name in sorted(header.keys() | manual.keys()):
        if header.get(name) != manual.get(name):
            yield f"{name} is {header.get(name)} in the headers and {manual.get(name)} in the manual"


def members(code):
    """{struct: names of its members} of headers without comments."""
    found = {}
    for struct, body in re.findall(r"^struct (eddis_\w+) \{(.*?)^\};", code, flags=re.M | re.S):
        found[struct] = {name for line in body.split(";") for name in re.findall(r"(\w+)(?:\[\w+\])?\s*(?:,|$)", line.strip())}
    return found


def listed(page):
    """The same of a manual page's subsections ".Ss struct NAME", which list members by .It Va."""
    return {struct: {name for line in re.findall(r"^\.It Va (.*?)(?: Pq .*)?$", text, flags=re.M) for name in line.split(" , ")}
            for struct, text in re.findall(r"^\.Ss struct (eddis_\w+)\n(.*?)(?=^\.S[hs] )", page, flags=re.M | re.S)}


def member_faults(code):
    header, manual = members(code), {}
    for page in PAGES:
        manual.update(listed((ROOT / "man" / page).read_text()))
    for struct in sorted(header.keys() | manual.keys()):
        have, want = manual.get(struct, set()), header.get(struct, set())
        yield from (f"{struct}.{name} is in no list of the manual" for name in sorted(want - have))
        yield from (f"{struct}.{name} is in the manual and in no header" for name in sorted(have - want))


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
    faults += [f"{s} is declared in a way that this test does not read" for s in sorted(declared - prototypes(code).keys())]
    faults += manual_faults(code)
    faults += member_faults(code)
    faults += [f"{lib} is needed by the library" for lib in needed(sys.argv[1])
               if not MAY_NEED.match(lib)]
    finish(faults, f"{len(have)} symbols")


main()
