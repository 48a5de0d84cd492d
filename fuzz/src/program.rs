//! TorchScript archives: everything that a loaded module offers.

use sconce_archive::{ArchiveWriter, WriterOptions};
use sconce_torchscript::{Error, LoadOptions, Module, SaveOptions};

use crate::{limits, source};

/// What is between the parts of a structured input.
const BETWEEN: &[u8] = b"\n#----\n";

/// An object of the class `__torch__.M` with the attributes `training`, `n`, `xs` and `t`.
const OBJECT: &[u8] = b"\x80\x02c__torch__\nM\nq\0)\x81}(X\x08\0\0\0trainingq\x01\x89X\x01\0\0\0nq\
    \x02K\x03X\x02\0\0\0xsq\x03ctorch.jit._pickle\nbuild_intlist\nq\x04(](K\x01K\x02etRX\x01\0\0\0tq\
    \x05ctorch._utils\n_rebuild_tensor_v2\nq\x06((X\x07\0\0\0storageq\x07ctorch\nFloatStorage\nq\x08X\
    \x01\0\0\x000q\tX\x03\0\0\0cpuq\nK\x02tQK\0(K\x02t(K\x01t\x89ccollections\nOrderedDict\nq\x0b)Rt\
    Rub.";

/// An archive around code: the first part of `input` is `__torch__.py`, the second, if there is one,
/// the pickle of constants, the third the debug records.
pub fn archive(input: &[u8]) -> Vec<u8> {
    let mut parts = split(input);
    let code = parts.next().unwrap_or_default();
    let constants = parts.next().unwrap_or(b"\x80\x02).");
    let debug = parts.next().unwrap_or_default();
    let records: [(&str, &[u8]); 5] = [
        ("data/0", &[0; 8]),
        ("data.pkl", OBJECT),
        ("code/__torch__.py", code),
        ("code/__torch__.py.debug_pkl", debug),
        ("constants.pkl", constants),
    ];
    written(records.into_iter())
}

/// An archive of these records.
pub fn written<'a>(records: impl Iterator<Item = (&'a str, &'a [u8])>) -> Vec<u8> {
    let written =
        ArchiveWriter::new(Vec::new(), "fuzz", WriterOptions::new()).and_then(|mut out| {
            for (name, bytes) in records {
                out.write_record(name, bytes)?;
            }
            out.finish()
        });
    written.expect("memory takes what is written")
}

fn split(input: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(input);
    std::iter::from_fn(move || {
        let at = rest?;
        let found = at.windows(BETWEEN.len()).position(|window| window == BETWEEN);
        rest = found.map(|found| &at[found + BETWEEN.len()..]);
        Some(found.map_or(at, |found| &at[..found]))
    })
}

/// Loads, and does with the module what [`keep`] does.
pub fn open(bytes: &[u8]) {
    let module = match LoadOptions::new().limits(limits()).read(source(bytes)) {
        Ok(module) => module,
        Err(error) => return explain(&error),
    };
    keep(&module);
}

/// Asks for every graph, saves, and loads what was saved.
pub fn keep(module: &Module) {
    walk(module);
    let saved = match SaveOptions::new().save_to(module, Vec::new()) {
        Ok(saved) => saved,
        Err(error) => return explain(&error),
    };
    match LoadOptions::new().limits(limits()).read(source(&saved)) {
        Ok(again) => walk(&again),
        Err(error) => panic!("what was saved does not load: {}", report(&error)),
    }
}

/// Asks for all that a module offers.
pub fn walk(module: &Module) {
    let modules = match module.named_modules() {
        Ok(modules) => modules,
        Err(error) => return explain(&error),
    };
    for (_, module) in modules {
        for method in module.methods() {
            match module.graph(&method.name) {
                Ok(graph) => assert!(!graph.to_string().is_empty()),
                Err(error) => explain(&error),
            }
            if let Err(error) = module.code(&method.name) {
                explain(&error);
            }
            if let Err(error) = module.frozen_graph(&method.name) {
                explain(&error);
            }
        }
    }
    let _ = (module.operators(), module.bytecode(), module.code_files());
}

/// An error says something, and can be shown with its place.
fn explain(error: &Error) {
    assert!(!error.message().is_empty());
    assert!(!report(error).is_empty());
}

fn report(error: &Error) -> String {
    error.program().map_or_else(|| error.to_string(), |program| program.report())
}
