//! NumPy's `.npy` files: one array, a short text header and the elements.
//!
//! The format is that of `numpy.lib.format`; `write` writes what `numpy.save` writes, byte for byte,
//! and `read` reads versions 1 to 3 in either byte order and either index order.

mod header;
mod read;
mod write;

pub use read::{read_npy, read_npy_header};
pub use write::{npy_header, write_npy};

/// How every file begins; two bytes of version follow.
const MAGIC: &[u8; 6] = b"\x93NUMPY";
