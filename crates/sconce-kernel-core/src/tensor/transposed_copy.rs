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

/// Copies views of these sizes, from `start`, where the elements of each follow one another along another
/// dimension; `false` for other views, with nothing done.
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
    let of_ones = |strides: &Dims| (0..sizes.len()).find(|&dim| strides[dim] == 1);
    let (Some(across), Some(down)) = (of_ones(&strides[0]), of_ones(&strides[1])) else {
        return false;
    };
    // Rows of one element repeated are filled.
    let is_repeated = strides[1][across] == 0;
    if across == down || is_repeated || sizes[across].min(sizes[down]) < BLOCK as i64 {
        return false;
    }
    let [columns, rows] = [across, down].map(|dim| sizes[dim] as usize);
    let [to_row, from_row] = [strides[0][down] as usize, strides[1][across] as usize];
    for dim in [across.max(down), across.min(down)] {
        sizes.remove(dim);
        for strides in &mut strides {
            strides.remove(dim);
        }
    }
    let strides = [&strides[0][..], &strides[1][..]];
    strided_iter::rows(&sizes, strides, start, |[t, f], [t_step, f_step], len| {
        for i in 0..len {
            let (to, from) = (&mut to[t + i * t_step..], &from[f + i * f_step..]);
            for row in (0..rows).step_by(BLOCK) {
                for column in (0..columns).step_by(BLOCK) {
                    let to = &mut to[row * to_row + column..];
                    let from = &from[column * from_row + row..];
                    let (rows, columns) = (rows - row, columns - column);
                    if rows >= BLOCK && columns >= BLOCK {
                        copy_block(to, to_row, from, from_row);
                        continue;
                    }
                    for row in 0..rows.min(BLOCK) {
                        for column in 0..columns.min(BLOCK) {
                            to[row * to_row + column] = from[column * from_row + row];
                        }
                    }
                }
            }
        }
    });
    true
}

/// Copies [`BLOCK`] columns of as many numbers of `from`, `from_row` elements apart, to rows of `to`.
pub fn copy_block<T: PodElement>(to: &mut [T], to_row: usize, from: &[T], from_row: usize) {
    let mut block = [[from[0]; BLOCK]; BLOCK];
    for (column, block) in block.iter_mut().enumerate() {
        block.copy_from_slice(&from[column * from_row..][..BLOCK]);
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
        let all = [[1i64, 16, 16], [2, 16, 40], [3, 33, 17], [5, 15, 64], [16, 2, 32]];
        // Miri takes minutes for all.
        for sizes in all.into_iter().take(if cfg!(miri) { 1 } else { 5 }) {
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
