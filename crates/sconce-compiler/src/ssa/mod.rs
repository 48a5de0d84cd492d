//! From variables to values: loads and stores become static single assignments, and early exits
//! become conditions.
//!
//! The same steps as PyTorch's `ConvertToSSA`, with the same result down to the order of outputs and
//! the names of values.
//!
//! # What the emitter hands in
//!
//! * **Assignment**: `prim::Store[name="x"](%v)`, no outputs. **Use of a variable**:
//!   `prim::Load[name="x"]()`, one output of the variable's type at that place (name the output after
//!   the variable if it is meaningful, as PyTorch's `createLoad` does). The attribute is
//!   [`sconce_ir::Attribute::Str`] under `name`. A graph's inputs are stored under their names at its
//!   start.
//! * **If**: `prim::If(%cond)` with two blocks. Blocks have no results and the node no outputs for
//!   variables: those are added here, from the stores in the blocks. A ternary, `and` and `or` give
//!   each block one result and the node one output themselves; outputs for variables go after it.
//!   Type refinements are stores at the start of a block, of `prim::unchecked_cast` of a load.
//!   Whether a variable is defined in both branches, with types that can be unified, is checked by
//!   the emitter (its errors are those of use: "x is not defined in the false branch"). A variable
//!   whose types cannot be unified is left out here, so no load may follow.
//! * **Loop**: `prim::Loop(%max_trip_count)`, one input (`INT64_MAX` for `while`) and two blocks.
//!   Block 0 is the body: one parameter (int, the trip count; unnamed), no results. Block 1 is the
//!   condition: no parameters, one result (bool). For `for` it is empty and its result is a constant
//!   True made before the loop. PyTorch makes block 0, then block 1, emits the condition, and then
//!   the body.
//! * **Exits**: `prim::BreakStmt()`, `prim::ContinueStmt()` and `prim::ReturnStmt(%value)` without
//!   outputs; nodes may follow them (they are dropped). Every way through a graph ends in a
//!   `prim::ReturnStmt` or an exception, the implicit `return None` included; the graph's own block
//!   has **no results** yet, its result is registered here. (A graph without any `ReturnStmt` that
//!   already has a result keeps it.)
//! * **With**: `prim::Enter(%obj)` … `prim::Exit(%obj, …)` in the same block, properly nested, the
//!   same first input.
//! * **Comprehension**: a node of kind `prim::ComprehensionScope` ([`Prim::ComprehensionScope`]),
//!   no inputs and outputs, one block without parameters and results; stores in it do not leak. It
//!   is dissolved here.
//! * **Closure**: a node of kind `prim::Closure` with one output and one block, whose exits are its
//!   own. The closure's value is its block's `ReturnStmt`.
//!
//! # What comes out
//!
//! No loads, stores, exits or scopes; `prim::If` with outputs, `prim::Loop` with inputs
//! (trip count, condition, carried…), outputs and one block whose results are (condition, carried…);
//! constants True and False and `prim::Uninitialized` at the graph's start, some of them unused
//! (PyTorch leaves them to dead code elimination and pooling too). Values are not yet canonical:
//! run `canonicalize_modified_loops` and the cleanup passes next.
