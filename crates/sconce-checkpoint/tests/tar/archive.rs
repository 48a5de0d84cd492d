//! Tar archives, for tests.

/// A ustar archive of regular files.
pub(crate) fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, data) in members {
        let mut block = vec![0u8; 512];
        block[..name.len()].copy_from_slice(name.as_bytes());
        block[124..135].copy_from_slice(format!("{:011o}", data.len()).as_bytes());
        block[148..157].copy_from_slice(b"        0");
        block[257..263].copy_from_slice(b"ustar\0");
        let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
        block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        out.extend(block);
        out.extend(*data);
        out.resize(out.len().next_multiple_of(512), 0);
    }
    out.resize(out.len() + 1024, 0);
    out
}
