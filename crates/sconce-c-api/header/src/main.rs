//! Makes `include/sconce.h` of the source of the crate, by cbindgen and `cbindgen.toml`.
//!
//!     cargo run --manifest-path crates/sconce-c-api/header/Cargo.toml [-- --check]
//!
//! With `--check` nothing is written, and a header that is not what the source makes is an error.

use std::error::Error;
use std::fs;
use std::path::Path;

/// The header with compact comments, and without the sections on safety, which are for who reads the Rust: the words before
/// them say what a pointer is.
fn tidied(header: &str) -> String {
    let mut out = String::new();
    let mut lines = header.lines();
    while let Some(line) = lines.next() {
        let indent = &line[..line.len() - line.trim_start().len()];
        if line.trim() != "/*" {
            // One empty line is enough.
            if !line.trim().is_empty() || !out.ends_with("\n\n") {
                out.push_str(line.trim_end());
                out.push('\n');
            }
            continue;
        }
        let block = lines.by_ref().take_while(|line| line.trim() != "*/");
        let said: Vec<&str> = block.map(|line| line.trim().trim_start_matches("* ")).collect();
        let end = said.iter().position(|line| *line == "# Safety").unwrap_or(said.len());
        let said = said[..end].join("\n");
        let said = said.trim_end().replace('`', "").replace('\n', &format!("\n{indent} * "));
        out.push_str(&format!("{indent}/* {said} */\n").replace("* \n", "*\n"));
    }
    out
}

fn main() -> Result<(), Box<dyn Error>> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let config = cbindgen::Config::from_file(home.join("cbindgen.toml"))?;
    let header = cbindgen::Builder::new().with_crate(&home).with_config(config).generate()?;
    let mut text = Vec::new();
    header.write(&mut text);
    let text = tidied(&String::from_utf8(text)?);
    let path = home.join("include").join("sconce.h");
    if !std::env::args().any(|word| word == "--check") {
        fs::write(path, text)?;
    } else if fs::read_to_string(path)? != text {
        return Err(
            "include/sconce.h is not what the source makes: run this without --check".into()
        );
    }
    Ok(())
}
