"""Writes the .ir files beside it: a pass, a graph, and what real PyTorch makes of it.

Run with PyTorch 2.15. Values are renumbered in the order of appearance, so that only what a pass does
to the graph is compared, not how it counts values.
"""

import pathlib
import re

import torch

C = torch._C
PASSES = {
    "dce": C._jit_pass_dce_graph,
    "constant_pooling": C._jit_pass_constant_pooling,
    "constant_propagation": C._jit_pass_constant_propagation_immutable_types,
    "lower_simple_tuples": C._jit_pass_lower_all_tuples,
}

CASES = {
    "dce": {
        "unused": """
graph(%x : Tensor):
  %one : int = prim::Constant[value=1]()
  %a : Tensor = aten::add(%x, %x, %one)
  %b : Tensor = aten::relu(%x)
  return (%b)
""",
        "side_effects": """
graph(%x : Tensor, %s : str):
  %a : Tensor = aten::relu(%x)
  prim::Print(%a)
  prim::RaiseException(%s, %s)
  %two : int = prim::Constant[value=2]()
  aten::warn(%s, %two)
  %r : Tensor = aten::rand_like(%x, %n, %n, %n, %n, %n)
  return (%x)
""".replace("  %a : Tensor = aten::relu", "  %n : NoneType = prim::Constant()\n  %a : Tensor = aten::relu"),
        "writes_to_live_memory": """
graph(%x : Tensor):
  %one : int = prim::Constant[value=1]()
  %fresh : Tensor = aten::relu(%x)
  %view : Tensor = aten::t(%fresh)
  %w : Tensor = aten::add_(%view, %x, %one)
  return (%fresh)
""",
        "writes_to_dead_memory": """
graph(%x : Tensor):
  %one : int = prim::Constant[value=1]()
  %fresh : Tensor = aten::relu(%x)
  %view : Tensor = aten::t(%fresh)
  %w : Tensor = aten::add_(%view, %x, %one)
  return (%x)
""",
        "writes_to_inputs": """
graph(%x : Tensor, %l : Tensor[]):
  %one : int = prim::Constant[value=1]()
  %v : Tensor = aten::t(%x)
  %w : Tensor = aten::add_(%v, %x, %one)
  %p : Tensor[] = aten::append(%l, %x)
  return (%x)
""",
        "writes_to_dead_list": """
graph(%x : Tensor):
  %l : Tensor[] = prim::ListConstruct(%x)
  %p : Tensor[] = aten::append(%l, %x)
  return (%x)
""",
        "writes_through_list": """
graph(%x : Tensor, %i : int):
  %one : int = prim::Constant[value=1]()
  %fresh : Tensor = aten::relu(%x)
  %l : Tensor[] = prim::ListConstruct(%fresh)
  %e : Tensor = aten::__getitem__(%l, %i)
  %w : Tensor = aten::add_(%e, %x, %one)
  return (%fresh)
""",
        "batch_norm_statistics": """
graph(%x : Tensor, %m : Tensor, %v : Tensor):
  %n : NoneType = prim::Constant()
  %t : bool = prim::Constant[value=1]()
  %f : bool = prim::Constant[value=0]()
  %e : float = prim::Constant[value=0.1]()
  %a : Tensor = aten::batch_norm(%x, %n, %n, %m, %v, %t, %e, %e, %t)
  %b : Tensor = aten::batch_norm(%x, %n, %n, %m, %v, %f, %e, %e, %t)
  return (%x)
""",
        "branches": """
graph(%x : Tensor, %c : bool):
  %one : int = prim::Constant[value=1]()
  %a : Tensor, %b : Tensor = prim::If(%c)
    block0():
      %p : Tensor = aten::relu(%x)
      %q : Tensor = aten::neg(%x)
      -> (%p, %q)
    block1():
      %r : Tensor = aten::neg(%x)
      -> (%x, %r)
  return (%b)
""",
        "dead_branch": """
graph(%x : Tensor, %c : bool):
  %a : Tensor = prim::If(%c)
    block0():
      %p : Tensor = aten::relu(%x)
      -> (%p)
    block1():
      -> (%x)
  return (%x)
""",
        "branch_with_effect": """
graph(%x : Tensor, %c : bool):
  %a : Tensor = prim::If(%c)
    block0():
      %p : Tensor = aten::relu(%x)
      prim::Print(%p)
      %u : Tensor = aten::neg(%x)
      -> (%u)
    block1():
      -> (%x)
  return (%x)
""",
        "loop": """
graph(%x : Tensor, %n : int):
  %t : bool = prim::Constant[value=1]()
  %one : int = prim::Constant[value=1]()
  %a : Tensor, %b : Tensor, %d : Tensor = prim::Loop(%n, %t, %x, %x, %x)
    block0(%i : int, %p : Tensor, %q : Tensor, %r : Tensor):
      %s : Tensor = aten::add(%p, %q, %one)
      %u : Tensor = aten::relu(%q)
      %v : Tensor = aten::neg(%r)
      -> (%t, %s, %u, %v)
  return (%a)
""",
        "loop_in_loop": """
graph(%x : Tensor, %n : int):
  %t : bool = prim::Constant[value=1]()
  %a : Tensor, %b : Tensor = prim::Loop(%n, %t, %x, %x)
    block0(%i : int, %p : Tensor, %q : Tensor):
      %y : Tensor, %z : Tensor = prim::Loop(%n, %t, %p, %q)
        block0(%j : int, %r : Tensor, %s : Tensor):
          %u : Tensor = aten::relu(%s)
          %v : Tensor = aten::neg(%u)
          -> (%t, %u, %v)
      -> (%t, %y, %z)
  return (%a)
""",
        "dead_loop_that_feeds_itself": """
graph(%x : Tensor, %n : int):
  %t : bool = prim::Constant[value=1]()
  %a : Tensor = prim::Loop(%n, %t, %x)
    block0(%i : int, %p : Tensor):
      %s : Tensor = aten::relu(%p)
      -> (%t, %s)
  return (%x)
""",
        "dead_loop_that_carries_its_input": """
graph(%x : Tensor, %n : int):
  %t : bool = prim::Constant[value=1]()
  %a : Tensor = prim::Loop(%n, %t, %x)
    block0(%i : int, %p : Tensor):
      %s : Tensor = aten::relu(%p)
      -> (%t, %p)
  return (%x)
""",
        "dead_loop_of_outside_values": """
graph(%x : Tensor, %n : int):
  %t : bool = prim::Constant[value=1]()
  %a : Tensor = prim::Loop(%n, %t, %x)
    block0(%i : int, %p : Tensor):
      %s : Tensor = aten::relu(%x)
      -> (%t, %s)
  return (%x)
""",
        "dead_loop_that_writes": """
graph(%x : Tensor, %n : int):
  %t : bool = prim::Constant[value=1]()
  %one : int = prim::Constant[value=1]()
  %f : Tensor = aten::relu(%x)
  %a : Tensor = prim::Loop(%n, %t, %f)
    block0(%i : int, %p : Tensor):
      %w : Tensor = aten::add_(%p, %x, %one)
      -> (%t, %w)
  return (%f)
""",
    },
    "constant_pooling": {
        "order": """
graph(%x : Tensor, %c : bool):
  %a : int = prim::Constant[value=1]()
  %b : Tensor = aten::add(%x, %x, %a)
  %d : float = prim::Constant[value=2.5]()
  %e : int = prim::Constant[value=2]()
  %f : int = prim::Constant[value=1]()
  %g : Tensor = prim::If(%c)
    block0():
      %h : int = prim::Constant[value=2]()
      %i : str = prim::Constant[value="s"]()
      %j : Tensor = aten::add(%b, %d, %h)
      -> (%j)
    block1():
      %k : NoneType = prim::Constant()
      %l : Tensor = aten::add(%b, %d, %f)
      -> (%l)
  return (%g)
""",
        "types_differ": """
graph():
  %a : int = prim::Constant[value=1]()
  %b : bool = prim::Constant[value=1]()
  %c : float = prim::Constant[value=1.]()
  %d : int? = prim::Constant()
  %e : NoneType = prim::Constant()
  %f : int? = prim::Constant()
  %g : str = prim::Constant[value="cpu"]()
  %h : Device = prim::Constant[value="cpu"]()
  %i : (int, bool, float, int?, NoneType, int?, str, Device) = prim::TupleConstruct(%a, %b, %c, %d, %e, %f, %g, %h)
  return (%i)
""",
        "floats": """
graph():
  %a : float = prim::Constant[value=0.]()
  %b : float = prim::Constant[value=-0.]()
  %c : float = prim::Constant[value=inf]()
  %d : float = prim::Constant[value=inf]()
  %e : complex = prim::Constant[value=1.j]()
  %f : complex = prim::Constant[value=1.j]()
  %i : (float, float, float, float, complex, complex) = prim::TupleConstruct(%a, %b, %c, %d, %e, %f)
  return (%i)
""",
    },
    "constant_propagation": {
        "arithmetic": """
graph(%x : Tensor):
  %a : int = prim::Constant[value=7]()
  %b : int = prim::Constant[value=2]()
  %c : int = aten::floordiv(%a, %b)
  %d : int = aten::mul(%c, %a)
  %e : bool = aten::gt(%d, %a)
  %f : Tensor = aten::add(%x, %x, %d)
  %g : (Tensor, bool) = prim::TupleConstruct(%f, %e)
  return (%g)
""",
        "nothing_to_do": """
graph(%x : Tensor):
  %a : int = prim::Constant[value=7]()
  %u : Tensor = aten::relu(%x)
  %f : Tensor = aten::add(%x, %x, %a)
  return (%f)
""",
        "raises": """
graph():
  %a : str = prim::Constant[value="abc"]()
  %b : int = prim::Constant[value=9]()
  %c : str = aten::__getitem__(%a, %b)
  return (%c)
""",
        "tuples": """
graph():
  %a : int = prim::Constant[value=1]()
  %n : NoneType = prim::Constant()
  %t : (int, NoneType) = prim::TupleConstruct(%a, %n)
  %u : (int) = prim::TupleConstruct(%a)
  %e : () = prim::TupleConstruct()
  %l : int[] = prim::ListConstruct(%a)
  %p : int, %q : NoneType = prim::TupleUnpack(%t)
  %r : ((int, NoneType), (int), (), int[], int) = prim::TupleConstruct(%t, %u, %e, %l, %p)
  return (%r)
""",
        "static_branch": """
graph(%x : Tensor):
  %t : bool = prim::Constant[value=0]()
  %c : bool = aten::__not__(%t)
  %y : Tensor = prim::If(%c)
    block0():
      %p : Tensor = aten::relu(%x)
      prim::Print(%p)
      -> (%p)
    block1():
      %q : Tensor = aten::neg(%x)
      -> (%q)
  return (%y)
""",
        "same_outputs": """
graph(%x : Tensor, %c : bool):
  %a : Tensor, %b : int, %d : Tensor = prim::If(%c)
    block0():
      %i : int = prim::Constant[value=3]()
      %p : Tensor = aten::relu(%x)
      -> (%x, %i, %p)
    block1():
      %j : int = prim::Constant[value=3]()
      %q : Tensor = aten::neg(%x)
      -> (%x, %j, %q)
  %r : (Tensor, int, Tensor) = prim::TupleConstruct(%a, %b, %d)
  return (%r)
""",
        "loop_never_runs": """
graph(%x : Tensor):
  %t : bool = prim::Constant[value=1]()
  %z : int = prim::Constant[value=0]()
  %a : Tensor = prim::Loop(%z, %t, %x)
    block0(%i : int, %p : Tensor):
      %u : Tensor = aten::relu(%p)
      -> (%t, %u)
  return (%a)
""",
        "loop_carries_unchanged": """
graph(%x : Tensor, %n : int):
  %t : bool = prim::Constant[value=1]()
  %a : Tensor, %b : Tensor = prim::Loop(%n, %t, %x, %x)
    block0(%i : int, %p : Tensor, %q : Tensor):
      %u : Tensor = aten::relu(%p)
      %v : Tensor = aten::add(%u, %q, %i)
      -> (%t, %v, %q)
  %r : (Tensor, Tensor) = prim::TupleConstruct(%a, %b)
  return (%r)
""",
        "none_keeps_its_type": """
graph():
  %n : NoneType = prim::Constant()
  %b : bool = aten::__is__(%n, %n)
  %i : int = prim::Constant[value=1]()
  %c : bool = aten::__isnot__(%i, %n)
  %r : (bool, bool) = prim::TupleConstruct(%b, %c)
  return (%r)
""",
    },
    "lower_simple_tuples": {
        "unpack": """
graph(%x : Tensor, %y : Tensor):
  %t : (Tensor, Tensor) = prim::TupleConstruct(%x, %y)
  %a : Tensor, %b : Tensor = prim::TupleUnpack(%t)
  %one : int = prim::Constant[value=1]()
  %c : Tensor = aten::add(%b, %a, %one)
  return (%c)
""",
        "index": """
graph(%x : Tensor, %y : Tensor):
  %t : (Tensor, Tensor) = prim::TupleConstruct(%x, %y)
  %m : int = prim::Constant[value=-1]()
  %a : Tensor = prim::TupleIndex(%t, %m)
  %b : Tensor = aten::relu(%a)
  return (%b)
""",
        "nested": """
graph(%x : Tensor, %y : Tensor, %c : bool):
  %t : (Tensor, Tensor) = prim::TupleConstruct(%x, %y)
  %u : ((Tensor, Tensor), Tensor) = prim::TupleConstruct(%t, %x)
  %a : (Tensor, Tensor), %b : Tensor = prim::TupleUnpack(%u)
  %r : Tensor = prim::If(%c)
    block0():
      %d : Tensor, %e : Tensor = prim::TupleUnpack(%a)
      -> (%e)
    block1():
      -> (%b)
  return (%r)
""",
    },
}

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|%[\w.]+')


def renumbered(text):
    numbers = {}

    def number(match):
        token = match.group()
        if token.startswith('"'):
            return token
        return f"%{numbers.setdefault(token, len(numbers))}"

    return TOKEN.sub(number, re.sub(r" # .*", "", text))


def main():
    folder = pathlib.Path(__file__).parent
    for name, cases in CASES.items():
        for case, text in cases.items():
            text = text.lstrip("\n")
            graph = C.parse_ir(text)
            PASSES[name](graph)
            out = f"# pass: {name}\n{text}# becomes\n{renumbered(str(graph))}"
            (folder / f"{name}-{case}.ir").write_text(out)


if __name__ == "__main__":
    main()
