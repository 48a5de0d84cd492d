"""The Python of the book and of the package's page runs as it stands there."""

import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

PAGES = ["docs/src/guides/python.md", "README.md"]


@pytest.mark.parametrize("page", PAGES)
def test_examples_run(page, tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.S)
    assert blocks
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    subprocess.run([sys.executable, "-c", "\n".join(blocks)], cwd=tmp_path / "examples", check=True)


def test_the_stubs_are_those_of_the_module(tmp_path):
    subprocess.run([sys.executable, "-m", "mypy.stubtest", "sconce", "--allowlist", ROOT / "crates/sconce-python/tests/stubtest.txt"],
                   cwd=tmp_path, check=True)
