"""Put real PyTorch beside `sconce` and print a table of what agrees.

    python3 conformance/run.py [--sconce PATH] [--corpus DIR] [--only TEXT]

Runs with the standard library and torch; where torch cannot be imported it
makes `conformance/.venv`, installs torch, numpy and safetensors there and runs
itself again. Files of `--corpus` are other people's: they are only ever loaded
with weights_only=True, in a child process. Exits 1 when anything differs.
"""

import argparse
import collections
import io
import json
import os
import pickletools
import re
import subprocess
import sys
import venv
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
FIXTURES = os.path.join(os.path.dirname(HERE), "fixtures")
MAGIC = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\x2e"
LIMIT_SECONDS = 20
# Fields of a tensor row that must be equal; `storage` compares the sharing.
FIELDS = ("name", "dtype", "layout", "shape", "stride", "storage_offset", "requires_grad", "device", "storage",
          "storage_bytes", "nbytes", "sha256")

PASSED, FAILED, UNSUPPORTED, MEANT = "passed", "failed", "not supported", "meant"


def install(*packages, python=sys.executable):
    """Install packages and keep no copy of them: PyTorch's are gigabytes."""
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-cache-dir", *packages], check=True)


def in_environment_with_torch():
    """Return if torch is importable; otherwise start again where it is."""
    try:
        import torch  # noqa: F401

        return
    except ImportError:
        pass
    home = os.path.join(HERE, ".venv")
    python = os.path.join(home, "bin", "python")
    if os.environ.get("SCONCE_CONFORMANCE_VENV"):
        raise SystemExit("torch was installed but cannot be imported")
    if not os.path.exists(python):
        venv.create(home, with_pip=True)
        install("torch==2.15.*", "numpy", "safetensors", python=python)
    os.environ["SCONCE_CONFORMANCE_VENV"] = "1"
    os.execv(python, [python] + sys.argv)


# --- the command line of sconce: one adapter per check --------------------------


class NotSupported(Exception):
    """sconce says that it does not read this kind of file or has no such verb."""


class Sconce:
    """Every call of the binary is here, so that a change of its flags is a change of one line."""

    def __init__(self, path):
        self.path = path

    def _run(self, *args):
        done = subprocess.run([self.path, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT_SECONDS)
        error = done.stderr.decode("utf-8", "replace")
        if "panicked at" in error or done.returncode not in (0, 1, 2, 3):
            raise AssertionError(f"rc {done.returncode}: {error.strip()[:200]}")
        if done.returncode == 3 or "not supported" in error or "unrecognized subcommand" in error:
            raise NotSupported(error.strip().split("\n")[0][:120])
        return done.returncode, done.stdout.decode("utf-8", "surrogatepass"), error

    def _json(self, *args):
        code, out, error = self._run(*args)
        if code == 2:
            raise AssertionError(f"refused: {error.strip()[:200]}")
        return json.loads(out)

    def tensors(self, file):
        """(format, rows)"""
        answer = self._json("ls", "--json", "-l", "--sha256", file)
        return answer["format"], answer["tensors"]

    def listings(self, file):
        """The disassembly of each pickle of the file, line by line; of a zip, of its `data.pkl`."""
        code, out, error = self._run("dis", file)
        if code == 2:
            raise AssertionError(f"refused: {error.strip()[:200]}")
        blocks = [[]]
        for line in out.split("\n")[:-1]:
            if line.startswith("-- "):  # the heading of one pickle of several
                blocks.append([])
            else:
                blocks[-1].append(line)
        return [block for block in blocks if block]

    def globals(self, file):
        """Names that weights_only would not accept. Like torch, only those of an archive's data.pkl."""
        answer = self._json("globals", "--json", file)
        named = [g for g in answer["globals"] if not g["allowed"]]
        return sorted(g["name"] for g in named if "→" not in g["record"] and g["record"].endswith("data.pkl"))

    def verdict(self, file):
        """The word of the card, and the rules of its findings. A file that does not open has a card, too."""
        _, out, _ = self._run("info", "--json", file)
        answer = json.loads(out)
        return answer["verdict"], sorted({finding["rule"] for finding in answer["findings"]})

    def weights_only(self, file):
        """("ok" or None, message) of the policy `weights-only`."""
        code, out, error = self._run("info", "--policy", "weights-only", "--json", file)
        if code == 0:
            return "ok", ""
        try:
            return None, json.loads(out)["policy"]["message"]
        except (ValueError, KeyError, TypeError):
            return None, error.strip()

    def accepts(self, file):
        """Whether `ls` shows the file, values and all, without an error."""
        return self._run("ls", "--json", "-l", "--sha256", file)[0] in (0, 1)

    def verifies(self, file):
        """Whether `verify` finds nothing wrong."""
        return self._run("verify", "--json", file)[0] == 0


# --- what PyTorch and Python say --------------------------------------------------


def pickles(path):
    """The bytes that hold pickles and how many, or None when the file has none."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:4] == b"PK\3\4":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                if name.split("/", 1)[-1] == "data.pkl":
                    return archive.read(name), 1
        return None
    if data.startswith(MAGIC):
        return data, 5
    return (data, 1) if path.endswith(".pkl") else None


def python_listings(path):
    """What `python -m pickletools` prints of each pickle, line by line."""
    found = pickles(path)
    if found is None:
        return None
    data, count = found
    stream, listings = io.BytesIO(data), []
    for _ in range(count):
        out = io.StringIO()
        pickletools.dis(stream, out)
        listings.append(out.getvalue().split("\n")[:-1])
    return listings


def judge_corpus(paths):
    """Rows and verdicts of other people's files, by fixtures/expect.py in child processes."""
    command = [sys.executable, os.path.join(FIXTURES, "expect.py"), "--judge", "--tensors"]
    entries = {}
    waiting = list(paths)
    while waiting:
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        while waiting:
            path = waiting.pop(0)
            child.stdin.write(path + "\n")
            child.stdin.flush()
            line = child.stdout.readline()
            if not line:
                entries[path] = {"load": "safe", "weights_only": f"crash: exit status {child.wait()}"}
                break
            entries[path] = dict(json.loads(line), load="safe")
        child.stdin.close()
        child.wait()
    return entries


# --- the checks: each returns (result, detail) ------------------------------------


def check_tensors(sconce, path, entry):
    if "tensors" not in entry:
        return None
    _, rows = sconce.tensors(path)
    for expected, row in zip(entry["tensors"], rows):
        for field in FIELDS:
            wanted = expected[field]
            if field == "name":  # UTF-8 has no lone surrogates
                wanted = re.sub("[\\ud800-\\udfff]", "\ufffd", wanted)
            if row.get(field) != wanted:
                return FAILED, f"{expected['name']!r} {field}: torch {wanted!r}, sconce {row.get(field)!r}"
    if len(rows) != len(entry["tensors"]):
        return FAILED, f"torch has {len(entry['tensors'])} tensors, sconce {len(rows)}"
    return PASSED, ""


def check_dis(sconce, path, entry):
    if entry.get("expect") == "reject":  # how far a listing goes before the error is its own affair
        return None
    try:
        expected = python_listings(path)
    except Exception:  # pickletools cannot read it: there is nothing to compare with
        return None
    if expected is None:
        return None
    found = sconce.listings(path)
    if len(expected) != len(found):
        return FAILED, f"pickletools lists {len(expected)} pickles, sconce {len(found)}"
    for theirs, ours in zip(expected, found):
        for their_line, our_line in zip(theirs, ours):
            if their_line != our_line:
                return FAILED, f"pickletools {their_line!r}, sconce {our_line!r}"
        if len(theirs) != len(ours):
            return FAILED, f"pickletools has {len(theirs)} lines, sconce {len(ours)}"
    return PASSED, ""


def check_globals(sconce, path, entry):
    if "unsafe_globals" not in entry:
        return None
    if entry.get("expect") == "reject" and not sconce.accepts(path):
        return None  # torch looks at the names alone, sconce refuses the file: that is check_bad's affair
    found = sconce.globals(path)
    if found != entry["unsafe_globals"]:
        return FAILED, f"torch {entry['unsafe_globals']}, sconce {found}"
    return PASSED, ""


def check_weights_only(sconce, path, entry):
    if "weights_only" not in entry:
        return None
    verdict, _ = sconce.weights_only(path)
    if verdict != "ok" and entry.get("expect") == "reject":
        return PASSED, ""  # broken, whatever torch makes of it
    if (verdict == "ok") != (entry["weights_only"] == "ok"):
        return FAILED, f"torch: {entry['weights_only'][:100]!r}, sconce: {verdict!r}"
    return PASSED, ""


def core(message):
    """The part of a message that says what is wrong, without boilerplate and white space."""
    for mark in ("WeightsUnpickler error:", "<UNSAFE_MESSAGE>"):
        if mark in message:
            message = message.rsplit(mark, 1)[1] if mark[0] == "W" else message.replace(mark, "")
    message = message.split("Check the documentation of torch.load")[0]
    return " ".join(message.split())


def check_message(sconce, path, entry):
    """The wording, where PyTorch's own message says what is wrong with the file."""
    theirs = entry.get("weights_only", "ok")
    if "WeightsUnpickler error:" not in theirs:
        return None
    if entry.get("lookalike"):  # torch unpickles anything; sconce says what the file is
        return None
    verdict, message = sconce.weights_only(path)
    if verdict == "ok" or core(theirs) not in " ".join(message.split()):
        return FAILED, f"torch {core(theirs)[:100]!r}, sconce {message[:100]!r}"
    return PASSED, ""


VERDICTS = ["clean", "unknown", "broken", "dangerous"]
# How torch refuses a file for what it names or calls. It refuses others for opcodes that it does not know, for
# containers, or because they are broken.
NAMES = ("Unsupported global", "Trying to load", "Trying to call", "Can only build", "Can only create")


def check_verdict(sconce, path, entry):
    """No card is better than what PyTorch would do with the file, and no hostile file has a better one than it must have."""
    if "weights_only" not in entry and "at_least" not in entry:
        return None
    verdict, rules = sconce.verdict(path)
    if verdict not in VERDICTS:
        return FAILED, f"the card says {verdict!r}"
    least = entry.get("at_least", "clean")
    if VERDICTS.index(verdict) < VERDICTS.index(least):
        return FAILED, f"the card says {verdict}, it must say {least} at least"
    if verdict != "clean":
        return PASSED, ""
    if entry.get("unsafe_globals"):
        return FAILED, f"clean, but torch lists {entry['unsafe_globals'][:3]}"
    theirs = entry.get("weights_only", "ok")
    if any(mark in theirs for mark in NAMES):
        return FAILED, f"clean, but torch says {theirs[:100]!r}"
    return PASSED, ""


def check_bad(sconce, path, entry):
    rule = entry.get("expect")
    if rule is None:
        return None
    accepted = sconce.accepts(path)
    if rule == "reject" and accepted and sconce.verifies(path):
        return FAILED, f"accepted, though: {entry['wrong']}"
    if rule == "load" and not accepted:
        return FAILED, "refused, though it is the control"
    return PASSED, ""


def check_oracle(sconce, path, entry):
    """Whether the installed PyTorch sees in the file what the committed expectations say."""
    if container_of(path).startswith(("1.13", "corpus")):  # those are torch 1.13's word, and nobody's
        return None
    return (FAILED, "PyTorch sees something else than expected.json says") if entry.get("stale") else (PASSED, "")


CHECKS = collections.OrderedDict(
    oracle=check_oracle, tensors=check_tensors, dis=check_dis, globals=check_globals, weights_only=check_weights_only,
    message=check_message, bad=check_bad, verdict=check_verdict,
)


def judge_again():
    """Lets the installed PyTorch write the expectations anew; the files on which it says something else now."""
    path = os.path.join(FIXTURES, "expected.json")
    with open(path, encoding="utf-8") as file:
        committed = json.load(file)["files"]
    subprocess.run([sys.executable, os.path.join(FIXTURES, "expect.py")], check=True, stdout=subprocess.DEVNULL)
    with open(path, encoding="utf-8") as file:
        fresh = json.load(file)["files"]
    return [os.path.join(FIXTURES, "files", path) for path in fresh if fresh[path] != committed.get(path)]


# --- running and reporting ----------------------------------------------------------


def fixture_entries():
    """{path: entry} of the committed expectations, with the rules of the bad set."""
    with open(os.path.join(FIXTURES, "expected.json"), encoding="utf-8") as file:
        entries = json.load(file)["files"]
    with open(os.path.join(FIXTURES, "files", "bad", "manifest.tsv"), encoding="utf-8") as file:
        for line in file.read().splitlines()[1:]:
            path, rule, wrong = line.split("\t")
            entries[path].update(expect=rule, wrong=wrong)
    with open(os.path.join(FIXTURES, "files", "bad", "verdicts.tsv"), encoding="utf-8") as file:
        for line in file.read().splitlines()[1:]:
            path, least = line.split("\t")
            entries[path]["at_least"] = least
    for path, entry in entries.items():
        entry["lookalike"] = path.startswith("hand/lookalike/") or path.endswith(".index.json") or path == "bad/zip_empty.pt"
    return {os.path.join(FIXTURES, "files", path): entry for path, entry in entries.items()}


def deliberate():
    """{(path, check): reason} of the differences that are meant."""
    with open(os.path.join(HERE, "deliberate.tsv"), encoding="utf-8") as file:
        rows = [line.split("\t") for line in file.read().splitlines()[1:]]
    return {(path, check): reason for path, check, reason in rows}


def container_of(path):
    """The row of the table: folders below `files/`, or `corpus`."""
    inside = os.path.relpath(path, os.path.join(FIXTURES, "files"))
    return "corpus" if inside.startswith("..") else os.path.dirname(inside).replace(os.sep, "/")


def run_check(check, sconce, path, entry):
    try:
        return check(sconce, path, entry)
    except NotSupported as reason:
        return UNSUPPORTED, str(reason)
    except AssertionError as reason:
        return FAILED, str(reason)
    except subprocess.TimeoutExpired:
        return FAILED, f"no answer after {LIMIT_SECONDS} s"
    except (ValueError, KeyError, TypeError) as reason:
        return FAILED, f"the answer is not of the agreed form: {type(reason).__name__}: {reason}"


def table(counts):
    containers = sorted({container for container, _ in counts})
    lines = ["| container | " + " | ".join(CHECKS) + " |", "|---" * (len(CHECKS) + 1) + "|"]
    for container in containers:
        cells = []
        for check in CHECKS:
            count = counts.get((container, check), collections.Counter())
            cells.append(" / ".join(str(count[r]) for r in (PASSED, FAILED, UNSUPPORTED, MEANT)) if count else "")
        lines.append(f"| {container} | " + " | ".join(cells) + " |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    default = os.path.join(os.path.dirname(HERE), "target", "debug", "sconce")
    parser.add_argument("--sconce", default=default, help="the binary (default: target/debug/sconce)")
    parser.add_argument("--corpus", help="a folder of other files, loaded with weights_only=True only")
    parser.add_argument("--only", default="", help="only files whose path contains this text")
    parser.add_argument("--results", default=os.path.join(HERE, "RESULTS.md"))
    options = parser.parse_args()
    if not os.path.exists(options.sconce):
        raise SystemExit(f"no binary at {options.sconce}: build it with `cargo build -p sconce-cli`, or give --sconce")
    in_environment_with_torch()
    import torch

    stale = judge_again()
    entries = fixture_entries()
    for path in stale:
        entries[path]["stale"] = True
    if options.corpus:
        found = [os.path.join(folder, name) for folder, _, names in os.walk(options.corpus) for name in names
                 if name.endswith((".pt", ".pth", ".bin", ".ckpt", ".tar", ".pkl"))]
        entries.update(judge_corpus(sorted(os.path.abspath(path) for path in found)))
    sconce = Sconce(options.sconce)
    counts, failures, unsupported, meant = collections.OrderedDict(), [], [], []
    reasons = deliberate()
    for path, entry in entries.items():
        if options.only not in path:
            continue
        for name, check in CHECKS.items():
            outcome = run_check(check, sconce, path, entry)
            if outcome is None:
                continue
            result, detail = outcome
            container = container_of(path)
            label = os.path.relpath(path, options.corpus if container == "corpus" else os.path.join(FIXTURES, "files"))
            if result == FAILED and (label, name) in reasons:
                result = MEANT
                meant.append(f"`{label}` {name}: {reasons[label, name]}")
            counts.setdefault((container, name), collections.Counter())[result] += 1
            if result in (FAILED, UNSUPPORTED):
                (failures if result == FAILED else unsupported).append(f"`{label}` {name}: {detail}")
    totals = sum(counts.values(), collections.Counter())
    lines = ["# Conformance with PyTorch", "",
             f"Against torch {torch.__version__.split('+')[0]}. "
             "Cells: passed / failed / not supported / different on purpose.", ""]
    lines += table(counts)
    for title, items in (("Failed", failures), ("Not supported", unsupported), ("Different on purpose", meant)):
        if items:
            lines += ["", f"## {title}", ""] + [f"- {item}".replace("\n", " ") for item in items]
    if not options.only:  # a part of the files is not a result to keep
        with open(options.results, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write("\n".join(lines) + "\n")
    for failure in failures[:50]:
        print("FAILED", ascii(failure)[1:-1])
    if totals[UNSUPPORTED]:
        print(f"{totals[UNSUPPORTED]} not supported")
    print(f"{totals[PASSED]} passed, {totals[FAILED]} failed")
    return 1 if totals[FAILED] or not totals[PASSED] else 0


if __name__ == "__main__":
    sys.exit(main())
