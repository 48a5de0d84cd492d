//! Any bytes, under every policy.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| sconce_fuzz::open(bytes));
