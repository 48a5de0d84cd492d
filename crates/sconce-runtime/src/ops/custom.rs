//! Operators that a process registers: what computes those that are not PyTorch's own.
//!
//! Their schemas are known to everything that compiles and lists programs (`sconce_ir::operators::register`); here are
//! the functions. torchaudio's operators are registered this way when the first one is looked for.

use std::fmt;
use std::sync::{LazyLock, PoisonError, RwLock};

use rustc_hash::FxHashMap;
use sconce_ir::operators::{self, RegisterError};
use sconce_ir::{Schema, Type};
use sconce_kernels::Tensor;

use crate::error::{Error, Raise, kernel};
use crate::op_context::{OpContext, type_of};
use crate::ops::descriptor::derived::Target;
use crate::ops::{Args, Builtin, torchaudio};
use crate::value::IValue;

/// What computes a registered operator.
type Function = dyn Fn(&OperatorArgs<'_>) -> Result<IValue, OperatorError> + Send + Sync;

/// A registered operator. It lives as long as the process.
pub(crate) struct Custom {
    schema: &'static Schema,
    function: Box<Function>,
}

static FUNCTIONS: LazyLock<RwLock<FxHashMap<(&'static str, &'static str), &'static Custom>>> =
    LazyLock::new(|| {
        let mut functions = FxHashMap::default();
        for (name, function) in torchaudio::FUNCTIONS {
            if let Some(operator) = operators::find_full(name) {
                insert(&mut functions, &operator.schema, *function);
            }
        }
        RwLock::new(functions)
    });

fn insert<F>(
    functions: &mut FxHashMap<(&'static str, &'static str), &'static Custom>,
    schema: &'static Schema,
    function: F,
) where
    F: Fn(&OperatorArgs<'_>) -> Result<IValue, OperatorError> + Send + Sync + 'static,
{
    let custom: &'static Custom =
        Box::leak(Box::new(Custom { schema, function: Box::new(function) }));
    functions.insert((&schema.name, &schema.overload), custom);
}

/// The operators that programs may use. PyTorch's own are always there; [`Registry::custom`] adds others.
#[derive(Debug)]
#[non_exhaustive]
pub struct Registry;

impl Registry {
    /// Makes an operator of your own known, and what computes it, for the rest of the process: programs that name it
    /// compile, are listed, saved and run. Register before you load what uses it.
    ///
    /// `name` is `namespace::operator` or `namespace::operator.overload`; `signature` is the rest of its schema as
    /// PyTorch writes it, `(Tensor x, float by=2.0) -> Tensor`. The function gets the arguments in that order, defaults
    /// filled in, and gives one value, a tuple of several (`IValue::tuple`), or `IValue::None` for `-> ()`. An argument
    /// that it writes to is marked in the signature, `Tensor(a!) out`: otherwise a program may be optimised as if nothing
    /// was written.
    ///
    /// What it gives does not require gradients, as with a kernel that PyTorch knows for the CPU alone. It may be called
    /// from any thread that runs programs.
    ///
    /// # Errors
    /// When the schema cannot be read, when the name is PyTorch's own, or when it is registered already.
    pub fn custom<F>(name: &str, signature: &str, function: F) -> Result<(), RegisterError>
    where
        F: Fn(&OperatorArgs<'_>) -> Result<IValue, OperatorError> + Send + Sync + 'static,
    {
        let operator = operators::register(&format!("{name}{}", signature.trim_start()))?;
        let mut functions = FUNCTIONS.write().unwrap_or_else(PoisonError::into_inner);
        insert(&mut functions, &operator.schema, function);
        Ok(())
    }
}

/// The arguments of a registered operator, in the order of its schema.
#[derive(Debug)]
pub struct OperatorArgs<'a> {
    schema: &'a Schema,
    values: &'a [IValue],
}

macro_rules! getter {
    ($(#[$doc:meta])* $name:ident, $ty:ty, $what:literal, $($pattern:pat => $value:expr),+) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// When it is something else.
        pub fn $name(&self, index: usize) -> Result<$ty, OperatorError> {
            match self.get(index) {
                $($pattern => Ok($value),)+
                other => Err(self.wrong(index, $what, other)),
            }
        }
    };
}

impl<'a> OperatorArgs<'a> {
    /// All of them.
    pub fn values(&self) -> &'a [IValue] {
        self.values
    }

    /// One of them; `None` beyond the last.
    pub fn get(&self, index: usize) -> &'a IValue {
        self.values.get(index).unwrap_or(&IValue::None)
    }

    getter!(
        /// A tensor.
        tensor, &'a Tensor, "a tensor", IValue::Tensor(tensor) => tensor
    );
    getter!(
        /// A tensor, or `None` for what the schema calls `Tensor?`.
        optional_tensor, Option<&'a Tensor>, "a tensor or None",
        IValue::Tensor(tensor) => Some(tensor), IValue::None => None
    );
    getter!(
        /// An `int`.
        int, i64, "an int", IValue::Int(value) => *value
    );
    getter!(
        /// A `float`, or an `int` as one.
        float, f64, "a float", IValue::Float(value) => *value, IValue::Int(value) => *value as f64
    );
    getter!(
        /// A `bool`.
        bool, bool, "a bool", IValue::Bool(value) => *value
    );
    getter!(
        /// A `str`.
        str, String, "a str", IValue::Str(text) => text.to_string()
    );

    fn wrong(&self, index: usize, what: &str, found: &IValue) -> OperatorError {
        let name = self.schema.arguments.get(index).map_or("?", |argument| &*argument.name);
        OperatorError(Raise::Error(Error::Malformed(format!(
            "{} expects {what} as '{name}' (argument {index}), and its schema gives {}",
            self.schema.full_name(),
            found.kind_name()
        ))))
    }
}

/// Why a registered operator gives no value: what a program sees as a `RuntimeError` of this message.
#[derive(Debug, Clone)]
pub struct OperatorError(Raise);

impl OperatorError {
    /// An error of a message.
    pub fn new(message: impl Into<String>) -> Self {
        OperatorError(Raise::message(message))
    }
}

impl fmt::Display for OperatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Raise::Exception { message, .. } => f.write_str(message),
            Raise::Error(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for OperatorError {}

impl From<sconce_kernels::Error> for OperatorError {
    fn from(error: sconce_kernels::Error) -> Self {
        OperatorError(kernel(error))
    }
}

impl From<Error> for OperatorError {
    fn from(error: Error) -> Self {
        OperatorError(error.into())
    }
}

/// A registered operator by name and overload.
pub(crate) fn find(symbol: &str, overload: &str) -> Option<Builtin> {
    let functions = FUNCTIONS.read().unwrap_or_else(PoisonError::into_inner);
    let custom = functions.get(&(symbol, overload)).copied()?;
    let run: crate::ops::descriptor::Run = |_, _| {
        // Its target computes it.
        Err(Raise::Error(Error::Malformed("a registered operator without its function".to_owned())))
    };
    Some(Builtin {
        run,
        fast_path: None,
        strides: None,
        overlap: None,
        size_guard: false,
        target: Target::Custom(custom),
        sparse: None,
        sparse_in_place: false,
    })
}

impl Custom {
    /// Calls the function, and checks what it gives against the schema.
    pub(crate) fn call(
        &self,
        context: &mut dyn OpContext,
        args: &Args<'_>,
    ) -> Result<IValue, Raise> {
        let given = OperatorArgs { schema: self.schema, values: args.0 };
        let result = (self.function)(&given).map_err(|OperatorError(raise)| raise)?;
        let returns = &self.schema.returns;
        let fits = match (returns.as_slice(), &result) {
            ([], result) => result.is_none(),
            ([only], result) => fits(context, result, &only.ty)?,
            (several, IValue::Tuple(tuple)) if several.len() == tuple.items.len() => {
                let mut all = true;
                for (item, wanted) in tuple.items.iter().zip(several) {
                    all &= fits(context, item, &wanted.ty)?;
                }
                all
            }
            _ => false,
        };
        if fits {
            return Ok(result);
        }
        let found = type_of(context, &result)?;
        Err(Raise::Error(Error::Malformed(format!(
            "the function registered for {} gave {found}, which its schema does not: {}",
            self.schema.full_name(),
            self.schema
        ))))
    }
}

fn fits(context: &mut dyn OpContext, value: &IValue, wanted: &Type) -> Result<bool, Error> {
    let found = type_of(context, value)?;
    Ok(context.is_subtype(&found, wanted))
}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Custom({})", self.schema)
    }
}

impl PartialEq for Custom {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Custom {}
