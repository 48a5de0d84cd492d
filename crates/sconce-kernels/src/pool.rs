//! Pooling over two spatial dimensions; one dimension is two with a height of 1.

use crate::binary::compute_dtype;
use crate::{DType, Dims, Error, Result, Tensor};

/// How a pooling window walks. Pairs are height and width.
#[derive(Debug, Clone, Copy)]
pub struct PoolOptions {
    /// The window.
    pub kernel: [i64; 2],
    /// Steps between windows; PyTorch's default is the window itself.
    pub stride: [i64; 2],
    /// Border around the input, at most half a window.
    pub padding: [i64; 2],
    /// Steps between elements of a window; 1 for averages.
    pub dilation: [i64; 2],
    /// Whether a last window may reach beyond the padded input.
    pub ceil_mode: bool,
}

/// Windows along one dimension, as ranges of the input with a step, and the divisor's share.
struct Axis {
    windows: Vec<(usize, usize, i64)>,
    step: usize,
}

fn axis(size: i64, dim: usize, o: &PoolOptions) -> Result<Axis> {
    let (kernel, stride) = (o.kernel[dim], o.stride[dim]);
    let (padding, dilation) = (o.padding[dim], o.dilation[dim]);
    if kernel <= 0 {
        return Err(Error::runtime("kernel size should be greater than zero"));
    }
    if stride <= 0 {
        return Err(Error::runtime("stride should not be zero"));
    }
    if dilation <= 0 {
        return Err(Error::runtime("dilation should be greater than zero"));
    }
    let overflow = || Error::runtime("integer overflow in the sizes of a pooling window");
    let window =
        (kernel - 1).checked_mul(dilation).and_then(|n| n.checked_add(1)).ok_or_else(overflow)?;
    if padding < 0 || padding > window / 2 {
        return Err(Error::runtime(format!(
            "pad should be at most half of effective kernel size, but got pad={padding}, \
             kernel_size={kernel} and dilation={dilation}"
        )));
    }
    let padded = size.checked_add(2 * padding).ok_or_else(overflow)?;
    let room = padded - window;
    let mut count = room.div_euclid(stride) + 1;
    if o.ceil_mode {
        count = (room + stride - 1).div_euclid(stride) + 1;
        // The last window starts inside the input or its left border.
        if (count - 1) * stride >= size + padding {
            count -= 1;
        }
    }
    let windows = (0..count.max(0)).map(|i| {
        let start = i * stride - padding;
        let end = (start + window).min(size);
        let covered = (start + window).min(size + padding) - start;
        let first =
            if start < 0 { start + (-start + dilation - 1) / dilation * dilation } else { start };
        (first as usize, end.max(first) as usize, covered)
    });
    Ok(Axis { windows: windows.collect(), step: dilation as usize })
}

fn too_small(input: &Tensor, rows: usize, cols: usize) -> Error {
    let n = input.dim();
    let (c, h, w) = (input.sizes()[n - 3], input.sizes()[n - 2], input.sizes()[n - 1]);
    Error::runtime(format!(
        "Given input size: ({c}x{h}x{w}). Calculated output size: ({c}x{rows}x{cols}). Output size \
         is too small"
    ))
}

/// Gives `f` every plane and every window of it: `f(plane, row range, column range, divisor)`.
fn windows(
    input: &Tensor,
    [rows, cols]: [&Axis; 2],
    mut f: impl FnMut(&[f64], &mut dyn Iterator<Item = (usize, f64)>, f64) -> (f64, i64),
) -> Result<(Tensor, Tensor)> {
    let n = input.dim();
    let (height, width) = (input.sizes()[n - 2] as usize, input.sizes()[n - 1] as usize);
    let mut sizes = Dims::from_slice(input.sizes());
    (sizes[n - 2], sizes[n - 1]) = (rows.windows.len() as i64, cols.windows.len() as i64);
    let wide = input.to_dtype(DType::Float64)?.contiguous()?;
    let values = Tensor::zeros(&sizes, DType::Float64)?;
    let indices = Tensor::zeros(&sizes, DType::Int64)?;
    {
        let all = wide.read::<f64>()?;
        let (mut values, mut indices) = (values.write::<f64>()?, indices.write::<i64>()?);
        let mut out = values.iter_mut().zip(indices.iter_mut());
        for plane in all.chunks_exact((height * width).max(1)) {
            for &(top, bottom, covered_rows) in &rows.windows {
                for &(left, right, covered_cols) in &cols.windows {
                    let mut elements = (top..bottom)
                        .step_by(rows.step)
                        .flat_map(|y| (left..right).step_by(cols.step).map(move |x| y * width + x))
                        .map(|at| (at, plane[at]));
                    let divisor = (covered_rows * covered_cols) as f64;
                    if let Some((value, index)) = out.next() {
                        (*value, *index) = f(plane, &mut elements, divisor);
                    }
                }
            }
        }
    }
    Ok((values.to_dtype(input.dtype())?, indices))
}

fn check(input: &Tensor, name: &str) -> Result<()> {
    if !matches!(input.dim(), 3 | 4) || input.sizes()[input.dim() - 3..].contains(&0) {
        return Err(Error::runtime(format!(
            "{name}: Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for \
             input, but got: {:?}",
            input.sizes()
        )));
    }
    if !input.dtype().is_floating_point()
        || compute_dtype(input.dtype()) == input.dtype()
            && !matches!(input.dtype(), DType::Float32 | DType::Float64)
    {
        return Err(Error::no_kernel(name, input.dtype()));
    }
    Ok(())
}

/// `torch.max_pool2d_with_indices`: values, and where they stand in their plane.
///
/// # Errors
/// Where the window does not fit.
pub fn max_pool2d(input: &Tensor, options: &PoolOptions) -> Result<(Tensor, Tensor)> {
    check(input, "max_pool2d")?;
    let n = input.dim();
    let rows = axis(input.sizes()[n - 2], 0, options)?;
    let cols = axis(input.sizes()[n - 1], 1, options)?;
    if rows.windows.is_empty() || cols.windows.is_empty() {
        return Err(too_small(input, rows.windows.len(), cols.windows.len()));
    }
    windows(input, [&rows, &cols], |_, elements, _| {
        let mut best = (f64::NEG_INFINITY, -1);
        for (at, x) in elements {
            if x > best.0 || x.is_nan() || best.1 < 0 {
                best = (x, at as i64);
            }
        }
        best
    })
}

/// `torch.nn.functional.avg_pool2d`.
///
/// # Errors
/// Where the window does not fit.
pub fn avg_pool2d(
    input: &Tensor,
    options: &PoolOptions,
    count_include_pad: bool,
    divisor_override: Option<i64>,
) -> Result<Tensor> {
    check(input, "avg_pool2d")?;
    if divisor_override == Some(0) {
        return Err(Error::runtime("divisor must be not zero"));
    }
    let n = input.dim();
    let rows = axis(input.sizes()[n - 2], 0, options)?;
    let cols = axis(input.sizes()[n - 1], 1, options)?;
    if rows.windows.is_empty() || cols.windows.is_empty() {
        return Err(too_small(input, rows.windows.len(), cols.windows.len()));
    }
    average(input, &rows, &cols, |covered, seen| match divisor_override {
        Some(divisor) => divisor as f64,
        None if count_include_pad => covered,
        None => seen,
    })
}

fn average(
    input: &Tensor,
    rows: &Axis,
    cols: &Axis,
    divisor: impl Fn(f64, f64) -> f64,
) -> Result<Tensor> {
    let (values, _) = windows(input, [rows, cols], |_, elements, covered| {
        let (mut sum, mut seen) = (0.0, 0.0);
        for (_, x) in elements {
            sum += x;
            seen += 1.0;
        }
        (if seen == 0.0 { 0.0 } else { sum / divisor(covered, seen) }, 0)
    })?;
    Ok(values)
}

/// Windows that divide a dimension into `count` parts, as even as possible.
fn adaptive(size: i64, count: i64) -> Axis {
    let window = |i: i64| {
        let (start, end) = (i * size / count, ((i + 1) * size + count - 1) / count);
        (start as usize, end as usize, end - start)
    };
    Axis { windows: (0..count).map(window).collect(), step: 1 }
}

/// `torch.nn.functional.adaptive_avg_pool2d`.
///
/// # Errors
/// For negative output sizes and inputs of other ranks.
pub fn adaptive_avg_pool2d(input: &Tensor, output: [i64; 2]) -> Result<Tensor> {
    check(input, "adaptive_avg_pool2d")?;
    if output.iter().any(|&n| n < 0) {
        let message = "adaptive_avg_pool2d: elements of output_size must be greater than or equal \
                       to 0";
        return Err(Error::runtime(message));
    }
    let n = input.dim();
    // The result's size is checked before lists as long as it are made.
    crate::shape::numel(&[input.numel(), output[0], output[1]])?;
    Tensor::zeros(&output, DType::Float64)?;
    let rows = adaptive(input.sizes()[n - 2], output[0]);
    let cols = adaptive(input.sizes()[n - 1], output[1]);
    average(input, &rows, &cols, |_, seen| seen)
}
