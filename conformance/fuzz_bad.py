"""Cut and flip small fixtures and run every result through `sconce`.

    python3 conformance/fuzz_bad.py [--sconce PATH] [--cuts N] [--flips N] [--seed N] [--jobs N]
    python3 conformance/fuzz_bad.py --whole

For 20 small files of every kind: truncations and single-bit flips, a sample of
them or, with `--whole`, every one (about 310,000). Each mutant
meets one verb, the verbs in turn, and gets two seconds and 512 MB; the exit
status must be 0, 1 or 2, and the output must not tell of a panic. A run that
takes longer is repeated alone at the end with ten times as long, so that a busy
machine is not taken for a hang. What fails is kept in `conformance/crashes/`.
Standard library only.
"""

import argparse
import concurrent.futures
import itertools
import os
import random
import resource
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = os.path.join(os.path.dirname(HERE), "fixtures", "files")
# Small files of every kind that is read.
ORIGINALS = (
    "2.15/zip/shared.pt",
    "2.15/zip/objects_scalars.pt",
    "2.15/zip/deflated.pt",
    "2.15/zip/subclass.pt",
    "2.15/zip/big_endian_untyped.pt",
    "2.15/torchscript/traced.pt",
    "2.15/legacy/shared.pt",
    "hand/tar/checkpoint.tar",
    "1.13/zip/single_tensor.pt",
    "1.13/zip/dtype_quint4x2.pt",
    "1.13/torchscript/traced.pt",
    "1.13/legacy/objects_cycles.pt",
    "hand/legacy/views.pt",
    "hand/pickle/protocol0.pkl",
    "hand/pickle/protocol5.pkl",
    "hand/pickle/python2.pkl",
    "hand/sharded/pytorch_model.bin.index.json",
    "hand/lookalike/array.npy",
    "hand/lookalike/arrays.npz",
    "hand/lookalike/tensors.safetensors",
)
# FILE is the mutant.
VERBS = (
    ["info", "FILE"],
    ["ls", "FILE", "-l", "--sha256", "--json"],
    ["dis", "FILE"],
    ["globals", "FILE", "--json"],
    ["verify", "FILE"],
    ["tree", "FILE", "--all"],
    ["show", "FILE", "*", "--stats"],
    ["trace", "FILE", "--limit", "50"],
    ["code", "FILE"],
    ["graph", "FILE"],
    ["ops", "FILE"],
    ["stat", "FILE", "--json"],
    ["diff", "FILE", "FILE"],
    ["extract", "--list", "FILE"],
    ["convert", "FILE", "/dev/null", "--to", "npz"],
    ["resave", "FILE", "/dev/null"],
    ["identify", "FILE"],
    ["scan", "FILE", "--sarif"],
    ["pickle", "FILE"],
    ["clean", "FILE", "/dev/null", "--force"],
)
SECONDS = 2
# What a run that was too slow gets when it is repeated alone.
SECONDS_ALONE = 10 * SECONDS
MEMORY = 512 << 20
PANIC = (b"panicked at", b"stack overflow", b"memory allocation of", b"RUST_BACKTRACE")


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class TooSlow(str):
    """A fault that the load of the machine may explain."""


def fault(sconce, verb, path, seconds=SECONDS):
    """What is wrong with the run of one verb on one file, or None."""
    try:
        command = [path if word == "FILE" else word for word in verb]
        done = subprocess.run([sconce, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds,
                              preexec_fn=limits, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return TooSlow(f"{verb[0]}: no answer after {seconds} s")
    # 3 says that the command makes no sense for what the file holds now, such as no tensor, or no method of the name that is the default.
    if done.returncode not in ((0, 1, 2, 3) if verb[0] in ("clean", "convert", "graph", "resave", "show") else (0, 1, 2)):
        return f"{verb[0]}: exit status {done.returncode}: {done.stderr[:200]!r}"
    text = next((p for p in PANIC if p in done.stderr or p in done.stdout), None)
    if text:
        return f"{verb[0]}: {text.decode()}: {done.stderr[:200]!r}"
    if len(done.stderr) > 4096:
        return f"{verb[0]}: {len(done.stderr)} bytes of errors"
    return None


def originals():
    return [os.path.join(FILES, *path.split("/")) for path in ORIGINALS]


def mutants(data, cuts, flips, dice):
    """Every truncation and flip, or as many of each as are asked for."""
    def some(all_of_them, count):
        return all_of_them if count is None else sorted(dice.sample(all_of_them, min(count, len(all_of_them))))

    for cut in some(range(len(data)), cuts):
        yield f"cut{cut}", data[:cut]
    for bit in some(range(len(data) * 8), flips):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << (bit % 8)
        yield f"bit{bit}", bytes(changed)


def run_one(sconce, folder, job, seconds=SECONDS):
    _label, suffix, data, verb = job
    with tempfile.NamedTemporaryFile(dir=folder, suffix=suffix) as file:
        file.write(data)
        file.flush()
        return job, fault(sconce, verb, file.name, seconds)


def keep(job, wrong):
    """Report what failed, and keep the file that it failed on."""
    label, suffix, data, _verb = job
    kept = os.path.join(HERE, "crashes", label + suffix)
    os.makedirs(os.path.dirname(kept), exist_ok=True)
    with open(kept, "wb") as file:
        file.write(data)
    print(f"FAILED {label}: {wrong}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sconce", default=os.path.join(os.path.dirname(HERE), "target", "debug", "sconce"))
    parser.add_argument("--cuts", type=int, help="truncations per file (default: every one)")
    parser.add_argument("--flips", type=int, default=2000, help="single-bit flips per file")
    parser.add_argument("--whole", action="store_true", help="every truncation and every flip")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    if not os.path.exists(options.sconce):
        raise SystemExit(f"no binary at {options.sconce}: build it with `cargo build -p sconce-cli`, or give --sconce")
    if options.whole:
        options.cuts = options.flips = None
    dice = random.Random(options.seed)
    passed = failed = 0
    slow = []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for path in originals():
            with open(path, "rb") as file:
                data = file.read()
            name = os.path.relpath(path, FILES).replace(os.sep, "-")
            suffix = os.path.splitext(path)[1]
            # One verb per mutant, taken in turn.
            jobs = ((f"{name}-{label}", suffix, changed, VERBS[i % len(VERBS)])
                    for i, (label, changed) in enumerate(mutants(data, options.cuts, options.flips, dice)))
            # Some at a time: a process that holds all mutants takes long to fork.
            while part := list(itertools.islice(jobs, 1000)):
                for job, wrong in pool.map(lambda job: run_one(options.sconce, folder, job), part):
                    if wrong is None:
                        passed += 1
                    elif isinstance(wrong, TooSlow):
                        slow.append(job)
                    else:
                        failed += 1
                        keep(job, wrong)
        for job in slow:
            wrong = run_one(options.sconce, folder, job, SECONDS_ALONE)[1]
            if wrong is None:
                passed += 1
            else:
                failed += 1
                keep(job, wrong)
    if slow:
        print(f"{len(slow)} runs took more than {SECONDS} s and were repeated alone")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
