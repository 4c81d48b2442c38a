#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""behaviour.py TRAIN_JOB EDDIS_TRAIN - what eddis-train does besides learning: bad input ends
every worker with code 2, a resumed run equals one that was not interrupted, blocks equal memory,
and an emulated device takes the time it should."""

import gzip
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from trainjob import DIGITS, ROOT, accuracy, check, digits, distance, mpirun, parameters, run

TRAIN_JOB, EDDIS_TRAIN = sys.argv[1:]
FOLDER = pathlib.Path()


def bad_input():
    (FOLDER / "ragged.csv").write_text("1,2,0\n3,1\n")
    _, error = run([EDDIS_TRAIN, "--data", FOLDER / "ragged.csv"], code=2)
    check("ragged.csv:2: the row has 2 columns" in error and error.count("\n") == 1, error.strip())
    run([*mpirun(3), EDDIS_TRAIN, "--data", FOLDER / "ragged.csv"], code=2)
    (FOLDER / "quote.csv").write_text('"1,2,0\n3,1,1\n')
    (FOLDER / "names.csv").write_text('a,"b,label\n3,1,1\n4,1,0\n')
    check(True, "three workers end with code 2 as well")
    for words, sentence in [
            (["--data", DIGITS, "--test", 1797], "no row is left for training"),
            (["--data", DIGITS, "--model", "rnn"], "no model 'rnn'"),
            (["--data", DIGITS, "--lr", "fast"], "--lr is 'fast'"),
            (["--data", DIGITS, "--shape", "9x9"], "does not fit the 64 features"),
            (["--data", DIGITS, "--modle", "cnn"], "--model"),
            (["--data", DIGITS, "--save", "/nowhere/x"], "--save: cannot write '/nowhere/x': "),
            (["--data", DIGITS, "--save", FOLDER], "is not a regular file"),
            (["--data", DIGITS, "--checkpoint-dir", "/dev/null"], "--checkpoint-dir /dev/null: "),
            (["--data", DIGITS, "--load", DIGITS], "it is not a safetensors file"),
            (["--data", DIGITS, "--load", "/nowhere.model"], "cannot open '/nowhere.model'"),
            (["--data", DIGITS, "--load", "x", "--model", "mlp"], "leave --model out"),
            (["--data", FOLDER / "quote.csv"], "quote.csv:1: a quote is not closed on this line"),
            (["--data", FOLDER / "names.csv"], "names.csv:1: a quote is not closed on this line"),
            (["--data", DIGITS, "--test-only"], "name it with --load FILE"),
            (["--data", "/nowhere.csv"], "cannot open '/nowhere.csv'"),
            ([], "no data")]:
        _, error = run([EDDIS_TRAIN, *words], code=2)
        check(sentence in error and error.count("\n") == 1, error.strip())
    # The address sanitizer ends what asks for so much, unless told not to, and then it warns.
    may_return_null = "ASAN_OPTIONS=" + os.environ.get("ASAN_OPTIONS", "") + ":allocator_may_return_null=1"
    _, error = run(["env", may_return_null, EDDIS_TRAIN, "--data", DIGITS, "--widths", "1000000,1000000"], code=2)
    said = [line for line in error.splitlines() if line.startswith("eddis-train: ")]
    check(len(said) == 1 and "no memory for a model of 1000076000010 parameters, 4000.3 GB of them" in said[0], error.strip())


def table(name, head, rows):
    """A file of one feature that tells the label, as a program writes it."""
    (FOLDER / name).write_text(head + "".join(rows))
    return FOLDER / name


def tables():
    """What pandas and spreadsheets write: one label a row, nothing trained on names or row numbers, and that said."""
    plain = table("plain.csv", "a,b,label\n", [f"0.{1 + i % 2},0.{9 - i % 2},{i % 2}\n" for i in range(40)])
    run([EDDIS_TRAIN, "--data", plain, "--epochs", 2, "--save", FOLDER / "plain"])
    for name, head, row, said in [
            ("names", "0,1,2\n", "{a},{b},{l}\n", "the first line, '0,1,2', is read as column names"),
            ("numbers", ",a,b,label\n", "{i},{a},{b},{l}\n", "the first column, which has no name, seems to contain row numbers"),
            ("counted", "", "{i},{a},{b},{l}\n", "the first column numbers the rows"),
            ("semicolons", "a;b;label\n", "{a};{b};{l}\n", ""),
            ("commas", "a;b;label\r\n", "0,{x};0,{y};{l}\r\n", "")]:
        path = table(name + ".csv", head, [row.format(i=i, x=1 + i % 2, y=9 - i % 2, a=f"0.{1 + i % 2}", b=f"0.{9 - i % 2}", l=i % 2)
                                           for i in range(40)])
        _, error = run([EDDIS_TRAIN, "--data", path, "--epochs", 2, "--save", FOLDER / name])
        check(error.count("\n") == bool(said) and said in error, f"{name}: {error.strip()}")
        check((FOLDER / name).read_bytes() == (FOLDER / "plain").read_bytes(), f"{name}: the model of the plain table")
    _, error = run([EDDIS_TRAIN, "--data", plain, "--test-data", FOLDER / "numbers.csv", "--test-only", "--load", FOLDER / "plain"])
    check("no name" in error, "a test set and a model know the number of features: " + error.strip())
    _, error = run([*mpirun(3), EDDIS_TRAIN, "--data", FOLDER / "counted.csv", "--epochs", 1])
    check(error.count("numbers the rows") == 1, "one of three workers says it")


def unlike():
    """Columns of unlike scale: each has its own factor, on all ranks, after a restart and in the saved model."""
    rows = [f"{(i * 7 % 10) / 10 + (i % 2):.1f},{10000 + i * 7919 % 80000},7,{i % 2}\n" for i in range(300)]
    path = table("unlike.csv", "", rows)
    train = ["--data", path, "--test", 60, "--epochs", 30, "--batch", 60]
    out, error = run([EDDIS_TRAIN, *train, "--checkpoint-dir", FOLDER / "kept", "--save", FOLDER / "own"])
    check("largest magnitudes of the columns range from 1.9 to " in error and error.count("\n") == 1, error.strip())
    check(accuracy(out) > 0.8, out.splitlines()[-1])
    out, error = run([EDDIS_TRAIN, *train, "--scale", "none"])
    check(accuracy(out) < 0.7 and not error, "--scale none: " + out.splitlines()[-1])
    _, error = run([EDDIS_TRAIN, *train, "--scale", "column", "--save", FOLDER / "asked"])
    check((FOLDER / "asked").read_bytes() == (FOLDER / "own").read_bytes() and not error, "--scale column does the same")
    out, _ = run([EDDIS_TRAIN, "--data", table("one.csv", "", rows[:1]), "--test-only", "--load", FOLDER / "own"])
    check("test accuracy" in out, "the model's factors are those of the file it was trained on: " + out.strip())
    # A file that has changed since: the factors of the checkpoint count, not its own.
    table("unlike.csv", "", [rows[0].replace("10000", "999999"), *rows[1:]])
    first = sorted((FOLDER / "kept").glob("step-*"))[-1]
    run([EDDIS_TRAIN, *train, "--resume", first, "--save", FOLDER / "resumed"])
    scale = [parameters(FOLDER / name)[-3:] for name in ("own", "resumed")]
    check(scale[0] == scale[1], f"a restart takes the checkpoint's factors {list(scale[0])}")
    _, error = run([EDDIS_TRAIN, *train, "--resume", first, "--scale", "none"], code=2)
    check("the checkpoint is of a training 'float32 sgd 1, --scale column;" in error, error.strip())
    run([*mpirun(3), EDDIS_TRAIN, *train, "--scale", "column", "--save", FOLDER / "three"])
    run([EDDIS_TRAIN, *train, "--scale", "column", "--save", FOLDER / "one"])
    far = distance(parameters(FOLDER / "one"), parameters(FOLDER / "three"))
    check(far < 1e-3, f"three workers train the model of one, up to {far:.1e}")
    run([EDDIS_TRAIN, *digits("--scale", "column", "--epochs", 2, "--save", FOLDER / "digits")])
    out, _ = run([EDDIS_TRAIN, *digits("--test-only", "--load", FOLDER / "digits")])
    by_numpy, _ = run([sys.executable, ROOT / "examples/digits/predict.py", FOLDER / "digits", DIGITS])
    check(by_numpy.strip() in out, f"numpy reads the factors: {by_numpy.strip()}")


def text_labels():
    rows = [f"{i % 3}.{i % 7},{i % 5},{('rose', 'aster', 'lily')[i % 3]}\n" for i in range(90)]
    path = table("flowers.csv", "a,b,kind\n", rows)
    model = FOLDER / "flowers"
    _, error = run([EDDIS_TRAIN, "--data", path, "--epochs", 3, "--save", model, "--checkpoint-dir", FOLDER / "grown"])
    check(error == "eddis-train: labels: 0 aster, 1 lily, 2 rose\n", error.strip())
    check(rb'"labels":"[\"aster\",\"lily\",\"rose\"]"' in model.read_bytes(), "the model has them")
    out, _ = run([EDDIS_TRAIN, "--data", table("some.csv", "", rows[:1] * 9), "--test-only", "--load", model])
    check(out.rstrip().endswith((" 0 of 9 right", " 9 of 9 right")), "a file of one label has the model's class: " + out.strip())
    for name, change, sentence in [("tulips", ("lily", "tulip"), "label 'tulip' is not one of the labels that the model was trained on"),
                                   ("number", ("lily", "1"), "column 3 is a number, where other labels are text")]:
        other = table(name + ".csv", "", [row.replace(*change) for row in rows])
        _, error = run([EDDIS_TRAIN, "--data", other, "--load", model, "--test-only"], code=2)
        check(sentence in error and error.count("\n") == 1, error.strip())
    _, error = run([EDDIS_TRAIN, "--data", FOLDER / "tulips.csv", "--resume", FOLDER / "grown"], code=2)
    check("the labels of the checkpoint differ from those of the data" in error, error.strip())
    _, error = run([EDDIS_TRAIN, "--data", FOLDER / "plain.csv", "--test-data", path], code=2)
    check("are text, but the model was trained on numbers as labels" in error, error.strip())


def full_disk():
    for words in (["--help"], ["-V"], digits("--model", "softmax", "--epochs", 1)):
        with open("/dev/full", "w") as full:
            p = subprocess.run([str(w) for w in [EDDIS_TRAIN, *words]], stdout=full, stderr=subprocess.PIPE,
                               text=True, timeout=600)
        check(p.returncode == 1 and "cannot write to standard output" in p.stderr, p.stderr.strip())


def resume(model, *options):
    train = [EDDIS_TRAIN, *digits("--model", model, "--epochs", 3, "--batch", 128, *options)]
    kept = FOLDER / model
    run([*train, "--checkpoint-dir", kept, "--save", FOLDER / "whole"])
    first = sorted(kept.glob("step-*"))[0]
    run([*train, "--resume", first, "--save", FOLDER / "resumed"])
    check((FOLDER / "whole").read_bytes() == (FOLDER / "resumed").read_bytes(),
          f"{model} resumed from {first.name} equals the run without interruption")
    _, error = run([EDDIS_TRAIN, *digits("--model", "softmax", "--batch", 128, "--resume", first)], code=2)
    check("the checkpoint is of" in error, error.strip())


def saved():
    """A model that is saved is tested alike by eddis-train and by numpy, and can be trained on."""
    path = FOLDER / "model"
    out, _ = run([EDDIS_TRAIN, *digits("--epochs", 4, "--save", path)])
    at_the_end = accuracy(out)
    out, _ = run([EDDIS_TRAIN, *digits("--test-only", "--load", path)])
    check(accuracy(out) == at_the_end, f"tested as at the end of training: {out.strip()}")
    right = re.search(r"\d+ of 360 right", out).group()
    by_numpy, _ = run([sys.executable, ROOT / "examples/digits/predict.py", path, DIGITS])
    check(by_numpy.strip() == right, f"numpy: {by_numpy.strip()}")
    out, _ = run([EDDIS_TRAIN, "--data", DIGITS, "--test-only", "--load", path])
    check("of 1797 right" in out, "without a test set all rows are tested: " + out.strip())
    out, _ = run([EDDIS_TRAIN, *digits("--epochs", 1, "--load", path)])
    check(accuracy(out) > at_the_end - 0.03, "trained on: " + out.strip())
    (FOLDER / "other.csv").write_text("1,2,0\n3,4,1\n")
    _, error = run([EDDIS_TRAIN, "--data", FOLDER / "other.csv", "--test-only", "--load", path], code=2)
    check("has 2 features per row, but the model of" in error, error.strip())


def blocks():
    packed = FOLDER / "digits.csv.gz"
    packed.write_bytes(gzip.compress(DIGITS.read_bytes()))
    for name, words in ("memory", []), ("blocks", ["--memory", 1000]), ("gzip", ["--memory", 1000]):
        data = packed if name == "gzip" else DIGITS
        run([EDDIS_TRAIN, "--data", data, "--test", 360, "--epochs", 2, *words,
             "--save", FOLDER / name])
    check((FOLDER / "memory").read_bytes() == (FOLDER / "blocks").read_bytes()
          == (FOLDER / "gzip").read_bytes(), "blocks, gzipped too, give what memory gives")


def pace():
    fixed, sample, batches = 0.004, 0.0002, (60, 30, 20)
    out, _ = run([TRAIN_JOB, "-e", f"{fixed}:{sample}", ",".join(map(str, batches)), EDDIS_TRAIN,
                  *digits("--epochs", 3, "--eval-every", 0)])
    rows = [line.split() for line in out.splitlines() if line.startswith("rank")]
    check(len(rows) == len(batches), "each rank says how long its steps took")
    for row, batch in zip(rows, batches):
        told = dict(zip(row[::2], row[1::2]))
        steps, own = int(told["steps"]), float(told["own_s"])
        ideal = fixed * steps + sample * int(told["samples"])
        check(steps == 42 and own >= 0.99 * ideal,
              f"rank with {batch} samples a step: {own:.3f} s, its device's {ideal:.3f} s")


def main():
    global FOLDER
    with tempfile.TemporaryDirectory() as folder:
        FOLDER = pathlib.Path(folder)
        bad_input()
        tables()
        unlike()
        text_labels()
        full_disk()
        resume("mlp")
        resume("cnn", "--optimizer", "adam")
        blocks()
        saved()
        pace()


main()
