//! Checkpoints of every container, put together from valid parts, with a field, an opcode or a record
//! changed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sconce_fuzz::assemble::File;

fuzz_target!(|file: File| {
    let bytes = file.bytes();
    sconce_fuzz::open(&bytes);
    sconce_fuzz::program::open(&bytes);
});
