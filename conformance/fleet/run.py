#!/usr/bin/env python3
"""Runs the scripts of `examples/fleet` on real Ray and real Spark, on two workers of this machine, and compares what they
write with what `sconce`, PyTorch and safetensors say in this process.

    python3 conformance/fleet/run.py [--wheel FILE] [--whole]

Without `--wheel` the wheel is built first. `--whole` takes 3,000 files and 20,000 rows, and wants 50 files a second.
Spark needs Java: where there is none, Debian's package is installed, and where that cannot be, the script ends with 3.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "conformance"), str(ROOT / "conformance" / "python")]
import run as conformance  # noqa: E402
import wheel_under_test  # noqa: E402

ENGINES = ["ray[data]>=2.60,<3", "pyspark>=4.0,<5", "pyarrow", "pandas"]
WORKERS = 2


def have_java() -> bool:
    if shutil.which("java"):
        return True
    if os.geteuid() == 0 and shutil.which("apt-get"):
        install = ["apt-get", "install", "--yes", "--quiet=2", "--no-install-recommends", "default-jre-headless"]
        subprocess.run(["apt-get", "update", "--quiet=2"])
        subprocess.run(install, env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"})
    return shutil.which("java") is not None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=Path, help="a wheel that is built already")
    parser.add_argument("--profile", default="optimized", help="the profile of cargo, for a wheel that is built")
    parser.add_argument("--whole", action="store_true", help="the numbers of files and rows that speed is measured with")
    parser.add_argument("--python", help="an environment that has everything already")
    options = parser.parse_args()
    if not have_java():
        print("WRONG: there is no Java, which Spark needs, and none could be installed: nothing was checked")
        return 3
    python = options.python
    if python is None:
        conformance.in_environment_with_torch()
        wheel = options.wheel or wheel_under_test.build(options.profile)
        python = wheel_under_test.with_wheel("fleet", ENGINES, wheel)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fleet-") as scratch:
        os.mkdir(os.path.join(scratch, "notes"))
        variables = os.environ | {
            "PYTHONPATH": str(HERE / "faults"),
            "SCONCE_FLEET_NOTES": os.path.join(scratch, "notes"),
            "RAY_AUTH_MODE": "disabled",
            "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_TMPDIR": os.path.join(scratch, "ray"),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        words = [python, HERE / "checks.py", scratch, *(["--whole"] if options.whole else [])]
        code = subprocess.run(words, env=variables).returncode
    print(f"{time.monotonic() - started:.0f} s")
    return code


if __name__ == "__main__":
    sys.exit(main())
