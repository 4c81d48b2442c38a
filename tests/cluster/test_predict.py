# SPDX-License-Identifier: Apache-2.0
"""test_predict.py BUILD SOURCE [CASE ...] - the short form of bench/predict: it runs, and tells of each mode what it should

How near a prediction comes is not looked at: that is a matter of what else the machine does.
"""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import sys
import tempfile

from cases import run

BUILD, SOURCE = (pathlib.Path(os.path.realpath(a)) for a in sys.argv[1:3])
sys.path.insert(0, str(SOURCE / "bench"))


def load():
    """bench/predict as a module."""
    loader = importlib.machinery.SourceFileLoader("predict", str(SOURCE / "bench/predict"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("predict", loader))
    loader.exec_module(module)
    return module


def tell(module, *args):
    """What it prints, as JSON."""
    module.peers.build_folder = lambda: BUILD  # is up to date, and another may be running its tests
    sys.argv = ["predict", "--json", *args]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        module.main()
    return json.loads(out.getvalue())


class Rewritten:
    """A job whose plan predicts 100 when it begins, and another speed in the end, as its driver writes it anew."""

    def __init__(self, folder):
        self.dir, self.process, self.asked = folder, self, 0
        self.write("plan-1-1.json", {"predicted_samples_per_s": 100, "workers": [{"rank": 0, "batch": 8}]})

    def write(self, name, *documents):
        with open(os.path.join(self.dir, name), "w") as f:
            f.writelines(json.dumps(d) + "\n" for d in documents)

    def poll(self):
        self.asked += 1
        self.write("metrics.jsonl", {"steps_done": 20 * (self.asked > 1) + self.asked})
        if self.asked > 3:
            self.write("plan-1-1.json", {"predicted_samples_per_s": 50, "workers": [{"rank": 0, "batch": 8}]})
        return 0 if self.asked > 4 else None

    def end(self, seconds):
        return 0


def drawn(predict):
    """The clusters of a seed are always the same."""
    assert predict.draw(7, 0) == predict.draw(7, 0) != predict.draw(8, 0), predict.draw(7, 0)


def rewritten(predict):
    with tempfile.TemporaryDirectory() as folder:
        since, until, then, now = predict.plan_in_force(*predict.watched(Rewritten(folder), "sync", predict.DEADLINE_S))
    assert since == 22 and then["predicted_samples_per_s"] == 100 and now["predicted_samples_per_s"] == 50, (since, then, now)


def jobs(predict):
    predict.lab.skip_unless_possible()
    told = tell(predict, "--seed", "7", "--clusters", "1", "--steps", "30", "--paced", "none", "--changes", "none")
    assert told["what_if"] == [] and (told["bench"], told["seed"], told["clusters"]) == ("predict", 7, 1), told
    assert [r["mode"] for r in told["rows"]] == ["sync", "async", "hybrid"], told
    for row in told["rows"]:
        assert row["predicted_samples_per_s"] > 0 and row["simulated_samples_per_s"] > 0, row
        assert row["copied_step"] >= predict.AFTER and row["corrected_samples_per_s"] > 0, row
        assert row["workers"] == len(row["batches"]) and sum(row["batches"]) == predict.draw(7, 0)["batch"], row
        assert row["samples_per_s"] is None or row["ratio_predicted"] > 0, row
    assert any(row["samples_per_s"] for row in told["rows"]), told


def changed(predict):
    """A job is predicted without a node, and on a slower network, and then made so."""
    predict.lab.skip_unless_possible()
    told = tell(predict, "--seed", "4", "--clusters", "1", "--steps", "30", "--paced", "none", "--modes", "sync")
    assert [(r["change"], r["workers"]) for r in told["what_if"]] == [("node", 2), ("network", 3)], told
    for row in told["what_if"]:
        assert row["predicted_samples_per_s"] > 0 and row["wanted"] == predict.WITHIN["sync"], row
        assert row["samples_per_s"] is None or row["ratio_predicted"] > 0, row


sys.dont_write_bytecode = True
run([drawn, rewritten, jobs, changed], sys.argv[3:], load())
