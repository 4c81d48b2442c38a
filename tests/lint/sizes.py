# SPDX-License-Identifier: Apache-2.0
"""sizes.py - no function over 80 lines, no file over 800, no header over 250, README.md at most 120; prints the largest.

With the project's brace style a function opens with '{' and closes with '}' in the first column;
tables close with '};' and may be as long as they are.
"""

import re

from source import ROOT, c_files, finish

FUNCTION, FILE, HEADER, README = 80, 800, 250, 120
NAME = re.compile(r"(\w+)\s*\(")
# the public interface is one page on purpose
HEADER_MAY = {"lib/eddis.h": 500}


def functions(lines):
    """(name, first line, length) of every function."""
    start = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            start = number
        elif line == "}" and start:
            head = " ".join(lines[max(0, start - 8):start - 1])
            names = NAME.findall(head)
            first = next((w for w in reversed(names) if w not in ("format", "printf")), "?")
            yield first, start, number - start + 1
            start = None
        elif line == "};":
            start = None


def main():
    faults, largest_functions, largest_files = [], [], []
    for path in c_files():
        lines = (ROOT / path).read_text().splitlines()
        limit = HEADER_MAY.get(str(path), HEADER) if path.suffix == ".h" else FILE
        largest_files.append((len(lines), str(path)))
        if len(lines) > limit:
            faults.append(f"{path}: {len(lines)} lines, over {limit}: split it")
        for name, line, length in functions(lines):
            largest_functions.append((length, f"{path}:{line} {name}"))
            if length > FUNCTION:
                faults.append(f"{path}:{line}: {name} has {length} lines, over {FUNCTION}")
    readme = len((ROOT / "README.md").read_text().splitlines())
    if readme > README:
        faults.append(f"README.md: {readme} lines, over {README}: what explains goes to docs/")
    for title, rows in (("functions", largest_functions), ("files", largest_files)):
        print(f"largest {title}:")
        for length, where in sorted(rows, reverse=True)[:10]:
            print(f"  {length:4} {where}")
    finish(faults, f"{len(largest_functions)} functions in {len(largest_files)} files")


main()
