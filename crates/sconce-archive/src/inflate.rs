use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};
use sconce_source::Limits;

use crate::{Error, ErrorKind};

/// No deflate stream can say more than this many bytes per byte: a 258-byte match takes 2 bits.
const MAX_RATIO: u64 = 1032;
/// Below this size the caller's ratio limit is not applied.
const RATIO_FREE_BYTES: u64 = 64 << 20;

/// Inflates raw deflate data that must come to exactly `size` bytes.
pub(crate) fn inflate(compressed: &[u8], size: u64, limits: &Limits) -> Result<Vec<u8>, Error> {
    let input = compressed.len() as u64;
    if size > input.saturating_mul(MAX_RATIO).saturating_add(MAX_RATIO) {
        return Err(Error::new(ErrorKind::Malformed, "declared size is impossible").note(format!(
            "{input} bytes of deflate data cannot hold the {size} bytes the directory declares"
        )));
    }
    let over_ratio =
        size > RATIO_FREE_BYTES && size > input.saturating_mul(limits.max_inflate_ratio);
    if size > limits.max_inflated_bytes || over_ratio {
        return Err(Error::new(
            ErrorKind::Limit,
            format!("inflates from {input} to {size} bytes, beyond the limit"),
        ));
    }
    let size = usize::try_from(size)
        .map_err(|_| Error::new(ErrorKind::Limit, "larger than this machine's address space"))?;
    // Zeroed pages are not resident until they are written, so a lie about the size costs little.
    let mut output = vec![0; size];
    let mut state = Box::<DecompressorOxide>::default();
    let flags = inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
    let (status, read, written) = decompress(&mut state, compressed, &mut output, 0, flags);
    match status {
        TINFLStatus::Done if written == size && read == compressed.len() => Ok(output),
        TINFLStatus::Done => Err(Error::new(ErrorKind::Malformed, "sizes disagree").note(format!(
            "the deflate data gives {written} bytes from {read}; the directory declares {size} \
             from {input}"
        ))),
        TINFLStatus::HasMoreOutput => Err(Error::new(ErrorKind::Malformed, "sizes disagree")
            .note(format!("the deflate data gives more than the {size} bytes declared"))),
        TINFLStatus::NeedsMoreInput | TINFLStatus::FailedCannotMakeProgress => {
            Err(Error::new(ErrorKind::Malformed, "deflate data ends early")
                .note(format!("{written} of {size} bytes could be inflated")))
        }
        _ => Err(Error::new(ErrorKind::Malformed, "deflate data is damaged")
            .note(format!("{written} of {size} bytes could be inflated"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_declared_size_is_accepted() {
        let data = vec![7u8; 5000];
        let packed = miniz_oxide::deflate::compress_to_vec(&data, 9);
        let limits = Limits::default();
        assert_eq!(inflate(&packed, 5000, &limits).unwrap(), data);
        for size in [0, 4999, 5001, u64::MAX] {
            let error = inflate(&packed, size, &limits).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Malformed, "{size}: {error}");
        }
        let short = inflate(&packed[..packed.len() - 2], 5000, &limits).unwrap_err();
        assert_eq!(short.kind(), ErrorKind::Malformed);
        let mut trailing = packed.clone();
        trailing.push(0);
        assert!(inflate(&trailing, 5000, &limits).is_err());
    }

    #[test]
    fn limits_hold() {
        let packed = miniz_oxide::deflate::compress_to_vec(&[0; 10_000], 9);
        let mut limits = Limits::default();
        limits.max_inflated_bytes = 9_999;
        assert_eq!(inflate(&packed, 10_000, &limits).unwrap_err().kind(), ErrorKind::Limit);
    }
}
