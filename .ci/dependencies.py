#!/usr/bin/env python3
"""Checks what the workspace depends on against deny.toml: licences, banned crates, sources.

For machines without cargo-deny and without a network. Advisories are not checked here.
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def permitted(expression: str, allowed: set[str]) -> bool:
    """Whether an SPDX expression can be met by licences that are allowed."""
    tokens = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))
    position = 0

    def either() -> bool:
        nonlocal position
        result = both()
        while position < len(tokens) and tokens[position] == "OR":
            position += 1
            result = both() or result
        return result

    def both() -> bool:
        nonlocal position
        result = one()
        while position < len(tokens) and tokens[position] == "AND":
            position += 1
            result = one() and result
        return result

    def one() -> bool:
        nonlocal position
        token = tokens[position]
        position += 1
        if token == "(":
            result = either()
            position += 1
            return result
        if tokens[position : position + 1] == ["WITH"]:
            token = f"{token} WITH {tokens[position + 1]}"
            position += 2
        return token in allowed

    return either() and position == len(tokens)


def main() -> int:
    rules = tomllib.loads((ROOT / "deny.toml").read_text())
    allowed = set(rules["licenses"]["allow"])
    bans = [{"crate": ban} if isinstance(ban, str) else ban for ban in rules["bans"]["deny"]]
    # Crates that may be used by some alone.
    banned = {ban["crate"]: set(ban.get("wrappers", [])) for ban in bans}
    registries = {f"registry+{url}" for url in rules["sources"]["allow-registry"]}
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--all-features"]
    packages = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)["packages"]
    wrong = []
    for package in packages:
        name = f"{package['name']} {package['version']}"
        licence = package["license"]
        if licence is None or not permitted(licence, allowed):
            wrong.append(f"{name}: licence {licence}")
        if not banned.get(package["name"], {name}):
            wrong.append(f"{name}: banned")
        for used in {dependency["name"] for dependency in package["dependencies"]} & set(banned):
            if banned[used] and package["name"] not in banned[used]:
                wrong.append(f"{name}: may not use {used}")
        if package["source"] is not None and package["source"] not in registries:
            wrong.append(f"{name}: from {package['source']}")
        if package["source"] is None and not (package["description"] and package["readme"] and package["categories"]):
            wrong.append(f"{name}: needs a description, a README and categories to be published")
    for line in wrong:
        print(line)
    print(f"{len(packages)} packages, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    assert permitted("(MIT OR Apache-2.0) AND Unicode-3.0", {"MIT", "Unicode-3.0"})
    assert not permitted("MIT AND GPL-3.0", {"MIT"}) and permitted("GPL-3.0/MIT", {"MIT"})
    assert permitted("Apache-2.0 WITH LLVM-exception OR GPL-3.0", {"Apache-2.0 WITH LLVM-exception"})
    sys.exit(main())
