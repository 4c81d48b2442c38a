# SPDX-License-Identifier: Apache-2.0
"""test_unlike.py - one job with another Python on each of two hosts of tests/lab

EDDIS_TEST_OTHER_PYTHON names a Python with another PyTorch; without it the other is an environment of this one, with
the same PyTorch behind another sys.prefix.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import sys
import sysconfig

import pytest

from started import BUILD, IMPORTS, MINUTES, ROOT

sys.path.insert(0, str(ROOT / "tests/cluster"))
from lab import Cluster, hosts  # noqa: E402

LEASE_S = 8
SEEN = f"{hosts.HOME}/shared"  # of what is in cluster.shared, as a host sees it
TOLERANCE = 1e-12

SCRIPT = IMPORTS + """
import json, sys

torch.manual_seed(0)
x = torch.randn(96, 7, dtype=torch.float64)
y = x.sin().sum(1, keepdim=True)
net = torch.nn.Sequential(torch.nn.Linear(7, 9), torch.nn.Tanh(), torch.nn.Linear(9, 1)).double()
loader = eddis.loader(data.DataLoader(data.TensorDataset(x, y), batch_size=24, shuffle=True))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
if sys.argv[2] == "attach":
    net = eddis.attach(net)
else:
    optimizer = eddis.DistributedOptimizer(optimizer, model=net)
for epoch in loader.epochs(3):
    for bx, by in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(net(bx), by)
        (eddis.weighted(loss) if sys.argv[2] == "attach" else loss).backward()
        optimizer.step()
numbers = [v for p in net.parameters() for v in p.detach().flatten().tolist()]
with open(f"{sys.argv[1]}-{eddis.rank()}.json", "w") as f:
    json.dump({"prefix": sys.prefix, "torch": torch.__version__, "numbers": numbers}, f)
"""

FILE = """command: [python3, -u, {seen}/script.py, {seen}/{name}, {kind}]
env: {{PATH: "{bin}:/usr/bin:/bin", PYTHONPATH: {package}, TORCHINDUCTOR_CACHE_DIR: {seen}/torch}}
timeouts: {{launch: 300s}}
nodes:
- node1
- {{host: node2{more}}}
"""


@pytest.fixture(scope="module")
def cluster():
    try:
        hosts.check_machine()
    except hosts.LabError as e:
        pytest.skip(str(e))
    other = os.environ.get("EDDIS_TEST_OTHER_PYTHON")
    seen = [sys.prefix, sys.base_prefix, *([str(pathlib.Path(other).parents[1])] if other else [])]
    with Cluster(2, build=str(BUILD), keep=[p for p in seen if not p.startswith("/usr")]) as made:
        made.write("script.py", SCRIPT)
        yield made


@pytest.fixture(scope="module")
def other(cluster) -> str:
    """The Python of node2."""
    named = os.environ.get("EDDIS_TEST_OTHER_PYTHON")
    if named:
        return named
    at = pathlib.Path(cluster.shared) / "other"
    packages = at / f"lib/python{sysconfig.get_python_version()}/site-packages"
    packages.mkdir(parents=True)
    (packages / "same.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (at / "bin").mkdir()
    base = pathlib.Path(sys._base_executable)
    (at / "pyvenv.cfg").write_text(f"home = {base.parent}\n")
    (at / "bin/python3").symlink_to(base)
    return f"{SEEN}/other/bin/python3"


def named(cluster, name: str, kind: str, python: str = "") -> str:
    """The path of a job's file."""
    cluster.write(name + ".yaml", FILE.format(seen=SEEN, name=name, kind=kind, bin=pathlib.Path(sys.executable).parent,
                                              package=ROOT / "python", more=f", python: {python}" if python else ""))
    return f"{SEEN}/{name}.yaml"


def check(cluster, file: str):
    return cluster.run(hosts.LOGIN, [f"{BUILD}/cmd/eddis-run", "--check", file], cwd=hosts.HOME, timeout=MINUTES)


def is_unlike(ranks: list[dict]) -> bool:
    one, two = (rank["torch"].split(".")[:2] for rank in ranks)
    return one != two


def trained(cluster, name: str, python: str = "") -> list[dict]:
    """What both ranks wrote at the end of a job whose gradients libeddis combines."""
    with cluster.job([named(cluster, name, "libeddis", python)], lease=LEASE_S) as job:
        assert job.end(MINUTES) == 0, (job.code, job.err, job.log(0), job.log(1))
        job.check_nothing_left()
    return [json.loads(cluster.read(f"{name}-{rank}.json")) for rank in range(2)]


@pytest.mark.slow
def test_unlike(cluster, other):
    """Unlike versions train to the parameters of one version where libeddis combines the gradients, which --check then
    only reports; it refuses them for torch.distributed."""
    alike, unlike = trained(cluster, "alike"), trained(cluster, "unlike", other)
    assert alike[0]["prefix"] == alike[1]["prefix"] == unlike[0]["prefix"] != unlike[1]["prefix"], unlike
    off = max(abs(a - b) for one, two in zip(alike, unlike) for a, b in zip(one["numbers"], two["numbers"]))
    print("versions", [rank["torch"] for rank in unlike], "off by", off)
    assert off < TOLERANCE, off
    assert unlike[0]["numbers"] == unlike[1]["numbers"]
    ours = check(cluster, f"{SEEN}/unlike.yaml")
    theirs = check(cluster, named(cluster, "attached", "attach", other))
    said = re.search(r"eddis-run: node node2: its Python has (torch|NCCL) (\S+), but that of node node1 has \1 (\S+), "
                     "with which torch.distributed cannot combine gradients; install one version on both, unless the "
                     "program combines them by eddis.DistributedOptimizer\n", theirs.stderr)
    print(ours.stderr, theirs.stderr)
    assert ours.returncode == 0 and ("libeddis combines them" in ours.stderr) == is_unlike(unlike), ours
    assert theirs.returncode == (3 if is_unlike(unlike) else 0) and bool(said) == is_unlike(unlike), theirs
