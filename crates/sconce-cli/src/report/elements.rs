//! The bytes that stand for a tensor's elements, whatever its layout.

use sconce::tensor::{Error, Tensor};
use sha2::{Digest, Sha256};

use crate::output::hex;

/// The strided tensors that a tensor consists of, with the names PyTorch gives them: one without a
/// name for a strided or quantized tensor.
pub fn components(tensor: &Tensor) -> Result<Vec<(String, Tensor)>, Error> {
    let named = |name: &str, tensor: &Tensor| (name.to_owned(), tensor.clone());
    if let Some(parts) = tensor.sparse_coo_parts() {
        return Ok(vec![named("indices", &parts.indices), named("values", &parts.values)]);
    }
    if let Some(parts) = tensor.sparse_compressed_parts() {
        let (compressed, plain) = if parts.layout.compresses_rows() {
            ("crow_indices", "col_indices")
        } else {
            ("ccol_indices", "row_indices")
        };
        return Ok(vec![
            named(compressed, &parts.compressed),
            named(plain, &parts.plain),
            named("values", &parts.values),
        ]);
    }
    if let Some(parts) = tensor.nested_parts() {
        return (0..parts.len())
            .map(|index| Ok((index.to_string(), parts.component(index)?)))
            .collect();
    }
    Ok(vec![named("", tensor)])
}

/// SHA-256 of the elements: row-major, little-endian, the components of sparse and nested tensors
/// one behind the other; `None` for tensors without data. And the number of bytes.
pub fn digest(tensor: &Tensor) -> Result<Option<(String, u64)>, Error> {
    if !tensor.has_data() {
        return Ok(None);
    }
    // Entries that lie outside the tensor make it one that PyTorch does not load.
    tensor.validate_sparse()?;
    let mut sha = Sha256::new();
    let mut bytes = 0;
    for (_, part) in components(tensor)? {
        let data = part.contiguous_bytes()?;
        sha.update(&data);
        bytes += data.len() as u64;
    }
    Ok(Some((hex(&sha.finalize()), bytes)))
}

/// Bytes of the elements, as [`digest`] counts them.
pub fn nbytes(tensor: &Tensor) -> u64 {
    match components(tensor) {
        Ok(parts) => parts.iter().fold(0, |sum, (_, part)| part.nbytes().saturating_add(sum)),
        Err(_) => tensor.nbytes(),
    }
}
