//! Operators beside PyTorch's own table: those of libraries known here, and those that a process registers.
//!
//! They are few and live as long as the process, as PyTorch's do: each is leaked when it is registered.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use super::{AliasAnalysis, Operator, OperatorId};
use crate::Schema;

/// Schemas of libraries whose operators are written in C++, a line each: those of torchaudio 2.11, as PyTorch lists
/// them once the library is loaded, and two that earlier versions had.
const OF_LIBRARIES: &str = include_str!("../../operators/libraries.txt");

/// What is registered.
#[derive(Default)]
struct Registered {
    /// The overloads of each name, in the order of registration.
    by_name: BTreeMap<Arc<str>, &'static [Operator]>,
    /// All of them; the first has the id after PyTorch's last.
    by_id: Vec<&'static Operator>,
}

static REGISTERED: LazyLock<RwLock<Registered>> = LazyLock::new(|| {
    let mut registered = Registered::default();
    for line in OF_LIBRARIES.lines() {
        // Every line is a schema: a test registers them.
        if let Ok(schema) = Schema::parse(line) {
            let _ = registered.add(schema);
        }
    }
    RwLock::new(registered)
});

/// Why an operator could not be registered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegisterError {
    /// The schema cannot be read: why.
    Schema(String),
    /// A name without a namespace.
    NoNamespace(String),
    /// The namespace or name is one of PyTorch's own.
    OfPyTorch(String),
    /// An operator of this name and overload is there already: its schema.
    Twice(String),
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RegisterError::Schema(why) => {
                write!(f, "the schema of an operator cannot be read: {why}")
            }
            RegisterError::NoNamespace(name) => write!(
                f,
                "the operator {name} has no namespace: its schema begins with one, as in \
                 `my_library::{name}(Tensor x) -> Tensor`"
            ),
            RegisterError::OfPyTorch(name) => {
                write!(f, "{name} is one of PyTorch's operators, which cannot be registered again")
            }
            RegisterError::Twice(schema) => write!(
                f,
                "Tried to register an operator ({schema}) with the same name and overload name multiple times."
            ),
        }
    }
}

impl std::error::Error for RegisterError {}

impl Registered {
    fn add(&mut self, schema: Schema) -> Result<&'static Operator, RegisterError> {
        let known = self.by_name.get(&schema.name).copied().unwrap_or_default();
        if let Some(there) = known.iter().find(|there| there.schema.overload == schema.overload) {
            return Err(RegisterError::Twice(there.schema.to_string()));
        }
        let id = OperatorId(super::count().saturating_add(self.by_id.len() as u32));
        let name = Arc::clone(&schema.name);
        let schema = Arc::new(schema);
        let (has_side_effects, is_nondeterministic) = (false, false);
        let alias_analysis = AliasAnalysis::FromSchema;
        let operator =
            Operator { id, schema, has_side_effects, is_nondeterministic, alias_analysis };
        let overloads: Vec<Operator> = known.iter().cloned().chain([operator]).collect();
        let overloads: &'static [Operator] = Vec::leak(overloads);
        self.by_name.insert(name, overloads);
        let operator = &overloads[known.len()];
        self.by_id.push(operator);
        Ok(operator)
    }
}

/// Makes an operator known to everything that compiles, prints and lists programs, for the rest of the process. What
/// computes it, if anything does, is registered where programs run.
///
/// The schema is PyTorch's text of one, with a namespace. Arguments that the operator writes to are marked as there:
/// `my_library::fill(Tensor(a!) out, float value) -> Tensor(a!)`.
///
/// ```
/// use sconce_ir::operators;
///
/// let operator = operators::register("my_library::twice(Tensor x) -> Tensor")?;
/// assert_eq!(operators::named("my_library::twice").len(), 1);
/// assert!(operators::register("my_library::twice(Tensor x, int n) -> Tensor").is_err());
/// operators::register("my_library::twice.times(Tensor x, int n) -> Tensor")?;
/// assert_eq!(operators::named("my_library::twice").len(), 2);
/// assert_eq!(operators::get(operator.id).map(|found| found.schema.to_string()).as_deref(),
///            Some("my_library::twice(Tensor x) -> Tensor"));
/// # Ok::<(), operators::RegisterError>(())
/// ```
///
/// # Errors
/// When the schema cannot be read, has no namespace or PyTorch's own, or when the name and the overload are taken.
pub fn register(schema: &str) -> Result<&'static Operator, RegisterError> {
    let schema = Schema::parse(schema).map_err(|why| RegisterError::Schema(why.to_string()))?;
    let Some((namespace, _)) = schema.name.split_once("::") else {
        return Err(RegisterError::NoNamespace(schema.name.to_string()));
    };
    if matches!(namespace, "aten" | "prim" | "prims" | "sconce" | "onnx" | "cuda")
        || !super::in_table(&schema.name).is_empty()
    {
        return Err(RegisterError::OfPyTorch(schema.name.to_string()));
    }
    REGISTERED.write().unwrap_or_else(PoisonError::into_inner).add(schema)
}

/// The registered overloads of a name.
pub(super) fn named(symbol: &str) -> &'static [Operator] {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    registered.by_name.get(symbol).copied().unwrap_or_default()
}

/// The registered operator whose id is so many after PyTorch's last.
pub(super) fn get(index: u32) -> Option<&'static Operator> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    registered.by_id.get(index as usize).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_library_operator_is_read_and_prints_as_it_reads() {
        for line in OF_LIBRARIES.lines() {
            let schema = Schema::parse(line).unwrap();
            assert_eq!(schema.to_string(), line);
            let found = super::super::find(&schema.name, &schema.overload).unwrap();
            assert_eq!(*found.schema, schema);
            assert_eq!(super::super::get(found.id).unwrap().schema.to_string(), line);
        }
    }

    #[test]
    fn what_is_refused_says_why() {
        let refused = |schema| register(schema).unwrap_err().to_string();
        assert!(refused("aten::mine(Tensor x) -> Tensor").contains("PyTorch's operators"));
        assert!(refused("torchvision::nms(Tensor x) -> Tensor").contains("PyTorch's operators"));
        assert!(refused("mine(Tensor x) -> Tensor").contains("my_library::mine"));
        assert!(refused("a::b(Tensor x").contains("cannot be read"));
        assert!(refused("torchaudio::forced_align(Tensor x) -> Tensor").starts_with(
            "Tried to register an operator (torchaudio::forced_align(Tensor log_probs, "
        ));
    }
}
