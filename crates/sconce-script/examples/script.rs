//! Compiles a function or module of a Python file and saves it, and does nothing else: to measure what
//! that takes.
//!
//! `cargo run --release -p sconce-script --example script FILE.py NAME [OUTPUT.pt]`

use std::error::Error;

use sconce_script::ScriptOptions;
use sconce_torchscript::SaveOptions;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, name, output @ ..] = arguments.as_slice() else {
        return Err("usage: script FILE.py NAME [OUTPUT.pt]".into());
    };
    let scripted = ScriptOptions::new().name(name).open(file)?;
    match output.first() {
        Some(path) => SaveOptions::new().replace(true).save(scripted.module(), path)?,
        None => drop(SaveOptions::new().save_to(scripted.module(), std::io::sink())?),
    }
    Ok(())
}
