//! Gradients inside a program: `torch.autograd.grad`, `Tensor.backward` and what tells of them.
//!
//! Nothing is recorded unless a method, or what it calls, asks for a gradient. Then every operator is
//! recorded ([`record`]) that computes with a tensor that requires one: its result remembers ([`autograd_meta`])
//! the node ([`graph`]) that made it, which knows the operands' nodes. [`backward`] goes over the nodes from the
//! last to the first. What the derivative of an operator is says `derivatives.txt`, in expressions of
//! TorchScript that are compiled when they are first needed ([`derivatives`]) and run by the same interpreter:
//! with `create_graph=True` they are recorded in turn. Operators of backward passes that a program calls by
//! name are such expressions as well. Views and what is written through them are in
//! [`record::views`].

pub(crate) mod autograd_meta;
pub(crate) mod backward;
pub(crate) mod derivatives;
pub(crate) mod graph;
pub(crate) mod record;

pub(crate) use crate::autograd::autograd_meta::accumulated;
pub(crate) use crate::autograd::autograd_meta::detach_in_place;
pub(crate) use crate::autograd::autograd_meta::is_leaf;
pub(crate) use crate::autograd::autograd_meta::is_retained;
pub(crate) use crate::autograd::autograd_meta::require;
pub(crate) use crate::autograd::autograd_meta::retain;
pub(crate) use crate::autograd::autograd_meta::want;
pub(crate) use crate::autograd::backward::Backward;
pub(crate) use crate::autograd::backward::run_backward;
pub(crate) use crate::autograd::derivatives::is_expression;
pub(crate) use crate::autograd::record::evaluate_operator as evaluate;
pub(crate) use crate::autograd::record::run as run_recorded;
pub(crate) use crate::autograd::record::views::requires_grad;

/// Operators that ask for gradients, or whose expression does: a program without them is not recorded.
const ASKING: [&str; 5] = [
    "aten::grad",
    "aten::backward",
    "aten::backward.TensorList",
    "aten::grid_sampler_2d_backward",
    "aten::grid_sampler_3d_backward",
];

/// Whether an operator asks for gradients.
pub(crate) fn asks(operator: &str) -> bool {
    ASKING.contains(&operator)
}
