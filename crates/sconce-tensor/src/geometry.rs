//! The arithmetic of sizes, strides and offsets, where every number may come from a hostile file.

use smallvec::SmallVec;

use crate::error::ViewShape;
use crate::{DType, Error};

/// Sizes or strides, one number a dimension.
pub type Dims = SmallVec<[i64; 6]>;

/// The number of elements. The product is checked even where a size is 0, as PyTorch does, so that
/// strides computed from the sizes cannot overflow.
pub(crate) fn numel(sizes: &[i64]) -> Result<i64, Error> {
    let mut product: i64 = 1;
    let mut empty = false;
    for &size in sizes {
        if size < 0 {
            return Err(Error::InvalidView(format!(
                "sizes {sizes:?} hold the negative size {size}"
            )));
        }
        empty |= size == 0;
        if size > 1 {
            product = product.checked_mul(size).ok_or_else(|| {
                Error::InvalidView(format!(
                    "numel: integer multiplication overflow, sizes {sizes:?}"
                ))
            })?;
        }
    }
    Ok(if empty { 0 } else { product })
}

/// Row-major strides, sizes of 0 counted as 1, as PyTorch's `empty` makes them.
pub(crate) fn contiguous_strides(sizes: &[i64]) -> Dims {
    let mut strides: Dims = smallvec::smallvec![1; sizes.len()];
    for i in (1..sizes.len()).rev() {
        strides[i - 1] = strides[i].saturating_mul(sizes[i].max(1));
    }
    strides
}

/// `torch.Tensor.is_contiguous`: row-major without gaps; strides of sizes 1 do not matter.
pub(crate) fn is_contiguous(sizes: &[i64], strides: &[i64]) -> bool {
    if sizes.contains(&0) {
        return true;
    }
    let mut expected: i64 = 1;
    for (&size, &stride) in sizes.iter().zip(strides).rev() {
        if size == 1 {
            continue;
        }
        if stride != expected {
            return false;
        }
        expected = expected.saturating_mul(size);
    }
    true
}

/// One past the last element that a view touches, counted from the start of the storage; 0 for a
/// view without elements. Fails on anything negative and where PyTorch's 64-bit numbers overflow.
pub(crate) fn end_element(offset: i64, sizes: &[i64], strides: &[i64]) -> Result<u128, Error> {
    let count = numel(sizes)?;
    if sizes.len() != strides.len() {
        return Err(Error::InvalidView(format!(
            "unequal size length ({}) and stride length ({})",
            sizes.len(),
            strides.len()
        )));
    }
    if offset < 0 {
        return Err(Error::InvalidView(format!("Tensor: invalid storage offset {offset}")));
    }
    if let Some(stride) = strides.iter().find(|&&stride| stride < 0) {
        return Err(Error::InvalidView(format!(
            "strides {strides:?} hold the negative stride {stride}"
        )));
    }
    if count == 0 {
        return Ok(0);
    }
    let mut end = i128::from(offset) + 1;
    for (&size, &stride) in sizes.iter().zip(strides) {
        // Both factors are below 2^63, and the sum is checked against 2^63 each time.
        end += i128::from(size - 1) * i128::from(stride);
        if end > i128::from(i64::MAX) {
            return Err(Error::InvalidView(format!(
                "Storage size calculation overflowed with sizes={sizes:?} and strides={strides:?}"
            )));
        }
    }
    Ok(end as u128)
}

/// Checks that a view lies inside a storage of `held` bytes, and gives its number of elements.
pub(crate) fn check_view(
    dtype: DType,
    held: u64,
    offset: i64,
    sizes: &[i64],
    strides: &[i64],
) -> Result<i64, Error> {
    let needed = dtype.bytes_for(end_element(offset, sizes, strides)?);
    if needed > u128::from(held) {
        let view = ViewShape {
            dtype,
            sizes: Dims::from_slice(sizes),
            strides: Dims::from_slice(strides),
            offset,
        };
        return Err(Error::OutOfBounds { view: Box::new(view), needed, held });
    }
    numel(sizes)
}

/// The same elements in the same order with as few dimensions as possible: sizes 1 dropped, and
/// neighbours joined where one steps exactly over the other. Not for empty views.
pub(crate) fn collapse(sizes: &[i64], strides: &[i64]) -> (Dims, Dims) {
    let (mut out_sizes, mut out_strides) = (Dims::new(), Dims::new());
    for (&size, &stride) in sizes.iter().zip(strides) {
        if size == 1 {
            continue;
        }
        if let (Some(last_size), Some(last_stride)) = (out_sizes.last_mut(), out_strides.last_mut())
            && *last_stride == stride.saturating_mul(size)
        {
            *last_size *= size;
            *last_stride = stride;
            continue;
        }
        out_sizes.push(size);
        out_strides.push(stride);
    }
    (out_sizes, out_strides)
}

/// Walks the elements of a view that was checked before, in row-major order, giving element
/// positions from the start of the storage.
#[derive(Clone)]
pub(crate) struct Positions {
    sizes: Dims,
    strides: Dims,
    index: Dims,
    position: i64,
    left: u64,
}

impl Positions {
    pub(crate) fn new(offset: i64, sizes: &[i64], strides: &[i64], numel: i64) -> Positions {
        let (sizes, strides) =
            if numel == 0 { (Dims::new(), Dims::new()) } else { collapse(sizes, strides) };
        let index = smallvec::smallvec![0; sizes.len()];
        Positions { sizes, strides, index, position: offset, left: numel as u64 }
    }
}

impl Iterator for Positions {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let here = self.position as usize;
        for dim in (0..self.sizes.len()).rev() {
            self.index[dim] += 1;
            if self.index[dim] < self.sizes[dim] {
                self.position += self.strides[dim];
                break;
            }
            self.position -= self.strides[dim] * (self.sizes[dim] - 1);
            self.index[dim] = 0;
        }
        Some(here)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

/// `(2, 3)`, `(3,)`, `()`: a Python tuple.
pub(crate) fn python_tuple(numbers: &[i64]) -> String {
    let joined: Vec<String> = numbers.iter().map(i64::to_string).collect();
    if numbers.len() == 1 {
        format!("({},)", joined[0])
    } else {
        format!("({})", joined.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numel_is_checked() {
        let cases: [(&[i64], Option<i64>); 7] = [
            (&[], Some(1)),
            (&[2, 3], Some(6)),
            (&[0, 5], Some(0)),
            (&[1 << 40, 1 << 40], None),
            (&[0, 1 << 40, 1 << 40], None),
            (&[-1], None),
            (&[i64::MAX], Some(i64::MAX)),
        ];
        for (sizes, want) in cases {
            assert_eq!(numel(sizes).ok(), want, "{sizes:?}");
        }
    }

    #[test]
    fn ends() {
        type Case<'a> = (i64, &'a [i64], &'a [i64], Option<u128>);
        let cases: [Case<'_>; 8] = [
            (0, &[2, 3], &[3, 1], Some(6)),
            (5, &[], &[], Some(6)),
            (100, &[0], &[1], Some(0)),
            (1, &[3], &[0], Some(2)),
            (i64::MAX, &[1], &[1], None),
            (0, &[i64::MAX, 1], &[i64::MAX, i64::MAX], None),
            (0, &[2], &[-1], None),
            (0, &[2], &[1, 1], None),
        ];
        for (offset, sizes, strides, want) in cases {
            assert_eq!(
                end_element(offset, sizes, strides).ok(),
                want,
                "{offset} {sizes:?} {strides:?}"
            );
        }
    }

    #[test]
    fn collapsing_joins_what_can_be_joined() {
        let (sizes, strides) = collapse(&[2, 1, 3, 4], &[12, 99, 4, 1]);
        assert_eq!((&sizes[..], &strides[..]), (&[24][..], &[1][..]));
        let (sizes, strides) = collapse(&[2, 3], &[1, 2]);
        assert_eq!((&sizes[..], &strides[..]), (&[2, 3][..], &[1, 2][..]));
    }

    #[test]
    fn tuples() {
        assert_eq!(python_tuple(&[]), "()");
        assert_eq!(python_tuple(&[3]), "(3,)");
        assert_eq!(python_tuple(&[2, 3]), "(2, 3)");
    }
}
