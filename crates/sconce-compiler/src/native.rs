//! Names as a program without any surroundings knows them.

use sconce_ir::{Constant, FunctionId, Type, Unit};

use crate::{Error, Global, Resolver};

/// Knows `torch` and the unit's own functions and types: PyTorch's `nativeResolver`, as
/// `CompilationUnit.define` uses it.
#[derive(Clone, Copy, Debug, Default)]
pub struct NativeResolver;

impl Resolver for NativeResolver {
    fn value(&mut self, unit: &mut Unit, name: &str) -> Result<Option<Global>, Error> {
        if name == "torch" {
            return Ok(Some(Global::Torch));
        }
        Ok(unit.find_function(name).map(Global::Function))
    }

    fn member(
        &mut self,
        _unit: &mut Unit,
        _namespace: &str,
        _name: &str,
    ) -> Result<Option<Global>, Error> {
        Ok(None)
    }

    fn ty(&mut self, unit: &mut Unit, name: &str) -> Result<Option<Type>, Error> {
        Ok(unit.find_type(name).cloned())
    }

    fn constant(&mut self, _unit: &mut Unit, _name: &str) -> Result<Option<Constant>, Error> {
        Ok(None)
    }

    fn ensure_schema(&mut self, _unit: &mut Unit, _function: FunctionId) -> Result<(), Error> {
        Ok(())
    }
}
