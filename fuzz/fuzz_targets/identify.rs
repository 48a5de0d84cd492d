//! Naming what a file is: by its contents, reading little, never failing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sconce_checkpoint::{LoadOptions, identify};
use sconce_fuzz::{limits, source};

fuzz_target!(|bytes: &[u8]| {
    let identity = identify(&source(bytes));
    assert!(!identity.kind.name().is_empty() && !identity.kind.description().is_empty());
    assert!(identity.detail.len() < 1000, "{}", identity.detail.len());
    if !identity.kind.opens() {
        let error = LoadOptions::new().limits(limits()).open_source(source(bytes)).unwrap_err();
        assert!(!error.message().is_empty());
    }
});
