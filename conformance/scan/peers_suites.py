"""Every sample of the test suites of picklescan, fickling, modelscan and modelaudit through `sconce scan`.

    python3 conformance/scan/peers_suites.py [--sconce PATH] [--work FOLDER] [--keep]

Fetches the four repositories, runs their own tests with a plugin that keeps every file they make (`keep_samples.py`),
and asks Python what each sample runs when it is unpickled (`what_runs.py`). What runs something must be *dangerous* by
sconce; the exceptions, each with its reason, are in `peers_suites.tsv`. What runs nothing is counted, not judged: many
samples name something dangerous without a call. Prints a
table. The samples and answers stay below `--work`, where a second run finds them.

Samples run for a moment, in processes that refuse what they hear of. Run this where you would run an unknown program.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
SUITES = {
    "picklescan": ("mmaitre314/picklescan", "tests"),
    "fickling": ("trailofbits/fickling", "test"),
    "modelscan": ("protectai/modelscan", "tests"),
    "modelaudit": ("promptfoo/modelaudit", "tests"),
}
# What their tests import.
NEEDED = ["pytest", "pytest-asyncio", "pytest-timeout", "numpy", "torch", "torchvision", "joblib", "dill", "cloudpickle", "py7zr", "scikit-learn",
          "h5py", "safetensors", "pyyaml", "requests", "aiohttp"]
LONGEST = 64 << 20
SECONDS = 3600


def fetched(work):
    for name, (repository, _) in SUITES.items():
        folder = os.path.join(work, "suites", name)
        if not os.path.exists(folder):
            subprocess.run(["git", "clone", "-q", "--depth", "1", f"https://github.com/{repository}", folder], check=True)


def environment(work):
    folder = os.path.join(work, "peers")
    python = os.path.join(folder, "bin", "python")
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *SUITES, *NEEDED], check=True)
    return python


def made(work, python):
    """Runs the tests of each suite, and gives the paths of the samples of each."""
    samples = {}
    for name, (_, tests) in SUITES.items():
        suite, kept = os.path.join(work, "suites", name), os.path.join(work, "samples", name)
        if not os.path.exists(kept):
            code = ("import keep_samples, pytest, sys\n"
                    "sys.exit(pytest.main(['-p', 'keep_samples', '-q', '--basetemp', sys.argv[1], '-o', 'addopts=',\n"
                    "                      '-o', 'tmp_path_retention_policy=all', '-p', 'no:cacheprovider', '--timeout', '60', sys.argv[2]]))")
            paths = os.pathsep.join([HERE, suite, os.path.join(suite, "src")])
            with open(os.path.join(work, f"{name}.log"), "wb") as log:
                subprocess.run([python, "-c", code, os.path.join(kept, "files", "pytest"), tests], cwd=suite, timeout=SECONDS, check=False,
                               env={**os.environ, "SAMPLES": kept, "PYTHONPATH": paths, "PROMPTFOO_DISABLE_TELEMETRY": "1",
                                    "NO_ANALYTICS": "1"}, stdout=log, stderr=log)
        samples[name] = unique([os.path.join(suite, tests), kept])
    return samples


def unique(folders):
    """The files in folders, one for each content."""
    found = {}
    for folder in folders:
        for path, below, names in os.walk(folder):
            below.sort()
            for name in sorted(names):
                full = os.path.join(path, name)
                if name.endswith((".py", ".pyc", ".md", ".pyi")) or not os.path.isfile(full) or os.path.islink(full):
                    continue
                if 0 < os.path.getsize(full) <= LONGEST:
                    with open(full, "rb") as file:
                        found.setdefault(hashlib.sha256(file.read()).hexdigest()[:16], full)
    return found


def asked(work, python, samples):
    """What Python runs of each sample, by its hash."""
    known_at = os.path.join(work, "runs.jsonl")
    known = {}
    if os.path.exists(known_at):
        with open(known_at) as lines:
            known = {row["sample"]: row for row in map(json.loads, lines)}
    left = {sample: path for kept in samples.values() for sample, path in kept.items() if sample not in known}

    def ask(items):
        paths = "".join(path + "\n" for _, path in items)
        done = subprocess.run([python, os.path.join(HERE, "what_runs.py")], input=paths, stdout=subprocess.PIPE, text=True, check=True)
        return zip(items, map(json.loads, done.stdout.splitlines()), strict=True)

    left = list(left.items())
    parts = [left[at:at + 100] for at in range(0, len(left), 100)]
    with open(known_at, "a") as lines, ThreadPoolExecutor(os.cpu_count()) as pool:
        for answers in pool.map(ask, parts):
            for (sample, path), answer in answers:
                assert answer["path"] == path, (answer, path)
                known[sample] = {"sample": sample, **answer}
                lines.write(json.dumps(known[sample]) + "\n")
    return known


def sconce(binary, paths):
    verdicts, started = {}, time.monotonic()
    for at in range(0, len(paths), 500):
        done = subprocess.run([binary, "scan", "--json", *paths[at:at + 500]], stdout=subprocess.PIPE, check=False)
        for file in json.loads(done.stdout)["files"]:
            verdicts[file["path"]] = file["verdict"]
    return verdicts, time.monotonic() - started


def exceptions():
    """Samples that are something else than Python says, by hash, with the verdict and the reason."""
    with open(os.path.join(HERE, "peers_suites.tsv")) as table:
        rows = [line.rstrip("\n").split("\t") for line in table][1:]
    return {sample: (verdict, reason) for sample, verdict, reason in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sconce", default=os.path.join(HERE, "..", "..", "target", "optimized", "sconce"))
    parser.add_argument("--work", default=os.path.join(tempfile.gettempdir(), "sconce-peers-suites"), metavar="FOLDER")
    options = parser.parse_args()
    work = os.path.abspath(options.work)
    os.makedirs(work, exist_ok=True)
    os.chmod(work, 0o755)
    fetched(work)
    python = environment(work)
    samples = made(work, python)
    runs = asked(work, python, samples)
    excepted = exceptions()
    failed = 0
    print("| suite | samples | run something | of them dangerous | run nothing | of them dangerous | cannot be unpickled | of them dangerous |")
    print("|---|---|---|---|---|---|---|---|")
    for name, kept in samples.items():
        verdicts, seconds = sconce(options.sconce, list(kept.values()))
        counts = {"runs": [0, 0], "inert": [0, 0], "fails": [0, 0]}
        for sample, path in kept.items():
            does = next(word for word in counts if word in runs[sample])
            is_dangerous = verdicts[path] == "dangerous"
            counts[does][0] += 1
            counts[does][1] += is_dangerous
            # What names something dangerous and does not call it is dangerous, too.
            if does != "runs" or is_dangerous:
                continue
            if excepted.get(sample, ("",))[0] == verdicts[path]:
                continue
            failed += 1
            print(f"FAILED {sample} {verdicts[path]}: {runs[sample]} {os.path.relpath(path, work)}", file=sys.stderr)
        cells = [str(number) for word in counts for number in counts[word]]
        print(f"| {name} | {len(kept)} | {' | '.join(cells)} |  {seconds:.2f} s", flush=True)
    print(f"{failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
