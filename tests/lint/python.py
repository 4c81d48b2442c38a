# SPDX-License-Identifier: Apache-2.0
"""python.py PAGE - the Python package and its examples say who may use them and what they are for, import nothing in
vain, and keep to 120 columns and 600 lines; all that the package shows has a docstring and types and stands in the
manual PAGE, which names nothing else; its version is the library's."""

import ast
import pathlib
import re
import sys

from source import ROOT, finish

COLUMNS, LINES = 120, 600
LICENCE = "# SPDX-License-Identifier: Apache-2.0"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def sources():
    return sorted(p for folder in ("python/eddis", "examples", "tests/python") for p in (ROOT / folder).rglob("*.py"))


def exported(tree):
    """What stands in __all__, or None."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return ast.literal_eval(node.value)
    return None


def bound(node):
    """Names that an import binds."""
    return [(a.asname or a.name).split(".")[0] for a in node.names]


def faults_of_layout(path, text, tree):
    lines = text.splitlines()
    if LICENCE not in lines[:2]:
        yield f"{path}:1: not {LICENCE}"
    if not ast.get_docstring(tree):
        yield f"{path}:2: does not say what the file is for"
    if len(lines) > LINES:
        yield f"{path}: {len(lines)} lines, over {LINES}: split it"
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS:
            yield f"{path}:{number}: {len(line)} columns, over {COLUMNS}"
        if line != line.rstrip():
            yield f"{path}:{number}: space at the end"


def faults_of_names(path, tree):
    """Imports that nothing uses, and a module's own names of a leading _ that nobody does."""
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    used |= {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    used |= set(exported(tree) or ())
    formats = {id(n.format_spec) for n in ast.walk(tree) if isinstance(n, ast.FormattedValue)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)) and getattr(node, "module", "") != "__future__":
            yield from (f"{path}:{node.lineno}: imports {name} in vain" for name in bound(node) if name not in used)
        if isinstance(node, ast.JoinedStr) and id(node) not in formats:
            if not any(isinstance(value, ast.FormattedValue) for value in node.values):
                yield f"{path}:{node.lineno}: an f-string without a value"
        if isinstance(node, ast.ExceptHandler) and not node.type:
            yield f"{path}:{node.lineno}: except: of everything"
    for node in tree.body:
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)) and re.match(r"_[^_]", node.name) and node.name not in used:
            yield f"{path}:{node.lineno}: {node.name} is not used"


def is_typed(function):
    arguments = function.args.posonlyargs + function.args.args + function.args.kwonlyargs
    return function.returns and all(a.annotation for a in arguments if a.arg not in ("self", "cls"))


def faults_of_types(path, tree):
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS) and not is_typed(node):
            yield f"{path}:{node.lineno}: {node.name} lacks types"


def definitions(folder):
    """{name: node} of what the modules of a folder define."""
    found = {}
    for path in folder.glob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
                found[node.name] = node
    return found


def faults_of_manual(page):
    """Modules' names and the manual's sections of these names."""
    text, above = page.read_text(), set()
    for folder, module in (("python/eddis", "EDDIS"), ("python/eddis/torch", "EDDIS.TORCH")):
        names, nodes = exported(ast.parse((ROOT / folder / "__init__.py").read_text())), definitions(ROOT / folder)
        section = re.search(rf"^\.Sh NAMES OF {re.escape(module)}\n(.*?)(?=^\.Sh )", text, re.M | re.S)
        told = set(re.findall(r"^\.It (?:Fn|Sy) (?:\\&)?(\w+)", section[1], re.M)) if section else set()
        if names != sorted(names):
            yield f"{folder}/__init__.py: __all__ is not in order"
        names = [name for name in names if name not in above]  # the package's own names are told of once
        above.update(names)
        yield from (f"{page.name} does not tell of {module.lower()}.{name}" for name in sorted(set(names) - told))
        yield from (f"{page.name} tells of {module.lower()}.{name}: __all__ has none" for name in sorted(told - set(names)))
        yield from (f"{folder}: {name} has no docstring" for name in names
                    if name not in nodes or not ast.get_docstring(nodes[name]))


def faults_of_version():
    """The version stands in three files."""
    places = {"meson.build": r"^ *version: '(.*?)'", "python/pyproject.toml": r'^version = "(.*?)"',
              "python/eddis/__init__.py": r'^__version__ = "(.*?)"'}
    told = {path: re.search(rule, (ROOT / path).read_text(), re.M) for path, rule in places.items()}
    versions = {path: found[1] if found else "none" for path, found in told.items()}
    if len(set(versions.values())) > 1:
        yield "versions differ: " + ", ".join(f"{path} {version}" for path, version in versions.items())


def main():
    faults, files = [], sources()
    for file in files:
        path, text = file.relative_to(ROOT), file.read_text()
        tree = ast.parse(text)
        faults += [*faults_of_layout(path, text, tree), *faults_of_names(path, tree)]
        if path.parts[0] == "python":
            faults += faults_of_types(path, tree)
    faults += faults_of_version()
    faults += faults_of_manual(pathlib.Path(sys.argv[1]))
    finish(faults, f"{len(files)} files of Python")


main()
