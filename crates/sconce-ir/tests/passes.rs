//! Passes that PyTorch has no Python function for, on small graphs.

#![allow(clippy::unwrap_used)] // helpers of tests are outside of what clippy sees as tests

use std::sync::Arc;

use sconce_ir::passes::{self, InlineError};
use sconce_ir::{Function, Graph, NamedRef, Schema, Type, Unit, verify};

fn check(before: &str, pass: impl FnOnce(&mut Graph), want: &str) {
    let mut graph = Graph::parse(before).unwrap_or_else(|error| panic!("{error}\n{before}"));
    pass(&mut graph);
    verify(&graph).unwrap();
    let want = Graph::parse(want).unwrap_or_else(|error| panic!("{error}\n{want}"));
    assert_eq!(graph.canonical_text(), want.canonical_text());
}

#[test]
fn outputs_come_in_the_order_of_use() {
    check(
        "graph(%x : Tensor, %c : bool, %n : int):
  %a : Tensor, %b : int, %d : bool = prim::If(%c)
    block0():
      -> (%x, %n, %c)
    block1():
      %r : Tensor = aten::relu(%x)
      -> (%r, %n, %c)
  %p : Tensor, %q : int = prim::Loop(%n, %d, %a, %b)
    block0(%i : int, %s : Tensor, %t : int):
      -> (%d, %s, %i)
  %u : (int, Tensor) = prim::TupleConstruct(%q, %p)
  return (%u)",
        passes::canonicalize_outputs,
        "graph(%x : Tensor, %c : bool, %n : int):
  %d : bool, %b : int, %a : Tensor = prim::If(%c)
    block0():
      -> (%c, %n, %x)
    block1():
      %r : Tensor = aten::relu(%x)
      -> (%c, %n, %r)
  %q : int, %p : Tensor = prim::Loop(%n, %d, %b, %a)
    block0(%i : int, %t : int, %s : Tensor):
      -> (%d, %i, %s)
  %u : (int, Tensor) = prim::TupleConstruct(%q, %p)
  return (%u)",
    );
}

#[test]
fn loops_that_count_and_ask_become_while_loops() {
    check(
        "graph(%x : Tensor, %n : int, %c : bool):
  %t : bool = prim::Constant[value=1]()
  %a : Tensor = prim::Loop(%n, %t, %x)
    block0(%i : int, %p : Tensor):
      %q : Tensor = aten::add(%p, %i, %i)
      -> (%c, %q)
  return (%a)",
        passes::canonicalize_modified_loops,
        "graph(%x : Tensor, %n : int, %c : bool):
  %t : bool = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %start : bool = aten::gt(%n, %zero)
  %max : int = prim::Constant[value=9223372036854775807]()
  %a : Tensor, %k : int = prim::Loop(%max, %start, %x, %zero)
    block0(%i : int, %p : Tensor, %j : int):
      %q : Tensor = aten::add(%p, %j, %j)
      %next : int = aten::add(%j, %one)
      %below : bool = aten::lt(%next, %n)
      %on : bool = aten::__and__(%below, %c)
      -> (%on, %q, %next)
  return (%a)",
    );
    let plain = "graph(%n : int):
  %t : bool = prim::Constant[value=1]()
   = prim::Loop(%n, %t)
    block0(%i : int):
      -> (%t)
  return ()";
    check(plain, passes::canonicalize_modified_loops, plain);
}

#[test]
fn operators_get_one_name() {
    check(
        "graph(%x : Tensor, %b : bool, %one : int):
  %1 : Tensor = aten::absolute(%x)
  %2 : Tensor = aten::rsub(%x, %1, %one)
  %3 : Tensor = aten::rsub(%x, %one, %one)
  %4 : bool = aten::__is__(%b, %b)
  %5 : bool = aten::__isnot__(%b, %b)
  %6 : bool = aten::__is__(%x, %b)
  %7 : Tensor = aten::special_expit(%x)
  return (%2, %3, %4, %5, %6, %7)",
        passes::normalize_ops,
        "graph(%x : Tensor, %b : bool, %one : int):
  %1 : Tensor = aten::abs(%x)
  %2 : Tensor = aten::sub(%1, %x, %one)
  %3 : Tensor = aten::rsub(%x, %one, %one)
  %4 : bool = aten::eq(%b, %b)
  %5 : bool = aten::ne(%b, %b)
  %6 : bool = aten::__is__(%x, %b)
  %7 : Tensor = aten::sigmoid(%x)
  return (%2, %3, %4, %5, %6, %7)",
    );
}

#[test]
fn empty_lists_hold_tensors() {
    check(
        "graph():
  %1 : Tensor[] = prim::EmptyListLiteral()
  %2 : Tensor[] = prim::EmptyListLiteral()
  return (%1)",
        passes::erase_list_literals,
        "graph():
  %1 : Tensor[] = prim::ListConstruct()
  return (%1)",
    );
}

#[test]
fn warnings_are_numbered() {
    let mut next = 7;
    check(
        "graph(%s : str, %n : int, %c : bool):
   = aten::warn(%s, %n)
   = prim::If(%c)
    block0():
       = aten::warn(%s, %n)
      -> ()
    block1():
      -> ()
  return ()",
        |graph| passes::annotate_warns(graph, &mut next),
        "graph(%s : str, %n : int, %c : bool):
   = aten::warn[warn_id=7](%s, %n)
   = prim::If(%c)
    block0():
       = aten::warn[warn_id=8](%s, %n)
      -> ()
    block1():
      -> ()
  return ()",
    );
    assert_eq!(next, 9);
}

#[test]
fn forked_closures_become_forks() {
    let before = "graph(%x : Tensor, %c : bool):
  %y : Tensor = aten::relu(%x)
  %f : Function = prim::Closure()
    block0():
      %z : Tensor = prim::If(%c)
        block0():
          -> (%y)
        block1():
          %n : Tensor = aten::neg(%x)
          -> (%n)
      -> (%z)
  %r : Future[Tensor] = prim::forkClosure(%f)
  return (%r)";
    let mut graph = Graph::parse(before).unwrap();
    passes::lift_closures(&mut graph);
    verify(&graph).unwrap();
    passes::inline_forked_closures(&mut graph).unwrap();
    verify(&graph).unwrap();
    passes::eliminate_dead_code(&mut graph);
    let want = "graph(%0 : Tensor,
      %1 : bool):
  %2 : Tensor = aten::relu(%0)
  %3 : Future[Tensor] = prim::fork_0(%1, %2, %0)
  return (%3)
with prim::fork_0 = graph(%0 : bool,
      %1 : Tensor,
      %2 : Tensor):
  %3 : Tensor = prim::If(%0)
    block0():
      -> (%1)
    block1():
      %4 : Tensor = aten::neg(%2)
      -> (%4)
  return (%3)
";
    assert_eq!(graph.canonical_text(), want);
    let mut other = Graph::parse(
        "graph(%f : Function):\n %r : Future[Tensor] = prim::forkClosure(%f)\n return (%r)",
    )
    .unwrap();
    let error = passes::inline_forked_closures(&mut other).unwrap_err();
    assert_eq!(error.to_string(), "Cannot fork this value");
}

/// A unit of functions of a tensor, each with its graph as text.
fn unit(functions: &[(&str, &str)]) -> Unit {
    let mut unit = Unit::new();
    let mut ids = Vec::new();
    for (name, _) in functions {
        let schema = Schema {
            name: Arc::from(*name),
            overload: Arc::from(""),
            arguments: Vec::new(),
            returns: Vec::new(),
            is_vararg: false,
            is_varret: false,
        };
        ids.push(unit.add_function(Function {
            qualified_name: Arc::from(*name),
            class: None,
            schema: Arc::new(schema),
            graph: None,
        }));
    }
    for ((_, text), id) in functions.iter().zip(ids) {
        let graph = Graph::parse_in(text, &unit).unwrap();
        unit.function_mut(id).graph = Some(Arc::new(graph));
    }
    unit
}

#[test]
fn calls_become_bodies() {
    let outer = "graph(%x : Tensor, %c : bool):
  %f : Function = prim::Constant[name=\"g\"]()
  %y : Tensor = prim::If(%c)
    block0():
      %a : Tensor = prim::CallFunction(%f, %x)
      -> (%a)
    block1():
      -> (%x)
  return (%y)";
    let g = "graph(%p : Tensor):
  %f : Function = prim::Constant[name=\"h\"]()
  %q : Tensor = prim::CallFunction(%f, %p)
  %r : Tensor = aten::neg(%q)
  return (%r)";
    let h = "graph(%p : Tensor):\n  %r : Tensor = aten::relu(%p)\n  return (%r)";
    let unit = unit(&[("g", g), ("h", h)]);
    let mut graph = Graph::parse_in(outer, &unit).unwrap();
    passes::inline(&mut graph, &unit).unwrap();
    passes::eliminate_dead_code(&mut graph);
    let want = "graph(%0 : Tensor,
      %1 : bool):
  %2 : Tensor = prim::If(%1)
    block0():
      %3 : Tensor = aten::relu(%0)
      %4 : Tensor = aten::neg(%3)
      -> (%4)
    block1():
      -> (%0)
  return (%2)
";
    assert_eq!(graph.canonical_text(), want);
}

#[test]
fn a_function_that_calls_itself_has_no_body() {
    let f = "graph(%p : Tensor):
  %f : Function = prim::Constant[name=\"f\"]()
  %q : Tensor = prim::CallFunction(%f, %p)
  return (%q)";
    let unit = unit(&[("f", f)]);
    let mut graph = Graph::parse_in(f, &unit).unwrap();
    assert_eq!(passes::inline(&mut graph, &unit), Err(InlineError::Recursive("f".into())));
    let error = passes::inline_optimized(&mut graph, &unit).unwrap_err();
    assert_eq!(error, InlineError::Recursive("f".into()));
    let function = Type::Function(NamedRef::by_name("f"));
    assert_eq!(function.to_string(), "Function");
}

/// Found by the fuzz target `graph_text`: pooling took the blocks along.
#[test]
fn a_constant_with_blocks_is_no_graph() {
    let text = "graph(%x : int):
  %c : str = prim::Constant[value=\"c\"]()
    block0():
      -> (%x)
  return (%c)
";
    let graph = Graph::parse(text).unwrap();
    assert!(verify(&graph).unwrap_err()[0].message.contains("a constant has no blocks"));
}

#[test]
fn bodies_are_optimised_before_they_are_inlined() {
    let outer = "graph(%x : Tensor, %n : int):
  %f : Function = prim::Constant[name=\"g\"]()
  %zero : int = prim::Constant[value=0]()
  %m : int = aten::add(%n, %zero)
  %y : Tensor = prim::CallFunction(%f, %x)
  return (%y, %m)";
    let g = "graph(%p : Tensor):
  %f : Function = prim::Constant[name=\"h\"]()
  %none : NoneType = prim::Constant()
  %q : Tensor = prim::CallFunction(%f, %p, %none)
  return (%q)";
    let h = "graph(%p : Tensor, %o : Tensor?):
  %none : NoneType = prim::Constant()
  %c : bool = aten::__isnot__(%p, %none)
  %r : Tensor = prim::If(%c)
    block0():
      %a : Tensor = aten::relu(%p)
      -> (%a)
    block1():
      -> (%p)
  return (%r)";
    let unit = unit(&[("g", g), ("h", h)]);
    let mut graph = Graph::parse_in(outer, &unit).unwrap();
    passes::inline_optimized(&mut graph, &unit).unwrap();
    let want = "graph(%0 : Tensor,
      %1 : int):
  %2 : Function = prim::Constant[name=\"g\"]()
  %3 : int = prim::Constant[value=0]()
  %4 : int = aten::add(%1, %3)
  %5 : NoneType = prim::Constant()
  %6 : Function = prim::Constant[name=\"h\"]()
  %7 : Tensor = aten::relu(%0)
  return (%7, %4)
";
    assert_eq!(graph.canonical_text(), want);
}

/// What a node gives is seen after its blocks, not in them.
#[test]
fn blocks_do_not_see_what_their_node_gives() {
    let mut graph = Graph::parse(
        "graph(%c : bool, %x : int):
  %y : int = prim::If(%c)
    block0():
      -> (%x)
    block1():
      -> (%x)
  return (%y)",
    )
    .unwrap();
    verify(&graph).unwrap();
    let branch = graph.block_nodes(graph.root()).next().unwrap();
    let (own, block) = (graph.node(branch).output(), graph.node(branch).blocks()[0]);
    graph.replace_node_input(graph.return_node(block), 0, own);
    let errors = verify(&graph).unwrap_err();
    assert!(errors[0].message.contains("cannot be seen here"), "{errors:?}");
}
