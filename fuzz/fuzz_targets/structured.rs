//! Valid archives of tensors with any sizes, strides, offsets and types, and then a few bytes of
//! them changed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sconce_fuzz::parts::Model;

fuzz_target!(|input: (Model, Vec<(u16, u8)>)| {
    let (model, flips) = input;
    let mut bytes = model.file();
    sconce_fuzz::open(&bytes);
    for &(at, mask) in flips.iter().take(4) {
        let len = bytes.len();
        // From the end: the directory is there.
        bytes[len - 1 - usize::from(at) % len] ^= mask;
    }
    if !flips.is_empty() {
        sconce_fuzz::open(&bytes);
    }
});
