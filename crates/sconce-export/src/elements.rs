//! Elements on their way out of a file, which can be larger than the memory.

use sconce_source::Sweep;
use sconce_tensor::Tensor;

use crate::Error;

/// Hands on a tensor's elements, row-major and little-endian, in parts.
pub(crate) fn parts(
    sweep: &mut Sweep,
    tensor: &Tensor,
    mut take: impl FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let bytes = tensor.contiguous_bytes()?;
    match tensor.storage() {
        Some(storage) => sweep.parts(storage.bytes()?.source(), &bytes, take),
        None => take(&bytes),
    }
}

/// Notes that a tensor's elements were read and are not needed again.
pub(crate) fn passed(sweep: &mut Sweep, tensor: &Tensor) -> Result<(), Error> {
    if let Some(storage) = tensor.storage() {
        sweep.passed(storage.bytes()?.source(), tensor.nbytes() as usize);
    }
    Ok(())
}
