//! The tar files of PyTorch before 0.1.10: as they come, with their checksums put right, and put
//! together from three members.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sconce_archive::TarArchive;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(tar) = TarArchive::read(&sconce_fuzz::source(bytes)) {
        for member in tar.members() {
            assert!(tar.find(&member.name).is_some() || member.name.starts_with("./"));
        }
    }
    sconce_fuzz::open(bytes);
    if bytes.len() > 512 {
        sconce_fuzz::open(&with_checksums(bytes.to_vec()));
        return;
    }
    // Two lengths, then the members.
    let [first, second, rest @ ..] = bytes else { return };
    let (storages, rest) = rest.split_at(rest.len().min(usize::from(*first)));
    let (tensors, pickle) = rest.split_at(rest.len().min(usize::from(*second)));
    let members = [("storages", storages), ("tensors", tensors), ("pickle", pickle)];
    sconce_fuzz::open(&sconce_fuzz::parts::tar(&members));
});

/// Makes every block that looks like a header say its own sum.
fn with_checksums(mut bytes: Vec<u8>) -> Vec<u8> {
    for block in bytes.chunks_exact_mut(512) {
        if &block[257..262] == b"ustar" {
            block[148..156].fill(b' ');
            let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
            block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        }
    }
    bytes
}
