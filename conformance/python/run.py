#!/usr/bin/env python3
"""Builds the wheel of pysconce, installs it into a fresh environment beside PyTorch, NumPy and safetensors, and runs the
tests of `crates/sconce-python/tests` against it.

    python3 conformance/python/run.py [--profile optimized] [--sdist] [pytest's arguments]

Where PyTorch cannot be imported it is installed first, as for the other scripts. `--sdist` builds the wheel from the source
distribution, as pip does where there is no wheel.
"""

import argparse
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "conformance"))
import run as conformance  # noqa: E402

HOME = ROOT / "target" / "python"
TOOLS = ["maturin>=1.9,<2"]
TESTERS = ["ml_dtypes", "pytest", "mypy"]


def environment(name: str, packages: list[str], see: str | None = None) -> Path:
    """An environment with these packages; it sees those of another."""
    home = HOME / name
    python = home / "bin" / "python"
    venv.create(home, with_pip=True, clear=see is not None)
    if see is not None:
        found = [see, "-c", "import site; print('\\n'.join(site.getsitepackages()))"]
        paths = subprocess.run(found, check=True, capture_output=True, text=True).stdout
        for folder in home.glob("lib/python*/site-packages"):
            (folder / "beside.pth").write_text(paths)
    if packages:
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
    return python


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", default="optimized", help="the profile of cargo")
    parser.add_argument("--sdist", action="store_true", help="build the wheel from the source distribution")
    options, pytest = parser.parse_known_args()
    conformance.in_environment_with_torch()
    tools = str(environment("tools", TOOLS))
    out = HOME / "dist"
    for old in out.glob("*"):
        old.unlink()
    manifest = ROOT / "crates" / "sconce-python" / "Cargo.toml"
    build = [tools, "-m", "maturin", "build", "--manifest-path", manifest, "--out", out, "--profile", options.profile]
    subprocess.run([*build, *(["--sdist"] if options.sdist else [])], check=True)
    fresh = str(environment("fresh", TESTERS, see=sys.executable))
    [wheel] = out.glob("*.whl")
    subprocess.run([fresh, "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", wheel], check=True)
    print(f"{wheel.name}: {wheel.stat().st_size / 2**20:.1f} MiB")
    tests = ROOT / "crates" / "sconce-python" / "tests"
    return subprocess.run([fresh, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests, *pytest], cwd=HOME).returncode


if __name__ == "__main__":
    sys.exit(main())
