//! Small fixtures cut at every byte, and with single bits turned over: they open or fail with a
//! message that says something, and never panic.

#![allow(clippy::unwrap_used)] // helpers of tests are outside of what clippy sees as tests

use std::path::{Path, PathBuf};

use sconce_checkpoint::{Checkpoint, ErrorKind, FileKind, LoadOptions, Policy, identify};
use sconce_source::Source;
use sconce_tensor::PrintOptions;

/// Largest file that is cut at every byte.
const MAX_BYTES: u64 = 4096;
/// Files taken of each folder, the smallest first.
const PER_FOLDER: usize = 5;
/// Bits turned over in each file.
const FLIPS: usize = 2000;

/// The smallest files of every folder of fixtures.
fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/files");
    let (mut folders, mut out) = (vec![root], Vec::new());
    while let Some(folder) = folders.pop() {
        let mut sized = Vec::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let data = entry.metadata().unwrap();
            match data.is_dir() {
                true => folders.push(entry.path()),
                false => sized.push((data.len(), entry.path())),
            }
        }
        sized.retain(|(len, _)| (100..=MAX_BYTES).contains(len));
        sized.sort();
        out.extend(sized.into_iter().map(|(_, path)| path).take(PER_FOLDER));
    }
    out.sort();
    out
}

/// Opens in three ways and reads what opens.
fn open(bytes: &[u8]) -> Result<(), ErrorKind> {
    let source = Source::from_vec("damaged", bytes.to_vec());
    assert!(!identify(&source).kind.description().is_empty());
    let options = LoadOptions::new();
    let opened = options.open_source(source.clone());
    let lenient = options.clone().keep_going(true).open_source(source.clone());
    let strict = options.policy(Policy::WeightsOnly).open_source(source);
    for checkpoint in [&opened, &lenient, &strict].into_iter().flatten() {
        read(checkpoint);
    }
    for error in [&opened, &lenient, &strict].into_iter().filter_map(|opened| opened.as_ref().err())
    {
        assert!(!error.message().is_empty());
        assert!(error.to_string().starts_with("damaged: "), "{error}");
    }
    assert!(opened.is_err() || lenient.is_ok());
    opened.map(drop).map_err(|error| error.kind())
}

fn read(checkpoint: &Checkpoint) {
    assert!(!checkpoint.root().repr(200).is_empty());
    for named in checkpoint.tensors() {
        let _ = named.tensor.to_text(&PrintOptions::default());
        let _ = named.tensor.contiguous_bytes_with_limit(1 << 16);
    }
    for problem in checkpoint.problems() {
        assert!(!problem.message().is_empty());
    }
}

#[test]
fn every_truncation() {
    let files = files();
    assert!(files.len() >= 20, "{}", files.len());
    for path in files {
        let bytes = std::fs::read(&path).unwrap();
        let opens: Vec<usize> =
            (0..bytes.len()).filter(|&len| open(&bytes[..len]).is_ok()).collect();
        // An archive ends with its directory, a stream with its storages: nothing can be missing, but of what
        // some fixtures have behind that.
        if path.to_string_lossy().contains("trailing") {
            continue;
        }
        let kind = identify(&Source::from_vec("whole", bytes.clone())).kind;
        if matches!(kind, FileKind::Zip | FileKind::Legacy | FileKind::TorchScript) {
            assert!(opens.is_empty(), "{}: {opens:?} of {}", path.display(), bytes.len());
        }
    }
}

#[test]
fn a_stream_that_is_cut_says_what_to_do() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(file.join("../../fixtures/files/2.15/legacy/state_dict.pt")).unwrap();
    // In the pickle of the object, and in the last storage.
    for len in [400, bytes.len() - 1] {
        let source = Source::from_vec("cut", bytes[..len].to_vec());
        let error = Checkpoint::from_source(source).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Truncated);
        assert!(error.help().unwrap().starts_with("fetch the file again"), "{error}");
    }
}

#[test]
fn single_bits() {
    for path in files() {
        let mut bytes = std::fs::read(&path).unwrap();
        let mut state = bytes.len() as u64;
        for _ in 0..FLIPS {
            // A linear congruence, its high bits: the same flips on every run.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let bit = (state >> 33) as usize % (8 * bytes.len());
            bytes[bit / 8] ^= 1 << (bit % 8);
            let _ = open(&bytes);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}
