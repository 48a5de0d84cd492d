//! Changes to graphs that keep what they compute, one a file, each PyTorch's of the same name. [`autocast`] alone changes
//! what is computed, as the program asks for.
//!
//! Every pass leaves a graph that [`verify`](crate::verify) accepts; debug builds check it.

mod annotate_warns;
mod autocast;
mod canonicalize_modified_loops;
mod canonicalize_outputs;
mod constant_pooling;
mod constant_propagation;
mod dead_code;
mod erase_list_literals;
mod evaluate;
mod inline;
mod inline_forked_closures;
mod lift_closures;
mod lower_tuples;
mod normalize_ops;
mod peephole;

use crate::Graph;

pub use annotate_warns::annotate_warns;
pub use autocast::{AutocastError, autocast, enters_autocast};
pub use canonicalize_modified_loops::canonicalize_modified_loops;
pub use canonicalize_outputs::canonicalize_outputs;
pub use constant_pooling::constant_pooling;
pub use constant_propagation::constant_propagation_immutable_types;
pub use dead_code::eliminate_dead_code;
pub use erase_list_literals::erase_list_literals;
pub use inline::{InlineError, inline, inline_optimized};
pub use inline_forked_closures::{CannotFork, inline_forked_closures};
pub use lift_closures::lift_closures;
pub use lower_tuples::lower_simple_tuples;
pub use normalize_ops::normalize_ops;
pub use peephole::peephole;

/// Checks the graph after a pass, in debug builds.
fn finish(graph: &Graph, pass: &str) {
    crate::verify_after(pass, graph);
}
