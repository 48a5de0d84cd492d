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
