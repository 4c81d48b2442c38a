#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""results.py - what came of runs of tests, by meson's testlog.json or pytest's report.

    results.py again FIRST
        print the names of the tests to try once more, as their runner takes them: those that failed,
        but none where too many did for luck
    results.py sum TITLE FOLDER KEPT FIRST [SECOND]
        say what failed, with the end of its output; FOLDER/counts gets "passed failed", and FOLDER/skips,
        FOLDER/second and FOLDER/failed a line each: "test case: why", and names of tests that passed at
        the second try and that failed.  Whole outputs of what failed once are added to files "KEPT-test.txt".
        Append "seconds<tab>name<tab>TITLE" of each test's first try to FOLDER/times.
    results.py longest FOLDER
        print the ten longest tests of FOLDER/times
    results.py record FOLDER SECONDS
        print what this run took, as tests/times.json stores it: SECONDS in all, those of each suite, from lines
        "seconds<tab>TITLE" of FOLDER/costs, and those of the tests of 5 s and more

A program of meson's says `SKIP case: why` for each case that cannot be tried here; one that is counted
as skipped and that says nothing is named too.
"""

import ast
import json
import os
import re
import sys
import xml.etree.ElementTree

LUCK = 5  # so many tests may fail by luck: more are a fault
TAIL = 40  # lines
LONGEST = 10  # tests that the end of a run names
RECORDED_S = 5  # of a test that tests/times.json names
# What a sanitizer, libFuzzer or valgrind has found once is there, whatever the next try comes across
FOUND = re.compile(r"^SUMMARY: (?:\w+Sanitizer|libFuzzer): |^WARNING: ThreadSanitizer: |^==\d+== (Invalid|Use of uninit|Conditional jump|Syscall param)", re.M)
GOOD = "OK", "EXPECTEDFAIL"


class Result:
    def __init__(self, name, argument, kind, why, skips, output, seconds):
        self.name = name
        self.argument = argument  # what the runner calls it; None: it cannot be run by itself
        self.kind = kind  # "ok", "skip" or "failed"
        self.why = why
        self.skips = skips  # [("test case", why)]
        self.output = output
        self.seconds = seconds


def of_meson(path):
    with open(path) as f:
        for test in map(json.loads, f):
            name, result = test["name"].rsplit(" / ", 1)[-1], test["result"]
            said = re.findall(r"^SKIP ([\w-]+): (.*)$", test.get("stdout", ""), re.M)
            if result == "SKIP" and not said:
                said = [("all", "it does not say why")]
            output = test.get("stdout", "") + test.get("stderr", "")
            kind = "failed" if FOUND.search(output) else "ok" if result in GOOD else "skip" if result == "SKIP" else "failed"
            yield Result(name, name, kind, f"{result}, status {test['returncode']}, {test['duration']:.0f} s",
                         [(f"{name} {case}", why) for case, why in said], output, test["duration"])


def of_pytest(path):
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        module, name, file = case.get("classname").rpartition(".")[2], case.get("name"), case.get("file")
        skipped, bad = case.find("skipped"), [*case.iter("failure"), *case.iter("error")]
        why = "" if skipped is None else skipped.get("message")
        if not module and skipped is not None:  # a whole file
            module, name = name.rpartition(".")[2], "all"
            why = ast.literal_eval(skipped.text)[-1].removeprefix("Skipped: ")  # as written: (file, line, why)
        test = f"python/{module.removeprefix('test_')} {name.removeprefix('test_')}"
        output = "".join(f"{part.text or part.get('message') or ''}\n" for part in [*bad, *case.iter("system-out"), *case.iter("system-err")])
        yield Result(test, f"{file}::{name}" if module and file else None,
                     "failed" if bad else "ok" if skipped is None else "skip", f"{float(case.get('time', 0)):.0f} s",
                     [] if skipped is None else [(test, why)], output, float(case.get("time", 0)))


def read(path):
    """{name: Result}.  What is told of twice, as by a test and by what comes after it, has failed if it did once."""
    found = {}
    for result in (of_pytest if path.endswith(".xml") else of_meson)(path):
        if result.name not in found or result.kind == "failed":
            found[result.name] = result
    if not found:
        raise SystemExit(f"no test in {path}")
    return found


def again(first):
    names = [r.argument for r in first.values() if r.kind == "failed"]
    return names if len(names) <= LUCK and None not in names else []


def keep(kept, title, time, result):
    path = f"{kept}-{re.sub(r'[^A-Za-z0-9_]+', '-', result.name).strip('-')}.txt"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "a") as f:
        f.write(f"==== {title}, {result.name}, {time} try: {result.why}\n{result.output}\n")
    return path


def tell(title, kept, first, second):
    """Say how one that failed at first ended.  Returns whether its second try passed."""
    found = FOUND.search(first.output) is not None
    passed = second is not None and second.kind == "ok" and not found
    twice = second is not None and second.kind == "failed"
    last = second if twice and not found else first
    path = keep(kept, title, "first", first)
    if second:
        keep(kept, title, "second", second)
    print(f"  passed at the second try: {first.name}" if passed else f"  FAILED: {first.name}{', twice' if twice else ', by a sanitizer' if found else ''}")
    print(f"    {last.why}; all of it is in {path}")
    print("".join(f"    | {line}\n" for line in last.output.splitlines()[-TAIL:]), end="")
    return passed


def lines(folder, name, rows):
    with open(os.path.join(folder, name), "w") as f:
        f.writelines(f"{row}\n" for row in rows)


def add_up(title, folder, kept, first, second):
    bad = sorted((r for r in first.values() if r.kind == "failed"), key=lambda r: r.name)
    lucky = [r.name for r in bad if tell(title, kept, r, second.get(r.name))]
    failed = [r.name for r in bad if r.name not in lucky]
    last = {**first, **{name: second[name] for name in lucky}}
    passed = sum(r.kind == "ok" for r in last.values())
    lines(folder, "counts", [f"{passed} {len(failed)}"])
    lines(folder, "skips", [f"{name}: {why}" for r in last.values() for name, why in r.skips])
    lines(folder, "second", lucky)
    lines(folder, "failed", failed)
    with open(os.path.join(folder, "times"), "a") as f:
        f.writelines(f"{r.seconds:.1f}\t{r.name}\t{title}\n" for r in first.values())


def rows(folder, name):
    """Return the lines of a file of numbers and words, [(number, word, ...)], the largest number first."""
    try:
        with open(os.path.join(folder, name)) as f:
            found = [line.rstrip("\n").split("\t") for line in f]
    except FileNotFoundError:
        return []
    return sorted(((float(row[0]), *row[1:]) for row in found), key=lambda row: -row[0])


def longest(folder):
    for seconds, name, title in rows(folder, "times")[:LONGEST]:
        print(f"  {seconds:6.1f} s  {name} ({title})")


def record(folder, seconds):
    suites = {title: round(seconds) for seconds, title in rows(folder, "costs")}
    tests = {f"{name} ({title})": round(seconds) for seconds, name, title in rows(folder, "times") if seconds >= RECORDED_S}
    print(json.dumps({"cores": len(os.sched_getaffinity(0)), "seconds": seconds, "suites": suites, "tests": tests}, indent=1))


def main():
    sys.stdout.reconfigure(errors="backslashreplace")  # what tests said may be more than this locale has
    if sys.argv[1] == "longest":
        longest(sys.argv[2])
    elif sys.argv[1] == "record":
        record(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1] == "again":
        print("".join(f"{name}\n" for name in again(read(sys.argv[2]))), end="")
    else:
        add_up(*sys.argv[2:5], read(sys.argv[5]), read(sys.argv[6]) if len(sys.argv) > 6 else {})


main()
