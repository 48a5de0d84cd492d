use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};
use sconce_source::Limits;

use crate::{Error, ErrorKind};

/// No deflate stream can say more than this many bytes per byte: a 258-byte match takes 2 bits.
const MAX_RATIO: u64 = 1032;
/// Below this size the caller's ratio limit is not applied.
const RATIO_FREE_BYTES: u64 = 64 << 20;
/// The window of [`Inflater`]: a power of two, and at least as far as a match reaches back.
const WINDOW: usize = 64 << 10;

/// Whether `input` bytes of deflate data can come to `size` bytes.
pub(crate) fn is_possible(input: u64, size: u64) -> bool {
    size <= input.saturating_mul(MAX_RATIO).saturating_add(MAX_RATIO)
}

/// Refuses sizes that deflate data of `input` bytes cannot come to, or that the limits do not allow.
fn check_size(input: u64, size: u64, limits: &Limits) -> Result<(), Error> {
    if !is_possible(input, size) {
        return Err(Error::new(ErrorKind::Malformed, "declared size is impossible").with_note(
            format!(
                "{input} bytes of deflate data cannot hold the {size} bytes the directory declares"
            ),
        ));
    }
    let over_ratio =
        size > RATIO_FREE_BYTES && size > input.saturating_mul(limits.max_inflate_ratio);
    if size > limits.max_inflated_bytes || over_ratio {
        return Err(Error::new(
            ErrorKind::Limit,
            format!("inflates from {input} to {size} bytes, beyond the limit"),
        ));
    }
    Ok(())
}

fn damaged(status: TINFLStatus, written: u64, size: u64) -> Error {
    let message = match status {
        TINFLStatus::NeedsMoreInput | TINFLStatus::FailedCannotMakeProgress => {
            "deflate data ends early"
        }
        _ => "deflate data is damaged",
    };
    Error::new(ErrorKind::Malformed, message)
        .with_note(format!("{written} of {size} bytes could be inflated"))
}

fn more_than(size: u64) -> Error {
    Error::new(ErrorKind::Malformed, "sizes disagree")
        .with_note(format!("the deflate data gives more than the {size} bytes declared"))
}

fn other_sizes(written: u64, read: u64, size: u64, input: u64) -> Error {
    Error::new(ErrorKind::Malformed, "sizes disagree").with_note(format!(
        "the deflate data gives {written} bytes from {read}; the directory declares {size} from \
         {input}"
    ))
}

/// Inflates raw deflate data that must come to exactly `size` bytes.
pub(crate) fn inflate(compressed: &[u8], size: u64, limits: &Limits) -> Result<Vec<u8>, Error> {
    let input = compressed.len() as u64;
    check_size(input, size, limits)?;
    let len = usize::try_from(size)
        .map_err(|_| Error::new(ErrorKind::Limit, "larger than this machine's address space"))?;
    // Zeroed pages are not resident until they are written, so a lie about the size costs little.
    let mut output = vec![0; len];
    let mut state = Box::<DecompressorOxide>::default();
    let flags = inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
    let (status, read, written) = decompress(&mut state, compressed, &mut output, 0, flags);
    match status {
        TINFLStatus::Done if written == len && read == compressed.len() => Ok(output),
        TINFLStatus::Done => Err(other_sizes(written as u64, read as u64, size, input)),
        TINFLStatus::HasMoreOutput => Err(more_than(size)),
        status => Err(damaged(status, written as u64, size)),
    }
}

/// [`inflate`] in parts, in as much memory as a window takes.
pub(crate) struct Inflater {
    state: Box<DecompressorOxide>,
    window: Vec<u8>,
    /// Where in the window the next byte goes.
    at: usize,
    read: u64,
    written: u64,
    done: bool,
    /// What the directory declares: bytes of deflate data, and what they come to.
    input: u64,
    size: u64,
}

impl Inflater {
    pub(crate) fn new(input: u64, size: u64, limits: &Limits) -> Result<Inflater, Error> {
        check_size(input, size, limits)?;
        let state = Box::default();
        let window = vec![0; WINDOW];
        Ok(Inflater { state, window, at: 0, read: 0, written: 0, done: false, input, size })
    }

    /// Inflates the next part of the data and hands on what it gives.
    pub(crate) fn part<E: From<Error>>(
        &mut self,
        mut compressed: &[u8],
        take: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        loop {
            if self.done {
                // What follows the end of the stream is counted, and so told by `finish`.
                return Ok(());
            }
            let last = self.read + compressed.len() as u64 >= self.input;
            let flags = if last { 0 } else { inflate_flags::TINFL_FLAG_HAS_MORE_INPUT };
            let (status, read, written) =
                decompress(&mut self.state, compressed, &mut self.window, self.at, flags);
            compressed = &compressed[read..];
            self.read += read as u64;
            self.written += written as u64;
            if self.written > self.size {
                return Err(more_than(self.size).into());
            }
            take(&self.window[self.at..self.at + written])?;
            self.at = (self.at + written) % WINDOW;
            match status {
                TINFLStatus::Done => self.done = true,
                TINFLStatus::HasMoreOutput => {}
                TINFLStatus::NeedsMoreInput if !last => return Ok(()),
                status => return Err(damaged(status, self.written, self.size).into()),
            }
        }
    }

    /// Checks that all was there.
    pub(crate) fn finish(self) -> Result<(), Error> {
        if !self.done {
            return Err(damaged(TINFLStatus::NeedsMoreInput, self.written, self.size));
        }
        if self.written != self.size || self.read != self.input {
            return Err(other_sizes(self.written, self.read, self.size, self.input));
        }
        Ok(())
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

    /// The same verdicts, words and bytes whatever the parts.
    #[test]
    fn parts_give_what_the_whole_does() {
        let data: Vec<u8> = (0..300_000u32).map(|at| (at.wrapping_mul(at) >> 7) as u8).collect();
        let packed = miniz_oxide::deflate::compress_to_vec(&data, 6);
        let limits = Limits::default();
        let mut damaged = packed.clone();
        damaged[packed.len() / 2] ^= 0x55;
        let mut trailing = packed.clone();
        trailing.push(0);
        let cut = packed[..packed.len() - 2].to_vec();
        for packed in [packed, damaged, trailing, cut] {
            for size in [data.len() as u64 - 1, data.len() as u64, data.len() as u64 + 1] {
                let whole = inflate(&packed, size, &limits).map_err(|error| error.to_string());
                for step in [1, 1000, packed.len()] {
                    let mut out = Vec::new();
                    let mut parts = || {
                        let mut inflater = Inflater::new(packed.len() as u64, size, &limits)?;
                        for part in packed.chunks(step) {
                            inflater.part(part, &mut |part: &[u8]| {
                                assert!(part.len() <= WINDOW);
                                out.extend_from_slice(part);
                                Ok::<(), Error>(())
                            })?;
                        }
                        inflater.finish()
                    };
                    let parts = parts();
                    let parts = parts.map(|()| out).map_err(|error: Error| error.to_string());
                    assert_eq!(parts.is_ok(), whole.is_ok(), "{size} {step}: {parts:?}");
                    if parts.is_ok() || size == data.len() as u64 {
                        let same = parts == whole
                            || parts.as_ref().is_err_and(|error| error.contains("damaged"));
                        assert!(same, "{size} {step}: {parts:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn limits_hold() {
        let packed = miniz_oxide::deflate::compress_to_vec(&[0; 10_000], 9);
        let mut limits = Limits::default();
        limits.max_inflated_bytes = 9_999;
        assert_eq!(inflate(&packed, 10_000, &limits).unwrap_err().kind(), ErrorKind::Limit);
    }
}
