//! Upsampling in the blocked layout.

use sconce_kernel_core::simd::lanes::LANES;

use super::blocked_sizes;
use super::share::each;
use crate::nn::resample::upsample::{Line, Upsample, blend_pixels, nearest_positions};
use crate::{DType, Error, Result, Tensor};

/// `aten::upsample_nearest2d`, `aten::upsample_bilinear2d` and their relatives of a blocked image: the height
/// and width of the result and, where they come from there, the scale factors.
///
/// # Errors
/// Where the tensor is no blocked image, for empty ones, and for antialiased modes.
pub fn upsample_blocked(
    image: &Tensor,
    mode: Upsample,
    output: [i64; 2],
    align_corners: bool,
    factors: [Option<f64>; 2],
) -> Result<Tensor> {
    let [_, _, height, width] = blocked_sizes(image)?;
    if image.numel() == 0 || output.iter().any(|&size| size <= 0) {
        return Err(Error::runtime("upsampling from or to no pixels"));
    }
    let line = |size: usize, at: usize| Line {
        size: size as i64,
        output: output[at],
        align_corners,
        factor: factors[at],
    };
    let lines = [line(height, 0), line(width, 1)];
    match mode {
        Upsample::Nearest | Upsample::NearestExact => {
            let exact = mode == Upsample::NearestExact;
            let [rows, columns] = lines.map(|line| nearest_positions(line, exact));
            pick(image, &rows?, &columns?)
        }
        Upsample::Linear | Upsample::Cubic => blend_pixels(image, mode, lines),
        _ => Err(Error::runtime("antialiased upsampling of a blocked picture")),
    }
}

/// The pixels at these rows and columns.
fn pick(image: &Tensor, rows: &[usize], columns: &[usize]) -> Result<Tensor> {
    let [n, blocks, height, width] = blocked_sizes(image)?;
    let sizes = [n, blocks, rows.len(), columns.len(), LANES].map(|size| size as i64);
    let result = Tensor::for_overwrite(&sizes, DType::Float32)?;
    let image = image.contiguous()?;
    let from = image.read::<f32>()?;
    let mut to = result.write::<f32>()?;
    let planes = from.chunks_exact(height * width * LANES);
    let planes = planes.zip(to.chunks_exact_mut(rows.len() * columns.len() * LANES));
    each(rows.len() * columns.len() * LANES * n * blocks, planes, |(from, to)| {
        let (from, _) = from.as_chunks::<LANES>();
        let (to, _) = to.as_chunks_mut::<LANES>();
        for (at, &row) in rows.iter().enumerate() {
            let (done, to) = to.split_at_mut(at * columns.len());
            let to = &mut to[..columns.len()];
            // What is repeated is copied as a whole.
            if at.checked_sub(1).is_some_and(|before| rows[before] == row) {
                to.copy_from_slice(&done[(at - 1) * to.len()..]);
                continue;
            }
            let from = &from[row * width..][..width];
            to.iter_mut().zip(columns).for_each(|(to, &column)| *to = from[column]);
        }
    });
    drop(to);
    Ok(result)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]

    use super::*;
    use crate::nn::conv::blocked::{from_blocked, to_blocked};
    use crate::upsample;

    /// Bit for bit as outside of blocks, whichever mode, to larger and to smaller images.
    #[test]
    fn images_in_blocks_are_upsampled_like_others() {
        for (sizes, outputs) in [
            ([2i64, 20, 5, 7], [[10i64, 14], [3, 20], [5, 7]]),
            ([1, 16, 1, 9], [[2, 18], [4, 4], [1, 1]]),
        ] {
            let values: Vec<f32> = (0..sizes.iter().product::<i64>())
                .map(|i| (i * 37 % 101) as f32 / 9.0 - 4.0)
                .collect();
            let image = Tensor::from_slice(&values, &sizes).unwrap();
            let blocked = to_blocked(&image).unwrap();
            for mode in
                [Upsample::Nearest, Upsample::NearestExact, Upsample::Linear, Upsample::Cubic]
            {
                for output in outputs {
                    for (align, factors) in
                        [(false, [None; 2]), (true, [None; 2]), (false, [Some(1.9), Some(0.6)])]
                    {
                        let found =
                            upsample_blocked(&blocked, mode, output, align, factors).unwrap();
                        let found = from_blocked(&found, sizes[1]).unwrap();
                        let expected = upsample(&image, mode, &output, align, &factors).unwrap();
                        assert_eq!(found.sizes(), expected.sizes());
                        assert_eq!(
                            found.to_vec::<f32>().unwrap(),
                            expected.to_vec::<f32>().unwrap(),
                            "{mode:?} {output:?} {align}"
                        );
                    }
                }
            }
            assert!(
                upsample_blocked(&blocked, Upsample::Linear, [0, 3], false, [None; 2]).is_err()
            );
        }
    }
}
