//! Programs that run under limits, optimised and as they are: each call ends with a value or an error
//! that says something, and both ways agree which, and on the sizes of tensors.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| sconce_fuzz::run::run(input));
