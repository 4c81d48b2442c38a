# SPDX-License-Identifier: Apache-2.0
"""torch_attach.py - the parts of bench/torch about eddis.attach: what it adds to a script of DistributedDataParallel, and
how good the plans of workers become that are held back"""

import json
import shutil
import statistics

import pace
import peers

# ranks: {name: (model, batch of each rank, steps of a round)}; a step takes 10 ms or more
LIKE = {1: {"mlp, 84 tensors": (["mlp", 42, 128], 192, 30), "cnn": (["cnn"], 512, 30),
            "transformer": (["transformer", 2, 64, 32], 48, 30), "mlp, longer": (["mlp", 42, 128], 960, 10),
            "cnn, longer": (["cnn"], 2048, 10)},
        2: {"mlp, 84 tensors": (["mlp", 42, 128], 192, 20)}, 4: {"mlp, 84 tensors": (["mlp", 42, 128], 192, 10)}}
AGREEING, ASLEEP_MS, AGREEMENTS = 4, 10, 100
WANTED_WAIT_US = 50
HELD_MS, HELD_BATCH, HELD_STEPS, FIXED_STEPS = (1, 1.5, 3, 6), 130, 130, 60
SETTLED, SKIPPED = 30, 10  # first step that counts: of jobs that correct their plan, and of those with a fixed one
WAYS = {"ddp": "DDP", "fsdp": "FSDP2"}


# ---- what attach adds ----

def attach(bench, rounds):
    """Measure what attach adds to the step of a DDP script with equal ranks, what a second DDP script beside it seems
    to add, and how long the agreement is waited for; return {ranks_model: row, "agreement": row}."""
    rows = {}
    for ranks, models in LIKE.items():
        for name, (model, batch, steps) in models.items():
            turn = (steps, [batch])
            request = bench.request(model, {"attached": turn, "ddp": turn, "ddp again": turn}, rounds,
                                    bench.folder / "out", by_step=True)
            rates = bench.here(ranks, batch, request, settings=["batch.rebalance=off"])
            added = [a - b for a, b in zip(bench.processor_s["attached"], bench.processor_s["ddp"])]
            ms = {who: 1e3 * batch * ranks / statistics.median(r) for who, r in rates.items()}
            overheads, again = ([b / a - 1 for a, b in zip(rates[who], rates["ddp"])] for who in ("attached", "ddp again"))
            overhead, low, high = peers.median_interval(overheads)
            rows[f"{ranks}_{name}"] = {
                "batch": batch, "ddp_ms": ms["ddp"], "attached_ms": ms["attached"], "overhead": overhead,
                "processor_added_ms": 1e3 * statistics.median(added), "interval": [low, high],
                "ratio": 1 / (1 + overhead), "overheads": overheads, "again": peers.median_interval(again)}
    rows["agreement"] = agreement(bench)
    return rows


def agreement(bench):
    """Return how long workers that sleep in a step's forward pass wait for the agreement at its end."""
    request = bench.request(["asleep", ASLEEP_MS], {"attached": (AGREEMENTS, [1])}, 1, bench.folder / "out")
    bench.here(AGREEING, 1, request, settings=["batch.rebalance=off"])
    told = json.loads((bench.folder / "out").read_text())
    waits, ends = sum(told["waits_us"], []), sum(told["ends_us"], [])
    return {"ranks": AGREEING, "asleep_ms": ASLEEP_MS, "wait_us": statistics.median(waits),
            "wait_p95_us": sorted(waits)[int(0.95 * len(waits))], "end_us": statistics.median(ends),
            "wait_of_ranks_us": [statistics.median(own) for own in told["waits_us"]]}


def print_attach(rows):
    """Print what attach() returned."""
    print("the same script with DistributedDataParallel alone, equal batches")
    print("  ranks  model             batch   DDP, ms  attached, ms  processor, ms more  overhead, median (95 %)"
          "  DDP once more (95 %)   wanted: < 1 %")
    for key, r in rows.items():
        if key != "agreement":
            ranks, name = key.split("_")
            low, high = (100 * v for v in r["interval"])
            again = "{:.1f} % ({:.1f} - {:.1f})".format(*(100 * v for v in r["again"]))
            print(f"  {ranks:>5}  {name:16} {r['batch']:6} {r['ddp_ms']:9.2f} {r['attached_ms']:13.2f} "
                  f"{r['processor_added_ms']:19.2f} {100 * r['overhead']:10.1f} % ({low:.1f} - {high:.1f})  {again:>20}"
                  f"{' (under 10 ms)' if r['ddp_ms'] < 10 else ''}", flush=True)
    r = rows["agreement"]
    print(f"agreement of {r['ranks']} ranks that sleep {r['asleep_ms']} ms a step, {AGREEMENTS} steps: waits "
          f"{r['wait_us']:.0f} us a step (95 % below {r['wait_p95_us']:.0f}), {r['end_us']:.0f} with eddis_step_end; by "
          f"rank {', '.join(f'{v:.0f}' for v in r['wait_of_ranks_us'])}   wanted: <= {WANTED_WAIT_US}", flush=True)


# ---- ranks that are held back ----

def step_ms(batches):
    """Return the milliseconds for which the slowest rank sleeps in a step with these batches."""
    return max(b * ms for b, ms in zip(batches, HELD_MS))


def fixed_plans():
    """Return {name: batches} of the best plan by the sleeps, and of two with 2 % moved between the fastest and the
    slowest rank."""
    whole = HELD_BATCH / sum(1 / ms for ms in HELD_MS)
    best = [round(whole / ms) for ms in HELD_MS]
    best[0] += HELD_BATCH - sum(best)
    n = round(0.02 * HELD_BATCH)
    plans = {"by the sleeps": best, "+2 %": [best[0] + n, *best[1:-1], best[-1] - n],
             "-2 %": [best[0] - n, *best[1:-1], best[-1] + n]}
    return plans


def words_of_job(bench, way, steps, *settings):
    """Return arguments of eddis-run for a job of so many steps on workers of this machine, which are alike for it."""
    request = {"way": way, "held_ms": HELD_MS, "batch": HELD_BATCH, "steps": steps, "out": str(bench.folder / "out")}
    words = ["-n", len(HELD_MS), "-x", "OMP_NUM_THREADS=1", "-x", f"PYTHONPATH={peers.ROOT / 'python'}"]
    for pair in (f"batch.global={HELD_BATCH}", "restarts=0", "sync.mode=sync",
                 "checkpoint.every=0", *settings):
        words += ["--set", pair]
    return [*words, "--", bench.python, peers.ROOT / "bench/torch_held.py", json.dumps(request)]


def trained(bench, words):
    """Run eddis-run with these arguments and without what earlier jobs have learnt; return what its script wrote."""
    shutil.rmtree(bench.folder / "cache", ignore_errors=True)
    bench.by_eddis(["-q", *words])
    told = json.loads((bench.folder / "out").read_text())
    bench.version = told["torch"]
    return told


def fixed(bench, way, batches):
    """Return the samples per second of a job that keeps these batches."""
    found = bench.by_eddis(["--dry-run", "--json", *words_of_job(bench, way, FIXED_STEPS)])
    path = bench.folder / "plan.json"
    pace.write_plan(path, json.loads(found)["plan"], batches)
    told = trained(bench, ["--plan", path, *words_of_job(bench, way, FIXED_STEPS, "batch.rebalance=off")])
    if any(list(row) != batches for row in told["batches"]):
        raise RuntimeError(f"a job with the fixed plan {batches} had the batches {told['batches']}")
    return rate(told, SKIPPED)


def rate(told, first, end=None):
    """Return the samples per second from step `first` on, up to the step before `end`."""
    at = told["ends_s"][first - 1:end]
    return HELD_BATCH * (len(at) - 1) / (at[-1] - at[0])


def replanned(told, fastest):
    """Return how a job corrected its plan.  fastest: samples per second of the fastest fixed plan."""
    batches, spread = told["batches"], []
    if max(batches[0]) - min(batches[0]) > 1:
        raise RuntimeError(f"a job that was to begin with equal batches began with {batches[0]}")
    versions = [(i, row) for i, row in enumerate(batches) if i == 0 or row != batches[i - 1]]
    for own in told["told"]:
        spread.append(statistics.median(v for v in own[SETTLED:] if v is not None))
    first = versions[1][0] if len(versions) > 1 else len(batches)
    return {"versions": versions, "told": spread, "told_spread": max(spread) / min(spread) - 1,
            "equal": rate(told, 2, first) / fastest, "at": rate(told, SETTLED, SETTLED + 10) / fastest,
            "ratio": rate(told, SETTLED) / fastest}


def held(bench, rounds):
    """Compare jobs that correct their plan with the fastest fixed plan of the same script; return {way: row}."""
    rows = {}
    for way in WAYS:
        rates, found = {name: [] for name in fixed_plans()}, []
        for _ in range(rounds):
            for name, batches in fixed_plans().items():
                rates[name].append(fixed(bench, way, batches))
            told = trained(bench, words_of_job(bench, way, HELD_STEPS))
            found.append(replanned(told, max(r[-1] for r in rates.values())))
        ratios = [f["ratio"] for f in found]
        middle = sorted(found, key=lambda f: f["ratio"])[len(found) // 2]
        rows[way] = {"fixed_samples_per_s": {name: statistics.median(r) for name, r in rates.items()},
                     **middle, "range": [min(ratios), max(ratios)]}
    return rows


def print_held(rows):
    """Print what held() returned."""
    print(f"4 ranks whose layers sleep {', '.join(f'{ms:g}' for ms in HELD_MS)} ms a sample, global batch {HELD_BATCH}, "
          "from equal batches; samples/s in parts of the fastest fixed plan's")
    print(f"          fixed plans, samples/s     equal  steps {SETTLED}-{SETTLED + 9}  from {SETTLED} on (range)  "
          "reported/slept by rank, spread   wanted: >= 0.95, >= 0.95, <= 5 %")
    for way, r in rows.items():
        plans = " ".join(f"{v:.0f}" for v in r["fixed_samples_per_s"].values())
        print(f"  {WAYS[way]:7} {plans:24} {r['equal']:7.3f} {r['at']:12.3f} {r['ratio']:11.3f} "
              f"({r['range'][0]:.2f} - {r['range'][1]:.2f})  {' '.join(f'{v:.3f}' for v in r['told'])}, "
              f"{100 * r['told_spread']:.1f} %")
    for way, r in rows.items():
        print(f"  {WAYS[way]}: " + "; ".join(f"step {step}: {' '.join(map(str, batches))} ({step_ms(batches):g} ms)"
                                         for step, batches in r["versions"]), flush=True)
