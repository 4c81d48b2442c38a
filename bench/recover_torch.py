# SPDX-License-Identifier: Apache-2.0
"""recover_torch.py FOLDER STEPS - bench-recover-train in PyTorch: DistributedDataParallel over gloo, with the same
files, steps and checkpoints."""

import os
import sys
import time

begun = time.monotonic_ns()

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

FOLDER, MOST = sys.argv[1], int(sys.argv[2])
GENERATION = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) + 1
SAVED = os.path.join(FOLDER, "torch.pt")
EVERY = 20


def tell(name, text):
    """Write text to the file FOLDER/name, which appears only when it is complete."""
    path = os.path.join(FOLDER, name)
    with open(path + ".part", "w") as f:
        f.write(text)
    os.rename(path + ".part", path)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    tell(f"pid-{rank}.{GENERATION}", str(os.getpid()))
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(100, 100))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    step = 0
    if os.path.exists(SAVED):
        state = torch.load(SAVED)
        model.load_state_dict(state["model"])
        step = state["step"]
    done = 0
    while step < 10000:
        time.sleep(0.005)
        optimizer.zero_grad()
        model(torch.ones(16, 100)).sum().backward()
        optimizer.step()
        if done == 0 and rank == 0:
            tell(f"first.{GENERATION}", f"{begun} {time.monotonic_ns()} {step}")
            print("trains", flush=True)  # eddis-run does not restart a script that has printed nothing
        step += 1
        done += 1
        if step % EVERY == 0 and rank == 0:
            torch.save({"model": model.state_dict(), "step": step}, SAVED + ".part")
            os.rename(SAVED + ".part", SAVED)
        if GENERATION > 1 and done >= MOST:
            break
    dist.destroy_process_group()


main()
