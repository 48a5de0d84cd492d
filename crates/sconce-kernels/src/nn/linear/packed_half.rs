//! Linear layers of half precision with a packed weight. The weight is read in its own dtype; what is
//! widened stays in the first cache.

use sconce_gemm::half_gemm::{Part, parts_of_cols, try_parts};
use sconce_gemm::half_products::HalfProducts;
use sconce_gemm::packed_gemv::gemv;
use sconce_gemm::panel::{PANEL, uncrowded_stride};
use sconce_gemm::panel_product::add_panel;
use sconce_kernel_core::alloc::caching_allocator::Block;
use sconce_kernel_core::simd::dispatch::dispatch;
use sconce_kernel_core::simd::half_precision::{narrow, widen};

use crate::nn::linear::activation::activate;
use crate::{LinearActivation, Result};

/// Panels whose columns are computed together.
const PANELS: usize = 4;

/// Lines of them that are widened together, more where fewer panels are: they fill half of a first cache.
const LINES: usize = 32;

/// `out = activation(x · weightᵀ + bias)`, all row-major but for the weight, which
/// [`pack`](sconce_gemm::panel::pack) packed. The sum is rounded before the activation, which is rounded again.
pub(crate) fn multiply<H: HalfProducts>(
    [m, k, n]: [usize; 3],
    x: &[H],
    packed: &[H],
    bias: Option<&[H]>,
    activation: Option<LinearActivation>,
    out: &mut [H],
) -> Result<()> {
    let as_they_are = m > 1 && H::has_products();
    let stride = uncrowded_stride(k);
    let widened = if as_they_are { 0 } else { m };
    let mut rows = Block::for_overwrite(widened * stride * size_of::<f32>())?;
    let rows: &mut [f32] = bytemuck::cast_slice_mut(rows.bytes_mut());
    for (wide, x) in rows.chunks_exact_mut(stride.max(1)).zip(x.chunks_exact(k.max(1))) {
        widen(x, &mut wide[..k]);
    }
    let rows = &*rows;
    try_parts([m, k, n], parts_of_cols(out, n, PANELS * PANEL), |Part { cols, out, .. }| {
        let panels = cols.len().div_ceil(PANEL);
        let width = panels * PANEL;
        let mut sums = Block::for_overwrite(m * width * size_of::<f32>())?;
        let sums: &mut [f32] = &mut bytemuck::cast_slice_mut(sums.bytes_mut())[..m * width];
        let mut begin = [0f32; PANELS * PANEL];
        if let Some(bias) = bias {
            widen(&bias[cols.clone()], &mut begin[..cols.len()]);
        }
        sums.chunks_exact_mut(width).for_each(|sums| sums.copy_from_slice(&begin[..width]));
        let weight = &packed[cols.start * k..(cols.start + width) * k];
        match m {
            1 if H::BY_SHIFT => add_in_registers(&rows[..k], weight, sums),
            1 => add_row(&rows[..k], weight, sums),
            _ if as_they_are => {
                for (at, panel) in weight.chunks_exact((k * PANEL).max(1)).enumerate() {
                    let sums = (&mut sums[at * PANEL..], width);
                    H::add_panel(m, (x, k), (panel, PANEL), [k, PANEL], sums, true);
                }
            }
            _ => add_rows((rows, stride), weight, k, (sums, width)),
        }
        for (sums, out) in sums.chunks_exact_mut(width).zip(out) {
            let sums = &mut sums[..out.len()];
            narrow(sums, out);
            if let Some(activation) = activation {
                widen(out, sums);
                activate(activation, sums);
                narrow(sums, out);
            }
        }
        Ok(())
    })
}

/// Adds a vector times some panels to `sums`; the panels are widened a few lines at a time.
fn add_row<H: HalfProducts>(x: &[f32], panels: &[H], sums: &mut [f32]) {
    let mut wide = [0f32; PANELS * LINES * PANEL];
    for (at, x) in x.chunks(LINES).enumerate() {
        let lines = x.len() * PANEL;
        let panels = panels.chunks_exact((panels.len() / sums.len() * PANEL).max(1));
        for (panel, wide) in panels.zip(wide.chunks_exact_mut(lines)) {
            widen(&panel[at * LINES * PANEL..][..lines], wide);
        }
        gemv(x, &wide[..sums.len() * x.len()], sums);
    }
}

/// [`add_row`] of what takes so little to widen that it never leaves the registers.
fn add_in_registers<H: HalfProducts>(x: &[f32], panels: &[H], sums: &mut [f32]) {
    dispatch(
        #[inline(always)]
        || {
            let panels = panels.chunks_exact((panels.len() / sums.len() * PANEL).max(1));
            for (panel, sums) in panels.zip(sums.as_chunks_mut::<PANEL>().0) {
                let mut all = *sums;
                for (line, &x) in panel.as_chunks::<PANEL>().0.iter().zip(x) {
                    for l in 0..PANEL {
                        all[l] += line[l].widened() * x;
                    }
                }
                *sums = all;
            }
        },
    );
}

/// Adds rows of `f32`, `stride` apart, times panels of `k` lines to rows of `width` sums.
fn add_rows<H: HalfProducts>(
    (rows, stride): (&[f32], usize),
    panels: &[H],
    k: usize,
    (sums, width): (&mut [f32], usize),
) {
    let mut wide = [0f32; PANELS * LINES * PANEL];
    for (at, panel) in panels.chunks_exact((k * PANEL).max(1)).enumerate() {
        for from in (0..k).step_by(PANELS * LINES) {
            let lines = (PANELS * LINES).min(k - from) * PANEL;
            widen(&panel[from * PANEL..][..lines], &mut wide[..lines]);
            let sums = &mut sums[at * PANEL..];
            add_panel(
                sums.len().div_ceil(width),
                &rows[from..],
                stride,
                &wide[..lines],
                sums,
                width,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::linear_packed;
    use crate::unary;
    use crate::{DType, LinearActivation, Tensor, UnaryOp, linear, pack_linear};

    /// Small whole numbers, whose sums `f32` holds.
    fn whole(sizes: &[i64], dtype: DType) -> Tensor {
        let count = sizes.iter().product::<i64>();
        let numbers: Vec<f32> = (0..count).map(|i| ((i * 37 + i / 11) % 9) as f32 - 4.0).collect();
        Tensor::from_slice(&numbers, sizes).unwrap().to_dtype(dtype).unwrap()
    }

    fn numbers(tensor: &Tensor) -> Vec<f32> {
        tensor.to_dtype(DType::Float32).unwrap().to_vec().unwrap()
    }

    #[test]
    fn packed_weights_give_what_ordinary_ones_give() {
        for dtype in [DType::Float16, DType::BFloat16] {
            for (n, k) in [(70, 33), (300, 1024), (32, 1), (40, 0)] {
                let (weight, bias) = (whole(&[n, k], dtype), whole(&[n], dtype));
                let packed = pack_linear(&weight, crate::Precision::Full).unwrap();
                for sizes in [&[k][..], &[2, k], &[2, 17, k], &[0, k]] {
                    for bias in [None, Some(&bias)] {
                        let input = whole(sizes, dtype);
                        let plain = linear(&input, &weight, bias).unwrap();
                        let of_packed = |activation| {
                            linear_packed(&input, &packed, n, bias, activation).unwrap().unwrap()
                        };
                        let found = of_packed(None);
                        assert_eq!(found.sizes(), plain.sizes());
                        assert_eq!(numbers(&found), numbers(&plain), "{n} x {k}, {sizes:?}");
                        let activated = unary(UnaryOp::Tanh, &plain).unwrap();
                        let found = of_packed(Some(LinearActivation::Tanh));
                        assert_eq!(numbers(&found), numbers(&activated), "{n} x {k}, {sizes:?}");
                    }
                }
                let single = whole(&[2, k], DType::Float32);
                assert!(linear_packed(&single, &packed, n, None, None).unwrap().is_none());
            }
        }
    }
}
