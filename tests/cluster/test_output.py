# SPDX-License-Identifier: Apache-2.0
"""test_output.py BUILD SOURCE [CASE ...] - what ranks print, from their programs to people.

Lines are whole, prefixed, folded and selected; a flood neither stops the job nor fills anything,
and what is not shown is counted; a reader who is slow or gone is nobody's trouble.
"""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
import time

from cases import run
from job import MEET, Folders, Job
from node import PATIENCE, wait_for

BUILD = sys.argv[1]
FOLDERS = Folders()
HOST = os.uname().nodename


def script(text, *args, **options):
    return Job(BUILD, FOLDERS, [*args, "--", "sh", "-c", text], **options)


def shown(text, ranks=""):
    """Lines with a prefix: (who, line)."""
    return re.findall(rf"^({re.escape(HOST)}:\d+|[\d,.-]+ \(\d+ ranks\)): *(.*)$", text, re.M)


def said_by(rank, text):
    """Its lines in their order, however they were folded."""
    def speaks(who):
        spans = who.split(" ")[0].split(",") if who.endswith(")") else [who.rsplit(":", 1)[1]]
        ends = [[int(end) for end in span.split("-")] for span in spans]
        return any(e[0] <= rank <= e[-1] for e in ends)
    return [line for who, line in shown(text) if speaks(who)]


def some_time(trial, what):
    """Lines fold that come within a quarter of a second, which a busy machine may not manage at once."""
    for _ in range(20):
        if trial():
            return
    raise AssertionError(f"20 times not {what}")


def prefixes():
    with script("printf 'one\\n\\033[31mtwo\\033[0m\\n'; printf 'no end'; "
                "echo only $RANK >&2; printf 'b\\000d \\377\\n'") as j:
        j.check(0, "ok")
    lines = shown(j.out)
    for rank in (0, 1):
        assert (f"{HOST}:{rank}", f"no endonly {rank}") in lines, j.out
        assert said_by(rank, j.out) == ["one", "two", f"no endonly {rank}", "b?d ?"], j.out
    assert {who for who, line in lines if line == "b?d ?"} <= {f"{HOST}:0", f"{HOST}:1", "0,1 (2 ranks)"}, j.out
    assert "\033" not in j.out + j.err
    with open(j.path("logs/rank-0000.log"), "rb") as f:
        assert b"\033[31mtwo\033[0m\nno endonly 0\nb\0d \xff\n" == f.read()[4:], "the file has all of it"
    assert j.out.index("workers   2 ") < j.out.index("one") < j.out.index("done in"), j.out


def own_prefix():
    with script("echo $RANK", "--set", "logs.prefix={rank}@{node}| ") as j:
        j.check(0, "ok")
    assert f"0@{HOST}| 0\n" in j.out and f"1@{HOST}| 1\n" in j.out, j.out


def folded():
    """A traceback that every rank prints, each at its own time, comes once."""
    whole = [f"File {i}" for i in range(1, 31)]

    def once():
        with script(MEET + "sleep 0.0$RANK; for i in $(seq 30); do echo \"  File $i\"; done; sleep 1", ranks=4) as j:
            j.check(0, "ok")
        assert all(said_by(rank, j.out) == whole for rank in range(4)), j.out
        return shown(j.out) == [("0-3 (4 ranks)", line) for line in whole]
    some_time(once, "a traceback that came once")


def selected():
    with script("echo I am $RANK", "--ranks", "0,2-3", ranks=4) as j:
        j.check(0, "ok")
    assert sorted(shown(j.out)) == [(f"{HOST}:{r}", f"I am {r}") for r in (0, 2, 3)], j.out
    with script("true", "--ranks", "2-0") as j:
        assert j.end() == 2 and '--ranks: "2-0" is not a list of ranks' in j.err, j.err


def silent():
    for flag in ("-q", "--json"):
        with script("echo words", flag) as j:
            j.check(0, "ok")
            assert "words" not in j.out + j.err and "words" in j.log(0)


def progress_bar():
    """Of a bar the last state is left, in time with the other lines."""
    with script("for i in $(seq 100); do printf '\\r%3d%%' $i; done; echo; echo after", ranks=1) as j:
        j.check(0, "ok")
    assert [line for _, line in shown(j.out)] == ["100%", "after"], j.out


MOVING = r"until [ -e $GO ]; do i=$((i+1)); printf '\r%d%%' $i; sleep 0.1; done; printf '\nover\n'"


def moving():
    """A bar that never stands still, and dots, are seen while they move: now and then in a line of their own."""
    for name, text, line in ("bar", MOVING, r"\d+%"), ("dots", MOVING.replace(r"\r%d%%", "."), r"\.+"):
        go = os.path.join(FOLDERS.path("work"), "go-" + name)
        with script(text, ranks=1, GO=go) as j:
            watch = threading.Timer(PATIENCE, j.process.kill)
            watch.start()
            before = []
            while not before or before[-1] and not re.search(rf": +{line}$", before[-1].rstrip("\n")):
                before.append(j.process.stdout.readline())
            watch.cancel()
            assert before[-1], ("nothing until the end", name, before)
            open(go, "w").close()
            j.check(0, "ok")
        lines = [said for _, said in shown(before[-1] + j.out)]
        assert lines[-1] == "over" and all(re.fullmatch(line, said) for said in lines[:-1]), lines


def moving_on_terminal():
    """On a terminal the bars of two ranks stand below each other, drawn anew, and in the end as lines."""
    go = os.path.join(FOLDERS.path("work"), "go-terminal")
    both = rf"\r\033\[36m{HOST}:0:\033\[0m +\d+%\033\[0m\033\[K\n\r\033\[33m{HOST}:1:\033\[0m +(\d+)%"

    def seen(text):
        if len(set(re.findall(both, text.replace("\r\n", "\n")))) > 2:
            open(go, "w").close()
    got = on_terminal(["-n", "2", "--", "sh", "-c", MOVING], seen=seen, GO=go)
    assert os.path.exists(go), got
    assert re.search(rf"{HOST}:0:\033\[0m +\d+%\n", got) or re.search(r"2 ranks\):\033\[0m +\d+%\n", got), got


def failed():
    """The last lines stand on standard error, unless they have just been shown in the same place."""
    text = "sleep 0.3; [ $RANK = 1 ] && { printf '10%%\\r20%%\\n'; echo bad luck; exit 7; }; sleep 1000"
    with script(text) as j:
        j.check(7, "rank_exit", "rank 1: 20%\n  rank 1: bad luck", failed_rank=1)
        assert "10%" not in j.err, j.err
        assert (f"{HOST}:1", "bad luck") in shown(j.out), j.out
    got = on_terminal(["-n", "2", "--", "sh", "-c", text], code=7)
    assert got.count("bad luck") == 1 and "exited 7" in got, got
    assert got.index("bad luck") < got.index("exited 7"), got


def accounts(j, rank, total):
    """Every line was shown or counted; the last ones were shown."""
    lines = [line for who, line in shown(j.out) if who == f"{HOST}:{rank}"]
    counted = re.findall(rf"rank {rank}: ([\d ]+) lines[^\n]* not shown;", j.err)
    missing = int(counted[-1].replace(" ", "")) if counted else 0
    assert len(lines) + missing == total, (len(lines), missing, total, j.err)
    return lines, missing


def many_lines():
    with script("[ $RANK = 0 ] || seq 400000", "--set", "logs.max_mb=1") as j:
        j.check(0, "ok")
    lines, missing = accounts(j, 1, 400000)
    assert lines[-1] == "400000" and missing > 300000, (lines[-5:], missing)
    assert lines == sorted(lines, key=int)
    assert f"see {j.dir}/logs/rank-0001.log" in j.err
    kept = sum(os.path.getsize(j.path("logs", n)) for n in os.listdir(j.dir + "/logs")
               if n.startswith("rank-0001"))
    assert kept < 1_100_000, kept


class Held:
    """The most memory that each of eddis's programs has held while a job runs, in kB: neither the
    ranks nor the probe, whose arrays are there only where nothing is in the cache."""

    OWN = ("eddis-run", "eddis-agent", "eddis-keeper", "eddis-rank")

    def __init__(self, j):
        self.kb, self.job, self.over, self.watched = {}, j, threading.Event(), False
        self.thread = threading.Thread(target=self.watch)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *ignored):
        self.over.set()
        self.thread.join()
        assert self.watched, "nobody looked to the end"

    def watch(self):
        while not self.over.wait(0.2):
            pids = [("eddis-run", self.job.process.pid)]
            for name, pid in pids + [(n, p) for n in self.OWN[1:] for p in self.job.pids(n)]:
                try:
                    with open(f"/proc/{pid}/status") as f:
                        text = f.read()
                except (FileNotFoundError, ProcessLookupError):
                    continue
                used = re.search(r"VmHWM:\s+(\d+) kB", text)
                if used and f"Name:\t{name}\n" in text:
                    self.kb[name] = max(self.kb.get(name, 0), int(used.group(1)))
        self.watched = True


def flood():
    """A rank that prints as fast as it can, for longer than the lease: nothing notices."""
    text = ("[ $RANK = 1 ] || exec sleep 5; "
            "timeout 5 sh -c 'yes \"$(printf %0100d 7)\"'; echo last words")
    with script(text, "--set", "logs.max_mb=4", "--set", "timeouts.job=10m") as j:
        with Held(j) as held:
            j.check(0, "ok")
    assert "last words" in j.out, j.out[-2000:]
    assert re.search(r"rank 1: [\d ]+ lines not shown", j.err), j.err
    assert len(j.out) < 2_000_000, len(j.out)
    assert set(held.kb) == set(Held.OWN) and max(held.kb.values()) < 300_000, f"kB: {held.kb}"


def head():
    """eddis-run | head -1: the job goes on to its end."""
    with script("for i in $(seq 20); do echo $i; sleep 0.1; done; echo end") as j:
        first = j.process.stdout.readline()
        j.process.stdout.close()
        assert first.startswith("eddis 0"), first
        assert j.process.wait(timeout=PATIENCE) == 0, j.process.stderr.read()
        assert "end" in j.log(1) and j.summary()["reason"] == "ok"
        j.check_nothing_left()


def slow_reader():
    """A reader who does not read for longer than the lease, while ranks print a lot."""
    with script("for i in $(seq 30); do seq 20000; sleep 0.1; done; echo end $RANK") as j:
        wait_for("the job's end", lambda: os.path.exists(j.path("summary.json")))
        assert j.process.poll() is None, "it waits for who wants to read the rest"
        j.check(0, "ok")
    assert "done in" in j.out and "not shown" in j.err, j.err


def no_reader():
    """A reader who never reads: Ctrl-C ends the wait for it behind the job's end, with the job's own code."""
    for ask in signal.SIGINT, signal.SIGTERM:
        with script("for i in $(seq 30); do seq 20000; done; exit 7", "--set", "restarts=0") as j:
            wait_for("the job's end", lambda: os.path.exists(j.path("summary.json")))
            time.sleep(1)
            assert j.process.poll() is None, "it waits for who wants to read the rest"

            def is_over():
                j.process.send_signal(ask)  # again, should it have come before the driver's end
                return j.process.poll() is not None
            wait_for("its end", is_over)
            assert j.process.returncode == 7, j.process.returncode
    with script("seq 200000; exec sleep 1000") as j:  # one that ends the job is enough
        j.wait_log(0, "200000")
        j.process.send_signal(signal.SIGINT)
        wait_for("its end", lambda: j.process.poll() is not None)
        assert j.process.returncode == 130, j.process.returncode


def on_terminal(args, code=0, seen=None, **environ):
    """What eddis-run writes to a terminal of 80 columns, standard error included; seen(it) after each piece."""
    master, slave = pty.openpty()
    p = subprocess.Popen([os.path.join(BUILD, "cmd/eddis-run"), *args], env=FOLDERS.environ(TERM="xterm", **environ),
                         cwd=FOLDERS.path("work"), stdin=subprocess.DEVNULL, stdout=slave, stderr=slave)
    os.close(slave)
    out, end = b"", time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if select.select([master], [], [], 0.1)[0]:
            try:
                out += os.read(master, 65536)
            except OSError:
                break
            if seen:
                seen(out.decode(errors="replace"))
    os.close(master)
    assert p.wait(timeout=PATIENCE) == code, out.decode(errors="replace")
    return out.decode(errors="replace").replace("\r\n", "\n")


def terminal():
    """Lines stand above the live line, which is taken away and drawn again."""
    args = ["-n", "2", "--", "sh", "-c", MEET + "echo hello; sleep 0.5; echo only $RANK"]

    def folds():
        got = on_terminal(args)
        assert re.search(rf"\033\[33m{HOST}:1:\033\[0m +only 1\n", got), got
        return re.search(r"\033\[1m0,1 \(2 ranks\):\033\[0m +hello\n", got)
    some_time(folds, "a bold line of two ranks")
    assert "\033[3" not in on_terminal(args, NO_COLOR="1")


CASES = [prefixes, own_prefix, folded, selected, silent, progress_bar, moving, moving_on_terminal, failed, many_lines, flood,
         head, slow_reader, no_reader, terminal]


run(CASES, sys.argv[3:])
