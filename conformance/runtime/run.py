#!/usr/bin/env python3
"""What sconce computes beside what PyTorch computes: operators, modules, programs and models.

    run.py [--calls BINARY] [--model BINARY] [--mutants BINARY] [--sample] [--results FOLDER] [--folder FOLDER]

Installs torch, torchvision and what PyTorch's operator database needs as `../run.py` does where they
are missing. Then, two at a time:

    operators   `../operators/generate.py`: the samples of PyTorch's operator database, float32 and int64
    dtypes      the same in eight other dtypes, a few samples each
    strides     the same, the tensors laid out in memory in other ways, a few samples each
    infinite    the same, some of the numbers infinite or NaN, float32, a few samples each
    sparse      `../operators/sparse.py`: operators on sparse tensors, of the database and of calls of its own
    gradients   `../gradients/generate.py`: what programs get that ask for derivatives of those samples
    backwards   `../gradients/backwards.py`: calls of the operators of backward passes
    changed     `../operators/changed.py`: calls of operators with arguments that somebody got wrong
    options     `../operators/options.py`: every value of operators' string options, and wrong ones
    constants   `../operators/constants.py`: traced operators with constants of every dtype
    layers      `../models/layers.py`: the samples of PyTorch's module database
    modules     `../models/sequence.py`: recurrent, attention and word models
    programs    `../torchscript/generate.py`: the programs of `../torchscript/cases`
    models      `../models/vision.py`: every model of torchvision

are recorded with PyTorch and run by the examples `calls` and `model` of sconce-runtime. The whole run
writes a table of each, and `RESULTS.md`, into `--results`; with `--sample` a part of the operators and
models is run and nothing written. Both exit with failure when a result is wrong, or when something is
not equal that is in the recorded tables; the whole run also when something recorded was not run.

Then the example `mutants` calls some of what was recorded with arguments that nobody would pass: none of those
calls may panic, take long, or take more memory than it is given.

What is recorded goes to a folder that is removed (models one by one), or to `--folder`, and what is
there already is used again.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CONFORMANCE = HERE.parent
RESULTS = CONFORMANCE / "results"
sys.path.insert(0, str(CONFORMANCE))

# Which samples are recorded, of all and of the part that takes minutes.
OTHER_DTYPES = "float64,float16,bfloat16,bool,uint8,int32,complex64,complex128"
Samples = collections.namedtuple("Samples", "script whole part", defaults=([], []))
RECORDED = {
    "operators": Samples("operators/generate.py", ["--samples", "1000"], ["--samples", "6", "--every", "6"]),
    "dtypes": Samples(
        "operators/generate.py",
        ["--dtypes", OTHER_DTYPES, "--samples", "8"],
        ["--dtypes", OTHER_DTYPES, "--samples", "2", "--every", "16"],
    ),
    "strides": Samples(
        "operators/generate.py", ["--strides", "--samples", "6"], ["--strides", "--samples", "3", "--every", "16"]
    ),
    "infinite": Samples(
        "operators/generate.py",
        ["--infinite", "--dtypes", "float32", "--samples", "6"],
        ["--infinite", "--dtypes", "float32", "--samples", "3", "--every", "16"],
    ),
    "sparse": Samples("operators/sparse.py", [], ["--dtypes", "float32", "--samples", "3", "--every", "3"]),
    "gradients": Samples(
        "gradients/generate.py",
        ["--special"],
        ["--dtypes", "float32:1,float64:1", "--second", "1", "--special", "--every", "6"],
    ),
    "backwards": Samples(
        "gradients/backwards.py", [], ["--dtypes", "float32:2,float64:1", "--every", "4"]
    ),
    # The part without factorisations, which differ between processors.
    "changed": Samples(
        "operators/changed.py",
        ["--calls", "60"],
        ["--calls", "10", "--every", "12", "--pattern", "^(?!linalg_|geqrf|lu|cholesky)"],
    ),
    "options": Samples("operators/options.py", [], ["--every", "9"]),
    "constants": Samples("operators/constants.py", [], ["--every", "53"]),
    "layers": Samples("models/layers.py", ["--samples", "24"], ["--samples", "2", "--every", "8"]),
    "modules": Samples("models/sequence.py"),
    "programs": Samples("torchscript/generate.py"),
}
# One small model of each kind.
SAMPLE_MODELS = """
    classification_(densenet121|efficientnet_b0|googlenet|mobilenet_v3_small|regnet_x_400mf|resnet18|shufflenet_v2_x0_5|squeezenet1_1|swin_t)
    segmentation_lraspp_mobilenet_v3_large
    detection_(fasterrcnn_mobilenet_v3_large_320_fpn|ssdlite320_mobilenet_v3_large)
    video_r3d_18
    optical_flow_raft_small
    quantization_quantized_mobilenet_v2
""".split()
# The parts whose calls are changed once more, and only run.
MUTATED = "changed backwards layers programs".split()
# The longest that may pass without an answer, in seconds.
LONGEST_CALLS = 1200
LONGEST_MODEL = 60

Part = collections.namedtuple("Part", "name rows complaints said")


class Runner:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.threads = {**os.environ, "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}

    def python(self, script, *arguments):
        command = [sys.executable, str(CONFORMANCE / script), *map(str, arguments)]
        return subprocess.run(command, env=self.threads, capture_output=True, text=True)

    def calls(self, name):
        """Cases that a script records, run by the example `calls`."""
        script, whole, part = RECORDED[name]
        arguments = part if self.options.sample else whole
        place = self.folder / name
        complaints = []
        if not place.exists():
            place.mkdir()
            made = self.python(script, place, *arguments)
            if made.returncode:
                complaints.append(f"{script} failed: {last_lines(made.stderr)}")
        table = self.folder / f"{name}.tsv"
        command = [os.path.abspath(self.options.calls), str(place), "--table", str(table)]
        done = subprocess.run(command, env=self.threads, capture_output=True, text=True, timeout=LONGEST_CALLS)
        if not table.exists():
            return Part(name, {}, [*complaints, f"calls ended with {done.returncode}: {last_lines(done.stderr)}"], [])
        rows = {case: tuple(map(int, counts)) for case, *counts in read(table)}
        # A case begins a line; what is wrong with it may take several.
        said = re.split(r"\n(?=WRONG  |not supported  |\d+ equal, )", "\n" + done.stdout)
        return Part(name, rows, complaints, [text for text in said if re.match("WRONG|not", text)])

    def mutants(self):
        """What is wrong with recorded calls whose arguments were changed once more."""
        complaints = []
        for part in MUTATED:
            command = [os.path.abspath(self.options.mutants), str(self.folder / part), "--calls", "3" if self.options.sample else "20"]
            done = subprocess.run(command, env=self.threads, capture_output=True, text=True)
            said = done.stdout.strip()
            print(f"mutants of {part}: {last_lines(said)}", flush=True)
            if done.returncode:
                complaints.append(f"mutants of {part}: {said}{done.stderr}")
        return complaints

    def models(self):
        only = f"^({'|'.join(SAMPLE_MODELS)})$" if self.options.sample else ""
        table = self.folder / "models.tsv"
        if self.options.sample or not table.exists():
            runner = os.path.abspath(self.options.model)
            done = self.python("models/vision.py", "--only", only, "--runner", runner, "--seconds", LONGEST_MODEL, "--table", table)
            if not table.exists():
                return Part("models", {}, [f"models/vision.py failed: {last_lines(done.stderr)}"], [])
        rows = {f"{group}/{name}": (verdict, error, why) for group, name, verdict, error, why in read(table)}
        said = [f"{verdict} {name}: {why}" for name, (verdict, _, why) in rows.items() if verdict != "equal"]
        return Part("models", rows, [], said)


def last_lines(text):
    return " / ".join(text.strip().splitlines()[-3:])


def read(table):
    """The rows of a table but its heading."""
    return [line.split("\t") for line in table.read_text().splitlines()[1:]]


def counts(row):
    """(equal, not supported, wrong) of a row of any table."""
    if isinstance(row[0], int):
        return row
    return tuple(int(row[0] == verdict) for verdict in ("equal", "not supported")) + (
        int(row[0] not in ("equal", "not supported")),)


def totals(rows):
    return tuple(map(sum, zip(*map(counts, rows.values())))) if rows else (0, 0, 0)


def recorded(part):
    """The rows of the committed table."""
    table = RESULTS / f"{part}.tsv"
    if not table.exists():
        return {}
    if part == "models":
        return {f"{group}/{name}": (verdict, error, why) for group, name, verdict, error, why in read(table)}
    return {case: tuple(map(int, numbers)) for case, *numbers in read(table)}


def worse_than_recorded(part, rows, sample):
    """What is wrong that was not, or not equal any more, or not there any more."""
    before = recorded(part)
    found = []
    for name, row in rows.items():
        _, unsupported, wrong = counts(row)
        _, allowed, known = counts(before.get(name, (0, 0, 0)))
        if wrong > known:
            found.append(f"{part}: {name}: {wrong} wrong, of which {known} were recorded")
        # The sample of an operator is the beginning of what the whole run has of it.
        if name in before and unsupported > allowed:
            found.append(f"{part}: {name}: {unsupported} not supported, of which {allowed} were recorded")
    if not rows:
        found.append(f"{part}: nothing was run")
    if not sample:
        found += [f"{part}: {name} is recorded and was not run" for name in sorted(set(before) - set(rows))]
    return found


def summary(parts):
    import torch
    import torchvision

    versions = [module.__version__.split("+")[0] for module in (torch, torchvision)]
    lines = ["# What sconce computes beside PyTorch", "",
             f"Against torch {versions[0]} and torchvision {versions[1]}: `runtime/run.py`. A table of each stands beside this file.", "",
             "| part | cases | equal | not supported | wrong |", "|---|---|---|---|---|"]
    for part in parts:
        numbers = totals(part.rows)
        lines.append(f"| {part.name} | {sum(numbers)} | " + " | ".join(map(str, numbers)) + " |")
    for part in parts:
        reasons = collections.Counter()
        for text in part.said:
            verdict, case, why = re.fullmatch(r"(WRONG|[a-z ]+?) +(\S+): (.*)", text.split("\n")[0]).groups()
            case = re.sub(r"\[\d+\]$", "", case).rsplit(".", 1)[0]
            # Not what was raised: it names lines of programs and files of PyTorch's own.
            why = re.sub(r"expected the error .*", "expected an error", why)
            reasons[verdict.lower(), f"`{case}`: {why}"] += 1
        if reasons:
            lines += ["", f"## {part.name.capitalize()} that are not equal", ""]
            ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
            lines += [f"- {count} {verdict}: {why}" for (verdict, why), count in ordered]
    return "\n".join(lines) + "\n"


def write(parts, folder):
    folder.mkdir(exist_ok=True)
    for part in parts:
        models = part.name == "models"
        heading = ("group\tmodel\tverdict\tlargest relative difference\twhy" if models else
                   "case\tequal\tnot supported\twrong")
        lines = ["\t".join([name.replace("/", "\t", 1) if models else name, *map(str, row)]) for name, row in part.rows.items()]
        (folder / f"{part.name}.tsv").write_text("\n".join([heading, *lines]) + "\n")
    (folder / "RESULTS.md").write_text(summary(parts))


def main():
    import edit
    import run as environment

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", default="target/optimized/examples/calls")
    parser.add_argument("--model", default="target/optimized/examples/model")
    parser.add_argument("--mutants", default="target/optimized/examples/mutants")
    parser.add_argument("--sample", action="store_true", help="a part that takes minutes")
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS)
    parser.add_argument("--folder", type=pathlib.Path, help="where archives are made and left")
    options = parser.parse_args()
    for binary in (options.calls, options.model, options.mutants):
        if not os.path.exists(binary):
            examples = "--example calls --example model --example mutants"
            raise SystemExit(f"no binary at {binary}: cargo build --profile optimized -p sconce-runtime {examples}")
    environment.in_environment_with_torch()
    for package in ("torchvision", "expecttest", "scipy"):
        edit.import_or_install(package)
    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(2) as pool:
        folder = (options.folder or pathlib.Path(temporary)).resolve()
        folder.mkdir(exist_ok=True)
        runner = Runner(options, folder)
        # The longest first.
        running = [pool.submit(runner.models)]
        order = "operators dtypes layers changed options constants gradients backwards strides infinite sparse programs modules".split()
        running += [pool.submit(runner.calls, part) for part in order]
        parts = []
        for future in running:
            parts.append(future.result())
            part = parts[-1]
            print(f"{part.name}: {'%d equal, %d not supported, %d wrong' % totals(part.rows)}", flush=True)
        mutants = runner.mutants()
    for text in (text for part in parts for text in part.said):
        print("  " + text.replace("\n", "\n    "))
    complaints = mutants + [complaint for part in parts for complaint in part.complaints]
    for part in parts:
        complaints += worse_than_recorded(part.name, part.rows, options.sample)
    if not options.sample and all(part.rows for part in parts):
        write(parts, options.results)
    for complaint in complaints:
        print(f"FAILED {complaint}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
