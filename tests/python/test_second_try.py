# SPDX-License-Identifier: Apache-2.0
"""test_second_try.py - run-tests tries once more what failed under pytest; tests/lint/second_try.py: under meson"""

from __future__ import annotations

import os
import subprocess
import sys

from started import ROOT

TESTS = '''
import pathlib, pytest

def first(name):
    path = pathlib.Path(__file__).with_name(name)
    was = path.exists()
    path.write_text("")
    return not was

def test_good():
    pass

@pytest.mark.parametrize("n", ["1 a", "b/c"])
def test_lucky(n):
    print("words of", n)
    assert not first(n[0])

def test_bad():
    assert not 1

@pytest.mark.skip(reason="why not")
def test_skipped():
    pass
'''
MANY = "import pytest\n@pytest.mark.parametrize('n', range(6))\ndef test_n(n):\n    assert n > 5\n"


def tried(folder):
    """(exit code, lines) of run-tests' functions over the tests of a folder."""
    script = 'set -uo pipefail; . tests/suites.sh; python=$0; tries "made up" by_pytest made; the_end'
    env = {k: v for k, v in os.environ.items() if k != "CI" and not k.startswith("PYTEST")}
    done = subprocess.run(["bash", "-c", script, sys.executable], cwd=folder, env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout.splitlines()


def test_tried_again(tmp_path):
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    made = tmp_path / "made"
    made.mkdir()
    (made / "test_some.py").write_text(TESTS)
    (made / "test_whole.py").write_text("import pytest\npytest.skip(\"there isn't one\", allow_module_level=True)\n")
    code, lines = tried(tmp_path)
    assert code == 1 and lines[-1] == "3 passed, 1 failed, 2 skipped", lines
    assert "  skipped: python/whole all: there isn't one" in lines, lines
    assert "  FAILED: python/some bad, twice" in lines and "  skipped: python/some skipped: why not" in lines, lines
    for name in "1 a", "b/c":
        assert lines.count(f"  passed at the second try: python/some lucky[{name}]") == 1, lines
        assert f"passed at the second try: python/some lucky[{name}] (made up)" in lines[-5:], lines
    assert "    | words of 1 a" in lines, lines


def test_too_many(tmp_path):
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    made = tmp_path / "made"
    made.mkdir()
    (made / "test_many.py").write_text(MANY)
    code, lines = tried(tmp_path)
    assert code == 1 and lines[-1] == "0 passed, 6 failed, 0 skipped" and "twice" not in "".join(lines), lines
    (made / "test_many.py").write_text("import no_such_module")
    code, lines = tried(tmp_path)
    assert code == 1 and lines[-1] == "0 passed, 1 failed, 0 skipped", lines
