//! Layer normalisation of contiguous rows of `f32`.

use sconce_kernel_core::simd::dispatch::dispatch;

use crate::reduction::softmax_rows::sum;

/// Numbers that are added side by side.
const LANES: usize = 16;

/// Every row of `len` elements to mean 0 and variance 1, then scaled and shifted element by element
/// where a weight or a bias of `len` elements is given; in place.
pub(crate) fn layer_norm_rows(
    all: &mut [f32],
    len: usize,
    eps: f64,
    weight: Option<&[f32]>,
    bias: Option<&[f32]>,
) {
    dispatch(
        #[inline(always)]
        || {
            for row in all.chunks_exact_mut(len) {
                let scale = centre(row, eps);
                match weight {
                    Some(weight) => {
                        for (x, &w) in row.iter_mut().zip(weight) {
                            *x = *x * scale * w;
                        }
                    }
                    None => {
                        for x in row.iter_mut() {
                            *x *= scale;
                        }
                    }
                }
                if let Some(bias) = bias {
                    for (x, &b) in row.iter_mut().zip(bias) {
                        *x += b;
                    }
                }
            }
        },
    );
}

/// Takes the mean from a row; gives what makes its variance 1. The mean is kept in two parts, so
/// that a mean much larger than the deviations costs no accuracy.
#[inline(always)]
fn centre(row: &mut [f32], eps: f64) -> f32 {
    let n = row.len() as f64;
    // The first estimate need not be exact: the second is the mean of what is left.
    let coarse = (sum(row) / n) as f32;
    for x in row.iter_mut() {
        *x -= coarse;
    }
    let fine = (sum(row) / n) as f32;
    let mut squares = 0f64;
    for piece in row.chunks_mut(1024) {
        let mut lanes = [0f32; LANES];
        let (chunks, rest) = piece.as_chunks_mut::<LANES>();
        for chunk in chunks {
            for l in 0..LANES {
                chunk[l] -= fine;
                lanes[l] += chunk[l] * chunk[l];
            }
        }
        for x in rest {
            *x -= fine;
            squares += f64::from(*x * *x);
        }
        squares += lanes.iter().map(|&lane| f64::from(lane)).sum::<f64>();
    }
    (1.0 / (squares / n + eps).sqrt()) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_mean_costs_no_accuracy() {
        let mut row: Vec<f32> = (0..384).map(|i| 10_000.0 + (i % 7) as f32 * 0.25).collect();
        let exact: Vec<f64> = row.iter().map(|&x| f64::from(x)).collect();
        let mean = exact.iter().sum::<f64>() / 384.0;
        let variance = exact.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 384.0;
        layer_norm_rows(&mut row, 384, 1e-5, None, None);
        for (found, exact) in row.iter().zip(exact) {
            let exact = (exact - mean) / (variance + 1e-5).sqrt();
            assert!((f64::from(*found) - exact).abs() < 1e-5, "{found} {exact}");
        }
    }
}
