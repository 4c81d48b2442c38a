# SPDX-License-Identifier: Apache-2.0
"""test_examples.py - the examples run alone and under eddis-run, and the manual's diffs lead from one to another"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap

import pytest

from rows import slow
from started import ROOT, said

EXAMPLES = ROOT / "examples/pytorch"


def accuracy_of(output: str) -> float:
    return float(re.findall(r"test accuracy ([0-9.]+)", output)[-1])


@pytest.mark.slow
def test_digits_alone(tmp_path):
    assert accuracy_of(said(tmp_path, "python3", EXAMPLES / "digits_cnn.py")) > 0.95


@pytest.mark.slow
def test_characters_alone(tmp_path):
    output = said(tmp_path, "python3", EXAMPLES / "characters.py")
    assert float(re.search(r"test loss ([0-9.]+)", output)[1]) < 3, output


@pytest.mark.parametrize("mode", ["sync", slow("async"), slow("hybrid")])
def test_digits_job(tmp_path, mode):
    output = said(tmp_path, "eddis-run", "--set", f"sync.mode={mode}", EXAMPLES / "train.yaml")
    done = output[output.index("done in"):]
    # How far the models of async and hybrid mode get in ten epochs depends on who comes first: chance is 0.1
    assert accuracy_of(done) > (0.85 if mode == "sync" else 0.6), output


@pytest.mark.slow
def test_characters_job(tmp_path):
    output = said(tmp_path, "eddis-run", EXAMPLES / "characters.yaml")
    assert float(re.search(r"test loss ([0-9.]+)", output)[1]) < 3 and "done in" in output, output


@pytest.mark.slow
def test_attached_job(tmp_path):
    output = said(tmp_path, "eddis-run", EXAMPLES / "attached.yaml")
    assert accuracy_of(output) > 0.85 and "gradients by torch" in output and "done in" in output, output


def script_of(page: str, heading: str) -> str:
    """The last whole script below a heading of a page of docs."""
    section = (ROOT / "docs" / page).read_text().split(f"\n{heading}\n")[1].split("\n### ")[0]
    blocks = re.findall(r"(?:^    .*\n|^\n(?=    ))+", section, re.M)
    return textwrap.dedent(blocks[-1])


@pytest.mark.slow
def test_sharded_job(tmp_path):
    """The page's script of fully_shard, with a network and data."""
    script = tmp_path / "sharded.py"
    network = "torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))"
    samples = "torch.utils.data.TensorDataset(torch.rand(480, 64), torch.randint(10, (480,)))"
    code = script_of("pytorch.md", "### A script of fully_shard")
    script.write_text(code.replace("network()", network, 1).replace("dataset()", samples, 1))
    output = said(tmp_path, "eddis-run", "-n", "3", "--set", "batch.global=48", "--", "python3", script)
    assert "gradients by torch" in output and "done in" in output, output


@pytest.mark.slow
def test_ddp_job(tmp_path):
    """As it is, which torchrun would start by the same variables."""
    output = said(tmp_path, "eddis-run", "-n", "2", "--", "python3", EXAMPLES / "ddp.py")
    assert accuracy_of(output) > 0.85 and "done in" in output, output


def test_horovod_job(tmp_path):
    """A script in the shape of Horovod's example, as it is."""
    pytest.importorskip("horovod.torch", reason="Horovod is not installed")
    output = said(tmp_path, "eddis-run", "-n", "2", "--", "python3", ROOT / "tests/python/programs/mnist_horovod.py")
    assert "2 workers, test accuracy" in output and accuracy_of(output) > 0.85, output


def diffs() -> dict[tuple[str, str], str]:
    """{(script, the script that it becomes): the manual's diff}."""
    page = (ROOT / "man/eddis-python.7").read_text()
    blocks = re.findall(r"^\.Bd -literal\n(--- (\w+)\.py\n\+\+\+ (\w+)\.py\n.*?)^\.Ed$", page, re.M | re.S)
    return {(name, then): text.replace("\\e", "\\") for text, name, then in blocks}


def code_of(text: str) -> str:
    """A script without its first docstring."""
    return text.split('"""', 2)[2]


@pytest.mark.parametrize("name, then", [("plain", "digits_cnn"), ("ddp", "digits_cnn"), ("ddp", "ddp_attached")])
def test_manual_diff(tmp_path, name, then):
    script = tmp_path / f"{name}.py"
    script.write_text((EXAMPLES / f"{name}.py").read_text())
    subprocess.run(["patch", "--silent", str(script)], input=diffs()[name, then], text=True, check=True)
    assert code_of(script.read_text()) == code_of((EXAMPLES / f"{then}.py").read_text())


@pytest.mark.slow
def test_plain(tmp_path):
    assert accuracy_of(said(tmp_path, "python3", EXAMPLES / "plain.py")) > 0.95


@pytest.mark.slow
def test_ddp(tmp_path):
    output = said(tmp_path, sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", EXAMPLES / "ddp.py")
    assert accuracy_of(output) > 0.95
