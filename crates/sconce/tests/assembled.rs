//! Files assembled from valid parts with one thing changed, as the fuzz target of that name makes them,
//! from a seed: what every reader compares is compared, and nothing panics.

#![allow(clippy::unwrap_used, reason = "a panic is what these tests look for")]

use std::io::sink;

use arbitrary::{Arbitrary, Unstructured};
use sconce::archive::{Directory, verify::verify};
use sconce::checkpoint::{LoadOptions, Policy, SaveOptions, identify};
use sconce::jit;
use sconce::source::{Limits, Source};

#[path = "../../../fuzz/src/assemble.rs"]
#[allow(unreachable_pub, missing_docs, reason = "shared with the fuzz targets")]
mod assemble;

/// What [`assemble`] needs of the fuzz targets.
#[path = "../../../fuzz/src/parts.rs"]
#[allow(unreachable_pub, dead_code, reason = "shared with the fuzz targets")]
mod parts;

/// How many files are made; `ASSEMBLED=100000` makes more.
fn count() -> u64 {
    std::env::var("ASSEMBLED").ok().and_then(|count| count.parse().ok()).unwrap_or(1500)
}

/// Numbers that a seed gives (splitmix64).
fn bytes(seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = state;
        x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ x >> 31
    };
    (0..64).flat_map(|_| next().to_le_bytes()).collect()
}

#[test]
fn assembled_files_are_read_or_refused() {
    let (mut opened, mut refused, mut programs) = (0, 0, 0);
    for seed in 0..count() {
        let bytes = bytes(seed);
        let file = assemble::File::arbitrary(&mut Unstructured::new(&bytes)).unwrap();
        let file = file.bytes();
        let source = Source::from_vec(format!("seed {seed}"), file);
        let _ = identify(&source);
        if let Ok(directory) = Directory::read(source.clone(), &Limits::default()) {
            let report = verify(&directory, |_| {});
            assert!(report.accounted <= report.total, "seed {seed}");
        }
        for (policy, keep_going) in
            [(Policy::Inspect, false), (Policy::Inspect, true), (Policy::WeightsOnly, false)]
        {
            let options = LoadOptions::new().policy(policy).keep_going(keep_going);
            match options.open_source(source.clone()) {
                Ok(checkpoint) => {
                    opened += 1;
                    assert!(checkpoint.root().repr(300).chars().count() <= 300, "seed {seed}");
                    for named in checkpoint.tensors() {
                        let _ = (named.tensor.validate_sparse(), named.tensor.contiguous_bytes());
                    }
                    let _ = SaveOptions::new().save_to(checkpoint.root(), sink());
                }
                Err(error) => {
                    refused += 1;
                    assert!(!error.message().is_empty(), "seed {seed}");
                }
            }
        }
        if let Ok(module) = jit::LoadOptions::new().read(source) {
            programs += 1;
            let _ = module.graph("forward");
            let _ = jit::SaveOptions::new().save_to(&module, sink());
        }
    }
    // All sides are met.
    assert!(
        opened > count() / 20 && refused > count() / 20 && programs > 0,
        "{opened} {refused} {programs}"
    );
}
