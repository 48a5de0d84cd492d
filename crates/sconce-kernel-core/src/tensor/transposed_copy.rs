//! Copies between tensors whose innermost dimensions differ.
//!
//! Row by row, every element would come from another cache line, and lines that are a large power of
//! two apart evict each other. So elements are copied in square blocks, one cache line wide.

use crate::layout::strided_iter;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::simd::transpose_4x4;
use crate::{Dims, PodElement};

/// Rows and columns that are transposed together: with four bytes to an element, those of a cache line.
pub const BLOCK: usize = 16;

/// Elements of a group that it is not made longer than.
const LONG: usize = 1 << 12;

/// Copies views of these sizes, from `start`, where the elements of `from` follow one another along other dimensions
/// than those of `to`; `false` for other views, with nothing done.
pub fn copy_transposed<T: PodElement>(
    sizes: &[i64],
    strides: [&[i64]; 2],
    start: [i64; 2],
    to: &mut [T],
    from: &[T],
) -> bool {
    if sizes.contains(&0) {
        return false;
    }
    let (mut sizes, mut strides) = strided_iter::merge(sizes, strides);
    let [to_strides, from_strides] = &strides;
    // Most copies end here: both tensors go along one dimension.
    let innermost = |strides: &Dims| strides.iter().position(|&stride| stride == 1);
    let (Some(column), Some(row)) = (innermost(to_strides), innermost(from_strides)) else {
        return false;
    };
    if column == row {
        return false;
    }
    let (mut columns, mut rows) = (Group::empty(), Group::empty());
    // Each is to fill a block, before either takes dimensions that the other may need.
    columns.extend(&sizes, [to_strides, from_strides], &rows, BLOCK);
    rows.extend(&sizes, [from_strides, to_strides], &columns, BLOCK);
    if columns.len() < BLOCK || rows.len() < BLOCK {
        return false;
    }
    columns.extend(&sizes, [to_strides, from_strides], &rows, LONG);
    rows.extend(&sizes, [from_strides, to_strides], &columns, LONG);
    let mut taken = [&columns.dims[..], &rows.dims].concat();
    taken.sort_unstable();
    for &dim in taken.iter().rev() {
        sizes.remove(dim);
        for strides in &mut strides {
            strides.remove(dim);
        }
    }
    let strides = [&strides[0][..], &strides[1][..]];
    strided_iter::rows(&sizes, strides, start, |[t, f], [t_step, f_step], len| {
        for i in 0..len {
            copy_groups(&mut to[t + i * t_step..], &from[f + i * f_step..], &columns, &rows);
        }
    });
    true
}

/// Dimensions whose elements follow one another in one of two tensors.
struct Group {
    dims: Vec<usize>,
    /// For each element in turn, where it lies in the other tensor.
    places: Vec<usize>,
}

impl Group {
    fn empty() -> Group {
        Group { dims: Vec::new(), places: vec![0] }
    }

    fn len(&self) -> usize {
        self.places.len()
    }

    /// Takes the next dimensions, by the strides of its tensor and of the other one, as long as it has fewer elements
    /// than `most`: none of another group, and first none whose element is repeated, which is filled, not copied.
    fn extend(&mut self, sizes: &[i64], strides: [&Dims; 2], other: &Group, most: usize) {
        while self.len() < most {
            let is_next = |dim: usize| {
                strides[0][dim] == self.len() as i64
                    && !self.dims.contains(&dim)
                    && !other.dims.contains(&dim)
                    && (strides[1][dim] != 0 || !self.dims.is_empty())
            };
            let Some(dim) = (0..sizes.len()).find(|&dim| is_next(dim)) else { return };
            let (size, step) = (sizes[dim] as usize, strides[1][dim] as usize);
            let before = std::mem::take(&mut self.places);
            if before.len() > 1 && before.len().saturating_mul(size) > LONG {
                self.places = before;
                return;
            }
            self.places = match before[..] {
                [place] => (0..size).map(|at| place + at * step).collect(),
                _ => (0..size)
                    .flat_map(|at| before.iter().map(move |place| place + at * step))
                    .collect(),
            };
            self.dims.push(dim);
        }
    }
}

/// Copies rows, which follow one another in `from`, of columns, which follow one another in `to`.
fn copy_groups<T: PodElement>(to: &mut [T], from: &[T], columns: &Group, rows: &Group) {
    let mut block = [[from[0]; BLOCK]; BLOCK];
    for (row, to_rows) in rows.places.chunks(BLOCK).enumerate() {
        let from = &from[row * BLOCK..];
        for (column, sources) in columns.places.chunks(BLOCK).enumerate() {
            let to = &mut to[column * BLOCK..];
            match (sources.try_into(), to_rows) {
                (Ok(sources), &[first, second, ..]) if to_rows.len() == BLOCK => {
                    let step = second.wrapping_sub(first);
                    if to_rows.windows(2).all(|pair| pair[0].wrapping_add(step) == pair[1]) {
                        copy_columns(&mut to[first..], step, from, sources);
                        continue;
                    }
                    copy_columns(block.as_flattened_mut(), BLOCK, from, sources);
                    for (to_row, block) in to_rows.iter().zip(&block) {
                        to[*to_row..][..BLOCK].copy_from_slice(block);
                    }
                }
                _ => {
                    for (row, to_row) in to_rows.iter().enumerate() {
                        for (to, source) in to[*to_row..].iter_mut().zip(sources) {
                            *to = from[source + row];
                        }
                    }
                }
            }
        }
    }
}

/// Copies [`BLOCK`] columns of as many numbers of `from`, `from_row` elements apart, to rows of `to`.
pub fn copy_block<T: PodElement>(to: &mut [T], to_row: usize, from: &[T], from_row: usize) {
    copy_columns(to, to_row, from, &std::array::from_fn(|column| column * from_row));
}

/// Copies [`BLOCK`] columns of as many numbers, which begin at these places in `from`, to rows of `to`.
fn copy_columns<T: PodElement>(to: &mut [T], to_row: usize, from: &[T], columns: &[usize; BLOCK]) {
    let mut block = [[from[0]; BLOCK]; BLOCK];
    for (block, &column) in block.iter_mut().zip(columns) {
        block.copy_from_slice(&from[column..][..BLOCK]);
    }
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    if size_of::<T>() == size_of::<f32>() && align_of::<T>() == align_of::<f32>() {
        let block: &[f32] = bytemuck::cast_slice(block.as_flattened());
        return transpose_4x4::write_columns(bytemuck::cast_slice_mut(to), to_row, block, BLOCK);
    }
    for row in 0..BLOCK {
        let row_of_block: [T; BLOCK] = std::array::from_fn(|column| block[column][row]);
        to[row * to_row..][..BLOCK].copy_from_slice(&row_of_block);
    }
}

#[cfg(test)]
mod tests {
    use crate::{DType, Tensor};

    #[test]
    fn permuted_elements_are_copied_each_to_its_place() {
        let all = [[1i64, 16, 16], [2, 16, 40], [3, 33, 17], [5, 15, 64], [16, 2, 32], [4, 40, 33]];
        // Miri takes minutes for all.
        for sizes in all.into_iter().take(if cfg!(miri) { 1 } else { 6 }) {
            let numbers: Vec<i32> = (0..sizes.iter().product::<i64>() as i32).collect();
            let tensor = Tensor::from_slice(&numbers, &sizes).unwrap();
            for order in [[0, 2, 1], [2, 1, 0], [1, 0, 2], [2, 0, 1], [1, 2, 0]] {
                let permuted = tensor.permute(&order).unwrap();
                let [a, b, c] = order.map(|dim| sizes[dim as usize]);
                let mut expected = Vec::new();
                for (i, j, k) in
                    (0..a).flat_map(|i| (0..b).flat_map(move |j| (0..c).map(move |k| (i, j, k))))
                {
                    let mut position = [0; 3];
                    for (dim, at) in order.into_iter().zip([i, j, k]) {
                        position[dim as usize] = at;
                    }
                    let [x, y, z] = position;
                    expected.push(((x * sizes[1] + y) * sizes[2] + z) as i32);
                }
                let found = permuted.copy().unwrap().to_vec::<i32>().unwrap();
                assert_eq!(found, expected, "{sizes:?} {order:?}");
                // Into a permuted view as well.
                let to = Tensor::zeros(&[a, b, c], DType::Int32).unwrap();
                let back =
                    [0, 1, 2].map(|dim| order.iter().position(|&o| o == dim).unwrap() as i64);
                to.permute(&back).unwrap().copy_from(&tensor).unwrap();
                assert_eq!(to.to_vec::<i32>().unwrap(), expected, "into {sizes:?} {order:?}");
            }
        }
    }
}
