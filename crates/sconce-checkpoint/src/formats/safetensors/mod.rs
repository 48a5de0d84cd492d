//! Safetensors.

#[cfg(feature = "safetensors")]
mod read;
mod write;

#[cfg(feature = "safetensors")]
pub(super) use read::open;
pub use write::{safetensors_header, safetensors_len, write_safetensors};

#[cfg(not(feature = "safetensors"))]
pub(super) fn open(_: &sconce_source::Source) -> Result<super::Parts, crate::Error> {
    let message = "this build reads no safetensors files: the feature `safetensors` is off";
    Err(crate::Error::new(crate::ErrorKind::Unsupported, message))
}
