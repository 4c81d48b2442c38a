# SPDX-License-Identifier: Apache-2.0
"""test_ultralytics.py - Ultralytics' YOLO with the plan's batches: three ranks make what its own trainer makes in one
process of the batches of all ranks, one after another"""

from __future__ import annotations

import importlib.util
from collections import Counter

import pytest
import torch

import framed
import training
from started import said

if not importlib.util.find_spec("ultralytics"):
    pytest.skip("could not import 'ultralytics'", allow_module_level=True)
pytestmark = pytest.mark.slow

N, N_TEST, N_TEST_OBJECTS = 60, 20, 17  # of 20 images in batches of 16 one rank validates none
SMALL = "box=0.05", "cls=0.02", "dfl=0.02", "lr0=0.02"  # gradients so small that they are not clipped
DETECT = """
nc: 2
backbone:
  - [-1, 1, Conv, [16, 3, 2]]
  - [-1, 1, Conv, [16, 3, 2]]
  - [-1, 1, Conv, [32, 3, 2]]
  - [-1, 1, C2f, [32]]
  - [-1, 1, Conv, [32, 3, 2]]
head:
  - [[3, 4], 1, Detect, [nc]]
"""
CLASSIFY = """
nc: 2
backbone:
  - [-1, 1, Conv, [16, 3, 2]]
  - [-1, 1, Conv, [16, 3, 2]]
head:
  - [-1, 1, Classify, [nc]]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder of images and models; settings of Ultralytics beside it, and no network."""
    for name, value in {"YOLO_CONFIG_DIR": tmp_path, "YOLO_OFFLINE": "1", "YOLO_AUTOINSTALL": "0"}.items():
        monkeypatch.setenv(name, str(value))
    (tmp_path / "data").mkdir()
    (tmp_path / "data/detect.yaml").write_text(DETECT)
    (tmp_path / "data/classify.yaml").write_text(CLASSIFY)
    return tmp_path


def draw(number):
    """Return an image with a rectangle of one of two colours, and its class and place; every eighth has none."""
    generator = torch.Generator().manual_seed(number)
    noise = torch.randint(0, 60, (64, 64, 3), generator=generator, dtype=torch.uint8)
    if number % 8 == 7:
        return noise.numpy(), None
    kind = number % 2
    x, y = torch.randint(4, 30, (2,), generator=generator).tolist()
    w, h = torch.randint(12, 30, (2,), generator=generator).tolist()
    noise[y:y + h, x:x + w, 2 * kind] = 230
    return noise.numpy(), (kind, (x + w / 2) / 64, (y + h / 2) / 64, w / 64, h / 64)


def make_detected(folder):
    from PIL import Image
    for part, numbers in {"train": range(N), "val": range(N, N + N_TEST)}.items():
        for kind in "images", "labels":
            (folder / f"data/{kind}/{part}").mkdir(parents=True)
        for number in numbers:
            image, place = draw(number)
            Image.fromarray(image).save(folder / f"data/images/{part}/{number}.png")
            (folder / f"data/labels/{part}/{number}.txt").write_text(" ".join(map(str, place or ())))
    (folder / "data/data.yaml").write_text(
        f"path: {folder}/data\ntrain: images/train\nval: images/val\nnames: {{0: red, 1: blue}}\n")


def trained(folder, *options, **settings):
    """Return what each rank wrote, and what the job printed."""
    output = said(folder, *framed.job(folder, "yolo.py", *options, **settings))
    return [torch.load(path, weights_only=False) for path in sorted(folder.glob("[0-9].pt"))], output


def distances(folder, ranks, *options):
    """Return how far the parameters, and those of the EMA, are from one process's; all ranks have the same bits."""
    said(folder, "python3", framed.PROGRAMS / "yolo.py", folder, "alone=1", *options)
    alone = torch.load(folder / "alone.pt", weights_only=False)
    for rank in ranks:
        assert all(torch.equal(rank["model"][name], p) for name, p in ranks[0]["model"].items())
    moved = max(float((p - ranks[0]["start"][name]).abs().max()) for name, p in alone["model"].items())
    assert moved > 1e-2, "the model was hardly trained"
    return [training.largest((p, ranks[0][what][name]) for name, p in alone[what].items()) for what in ("model", "ema")]


def splits(ranks):
    return [tuple(step["n"] for step in steps) for steps in zip(*(rank["steps"] for rank in ranks), strict=True)]


def assert_once(ranks, epochs):
    """Each image came once an epoch."""
    times = Counter(name for rank in ranks for step in rank["steps"] for name in step["samples"])
    assert times == {name: epochs for name in range(N)}


@pytest.mark.parametrize("options", [SMALL, ("nbs=48", "warmup_epochs=1", "epochs=3", "close_mosaic=1")])
def test_exact(folder, options):
    """Also with accumulation and warm-up, and without samples on one rank in the last step of each epoch; images
    without objects leave parameters without a gradient."""
    make_detected(folder)
    ranks, output = trained(folder, *options)
    assert splits(ranks)[:3] == [(3, 6, 15), (3, 6, 15), (0, 3, 9)] and "gradients by torch" in output
    assert_once(ranks, 2 if options is SMALL else 3)
    far = distances(folder, ranks, *options)
    print(f"{options}: {far[0]:.1e}, EMA {far[1]:.1e}")
    assert max(far) <= 2e-6
    assert len({rank["folder"] for rank in ranks}) == 1 and ranks[0]["instances"] == N_TEST_OBJECTS
    assert sorted(path.name for path in (folder / "runs").rglob("*.pt")) == ["best.pt", "last.pt"]


def make_classified(folder):
    from PIL import Image
    for part, numbers in {"train": range(N), "val": range(N, N + N_TEST)}.items():
        for number in numbers:
            image, place = draw(number)
            path = folder / f"data/{part}/{'none' if place is None else 'some'}/{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(image).save(path)


def test_classify(folder):
    """Its loss is a mean over images."""
    make_classified(folder)
    ranks, _ = trained(folder, "task=classify", "lr0=0.1")
    assert splits(ranks)[0] == (3, 6, 15)
    assert max(distances(folder, ranks, "task=classify", "lr0=0.1")) <= 2e-6


def test_stopped(folder):
    """A job that is stopped in its second epoch ends on all ranks after the same step.  Another one resumes from its
    checkpoint, in the same folder, and makes the rest."""
    make_detected(folder)
    ranks, _ = trained(folder, "epochs=4", "stop=4")
    n_steps, = {len(rank["steps"]) for rank in ranks}
    assert 4 <= n_steps <= 6
    last, = (folder / "runs").rglob("last.pt")
    rest, _ = trained(folder, f"model={last}", "epochs=4", "resume=True")
    assert_once(rest, 2)
    assert {rank["folder"] for rank in (*ranks, *rest)} == {str(last.parents[1])} and rest[0]["stopped"] == 4


def test_stopped_with_guesses(folder):
    """A job is stopped whose ranks have different guesses of the number of epochs: in an epoch that one rank takes for
    the last, all ranks end as if it was."""
    make_detected(folder)
    ranks, _ = trained(folder, "epochs=4", "stop=2", "guess=1")
    assert len({len(rank["steps"]) for rank in ranks}) == 1 and ranks[0]["instances"] == N_TEST_OBJECTS


@pytest.mark.parametrize("weigh", ["plain", "mean"])
def test_wrong(folder, weigh):
    """The ranks' plain mean is another model, and so is a mean over images where the loss is a sum."""
    make_detected(folder)
    ranks, _ = trained(folder, f"weigh={weigh}", *SMALL)
    far = distances(folder, ranks, *SMALL)[0]
    print(f"{weigh}: {far:.1e}")
    assert far > 1e-3
