//! What a program needs and is not here, without running it.

use sconce_torchscript::Module;

use crate::Error;
use crate::bytecode::lower::{LoweringContext, lower};
use crate::bytecode::need::Need;
use crate::value::IValue;

/// What all methods and functions of a program need and is not here, place by place. A session
/// needs only what the called method comes to: [`crate::Session::needs`].
///
/// # Errors
/// When something does not compile.
pub fn needs(module: &Module) -> Result<Vec<Need>, Error> {
    // What the constants are makes no difference to which operators there are.
    let constants = vec![IValue::None; module.constants().len()];
    module.with_program(|program| {
        program.compile_all()?;
        let unit = program.unit();
        let context = LoweringContext { unit, constants: &constants };
        let mut out = Vec::new();
        for (_, function) in unit.functions() {
            let Some(graph) = &function.graph else { continue };
            let code = lower(function.name(), graph, &context)?;
            out.extend(code.missing.into_iter().map(|(what, range)| Need { what, range }));
        }
        Ok(out)
    })
}

/// As [`needs`], of one method and of all that it calls, each call counted.
///
/// # Errors
/// When there is no such method, or something that it calls does not compile.
pub fn needs_of(module: &Module, method: &str) -> Result<Vec<Need>, Error> {
    let graph = module.inlined_graph(method)?;
    let constants = vec![IValue::None; module.constants().len()];
    module.with_program(|program| {
        let context = LoweringContext { unit: program.unit(), constants: &constants };
        let code = lower(method, &graph, &context)?;
        Ok(code.missing.into_iter().map(|(what, range)| Need { what, range }).collect())
    })
}
