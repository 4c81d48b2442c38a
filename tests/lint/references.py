# SPDX-License-Identifier: Apache-2.0
"""references.py PAGE... - the manual pages refer to pages that are there, and name every call of the library."""

import pathlib
import re
import sys

from source import ROOT, finish

PAGES = [pathlib.Path(p) for p in sys.argv[1:]]


def wrong_references():
    there = {(p.stem, p.suffix[1:]) for p in PAGES}
    for page in PAGES:
        for number, line in enumerate(page.read_text().splitlines(), 1):
            found = re.match(r"\.Xr (eddis\S*) (\d)", line)
            if found and found.groups() not in there:
                yield f"{page.name}:{number}: there is no page {found[1]}({found[2]})"


def calls_without_a_word():
    named = "".join(p.read_text() for p in PAGES if p.suffix == ".3")
    for name in (ROOT / "tests/lint/exports.txt").read_text().split():
        if not re.search(rf"\b{name}\b", named):
            yield f"no page of section 3 names {name}"


finish([*wrong_references(), *calls_without_a_word()], f"{len(PAGES)} pages")
