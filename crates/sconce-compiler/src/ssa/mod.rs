//! From variables to values: loads and stores become static single assignments, and early exits
//! become conditions.
//!
//! The same steps as PyTorch's `ConvertToSSA`, with the same result down to the order of outputs and
//! the names of values.
//!
//! # What the emitter hands in
//!
//! * **Assignment**: `prim::Store[name="x"](%v)`, no outputs. **Use of a variable**:
//!   `prim::Load[name="x"]()`, one output of the variable's type at that place, named after the
//!   variable if [`is_meaningful`] (which gives a number to the value that was called so: `%x.1`).
//!   The attribute is [`Attribute::Str`](sconce_ir::Attribute::Str) under `name`. A graph's inputs
//!   are stored under their names at its start.
//! * **If**: `prim::If(%cond)` with two blocks. Blocks have no results and the node no outputs for
//!   variables: those are added here, from the stores in the blocks. A ternary, `and` and `or` give
//!   each block one result and the node one output themselves; outputs for variables go after it.
//!   Type refinements are stores at the start of a block, of a `prim::unchecked_cast` of a load.
//!   Whether a variable is defined in both branches, with types that can be unified, is checked by
//!   the emitter (its errors are those of use: "x is not defined in the false branch"); here types
//!   that cannot be unified become a Union, as in PyTorch.
//! * **Loop**: `prim::Loop(%max_trip_count)`, one input (`INT64_MAX` for `while`) and two blocks.
//!   Block 0 is the body: one parameter (int, the trip count; unnamed), no results. Block 1 is the
//!   condition: no parameters, one result (bool). For `for` it is empty and its result is a constant
//!   True made before the loop. PyTorch makes block 0, then block 1, emits the condition, and then
//!   the body.
//! * **Exits**: `prim::BreakStmt()`, `prim::ContinueStmt()` and `prim::ReturnStmt(%value)` without
//!   outputs; nodes may follow them (they are dropped here). The implicit `return None` is an
//!   explicit `ReturnStmt` as well. The graph's block has **one result** already: a
//!   `prim::Uninitialized` of the return type, made after the last statement (PyTorch's
//!   `emitOutput`); it is replaced by what the `ReturnStmt`s give. The same goes for the block of a
//!   closure.
//! * **With**: `prim::Enter(%obj)` … `prim::Exit(%obj, …)` in the same block, properly nested, the
//!   same first input.
//! * **Comprehension**: [`Prim::ComprehensionScope`], no inputs and outputs, one block without
//!   parameters and results; stores in it do not leak. It is dissolved here.
//! * **Closure**: [`Prim::Closure`] with one output and one block, whose exits are its own.
//!
//! # What comes out
//!
//! No loads, stores, exits or scopes; `prim::If` with outputs, `prim::Loop` with inputs
//! (trip count, condition, carried…), outputs and one block whose results are (condition, carried…);
//! constants True and False and `prim::Uninitialized` at the graph's start, some of them unused
//! (PyTorch leaves them to dead code elimination and pooling too). `canonicalize_modified_loops` and
//! the cleanup passes come next.

mod erase;
mod exits;
mod frames;
mod loop_condition;
mod loop_exits;
mod merge_ifs;
mod variables;
mod with_blocks;

use sconce_ir::{BlockId, Graph, NodeId, Prim, Type, Unit, verify_after, verify_links_after};

pub(crate) use exits::TypeObject;
pub use variables::is_meaningful;

use crate::{Error, nesting};

/// Turns a graph of loads and stores into one of values; see the [module](self). PyTorch's
/// `ConvertToSSA`.
///
/// # Errors
/// When blocks nest more than [`MAX_BLOCK_DEPTH`](sconce_ir::MAX_BLOCK_DEPTH) deep, before or after;
/// when a variable that a `with` block sets after a statement that may leave it is read after the
/// block (PyTorch fails there with an internal assertion); and when the graph is not as above.
pub fn convert_to_ssa(unit: &Unit, graph: &mut Graph) -> Result<(), Error> {
    nesting::check(graph, 0)?;
    variables::add_block_variables(unit, graph);
    verify_links_after("add_block_variables", graph);
    loop_exits::target_loops(graph)?;
    verify_links_after("target_loops", graph);
    loop_condition::inline(graph)?;
    verify_after("loop_condition::inline", graph);
    erase::loads_and_stores(graph)?;
    verify_after("loads_and_stores", graph);
    // What is in the block of a `with` is used after it, so the graph is not one that can be verified
    // until the blocks are gone again.
    let has_with = with_blocks::wrap(graph)?;
    exits::transform(unit, graph)?;
    if !has_with {
        verify_after("exits::transform", graph);
    }
    merge_ifs::merge(graph, graph.root());
    with_blocks::unwrap(graph);
    verify_after("merge_ifs", graph);
    Ok(())
}

/// An error at a node.
fn error_at(graph: &Graph, node: NodeId, message: impl Into<String>) -> Error {
    Error::at_node(graph.node(node), message)
}

/// The node after `node` in its block, unless that is the block's end.
fn next_in_block(graph: &Graph, node: NodeId) -> Option<NodeId> {
    let next = graph.next(node);
    (!graph.node(next).is(Prim::Return)).then_some(next)
}

/// The first node of a block.
fn first_in_block(graph: &Graph, block: BlockId) -> Option<NodeId> {
    next_in_block(graph, graph.param_node(block))
}

/// The type of a variable that has one type on one way and another on another.
fn unify(unit: &Unit, a: &Type, b: &Type) -> Type {
    Type::unify(a, b, true, None, unit).unwrap_or(Type::Any)
}
