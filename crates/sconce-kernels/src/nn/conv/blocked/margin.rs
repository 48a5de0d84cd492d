//! Rows of an image with the zeros that stand around it, copied to scratch memory: windows then need no tests of where
//! the image ends.

use std::ops::Range;

use sconce_kernel_core::simd::lanes::LANES;

use super::scratch;

/// Works with these rows of one block of channels of an image of this height and width, which has `padding` rows and
/// columns of zeros around it that count as rows, too. `work` gets rows of `width + 2 * padding` pixels.
pub(super) fn with_margin<R>(
    image: &[f32],
    [height, width]: [usize; 2],
    padding: [usize; 2],
    rows: Range<usize>,
    work: impl FnOnce(&[f32]) -> R,
) -> R {
    let wide = (width + 2 * padding[1]) * LANES;
    if padding == [0; 2] {
        return work(&image[rows.start * wide..rows.end * wide]);
    }
    scratch::with(rows.len() * wide, |copy| {
        for (row, to) in rows.zip(copy.chunks_exact_mut(wide)) {
            match row.checked_sub(padding[0]).filter(|&row| row < height) {
                Some(row) => {
                    let from = &image[row * width * LANES..(row + 1) * width * LANES];
                    let (before, rest) = to.split_at_mut(padding[1] * LANES);
                    let (inside, after) = rest.split_at_mut(from.len());
                    before.fill(0.0);
                    inside.copy_from_slice(from);
                    after.fill(0.0);
                }
                None => to.fill(0.0),
            }
        }
        work(copy)
    })
}
