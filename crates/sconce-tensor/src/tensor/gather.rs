//! Elements out of storages: lent where they lie as asked, copied otherwise.

use std::borrow::Cow;

use sconce_source::Bytes;

use crate::byte_order::swap_words;
use crate::geometry::{Positions, collapse};
use crate::scalar::decode;
use crate::tensor::Body;
use crate::{ByteOrder, DType, Dims, Element, Error, Scalar, Storage, Tensor};

/// What a copy may take where the caller names no limit and the storage is smaller: only a view
/// that repeats elements can need more than its storage.
const REPEATED_BYTES: u64 = 1 << 30;

/// The same for indices, sizes and other tables.
const REPEATED_TABLE_BYTES: u64 = 1 << 24;

/// Side of the square blocks in which transposed elements are copied, so that the rows of one side
/// and the columns of the other stay in the cache.
const TILE: usize = 32;

/// A zeroed buffer, or an error where memory is not to be had.
pub(crate) fn zeroed(what: &'static str, len: u128, limit: u64) -> Result<Vec<u8>, Error> {
    let too_large = || Error::TooLarge { what, needed: len, limit };
    if len > u128::from(limit) {
        return Err(too_large());
    }
    let len = usize::try_from(len).map_err(|_| too_large())?;
    let mut out = Vec::new();
    out.try_reserve_exact(len).map_err(|_| too_large())?;
    out.resize(len, 0);
    Ok(out)
}

impl Tensor {
    /// Bytes that a copy of this tensor's elements may take without a limit from the caller: those
    /// of the storage, but at least a gibibyte.
    pub(crate) fn default_limit(&self) -> u64 {
        self.storage().map_or(0, |storage| storage.nbytes()).max(REPEATED_BYTES)
    }

    /// Room for one `T` an element.
    pub(crate) fn output_buffer<T>(&self, what: &'static str) -> Result<Vec<T>, Error> {
        let bytes = self.numel as u128 * size_of::<T>() as u128;
        // A quantized element of a byte or less may become four.
        let limit = self.default_limit().saturating_mul(16);
        let mut out = Vec::new();
        if bytes > u128::from(limit) || out.try_reserve_exact(self.numel as usize).is_err() {
            return Err(Error::TooLarge { what, needed: bytes, limit });
        }
        Ok(out)
    }

    /// The storage bytes of a contiguous view, if the elements are whole bytes there.
    fn contiguous_range(&self) -> Option<std::ops::Range<usize>> {
        if !self.is_contiguous() {
            return None;
        }
        if self.numel == 0 {
            return Some(0..0);
        }
        let per_byte = self.dtype.elements_per_byte();
        let (offset, numel) = (self.offset as usize, self.numel as usize);
        if per_byte > 1 {
            let aligned = offset.is_multiple_of(per_byte);
            return aligned.then(|| offset / per_byte..(offset + numel).div_ceil(per_byte));
        }
        let item = self.dtype.item_size();
        Some(offset * item..(offset + numel) * item)
    }

    /// Lends the elements of a contiguous tensor.
    ///
    /// # Errors
    /// [`Error::WrongDType`] where `T` does not read this dtype; [`Error::NotBorrowable`] where the
    /// elements are not contiguous, not aligned in the file, lazily conjugated or negated, or a
    /// `bool` is stored as neither 0 nor 1: then [`Tensor::to_vec`] copies. And the errors of
    /// [`Storage::data`](crate::Storage::data).
    pub fn as_slice<T: Element>(&self) -> Result<&[T], Error> {
        self.check_element::<T>()?;
        let data = self.strided_data()?;
        if self.changes_bits() {
            return Err(Error::NotBorrowable("they are lazily conjugated or negated"));
        }
        let range =
            self.contiguous_range().ok_or(Error::NotBorrowable("they are not contiguous"))?;
        T::cast(&data[range]).map_err(Error::NotBorrowable)
    }

    /// Copies the elements, row-major.
    ///
    /// # Errors
    /// [`Error::WrongDType`] where `T` does not read this dtype, and those of
    /// [`Tensor::contiguous_bytes`].
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, Error> {
        self.check_element::<T>()?;
        Ok(T::collect(&self.native_bytes(self.default_limit())?))
    }

    /// [`Tensor::to_vec`] for tables that other tensors are built of: one that repeats its elements
    /// may not become much larger than its storage.
    pub(crate) fn to_table<T: Element>(&self) -> Result<Vec<T>, Error> {
        self.check_element::<T>()?;
        let limit = self.storage().map_or(0, |storage| storage.nbytes()).max(REPEATED_TABLE_BYTES);
        Ok(T::collect(&self.native_bytes(limit)?))
    }

    fn check_element<T: Element>(&self) -> Result<(), Error> {
        if T::reads(self.dtype) {
            return Ok(());
        }
        Err(Error::WrongDType { wanted: T::DTYPE, found: self.dtype })
    }

    /// The bytes of the elements, row-major, little-endian: lent from the storage where they lie so,
    /// copied otherwise. Lazy conjugation and negation are applied. Elements of the packed quantized
    /// types are packed without gaps.
    ///
    /// A copy may take as many bytes as the storage has, or a gibibyte if that is more: an expanded
    /// view can stand for any number of elements.
    ///
    /// # Errors
    /// [`Error::NoData`], [`Error::TooLarge`], the errors of
    /// [`Storage::data`](crate::Storage::data), and [`Error::Unsupported`] for sparse and nested
    /// tensors.
    ///
    /// ```
    /// use sconce_tensor::Tensor;
    /// let t = Tensor::from_vec(vec![1u8, 2, 3, 4], &[2, 2]).unwrap();
    /// assert_eq!(*t.contiguous_bytes().unwrap(), [1, 2, 3, 4]);
    /// assert_eq!(*t.transpose(0, 1).unwrap().contiguous_bytes().unwrap(), [1, 3, 2, 4]);
    /// ```
    pub fn contiguous_bytes(&self) -> Result<Cow<'_, [u8]>, Error> {
        self.contiguous_bytes_with_limit(self.default_limit())
    }

    /// [`Tensor::contiguous_bytes`] with a limit on the bytes that a copy may take.
    ///
    /// # Errors
    /// Those of [`Tensor::contiguous_bytes`].
    pub fn contiguous_bytes_with_limit(&self, max_bytes: u64) -> Result<Cow<'_, [u8]>, Error> {
        let mut bytes = self.native_bytes(max_bytes)?;
        if ByteOrder::native() == ByteOrder::Big && self.dtype.swap_size() > 1 {
            swap_words(bytes.to_mut(), self.dtype.swap_size());
        }
        Ok(bytes)
    }

    /// The same tensor over a storage that holds its bytes, where this one's storage would have to load,
    /// inflate or compute them and then keep them ([`Storage::bytes_once`]): for a writer that needs
    /// every tensor once. Where the bytes are there already nothing is copied.
    ///
    /// # Errors
    /// Those of [`Storage::data`].
    pub fn loaded(&self) -> Result<Tensor, Error> {
        let mut tensor = self.clone();
        if let Body::Strided(storage) | Body::Quantized(storage, _) = &mut tensor.body {
            *storage = Storage::from_bytes(storage.bytes_once()?, storage.device().clone());
        }
        Ok(tensor)
    }

    /// [`Tensor::contiguous_bytes`] of [`Tensor::loaded`]. Pages of a mapped file that a copy was made
    /// of are let go of ([`Source::release`](sconce_source::Source::release)).
    ///
    /// # Errors
    /// Those of both.
    pub fn contiguous_bytes_once(&self) -> Result<Bytes, Error> {
        let tensor = self.loaded()?;
        let lies_so = !tensor.changes_bits() && ByteOrder::native() == ByteOrder::Little;
        if let (Some(range), Some(storage), true) =
            (tensor.contiguous_range(), tensor.storage(), lies_so)
            && let Some(part) = storage.bytes()?.slice(range)
        {
            return Ok(part);
        }
        let gathered = Bytes::from(tensor.contiguous_bytes()?.into_owned());
        if let Some(storage) = tensor.storage() {
            storage.bytes()?.source().release();
        }
        Ok(gathered)
    }

    /// [`Tensor::contiguous_bytes_with_limit`] in this machine's order.
    pub(crate) fn native_bytes(&self, max_bytes: u64) -> Result<Cow<'_, [u8]>, Error> {
        let data = self.strided_data()?;
        let mut bytes = match self.contiguous_range() {
            Some(range) if !self.changes_bits() => return Ok(Cow::Borrowed(&data[range])),
            Some(range) => {
                let lent = &data[range];
                let mut out = zeroed("a copy of the elements", lent.len() as u128, max_bytes)?;
                out.copy_from_slice(lent);
                out
            }
            None => {
                let needed = self.dtype.bytes_for(self.numel as u128);
                let mut out = zeroed("a copy of the elements", needed, max_bytes)?;
                self.gather(data, &mut out);
                out
            }
        };
        self.resolve(&mut bytes)?;
        Ok(Cow::Owned(bytes))
    }

    fn gather(&self, data: &[u8], out: &mut [u8]) {
        if self.dtype.elements_per_byte() > 1 {
            return self.gather_packed(data, out);
        }
        match self.dtype.item_size() {
            1 => self.gather_words::<1>(data, out),
            2 => self.gather_words::<2>(data, out),
            4 => self.gather_words::<4>(data, out),
            8 => self.gather_words::<8>(data, out),
            _ => self.gather_words::<16>(data, out),
        }
    }

    fn gather_packed(&self, data: &[u8], out: &mut [u8]) {
        let per_byte = self.dtype.elements_per_byte();
        for (i, position) in self.positions().enumerate() {
            if let Scalar::UInt(code) = decode(self.dtype, data, position) {
                out[i / per_byte] |= (code as u8) << (i % per_byte * (8 / per_byte));
            }
        }
    }

    fn gather_words<const N: usize>(&self, data: &[u8], out: &mut [u8]) {
        let (data, out) = (data.as_chunks::<N>().0, out.as_chunks_mut::<N>().0);
        let (sizes, strides) = collapse(&self.sizes, &self.strides);
        match sizes.len() {
            0 => out[0] = data[self.offset as usize],
            rank if rank >= 2 && strides[rank - 1] > strides[rank - 2] => {
                let (outer, inner) = (rank - 2, &sizes[rank - 2..]);
                let plane = (inner[0] * inner[1]) as usize;
                for (base, out) in
                    self.outer(&sizes, &strides, outer).zip(out.chunks_exact_mut(plane))
                {
                    transpose(&data[base..], out, inner[1] as usize, &strides[outer..]);
                }
            }
            rank => {
                let (len, stride) = (sizes[rank - 1] as usize, strides[rank - 1] as usize);
                for (base, out) in
                    self.outer(&sizes, &strides, rank - 1).zip(out.chunks_exact_mut(len))
                {
                    copy_run(&data[base..], out, stride);
                }
            }
        }
    }

    /// Positions of the first elements of the inner blocks, after `outer` dimensions.
    fn outer(&self, sizes: &Dims, strides: &Dims, outer: usize) -> Positions {
        let count = sizes[..outer].iter().product();
        Positions::new(self.offset, &sizes[..outer], &strides[..outer], count)
    }

    /// Whether the lazy bits change elements.
    fn changes_bits(&self) -> bool {
        self.neg || self.conj && self.dtype.is_complex()
    }

    /// Applies the lazy bits to copied elements.
    fn resolve(&self, bytes: &mut [u8]) -> Result<(), Error> {
        if !self.changes_bits() {
            return Ok(());
        }
        let item = self.dtype.item_size();
        if self.dtype.is_complex() {
            let half = item / 2;
            for element in bytes.chunks_exact_mut(item) {
                let (real, imaginary) = element.split_at_mut(half);
                if self.neg {
                    flip_sign(real);
                }
                if self.neg != self.conj {
                    flip_sign(imaginary);
                }
            }
            return Ok(());
        }
        match self.dtype {
            DType::Bool => {}
            DType::Float8E5M2FNUZ | DType::Float8E4M3FNUZ => {
                // Zero has no sign here: its other code is NaN.
                bytes.iter_mut().filter(|b| **b & 0x7f != 0).for_each(|b| *b ^= 0x80);
            }
            DType::Float8E8M0FNU | DType::Float4E2M1FNx2 => {
                return Err(Error::Unsupported(format!("negation of {}", self.dtype)));
            }
            dtype if dtype.is_floating_point() => bytes.chunks_exact_mut(item).for_each(flip_sign),
            dtype if dtype.is_integral() => bytes.chunks_exact_mut(item).for_each(negate),
            dtype => return Err(Error::Unsupported(format!("negation of {dtype}"))),
        }
        Ok(())
    }
}

fn copy_run<const N: usize>(data: &[[u8; N]], out: &mut [[u8; N]], stride: usize) {
    match stride {
        0 => out.fill(data[0]),
        1 => out.copy_from_slice(&data[..out.len()]),
        _ => {
            for (to, from) in out.iter_mut().zip(data.iter().step_by(stride)) {
                *to = *from;
            }
        }
    }
}

/// Copies a matrix whose rows lie closer together than its columns, block by block.
fn transpose<const N: usize>(
    data: &[[u8; N]],
    out: &mut [[u8; N]],
    columns: usize,
    strides: &[i64],
) {
    let (row_stride, column_stride) = (strides[0] as usize, strides[1] as usize);
    let rows = out.len() / columns;
    for row_block in (0..rows).step_by(TILE) {
        let row_end = rows.min(row_block + TILE);
        for column_block in (0..columns).step_by(TILE) {
            let column_end = columns.min(column_block + TILE);
            for row in row_block..row_end {
                let line = &mut out[row * columns + column_block..row * columns + column_end];
                let start = row * row_stride + column_block * column_stride;
                for (to, from) in line.iter_mut().zip(data[start..].iter().step_by(column_stride)) {
                    *to = *from;
                }
            }
        }
    }
}

/// Flips the sign of a floating number in this machine's order.
fn flip_sign(word: &mut [u8]) {
    let top = match ByteOrder::native() {
        ByteOrder::Little => word.last_mut(),
        ByteOrder::Big => word.first_mut(),
    };
    if let Some(byte) = top {
        *byte ^= 0x80;
    }
}

/// Two's complement of an integer in this machine's order.
fn negate(word: &mut [u8]) {
    let mut carry = true;
    let mut step = |byte: &mut u8| {
        let (sum, over) = (!*byte).overflowing_add(u8::from(carry));
        *byte = sum;
        carry = over;
    };
    match ByteOrder::native() {
        ByteOrder::Little => word.iter_mut().for_each(&mut step),
        ByteOrder::Big => word.iter_mut().rev().for_each(&mut step),
    }
}

#[cfg(test)]
mod tests {
    use num_complex::Complex;

    use super::*;
    use crate::{Device, Storage};

    #[test]
    fn channels_last_and_transposes_are_gathered_in_blocks() {
        let n = 100i64;
        let grid = Tensor::from_vec((0..n * n).collect::<Vec<i64>>(), &[n, n]).unwrap();
        let turned = grid.transpose(0, 1).unwrap().to_vec::<i64>().unwrap();
        for (i, value) in turned.iter().enumerate() {
            let (row, column) = (i as i64 / n, i as i64 % n);
            assert_eq!(*value, column * n + row);
        }
        let (c, h, w) = (3, 5, 7);
        let image = Tensor::from_vec((0..2 * c * h * w).map(|i| i as i16).collect(), &[2, h, w, c]);
        let image = image.unwrap().permute(&[0, 3, 1, 2]).unwrap();
        let by_value: Vec<i16> = image
            .values()
            .unwrap()
            .map(|v| if let Scalar::Int(i) = v { i as i16 } else { panic!("{v:?}") })
            .collect();
        assert_eq!(image.to_vec::<i16>().unwrap(), by_value);
    }

    #[test]
    fn lazy_bits_are_applied() {
        let t = Tensor::from_vec(vec![Complex::new(1f32, 2.0)], &[1]).unwrap();
        let cases = [(true, false, (1., -2.)), (false, true, (-1., -2.)), (true, true, (-1., 2.))];
        for (conj, neg, (re, im)) in cases {
            let lazy = t.clone().with_conj(conj).with_neg(neg);
            assert_eq!(lazy.to_vec::<Complex<f32>>().unwrap(), [Complex::new(re, im)]);
            let re_im = Scalar::Complex(f64::from(re), f64::from(im));
            assert_eq!(lazy.item().unwrap(), re_im);
            assert!(lazy.as_slice::<Complex<f32>>().is_err());
        }
        let ints = Tensor::from_vec(vec![1i16, -256, 0, i16::MIN], &[4]).unwrap().with_neg(true);
        assert_eq!(ints.to_vec::<i16>().unwrap(), [-1, 256, 0, i16::MIN]);
        let by_value: Vec<Scalar> = ints.values().unwrap().collect();
        assert_eq!(by_value, [-1, 256, 0, -32768].map(Scalar::Int));
        let floats = Tensor::from_vec(vec![1f64], &[1]).unwrap().with_neg(true).with_conj(true);
        assert_eq!(floats.to_vec::<f64>().unwrap(), [-1.0]);
    }

    #[test]
    fn expanded_views_cannot_fill_memory() {
        let storage = Storage::from_bytes(vec![7u8; 4].into(), Device::CPU);
        let huge =
            Tensor::strided(storage, DType::Float32, 0, &[1 << 40, 1 << 20], &[0, 0]).unwrap();
        assert!(matches!(huge.contiguous_bytes(), Err(Error::TooLarge { .. })));
        assert!(matches!(huge.to_vec::<f32>(), Err(Error::TooLarge { .. })));
        let small = huge.narrow(0, 0, 2).unwrap().narrow(1, 0, 3).unwrap();
        assert!(small.contiguous_bytes_with_limit(23).is_err());
        assert_eq!(*small.contiguous_bytes_with_limit(24).unwrap(), [7u8; 24]);
    }

    #[test]
    fn misaligned_elements_are_copied_not_lent() {
        let bytes = sconce_source::Bytes::from(vec![0u8, 1, 0, 0, 0, 2, 0, 0, 0]);
        let storage = Storage::from_bytes(bytes.slice(1..9).unwrap(), Device::CPU);
        let t = Tensor::contiguous(storage, DType::Int32, &[2]).unwrap();
        if ByteOrder::native() == ByteOrder::Little {
            assert_eq!(t.to_vec::<i32>().unwrap(), [1, 2]);
        }
        assert!(matches!(t.as_slice::<i32>(), Err(Error::NotBorrowable(_))));
        assert!(matches!(t.as_slice::<f32>(), Err(Error::WrongDType { .. })));
    }

    #[test]
    fn borrowed_where_possible() {
        let t = Tensor::from_vec(vec![1f32, 2., 3., 4.], &[2, 2]).unwrap();
        let row = t.select(0, 1).unwrap();
        assert!(matches!(row.contiguous_bytes().unwrap(), Cow::Borrowed(_)));
        assert_eq!(row.as_slice::<f32>().unwrap(), [3., 4.]);
        let empty = Tensor::from_vec(Vec::<f64>::new(), &[0, 3]).unwrap();
        assert!(empty.as_slice::<f64>().unwrap().is_empty());
    }
}
