# SPDX-License-Identifier: Apache-2.0
"""modes.py - no comparison of a mode or an algorithm by its name outside lib/model/algorithm.c.

Code asks the table of algorithms for a trait, so that an algorithm more changes no code elsewhere.
"""

import re

from source import PRODUCT, ROOT, c_files, finish

TABLE = "lib/model/algorithm.c"
COMPARES = re.compile(r"\b(str(?:n|case|ncase)?cmp|memcmp|strstr)\s*\(")
MEMBER = re.compile(r"(->|\.|\b)(mode|algorithm)\b(?!\s*(->|\.|\())")
WORD = re.compile(r'"([^"]*)"')


def names():
    """Modes and algorithms, those of later versions too."""
    text = (ROOT / TABLE).read_text()
    rows = re.findall(r'\{ "([a-z-]+)",\s*SYNC_MODE_', text)
    for table in re.findall(r"(?:mode_names|later_names)\[[A-Z_]*\] = \{([^}]*)\}", text):
        rows += WORD.findall(table)
    return set(rows)


def arguments(text, start):
    """What stands between the parenthesis that opens before start and its end."""
    depth, at = 1, start
    while depth and at < len(text):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return text[start:at - 1]


def main():
    faults, checked, known = [], 0, names()
    assert {"sync", "hybrid", "allreduce", "hsgd", "local"} <= known, known
    for path in c_files(PRODUCT + ["bench", "examples"]):
        if str(path) == TABLE:
            continue
        text = (ROOT / path).read_text()
        for match in COMPARES.finditer(text):
            given = arguments(text, match.end())
            checked += 1
            if MEMBER.search(WORD.sub("", given)) or known & set(WORD.findall(given)):
                line = text.count("\n", 0, match.start()) + 1
                faults.append(f"{path}:{line}: compares a mode or an algorithm by its name: ask for a trait ({TABLE})")
    finish(faults, f"{checked} comparisons of text, none of a mode or an algorithm")


main()
