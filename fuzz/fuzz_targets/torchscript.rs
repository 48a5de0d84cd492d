//! TorchScript archives: any bytes, and any code in an archive that is otherwise whole. What loads has
//! graphs or says why not; what saves loads again and has the same graphs.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sconce_fuzz::program;

fuzz_target!(|input: &[u8]| {
    match input.split_first() {
        Some((b'P', rest)) => program::open(rest),
        _ => program::open(&program::archive(input)),
    }
});
