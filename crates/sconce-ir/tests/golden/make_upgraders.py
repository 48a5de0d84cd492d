"""Writes upgraders.tsv, PyTorch's table of upgraders, for tests/upgraders.rs, and checks that the
bodies in src/operators/upgrader_table.rs compile to the graphs that PyTorch's compile to.

    python make_upgraders.py > upgraders.tsv
"""

import pathlib
import re
import sys

import torch

C = torch._C
RUST = pathlib.Path(__file__).parents[2] / "src/operators/upgrader_table.rs"

bodies = C._get_upgraders_entry_map()
table = C._get_operator_version_map()
for operator in sorted(table, key=str.encode):
    for entry in table[operator]:
        print(operator, entry.bumped_at_version, entry.upgrader_name, entry.old_schema, sep="\t")


def graph(source, name):
    """The graph of a function in which `torch` means aten, as it does in archives."""
    unit = C.CompilationUnit()
    unit.define(source, lambda word: torch.ops.aten if word == "torch" else None)
    return re.sub(r" # .*", "", str(unit.find_function(name).graph))


own = dict(re.findall(r'name: "(\w+)",\s*source: r#"(.*?)"#', RUST.read_text(), re.S))
names = {entry.upgrader_name for entries in table.values() for entry in entries}
assert own.keys() == names, own.keys() ^ names
for name, source in own.items():
    found, expected = graph(source, name), graph(bodies[name], name)
    assert found == expected, f"{name}\n{found}\n{expected}"
print(f"{len(own)} bodies compile to PyTorch's graphs", file=sys.stderr)
