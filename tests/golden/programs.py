# SPDX-License-Identifier: Apache-2.0
"""programs.py BUILD [--write] - what every program says to --help and to wrong calls, and its exit code.

The calls of a user's mistakes run in an empty folder with some bad files; of what goes to standard
error the first line counts.
"""

import os
import subprocess
import sys
import tempfile

from golden import Golden

BUILD = os.path.realpath(sys.argv[1])
USERS = ["eddis-run", "eddis-sbatch", "eddis-status", "eddis-train", "eddis-agent"]
OURS = ["eddis-keeper", "eddis-net-probe", "eddis-probe", "eddis-rank", "eddis-relay"]
FILES = {
    "good.yaml": "command: [\"true\"]\n",
    "empty.yaml": "",
    "binary.yaml": "\0\1\2",
    "list.yaml": "- a\n",
    "tab.yaml": "command: [x]\n\tseed: 1\n",
    "unknown.yaml": "command: [x]\nsead: 1\n",
    "twice.yaml": "command: [x]\nseed: 1\nseed: 2\n",
    "type.yaml": "command: [x]\nbatch: {global: many}\n",
    "range.yaml": "command: [x]\nbatch: {global: 0}\n",
    "unit.yaml": "command: [x]\ntimeouts: {lease: 3 parsecs}\n",
    "mode.yaml": "command: [x]\nsync: {mode: fast}\n",
    "algorithm.yaml": "command: [x]\nsync: {algorithm: alreduce}\n",
    "later.yaml": "command: [x]\nsync: {gossip: 0.5}\n",
    "env.yaml": "command: [x]\nenv: {RANK: 1}\n",
    "hosts.yaml": "command: [x]\nnodes: [a b]\n",
    "nocommand.yaml": "seed: 1\n",
    "against.yaml": "command: [x]\nbatch: {min: 9, max: 3}\n",
    "lease.yaml": "command: [x]\ntimeouts: {lease: 10s, node_lost: 5s}\n",
    "bad.hosts": "a slots=x\n",
    "plan.json": "{}",
    "schema.json": "{\"schema_version\": 99}",
    "data.csv": "1,2,3\n1,2\n",
    "text.csv": "a,b\nc,d\n",
    "one.csv": "1,2,0\n3,4,1\n",
}
# program and arguments; what goes to standard input is empty
CALLS = [
    "eddis-status", "eddis-status --list", "eddis-status --report",  # there is no job yet
    "eddis-run", "eddis-run no-such.yaml", "eddis-run .", "eddis-run --no-such", "eddis-run --seed", "eddis-run good.yaml more",
    "eddis-run python3 train.py", "eddis-run no-such.yaml more", "eddis-run -m package.train", "eddis-run -mca btl tcp", "eddis-run -vm x",
    "eddis-run good.yaml -- true", "eddis-run --", "eddis-run -n 0 -- true", "eddis-run -n x -- true",
    "eddis-run --set nothing -- true", "eddis-run --set no.key=1 -- true", "eddis-run --set batch.global=x -- true",
    "eddis-run --set sync.mode=fast -- true", "eddis-run --set sync.period=-1 -- true", "eddis-run --set sync.moving_rate=2 -- true",
    "eddis-run --set sync.mode=local --set sync.momentum=0.9 -- true", "eddis-run --set sync.outer_rate=0.7 -- true",
    "eddis-run --set sync.mode=sync --set sync.period=4 -- true", "eddis-run --compare --modes local,locl train.yaml",
    "eddis-run --set sync.momentum=1.5 -- true", "eddis-run --set sync.algorithm=x -- true", "eddis-run --set sync.groups=[[0] -- true",
    "eddis-run --seed -1 -- true", "eddis-run --timeout 5q -- true", "eddis-run --plan plan.json -- true",
    "eddis-run --plan schema.json -- true", "eddis-run --plan none.json -- true", "eddis-run --resume zzz -- true",
    "eddis-run --ranks a -- true", "eddis-run --ranks 3-1 -- true", "eddis-run --hostfile bad.hosts -- true",
    "eddis-run --hostfile none -- true", "eddis-run -H a:0 -- true", "eddis-run -H -- true", "eddis-run -H a,,b -- true",
    "eddis-run -x RANK=1 -- true", "eddis-run -x 1=2 -- true", "eddis-run --json --measure-equal 0 -- true", "eddis-run --check --dry-run -- true",
    "eddis-run --what-if= --dry-run -- true", "eddis-run --what-if=fast -- true", "eddis-run --prune 1d --what-if=", "eddis-run --what-if",
    "eddis-run --simulate", "eddis-run --simulate=0s -- true", "eddis-run --simulate=-1 -- true", "eddis-run --simulate=600 -- true",
    "eddis-run --simulate=abc -- true", "eddis-run --simulate=31d -- true", "eddis-run --simulate=none -- true",
    "eddis-run --simulate=9s --check -- true", "eddis-run --simulate=9s --compare -- true", "eddis-run --stop digits --simulate=9s",
    "eddis-run --stop none", "eddis-run --cleanup none", "eddis-run --prune x", "eddis-run --prune 30d more", "eddis-run --profile good.yaml more",
    "eddis-run --measure-equal x -- true", "eddis-run --network-interface 1.2.3.4/99 -- true", "eddis-run --ssh-port 0 -- true",
    "eddis-run --restarts -1 -- true", "eddis-run --max-restarts x -- true", "eddis-run --log-dir '' -- true",
    *(f"eddis-run {name}" for name in FILES if name.endswith(".yaml") and name != "good.yaml"),
    "eddis-run god.yaml", "eddis-sbatch", "eddis-sbatch --halp", "eddis-sbatch no-such.yaml", "eddis-sbatch unknown.yaml", "eddis-sbatch -p gpu good.yaml",
    "eddis-sbatch good.yaml more", "eddis-sbatch good.yaml --gpus-per-task=1", "eddis-sbatch good.yaml --set x",
    "eddis-sbatch --set =x good.yaml",
    "eddis-sbatch good.yaml --set slurm.time=1m",
    "eddis-status --no-such", "eddis-status none", "eddis-status --logs x", "eddis-status --interval x", "eddis-status --lines x",
    "eddis-status a b", "eddis-status --list a", "eddis-status ./",
    "eddis-train", "eddis-train --data none.csv", "eddis-train --data data.csv", "eddis-train --data text.csv",
    "eddis-train --data one.csv --test 5", "eddis-train --data one.csv --model tree", "eddis-train --data one.csv --widths 0",
    "eddis-train --data one.csv --optimizer x", "eddis-train --data one.csv --lr x", "eddis-train --data one.csv --label middle",
    "eddis-train --data one.csv --scale x", "eddis-train --data one.csv --shape 3x", "eddis-train --data one.csv --epochs -1",
    "eddis-train --data one.csv --resume none", "eddis-train --data one.csv --memory x", "eddis-train --data one.csv --weighting x",
    "eddis-train --data one.csv more", "eddis-train --data one.csv --labels none", "eddis-train --data one.csv --model cnn",
    "eddis-agent", "eddis-agent --tick-fd x", "eddis-agent --no-such", "eddis-agent --tick-fd 0", "eddis-agent --tick-fd 0 --mark x",
    "eddis-keeper", "eddis-keeper x y", "eddis-keeper 1 00000000000000000000000000000000", "eddis-keeper --cleanup",
    "eddis-keeper --cleanup job x", "eddis-keeper --join 2000000000 1 0123", "eddis-keeper 2000000000 0123", "eddis-keeper 2000000000 00000000000000000000000000000000",
    "eddis-relay", "eddis-relay /none a", "eddis-relay /none/socket host orted -x", "eddis-rank", "eddis-rank a b", "eddis-rank /none/file",
    "eddis-probe --emulate x", "eddis-probe --emulate 1:2", "eddis-probe --no-such", "eddis-probe --cache-seconds x", "eddis-probe more",
]


def path(program):
    return os.path.join(BUILD, "cmd", "" if program in USERS else "libexec", program)


def run(folder, argv):
    env = {"PATH": os.environ["PATH"], "HOME": folder, "TMPDIR": folder, "LC_ALL": "C"}
    return subprocess.run([path(argv[0])] + argv[1:], cwd=folder, env=env, stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, timeout=180)


def call(folder, line):
    p = run(folder, [word.strip("'") for word in line.split()])
    return {"exit": p.returncode, "err": p.stderr.replace(folder, "@").split("\n")[0]}


def main():
    golden = Golden("programs.json")
    with tempfile.TemporaryDirectory(prefix="golden-") as folder:
        for program in USERS + OURS:
            for option in ("--help", "--version"):
                if program == "eddis-net-probe":
                    continue  # has no options: it measures
                p = run(folder, [program, option])
                golden.check(f"{program} {option}", {"exit": p.returncode, "out": p.stdout.split("\n"), "err": p.stderr.split("\n")})
        for name, text in FILES.items():
            with open(os.path.join(folder, name), "w") as f:
                f.write(text)
        for line in CALLS:
            golden.check(line, call(folder, line))
    golden.finish()


main()
