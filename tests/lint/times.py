# SPDX-License-Identifier: Apache-2.0
"""times.py - check that tests/times.json, what the gate took when it was recorded, keeps the budget in CONTRIBUTING.md.

The table there has a row `| suite | seconds |` for each suite of the record; its sum is the gate's limit.  The
time of this run is not looked at.
"""

import json
import re

from source import ROOT, finish

LIMIT_S = 1500
ROW = re.compile(r"^\| ([^|]+?) +\| +(\d+) \|$", re.M)


def main():
    recorded = json.loads((ROOT / "tests/times.json").read_text())
    suites = recorded["suites"]
    budget = {title: int(seconds) for title, seconds in ROW.findall((ROOT / "CONTRIBUTING.md").read_text())}
    faults = [f"CONTRIBUTING.md: '{title}' has a budget, and tests/times.json does not name it" for title in sorted(budget.keys() - suites.keys())]
    faults += [f"CONTRIBUTING.md: '{title}' of tests/times.json has no budget" for title in sorted(suites.keys() - budget.keys())]
    faults += [f"tests/times.json: '{title}' took {suites[title]} s, over its budget of {budget[title]}: make it shorter"
               for title in sorted(suites.keys() & budget.keys()) if suites[title] > budget[title]]
    if sum(budget.values()) > LIMIT_S:
        faults.append(f"CONTRIBUTING.md: the budgets add up to {sum(budget.values())} s, over {LIMIT_S}")
    if recorded["seconds"] > LIMIT_S:
        faults.append(f"tests/times.json: the gate took {recorded['seconds']} s, over {LIMIT_S}")
    if recorded["cores"] != 2:
        faults.append(f"tests/times.json: recorded on {recorded['cores']} cores; the budget is that of two")
    finish(faults, f"{recorded['seconds']} s of {sum(budget.values())}")


main()
