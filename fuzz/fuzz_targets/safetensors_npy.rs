//! The tensor files of other projects: safetensors, npy and npz. Headers shorter than they should be
//! are given the beginning that makes them one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sconce_fuzz::{open, parts::zip};

fuzz_target!(|bytes: &[u8]| {
    open(bytes);
    let [kind, rest @ ..] = bytes else { return };
    match kind % 3 {
        // A header with its length before it, then bytes that cost the fuzzer nothing.
        0 => {
            let header = [b"{\"", rest].concat();
            let len = (header.len() as u64).to_le_bytes();
            open(&[&len[..], &header, &[0; 64]].concat());
        }
        1 => {
            let header = [b"{'descr': ", rest].concat();
            let len = (header.len() as u16).to_le_bytes();
            open(&[b"\x93NUMPY\x01\x00", &len[..], &header, &[0; 64]].concat());
        }
        _ => open(&zip(&[("a.npy".to_owned(), rest.to_vec())])),
    }
});
