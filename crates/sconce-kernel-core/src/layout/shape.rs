//! Sizes and strides: counting, broadcasting, wrapping of negative dimensions, views.

use crate::{Dims, Error, Result};

/// Prints like Python's list.
pub fn list(numbers: &[i64]) -> String {
    format!("{numbers:?}")
}

/// The number of elements.
///
/// # Errors
/// For negative sizes and products beyond 63 bits.
pub fn numel(sizes: &[i64]) -> Result<i64> {
    let mut product = Some(1i64);
    for &size in sizes {
        if size < 0 {
            return Err(Error::runtime(format!(
                "Trying to create tensor with negative dimension {size}: {}",
                list(sizes)
            )));
        }
        product = product.and_then(|n| n.checked_mul(size));
    }
    if sizes.contains(&0) {
        return Ok(0);
    }
    product.ok_or_else(|| Error::runtime("numel: integer multiplication overflow"))
}

/// The number of elements of sizes that some tensor has, where a size of 0 may stand beside others
/// whose product is beyond 63 bits.
pub fn product(sizes: &[i64]) -> i64 {
    if sizes.contains(&0) {
        return 0;
    }
    sizes.iter().fold(1, |product, &size| i64::saturating_mul(product, size))
}

/// Row-major strides. A size of 0 counts as 1, as in PyTorch.
pub fn contiguous_strides(sizes: &[i64]) -> Dims {
    let mut strides = Dims::from_elem(1, sizes.len());
    let mut step = 1i64;
    for (stride, &size) in strides.iter_mut().zip(sizes).rev() {
        *stride = step;
        step = step.saturating_mul(size.max(1));
    }
    strides
}

/// Refuses sizes whose row-major strides are beyond 64 bits, which only those of no elements have.
pub fn check_strides(sizes: &[i64]) -> Result<()> {
    let mut steps = sizes.iter().skip(1).map(|&size| size.max(1));
    match steps.try_fold(1i64, |step, size| step.checked_mul(size)) {
        Some(_) => Ok(()),
        None => Err(Error::runtime("Stride calculation overflowed")),
    }
}

/// The sizes that both broadcast to.
///
/// # Errors
/// Where sizes differ and neither is 1: of several such dimensions the last one is named.
pub fn broadcast(a: &[i64], b: &[i64]) -> Result<Dims> {
    let dims = a.len().max(b.len());
    let mut sizes = Dims::from_elem(1, dims);
    for i in (0..dims).rev() {
        let at = |sizes: &[i64]| (i + sizes.len()).checked_sub(dims).map_or(1, |i| sizes[i]);
        sizes[i] = match (at(a), at(b)) {
            (x, y) if x == y => x,
            (1, y) => y,
            (x, 1) => x,
            (x, y) => {
                return Err(Error::runtime(format!(
                    "The size of tensor a ({x}) must match the size of tensor b ({y}) at \
                     non-singleton dimension {i}"
                )));
            }
        };
    }
    Ok(sizes)
}

/// A dimension that may count from the end, as an index. Tensors without dimensions accept 0 and -1.
///
/// # Errors
/// Where there is no such dimension.
pub fn wrap_dim(dim: i64, dims: usize) -> Result<usize> {
    let range = dims.max(1) as i64;
    if !(-range..range).contains(&dim) {
        return Err(Error::index(format!(
            "Dimension out of range (expected to be in range of [{}, {}], but got {dim})",
            -range,
            range - 1
        )));
    }
    Ok((if dim < 0 { dim + range } else { dim }) as usize)
}

/// Sizes for `view` and `reshape`, where one may be -1.
///
/// # Errors
/// Where the numbers of elements differ.
pub fn infer_size(sizes: &[i64], numel: i64) -> Result<Dims> {
    let mut inferred = None;
    let mut known = Some(1i64);
    for (i, &size) in sizes.iter().enumerate() {
        match size {
            -1 if inferred.is_some() => {
                return Err(Error::runtime("only one dimension can be inferred"));
            }
            -1 => inferred = Some(i),
            size if size < 0 => {
                return Err(Error::runtime(format!(
                    "invalid shape dimension {size} at index {i} of shape {}",
                    list(sizes)
                )));
            }
            size => known = known.and_then(|n| n.checked_mul(size)),
        }
    }
    let invalid =
        || Error::runtime(format!("shape '{}' is invalid for input of size {numel}", list(sizes)));
    let known = known.ok_or_else(invalid)?;
    let mut result = Dims::from_slice(sizes);
    match inferred {
        None if known == numel => {}
        Some(_) if known == 0 && numel == 0 => {
            return Err(Error::runtime(format!(
                "cannot reshape tensor of 0 elements into shape {} because the unspecified \
                 dimension size -1 can be any value and is ambiguous",
                list(sizes)
            )));
        }
        Some(i) if known > 0 && numel % known == 0 => result[i] = numel / known,
        _ => return Err(invalid()),
    }
    Ok(result)
}

/// Strides that show the same elements under other sizes without a copy, if there are any.
pub fn view_strides(sizes: &[i64], strides: &[i64], new: &[i64]) -> Option<Dims> {
    if sizes.contains(&0) {
        return Some(contiguous_strides(new));
    }
    let mut result = Dims::from_elem(1, new.len());
    let mut at = new.len();
    let mut base = strides.last().copied().unwrap_or(1);
    let (mut old_count, mut new_count) = (1i64, 1i64);
    for i in (0..sizes.len()).rev() {
        old_count *= sizes[i];
        let ends = i == 0 || (sizes[i - 1] != 1 && strides[i - 1] != old_count * base);
        if !ends {
            continue;
        }
        while at > 0 && (new_count < old_count || new[at - 1] == 1) {
            at -= 1;
            result[at] = new_count * base;
            new_count *= new[at];
        }
        if new_count != old_count {
            return None;
        }
        if i > 0 {
            base = strides[i - 1];
            (old_count, new_count) = (1, 1);
        }
    }
    if sizes.is_empty() {
        return Some(contiguous_strides(new));
    }
    (at == 0).then_some(result)
}

/// Whether elements lie row-major without gaps.
pub fn is_contiguous(sizes: &[i64], strides: &[i64]) -> bool {
    let mut step = 1;
    for (&size, &stride) in sizes.iter().zip(strides).rev() {
        if size != 1 && stride != step {
            // What has no elements has no gaps.
            return sizes.contains(&0);
        }
        step = i64::saturating_mul(step, size);
    }
    true
}

/// Whether strides are those of [`contiguous_strides`].
pub fn is_row_major(sizes: &[i64], strides: &[i64]) -> bool {
    let mut step = 1i64;
    sizes.iter().zip(strides).rev().all(|(&size, &stride)| {
        let fits = stride == step;
        step = step.saturating_mul(size.max(1));
        fits
    })
}

/// The strides of a tensor seen under larger sizes: 0 where it is repeated.
pub fn expanded_strides(sizes: &[i64], strides: &[i64], to: &[i64]) -> Dims {
    let lead = to.len().saturating_sub(sizes.len());
    let own = sizes.iter().zip(strides).zip(&to[lead..]);
    let own = own.map(|((&size, &stride), &to)| if size == 1 && to != 1 { 0 } else { stride });
    std::iter::repeat_n(0, lead).chain(own).collect()
}
