# SPDX-License-Identifier: Apache-2.0
"""going_on.py - run-tests all goes on where it was killed: parts of a small project that ended are added, not repeated"""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

from source import ROOT

sys.path.insert(0, str(ROOT / "tests/cluster"))
from cases import run  # noqa: E402

PATIENCE_S = 100
# The parts of run-tests here.  Each writes its name into build/order, and ends at once unless a file build/hang-NAME exists.
SCRIPT = """
set -uo pipefail
. tests/suites.sh
goes_on "$1"
need "needed" ./do needed 0
step "first step" ./do first 0
step "bad: step" ./do bad 1
suite "a suite" build
step "last step" ./do last 77
the_end
"""
DO = """#!/bin/sh
echo "$1" >>build/order
[ ! -e "build/hang-$1" ] || { echo $$ >"build/hang-$1"; exec sleep 1000; }
code=$2
[ "$(grep -c "^$1\\$" build/order)" -eq 1 ] || code=${3:-$2}
[ "$code" -ne 77 ] || echo "SKIP some: why not"
exit "$code"
"""
TESTS = "".join(f"test('area/{name}', find_program('do'), workdir: meson.project_source_root(), args: ['{name}', '{codes[0]}', '{codes[1]}'])\n"
                for name, codes in {"good": (0, 0), "lucky": (1, 0), "wrong": (1, 1), "late": (77, 77)}.items())
ONCE = ["needed", "first", "bad", "good", "lucky", "wrong", "late", "lucky", "wrong", "last"]
END = ["failed: bad: step (step)", "failed: area/wrong (a suite)", "passed at the second try: area/lucky (a suite)"]
COUNTS = "4 passed, 2 failed, 2 skipped"  # of all parts, whatever ran first


def git(folder, *words):
    subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@e", *words], cwd=folder, check=True, capture_output=True)


@contextlib.contextmanager
def project():
    """A clean tree of git with these tests, built in its folder build."""
    with tempfile.TemporaryDirectory(prefix="going-on-") as name:
        folder = pathlib.Path(name)
        (folder / "tests").symlink_to(ROOT / "tests")
        (folder / "do").write_text(DO)
        (folder / "do").chmod(0o755)
        (folder / "meson.build").write_text("project('made')\n" + TESTS)
        (folder / ".gitignore").write_text("/build/\n")
        git(folder, "init", "-q")
        commit(folder)
        subprocess.run(["meson", "setup", "build"], cwd=folder, check=True, capture_output=True)
        yield folder


def commit(folder):
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "made")


def begun(folder, again=""):
    env = {k: v for k, v in os.environ.items() if k != "CI" and not k.startswith(("MESON", "GIT_"))}
    return subprocess.Popen(["bash", "-c", SCRIPT, "bash", again], cwd=folder, env=env, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, start_new_session=True)


def order(folder):
    path = folder / "build/order"
    return path.read_text().split() if path.exists() else []


def killed(folder, at, by=signal.SIGKILL):
    """Kill a run, with all that it has started, while this part or test hangs; begin a new order.  Returns what had begun."""
    hang = folder / f"build/hang-{at}"
    hang.touch()
    job = begun(folder)
    end = time.monotonic() + PATIENCE_S
    while not hang.read_text().endswith("\n"):
        assert time.monotonic() < end and job.poll() is None, order(folder)
        time.sleep(0.05)
    os.killpg(job.pid, by)
    job.wait()
    with contextlib.suppress(ProcessLookupError):
        os.kill(int(hang.read_text()), signal.SIGKILL)  # a test of meson is in a group of its own
    job.stdout.close()
    hang.unlink()
    seen = order(folder)
    (folder / "build/order").unlink()
    return seen


def ended(folder, again=""):
    """(lines, parts and tests that ran) of a run to its end."""
    job = begun(folder, again)
    lines = job.communicate(timeout=PATIENCE_S)[0].splitlines()
    assert job.returncode == 1 and lines[-1] == COUNTS, lines
    last = lines[len(lines) - 1 - lines[::-1].index(""):]
    assert sorted(last[1:-2]) == sorted(END), lines
    seen = order(folder)
    (folder / "build/order").unlink()
    return lines, seen


def check_whole(folder, again=""):
    """All runs, nothing is from before."""
    lines, seen = ended(folder, again)
    assert sorted(seen) == sorted(ONCE) and not any("before" in line or "going on" in line for line in lines), (lines, seen)


def goes_on():
    """Killed in its last part: that alone runs, beside what it needs; counts, failures, second tries and skips are added."""
    with project() as folder:
        assert sorted(killed(folder, "last")) == sorted(ONCE)
        lines, seen = ended(folder)
        assert seen == ["needed", "last"], seen
        assert lines[0].startswith("going on after a run that stopped; --again"), lines
        for title, counts in ("first step", "1 passed, 0 failed, 0"), ("bad: step", "0 passed, 1 failed, 0"), ("a suite", "2 passed, 1 failed, 1"):
            at = lines.index("== " + title)
            assert lines[at + 1].startswith(f"  from before: {counts} skipped, in 0 min "), lines
        assert "  skipped: area/late some: why not" in lines, lines
        assert sum("(a suite)" in line for line in lines[lines.index("the longest tests:"):]) >= 4 + 2, lines
        assert re.fullmatch(r"took \d+ min \d+ s, and \d+ min \d+ s before", lines[-2]), lines
        assert (folder / "build/failed/build-area-wrong.txt").exists()
        check_whole(folder)  # that run has ended


def twice():
    """Killed by Ctrl-C and by a signal in the midst of a suite: this is repeated, also after the second kill."""
    with project() as folder:
        assert "good" in killed(folder, "good", signal.SIGINT)
        seen = killed(folder, "late", signal.SIGTERM)
        assert seen[0] == "needed" and not {"first", "bad"} & {*seen}, seen
        seen = ended(folder)[1]
        assert sorted(seen) == sorted(name for name in ONCE if name not in ("first", "bad")), seen


def anew():
    """Another commit, a changed tree and --again begin anew; of a changed tree nothing is kept."""
    with project() as folder:
        killed(folder, "last")
        commit(folder)
        check_whole(folder)
        killed(folder, "last")
        check_whole(folder, "1")
        killed(folder, "last")
        (folder / "new").touch()
        assert sorted(killed(folder, "last")) == sorted(ONCE)
        (folder / "new").unlink()
        check_whole(folder)


run([goes_on, twice, anew], sys.argv[1:])
