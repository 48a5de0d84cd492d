"""Writes evaluate.tsv: operators on scalars, strings and devices, and what PyTorch's constant
propagation makes of them (`raises` where the operator is still there).

    python evaluate.py evaluate.tsv

Arguments that end the process (a division by zero among ints, a shift by a negative number) are left
out.
"""

import itertools
import re
import sys

import torch

VALUES = {
    "int": ["0", "1", "-7", "3", "9223372036854775807"],
    "float": ["0.", "2.5", "-0.75", "1e+20"],
    "bool": ["0", "1"],
    "str": ['"ab"', '""', '"a b"', '"12"', '"Ab-bA"', '"\\ta-\\n"'],
    "complex": ["1.+2.j", "-0.75+0.j", "0.-1.j"],
    "Device": ['"cpu"', '"cuda:1"'],
}
COMPLEX = re.compile(r"(-?[0-9.]+)([+-][0-9.]+)j")
# What operators of four arguments, parts of strings, are given: looking for nothing never ends.
SHORT = {"str": ['"abcabc"', '"bc"', '"c"'], "int": ["0", "1", "-1", "-2", "9"]}
NOT_SCALAR = {
    "prim::AutogradAdd",
    "aten::_cufft_get_plan_cache_size",
    "aten::_cufft_get_plan_cache_max_size",
    "aten::get_autocast_dtype",
    "aten::hash",
    "aten::promote_types",
    "aten::can_cast",
    "aten::result_type",
}
DIVISIONS = {
    "aten::remainder",
    "aten::floordiv",
    "aten::__round_to_zero_floordiv",
    "aten::divmod",
    "aten::mathremainder",
}
SHIFTS = {"aten::__lshift__", "aten::__rshift__"}
SIZES = {
    "aten::expandtabs",
    "aten::center",
    "aten::ljust",
    "aten::rjust",
    "aten::zfill",
    "aten::factorial",
}


def is_safe(name, types, values):
    if name in DIVISIONS and types == ["int", "int"] and values[1] == "0":
        return False
    if name == "aten::__range_length" and values[2] == "0":
        return False
    if name in SIZES and "9223372036854775807" in values:
        return False
    return name not in SHIFTS or 0 <= int(values[1]) < 64


def graph_of(name, types, values, returns):
    lines = ["graph():"]
    for index, (ty, value) in enumerate(zip(types, values)):
        if ty == "complex":
            # The parser of graphs has no complex numbers.
            real, imaginary = COMPLEX.fullmatch(value).groups()
            for which, part in (("re", real), ("im", imaginary)):
                lines.append(f"  %{which}{index} : float = prim::Constant[value={part.removeprefix('+')}]()")
            lines.append(f"  %{index} : complex = aten::Complex(%re{index}, %im{index})")
            continue
        lines.append(f"  %{index} : {ty} = prim::Constant[value={value}]()")
    inputs = ", ".join(f"%{index}" for index in range(len(types)))
    outputs = [f"%{10 + index}" for index in range(len(returns))]
    typed = ", ".join(f"{output} : {ty}" for output, ty in zip(outputs, returns))
    lines.append(f"  {typed} = {name}({inputs})")
    lines.append(f"  return ({', '.join(outputs)})\n")
    return "\n".join(lines)


def results(graph):
    found = []
    for output in graph.outputs():
        if output.node().kind() != "prim::Constant":
            return ["raises"]
        head, tail = str(output.node()).split(" = prim::Constant[value=", 1)
        found.append(f"{head.split(' : ')[1]} {tail.rsplit(']()', 1)[0]}")
    return found


def main():
    lines = {}
    for schema in torch._C._jit_get_all_schemas():
        types = [str(argument.type) for argument in schema.arguments]
        returns = [str(value.type) for value in schema.returns]
        scalar = all(ty in VALUES for ty in types)
        scalar = scalar and all(ty in VALUES or ty == "number" for ty in returns)
        ours = schema.name.split("::")[0] in ("aten", "prim") and schema.name not in NOT_SCALAR
        if not (ours and scalar and 0 < len(types) <= 4 and returns):
            continue
        values_of = VALUES if len(types) < 4 else SHORT
        if not all(ty in values_of for ty in types):
            continue
        full = schema.name + (f".{schema.overload_name}" if schema.overload_name else "")
        for values in itertools.product(*[values_of[ty] for ty in types]):
            if not is_safe(schema.name, types, values):
                continue
            try:
                graph = torch._C.parse_ir(graph_of(schema.name, types, values, returns))
                torch._C._jit_pass_constant_propagation_immutable_types(graph)
            except RuntimeError:
                continue
            given = [f"{ty} {value}" for ty, value in zip(types, values)]
            lines["\t".join([full, *given, "=>", *results(graph)])] = None
    with open(sys.argv[1], "w") as out:
        out.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
