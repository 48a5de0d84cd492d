"""Writes schemas.txt and index.txt beside itself: every operator of the installed PyTorch and
torchvision, and those of XNNPACK, with what PyTorch knows of it beyond its schema.

    python generate.py

In schemas.txt the operators of one name stand together, in the order in which they were registered,
which is the order in which overloads are tried:

    NAME
    FLAGS<tab>SCHEMA-WITHOUT-NAME
    ...

FLAGS are `s` (has side effects: dead code elimination keeps it), `n` (`Node::isNondeterministic`),
`c` (conservative alias analysis: it may write to whatever it is given and give whatever it is
given), or `-` for none. index.txt has a line of fixed width for each name, in the order of bytes:
where its group starts in schemas.txt, and how many operators come before it.
"""

import pathlib
import sys

import torch
import torchvision  # noqa: F401  registers torchvision::*

C = torch._C
HERE = pathlib.Path(__file__).parent
# The layers of XNNPACK, which builds for phones have (and Debian's), and `optimize_for_mobile` puts in.
CONTEXT = "__torch__.torch.classes.xnnpack."
CONV = "int[2] stride, int[2] padding, "
CLAMP = "Scalar? output_min=None, Scalar? output_max=None"
XNNPACK = {
    "prepacked::conv2d_clamp_prepack": "(Tensor W, Tensor? B, " + CONV + "int[2] dilation, int groups, "
                                       + CLAMP + ") -> " + CONTEXT + "Conv2dOpContext",
    "prepacked::conv2d_clamp_run": "(Tensor X, " + CONTEXT + "Conv2dOpContext W_prepack) -> Tensor Y",
    "prepacked::conv2d_transpose_clamp_prepack":
        "(Tensor W, Tensor? B, " + CONV + "int[2] output_padding, int[2] dilation, int groups, " + CLAMP
        + ") -> " + CONTEXT + "TransposeConv2dOpContext",
    "prepacked::conv2d_transpose_clamp_run":
        "(Tensor X, " + CONTEXT + "TransposeConv2dOpContext W_prepack) -> Tensor Y",
    "prepacked::linear_clamp_prepack":
        "(Tensor W, Tensor? B=None, " + CLAMP + ") -> " + CONTEXT + "LinearOpContext",
    "prepacked::linear_clamp_run": "(Tensor X, " + CONTEXT + "LinearOpContext W_prepack) -> Tensor Y",
    "prepacked::unpack_prepacked_sizes_conv2d": "(Any W_prepack) -> Any",
    "prepacked::unpack_prepacked_sizes_linear": "(Any W_prepack) -> Any",
}
# Symbols that PyTorch keeps for instructions; no node can be made of them freely.
INSTRUCTIONS = {"prim::ConstantChunk", "prim::Constant", "prim::If", "prim::Loop", "prim::rpc_async",
                "prim::rpc_sync", "prim::rpc_remote"}


def argument_type(ty):
    """A type without type variables that a schema's type takes."""
    if ty.kind() == "VarType":
        return C.TensorType.get()
    if ty.kind() == "ListType":
        return C.ListType(argument_type(ty.getElementType()))
    if ty.kind() == "OptionalType":
        return C.OptionalType(argument_type(ty.getElementType()))
    if ty.kind() == "DictType":
        return C.DictType(ty.getKeyType(), argument_type(ty.getValueType()))
    if ty.kind() == "FutureType":
        return C.FutureType(argument_type(ty.getElementType()))
    if ty.kind() == "AwaitType":
        return C.AwaitType(argument_type(ty.getElementType()))
    if ty.kind() == "RRefType":
        return C.RRefType(argument_type(ty.getElementType()))
    if ty.kind() == "TupleType":
        return C.TupleType([argument_type(e) for e in ty.elements()])
    return ty


def graph_of(schema):
    """A graph that calls the operator with its inputs and drops what it gives."""
    graph = C.Graph()
    inputs = []
    for argument in schema.arguments:
        value = graph.addInput("")
        value.setType(argument_type(argument.type))
        inputs.append(value)
    node = graph.create(schema.name, inputs, len(schema.returns))
    for output, returned in zip(node.outputs(), schema.returns):
        output.setType(argument_type(returned.type))
    graph.appendNode(node)
    return graph, node


def flags(schema):
    """What calling the operator does. For some (`aten::pow.int_to_int`) an earlier overload takes the
    same types, so the node is that one's; they do not differ in what is asked here."""
    if schema.name in INSTRUCTIONS:
        return ""
    graph, node = graph_of(schema)
    found = ""
    if node.isNondeterministic():
        found += "n"
    aliases = graph.alias_db()
    is_written = any(aliases.has_writers(v) for v in [*node.inputs(), *node.outputs()])
    C._jit_pass_dce(graph)
    is_kept = any(True for _ in graph.nodes())
    # One that writes as its schema says is kept for that.
    if is_kept and not schema.is_mutable:
        found = "s" + found
        found += "c" if is_written else ""
    return found


def main():
    schemas = C._jit_get_all_schemas()
    groups = {}
    for schema in schemas:
        groups.setdefault(schema.name, []).append(schema)
    text, index, count = "", "", 0
    failed = {}
    for name in sorted({*groups, *XNNPACK}, key=str.encode):
        registered = C._jit_get_schemas_for_operator(name)
        assert [str(s) for s in registered] == [str(s) for s in groups.get(name, [])], name
        lines = [] if registered else [f"-\t{XNNPACK[name]}\n"]
        for schema in registered:
            printed = str(schema)
            assert printed.startswith(name) and "\n" not in printed
            try:
                marks = flags(schema)
            except RuntimeError as error:
                failed[printed] = str(error).split("\n")[0]
                marks = ""
            lines.append(f"{marks or '-'}\t{printed[len(name):]}\n")
        index += f"{len(text):06} {count:05}\n"
        text += f"{name}\n" + "".join(lines)
        count += len(lines)
    assert text.isascii() and len(text) < 10**6
    (HERE / "schemas.txt").write_text(text)
    (HERE / "index.txt").write_text(index)
    for schema, error in failed.items():
        print(f"no flags for {schema}: {error}", file=sys.stderr)


main()
