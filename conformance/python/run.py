#!/usr/bin/env python3
"""Builds the wheel of pysconce, installs it into a fresh environment beside PyTorch, NumPy and safetensors, and runs the
tests of `crates/sconce-python/tests` against it.

    python3 conformance/python/run.py [--profile optimized] [--sdist] [--wheel FILE] [pytest's arguments]

Where PyTorch cannot be imported it is installed first, as for the other scripts. `--sdist` builds the wheel from the source
distribution, as pip does where there is no wheel. The wheel stays in `target/python/dist`.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import wheel_under_test
from wheel_under_test import HOME, ROOT

sys.path.insert(0, str(ROOT / "conformance"))
import run as conformance  # noqa: E402

TESTERS = ["jax", "ml_dtypes", "pytest", "mypy"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", default="optimized", help="the profile of cargo")
    parser.add_argument("--sdist", action="store_true", help="build the wheel from the source distribution")
    parser.add_argument("--wheel", type=Path, help="a wheel that is built already")
    options, pytest = parser.parse_known_args()
    conformance.in_environment_with_torch()
    wheel = options.wheel or wheel_under_test.build(options.profile, options.sdist)
    fresh = wheel_under_test.with_wheel("fresh", TESTERS, wheel)
    print(f"{wheel.name}: {wheel.stat().st_size / 2**20:.1f} MiB")
    tests = ROOT / "crates" / "sconce-python" / "tests"
    return subprocess.run([fresh, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests, *pytest], cwd=HOME).returncode


if __name__ == "__main__":
    sys.exit(main())
