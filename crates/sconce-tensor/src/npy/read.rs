use sconce_source::Bytes;

use super::{MAGIC, header};
use crate::geometry::{self, contiguous_strides};
use crate::{Device, Dims, Error, Storage, Tensor};

/// The longest header that is read; NumPy's own limit for files that are not trusted is 10,000.
const MAX_HEADER: usize = 1 << 20;

/// Reads a `.npy` file of version 1, 2 or 3 without copying: the tensor is a view of the bytes behind
/// the header. Fortran order becomes strides, and big-endian elements are converted on first use.
///
/// # Errors
/// [`Error::Npy`] with the offset of what is wrong: not such a file, Python objects, strings, records
/// and other dtypes that tensors do not have, or fewer or more elements than the header says.
///
/// ```
/// use sconce_tensor::{Tensor, read_npy, write_npy};
/// let t = Tensor::from_vec(vec![1i16, 2, 3, 4], &[2, 2]).unwrap();
/// let mut file = Vec::new();
/// write_npy(&t, &mut file).unwrap();
/// let again = read_npy(&file.into()).unwrap();
/// assert_eq!(again.sizes(), [2, 2]);
/// assert_eq!(again.to_vec::<i16>().unwrap(), [1, 2, 3, 4]);
/// ```
pub fn read_npy(file: &Bytes) -> Result<Tensor, Error> {
    let fail = |offset: usize, reason: String| Err(Error::Npy { offset: offset as u64, reason });
    let (prefix, text) = read_npy_header(file)?;
    let start = prefix + text.len();
    let header = header::parse(text)
        .map_err(|(at, reason)| Error::Npy { offset: (prefix + at) as u64, reason })?;
    let needed = header.dtype.bytes_for(geometry::numel(&header.shape)? as u128);
    let held = file.len() - start;
    if needed != held as u128 {
        return fail(
            start,
            format!(
                "{} of shape {:?} takes {needed} bytes, the file holds {held}",
                header.dtype, header.shape
            ),
        );
    }
    let data = file.slice(start..file.len()).ok_or_else(|| short(file))?;
    let storage =
        Storage::with_byte_order(data, header.order, header.dtype.swap_size(), Device::CPU);
    let strides = if header.fortran {
        let reversed: Dims = header.shape.iter().rev().copied().collect();
        contiguous_strides(&reversed).into_iter().rev().collect()
    } else {
        contiguous_strides(&header.shape)
    };
    Tensor::strided(storage, header.dtype, 0, &header.shape, &strides)
}

/// The header of a `.npy` file, a Python dict as text, and where it begins. The elements follow it; where
/// they are Python objects, that is a pickle.
///
/// # Errors
/// [`Error::Npy`] for what is no such file or ends within its header.
pub fn read_npy_header(file: &[u8]) -> Result<(usize, &str), Error> {
    let fail = |offset: usize, reason: String| Err(Error::Npy { offset: offset as u64, reason });
    let short = || short(file);
    if !file.starts_with(MAGIC) {
        return fail(0, "the file does not begin with \\x93NUMPY".into());
    }
    let version = *file.get(6).ok_or_else(short)?;
    let (prefix, length) = match version {
        1 => match file.get(8..10) {
            Some(&[a, b]) => (10, usize::from(u16::from_le_bytes([a, b]))),
            _ => return Err(short()),
        },
        2 | 3 => match file.get(8..12) {
            Some(&[a, b, c, d]) => (12, u32::from_le_bytes([a, b, c, d]) as usize),
            _ => return Err(short()),
        },
        other => return fail(6, format!("version {other} is not known")),
    };
    if length > MAX_HEADER {
        return fail(8, format!("a header of {length} bytes, more than {MAX_HEADER}"));
    }
    let text = file.get(prefix..prefix + length).ok_or_else(short)?;
    let Ok(text) = std::str::from_utf8(text) else {
        return fail(prefix, "the header is not text".into());
    };
    Ok((prefix, text))
}

fn short(file: &[u8]) -> Error {
    Error::Npy { offset: file.len() as u64, reason: "the file ends in its header".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_files_are_refused() {
        let mut good = Vec::new();
        crate::write_npy(&Tensor::from_vec(vec![1u8, 2, 3], &[3]).unwrap(), &mut good).unwrap();
        for cut in 0..good.len() {
            let result = read_npy(&good[..cut].to_vec().into());
            assert!(matches!(result, Err(Error::Npy { .. })), "cut at {cut}");
        }
        let mut long = good.clone();
        long.push(0);
        assert!(read_npy(&long.into()).is_err());
        let mut version = good.clone();
        version[6] = 9;
        assert!(read_npy(&version.into()).is_err());
        let mut wide = good;
        wide[6..12].copy_from_slice(&[2, 0, 255, 255, 255, 255]);
        assert!(read_npy(&wide.into()).is_err());
    }
}
