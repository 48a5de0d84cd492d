//! What an operator sees of the program that runs it.
//!
//! Operators compute with their operands. A few draw random numbers, print, ask for a class or call a function of
//! the program; all of them are held to the limits of the call. [`OpContext`] is what they get for that, and no
//! more: neither registers nor code.

pub(crate) mod autograd_state;
pub(crate) mod formula;

use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use sconce_ir::{ClassId, FunctionId, Graph, Type};
use sconce_kernels::{Generator, Precision};
use smallvec::SmallVec;

use crate::error::{Error, Raise};
use crate::limits::Budget;
use crate::op_context::autograd_state::AutogradState;
use crate::op_context::formula::CompiledGraph;
use crate::value::IValue;

/// The operands of an instruction.
pub(crate) type Operands = SmallVec<[IValue; 4]>;

/// Computes an operator with operands, as its row says.
pub(crate) type Compute<'a> =
    &'a dyn Fn(&mut dyn OpContext, &mut [IValue]) -> Result<IValue, Raise>;

/// What a running program asks of a class.
#[derive(Debug)]
pub(crate) struct ClassInfo {
    pub(crate) ty: Type,
    pub(crate) name: Arc<str>,
    /// Whether it is written in C++, and has no code here.
    pub(crate) is_torchbind: bool,
    pub(crate) attributes: Vec<(Arc<str>, Type)>,
    pub(crate) methods: FxHashMap<Arc<str>, FunctionId>,
}

/// The program around an operator.
pub(crate) trait OpContext {
    /// What is left of the call's limits.
    fn budget(&self) -> &Budget;
    /// The same, to be spent from.
    fn budget_mut(&mut self) -> &mut Budget;
    /// The session's generator of random numbers.
    fn generator(&mut self) -> &mut Generator;
    /// Whether every product of a layer is to be computed as it stands ([`Options::exact`](crate::Options::exact)).
    fn exact(&self) -> bool;
    /// How exact products with constant weights are to be ([`Options::precision`](crate::Options::precision)).
    fn precision(&self) -> Precision;
    /// What is recorded for gradients.
    fn autograd(&self) -> &AutogradState;
    /// The same, to be changed.
    fn autograd_mut(&mut self) -> &mut AutogradState;
    /// Prints text.
    fn print(&mut self, text: &str);
    /// Passes on the message of a warning.
    fn warn(&mut self, message: &str);
    /// What is known of a class.
    fn class(&mut self, id: ClassId) -> Rc<ClassInfo>;
    /// The class written in C++ of a name.
    fn custom_class(&self, name: &str) -> Option<ClassId>;
    /// Whether a type is a subtype of another in this program.
    fn is_subtype(&self, ty: &Type, of: &Type) -> bool;
    /// The method of an object.
    fn method(&mut self, object: &IValue, name: &str) -> Result<FunctionId, Error>;
    /// Calls a function of the program.
    fn call(&mut self, function: FunctionId, args: Vec<IValue>) -> Result<IValue, Error>;
    /// Calls an operator by its full name, recorded where gradients are.
    fn apply(&mut self, name: &str, args: Operands) -> Result<IValue, Raise>;
    /// Makes a graph ready to run that is in no function, with a table of constants of its own. The error says what
    /// it needs and is not here.
    fn compile(
        &mut self,
        name: &str,
        graph: &Graph,
        constants: &[IValue],
    ) -> Result<CompiledGraph, String>;
    /// Runs such a graph.
    fn run_compiled(&mut self, graph: &CompiledGraph, args: Operands) -> Result<IValue, Raise>;
}

/// The type of a value: `IValue::type()`.
pub(crate) fn type_of(context: &mut dyn OpContext, value: &IValue) -> Result<Type, Error> {
    let ty = value.type_with(&mut |class| context.class(class).ty.clone());
    ty.ok_or_else(|| Error::Limit("limit of the nesting of types exceeded".to_owned()))
}
