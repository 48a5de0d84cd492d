//! Elements on their way out of a file, which can be larger than the memory.

use sconce_source::StreamReader;
use sconce_tensor::Tensor;

use super::Error;

/// Hands on a tensor's elements, row-major and little-endian, in parts.
pub(crate) fn parts(
    reader: &mut StreamReader,
    tensor: &Tensor,
    mut take: impl FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let bytes = tensor.contiguous_bytes()?;
    match tensor.storage() {
        Some(storage) => reader.parts(storage.bytes()?.source(), &bytes, take),
        None => take(&bytes),
    }
}

/// Notes that a tensor's elements were read and are not needed again.
pub(crate) fn passed(reader: &mut StreamReader, tensor: &Tensor) -> Result<(), Error> {
    if let Some(storage) = tensor.storage() {
        reader.passed(storage.bytes()?.source(), tensor.nbytes() as usize);
    }
    Ok(())
}
