# SPDX-License-Identifier: Apache-2.0
"""second_try.py - run-tests tries what failed once more, alone, and says so, over a small project of meson.

tests/python/test_second_try.py does the same for pytest.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from source import ROOT

sys.path.insert(0, str(ROOT / "tests/cluster"))
from cases import Skip, run  # noqa: E402

# What a test does at its first try, and at the next ones.
SCRIPT = """#!/bin/sh
echo "start $1" >>order
tries=$(grep -c "^start $1\\$" order)
do=$2
[ "$tries" -eq 1 ] || do=$3
echo "words of try $tries"
sleep 0.2
case $do in
hang) exec sleep 1000 ;;
part) echo "SKIP some: why not"; do=0 ;;
bar) printf '\342\224\201\n'; do=1 ;;
dead) echo "SUMMARY: libFuzzer: deadly signal"; do=1 ;;
leak) echo "SUMMARY: AddressSanitizer: 9 byte(s) leaked in 1 allocation(s)."; do=0 ;;
race) echo "SUMMARY: ThreadSanitizer: data race ring.c:7 in ring_turn"; do=66 ;;
bits) echo "==77== Conditional jump or move depends on uninitialised value(s)"; do=9 ;;
esac
echo "end $1" >>order
exit "$do"
"""


@contextlib.contextmanager
def project(**tests):
    """A folder with such tests, {name: (first, next)}, built in its folder build."""
    with tempfile.TemporaryDirectory(prefix="second-try-") as name:
        folder = pathlib.Path(name)
        (folder / "tests").symlink_to(ROOT / "tests")
        (folder / "do").write_text(SCRIPT)
        (folder / "do").chmod(0o755)
        rows = [f"test('area/{test}', find_program('do'), suite: 'x', timeout: {5 if 'hang' in does else 120}, "
                f"workdir: meson.project_source_root(), args: ['{test}', '{does[0]}', '{does[1]}'])\n" for test, does in tests.items()]
        (folder / "meson.build").write_text("project('made')\n" + "".join(rows))
        subprocess.run(["meson", "setup", "build"], cwd=folder, check=True, capture_output=True)
        yield folder


def suite(folder, *options, **environ):
    """(exit code, lines) of run-tests' functions over this folder."""
    script = 'set -uo pipefail; . tests/suites.sh; suite "made up" build "$@"; the_end'
    env = {k: v for k, v in os.environ.items() if k != "CI" and not k.startswith("MESON")}
    done = subprocess.run(["bash", "-c", script, "bash", *options], cwd=folder, env={**env, **environ}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout.splitlines()


def check_end(lines, *end):
    """After the empty line: these, how long it took, and the counts."""
    last = lines[len(lines) - 1 - lines[::-1].index(""):]
    assert last[-2].startswith("took ") and [*last[1:-2], last[-1]] == [*end], lines


def lucky():
    """Passes at the second try: it has passed, is named twice, and its first output is shown and kept."""
    with project(good=(0, 1), lucky=(1, 0), late=("hang", "part")) as folder:
        code, lines = suite(folder, "--num-processes", "3")
        assert code == 0, lines
        check_end(lines, "passed at the second try: area/late (made up)", "passed at the second try: area/lucky (made up)",
                  "3 passed, 0 failed, 1 skipped")
        for name, why in ("late", "TIMEOUT"), ("lucky", "FAIL"):
            at = lines.index(f"  passed at the second try: area/{name}")
            assert why in lines[at + 1] and f"build/failed/build-area-{name}.txt" in lines[at + 1], lines
            assert lines[at + 2] == "    | words of try 1", lines
            text = (folder / f"build/failed/build-area-{name}.txt").read_text()
            assert text.index("words of try 1") < text.index("words of try 2"), text
        assert "  skipped: area/late some: why not" in lines, lines


def alone():
    """The second tries come one after the other, with the same options of meson."""
    with project(a=(1, 0), b=(1, 0), c=(1, 0)) as folder:
        assert suite(folder, "--num-processes", "3", "--suite", "x")[0] == 0
        order = (folder / "order").read_text().split("\n")
        seconds = [line for i, line in enumerate(order) if line.startswith("start") and line in order[:i]]
        assert len(seconds) == 3 and all(order[order.index(s, order.index(s) + 1) + 1] == s.replace("start", "end")
                                         for s in seconds), order


def twice():
    """Fails twice: it has failed, and what it said last is shown.  Who is skipped then has not passed, either."""
    with project(good=(0, 0), bad=(1, 3), gone=(1, 77)) as folder:
        code, lines = suite(folder)
        assert code == 1, lines
        check_end(lines, "failed: area/bad (made up)", "failed: area/gone (made up)", "1 passed, 2 failed, 0 skipped")
        at = lines.index("  FAILED: area/bad, twice")
        assert "status 3" in lines[at + 1] and lines[at + 2] == "    | words of try 2", lines


def found():
    """What a sanitizer or libFuzzer has found has failed, also where the next try comes across nothing, or nobody looked at the exit code."""
    with project(race=("race", 0), bits=("bits", 0), leak=("leak", 0), dead=("dead", 0), lucky=(1, 0)) as folder:
        code, lines = suite(folder)
        assert code == 1, lines
        check_end(lines, *(f"failed: area/{name} (made up)" for name in ("bits", "dead", "leak", "race")),
                  "passed at the second try: area/lucky (made up)", "1 passed, 4 failed, 0 skipped")
        at = lines.index("  FAILED: area/race, by a sanitizer")
        assert "status 66" in lines[at + 1] and "ring.c:7" in lines[at + 3], lines


def many():
    """More than five are no luck: none of them is tried again."""
    with project(**{f"n{i}": (1, 0) for i in range(6)}) as folder:
        code, lines = suite(folder)
        assert code == 1 and lines[-1] == "0 passed, 6 failed, 0 skipped", lines
        assert (folder / "order").read_text().count("start") == 6
    with project(**{f"n{i}": (1, 0) for i in range(5)}) as folder:
        assert suite(folder)[1][-1] == "5 passed, 0 failed, 0 skipped"


def refused_skip():
    """In CI as root, what is skipped at the second try is looked up in tests/may-skip as well."""
    if os.getuid() != 0:
        raise Skip("only root's skips are refused")
    with project(late=(1, "part"), silent=(77, 77)) as folder:
        code, lines = suite(folder, CI="true")
        assert code == 1 and lines[-1] == "1 passed, 2 failed, 2 skipped", lines
        assert any("'area/late some' is skipped" in line for line in lines), lines
        assert "  skipped: area/silent all: it does not say why" in lines, lines


def unprintable():
    """Output that the locale does not have is told all the same."""
    with project(bar=("bar", "bar"), good=(0, 0)) as folder:
        code, lines = suite(folder, PYTHONIOENCODING="ascii")
        assert code == 1 and lines[-1] == "1 passed, 1 failed, 0 skipped", lines
        assert any("xe2" in line or "u2501" in line for line in lines), lines


def unsummed():
    """A suite whose results cannot be added up has failed, and counts nothing of the suite before it."""
    with project(good=(0, 0)) as folder:
        script = ('set -uo pipefail; . tests/suites.sh; suite "made up" build; rm tests; mkdir tests; '
                  'printf "#!/bin/sh\\n[ \\$1 = again ]\\n" >tests/results.py; chmod +x tests/results.py; suite "again" build; the_end')
        done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 1 and done.stdout.splitlines()[-1] == "1 passed, 1 failed, 0 skipped", done
        assert "cannot be added up" in done.stdout, done


def checked():
    """shellcheck has nothing to say about run-tests and its functions."""
    if not shutil.which("shellcheck"):
        raise Skip("shellcheck is not installed")
    done = subprocess.run(["shellcheck", "-x", "run-tests", "tests/suites.sh", "tests/fuzz/run"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def no_result():
    """Where meson itself fails, that is one failure."""
    with project(good=(0, 0)) as folder:
        code, lines = suite(folder, "--no-such-option")
        assert code == 1, lines
        check_end(lines, "failed: no result from the tests of build (made up)", "0 passed, 1 failed, 0 skipped")


def longest():
    """The end names what took longest, and a recorded run what each suite took."""
    with project(short=(0, 0), hangs=("hang", 0)) as folder:
        lines = suite(folder)[1]
        at = lines.index("the longest tests:")
        assert re.fullmatch(r" +\d+\.\d s  area/hangs \(made up\)", lines[at + 1]) and "area/short" in lines[at + 2], lines
        logs = folder / "logs"
        logs.mkdir()
        (logs / "costs").write_text("7\tone\n61\tthe other\n")
        (logs / "times").write_text("4.9\ta\tone\n8.2\tb\tthe other\n")
        done = subprocess.run([ROOT / "tests/results.py", "record", logs, "70"], capture_output=True, text=True, check=True)
        told = json.loads(done.stdout)
        assert told.pop("cores") > 0 and told == {"seconds": 70, "suites": {"one": 7, "the other": 61}, "tests": {"b (the other)": 8}}, told


def usage():
    """Words that run-tests does not know, and records that would say nothing, are refused before anything is installed."""
    for words, code, told in ((["--help"], 0, "usage: run-tests"), (["quik"], 2, "there is no 'quik'"),
                              (["all", "quick"], 2, "usage: run-tests"), (["all", "--record"], 2, "--record is about the gate"),
                              (["quick", "--again"], 2, "--again is about 'all'"),
                              (["--record"], 2, "--record needs a fresh clone")):
        with tempfile.TemporaryDirectory(prefix="usage-") as name:
            folder = pathlib.Path(name)
            (folder / "tests").symlink_to(ROOT / "tests")
            (folder / "build").mkdir()
            shutil.copy(ROOT / "run-tests", folder / "copy")
            done = subprocess.run(["./copy", *words], cwd=folder, capture_output=True, text=True)
            assert done.returncode == code and told in done.stdout + done.stderr, done
            assert os.listdir(folder / "build") == [], done


run([lucky, alone, twice, found, many, refused_skip, unprintable, unsummed, checked, no_result, longest, usage], sys.argv[1:])
