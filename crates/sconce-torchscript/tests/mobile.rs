//! Mobile modules in flatbuffers, beside what PyTorch makes of them (fixtures/mobile/generate.py).

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::path::PathBuf;

use sconce_source::Source;
use sconce_torchscript::{LoadOptions, SaveOptions, load};

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/mobile").join(name)
}

#[test]
fn a_mobile_module_is_saved_as_pytorch_saves_it() {
    let module = load(fixture("net.ptl")).unwrap();
    let saved = SaveOptions::new().save_as(&module, Vec::new(), "net.pt").unwrap();
    let expected = fs::read(fixture("net.pt")).unwrap();
    let records = |bytes: Vec<u8>| {
        let source = Source::from_vec("net.pt", bytes);
        let archive = sconce_archive::Archive::open(source, &Default::default()).unwrap();
        let read = |entry| {
            (
                archive.record_name(entry).into_owned(),
                archive.directory().bytes(entry).unwrap().to_vec(),
            )
        };
        archive.records().iter().map(read).collect::<Vec<_>>()
    };
    let (ours, theirs) = (records(saved), records(expected));
    let names = |records: &[(String, Vec<u8>)]| {
        records.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&ours), names(&theirs));
    for ((name, ours), (_, theirs)) in ours.iter().zip(&theirs) {
        // Places in sources, and what is made of all records.
        if name.ends_with(".debug_pkl") || name.ends_with("serialization_id") {
            continue;
        }
        assert_eq!(String::from_utf8_lossy(ours), String::from_utf8_lossy(theirs), "{name}");
    }
}

/// Every file that is cut, and every one with a bit turned, is read or refused.
#[test]
fn broken_flatbuffers_are_refused() {
    let bytes = fs::read(fixture("net.ptl")).unwrap();
    let read = |bytes: Vec<u8>| {
        LoadOptions::new()
            .read(Source::from_vec("net.ptl", bytes))
            .map_err(|error| error.to_string())
    };
    read(bytes.clone()).unwrap();
    for len in 0..bytes.len() - 16 {
        assert!(read(bytes[..len].to_vec()).is_err(), "{len}");
    }
    for bit in 0..bytes.len() * 8 {
        let mut bytes = bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let _ = read(bytes);
    }
}

/// A list of lists, each of which names the next often: small in the file, and large where it is written out.
#[test]
fn values_that_name_each_other_often_are_refused() {
    let read = |bytes: &[u8]| LoadOptions::new().read(Source::from_vec("bomb.ptl", bytes.to_vec()));
    // A module with a value that is a list of itself.
    let mut bytes = fs::read(fixture("net.ptl")).unwrap();
    let root = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
    let index = root - i32::from_le_bytes(bytes[root..root + 4].try_into().unwrap()) as usize;
    let field = |bytes: &[u8], slot: usize| {
        root + usize::from(u16::from_le_bytes(bytes[index + slot..][..2].try_into().unwrap()))
    };
    let state = field(&bytes, 10);
    for value in [0u32, 1, 5, 1 << 20, u32::MAX] {
        bytes[state..state + 4].copy_from_slice(&value.to_le_bytes());
        assert!(read(&bytes).is_err(), "{value}");
    }
}

/// Modules of bytecode alone, which PyTorch's lite interpreter runs
/// (crates/sconce-runtime/tests/programs/generate_bytecode.py).
fn bare(name: &str) -> Vec<u8> {
    let folder = "../sconce-runtime/tests/programs/bytecode";
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder).join(name);
    fs::read(path).unwrap()
}

fn read(bytes: &[u8]) -> Result<sconce_torchscript::Module, sconce_torchscript::Error> {
    LoadOptions::new().read(Source::from_vec("bare.ptl", bytes.to_vec()))
}

/// Where the instructions of the method `forward` begin, and how many there are.
fn instructions(bytes: &[u8], module: &sconce_torchscript::Module) -> Vec<usize> {
    let bytecode = module.bytecode().unwrap().unwrap();
    let function = bytecode.functions.iter().find(|of| of.name.ends_with(".forward")).unwrap();
    // The last X and N tell the place: 8 bytes each, one after the other.
    let x = |at: usize| i32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap());
    let n = |at: usize| u16::from_le_bytes(bytes[at + 2..at + 4].try_into().unwrap());
    let all = &function.instructions;
    let fits = |start: usize| {
        start + 8 * all.len() <= bytes.len()
            && all.iter().enumerate().all(|(index, instruction)| {
                let at = start + 8 * index;
                i64::from(x(at)) == instruction.x && i64::from(n(at)) == instruction.n
            })
    };
    let start = (0..bytes.len()).step_by(4).find(|&start| fits(start)).unwrap();
    (0..all.len()).map(|index| start + 8 * index).collect()
}

#[test]
fn bytecode_becomes_graphs() {
    let module = read(&bare("loops.ptl")).unwrap();
    let graph = module.graph("forward").unwrap().to_string();
    assert!(graph.contains("prim::Loop") && graph.contains("prim::If"), "{graph}");
    assert!(graph.contains("%best : Tensor?") || graph.contains("Tensor?"), "{graph}");
    let module = read(&bare("modules.ptl")).unwrap();
    let names: Vec<String> =
        module.named_parameters().unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["layers.0.weight", "layers.0.bias", "layers.1.weight"]);
    let buffers = module.named_buffers().unwrap();
    assert_eq!(
        buffers.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
        ["counter.total"]
    );
    // What is saved has source, and is the same program.
    let saved = SaveOptions::new().save_to(&module, Vec::new()).unwrap();
    let again = LoadOptions::new().read(Source::from_vec("again.pt", saved)).unwrap();
    assert!(again.bytecode().unwrap().is_none() && !again.code_files().unwrap().is_empty());
    assert!(again.graph("forward").is_ok(), "{:?}", again.graph("forward").err());
}

/// What a hostile file may make of instructions: each error names the method and the instruction.
#[test]
fn instructions_that_do_not_fit_are_refused() {
    for name in ["loops.ptl", "modules.ptl", "branches.ptl", "quantized.ptl", "texts.ptl"] {
        let bytes = bare(name);
        let module = read(&bytes).unwrap();
        let mut refused = 0;
        for at in instructions(&bytes, &module) {
            for opcode in 0..=51u8 {
                let mut changed = bytes.clone();
                changed[at] = opcode;
                refused += usize::from(graphs(&changed).is_err());
            }
            for x in [-1, 0, 1, 7, 1 << 16, i32::MAX, i32::MIN] {
                let mut changed = bytes.clone();
                changed[at + 4..at + 8].copy_from_slice(&i32::to_le_bytes(x));
                refused += usize::from(graphs(&changed).is_err());
            }
            for n in [0, 1, 3, u16::MAX] {
                let mut changed = bytes.clone();
                changed[at + 2..at + 4].copy_from_slice(&u16::to_le_bytes(n));
                refused += usize::from(graphs(&changed).is_err());
            }
        }
        assert!(refused > 100, "{name}: {refused}");
    }
    let bytes = bare("raises.ptl");
    let at = instructions(&bytes, &read(&bytes).unwrap());
    let mut changed = bytes.clone();
    changed[at[0]] = 6;
    let error = graphs(&changed).unwrap_err();
    assert!(
        error.contains("bare.ptl") && error.contains("Raises.forward, instruction "),
        "{error}"
    );
}

/// Every graph, or why there is none.
fn graphs(bytes: &[u8]) -> Result<(), String> {
    let module = read(bytes).map_err(|error| error.to_string())?;
    module.with_program(|program| program.compile_all()).map_err(|error| error.to_string())
}

#[test]
fn broken_modules_of_bytecode_are_refused() {
    for name in ["raises.ptl", "divides_3.ptl"] {
        let bytes = bare(name);
        graphs(&bytes).unwrap();
        for len in 0..bytes.len() {
            let _ = graphs(&bytes[..len]);
        }
        for bit in 0..bytes.len() * 8 {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let _ = graphs(&bytes);
        }
    }
}

/// What a module saves goes through source; a class with `__setstate__` keeps no names of its attributes.
#[test]
fn modules_of_bytecode_are_saved_as_source_that_loads_or_refused() {
    let mut refused = Vec::new();
    for entry in fs::read_dir("../sconce-runtime/tests/programs/bytecode").unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "ptl") {
            continue;
        }
        let module = load(&path).unwrap();
        match SaveOptions::new().save_to(&module, Vec::new()) {
            Ok(saved) => {
                let source = Source::from_vec("saved.pt", saved);
                LoadOptions::new().read(source).unwrap();
            }
            Err(error) => refused.push((path.file_name().unwrap().to_owned(), error.to_string())),
        }
    }
    let [(file, error)] = refused.as_slice() else { panic!("{refused:?}") };
    assert_eq!(file, "quantized.ptl");
    assert!(error.contains("has no name that source can set"), "{error}");
}
