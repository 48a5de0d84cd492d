//! Walking several strided operands together, innermost rows at a time.

use crate::Dims;

/// Calls `row(offsets, steps, len)` for every innermost row of `sizes`: where each operand stands,
/// how far apart its elements in this row are, and how many there are. Neighbouring dimensions that
/// all operands hold without a gap are merged, so rows are as long as they can be.
pub(crate) fn rows<const N: usize>(
    sizes: &[i64],
    strides: [&[i64]; N],
    start: [i64; N],
    mut row: impl FnMut([usize; N], [usize; N], usize),
) {
    if sizes.contains(&0) {
        return;
    }
    let (sizes, strides) = merge(sizes, strides);
    let Some((&len, outer)) = sizes.split_last() else {
        row(start.map(|at| at as usize), [0; N], 1);
        return;
    };
    let steps: [usize; N] = std::array::from_fn(|n| strides[n][outer.len()] as usize);
    let mut index = Dims::from_elem(0, outer.len());
    let mut at = start;
    loop {
        row(at.map(|at| at as usize), steps, len as usize);
        let mut dim = outer.len();
        loop {
            let Some(next) = dim.checked_sub(1) else { return };
            dim = next;
            index[dim] += 1;
            for n in 0..N {
                at[n] += strides[n][dim];
            }
            if index[dim] < outer[dim] {
                break;
            }
            for n in 0..N {
                at[n] -= strides[n][dim] * outer[dim];
            }
            index[dim] = 0;
        }
    }
}

fn merge<const N: usize>(sizes: &[i64], strides: [&[i64]; N]) -> (Dims, [Dims; N]) {
    let mut merged = Dims::new();
    let mut steps: [Dims; N] = std::array::from_fn(|_| Dims::new());
    for (dim, &size) in sizes.iter().enumerate() {
        if size == 1 {
            continue;
        }
        let joins = !merged.is_empty()
            && (0..N).all(|n| steps[n].last().copied() == strides[n][dim].checked_mul(size));
        if joins {
            if let Some(last) = merged.last_mut() {
                *last *= size;
            }
            for n in 0..N {
                if let Some(last) = steps[n].last_mut() {
                    *last = strides[n][dim];
                }
            }
        } else {
            merged.push(size);
            for n in 0..N {
                steps[n].push(strides[n][dim]);
            }
        }
    }
    (merged, steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_operands_are_one_row_and_broadcast_ones_are_not() {
        let mut seen = Vec::new();
        rows(&[2, 1, 3], [&[3, 3, 1], &[3, 9, 1]], [0, 5], |at, step, n| seen.push((at, step, n)));
        assert_eq!(seen, [([0, 5], [1, 1], 6)]);
        seen.clear();
        rows(&[2, 3], [&[3, 1], &[0, 1]], [0, 0], |at, step, n| seen.push((at, step, n)));
        assert_eq!(seen, [([0, 0], [1, 1], 3), ([3, 0], [1, 1], 3)]);
        seen.clear();
        rows(&[], [&[], &[]], [1, 2], |at, step, n| seen.push((at, step, n)));
        assert_eq!(seen, [([1, 2], [0, 0], 1)]);
        rows(&[0], [&[1]], [0], |_, _, _| unreachable!());
    }
}
