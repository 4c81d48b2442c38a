# SPDX-License-Identifier: Apache-2.0
"""kept.py - jobs of programs/kept.py, and what they wrote down"""

from __future__ import annotations

import json
import os
import pathlib
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch

import started
import training
from started import MINUTES, PROGRAMS, began, ended

DEVICES = ("{rate: 1.0, a_ms: 4, c_ms: 0.5}", "{rate: 0.8}", "{rate: 0.6}")


def job(folder: pathlib.Path, *options: str, mode: str = "sync", workers: int = 3, **settings: Any) -> list[str]:
    """The command of one that writes down in this folder."""
    emulate = ", ".join(DEVICES[:workers])
    told = {"batch__global": 12, "sync__mode": mode, "checkpoint__every": 8, **settings}
    return started.job(PROGRAMS / "kept.py", folder, *options, devices=f"[{emulate}]", **told)


def run(folder: pathlib.Path, *options: str, **settings: Any) -> tuple[int, str]:
    return ended(folder.parent, *job(folder, *options, **settings))


def resumed(tmp_path: pathlib.Path, checkpoint: str | pathlib.Path, command: list[str]) -> tuple[int, str]:
    """This job, from there."""
    return ended(tmp_path, command[0], "--resume", checkpoint, *command[1:])


def is_waiting(folder: pathlib.Path) -> bool:
    """Whether a worker is at what do=wait does, and eddis-run has heard of a step."""
    told = [line for path in folder.parent.glob("state/eddis/jobs/*/metrics.jsonl") for line in path.open()]
    return (folder / "waiting").exists() and any(json.loads(line)["samples"] for line in told if line.endswith("\n"))


def has_heard(folder: pathlib.Path) -> bool:
    """Whether eddis-run has begun to stop the job."""
    return any("then stopping" in path.read_text() for path in folder.parent.glob("state/eddis/jobs/*/events.jsonl"))


def stopped(folder: pathlib.Path, signal: int, *options: str, rank: int | None = None,
            **settings: Any) -> tuple[int, str]:
    """The same, ended by a signal."""
    return end_by(folder, signal, job(folder, *options, "do=wait", **settings), rank)


def end_by(folder: pathlib.Path, signal: int, command: list[str], rank: int | None = None) -> tuple[int, str]:
    """Run this job; while a worker is at what do=wait does eddis-run gets this signal, and when it has heard it the
    worker goes on; or a rank gets it, and it does not."""
    process, said = began(folder.parent, *command), []
    reader = threading.Thread(target=lambda: [said.append(line) for line in process.stdout])
    reader.start()
    try:
        wait_for(lambda: is_waiting(folder) or process.poll() is not None)
        if rank is not None:
            os.kill(int((folder / f"{rank}.pid").read_text()), signal)
        else:
            process.send_signal(signal)
            wait_for(lambda: has_heard(folder) or process.poll() is not None)
            time.sleep(1)  # the workers hear it later
            (folder / "go").touch()
        process.wait(timeout=MINUTES)
    finally:
        process.kill()
    reader.join()
    return process.returncode, "".join(said)


def wait_for(what: Callable[[], bool]) -> None:
    end = time.monotonic() + MINUTES
    while not what() and time.monotonic() < end:
        time.sleep(0.05)


def lines(folder: pathlib.Path, generation: int = 1) -> dict[int, list[dict[str, Any]]]:
    """{rank: what it wrote down}."""
    return {int(path.stem.split("-")[1]): [json.loads(line) for line in path.read_text().splitlines()]
            for path in folder.glob(f"{generation}-*.jsonl")}


def kept(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The steps before the last checkpoint."""
    last = max(i for i, row in enumerate(rows) if "kept" in row)
    return [row for row in rows[:last] if "step" in row]


def steps(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if "step" in row]


def times(*parts: list[dict[str, Any]]) -> Counter[int]:
    """{sample: how often it was trained}."""
    return Counter(n for rows in parts for row in rows for n in row["samples"])


def distance(one: pathlib.Path, other: pathlib.Path) -> float:
    """Of the models at the end."""
    a, b = (torch.load(run / "model.pt", map_location="cpu") for run in (one, other))
    return training.largest((a[name], b[name]) for name in a)
