//! Programs that run under limits, optimised and as they are: each call ends with a value or an error
//! that says something, and both ways agree which, and on the sizes of tensors.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|input: &[u8]| sconce_fuzz::run::run(input));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let words = seed % 4 != 0;
    let changed =
        words.then(|| sconce_fuzz::words::mutate(&mut data[..max_size], size, seed, 2)).flatten();
    changed.unwrap_or_else(|| fuzzer_mutate(data, size, max_size))
});
