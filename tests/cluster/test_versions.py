# SPDX-License-Identifier: Apache-2.0
"""test_versions.py BUILD SOURCE [CASE ...] - the versions that `eddis-run --check` reads of the command's own Python.

Hosts of tests/lab with a torch of their own each, which has nothing but versions.
"""

import json
import os
import shutil
import sys

from cases import run
from files import read, write
from lab import HOME, LOGIN, Cluster
from node import LEASE

BUILD = os.path.realpath(sys.argv[1])
DIGITS = os.path.join(os.path.realpath(sys.argv[2]), "examples/digits/digits.csv")
PLACE = HOME + "/versions"  # on each node another
PYTHON = ["--", "/usr/bin/python3", "-u", "train.py"]


def give_torch(c, node, torch, cuda, nccl, more=""):
    """Make a torch of these versions on a node; nccl: numbers, or None of a build for CPUs."""
    at = c.path(node, PLACE + "/torch")
    os.makedirs(at, exist_ok=True)
    hip = cuda[5:] if cuda and cuda.startswith("ROCm ") else None
    write(at + "/__init__.py", f"from . import cuda, version\n__version__ = {torch!r}\n{more}\n")
    write(at + "/version.py", f"cuda = {None if hip else cuda!r}\n" + (f"hip = {hip!r}\n" if hip else ""))
    write(at + "/cuda.py", f"class nccl:\n    version = staticmethod(lambda: {nccl!r})\n")


def check(c, *words, command=PYTHON):
    return c.run(LOGIN, [f"{BUILD}/cmd/eddis-run", "--set", f"timeouts.lease={LEASE}s", "--check", "-H", "node1,node2",
                         "-x", "PYTHONPATH=" + PLACE, *words, *command], cwd=HOME)


def tidy(c):
    for node in c.nodes:
        shutil.rmtree(c.path(node, PLACE))
    c.check_nothing_left()


def refused(c, *said):
    """Not ready, by one sentence with these words; returns the document."""
    p = check(c)
    assert p.returncode == 3 and p.stderr.count("\n") == 1, p
    assert all(word in p.stderr for word in said), (said, p.stderr)
    assert "not ready; nothing was trained" in p.stdout, p.stdout


def unlike(c):
    """Nodes whose NCCL differs are refused before the start, and those whose torch does."""
    give_torch(c, "node1", "2.7.1+cu126", "12.6", (2, 26, 2))
    give_torch(c, "node2", "2.7.0+cu126", "12.6", (2, 27, 5))
    refused(c, "node2", "NCCL 2.27.5", "node1 has NCCL 2.26.2", "install one version on both")
    give_torch(c, "node2", "2.15.0+cu126", "12.6", (2, 26, 2))
    refused(c, "node2", "torch 2.15.0", "node1 has torch 2.7.1")
    give_torch(c, "node2", "2.7.1+rocm6.3", "ROCm 6.3.42131", (2, 26, 2))
    refused(c, "node2", "NCCL RCCL 2.26.2", "node1 has NCCL 2.26.2")
    tidy(c)


def by_libeddis(c):
    """Unlike versions are said and not refused where libeddis combines the gradients: in a mode that leaves no other
    way, and once a job of this command has done so."""
    give_torch(c, "node1", "2.7.1+cu126", "12.6", (2, 26, 2))
    give_torch(c, "node2", "2.15.0+cu126", "12.6", (2, 26, 2))
    refused(c, "node2", "torch 2.15.0", "node1 has torch 2.7.1")
    said = ["node2", "torch 2.15.0", "node1 has torch 2.7.1", "libeddis combines them"]
    p = check(c, "--set", "sync.mode=async")
    assert p.returncode == 0 and all(word in p.stderr for word in said), p
    train = [f"{BUILD}/cmd/eddis-train", "--data", DIGITS, "--test", "360", "--epochs", "1"]
    c.write("train.py", f"import os\nos.execv({train[0]!r}, {train!r})\n")
    command = [*PYTHON[:-1], f"{c.shared}/train.py"]
    with c.job(["-H", "node1,node2", *command]) as j:
        assert j.end() == 0, j.err
    p = check(c, command=command)
    assert p.returncode == 0 and all(word in p.stderr for word in said), p
    tidy(c)


def alike(c):
    """What differs by its last number alone, or is missing on one node, is shown and not refused; nor is another program
    asked for versions."""
    give_torch(c, "node1", "2.7.1+cu126", "12.6", (2, 26, 2))
    give_torch(c, "node2", "2.7.0+cpu", None, None)
    p = check(c)
    assert p.returncode == 0 and not p.stderr, p
    rows = [line.split() for line in p.stdout.splitlines() if line.split()[2:3] in (["2.7.1+cu126"], ["2.7.0+cpu"])]
    assert [row[2:] for row in rows] == [["2.7.1+cu126", "12.6", "2.26.2"], ["2.7.0+cpu", "-", "-"]], p.stdout
    nodes = json.loads(check(c, "--json").stdout)["nodes"]
    assert [node["torch"] for node in nodes] == ["2.7.1+cu126", "2.7.0+cpu"] and nodes[0]["python"][:2] == "3.", nodes
    assert (nodes[0]["nccl"], nodes[1]["nccl"]) == ("2.26.2", ""), nodes
    p = check(c, command=["--", "true"])
    assert p.returncode == 0 and "torch" not in p.stdout + p.stderr, p
    tidy(c)


def broken(c):
    """A torch that cannot be imported, or crashes, is said and no fault of the check: the program may not need it."""
    give_torch(c, "node1", "2.7.1", None, None, "raise OSError('libcudart.so.12: no such file')")
    give_torch(c, "node2", "2.7.1", None, None, "import os; os.kill(os.getpid(), 4)")
    p = check(c)
    assert p.returncode == 0 and p.stderr.count("torch cannot be imported") == 2, p
    assert "node1: torch cannot be imported: OSError: libcudart.so.12" in p.stderr, p.stderr
    assert "node2: torch cannot be imported: it ends with signal 4" in p.stderr, p.stderr
    tidy(c)


def setup(c):
    """The lines of setup run in front, and whatever fails or hangs in them is named."""
    give_torch(c, "node1", "2.7.1", None, None)
    give_torch(c, "node2", "2.7.1", None, None)
    at = c.path("node2", PLACE + "/bin")
    os.makedirs(at, exist_ok=True)
    write(at + "/only-node2", "#!/bin/sh\n", 0o755)
    p = check(c, "--set", "setup=[echo loading, \"[ $GROUP_RANK = 0 ] || exit 4\"]")
    assert p.returncode == 3 and "node2: setup failed with code 4" in p.stderr, p
    p = check(c, "--set", f"setup=[export PATH=$PATH:{PLACE}/bin]", command=["--", "only-node2"])
    assert p.returncode == 3 and "node1: no program 'only-node2' in PATH after setup" in p.stderr, p
    p = check(c, "--set", "setup=[sleep 600]", "--set", "timeouts.launch=16s")
    assert p.returncode == 3 and "setup and '/usr/bin/python3' did not print its versions within 12 s" in p.stderr, p
    tidy(c)


def give_python(c, node, at):
    """Make an environment of Python on a node, as `python3 -m venv --without-pip` does; returns its Python."""
    os.makedirs(c.path(node, at + "/bin"), exist_ok=True)
    write(c.path(node, at + "/pyvenv.cfg"), "home = /usr/bin\n")
    os.symlink("/usr/bin/python3", c.path(node, at + "/bin/python3"))
    return at + "/bin/python3"


OWN = """command: [python3, -u, {train}]
setup: [export SHELLS=job]
env: {{BOTH: job, OF_JOB: job}}
env_pass: [PASSED]
restarts: 1
nodes:
- node1
- host: node2
  python: {python}
  setup: [export SHELLS=$SHELLS-node2]
  env: {{BOTH: node2, PASSED: node2, FLAG: node2, PYTHONPATH: {place}}}
"""

OWN_SCRIPT = """import os, sys, time
e = os.environ
first = e["EDDIS_GENERATION"] == "1"
print("generation", e["EDDIS_GENERATION"], sys.prefix, *(e[n] for n in ("SHELLS", "BOTH", "OF_JOB", "PASSED", "FLAG")))
if first and e["RANK"] == "1":
    os.kill(os.getpid(), 9)
time.sleep(600 * first)
"""


def own_file(c, python):
    text = OWN.format(train=c.write("own.py", OWN_SCRIPT), python=python, place=PLACE)
    return c.write("own.yaml", text)


def own(c):
    """A node's own python, setup and env reach its workers alone, also after a restart; -x overrides them."""
    file = own_file(c, give_python(c, "node2", PLACE + "/venv"))
    with c.job(["-x", "FLAG=caller", file], env={"PASSED": "caller"}) as j:
        assert j.end() == 0, j.err
        assert "generation 2 /usr job job job caller caller\n" in j.log(0), j.log(0)
        for generation in (1, 2):
            assert f"generation {generation} {PLACE}/venv job-node2 node2 job node2 caller\n" in j.log(1), j.log(1)
        assert "restart" in j.err, j.err
        kept = read(j.path("job.yaml"))
        assert f"{{host: node2, python: {PLACE}/venv/bin/python3, setup: [" in kept, kept
    os.makedirs(c.path("node1", PLACE))
    tidy(c)


def own_check(c):
    """--check asks each node's own Python, in its own environment, and names the line of one that is no program."""
    python = give_python(c, "node2", PLACE + "/venv")
    give_torch(c, "node1", "2.7.1", None, None)
    give_torch(c, "node2", "2.3.1", None, None)

    def start(*words):
        return c.run(LOGIN, [f"{BUILD}/cmd/eddis-run", "--set", f"timeouts.lease={LEASE}s", *words], cwd=HOME)
    file = own_file(c, python)
    p = start("--check", file)
    assert p.returncode == 0 and [line.split()[2] for line in p.stdout.splitlines() if line.split()[:1] == ["node2"]][1:] \
        == ["2.3.1"], p
    p = start("--check", "-x", "PYTHONPATH=" + PLACE, file)
    assert p.returncode == 3 and p.stderr.count("\n") == 1, p
    assert all(word in p.stderr for word in ("node2", "torch 2.3.1", "node1 has torch 2.7.1", "DistributedOptimizer")), p
    for bad, why in ((PLACE + "/none/python3", "does not exist there"), (PLACE + "/torch/python", "not an executable")):
        write(c.path("node2", PLACE + "/torch/python"), "")
        for words in ([], ["--check"]):
            p = start(*words, own_file(c, bad))
            said = f'node2: {file}:9: "python" of this node is \'{bad}\', which'
            assert p.returncode == 3 and said in p.stderr and why in p.stderr, p
    write(file, own_file(c, python) and OWN.format(train="x", python=python, place=PLACE).replace("python3,", "sh,", 1))
    p = start("--dry-run", file)
    assert f'eddis-run: {file}:9: "python" of node node2 has no effect, because the command begins with' in p.stderr, p
    tidy(c)


with Cluster(2, build=BUILD) as c:
    run([unlike, own, own_check, by_libeddis, alike, broken, setup], sys.argv[3:], c)
