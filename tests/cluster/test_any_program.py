# SPDX-License-Identifier: Apache-2.0
"""test_any_program.py BUILD SOURCE [CASE ...] - scripts that know nothing of eddis, under eddis-run as they are.

Two ranks of plain Python on one host; each case is a way to fail, and what comes of it.
"""

import json
import os
import re
import signal
import sys
import sysconfig
import venv

from cases import run
from files import write
from job import Folders, Job

BUILD = sys.argv[1]
FOLDERS = Folders()
PROGRESS_WORKER = os.path.abspath(os.path.join(BUILD, "tests/cluster/progress-worker"))
KILLED = """
import os, signal, time
first = os.environ["EDDIS_GENERATION"] == "1"
print("generation", os.environ["EDDIS_GENERATION"], os.environ["TORCHELASTIC_RESTART_COUNT"], flush=True)
if first and os.environ["RANK"] == "1":
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(600 if first else 0)
"""


def script(name, text, *args, python=sys.executable, **environ):
    path = write(FOLDERS.path("work", name + ".py"), text)
    return Job(BUILD, FOLDERS, [*args, "--", python, path], **environ)


def asked():
    """A signal of others is gone on after where restarts was written, and the program is told."""
    with script("killed", KILLED, "--restarts", "2") as j:
        j.check(0, "ok", "rank 1 (node", "died of signal 9", failed_rank=1)
    s = j.summary()
    assert s["restarts"] == 1 and s["generations"] == 2, s
    assert "restarting from the point where the program itself resumes on 1 node (start 2, restart 1 of at most 2)" in j.err, j.err
    assert "generation 1 0\n" in j.log(1) and "generation 2 1\n" in j.log(1), j.log(1)


def not_asked():
    with script("killed", KILLED) as j:
        j.check(137, "rank_signal", "not started again: no finished step is known; set restarts, for example with --restarts 3", failed_rank=1)
    assert j.summary()["restarts"] == 0, j.summary()


def none_wanted():
    with script("killed", KILLED, "--restarts", "0") as j:
        j.check(137, "rank_signal", "died of signal 9", failed_rank=1)
    assert "not started again" not in j.err, j.err


def silent():
    """One that has printed nothing may have worked all the same."""
    text = "\n".join(line for line in KILLED.splitlines() if "print" not in line)
    with script("silent", text, "--restarts", "2") as j:
        j.check(0, "ok", "died of signal 9", "(start 2, restart 1 of at most 2)", failed_rank=1)
    assert j.summary()["restarts"] == 1 and not j.log(0), j.summary()
    with script("silent-typo", "import sys; sys.exit(1)", "--restarts", "3") as j:
        j.check(1, "rank_exit", "not started again: it exited within 30 s of its start", failed_rank=(0, 1))
    assert j.summary()["restarts"] == 0, j.summary()


def typo():
    """What cannot even begin runs once."""
    with script("typo", "import no_such_module\n", "--restarts", "3") as j:
        j.check(1, "rank_exit", "ModuleNotFoundError: No module named 'no_such_module'",
                "not started again: it exited within 30 s of its first sign of life", failed_rank=(0, 1))
    assert j.summary()["restarts"] == 0, j.summary()


def late_exit():
    """An exit later than 30 s after the first sign of life may be anything's fault."""
    text = """
import os, sys, time
print("alive", flush=True)
if os.environ["EDDIS_GENERATION"] == "1":
    time.sleep(31)
    sys.exit(3)
"""
    with script("late", text, "--restarts", "1") as j:
        j.check(0, "ok", "exited 3", "restarting from the point where the program itself resumes", failed_rank=(0, 1))
    assert j.summary()["restarts"] == 1, j.summary()


def same_age():
    """The same rank in the same way at the same age would fail so for ever; on a busy machine not the second time."""
    text = KILLED.replace("if first and", "if").replace("    os.kill", "    time.sleep(3); os.kill")
    with script("again", text, "--restarts", "9") as j:
        j.check(137, "rank_signal", "not started again: the same rank has failed before in the same way after the same time",
                failed_rank=1)
    assert j.summary()["restarts"] >= 1, j.summary()


def printed():
    """The steps of one worker that prints them are the job's, and its samples those that it prints itself: over so long
    that 2 % are more than a busy machine lets a line wait."""
    text = """
import os, time
print("unbuffered", os.environ.get("PYTHONUNBUFFERED"))
began = None
for step in range(1, 101):
    time.sleep(0.2)
    if os.environ["RANK"] == "0" and step % 5 == 0:
        now = time.monotonic()
        print(f"step {step}/100", end="\\r" if step % 10 else "\\n", flush=True)
        began = began or now
if os.environ["RANK"] == "0":
    print("own", 95 * 64 / (now - began))
"""
    with script("printed", text, "--set", "progress.pattern=step ([0-9]+)/([0-9]+)", "--set", "progress.samples=64") as j:
        j.check(0, "ok")
    s, own = j.summary(), float(re.search(r"own (\S+)", j.log(0)).group(1))
    assert s["steps_done"] == s["steps_total"] == 100 and s["samples"] == 95 * 64, s
    assert abs(s["samples_per_s"] / own - 1) < 0.02, (s["samples_per_s"], own)
    assert "unbuffered 1\n" in j.log(1), j.log(1)
    etas = [row["eta_s"] for row in j.metrics()]
    assert any(eta and eta > 0 for eta in etas), etas


def printed_stopped():
    """Nobody would write the checkpoint of a program that prints its steps: Ctrl-C does not wait for one."""
    text = """
import time
for step in range(1, 1000):
    print("step", step, flush=True)
    time.sleep(0.1)
"""
    for number, code, reason in (signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "preempted"):
        with script("stopped", text, "--set", "progress.pattern=step ([0-9]+)", "--set", "timeouts.checkpoint=1h") as j:
            j.wait_steps()
            j.signal(number)
            j.check(code, reason)
            assert "checkpoint" not in j.err, j.err


def printed_epochs():
    """What stands beside the steps of an epoch is not the number of all; that is the job's to say."""
    text = """
import time
for epoch in range(2):
    for step in range(0, 16, 5):
        print(f"Train Epoch: {epoch} [{step}/16]", flush=True)
        time.sleep(1.2)
"""
    for steps in (0, 30):
        told = ["--set", f"progress.steps={steps}"] if steps else []
        with script("epochs", text, "--set", r"progress.pattern=\[([0-9]+)/([0-9]+)", *told) as j:
            j.check(0, "ok")
        rows = j.metrics()
        assert j.summary()["steps_done"] == 30 and j.summary()["steps_total"] == steps, j.summary()
        assert not any(r["eta_s"] is not None and r["eta_s"] < 0 for r in rows), rows
        assert any(r["eta_s"] is not None and r["eta_s"] > 0 for r in rows), rows


def printed_hang():
    """One that prints no more steps hangs, is named and started again."""
    text = """
import os, time
first = os.environ["EDDIS_GENERATION"] == "1"
for step in range(20):
    print("step", step, flush=True)
    time.sleep(0.05)
    if first and step > 10:
        time.sleep(600)
"""
    with script("stuck", text, "--restarts", "1", "--set", "progress.pattern=step ([0-9]+)", "--set", "timeouts.hang=3s") as j:
        j.check(0, "ok", "has made no step for 0:03 (timeouts.hang is 0:03); last step 10", failed_rank=(0, 1))
    assert j.summary()["restarts"] == 1, j.summary()


def first_number():
    """One that hangs behind its first number, or is killed there, is found and started again like any."""
    text = """
import os, signal, time
first = os.environ["EDDIS_GENERATION"] == "1"
print("step %d" % FIRST, flush=True)
if first:
    time.sleep(2 if FIRST else 600)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    pattern = ["--set", "progress.pattern=step ([0-9]+)", "--set", "timeouts.hang=3s"]
    with script("begun", text.replace("FIRST", "0"), "--restarts", "1", *pattern) as j:
        j.check(0, "ok", "has neither printed nor computed for 0:", failed_rank=(0, 1))
    assert j.summary()["restarts"] == 1, j.summary()
    with script("resumed", text.replace("FIRST", "1000"), *pattern) as j:
        j.check(0, "ok", "died of signal 9", "restarting from the point where the program itself resumes", failed_rank=(0, 1))
    assert j.summary()["restarts"] == 1, j.summary()


def printed_then_told():
    """A program whose lines are matched may tell its steps itself later: the page is its own."""
    text = f"""
import os, time
print("step 1", flush=True)
time.sleep(0.5)
if os.fork() == 0:  # the lines go on
    time.sleep(0.5)
    print("step 2", flush=True)
    open("go" + os.environ["RANK"] + "/go", "w").close()
    os._exit(0)
os.execv({PROGRESS_WORKER!r}, ["progress-worker", "go" + os.environ["RANK"], "alive"])
"""
    for rank in "01":
        os.makedirs(FOLDERS.path("work", "go" + rank), exist_ok=True)
    with script("later", text, "--set", "progress.pattern=step ([0-9]+)") as j:
        j.check(0, "ok")
    assert j.summary()["steps_done"] == 150, j.summary()


def straggler():
    """Of ranks that all print their steps the one that has become slow by itself is named."""
    text = """
import os, time
slow = os.environ["RANK"] == "1"
for step in range(1, 10000):
    time.sleep(0.4 if slow and step > 50 else 0.1)
    print("step", step, flush=True)
    if os.path.exists("stop-straggler"):
        break
"""
    with script("straggler", text, "--set", "progress.pattern=step ([0-9]+)") as j:
        j.wait_event("straggler")
        write(FOLDERS.path("work", "stop-straggler"), "")
        j.check(0, "ok", "rank 1 on", "the program divides its data itself")


def quiet():
    """Ranks that do nothing for timeouts.hang hang where it was written; one that computes for longer does not."""
    text = """
import os, time
end = time.monotonic() + 6
while os.environ["EDDIS_GENERATION"] == "1" and os.environ["RANK"] == "0" and time.monotonic() < end:
    pass
print("computed", flush=True)
if os.environ["EDDIS_GENERATION"] == "1":
    time.sleep(600)
"""
    with script("quiet", text, "--restarts", "1", "--set", "timeouts.hang=2s") as j:
        j.check(0, "ok", "has neither printed nor computed for 0:", failed_rank=(0, 1))
    assert j.log(0).count("computed") == 2 and j.summary()["restarts"] == 1, j.log(0)


def idle_before_libeddis():
    """One that has libeddis in memory will tell its steps: until it has begun to, it has the time of a first step."""
    text = f"""
import ctypes, time
lib = ctypes.CDLL({os.path.abspath(os.path.join(BUILD, "lib/libeddis.so"))!r})
time.sleep(6)
lib.eddis_progress(ctypes.c_int64(0), ctypes.c_int64(0), None)
"""
    with script("idle", text, "--set", "timeouts.hang=2s", "--restarts", "0") as j:
        j.check(0, "ok")


def again():
    """What nobody has asked for is not asked for by the description that a job leaves behind."""
    with script("again", "import time; time.sleep(5)") as j:
        j.check(0, "ok")
    path = write(FOLDERS.path("work", "again.yaml"),
                 re.sub(r"(\n  hang: )\S+(  # default\n)", r"\g<1>2s\2", j.file("job.yaml")))
    with Job(BUILD, FOLDERS, [path], ranks=0) as j:
        j.check(0, "ok")


def traceback():
    """Of a long traceback behind much output the user's frames and the error are shown."""
    text = """
def deep(n):
    if n:
        deep_again(n - 1)
    raise ValueError("bad sample 17")
def deep_again(n):
    deep(n)
for i in range(50):
    print("noise", i)
try:
    deep(14)
finally:
    for i in range(30):
        print("cleaning up", i)
"""
    with script("trace", text, "--restarts", "0", "-q") as j:
        j.check(1, "rank_exit", "Traceback (most recent call last):", "in deep", "deep_again(n - 1)",
                "ValueError: bad sample 17", failed_rank=(0, 1))
    assert "cleaning up" not in j.err and "noise" not in j.err, j.err


def echo():
    """The rank that failed by itself is named, though the other, whose collective then failed, ends before it."""
    text = """
import os, sys, time
mark = os.environ["EDDIS_TEST_MARK"] + "-gone"
def await_link(path):
    while not os.path.lexists(path):
        time.sleep(0.01)
if os.environ["RANK"] == "1":
    try:
        raise ValueError("bad sample 17")
    finally:  # connections close, and the process takes its time to end
        await_link(mark + "-pid")
        other = "/proc/" + os.readlink(mark + "-pid")
        os.symlink("1", mark)
        while os.path.exists(other):
            time.sleep(0.01)
os.symlink(str(os.getpid()), mark + "-pid")
await_link(mark)
raise RuntimeError("[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:9")
"""
    with script("echo", text, "--restarts", "0") as j:
        j.check(1, "rank_exit", "rank 1 (node", "ValueError: bad sample 17", failed_rank=1)
    assert "before that" not in j.err, j.err


def bad_pattern():
    with script("bad", "", "--set", "progress.pattern=step ([0-9]+") as j:
        assert j.end() == 2 and "Unmatched ( or \\(, at its column 6" in j.err, j.err


# What conda's own conda.sh has in it, as a shell that stops at errors meets it.
CONDA = r"""
export CONDA_EXE='CONDA/bin/conda'
export _CE_M=''
export _CE_CONDA=''
__conda_exe() (
    "$CONDA_EXE" $_CE_M $_CE_CONDA "$@"
)
__conda_hashr() {
    if [ -n "${ZSH_VERSION:+x}" ]; then
        \rehash
    elif [ -n "${POSH_VERSION:+x}" ]; then
        :
    else
        \hash -r
    fi
}
__conda_activate() {
    if [ -n "${CONDA_PS1_BACKUP:+x}" ]; then
        PS1="$CONDA_PS1_BACKUP"
        \unset CONDA_PS1_BACKUP
    fi
    \local ask_conda
    ask_conda="$(PS1="${PS1:-}" __conda_exe shell.posix "$@")" || \return
    \eval "$ask_conda"
    __conda_hashr
}
conda() {
    \local cmd="${1-__missing__}"
    case "$cmd" in
        activate|deactivate)
            __conda_activate "$@"
            ;;
        *)
            __conda_exe "$@" || \return
            ;;
    esac
}
if [ -z "${CONDA_SHLVL+x}" ]; then
    \export CONDA_SHLVL=0
    if [ -n "${_CE_CONDA:+x}" ] && [ -n "${WINDIR+x}" ]; then
        PATH="$(\dirname "$CONDA_EXE")/condabin${PATH:+":${PATH}"}"
    else
        PATH="$(\dirname "$(\dirname "$CONDA_EXE")")/condabin${PATH:+":${PATH}"}"
    fi
    \export PATH
    if [ -z "${PS1+x}" ]; then
        PS1=
    fi
fi
"""


def write_below(name, text, mode=0o644):
    path = FOLDERS.path("work", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return write(path, text, mode)


def environment_of(name, folder):
    """An environment of Python with a module of its own."""
    venv.create(folder, symlinks=True)
    packages = sysconfig.get_path("purelib", "venv", {"base": folder, "platbase": folder})
    write(os.path.join(packages, "only_in_" + name + ".py"), f"print('found', {name!r})\n")


def setups():
    """Lines of shell before the program: an environment of Python, one of conda, modules as a function."""
    work = FOLDERS.path("work")
    environment_of("venv", os.path.join(work, "my env"))
    environment_of("conda", os.path.join(work, "conda/envs/train"))
    write_below("conda/etc/profile.d/conda.sh", CONDA.replace("CONDA/", work + "/conda/"))
    write_below("conda/bin/conda", f"""#!/bin/sh
test "$1 $2 $3" = "shell.posix activate train" || exit 1
echo "PS1='(train) '"
echo "export PATH='{work}/conda/envs/train/bin:$PATH'"
echo "export CONDA_PREFIX='{work}/conda/envs/train'"
echo "export CONDA_SHLVL='1'"
echo ". '{work}/conda/activate.d/gcc.sh'"
""", 0o755)
    write_below("conda/activate.d/gcc.sh", 'if [ "${NO_SUCH_VARIABLE:-0}" = 1 ]; then echo old; fi\nexport CC=gcc-of-conda\n')
    write_below("modules.sh", 'module() { eval "$(\'./modulecmd\' bash "$@")"; }\n')
    write_below("modulecmd", '#!/bin/sh\ntest "$2" = load || exit 1\necho "export LOADED=\'$3\'; test 1 = 1;"\n', 0o755)
    rows = (("import only_in_venv", "found venv\nNone None\n", [". 'my env/bin/activate'"]),
            ("import only_in_conda", "found conda\ngcc-of-conda None\n", [". conda/etc/profile.d/conda.sh", "conda activate train"]),
            ("pass", "None cuda/12\n", [". ./modules.sh", "module load cuda/12", "test $LOADED = cuda/12"]))
    for first, printed, lines in rows:
        for shell in ("/bin/bash", "/bin/sh"):
            text = first + "\nimport os; print(os.environ.get('CC'), os.environ.get('LOADED'))"
            with Job(BUILD, FOLDERS, ["--set", "setup=" + json.dumps(lines), "--", "python3", "-c", text], SHELL=shell) as j:
                j.check(0, "ok")
            assert j.log(1) == printed, (first, shell, j.log(1))


def slow_imports():
    """What ranks do before their first sign of life does not count as their launch, in the program or before it."""
    text = """
import time
time.sleep(7)
print("imported")
"""
    with script("slow", text, "-n", "3", "--set", "timeouts.launch=6s", "--set", "setup=[sleep 1]") as j:
        j.check(0, "ok")
    assert all("imported" in j.log(r) for r in range(3))


def unbuffered():
    """Somebody's own choice stays, also none."""
    for value in ("", "0"):
        with script("own", "import os; print(repr(os.environ['PYTHONUNBUFFERED']))", PYTHONUNBUFFERED=value) as j:
            j.check(0, "ok")
        assert j.log(0) == repr(value) + "\n", j.log(0)


CASES = [asked, not_asked, none_wanted, silent, typo, late_exit, same_age, printed, printed_epochs, printed_stopped, printed_hang, first_number, printed_then_told,
         straggler, quiet, idle_before_libeddis, again, traceback, echo, setups, slow_imports, unbuffered, bad_pattern]


run(CASES, sys.argv[3:])
