//! Operators that no program has: passes of the optimizer put them into graphs.

pub(crate) mod blocked_layout;
pub(crate) mod conv3d;
pub(crate) mod integer_layers;
pub(crate) mod layers;
pub(crate) mod pointwise;

/// The name of an operator without its namespace.
fn operator_name(symbol: &'static str) -> &'static str {
    symbol.rsplit("::").next().unwrap_or(symbol)
}
