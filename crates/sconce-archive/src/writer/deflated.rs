//! A record's data, compressed before the record is written.

use std::fmt;

use crate::deflate::deflate;

/// `torch.jit.save` compresses what is longer than this.
pub(super) const COMPRESSED_FROM: usize = 200;

/// A record's data as [`write_compressed`](crate::ArchiveWriter::write_compressed) writes it: made beforehand, on
/// another thread perhaps, so that the data itself need not be kept until its turn comes.
///
/// ```
/// use sconce_archive::{ArchiveWriter, Deflated, WriterOptions};
///
/// let code = "def forward(self, x):\n  return x\n".repeat(20).into_bytes();
/// let record = Deflated::new(&code);
/// let mut archive = ArchiveWriter::new(Vec::new(), "archive", WriterOptions::new())?;
/// archive.write_deflated("code/net.py", &record)?;
/// # Ok::<(), sconce_archive::Error>(())
/// ```
#[derive(Clone)]
pub struct Deflated {
    /// Of the data.
    pub(super) size: u64,
    /// Of the data.
    pub(super) crc32: u32,
    /// Whether the bytes are a deflate stream; short data stays as it is.
    pub(super) is_packed: bool,
    pub(super) bytes: Vec<u8>,
}

impl Deflated {
    /// Compresses data, bit for bit as PyTorch's compressor would, where it is longer than 200 bytes.
    pub fn new(data: &[u8]) -> Self {
        let is_packed = data.len() > COMPRESSED_FROM;
        let bytes = if is_packed { deflate(data) } else { data.to_vec() };
        Deflated { size: data.len() as u64, crc32: crc32fast::hash(data), is_packed, bytes }
    }
}

impl fmt::Debug for Deflated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deflated")
            .field("size", &self.size)
            .field("packed", &self.bytes.len())
            .finish_non_exhaustive()
    }
}
