# SPDX-License-Identifier: Apache-2.0
"""cases.py - the one runner of the cases of a test program.

A case is a function; it fails by any exception but Skip, and the others run all the same.  What
cannot be tried here says `SKIP case: why`, which run-tests adds up: it has not passed.
"""

import sys
import time
import traceback

SKIP = 77


class Skip(Exception):
    """This case, or the rest of it, cannot be tried here; its text says what is missing."""


def skip_part(name, why):
    """Say that a part of the case cannot be tried here; the case goes on."""
    print(f"SKIP {name}: {why}", flush=True)


def skip_all(why):
    """End the whole program as one that cannot be tried here."""
    skip_part("all", why)
    sys.exit(SKIP)


def run_one(name, case, arguments):
    """Returns "ok", "SKIP" or "FAIL"."""
    try:
        case(*arguments)
        return "ok"
    except Skip as why:
        skip_part(name, why)
        return "SKIP"
    except Exception:
        traceback.print_exc(file=sys.stdout)
        return "FAIL"


def table(function, rows):
    """{name: function} of cases that are one function of unlike arguments; rows: {name: those behind run()'s}."""
    return {name: lambda *arguments, row=row: function(*arguments, *row) for name, row in rows.items()}


def run(cases, wanted, *arguments):
    """Run the cases, or those of the wanted names, in their order, each with these arguments.

    cases: functions and tables, {name: function}.  Exits with 1 after a failure, with 77 when all were skipped.
    """
    named = {}
    for case in [cases] if isinstance(cases, dict) else cases:
        named.update(case if isinstance(case, dict) else {case.__name__: case})
    cases = named
    unknown = [name for name in wanted if name not in cases]
    if unknown:
        sys.exit(f"no case {' '.join(unknown)}; there are {' '.join(cases)}")
    results = {}
    for name in [n for n in cases if not wanted or n in wanted]:
        began = time.monotonic()
        results[name] = run_one(name, cases[name], arguments)
        print(f"{results[name]:4} {name} {time.monotonic() - began:.1f} s", flush=True)
    failed = [name for name, result in results.items() if result == "FAIL"]
    if failed:
        sys.exit(f"failed: {' '.join(failed)}")
    if set(results.values()) == {"SKIP"}:
        sys.exit(SKIP)
