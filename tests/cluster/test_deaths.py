# SPDX-License-Identifier: Apache-2.0
"""test_deaths.py BUILD SOURCE [CASE ...] - ways for a program in Python to die: exit code, reason, who is named, what is shown.

Rank 1 of two dies, the other one works on; a row whose ranks are both has them die alike.  Rows of a case run side by side.
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

from cases import run, table
from files import write
from job import Folders, Job

BUILD = os.path.abspath(sys.argv[1])
BOTH = (0, 1)
AT_ONCE = 4
HEAD = """
import os, signal, sys, time
if os.environ["RANK"] == "0":
    time.sleep({work})
    sys.exit(0)
"""


class Death:
    """words: shown on standard error; never: not shown.  ranks: who may be named, None: nobody, for the job ends well."""

    def __init__(self, name, text, code, reason, *words, ranks=1, never=(), args=(), command=None):
        self.name, self.text, self.code, self.reason, self.words = name, text, code, reason, words
        self.ranks, self.never, self.args, self.command = ranks, never, args, command

    def go(self):
        folders = Folders()
        head = "" if self.ranks == BOTH else HEAD.format(work=0.5 if self.ranks is None else 600)
        path = write(folders.path("work", "train.py"), head + self.text)
        command = self.command(folders) if self.command else [sys.executable, path]
        with Job(BUILD, folders, [*self.args, "--restarts", "0", "--", *command]) as j:
            j.check(self.code, self.reason, *self.words, failed_rank=self.ranks)
            for word in self.never:
                assert word not in j.err, (word, j.err)


TRACE = "Traceback (most recent call last):"
EXCEPTIONS = [
    Death("exception", """
def load(i):
    raise ValueError(f"bad sample {i}")
load(17)
""", 1, "rank_exit", TRACE, "load(17)", "ValueError: bad sample 17", "exited 1"),
    Death("chained", """
try:
    {}["weights"]
except KeyError as e:
    raise RuntimeError("cannot load the model") from e
""", 1, "rank_exit", "KeyError: 'weights'", "The above exception was the direct cause", "RuntimeError: cannot load the model"),
    Death("syntax", "def train(:\n    pass\n", 1, "rank_exit", "train.py\", line 1", "SyntaxError", ranks=BOTH),
    Death("import", "import no_such_module\n", 1, "rank_exit", "ModuleNotFoundError: No module named 'no_such_module'",
          ranks=BOTH),
    Death("assert", "assert 3 == 4, 'sizes differ'\n", 1, "rank_exit", TRACE, "AssertionError: sizes differ"),
    Death("recursion", "def deeper():\n    deeper()\ndeeper()\n", 1, "rank_exit", TRACE, "[Previous line repeated",
          "RecursionError: maximum recursion depth exceeded"),
    Death("memory error", "bytearray(1 << 60)\n", 1, "rank_exit", TRACE, "MemoryError", never=("out of memory",)),
    Death("child", "import subprocess\nsubprocess.run(['false'], check=True)\n", 1, "rank_exit",
          "CalledProcessError: Command '['false']' returned non-zero exit status 1"),
]

EXITS = [
    Death("exit 3", "print('giving up')\nsys.exit(3)\n", 3, "rank_exit", "exited 3", "giving up", never=(TRACE,)),
    Death("exit text", "sys.exit('no data here')\n", 1, "rank_exit", "exited 1", "no data here", never=(TRACE,)),
    Death("exit -1", "sys.exit(-1)\n", 255, "rank_exit", "exited 255"),
    Death("_exit", "print('last words')\nos._exit(4)\n", 4, "rank_exit", "exited 4", "last words"),
    Death("exit 0", "sys.exit(0)\n", 0, "ok", ranks=None),
    Death("caught before", """
import traceback
try:
    1 / 0
except ZeroDivisionError:
    traceback.print_exc()
for i in range(30):
    print("step", i)
sys.exit(5)
""", 5, "rank_exit", "exited 5", "step 29", never=("ZeroDivisionError",)),
    Death("thread", """
import threading
t = threading.Thread(target=lambda: 1 / 0)
t.start()
t.join()
""", 0, "ok", ranks=None),
    Death("stdout", "os.close(1)\nprint('x', flush=True)\n", 1, "rank_exit", TRACE, "OSError: [Errno 9] Bad file descriptor"),
]

SIGNALS = [
    Death("segv", "import ctypes\nprint('step 7')\nctypes.string_at(0)\n", 139, "rank_signal",
          "died of signal 11 (Segmentation fault)", "step 7"),
    Death("faulthandler", "import ctypes, faulthandler\nfaulthandler.enable()\nctypes.string_at(0)\n", 139, "rank_signal",
          "died of signal 11 (Segmentation fault)", "Fatal Python error: Segmentation fault"),
    Death("abort", "os.abort()\n", 134, "rank_signal", "died of signal 6 (Aborted)"),
    Death("killed", """
import traceback
try:
    1 / 0
except ZeroDivisionError:
    traceback.print_exc()
print("step 8")
os.kill(os.getpid(), signal.SIGKILL)
""", 137, "rank_signal", "died of signal 9 (Killed)", "step 8"),
    Death("terminated", "os.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(600)\n", 143, "rank_signal",
          "died of signal 15 (Terminated)"),
    Death("interrupt", "os.kill(os.getpid(), signal.SIGINT)\ntime.sleep(600)\n", 130, "rank_signal", TRACE,
          "died of signal 2 (Interrupt)", "KeyboardInterrupt"),
]

STARTS = [
    Death("no script", "", 2, "rank_exit", "can't open file '/no/such/train.py'",
          command=lambda f: [sys.executable, "-X", "utf8", "/no/such/train.py"], ranks=BOTH),  # else found before the start
    Death("setup", "", 9, "rank_exit", "eddis: setup failed with code 9: exit 9", args=["--set", "setup=[exit 9]"], ranks=BOTH),
    Death("gone after setup", "", 127, "rank_exit", "eddis: no program 'no_such_program' in PATH after setup",
          args=["--set", "setup=[true]"], command=lambda f: ["no_such_program"], ranks=BOTH),
]


def side_by_side(rows):
    """Each row by itself."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = [(row, pool.submit(row.go)) for row in rows]
    failed = []
    for row, result in results:
        if result.exception():
            failed.append(f"{row.name}: {result.exception()!r:.3000}")
    assert not failed, "\n".join(failed)


CASES = {"exceptions": (EXCEPTIONS,), "exits": (EXITS,), "signals": (SIGNALS,), "starts": (STARTS,)}
run(table(side_by_side, CASES), sys.argv[3:])
