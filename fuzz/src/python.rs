//! Python source, compiled.

use sconce_script::{Error, ScriptOptions, Scripted};
use sconce_torchscript::Module;

/// Compiles a text; what stands behind a last line `#----` is the expression that names what is
/// compiled.
pub fn compile(input: &str, eval: bool) -> Result<Scripted, Error> {
    let options = ScriptOptions::new().eval(eval);
    match input.rsplit_once("\n#----\n") {
        Some((text, name)) => options.name(name.trim_end()).compile_text("fuzz.py", text),
        None => options.compile_text("fuzz.py", input),
    }
}

/// The module of a text, if it compiles and has all its numbers.
pub fn module(input: &str) -> Option<Module> {
    let scripted = compile(input, false).ok()?;
    scripted.missing().is_empty().then(|| scripted.module().clone())
}
