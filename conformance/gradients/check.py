"""Holds the table of derivatives against PyTorch, without sconce.

    python check.py [--pattern REGEX] [--dtypes float64,complex128] [--samples N] [--second] [--uses]

Each sample of PyTorch's operator database is traced. The graph is run operator by operator, and back
again with the expressions of `crates/sconce-runtime/src/autograd/derivatives.txt`, compiled by PyTorch.
With `--second` the derivatives are in turn derived, by PyTorch, through those expressions.
With `--uses` it is only said which operators that the expressions use have no derivative themselves.
"""

import argparse
import collections
import pathlib
import re
import sys
import types
import warnings

import torch
from torch.utils import _pytree as pytree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "operators"))
from generate import call_of, own  # noqa: E402

GRADIENTS = pathlib.Path(__file__).resolve().parents[2] / "crates/sconce-runtime/src/autograd"
TYPES = {"SymInt": "int", "Scalar": "number", "ScalarType": "int", "Layout": "int", "MemoryFormat": "int"}
Rule = collections.namedtuple("Rule", "kind functions schema")


def python_type(text):
    """A type of a schema as TorchScript writes it."""
    text = re.sub(r"\((.*?)\)", "", text)
    if text.endswith("?"):
        return f"Optional[{python_type(text[:-1])}]"
    if found := re.fullmatch(r"(.*)\[\d*\]", text):
        return f"List[{python_type(found[1])}]"
    return TYPES.get(text, text)


def schema_of(name):
    base, _, overload = name.partition(".")
    return torch._C._get_schema("aten::" + base, overload)


def arguments_of(schema):
    text = re.sub(r"\([a-z!>|* -]+\)", "", str(schema))
    inside = text[text.index("(") + 1:text.rindex(") ->")]
    pairs = (part.strip().split("=")[0].rsplit(" ", 1) for part in re.split(r",(?![^\[]*\])", inside) if part.strip(" *"))
    return {name: python_type(kind) for kind, name in pairs}


def read_table():
    """(operators, [(arguments, expression)]) of each block, `as`, `zero` and `none` as arguments."""
    blocks = []
    for line in (GRADIENTS / "derivatives.txt").read_text().splitlines():
        line = line.split("#")[0].rstrip()
        if not line or line.startswith("#"):
            continue
        if not line.startswith(" "):
            blocks.append((line.split(), []))
        else:
            names, _, expression = line.strip().partition(": ")
            blocks[-1][1].append((names.split(), expression))
    return blocks


class Names(types.ModuleType):
    """`torch` as the table has it: the operators by their own names."""

    def __getattr__(self, name):
        return getattr(torch.ops.aten, name)


def compile_table():
    rules, sources = {}, []
    for operators, lines in read_table():
        for operator in operators:
            if operator.startswith("sconce::"):
                continue
            schema = schema_of(operator)
            kind = lines[0][0][0] if lines[0][0][0] in ("as", "zero", "none") else "formulas"
            assert operator not in rules, operator
            rules[operator] = Rule(kind, [], schema)
            if kind in ("zero", "none"):
                continue
            types = arguments_of(schema)
            several = len(schema.returns)
            for index, result in enumerate(schema.returns):
                suffix = str(index) if several > 1 else ""
                if "List" in str(result.type):
                    types["grads"] = types["results"] = "List[Tensor]"
                else:
                    types["grad" + suffix] = types["result" + suffix] = "Tensor"
            for targets, expression in lines:
                # Lines shared with operators that have other arguments.
                if expression == "none" or kind != "as" and not set(targets) <= set(types):
                    continue
                words = set(re.findall(r"[A-Za-z_]\w*", expression))
                used = {name: kind for name, kind in types.items() if name in words}
                parameters = ", ".join(f"{name}: {kind}" for name, kind in used.items())
                rules[operator].functions.append((targets, list(used), f"rule_{len(sources)}"))
                sources.append(f"def rule_{len(sources)}({parameters}):\n    return {expression}\n")
    names = Names("torch")
    library = [path.read_text() for path in sorted((GRADIENTS / "functions").glob("*.py"))]
    text = "\n".join(library + sources)
    unit = torch._C.CompilationUnit()
    unit.define(text, lambda name: names if name == "torch" else None)
    for rule in rules.values():
        rule.functions[:] = [(targets, used, unit.find_function(name)) for targets, used, name in rule.functions]
    return rules


class Unsupported(Exception):
    """An operator without a line."""


class LeftOut(Exception):
    """What PyTorch does not trace or derive itself."""


def differentiable(value):
    return isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())


def tensors_in(value):
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, torch.Tensor):
        yield value


def reduced_to(grad, tensor):
    if not tensor.is_complex() and grad.is_complex():
        grad = grad.real
    if grad.shape != tensor.shape:
        grad = grad.sum_to_size(tensor.shape)
    return grad.to(tensor.dtype)


class Tape:
    def __init__(self, rules, second):
        self.rules, self.second = rules, second
        self.entries, self.needing, self.kept = [], set(), []

    def run(self, graph, inputs):
        values = {}
        for value, given in zip(graph.inputs(), inputs):
            values[value.debugName()] = given
        for node in graph.nodes():
            kind = node.kind()
            operands = [values[value.debugName()] for value in node.inputs()]
            outputs = [value.debugName() for value in node.outputs()]
            if kind == "prim::Constant":
                results = [node.output().toIValue()]
            elif kind in ("prim::ListConstruct", "prim::TupleConstruct"):
                results = [list(operands)]
            elif kind in ("prim::ListUnpack", "prim::TupleUnpack"):
                results = list(operands[0])
            elif kind == "prim::NumToTensor":
                results = [torch.tensor(operands[0])]
            elif kind.startswith("aten::"):
                results = self.apply(node.schema(), operands)
            else:
                raise Unsupported(kind)
            values.update(zip(outputs, results))
        return [values[value.debugName()] for value in graph.outputs()]

    def apply(self, schema, operands):
        name = schema[len("aten::"):schema.index("(")]
        base, _, overload = name.partition(".")
        if base.endswith("_") and not base.endswith("__"):
            raise Unsupported("in place")
        needs = any(id(tensor) in self.needing for tensor in tensors_in(operands))
        rule = self.rules.get(name)
        function = getattr(getattr(torch.ops.aten, base), overload or "default")
        declared = schema_of(name).arguments
        for index, argument in enumerate(declared):
            if str(argument.type) == "Tensor" and isinstance(operands[index], (bool, int, float, complex)):
                operands[index] = torch.tensor(operands[index])
        arguments = dict(zip([argument.name for argument in declared], operands))
        if rule and rule.kind == "as" and needs:
            _, used, function = rule.functions[0]
            with torch.enable_grad():
                leaves = {name: detached(arguments[name], self.needing, self.second) for name in used}
                results = function(*leaves.values())
        elif rule and needs:
            results = function(*operands) if not self.has_keywords(name) else function(**arguments)
            leaves = None
        else:
            results = function(*operands) if not self.has_keywords(name) else function(**arguments)
        results = results if isinstance(results, tuple) else [results]
        if not needs:
            return list(results)
        made = [tensor for tensor in tensors_in(results) if differentiable(tensor)]
        made = [tensor for tensor in made if all(tensor is not given for given in tensors_in(operands))]
        if rule and rule.kind == "as":
            made = [tensor for tensor in made if tensor.requires_grad]
        if not made:
            return list(results)
        if rule is None:
            raise Unsupported(name)
        if rule.kind == "none":
            return list(results)
        self.entries.append((rule, arguments, list(results), leaves if rule.kind == "as" else None))
        self.needing.update(map(id, made))
        self.kept.append((operands, results))
        return list(results)

    def has_keywords(self, name):
        return any(argument.kwarg_only for argument in schema_of(name).arguments)

    def back(self, outputs, seeds):
        grads = {}

        def add(tensor, grad):
            if id(tensor) in self.needing and grad is not None:
                grad = reduced_to(grad, tensor)
                grads[id(tensor)] = grads[id(tensor)] + grad if id(tensor) in grads else grad

        for tensor, seed in zip(outputs, seeds):
            add(tensor, seed)
        for rule, arguments, results, leaves in reversed(self.entries):
            if not any(id(tensor) in grads for tensor in tensors_in(results)):
                continue
            of = lambda tensor: grads.get(id(tensor), torch.zeros_like(tensor))
            if rule.kind == "zero":
                for tensor in tensors_in(list(arguments.values())):
                    add(tensor, torch.zeros_like(tensor))
                continue
            if rule.kind == "as":
                ends = [tensor for tensor in tensors_in(results) if tensor.requires_grad]
                given = [of(tensor) for tensor in ends]
                pairs = [(tensor, leaf) for name, value in leaves.items()
                         for tensor, leaf in zip(tensors_in(arguments[name]), tensors_in(value)) if leaf.requires_grad]
                if ends and pairs:
                    found = torch.autograd.grad(ends, [leaf for _, leaf in pairs], given, allow_unused=True, create_graph=self.second)
                    for (tensor, _), grad in zip(pairs, found):
                        add(tensor, grad)
                continue
            names = dict(arguments)
            several = len(results) > 1
            for index, result in enumerate(results):
                suffix = str(index) if several else ""
                if isinstance(result, (list, tuple)):
                    names["results"], names["grads"] = list(result), [of(tensor) for tensor in result]
                else:
                    names["result" + suffix] = result
                    names["grad" + suffix] = of(result) if differentiable(result) else result
            for targets, used, function in rule.functions:
                if not any(id(tensor) in self.needing for name in targets for tensor in tensors_in(arguments[name])):
                    continue
                found = function(*[names[name] for name in used])
                for name, grad in zip(targets, found if len(targets) > 1 else [found]):
                    if isinstance(arguments[name], (list, tuple)):
                        assert isinstance(grad, list), name
                        for tensor, part in zip(arguments[name], grad):
                            add(tensor, part)
                    elif arguments[name] is not None:
                        add(arguments[name], grad)
        return grads


def detached(value, needing, second):
    if isinstance(value, (list, tuple)):
        return [detached(item, needing, second) for item in value]
    if isinstance(value, torch.Tensor):
        if second and value.requires_grad:
            return value.view_as(value)
        return value.detach().requires_grad_(id(value) in needing)
    return value


def close(a, b, dtype):
    tolerance = 1e-7 if dtype in (torch.float64, torch.complex128) else 2e-3
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{tuple(a.shape)} {a.dtype} for {tuple(b.shape)} {b.dtype}"
    biggest = b.abs()[b.isfinite()]
    absolute = tolerance * max(float(biggest.max()) if biggest.numel() else 0, 1e-2)
    if not torch.allclose(a, b, rtol=tolerance, atol=absolute, equal_nan=True):
        wrong = (~torch.isclose(a, b, rtol=tolerance, atol=absolute, equal_nan=True)).nonzero()[0].tolist()
        return f"at {wrong} {a[tuple(wrong)].item()} for {b[tuple(wrong)].item()} of {tuple(a.shape)}"
    return None


def derived_by_pytorch(call, fresh, asked, second):
    """A call's graph, its results that need gradients, their weights, and the derivatives, twice."""
    traced = torch.jit.trace(call, tuple(fresh()), check_trace=False)
    inputs = [tensor.requires_grad_(need) for tensor, need in zip(fresh(), asked)]
    torch.manual_seed(0)
    with torch.enable_grad():
        outputs = [tensor for tensor in tensors_in(pytree.tree_leaves(traced(*inputs))) if tensor.requires_grad]
    wanted = [tensor for tensor in inputs if tensor.requires_grad]
    if not wanted or not outputs:
        return traced.inlined_graph, outputs, None, None, None
    torch.manual_seed(1)
    seeds = [torch.randn_like(tensor) for tensor in outputs]
    expected = torch.autograd.grad(outputs, wanted, seeds, allow_unused=True, create_graph=second)
    squares = squared(expected) if second else None
    twice = torch.autograd.grad(squares, wanted, allow_unused=True) if isinstance(squares, torch.Tensor) else None
    return traced.inlined_graph, outputs, seeds, expected, twice


def squared(grads):
    with torch.enable_grad():
        return sum((grad * grad.conj()).real.sum() for grad in grads if grad is not None and grad.requires_grad)


def check(rules, op, sample, second):
    call, tensors = call_of(op, sample)
    asked = [tensor.requires_grad for tensor in tensors]
    tensors = [tensor.detach() for tensor in tensors]
    fresh = lambda: [own(tensor) for tensor in tensors]
    try:
        torch.manual_seed(0)
        graph, outputs, seeds, expected, second_expected = derived_by_pytorch(call, fresh, asked, second)
    except Exception as error:
        raise LeftOut from error

    # The table's.
    tape = Tape(rules, second)
    mine = [tensor.requires_grad_(second and need) for tensor, need in zip(fresh(), asked)]
    leaves = [tensor for tensor, need in zip(mine, asked) if need]
    tape.needing = set(map(id, leaves))
    torch.manual_seed(0)
    with torch.set_grad_enabled(second):
        found_outputs = tape.run(graph, mine)
        flat = [tensor for tensor in tensors_in(found_outputs) if id(tensor) in tape.needing]
        if expected is None:
            return "needs gradients and should not" if flat else None
        if len(flat) != len(outputs):
            return f"{len(flat)} results need gradients for {len(outputs)}"
        for a, b in zip(flat, outputs):
            if why := close(a.detach(), b.detach(), b.dtype):
                return f"result {why}"
        grads = tape.back(flat, seeds)
        found = [grads.get(id(tensor)) for tensor in leaves]
    squares = squared(found)
    for a, b in zip(found, expected):
        b = None if b is None else b.detach()
        a = None if a is None else a.detach()
        if a is None or b is None:
            if (a is not None and a.abs().sum() != 0) or (b is not None and b.abs().sum() != 0):
                return f"{a} for {b}"
        elif why := close(a, b, b.dtype):
            return f"grad {why}"
    if second and second_expected is not None:
        if not isinstance(squares, torch.Tensor):
            found = [None for _ in leaves]
        else:
            found = torch.autograd.grad(squares, leaves, allow_unused=True)
        for a, b in zip(found, second_expected):
            a = torch.zeros([]) if a is None else a
            b = torch.zeros_like(a) if b is None else b
            a = a if a.shape == b.shape else torch.zeros_like(b)
            if why := close(a.to(b.dtype), b, b.dtype):
                return f"second {why}"
    return None


def uses(rules):
    missing = collections.defaultdict(set)
    flat = "bool int eq ne lt le gt ge isnan isfinite logical arange full zeros ones eye argmax any all size stride numel dim".split()

    def walk(block, name):
        for node in block.nodes():
            for inner in node.blocks():
                walk(inner, name)
            if node.kind().startswith("aten::") and any("Tensor" in str(value.type()) for value in node.outputs()):
                operator = node.schema()[len("aten::"):node.schema().index("(")]
                if operator not in rules:
                    missing[operator].add(name)

    for name, rule in rules.items():
        for _, _, function in rule.functions:
            walk(function.inlined_graph, name)
    for operator, names in sorted(missing.items()):
        print(operator, *sorted(names)[:4])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pattern", default="")
    parser.add_argument("--dtypes", default="float64,complex128")
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--second", action="store_true")
    parser.add_argument("--uses", action="store_true")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch._C._jit_set_profiling_executor(False)
    torch._C._jit_set_texpr_fuser_enabled(False)
    rules = compile_table()
    if options.uses:
        return uses(rules)
    from torch.testing._internal.common_methods_invocations import op_db

    torch.set_grad_enabled(False)
    counts, missing = collections.Counter(), collections.Counter()
    for number, op in enumerate(op_db):
        name = op.formatted_name
        if not op.supports_autograd or not re.search(options.pattern, name):
            continue
        if options.second and not op.supports_gradgrad:
            continue
        for text in options.dtypes.split(","):
            dtype = getattr(torch, text)
            if dtype not in op.supported_dtypes("cpu") or dtype not in op.supported_backward_dtypes("cpu"):
                continue
            torch.manual_seed(number)
            try:
                samples = list(op.sample_inputs("cpu", dtype, requires_grad=True))
            except Exception:
                continue
            step = max(1, len(samples) // options.samples)
            for index, sample in list(enumerate(samples))[::step]:
                try:
                    with torch.jit.optimized_execution(False):
                        why = check(rules, op, sample, options.second)
                    verdict = "wrong" if why else "equal"
                except LeftOut:
                    verdict = "left out"
                except Unsupported as error:
                    why, verdict = str(error), "not supported"
                    missing[why] += 1
                except Exception as error:
                    why, verdict = f"{type(error).__name__} {error}", "failed"
                counts[verdict] += 1
                if verdict in ("wrong", "failed"):
                    lines = why.strip().splitlines() or [""]
                    print(f"{verdict} {name}.{text}.{index:03}: {lines[0]} | {lines[-1]}"[:400], flush=True)
    for why, count in missing.most_common():
        print("not supported", why, count)
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return 1 if counts["wrong"] or counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
