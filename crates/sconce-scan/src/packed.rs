//! Pickles that are packed as a whole, as joblib packs them: zlib and gzip.

use miniz_oxide::inflate::{
    DecompressError, decompress_to_vec_with_limit, decompress_to_vec_zlib_with_limit,
};

/// Longest unpacked file that is looked into.
const LONGEST: usize = 64 << 20;
const GZIP: &[u8] = &[0x1f, 0x8b, 8];
const GZIP_HEADER: usize = 10;

/// Whether bytes begin as packed ones do.
pub(crate) fn begins(bytes: &[u8]) -> bool {
    // The method and window of zlib; the two bytes are a multiple of 31.
    let zlib =
        matches!(bytes, [0x78, second, ..] if (0x7800 + u16::from(*second)).is_multiple_of(31));
    zlib || bytes.starts_with(GZIP)
}

/// What packed bytes hold, as far as it can be read; `None` where that is nothing.
pub(crate) fn unpacked(bytes: &[u8]) -> Option<Vec<u8>> {
    let unpacked = match bytes.starts_with(GZIP) {
        true => decompress_to_vec_with_limit(behind_header(bytes)?, LONGEST),
        false => decompress_to_vec_zlib_with_limit(bytes, LONGEST),
    };
    // What breaks off is a pickle that breaks off.
    let unpacked = unpacked.unwrap_or_else(|DecompressError { output, .. }| output);
    (!unpacked.is_empty()).then_some(unpacked)
}

/// The data of a gzip file behind its header.
fn behind_header(bytes: &[u8]) -> Option<&[u8]> {
    const CHECKSUM: u8 = 2;
    const EXTRA: u8 = 4;
    const NAME: u8 = 8;
    const COMMENT: u8 = 16;
    let flags = *bytes.get(3)?;
    let mut rest = bytes.get(GZIP_HEADER..)?;
    if flags & EXTRA != 0 {
        let len = u16::from_le_bytes([*rest.first()?, *rest.get(1)?]);
        rest = rest.get(2 + usize::from(len)..)?;
    }
    for text in [NAME, COMMENT] {
        if flags & text != 0 {
            let end = rest.iter().position(|&byte| byte == 0)?;
            rest = &rest[end + 1..];
        }
    }
    if flags & CHECKSUM != 0 { rest.get(2..) } else { Some(rest) }
}
