//! Python source: any text, and behind a line `#----` the expression that names what to compile. What
//! compiles can be shown and saved, and loads again; what does not says why.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use sconce_fuzz::{program, python, words};

fuzz_target!(|input: &str| {
    for eval in [false, true] {
        match python::compile(input, eval) {
            Ok(scripted) => {
                assert!(!scripted.name().is_empty());
                let _ = (scripted.schema().map(ToString::to_string), scripted.tree());
                assert!(scripted.graph().is_none_or(|graph| !graph.to_string().is_empty()));
                match scripted.missing() {
                    [] => program::keep(scripted.module()),
                    _ => program::walk(scripted.module()),
                }
            }
            Err(error) => assert!(!error.message().is_empty() && !error.report().is_empty()),
        }
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let words = seed % 4 != 0;
    let changed = words.then(|| words::mutate(&mut data[..max_size], size, seed, 0)).flatten();
    changed.unwrap_or_else(|| fuzzer_mutate(data, size, max_size))
});
