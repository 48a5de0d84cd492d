//! Iteration over several strided operands at once, one innermost row at a time.

use crate::Dims;

/// Elements of a row: a slice that begins with the first, and the distance between them.
pub type Strided<'a, T> = (&'a [T], usize);

/// Calls `row(offsets, steps, len)` for every innermost row of `sizes`: where each operand stands,
/// how far apart its elements in this row are, and how many there are. Neighbouring dimensions that
/// all operands hold without a gap are merged, so rows are as long as they can be.
pub fn rows<const N: usize>(
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
    let Some((&count, outer)) = outer.split_last() else {
        row(start.map(|at| at as usize), steps, len as usize);
        return;
    };
    // Rows may be short: those that are equally far apart have a loop of their own.
    let next: [usize; N] = std::array::from_fn(|n| strides[n][outer.len()] as usize);
    let mut index = Dims::from_elem(0, outer.len());
    let mut at = start;
    loop {
        let mut here = at.map(|at| at as usize);
        for _ in 0..count {
            row(here, steps, len as usize);
            for n in 0..N {
                here[n] = here[n].wrapping_add(next[n]);
            }
        }
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

/// As [`rows`], but of the elements at these positions in row-major order alone, and without merging: the
/// dimensions are best [merged](merge) before.
#[inline(always)]
pub fn rows_within<const N: usize>(
    sizes: &[i64],
    strides: [&[i64]; N],
    start: [i64; N],
    range: std::ops::Range<usize>,
    mut row: impl FnMut([usize; N], [usize; N], usize),
) {
    let Some((&len, outer)) = sizes.split_last() else {
        return if range.contains(&0) {
            row(start.map(|at| at as usize), [0; N], 1)
        };
    };
    let mut steps = [0; N];
    for n in 0..N {
        steps[n] = strides[n][outer.len()];
    }
    let mut index = Dims::from_elem(0, outer.len());
    let mut column = range.start as i64 % len;
    let mut before = range.start as i64 / len;
    let mut at = start;
    for (dim, &size) in outer.iter().enumerate().rev() {
        index[dim] = before % size;
        for n in 0..N {
            at[n] += index[dim] * strides[n][dim];
        }
        before /= size;
    }
    let mut left = range.len() as i64;
    while left > 0 {
        let count = left.min(len - column);
        let (mut here, mut step) = ([0; N], [0; N]);
        for n in 0..N {
            here[n] = (at[n] + column * steps[n]) as usize;
            step[n] = steps[n] as usize;
        }
        row(here, step, count as usize);
        left -= count;
        column = 0;
        for dim in (0..outer.len()).rev() {
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

/// Sizes and strides without dimensions of one element, and with neighbouring dimensions made one where
/// all operands hold them without a gap.
pub fn merge<const N: usize>(sizes: &[i64], strides: [&[i64]; N]) -> (Dims, [Dims; N]) {
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

    #[test]
    fn parts_of_rows_come_one_after_the_other() {
        for (sizes, strides) in [
            (vec![2, 3, 4], vec![100, 10, 1]),
            (vec![2, 3, 4], vec![0, 4, 0]),
            (vec![5], vec![7]),
            (vec![], vec![]),
        ] {
            let mut all = Vec::new();
            rows(&sizes, [&strides], [3], |[at], [step], len| {
                all.extend((0..len).map(|i| at + i * step));
            });
            for from in 0..=all.len() {
                for to in from..=all.len() {
                    let mut some = Vec::new();
                    rows_within(&sizes, [&strides], [3], from..to, |[at], [step], len| {
                        some.extend((0..len).map(|i| at + i * step));
                    });
                    assert_eq!(some, all[from..to], "{sizes:?} {from} {to}");
                }
            }
        }
    }
}
