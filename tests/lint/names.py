# SPDX-License-Identifier: Apache-2.0
"""names.py - one name stands for one thing: no two product files of one base name, no struct tag
that two headers define.

The .c and .h of one folder are one module, and an x_impl.h is for the authors of what stands beside x.h.
"""

import collections
import re

from source import PRODUCT, ROOT, c_files, finish

# The installed header and lib/base each define it behind one guard: programs see either.
SHARED_TAGS = {"eddis_error"}
TAG = re.compile(r"^\s*struct (\w+) \{", re.M)
COMMENT = re.compile(r"/\*.*?\*/", re.S)


def main():
    modules, tags = collections.defaultdict(set), collections.defaultdict(set)
    for path in c_files(PRODUCT):
        modules[path.stem].add(path.parent)
        if path.suffix == ".h":
            for tag in TAG.findall(COMMENT.sub("", (ROOT / path).read_text())):
                tags[tag].add(str(path))
    faults = []
    for name, folders in sorted(modules.items()):
        if len(folders) > 1:
            faults.append(f"{name}: in " + " and ".join(sorted(map(str, folders))))
        if name.endswith("_impl") and not folders <= modules[name.removesuffix("_impl")]:
            faults.append(f"{name}: there is no {name.removesuffix('_impl')} beside it")
    faults += [f"struct {tag}: in " + " and ".join(sorted(paths)) for tag, paths in sorted(tags.items())
               if len(paths) > 1 and tag not in SHARED_TAGS]
    finish(faults, f"{len(modules)} names of files, {len(tags)} struct tags")


main()
