//! Indices of sparse tensors as vectors of integers, and from one kind to another.

use sconce_kernel_core::Memory;

use crate::sparse::{Sparse, SparseParts};
use crate::{DType, Error, Result, Tensor};

/// The elements of a tensor of indices in their order.
pub(super) fn read(indices: &Tensor) -> Result<Vec<i64>> {
    Memory::check_scratch(indices.count().saturating_mul(size_of::<i64>()))?;
    indices.to_dtype(DType::Int64)?.contiguous()?.to_vec::<i64>()
}

/// A vector as a tensor.
pub(super) fn vector(values: &[i64]) -> Result<Tensor> {
    Tensor::from_slice(values, &[values.len() as i64])
}

/// A table of indices, `rows` of them side by side.
pub(super) fn table(values: &[i64], rows: usize, columns: usize) -> Result<Tensor> {
    Tensor::from_slice(values, &[rows as i64, columns as i64])
}

/// For each entry the number of its place among those of the first `sizes.len()` dimensions.
pub(super) fn places(indices: &[i64], sizes: &[i64], entries: usize) -> Result<Vec<i64>> {
    Memory::check_scratch(entries.saturating_mul(size_of::<i64>()))?;
    let mut places = vec![0i64; entries];
    for (row, &size) in indices.chunks_exact(entries.max(1)).zip(sizes) {
        for (place, &index) in places.iter_mut().zip(row) {
            let next = place.checked_mul(size).and_then(|whole| whole.checked_add(index));
            *place = next.ok_or_else(too_large)?;
        }
    }
    Ok(places)
}

/// The indices of places, the mirror of [`places`].
pub(super) fn of_places(places: &[i64], sizes: &[i64]) -> Result<Tensor> {
    Memory::check_scratch(places.len().saturating_mul(size_of_val(sizes)))?;
    let mut rest = places.to_vec();
    let mut rows = vec![0i64; places.len() * sizes.len()];
    for (dim, &size) in sizes.iter().enumerate().rev() {
        let row = rows.get_mut(dim * places.len()..(dim + 1) * places.len()).unwrap_or_default();
        for (rest, index) in rest.iter_mut().zip(row) {
            *index = rest.checked_rem(size).unwrap_or(0);
            *rest = rest.checked_div(size).unwrap_or(0);
        }
    }
    table(&rows, sizes.len(), places.len())
}

fn too_large() -> Error {
    Error::runtime("numel: integer multiplication overflow")
}

/// That all indices lie within the sizes.
pub(super) fn check(sparse: &Sparse) -> Result<()> {
    match &sparse.parts {
        SparseParts::Coordinates { indices, .. } => {
            let (all, entries) = (read(indices)?, sparse.nnz().max(1) as usize);
            for (dim, (row, &size)) in all.chunks_exact(entries).zip(&sparse.sizes).enumerate() {
                let (low, high) = (row.iter().min(), row.iter().max());
                if let Some(&low) = low.filter(|&&low| low < 0) {
                    return Err(Error::runtime(format!(
                        "found negative index {low} for dim {dim}"
                    )));
                }
                if let Some(&high) = high.filter(|&&high| high >= size) {
                    return Err(Error::runtime(format!(
                        "size is inconsistent with indices: for dim {dim}, size is {size} but found \
                         index {high}"
                    )));
                }
            }
        }
        SparseParts::Compressed { layout, compressed, plain, .. } => {
            let rows = layout.compresses_rows();
            let (name, other) = if rows {
                ("crow_indices", "col_indices")
            } else {
                ("ccol_indices", "row_indices")
            };
            let (nnz, columns) = (sparse.nnz(), grid(sparse).1);
            let begins = read(compressed)?;
            let lines = compressed.sizes().last().copied().unwrap_or(1).max(1) as usize;
            let steps = |line: &[i64]| {
                line.first() == Some(&0)
                    && line.last() == Some(&nnz)
                    && line.windows(2).all(|pair| pair[0] <= pair[1])
            };
            if !begins.chunks_exact(lines).all(steps) {
                return Err(Error::runtime(format!(
                    "`{name}[..., 0] == 0`, `{name}[..., -1] == nnz` or `0 <= {name}[..., 1:] - \
                     {name}[..., :-1]` is not satisfied."
                )));
            }
            if read(plain)?.iter().any(|&index| !(0..columns).contains(&index)) {
                return Err(Error::runtime(format!(
                    "`0 <= {other} < {}` is not satisfied.",
                    if rows { "ncols" } else { "nrows" }
                )));
            }
        }
    }
    Ok(())
}

/// Sizes of the compressed and the other dimension, in blocks.
pub(super) fn grid(sparse: &Sparse) -> (i64, i64) {
    let (at, (height, width)) = (sparse.batch_dim(), sparse.block());
    let size = |at: usize| sparse.sizes.get(at).copied().unwrap_or(0);
    let rows = size(at).checked_div(height).unwrap_or(0);
    let columns = size(at + 1).checked_div(width).unwrap_or(0);
    if sparse.layout().compresses_rows() { (rows, columns) } else { (columns, rows) }
}

/// Where each of `lines` begins among entries whose lines are in order.
pub(super) fn begins(lines_of: &[i64], lines: i64) -> Result<Vec<i64>> {
    let lines = usize::try_from(lines).unwrap_or(0);
    Memory::check_scratch((lines + 1).saturating_mul(size_of::<i64>()))?;
    let mut counts = vec![0i64; lines + 1];
    for &line in lines_of {
        let count = usize::try_from(line).ok().and_then(|line| counts.get_mut(line + 1));
        *count.ok_or_else(|| Error::index(format!("index {line} is out of bounds")))? += 1;
    }
    let mut sum = 0;
    for count in &mut counts {
        sum += *count;
        *count = sum;
    }
    Ok(counts)
}

/// The line of each entry, of where lines begin.
pub(super) fn lines(begins: &[i64]) -> Vec<i64> {
    let counts = begins.windows(2).map(|pair| pair[1] - pair[0]).enumerate();
    counts
        .flat_map(|(line, count)| std::iter::repeat_n(line as i64, count.max(0) as usize))
        .collect()
}

/// `torch._convert_indices_from_coo_to_csr`.
///
/// # Errors
/// For indices beyond `size`.
///
/// ```
/// use sconce_kernels::{Tensor, compressed_from_coordinates};
/// let rows = Tensor::from_slice(&[0i64, 2, 2], &[3])?;
/// assert_eq!(compressed_from_coordinates(&rows, 3, false)?.to_vec::<i64>()?, [0, 1, 1, 3]);
/// # Ok::<(), sconce_kernels::Error>(())
/// ```
pub fn compressed_from_coordinates(rows: &Tensor, size: i64, narrow: bool) -> Result<Tensor> {
    let begins = vector(&begins(&read(rows)?, size)?)?;
    if narrow { begins.to_dtype(DType::Int32) } else { Ok(begins) }
}

/// `torch._convert_indices_from_csr_to_coo`.
///
/// # Errors
/// Where the counts do not fit the plain indices.
pub fn coordinates_from_compressed(
    compressed: &Tensor,
    plain: &Tensor,
    narrow: bool,
    transpose: bool,
) -> Result<Tensor> {
    let dtype = if narrow { DType::Int32 } else { DType::Int64 };
    let (count, nnz) = (compressed.size(-1)?, plain.size(-1)?);
    let batch = compressed.sizes().get(..compressed.dim() - 1).unwrap_or_default();
    let (all, columns) = (read(compressed)?, read(plain)?);
    let mut rows = Vec::with_capacity(columns.len());
    for begins in all.chunks_exact(count.max(1) as usize) {
        let steps = begins.windows(2).all(|pair| pair[0] <= pair[1]);
        if !steps || begins.first() != Some(&0) || begins.last() != Some(&nnz) {
            return Err(Error::runtime("the compressed indices do not fit the plain indices"));
        }
        rows.extend(lines(begins));
    }
    let batches = batch.iter().product::<i64>() as usize;
    let mut table = Vec::with_capacity((batch.len() + 2) * columns.len());
    let entries = nnz.max(0) as usize;
    let numbers = (0..batches as i64).flat_map(|number| std::iter::repeat_n(number, entries));
    let numbers: Vec<i64> = numbers.collect();
    table.extend(of_places(&numbers, batch)?.to_vec::<i64>()?);
    let (first, second) = if transpose { (columns, rows) } else { (rows, columns) };
    table.extend(first);
    table.extend(second);
    self::table(&table, batch.len() + 2, batches * entries)?.to_dtype(dtype)
}
