# SPDX-License-Identifier: Apache-2.0
"""replay.py BUILD [--write] - stored plans are replayed as they are: the same plan is in force,
and in sync mode the trained parameters are the same to the last bit.

Which kernel OpenBLAS takes changes bits, so it is named, and a processor without it skips the test.
"""

import hashlib
import json
import os
import sys

from golden import HERE, Golden, path

sys.path.insert(0, os.path.join(HERE, "../cluster"))

from job import Folders, Job  # noqa: E402

BUILD = os.path.realpath(sys.argv[1])
DATA = os.path.join(HERE, "../../examples/digits/digits.csv")
MIX = "[{rate: 1, a_ms: 1, c_ms: 0.02}, {rate: 0.6}, {rate: 0.35}%s]"
TRAIN = ["--seed", "11", "-x", "OPENBLAS_CORETYPE=Haswell", "--", "eddis-train", "--data", DATA, "--test", "297", "--quiet",
         "--save", "final", "--model"]
JOBS = {
    "sync": ["--set", f"profile.emulate={MIX % ''}", "--set", "batch.global=120", *TRAIN, "mlp", "--widths", "64,32",
             "--epochs", "3"],
    "hybrid": ["--set", f"profile.emulate={MIX % ', {rate: 0.3}'}", "--set", "batch.global=64", "--set", "sync.mode=hybrid",
               "--set", "sync.groups=[[0, 2], [1, 3]]", "--set", "sync.period=4", *TRAIN, "softmax", "--epochs", "2"],
}


def plain(whole):
    """The arrays of a safetensors file, each filled up to 64 bytes: so they were written when the answers were."""
    start = 8 + int.from_bytes(whole[:8], "little")
    spans = sorted(t["data_offsets"] for k, t in json.loads(whole[8:start]).items() if k != "__metadata__")
    return b"".join(whole[start + a:start + b] + bytes((a - b) % 64) for a, b in spans)


def predictions(plan, stored):
    """What is predicted follows the steps, which only a busy machine makes longer than they are emulated."""
    for key in "predicted_samples_per_s", "equal_samples_per_s":
        assert 0 < plan[key] <= stored[key], (key, plan[key], stored[key])
        plan[key] = stored[key]


def replay(folders, name, stored):
    with Job(BUILD, folders, ["--plan", path("replay", name + ".json")] + JOBS[name], ranks=None) as j:
        assert j.end() == 0, (j.code, j.out, j.err)
        assert "replayed" in j.out, j.out
        summary, plan = j.summary(), json.loads(j.file("plan-1-1.json"))
    del plan["nodes"]
    predictions(plan, stored)
    answer = {"plan": plan, "samples": summary["samples"], "steps": summary["steps_done"]}
    if name == "sync":
        with open(folders.path("work", "final"), "rb") as f:
            answer["parameters"] = hashlib.sha256(plain(f.read())).hexdigest()
        answer.update({k: summary[k] for k in ("accuracy", "loss", "test_loss")})
    return answer


def main():
    with open("/proc/cpuinfo") as f:
        flags = f.read().split()
    if not {"avx2", "fma"} <= set(flags):
        print("SKIP all: the stored bits are those of a processor with AVX2 and FMA")
        sys.exit(77)
    golden, folders = Golden("replay.json"), Folders()
    for name in JOBS:
        with open(path("replay", name + ".json")) as f:
            stored = json.load(f)
        del stored["nodes"]
        golden.check(name, replay(folders, name, stored))
        assert golden.answers[name]["plan"] == stored, f"the plan of {name} in force is not the stored one"
    golden.finish()


main()
