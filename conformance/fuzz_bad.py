"""Cut and flip small fixtures and run every result through `sconce`.

    python3 conformance/fuzz_bad.py [--sconce PATH] [--files N] [--flips N] [--seed N] [--jobs N]

For each of N small fixtures: every truncation, and a sample of single-bit
flips. Each mutant gets two seconds and 512 MB; the exit status must be 0, 1
or 2, and the output must not tell of a panic. What fails is kept in
`conformance/crashes/`. Standard library only.
"""

import argparse
import concurrent.futures
import os
import random
import resource
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = os.path.join(os.path.dirname(HERE), "fixtures", "files")
VERBS = (["info"], ["ls", "-l", "--sha256", "--json"], ["dis"], ["globals", "--json"], ["verify"])
SECONDS = 2
MEMORY = 512 << 20
PANIC = (b"panicked at", b"stack overflow", b"memory allocation of", b"RUST_BACKTRACE")


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def fault(sconce, verb, path):
    """What is wrong with the run of one verb on one file, or None."""
    try:
        done = subprocess.run([sconce, *verb, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS,
                              preexec_fn=limits, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return f"{verb[0]}: no answer after {SECONDS} s"
    if done.returncode not in (0, 1, 2):
        return f"{verb[0]}: exit status {done.returncode}: {done.stderr[:200]!r}"
    text = next((p for p in PANIC if p in done.stderr or p in done.stdout), None)
    if text:
        return f"{verb[0]}: {text.decode()}: {done.stderr[:200]!r}"
    if len(done.stderr) > 4096:
        return f"{verb[0]}: {len(done.stderr)} bytes of errors"
    return None


def originals(count, largest, dice):
    """Small fixtures, the smallest of every folder first, then others by chance."""
    found = {}
    for folder, _, names in sorted(os.walk(FILES)):
        sized = sorted((os.path.getsize(os.path.join(folder, n)), os.path.join(folder, n)) for n in names)
        found[folder] = [path for size, path in sized if 0 < size <= largest]
    first = [paths[0] for paths in found.values() if paths]
    rest = sorted(path for paths in found.values() for path in paths[1:])
    dice.shuffle(rest)
    return (first + rest)[:count]


def mutants(data, flips, dice):
    for cut in range(len(data)):
        yield f"cut{cut}", data[:cut]
    bits = range(len(data) * 8)
    for bit in sorted(dice.sample(bits, min(flips, len(bits)))):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << (bit % 8)
        yield f"bit{bit}", bytes(changed)


def run_one(sconce, folder, job):
    label, suffix, data, verb = job
    with tempfile.NamedTemporaryFile(dir=folder, suffix=suffix) as file:
        file.write(data)
        file.flush()
        return label, suffix, data, fault(sconce, verb, file.name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sconce", default=os.path.join(os.path.dirname(HERE), "target", "debug", "sconce"))
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--flips", type=int, default=2000, help="single-bit flips per file")
    parser.add_argument("--largest", type=int, default=20_000, help="largest fixture taken, in bytes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    if not os.path.exists(options.sconce):
        raise SystemExit(f"no binary at {options.sconce}: build it with `cargo build -p sconce-cli`, or give --sconce")
    dice = random.Random(options.seed)
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for path in originals(options.files, options.largest, dice):
            with open(path, "rb") as file:
                data = file.read()
            name = os.path.relpath(path, FILES).replace(os.sep, "-")
            suffix = os.path.splitext(path)[1]
            # One verb per mutant, taken in turn: every verb sees a fifth of them.
            jobs = [(f"{name}-{label}", suffix, changed, VERBS[i % len(VERBS)])
                    for i, (label, changed) in enumerate(mutants(data, options.flips, dice))]
            for label, suffix, changed, wrong in pool.map(lambda job: run_one(options.sconce, folder, job), jobs):
                if wrong is None:
                    passed += 1
                    continue
                failed += 1
                kept = os.path.join(HERE, "crashes", label + suffix)
                os.makedirs(os.path.dirname(kept), exist_ok=True)
                with open(kept, "wb") as file:
                    file.write(changed)
                print(f"FAILED {label}: {wrong}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
