# SPDX-License-Identifier: Apache-2.0
"""status_tty.py EDDIS_STATUS - eddis-status as its users meet it: on a terminal (a pty), in a pipe,
asking a driver over HTTP, and when that is gone.  The driver's side is a real HTTP server here."""

import http.server
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time

PROGRAM = sys.argv[1]
ENTER, LEAVE, SHOW_CURSOR = b"\033[?1049h", b"\033[?1049l", b"\033[?25h"
TOKEN = "0123456789abcdef"
PATIENCE_S = 180


def status(state="running", **more):
    worker = {"rank": 0, "pid": 1, "node": "n1\033[2J", "device": "emulated 1.00", "state": "compute", "steps_done": 5,
              "batch": 8, "expected_ms": None, "last_step_age_s": 0.1, "overrun_ms": None,
              "straggler": "", "straggler_says": "", "straggler_since": 0, "straggler_times": None,
              "straggler_confidence": None, "queued_ms": None, "memory_bytes": 0, "memory_told": False, "piece": 8,
              "group": 0, "staleness": 0}
    worker |= {k: 1.5 for k in ("samples_per_s", "step_ms", "compute_ms", "input_ms", "exposed_ms", "wait_ms",
                                "relative_speed")}
    s = {"schema_version": 1, "job": "", "name": "t", "state": state, "reason": "", "message": "", "mode": "sync",
         "algorithm": "allreduce", "emulated": True, "exit_code": None, "first_failure": None,
         "equal_split_samples_per_s": {"predicted": 50.5, "measured": None}, "workers": [worker]}
    s |= {k: 1 for k in ("generation", "plan_version", "generations", "n_nodes", "epoch")}
    s |= {k: 0 for k in ("replans", "restarts", "epochs")}
    s |= {"steps_done": 5, "steps_total": 10, "samples": 40, "global_batch": 8}
    s |= {k: None for k in ("loss", "accuracy", "test_loss", "recent_samples_per_s", "eta_s", "recovery_s")}
    s |= {"samples_per_s": 100.25, "ideal_samples_per_s": 110.5, "predicted_samples_per_s": 109, "start_s": 1.5,
          "wall_s": 2.5, "waiting": "", "refused": "", "stragglers": 0, "recent_ideal_samples_per_s": None,
          "all_slow_times": None, "node_losses": 0, "stopped_by_program": False, "models_compared": 0,
          "models_unlike": 0, "models_largest": None, "models_say": "", "loss_says": "", "plans": [],
          "checkpoints": {"written": 0, "failed": 0, "newest": -1, "reason": ""}}
    return s | more


class Driver:
    """Answers GET /v1/job with what `status` holds."""

    def __init__(self):
        driver = self
        self.status = status()  # None: it has gone away

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                if driver.status is None:
                    self.close_connection = True
                    return
                good = self.headers["Authorization"] == f"Bearer {TOKEN}" and self.path == "/v1/job"
                body = json.dumps(driver.status).encode() if good else b"{}"
                self.send_response(200 if good else 401)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def write(self, folder, pid=os.getpid()):
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
        path = folder / "driver.json"
        path.write_text(json.dumps({"url": f"http://127.0.0.1:{self.server.server_port}", "token": TOKEN,
                                    "owner": TOKEN, "pid": pid,
                                    "pid_start": int(stat.rsplit(")", 1)[1].split()[19])}))
        path.chmod(0o600)


class Terminal:
    """The program on a pty of 24 x 100."""

    def __init__(self, *options, **environment):
        import fcntl
        import struct
        import termios
        self.termios = termios
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        self.slave = slave
        self.before = termios.tcgetattr(slave)
        self.seen = b""

        def own_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.run = subprocess.Popen([PROGRAM, *options], stdin=slave, stdout=slave, stderr=slave,
                                    preexec_fn=own_terminal, env={**os.environ, "TERM": "xterm", **environment})

    def read_until(self, wanted):
        end = time.monotonic() + PATIENCE_S
        while wanted is None or wanted not in self.seen:
            ready = select.select([self.master], [], [], 0.05)[0]
            if ready:
                try:
                    self.seen += os.read(self.master, 65536)
                    continue
                except OSError:
                    break
            if wanted is None and self.run.poll() is not None:
                break
            assert time.monotonic() < end, f"waited {PATIENCE_S} s for {wanted!r}, saw {self.seen[-2000:]!r}"

    def finish(self):
        self.read_until(None)
        code = self.run.wait(PATIENCE_S)
        assert self.termios.tcgetattr(self.slave) == self.before, "the terminal's modes were not restored"
        os.close(self.master)
        os.close(self.slave)
        return code


def plain(*options, check=0, **environment):
    run = subprocess.run([PROGRAM, *options], capture_output=True, text=True, timeout=PATIENCE_S, env={**os.environ, **environment})
    assert run.returncode == check, (options, run.returncode, run.stdout, run.stderr)
    return run.stdout if check == 0 else run.stderr


def check_screen_restored(t):
    assert t.seen.count(ENTER) == t.seen.count(LEAVE) == 1, t.seen
    assert t.seen.rindex(SHOW_CURSOR) < t.seen.rindex(LEAVE)
    assert b"n1\033[2J" not in t.seen


def live_view(driver):
    t = Terminal()
    t.read_until(b"rank")
    driver.status = status(steps_done=7)
    t.read_until(b"step 7/10")
    os.write(t.master, b"xq")
    assert t.finish() == 0
    check_screen_restored(t)
    for sig, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGQUIT, 131),
                      (signal.SIGSEGV, -11), (signal.SIGABRT, -6)):
        t = Terminal()
        t.read_until(b"rank")
        t.run.send_signal(sig)
        assert t.finish() == code, (sig, t.run.returncode)
        check_screen_restored(t)
    t = Terminal()
    t.read_until(b"rank")
    os.write(t.master, b"\x03")  # Ctrl-C as typed
    assert t.finish() == 130
    check_screen_restored(t)


def stopped_and_continued(driver):
    t = Terminal()
    t.read_until(b"rank")
    t.run.send_signal(signal.SIGTSTP)
    os.waitid(os.P_PID, t.run.pid, os.WSTOPPED)
    t.read_until(LEAVE)
    t.seen = b""
    t.run.send_signal(signal.SIGCONT)
    t.read_until(b"rank")
    os.write(t.master, b"q")
    assert t.finish() == 0
    check_screen_restored(t)


def colors(driver):
    slow = status()
    slow["workers"][0]["straggler"] = "compute"
    driver.status = slow
    t = Terminal("--once")
    assert t.finish() == 0 and b"\033[33m" in t.seen and ENTER not in t.seen
    t = Terminal("--once", NO_COLOR="1")
    assert t.finish() == 0 and b"\033" not in t.seen
    t = Terminal("--once", TERM="dumb")
    assert t.finish() == 0 and b"\033" not in t.seen
    driver.status = status()


def pipes(driver, job):
    text = plain()
    assert "\033" not in text and job in text and "running" in text and "n1?[2J" in text
    assert plain("--once") == plain(job) == plain(job[:6])
    assert plain("--ascii", LC_ALL="C.UTF-8").isascii() and not plain(LC_ALL="C.UTF-8").isascii()
    assert plain(LC_ALL="C").isascii()
    document = json.loads(plain("--json"))
    assert document["schema_version"] == 1 and document["workers"][0]["step_ms"] == 1.5
    assert document["samples_per_s"] == 100.25 and "100 samples/s" in text
    listed = json.loads(plain("--list", "--json"))
    assert [j["job"] for j in listed["jobs"]] == [job]
    assert plain("--list").splitlines()[0].split() == ["JOBID", "NAME", "STATE", "TIME", "NODES"]
    assert "has not ended yet" in plain("--report", check=1)


def usage():
    for options, words in ((["--onec"], "--once"), (["a", "b"], "one job"), (["--once", "--watch"], "exclude"),
                           (["--interval", "5"], "--interval"), (["--interval=1ms"], "between"), (["nope"], "nope"),
                           (["--list", "x"], "--list"), (["--report", "--json"], "--report")):
        assert words in plain(*options, check=2), options
    assert "usage" in plain("--help").lower() and plain("--version").startswith("eddis-status ")


def driver_is_stopped(driver, folder):
    """The table stays while the driver's process is stopped, with its age, and goes on with it."""
    process = subprocess.Popen(["sleep", "1000"])
    try:
        look_at_stopped(driver, folder, process)
    finally:
        process.kill()
        process.wait()
    driver.write(folder)


def look_at_stopped(driver, folder, process):
    """Stop and continue this process, which stands for the driver's, beside the live view."""
    driver.status = status(job=folder.name, start_s=time.time() - 62.5)
    driver.write(folder, process.pid)
    t = Terminal("--interval", "100ms")
    t.read_until(b"q quits")
    assert b"n1?[2J" in t.seen, t.seen
    process.send_signal(signal.SIGSTOP)
    t.read_until(b"is suspended; run kill")
    page = t.seen[t.seen.rindex(b"\033[H"):]
    told = re.search(rb"\d s old: the job's eddis-run \(pid (\d+)\) is suspended", page)
    assert b"n1?[2J" in page and told and int(told[1]) == process.pid, page
    t.seen = b""
    process.send_signal(signal.SIGCONT)
    t.read_until(b"q quits")
    os.write(t.master, b"q")
    assert t.finish() == 0


def watching_the_end(driver, folder):
    """Both views end with the job and show its summary; afterwards the folder alone tells."""
    ended = status("ended", reason="ok", exit_code=0, accuracy=0.98)
    t = Terminal()
    lines = subprocess.Popen([PROGRAM, "--watch", "--json", "--interval", "100ms"], stdout=subprocess.PIPE, text=True)
    first = json.loads(lines.stdout.readline())
    t.read_until(b"rank")
    (folder / "summary.json").write_text(json.dumps(ended))
    (folder / "driver.json").unlink()
    driver.status = None
    assert t.finish() == 0
    check_screen_restored(t)
    after = t.seen[t.seen.rindex(LEAVE):].decode()
    assert "done in 2.5 s" in after and "test accuracy 0.980" in after
    last = [json.loads(line) for line in lines.stdout][-1]
    assert lines.wait(PATIENCE_S) == 0 and first["state"] == "running" and last["state"] == "ended"
    assert "done in 2.5 s" in plain("--report") and str(folder) in plain("--report")
    assert json.loads(plain("--json"))["accuracy"] == 0.98
    (folder / "summary.json").unlink()
    os.utime(folder, (1, 1))
    assert " lost" in plain() and "without writing a summary" in plain()
    assert re.search(r"t-\S+\s+t\s+lost", plain("--list"))


def on_another_node(bin_folder, job):
    """A view through srun ends with the exit code of eddis-status there, and with 0 after the key 'q'."""
    bin_folder.mkdir()
    page = bin_folder / "page"
    page.write_text(json.dumps(status(job=job)) + "\n")
    record = "JobId=12 JobName=x\n   JobState=RUNNING\n   NodeList=node1\n   BatchHost=node1"
    programs = {"scontrol": f"case $2 in config) printf '\\nClusterName = east\\n';; *) echo '{record}';; esac"}
    fails = "echo no status there >&2; exit"
    for shown, end, code in ((True, f"{fails} 1", 1), (True, f"{fails} 2", 2), (False, f"{fails} 1", 1),
                             (True, "exec sleep 1000", 0)):
        programs["srun"] = f"echo eddis is here; {f'cat {page};' if shown else ''} {end}"
        for name, script in programs.items():
            (bin_folder / name).write_text(f"#!/bin/sh\n{script}\n")
            (bin_folder / name).chmod(0o700)
        t = Terminal("12", PATH=f"{bin_folder}:{os.environ['PATH']}")
        if code == 0:
            t.read_until(b"q quits")
            os.write(t.master, b"q")
        assert t.finish() == code, (shown, end, t.run.returncode, t.seen)
        if shown:
            check_screen_restored(t)
        assert (b"no status there" in t.seen.rpartition(LEAVE)[2]) == (code != 0), t.seen


def main():
    with tempfile.TemporaryDirectory() as state:
        os.environ.update(XDG_STATE_HOME=state, TERM="xterm", LC_ALL="C.UTF-8", NO_PROXY="*")
        assert "no jobs" in plain(check=2)
        job = "t-20260101-000000-abcd"
        folder = pathlib.Path(state) / "eddis/jobs" / job
        folder.mkdir(parents=True)
        driver = Driver()
        driver.status = status(job=job)
        driver.write(folder)
        pipes(driver, job)
        usage()
        colors(driver)
        live_view(driver)
        stopped_and_continued(driver)
        driver_is_stopped(driver, folder)
        on_another_node(pathlib.Path(state) / "bin", job)
        watching_the_end(driver, folder)


main()
