//! Programs without surroundings: what `CompilationUnit.define` takes.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use sconce_ir::{Function, FunctionId, Type, Unit};
use sconce_syntax::Source;

use crate::compile::{Options, compile, completed, declare};
use crate::definition::Definition;
use crate::{Error, Global, Resolver};

/// Knows `torch` and the unit's own functions and types: PyTorch's `nativeResolver`, with the
/// functions of a text that is being compiled.
#[derive(Clone, Debug, Default)]
pub struct NativeResolver {
    /// The functions that are not compiled yet; `None` while they are.
    pending: FxHashMap<FunctionId, Option<Definition>>,
}

/// Adds the functions of a text to a unit and compiles them, as `CompilationUnit.define` does.
///
/// # Errors
/// What is wrong with the text, in PyTorch's wording.
pub fn define(unit: &mut Unit, source: &Arc<Source>) -> Result<Vec<FunctionId>, Error> {
    let mut resolver = NativeResolver::default();
    let mut functions = Vec::new();
    for def in sconce_syntax::parse_defs(source)? {
        let name = Arc::clone(&def.name.name);
        let definition = Definition::new(Arc::new(def), Arc::clone(source));
        let schema = declare(unit, &mut resolver, &definition, None, Arc::clone(&name))?;
        let function =
            Function { qualified_name: name, class: None, schema: Arc::new(schema), graph: None };
        let id = unit.add_function(function);
        resolver.pending.insert(id, Some(definition));
        functions.push(id);
    }
    for &function in &functions {
        resolver.ensure_schema(unit, function)?;
    }
    Ok(functions)
}

impl Resolver for NativeResolver {
    fn value(&mut self, unit: &mut Unit, name: &str) -> Result<Option<Global>, Error> {
        if name == "torch" {
            return Ok(Some(Global::Torch));
        }
        Ok(unit.find_function(name).map(Global::Function))
    }

    fn ty(&mut self, unit: &mut Unit, name: &str) -> Result<Option<Type>, Error> {
        Ok(unit.find_type(name).cloned())
    }

    fn ensure_schema(&mut self, unit: &mut Unit, function: FunctionId) -> Result<(), Error> {
        let Some(pending) = self.pending.get_mut(&function) else { return Ok(()) };
        let Some(definition) = pending.take() else {
            let message = format!(
                " function '{}' is called recursively. Recursive calls are not supported",
                unit.function(function).name()
            );
            return Err(Error::without_range(message));
        };
        let declared = Arc::clone(&unit.function(function).schema);
        let graph = compile(unit, self, &definition, &declared, &Options::default())?;
        let compiled = unit.function_mut(function);
        compiled.schema = Arc::new(completed(&declared, &graph));
        compiled.graph = Some(Arc::new(graph));
        self.pending.remove(&function);
        Ok(())
    }
}
