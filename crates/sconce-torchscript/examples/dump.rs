//! Writes the graphs of every method of an archive, and the archive itself saved once and twice, for
//! comparison with PyTorch's: `dump MODEL OUT`, or lines of these on standard input.

use std::error::Error;
use std::fs;
use std::io::{BufRead, stdin};
use std::path::Path;
use std::sync::Arc;

use sconce_torchscript::{SaveOptions, load};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [model, out] => dump(Path::new(model), Path::new(out)),
        _ => {
            for line in stdin().lock().lines() {
                let line = line?;
                let Some((model, out)) = line.split_once('\t') else { continue };
                fs::create_dir_all(out)?;
                if let Err(error) = dump(Path::new(model), Path::new(out)) {
                    fs::write(Path::new(out).join("error.txt"), explain(error.as_ref()))?;
                }
            }
            Ok(())
        }
    }
}

fn explain(error: &(dyn Error + 'static)) -> String {
    let place = error
        .downcast_ref::<sconce_torchscript::Error>()
        .and_then(|error| error.program()?.range().map(|range| range.highlight()));
    format!("{error}\n{}", place.unwrap_or_default())
}

fn dump(model: &Path, out: &Path) -> Result<(), Box<dyn Error>> {
    let module = load(model)?;
    let [graphs, inlined] = ["graphs", "inlined"].map(|folder| out.join(folder));
    fs::create_dir_all(&graphs)?;
    fs::create_dir_all(&inlined)?;
    let mut failures = String::new();
    let functions = module.with_program(|program| {
        if let Err(error) = program.compile_all() {
            failures.push_str(&explain(&error));
        }
        let functions = program.unit().functions().map(|(id, _)| id);
        functions.filter(|&id| program.definition(id).is_some()).collect::<Vec<_>>()
    });
    for id in functions {
        let (name, graph) = module.with_program(|program| {
            (program.unit().function(id).qualified_name.to_string(), program.graph(id))
        });
        let both =
            [(&graphs, graph.map(Arc::unwrap_or_clone)), (&inlined, module.inlined_graph(&name))];
        for (folder, graph) in both {
            match graph {
                Ok(graph) => fs::write(folder.join(format!("{name}.txt")), graph.to_string())?,
                Err(error) => failures.push_str(&format!("{name}: {}\n", explain(&error))),
            }
        }
    }
    fs::write(out.join("failures.txt"), &failures)?;
    let first = out.join("resaved.pt");
    SaveOptions::new().replace(true).save(&module, &first)?;
    // The folder in an archive is the file's name: the second must have the same.
    let again = out.join("again");
    fs::create_dir_all(&again)?;
    SaveOptions::new().replace(true).save(&load(&first)?, again.join("resaved.pt"))?;
    Ok(())
}
