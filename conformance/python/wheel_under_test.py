"""The wheel of pysconce and environments that it is installed into. All of it is in `target/python`."""

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
HOME = ROOT / "target" / "python"
DIST = HOME / "dist"
TOOLS = ["maturin>=1.9,<2"]


def environment(name: str, packages: list[str], see: str | None = None) -> str:
    """The Python of an environment with these packages; it sees those of another."""
    home = HOME / name
    python = str(home / "bin" / "python")
    venv.create(home, with_pip=True, clear=see is not None)
    if see is not None:
        found = [see, "-c", "import site; print('\\n'.join(site.getsitepackages()))"]
        paths = subprocess.run(found, check=True, capture_output=True, text=True).stdout
        for folder in home.glob("lib/python*/site-packages"):
            (folder / "beside.pth").write_text(paths)
    install(python, *packages)
    return python


def install(python: str, *words: str) -> None:
    if words:
        subprocess.run([python, "-m", "pip", "install", "--quiet", *words], check=True)


def build(profile: str, sdist: bool = False) -> Path:
    """Builds the wheel; from the source distribution, as pip does where there is no wheel."""
    tools = environment("tools", TOOLS)
    for old in DIST.glob("*"):
        old.unlink()
    manifest = ROOT / "crates" / "sconce-python" / "Cargo.toml"
    words = [tools, "-m", "maturin", "build", "--manifest-path", manifest, "--out", DIST, "--profile", profile]
    subprocess.run([*words, *(["--sdist"] if sdist else [])], check=True)
    [wheel] = DIST.glob("*.whl")
    return wheel


def with_wheel(name: str, packages: list[str], wheel: Path) -> str:
    """The Python of a fresh environment with the wheel, beside the packages of this Python."""
    python = environment(name, packages, see=sys.executable)
    install(python, "--no-deps", "--force-reinstall", str(wheel))
    return python
