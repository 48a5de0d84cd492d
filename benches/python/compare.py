#!/usr/bin/env python3
"""Times the Python package beside PyTorch and beside the same library without Python, in one run: medians of turns.

    compare.py [FILTER]

Wants `sconce`, `torch` and `numpy` installed, and `torchvision` for the memory of ResNet-50. The library without Python
is the package's own command (`sconce bench`).
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import sconce
import torch

COMMAND = [sys.executable, "-m", "sconce"]
CORES = len(os.sched_getaffinity(0))


def seconds(work, least=0.02):
    """Of one call: the mean of as many as take a while."""
    count, spent = 1, 0.0
    while spent < least:
        started = time.perf_counter()
        for _ in range(count):
            work()
        spent = time.perf_counter() - started
        if spent < least:
            count *= 2 if spent < least / 10 else max(2, round(least / spent))
    return spent / count


def medians(turns=15, least=0.02, **works):
    """Works by turns, so that what else the machine does hits all of them."""
    taken = {name: [] for name in works}
    for _ in range(turns):
        for name, work in works.items():
            taken[name].append(seconds(work, least) if callable(work) else work[0]())
    return {name: statistics.median(times) for name, times in taken.items()}


def process(*words):
    started = time.perf_counter()
    subprocess.run(words, check=True, capture_output=True)
    return time.perf_counter() - started


def show(what, value):
    print(f"{what:52} {value}", flush=True)


def starts(folder):
    """An interpreter that imports the package, and the command."""
    run = lambda *words: [lambda: process(*words)]  # noqa: E731
    bare = run(sys.executable, "-c", "pass")
    found = medians(bare=bare, imports=run(sys.executable, "-c", "import sconce"), command=run(*COMMAND, "--version"))
    show("import sconce, over an empty interpreter", f"{1e3 * (found['imports'] - found['bare']):.1f} ms")
    show("sconce --version by the package", f"{1e3 * found['command']:.1f} ms, an empty interpreter {1e3 * found['bare']:.1f} ms")


def loads(folder):
    """Checkpoints of many tensors, and of large ones."""
    for name, count, size in (("5,000 tensors", 5000, 16), ("1 GB", 200, 1_310_720)):
        path = os.path.join(folder, "checkpoint.pt")
        torch.save({f"layer{at}.weight": torch.zeros(size) for at in range(count)}, path)
        found = medians(5, ours=lambda: sconce.load(path), torch=lambda: torch.load(path), mapped=lambda: torch.load(path, mmap=True))
        ratios = f"torch.load {found['torch'] / found['ours']:.1f}x, with mmap=True {found['mapped'] / found['ours']:.1f}x"
        show(f"load of {name}", f"{1e3 * found['ours']:.2f} ms; {ratios}")
    array = sconce.load(path)["layer0.weight"]
    view = np.asarray(array)
    show("numpy.asarray of a tensor is a view", not view.flags.owndata and not view.flags.writeable)


def network(folder, *widths):
    layers = []
    for here, there in zip(widths, widths[1:]):
        layers += [torch.nn.Linear(here, there), torch.nn.ReLU()]
    path = os.path.join(folder, "network.pt")
    torch.jit.script(torch.nn.Sequential(*layers[:-1]).eval()).save(path)
    return path


def calls(folder):
    """A small network: what Python adds to a call."""
    path = network(folder, 16, 32, 32, 4)
    sconce.set_num_threads(1), torch.set_num_threads(1)
    model, theirs = sconce.jit.load(path), torch.jit.load(path)
    array = np.ones((1, 16), np.float32)
    tensor = torch.ones(1, 16)
    own = sconce.load(save(folder, tensor))
    number = sconce.jit.script("def same(x: int) -> int:\n    return x\n")

    def bench():
        words = [*COMMAND, "bench", path, "--shape", "1x16", "--json", "--threads", "1", "--quiet"]
        return json.loads(subprocess.run(words, check=True, capture_output=True).stdout)["seconds"]["median"]

    with torch.inference_mode():
        # Turns that are shorter than those that the system gives to others.
        rust = statistics.median(bench() for _ in range(5))
        found = medians(
            401, 0.0005, ours=lambda: model(array), from_torch=lambda: model(tensor), from_own=lambda: model(own),
            torch=lambda: theirs(tensor), number=lambda: number(1), to_numpy=lambda: np.asarray(own),
        )
    for name, what in (("ours", "a NumPy array"), ("from_torch", "a torch tensor"), ("from_own", "a sconce tensor")):
        show(f"call of an MLP with {what}", f"{1e6 * found[name]:.2f} µs, {1e6 * (found[name] - rust):.2f} µs over Rust")
    show("the same in Rust, in torch.jit", f"{1e6 * rust:.2f} µs, {1e6 * found['torch']:.2f} µs")
    show("call of a function of a number", f"{1e6 * found['number']:.2f} µs")
    show("numpy.asarray of a tensor", f"{1e6 * found['to_numpy']:.2f} µs")


def save(folder, value):
    path = os.path.join(folder, "value.pt")
    torch.save(value, path)
    return path


def spent():
    """Seconds that this thread ran and that it waited for a core, as Linux counts them."""
    with open(f"/proc/self/task/{threading.get_native_id()}/schedstat") as file:
        return np.array(file.read().split()[:2], float) / 1e9


def threads(folder):
    """Two threads that call one model of some 10 ms, each operator on one thread. How long both take depends on who else
    has the cores; so what counts is how long a call runs, and whether a thread does anything but run or wait for a core."""
    path = network(folder, 1024, 1536, 1536, 1024)
    sconce.set_num_threads(1)
    model, array = sconce.jit.load(path), np.ones((64, 1024), np.float32)

    def together(count, each=16):
        found, ready = [], threading.Barrier(count)

        def work():
            model(array)
            ready.wait()
            before, started = spent(), time.perf_counter()
            for _ in range(each):
                model(array)
            wall, (ran, waited) = time.perf_counter() - started, spent() - before
            found.append((ran / each, (ran + waited) / wall, wall / each))

        workers = [threading.Thread(target=work) for _ in range(count)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return np.mean(found, 0)

    turns = [(together(1), together(2)) for _ in range(15)]
    one, two = (np.median(times, 0) for times in zip(*turns))
    show("a call's time of a core, with one thread and with two", f"{1e3 * one[0]:.2f} ms, {1e3 * two[0]:.2f} ms")
    show("the part in which two threads ran or waited for cores", f"{100 * two[1]:.1f} %")
    show("two threads: calls, on cores of their own", f"{2 * two[1] * one[0] / two[0]:.2f} times those of one")
    show("the same as it was here", f"{2 * one[2] / two[2]:.2f} ({CORES} cores)")


# What is resident after each of so many threads has called the model and keeps its session.
RESIDENT = """
import sys, threading, numpy, sconce
def resident():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1])
sconce.set_num_threads(1)
before, array = resident(), numpy.ones((1, 3, 224, 224), numpy.float32)
model, end, done = sconce.jit.load(sys.argv[1]), threading.Event(), threading.Barrier(int(sys.argv[2]) + 1)
def work():
    with model.session() as session:
        for _ in range(2): session(array)
        done.wait(); end.wait()
for _ in range(int(sys.argv[2])): threading.Thread(target=work).start()
done.wait(); print(resident() - before); end.set()
"""


def memory(folder):
    """Sessions over one ResNet-50."""
    import torchvision

    path = os.path.join(folder, "resnet50.pt")
    torch.jit.script(torchvision.models.resnet50(weights=None).eval()).save(path)
    taken = {}
    for count in (1, 2, 4):
        done = subprocess.run([sys.executable, "-c", RESIDENT, path, str(count)], check=True, capture_output=True, text=True)
        taken[count] = int(done.stdout)
    ratios = ", ".join(f"{count}: {kib / 1024:.0f} MiB ({kib / taken[1]:.2f})" for count, kib in taken.items())
    show("resident of sessions over one ResNet-50", ratios)


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    print(f"sconce {sconce.__version__}, torch {torch.__version__}, load of the machine {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        for part in (starts, loads, calls, threads, memory):
            if wanted in part.__name__:
                part(folder)


if __name__ == "__main__":
    main()
