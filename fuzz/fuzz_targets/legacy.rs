//! The legacy stream of pickles and raw storages. Input that is no such stream is given a valid
//! beginning, so that the fuzzer can work on the object, the keys and the storages.
#![no_main]

use libfuzzer_sys::fuzz_target;

/// The magic number, the protocol version 1001, and system info as an empty dict.
const BEGINNING: &[u8] =
    b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.\x80\x02}.";

fuzz_target!(|bytes: &[u8]| {
    if bytes.starts_with(&BEGINNING[..14]) {
        sconce_fuzz::open(bytes);
    } else {
        sconce_fuzz::open(&[BEGINNING, bytes].concat());
    }
});
