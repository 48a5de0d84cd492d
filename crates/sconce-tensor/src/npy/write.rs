use std::io::Write;

use super::MAGIC;
use crate::geometry::python_tuple;
use crate::{DType, Error, Tensor};

/// The header is filled up so that the elements begin at a multiple of this.
const ALIGNMENT: usize = 64;

/// Room that NumPy leaves for the first size to grow: up to this many digits.
const GROWTH_DIGITS: usize = 21;

/// The bytes before the elements, as `numpy.save` writes them for a row-major array.
///
/// # Errors
/// [`Error::Unsupported`] for dtypes that NumPy does not have, with what to do instead.
///
/// ```
/// use sconce_tensor::{Tensor, npy_header};
/// let t = Tensor::from_vec(vec![1f32, 2.0], &[2]).unwrap();
/// let header = npy_header(&t).unwrap();
/// assert_eq!(header.len(), 128);
/// assert!(header.starts_with(b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', "));
/// ```
pub fn npy_header(tensor: &Tensor) -> Result<Vec<u8>, Error> {
    let dtype = tensor.dtype();
    let Some(descr) = dtype.numpy_descr() else {
        return Err(Error::Unsupported(format!("NumPy has no {dtype}; {}", hint(dtype))));
    };
    let shape = python_tuple(tensor.sizes());
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    if let Some(first) = tensor.sizes().first() {
        text.extend(std::iter::repeat_n(
            ' ',
            GROWTH_DIGITS.saturating_sub(first.to_string().len()),
        ));
    }
    // Version 1 counts the header in two bytes, version 2 in four.
    let (version, prefix) =
        if padded(text.len(), 10) - 10 <= usize::from(u16::MAX) { (1, 10) } else { (2, 12) };
    let total = padded(text.len(), prefix);
    let length = total - prefix;
    let mut out = Vec::with_capacity(total);
    out.extend(MAGIC);
    out.extend([version, 0]);
    if version == 1 {
        out.extend((length as u16).to_le_bytes());
    } else {
        out.extend((length as u32).to_le_bytes());
    }
    out.extend(text.as_bytes());
    out.resize(total - 1, b' ');
    out.push(b'\n');
    Ok(out)
}

/// Length of prefix, text, line break and the spaces between.
fn padded(text: usize, prefix: usize) -> usize {
    (prefix + text + 1).next_multiple_of(ALIGNMENT)
}

fn hint(dtype: DType) -> &'static str {
    if dtype.is_quantized() {
        return "dequantize it first, or write its integers (int_repr)";
    }
    if dtype.is_complex() {
        return "convert it to complex64 first";
    }
    if dtype.is_floating_point() {
        return "convert it to float32 first, or write safetensors";
    }
    "write its bytes as uint8"
}

/// Writes the file that `numpy.save` writes for the tensor: row-major, little-endian. Bytes of a
/// `bool` that are neither 0 nor 1 become 1, since NumPy takes them for granted.
///
/// # Errors
/// Those of [`npy_header`], [`Tensor::contiguous_bytes`] and of the writer.
pub fn write_npy(tensor: &Tensor, mut out: impl Write) -> Result<(), Error> {
    let header = npy_header(tensor)?;
    let mut bytes = tensor.contiguous_bytes()?;
    if tensor.dtype() == DType::Bool && bytes.iter().any(|&byte| byte > 1) {
        bytes.to_mut().iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
    }
    out.write_all(&header)?;
    out.write_all(&bytes)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dtypes_numpy_lacks_are_refused_with_advice() {
        let cases = [
            (DType::BFloat16, "float32"),
            (DType::ComplexHalf, "complex64"),
            (DType::QInt8, "dequantize"),
            (DType::UInt4, "uint8"),
        ];
        for (dtype, word) in cases {
            let error =
                npy_header(&Tensor::meta(dtype, &[1], &[1]).unwrap()).unwrap_err().to_string();
            assert!(error.contains(dtype.name()) && error.contains(word), "{error}");
        }
    }

    #[test]
    fn odd_bools_are_made_plain() {
        let storage = crate::Storage::from_bytes(vec![0u8, 1, 7].into(), crate::Device::CPU);
        let t = Tensor::contiguous(storage, DType::Bool, &[3]).unwrap();
        let mut out = Vec::new();
        write_npy(&t, &mut out).unwrap();
        assert_eq!(out[out.len() - 3..], [0, 1, 1]);
    }

    #[test]
    fn long_headers_take_version_2() {
        let t = Tensor::meta(DType::Int8, &vec![1; 30_000], &vec![1; 30_000]).unwrap();
        let header = npy_header(&t).unwrap();
        assert_eq!(header[6], 2);
        assert_eq!(header.len() % 64, 0);
        assert_eq!(
            u32::from_le_bytes(header[8..12].try_into().unwrap()) as usize,
            header.len() - 12
        );
    }
}
