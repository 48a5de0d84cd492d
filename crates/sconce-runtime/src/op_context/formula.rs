//! What is known of an operator's derivative, compiled.

use std::any::Any;
use std::rc::Rc;

use sconce_ir::Schema;

/// A graph that has been made ready to run, for whoever made it so.
#[derive(Debug, Clone)]
pub(crate) struct CompiledGraph(pub(crate) Rc<dyn Any>);

/// What is known of an operator's derivative.
pub(crate) enum Rule {
    /// A formula for each argument that gets a gradient.
    Formulas(Vec<Formula>),
    /// What is computed instead.
    As(Formula),
    /// All gradients are zero.
    Zero,
    /// Results are constants.
    None,
}

/// A compiled expression.
pub(crate) struct Formula {
    /// The arguments whose gradients it gives; none that get no gradient.
    pub(crate) arguments: Vec<usize>,
    pub(crate) inputs: Vec<Input>,
    /// `None` where it only says that the arguments get no gradient.
    pub(crate) code: Option<CompiledGraph>,
}

/// What an expression reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Input {
    pub(crate) from: From,
    /// Whether it reads elements, not only sizes and dtype.
    pub(crate) reads_elements: bool,
}

/// Where an expression's input is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    /// The gradient of a result.
    Gradient(usize),
    /// The gradients of a list.
    Gradients,
    Operand(usize),
    Result(usize),
}

/// What is known of an operator that is recorded.
pub(crate) struct Known {
    pub(crate) name: Rc<str>,
    pub(crate) schema: &'static Schema,
    pub(crate) rule: Option<Rc<Rule>>,
    pub(crate) effect: Effect,
}

/// What an operator does besides giving new tensors.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    None,
    /// Its results may show elements of its first operand.
    Views,
    /// It changes its first operand.
    InPlace,
    /// It writes to operands given for that.
    Out,
}
