# SPDX-License-Identifier: Apache-2.0
"""test_figures.py BUILD SOURCE [CASE ...] - what a job tells of its workers' steps: of one plan and one speed."""

import os
import sys

from cases import run
from files import write
from job import Folders, Job, request
from node import wait_for

BUILD, SOURCE = sys.argv[1:3]
FOLDERS = Folders()
PACES = FOLDERS.path("work", "paces")


def pace(rank, ms):
    os.rename(write(os.path.join(PACES, f"{rank}.new"), str(ms)), os.path.join(PACES, str(rank)))


def figures(j, rank):
    there = j.workers()
    return there[rank].get("figures", {"plan": 0}) if there else {"plan": 0}


def rows(j):
    """Those of metrics.jsonl."""
    return [w for row in j.metrics() for w in row["workers"]]


def paced():
    os.makedirs(PACES, exist_ok=True)
    pace(0, 10)
    pace(1, 20)
    return Job(BUILD, FOLDERS, ["--restarts", "0", "--", os.path.join(BUILD, "tests/cluster/paced-worker"), PACES])


def as_the_program_measured():
    """Its own times replace those of the phases, on the board as on the API."""
    with paced() as j:
        def both():  # in one answer, since a new plan begins without
            there = j.workers()
            return there if len(there) == 2 and all("figures" in w for w in there) else None

        own, other = wait_for("figures of both", both)
        assert own["compute_ms"] == 7 and own["input_ms"] == 1, own
        # By its own pace 10 ms; by the other's 20, of which a step lacks what the one before took too long.
        assert own["step_ms"] > 15 and own["wait_ms"] + own["exposed_ms"] > 15 - 7 - 1, own
        assert own["figures"]["work"] == 3 * own["figures"]["count"], own
        assert own["memory_bytes"] == 4 << 20 and own["memory_told"], own
        assert other["compute_ms"] >= 20 and other["figures"]["work"] == other["figures"]["count"], other
        assert other["memory_bytes"] > 1 << 20 and not other["memory_told"], other
        wait_for("time in the run queue", lambda: all(w["queued_ms"] is not None for w in j.workers()))
        url, token = j.driver()
        text = request(url + "/metrics", token)[1]
        assert "eddis_memory_bytes" in text and "eddis_queued_seconds" in text, text
        wait_for("rows of both", lambda: {w["rank"] for w in rows(j)} == {0, 1})
        j.interrupt()


def another_speed():
    """A worker that becomes slower has figures of its new speed, without a step of the old one."""
    with paced() as j:
        wait_for("figures", lambda: figures(j, 1)["plan"])
        before = figures(j, 1)
        pace(1, 100)
        wait_for("figures of the new speed", lambda: figures(j, 1).get("compute_low_s", 0) >= 0.1)
        assert figures(j, 1)["since"] > before["since"]
        wait_for("a row of it", lambda: any(w["figures"]["compute_low_s"] >= 0.1 for w in rows(j) if w["rank"] == 1))
        pace(1, 20)
        wait_for("figures of the old speed", lambda: figures(j, 1).get("compute_max_s", 1) < 0.1)
        j.interrupt()


def plans_do_not_mix():
    """Each figure is of the batch that its plan gives, and no shorter than that takes."""
    data = os.path.join(SOURCE, "examples/digits/digits.csv")
    rates = [1, 0.25]
    emulate = ", ".join(f"{{rate: {r}, a_ms: 2, c_ms: 0.1}}" for r in rates)
    with Job(BUILD, FOLDERS, ["--measure-equal", "100", "--set", f"profile.emulate=[{emulate}]", "--",
                              "eddis-train", "--data", data, "--epochs", "60", "--eval-every", "0"], ranks=None) as j:
        j.check(0, "ok")
        seen = rows(j)
        assert any(w["figures"]["plan"] > 1 for w in seen), seen
        given = j.plan()["workers"]  # later ones may say what a busy machine makes of it
        for w in seen:
            f, g = w["figures"], given[w["rank"]]
            p = j.plan(f["plan"])["workers"][w["rank"]]
            assert f["count"] == p["batch"], (w, p)
            assert f["own_low_s"] > 0.99 * (g["fixed_s"] + g["sample_s"] * f["count"]), (w, g)
            assert f["compute_low_s"] <= f["compute_median_s"] <= f["compute_high_s"] <= f["compute_max_s"], w


run([as_the_program_measured, another_speed, plans_do_not_mix], sys.argv[3:])
