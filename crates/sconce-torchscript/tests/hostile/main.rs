//! Archives that are damaged or made to harm: each gives an error, soon, on a small stack, that says
//! where it found what.

#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers of tests are outside of what clippy sees as tests

mod code;
mod pickles;
mod sizes;

use std::error::Error as _;

use sconce_archive::{ArchiveWriter, WriterOptions};
use sconce_source::Source;
use sconce_torchscript::{Error, LoadOptions, Module, SaveOptions};

/// An object of `__torch__.M` without attributes.
const OBJECT: &[u8] = b"\x80\x02c__torch__\nM\n)\x81}b.";

/// An empty tuple.
const NO_CONSTANTS: &[u8] = b"\x80\x02).";

/// An archive of these records.
fn archive(records: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ArchiveWriter::new(Vec::new(), "hostile", WriterOptions::new()).unwrap();
    for (name, bytes) in records {
        writer.write_record(name, bytes).unwrap();
    }
    writer.finish().unwrap()
}

fn load(bytes: Vec<u8>) -> Result<Module, Error> {
    LoadOptions::new().read(Source::from_vec("hostile.pt", bytes))
}

/// Loads an object of `__torch__.M`, which this code defines.
fn load_code(code: impl AsRef<[u8]>) -> Result<Module, Error> {
    load(archive(&[
        ("data.pkl", OBJECT),
        ("code/__torch__.py", code.as_ref()),
        ("constants.pkl", NO_CONSTANTS),
    ]))
}

/// Loads this object, whose class this code defines.
fn load_object(code: &str, object: &[u8], constants: &[u8]) -> Result<Module, Error> {
    load(archive(&[
        ("data.pkl", object),
        ("code/__torch__.py", code.as_bytes()),
        ("constants.pkl", constants),
    ]))
}

/// A module whose `forward` has this body, four spaces in.
fn forward(body: &str) -> String {
    format!("class M(Module):\n  def forward(self, x: Tensor, n: int) -> Tensor:\n{body}")
}

/// Does everything that can be done with a module; the first error.
fn use_all(module: &Module) -> Result<(), Error> {
    for (_, module) in module.named_modules()? {
        for method in module.methods() {
            let graph = module.graph(&method.name)?;
            assert!(!graph.to_string().is_empty());
            module.code(&method.name)?;
            module.frozen_graph(&method.name)?;
        }
    }
    module.operators()?;
    SaveOptions::new().save_to(module, Vec::new()).map(drop)
}

/// The error of loading an archive and using all of it.
fn error_of(module: Result<Module, Error>) -> Error {
    let error = module.and_then(|module| use_all(&module)).expect_err("this is damaged");
    assert!(error.source().is_none());
    error
}

/// A class of such a name could be saved, but not read again.
#[test]
fn names_of_old_modules_are_identifiers() {
    for (name, is_fine) in [("Net", true), ("7", true), ("foo~1", false), ("9central", false)] {
        let model = format!(
            r#"{{"protoVersion":"3","mainModule":{{"name":"{name}","optimize":true}},"producerName":"pytorch"}}"#
        );
        let loaded = load(archive(&[("model.json", model.as_bytes())]));
        assert_eq!(loaded.is_ok(), is_fine, "{name}: {:?}", loaded.err());
    }
}
