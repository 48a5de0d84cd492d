"""Writes the .ir files beside it: a pass, a graph, and what real PyTorch makes of it.

Run with PyTorch 2.15. Values are renumbered in the order of appearance, so that only what a pass does
to the graph is compared, not how it counts values.
"""

import pathlib
import re

import torch
from torch import Tensor

C = torch._C
PASSES = {
    "dce": C._jit_pass_dce_graph,
    "constant_pooling": C._jit_pass_constant_pooling,
    "constant_propagation": C._jit_pass_constant_propagation_immutable_types,
    "lower_simple_tuples": C._jit_pass_lower_all_tuples,
    # Without what needs sizes, as where calls are inlined.
    "autocast": C._jit_pass_autocast,
    "peephole": lambda graph: C._jit_pass_peephole(graph, True),
}

CASES = {
    "peephole": {
        "transposed_twice": """
graph(%x : Tensor):
  %a : Tensor = aten::t(%x)
  %b : Tensor = aten::t(%a)
  return (%b)
""",
        "unwraps": """
graph(%x : int, %f : float?, %t : Tensor):
  %1 : int = aten::_unwrap_optional(%x)
  %2 : float = aten::_unwrap_optional(%f)
  %3 : float = prim::unchecked_unwrap_optional(%f)
  %4 : int = prim::unchecked_unwrap_optional(%x)
  %5 : Tensor = aten::_unwrap_optional(%t)
  return (%1,%2,%3,%4,%5)
""",
        "casts": """
graph(%x : int, %f : float?, %t : Tensor, %u : Union(int, str), %l : int[], %a : Any):
  %1 : int = prim::unchecked_cast(%x)
  %2 : float = prim::unchecked_cast(%f)
  %3 : int? = prim::unchecked_cast(%x)
  %4 : Tensor = prim::unchecked_cast(%t)
  %5 : int = prim::unchecked_cast(%u)
  %6 : Union(int, str) = prim::unchecked_cast(%x)
  %7 : int[] = prim::unchecked_cast(%l)
  %8 : Any = prim::unchecked_cast(%x)
  %9 : int = prim::unchecked_cast(%a)
  %10 : Scalar = prim::unchecked_cast(%x)
  return (%1,%2,%3,%4,%5,%6,%7,%8,%9,%10)
""",
        "none": """
graph(%x : int, %f : float?, %t : Tensor, %u : Union(int, str), %v : Union(int, NoneType, str), %a : Any, %ft : Tensor?, %nn: NoneType, %s : Scalar, %fu : Future(int), %fo : Future(int?)):
  %n : NoneType = prim::Constant()
  %m : int? = prim::Constant()
  %1 : bool = aten::__is__(%x, %n)
  %2 : bool = aten::__isnot__(%x, %n)
  %3 : bool = aten::__is__(%f, %n)
  %4 : bool = aten::__isnot__(%n, %t)
  %5 : bool = aten::__is__(%u, %n)
  %6 : bool = aten::__is__(%v, %n)
  %7 : bool = aten::__is__(%a, %n)
  %8 : bool = aten::__is__(%ft, %n)
  %9 : bool = aten::__is__(%nn, %x)
  %10 : bool = aten::__is__(%nn, %n)
  %11 : bool = aten::__is__(%n, %n)
  %12 : bool = aten::__is__(%m, %n)
  %13 : bool = aten::__is__(%m, %x)
  %14 : bool = aten::__is__(%s, %n)
  %15 : bool = aten::__is__(%fu, %n)
  %16 : bool = aten::__is__(%fo, %n)
  return (%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16)
""",
        "branches_of_true_and_false": """
graph(%c : bool):
  %t : bool = prim::Constant[value=1]()
  %f : bool = prim::Constant[value=0]()
  %r : bool = prim::If(%c)
    block0():
      -> (%t)
    block1():
      -> (%f)
  return (%r)
""",
        "branches_of_one_constant": """
graph(%c : bool, %d : bool):
  %t : bool = prim::Constant[value=1]()
  %f : bool = prim::Constant[value=0]()
  %r : bool = prim::If(%c)
    block0():
      -> (%t)
    block1():
      -> (%d)
  %s : bool = prim::If(%c)
    block0():
      -> (%d)
    block1():
      -> (%f)
  return (%r, %s)
""",
        "branches_of_one_type": """
graph(%c : bool, %d : int, %e : int?, %t : Tensor, %f : float):
  %n : NoneType = prim::Constant()
  %r : int?, %s : int?, %u : int?, %v : Any, %w : Scalar, %y : Tensor? = prim::If(%c)
    block0():
      -> (%d, %d, %n, %d, %d, %t)
    block1():
      -> (%d, %e, %n, %d, %f, %t)
  return (%r, %s, %u, %v, %w, %y)
""",
        "sum_and_difference": """
graph(%x : int):
  %k : int = prim::Constant[value=5]()
  %j : int = prim::Constant[value=3]()
  %y : int = aten::add(%x, %k)
  %r : int = aten::sub(%y, %j)
  return (%r)
""",
        "sums_after_sums": """
graph(%x : int):
  %k : int = prim::Constant[value=5]()
  %y : int = aten::add(%x, %k)
  %r : int = aten::sub(%y, %k)
  %s : int = aten::add(%r, %k)
  %t : int = aten::add(%s, %k)
  return (%t, %s, %y)
""",
        "constants_alone": """
graph(%x : int):
  %k : int = prim::Constant[value=5]()
  %j : int = prim::Constant[value=1]()
  %z : int = prim::Constant[value=0]()
  %a : int = aten::add(%k, %z)
  %b : int = aten::mul(%k, %j)
  %d : int = aten::mul(%j, %k)
  %e : int = aten::add(%z, %k)
  return (%a, %b, %d, %e)
""",
        "constants_come_second": """
graph(%x : int):
  %k : int = prim::Constant[value=0]()
  %r : int = aten::mul(%k, %x)
  return (%r)
""",
        "quotient_of_one": """
graph(%x : int):
  %k : int = prim::Constant[value=1]()
  %r : float = aten::div(%x, %k)
  return (%r)
""",
        "floats": """
graph(%x : float, %t : Tensor, %i : int):
  %k : int = prim::Constant[value=1]()
  %z : int = prim::Constant[value=0]()
  %fz : float = prim::Constant[value=0.]()
  %fk : float = prim::Constant[value=1.]()
  %1 : float = aten::add(%x, %z)
  %2 : float = aten::mul(%x, %k)
  %3 : float = aten::add(%x, %fz)
  %4 : float = aten::mul(%x, %fk)
  %5 : float = aten::mul(%i, %fk)
  %10 : Tensor = aten::add(%t, %z, %k)
  %11 : Tensor = aten::sub(%t, %z, %k)
  %12 : Tensor = aten::mul(%t, %k)
  %13 : Tensor = aten::div(%t, %k)
  %14 : Tensor = aten::mul(%t, %fk)
  %15 : Tensor = aten::add(%t, %fz, %k)
  %16 : Tensor = aten::pow(%t, %k)
  return (%1,%2,%3,%4,%5,%10,%11,%12,%13,%14,%15,%16)
""",
        "writes_to_a_matrix_transposed_twice": """
graph(%t : Tensor):
  %a : Tensor = aten::t(%t)
  %b : Tensor = aten::t(%a)
  %k : int = prim::Constant[value=1]()
  %c : Tensor = aten::add_(%b, %k, %k)
  return (%b)
""",
        "concatenations": """
graph(%a : Tensor, %b : Tensor, %c : Tensor):
  %z : int = prim::Constant[value=0]()
  %l : Tensor[] = prim::ListConstruct(%a, %b)
  %x : Tensor = aten::cat(%l, %z)
  %m : Tensor[] = prim::ListConstruct(%x, %c)
  %y : Tensor = aten::cat(%m, %z)
  %o : Tensor[] = prim::ListConstruct(%a)
  %w : Tensor = aten::cat(%o, %z)
  return (%y,%w)
""",
        "list_elements": """
graph(%a : int, %b : int, %i : int):
  %z : int = prim::Constant[value=0]()
  %k : int = prim::Constant[value=-1]()
  %o : int = prim::Constant[value=5]()
  %l : int[] = prim::ListConstruct(%a, %b)
  %1 : int = aten::len(%l)
  %2 : int = aten::__getitem__(%l, %z)
  %3 : int = aten::__getitem__(%l, %k)
  %4 : int = aten::__getitem__(%l, %o)
  %5 : int = aten::__getitem__(%l, %i)
  %6 : int, %7 : int = prim::ListUnpack(%l)
  return (%1,%2,%3,%4,%5,%6,%7)
""",
        "list_that_changes": """
graph(%a : int, %b : int):
  %z : int = prim::Constant[value=0]()
  %l : int[] = prim::ListConstruct(%a, %b)
  %2 : int = aten::__getitem__(%l, %z)
  %m : int[] = aten::append(%l, %b)
  %1 : int = aten::len(%l)
  return (%1,%2)
""",
        "list_sums": """
graph(%a : int, %b : int, %q : int[]):
  %z : int = prim::Constant[value=0]()
  %l : int[] = prim::ListConstruct(%a, %b)
  %m : int[] = prim::ListConstruct(%b)
  %n : int[] = aten::add(%l, %m)
  %1 : int = aten::len(%n)
  %2 : int = aten::__getitem__(%n, %z)
  %o : int[] = aten::add(%q, %m)
  %p : int[] = aten::add(%m, %l)
  %3 : int = aten::len(%o)
  %r : int[] = aten::add(%n, %p)
  return (%1,%2,%3,%o,%p,%r)
""",
        "list_sum_that_changes": """
graph(%a : int, %b : int, %q : int[]):
  %l : int[] = prim::ListConstruct(%a, %b)
  %m : int[] = prim::ListConstruct(%b)
  %n : int[] = aten::add(%l, %m)
  %o : int[] = aten::append(%n, %a)
  return (%n)
""",
        "list_slices": """
graph(%a : int, %b : int, %d : int, %i : int):
  %n : NoneType = prim::Constant()
  %z : int = prim::Constant[value=0]()
  %k : int = prim::Constant[value=1]()
  %j : int = prim::Constant[value=2]()
  %m1 : int = prim::Constant[value=-1]()
  %m9 : int = prim::Constant[value=-9]()
  %p9 : int = prim::Constant[value=9]()
  %l : int[] = prim::ListConstruct(%a, %b, %d)
  %1 : int[] = aten::slice(%l, %z, %j, %k)
  %2 : int[] = aten::slice(%l, %k, %n, %k)
  %3 : int[] = aten::slice(%l, %n, %m1, %k)
  %4 : int[] = aten::slice(%l, %n, %n, %j)
  %5 : int[] = aten::slice(%l, %m9, %p9, %k)
  %6 : int[] = aten::slice(%l, %n, %n, %m1)
  %7 : int[] = aten::slice(%l, %i, %n, %k)
  %8 : int[] = aten::slice(%l, %j, %z, %m1)
  %9 : int[] = aten::slice(%l, %j, %k, %k)
  %10 : int = aten::len(%1)
  return (%1,%2,%3,%4,%5,%6,%7,%8,%9,%10)
""",
        "list_that_may_change": """
graph(%a : int, %b : int, %q : int[][]):
  %z : int = prim::Constant[value=0]()
  %l : int[] = prim::ListConstruct(%a, %b)
  %m : int[][] = prim::ListConstruct(%l)
  %o : int[] = aten::__getitem__(%q, %z)
  %p : int[] = aten::append(%o, %a)
  %1 : int = aten::len(%l)
  %2 : int[] = aten::__getitem__(%m, %z)
  return (%1,%2)
""",
        "dict_of_strings": """
graph(%a : int, %b : int):
  %s : str = prim::Constant[value="x"]()
  %r : str = prim::Constant[value="y"]()
  %i : int = prim::Constant[value=1]()
  %j : int = prim::Constant[value=2]()
  %f : float = prim::Constant[value=1.5]()
  %g : float = prim::Constant[value=2.5]()
  %p : bool = prim::Constant[value=1]()
  %q : bool = prim::Constant[value=0]()
  %d : Dict(str, int) = prim::DictConstruct(%s, %a, %r, %b)
  %1 : int = aten::len(%d)
  %2 : int = aten::__getitem__(%d, %s)
  %3 : bool = aten::__contains__(%d, %r)
  return (%1,%2,%3)
""",
        "dict_of_bools": """
graph(%a : int, %b : int):
  %s : str = prim::Constant[value="x"]()
  %r : str = prim::Constant[value="y"]()
  %i : int = prim::Constant[value=1]()
  %j : int = prim::Constant[value=2]()
  %f : float = prim::Constant[value=1.5]()
  %g : float = prim::Constant[value=2.5]()
  %p : bool = prim::Constant[value=1]()
  %q : bool = prim::Constant[value=0]()
  %d : Dict(bool, int) = prim::DictConstruct(%p, %a, %q, %b)
  %1 : int = aten::len(%d)
  %2 : int = aten::__getitem__(%d, %p)
  %3 : bool = aten::__contains__(%d, %q)
  return (%1,%2,%3)
""",
        "dict_of_one_key_twice": """
graph(%a : int, %b : int):
  %s : str = prim::Constant[value="x"]()
  %d : Dict(str, int) = prim::DictConstruct(%s, %a, %s, %b)
  %1 : int = aten::len(%d)
  %2 : int = aten::__getitem__(%d, %s)
  return (%1,%2)
""",
        "dict_of_unknown_keys": """
graph(%a : int, %b : int, %k : str):
  %s : str = prim::Constant[value="x"]()
  %r : str = prim::Constant[value="y"]()
  %d : Dict(str, int) = prim::DictConstruct(%s, %a, %k, %b)
  %1 : int = aten::len(%d)
  %2 : int = aten::__getitem__(%d, %s)
  %e : Dict(str, int) = prim::DictConstruct(%s, %a)
  %3 : int = aten::__getitem__(%e, %r)
  %4 : int = aten::__getitem__(%e, %k)
  %5 : int = aten::len(%e)
  %6 : int? = aten::get(%e, %s)
  %f : Dict(str, int) = prim::DictConstruct()
  %7 : int = aten::len(%f)
  %8 : str[] = aten::keys(%e)
  return (%1,%2,%3,%4,%5,%6,%7,%8)
""",
        "numbers_made_tensors": """
graph(%x : int, %f : float):
  %a : Tensor = prim::NumToTensor(%x)
  %b : Tensor = prim::NumToTensor(%f)
  %1 : int = aten::Int(%a)
  %2 : float = aten::Float(%b)
  %3 : Scalar = aten::ScalarImplicit(%b)
  %4 : bool = aten::Bool(%a)
  %5 : int = aten::Int(%x)
  %6 : float = aten::Float(%f)
  return (%1, %2, %3, %4, %5, %6)
""",
        "results_of_none": """
graph(%x : Tensor, %p : (NoneType, int)):
  %u : NoneType = prim::Uninitialized()
  %a : NoneType, %b : int = prim::TupleUnpack(%p)
  %1 : Tensor = aten::linear(%x, %x, %u)
  %2 : Tensor = aten::linear(%1, %x, %a)
  return (%2, %b)
""",
        "equal_to_itself": """
graph(%i : int, %f : float[], %s : str):
  %1 : bool = aten::eq(%i, %i)
  %2 : bool = aten::ne(%f, %f)
  %3 : bool = aten::eq(%s, %s)
  return (%1, %2, %3)
""",
        "dimensions_of_convolutions": """
graph(%x : Tensor, %c : bool):
  %n : NoneType = prim::Constant()
  %k : int = prim::Constant[value=1]()
  %l : int[] = prim::ListConstruct(%k, %k)
  %a : Tensor = aten::conv2d(%x, %x, %n, %l, %l, %l, %k)
  %b : Tensor = aten::conv2d(%a, %x, %n, %l, %l, %l, %k)
  %r : int = prim::If(%c)
    block0():
      %d : int = aten::dim(%a)
      -> (%d)
    block1():
      -> (%k)
  %w : Tensor = aten::squeeze_(%b)
  %e : int = aten::dim(%b)
  return (%r, %e)
""",
        "sums_with_zero": """
graph(%x : Tensor, %y : Tensor):
  %z : int = prim::Constant[value=0]()
  %k : int = prim::Constant[value=1]()
  %a : Tensor = aten::relu(%x)
  %b : Tensor = aten::add(%a, %z, %k)
  %c : Tensor = aten::mul(%b, %k)
  %d : Tensor = aten::relu(%y)
  %e : Tensor = aten::sub(%d, %z, %k)
  %f : Tensor = aten::add_(%e, %x, %k)
  %g : Tensor = aten::mul(%y, %k)
  %h : Tensor = aten::div(%y, %k)
  return (%c, %f, %g, %h)
""",
        "concatenations_of_two": """
graph(%a : Tensor, %b : Tensor, %c : Tensor):
  %z : int = prim::Constant[value=0]()
  %k : int = prim::Constant[value=1]()
  %l : Tensor[] = prim::ListConstruct(%a, %b)
  %x : Tensor = aten::cat(%l, %k)
  %m : Tensor[] = prim::ListConstruct(%c, %b)
  %y : Tensor = aten::cat(%m, %z)
  %n : Tensor[] = prim::ListConstruct(%x, %y, %c)
  %o : Tensor = aten::cat(%n, %z)
  %p : Tensor[] = prim::ListConstruct(%o, %c)
  %q : Tensor = aten::cat(%p, %z)
  return (%q)
""",
    },
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

def regions(x: Tensor, y: Tensor, on: bool):
    with torch.autocast("cpu", dtype=torch.float16):
        z = torch.mm(x, x)
        if on:
            z = torch.nn.functional.log_softmax(z, 0) + y
        with torch.autocast("cuda"):
            z = torch.matmul(z.add_(1), z.sum(1))
        with torch.autocast("cpu", enabled=False):
            z = torch.mm(x, y) * z.exp()
    return torch.mm(z, x)


# Graphs that are easier written in Python, of passes that are done after calls are inlined.
SCRIPTED = {"autocast": {"regions": regions}}

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
    for name, cases in SCRIPTED.items():
        for case, function in cases.items():
            graph = torch.jit.script(function).graph.copy()
            C._jit_pass_inline(graph)
            C._jit_pass_constant_propagation(graph)
            text = renumbered(str(graph))
            PASSES[name](graph)
            out = f"# pass: {name}\n{text}# becomes\n{renumbered(str(graph))}"
            (folder / f"{name}-{case}.ir").write_text(out)


if __name__ == "__main__":
    main()
