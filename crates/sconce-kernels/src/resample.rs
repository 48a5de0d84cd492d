//! Padding and upsampling: every element of the result is picked or blended from the input.

use crate::binary::compute_dtype;
use crate::shape::numel;
use crate::{DType, Dims, Error, Result, Scalar, Tensor};

/// What padding consists of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PadMode {
    /// One number everywhere.
    Constant(Scalar),
    /// The input mirrored at its border, which is not repeated.
    Reflect,
    /// The border repeated.
    Replicate,
}

/// `torch.nn.functional.pad`: pairs of sizes, from the last dimension to the first. Negative sizes
/// cut off, with constant padding only.
///
/// # Errors
/// Where there are more pairs than dimensions, or padding is larger than the mode allows.
pub fn pad(input: &Tensor, padding: &[i64], mode: PadMode) -> Result<Tensor> {
    if !padding.len().is_multiple_of(2) {
        return Err(Error::runtime("Padding length must be divisible by 2"));
    }
    if padding.len() / 2 > input.dim() {
        return Err(Error::runtime(format!(
            "Padding length should be less than or equal to two times the input dimension but got \
             padding length {} and input of dimension {}",
            padding.len(),
            input.dim()
        )));
    }
    match mode {
        PadMode::Constant(value) => constant(input, padding, value),
        mode => mirrored(input, padding, mode),
    }
}

fn constant(input: &Tensor, padding: &[i64], value: Scalar) -> Result<Tensor> {
    let mut sizes = Dims::from_slice(input.sizes());
    let mut source = input.clone();
    let mut corner = Dims::from_elem(0, input.dim());
    for (pair, dim) in padding.chunks_exact(2).zip((0..input.dim()).rev()) {
        let (before, after) = (pair[0], pair[1]);
        // What is cut off goes first, so that cutting too much fails as PyTorch's `narrow` does.
        let (cut, end) = (before.min(0).saturating_neg(), after.min(0).saturating_neg());
        let kept = sizes[dim].saturating_sub(cut).saturating_sub(end);
        source = source.narrow(dim as i64, cut.min(sizes[dim]), kept)?;
        let size = sizes[dim].checked_add(before).and_then(|n| n.checked_add(after));
        let Some(size) = size.filter(|&n| n >= 0) else {
            return Err(Error::runtime(format!(
                "The input size {}, plus negative padding {before} and {after} resulted in a \
                 negative output size, which is invalid. Check dimension {dim} of your input.",
                sizes[dim]
            )));
        };
        corner[dim] = before.max(0);
        sizes[dim] = size;
    }
    let result = Tensor::full(&sizes, value, input.dtype())?;
    let mut inside = result.clone();
    for (dim, &start) in corner.iter().enumerate() {
        inside = inside.narrow(dim as i64, start, source.sizes()[dim])?;
    }
    inside.copy_from(&source)?;
    Ok(result)
}

fn mirrored(input: &Tensor, padding: &[i64], mode: PadMode) -> Result<Tensor> {
    let mut result = input.clone();
    for (pair, dim) in padding.chunks_exact(2).zip((0..input.dim()).rev()) {
        let (before, after, size) = (pair[0], pair[1], input.sizes()[dim]);
        if mode == PadMode::Reflect && (before >= size || after >= size) {
            return Err(Error::runtime(format!(
                "Argument #4: Padding size should be less than the corresponding input dimension, \
                 but got: padding ({before}, {after}) at dimension {dim} of input {:?}",
                input.sizes()
            )));
        }
        let total = size.checked_add(before).and_then(|n| n.checked_add(after));
        if size == 0 || before < 0 || after < 0 || total.is_none() {
            return Err(Error::runtime("padding of this size is not supported by this mode"));
        }
        let total = total.unwrap_or(size);
        numel(&[total])?;
        let index = Tensor::zeros(&[total], DType::Int64)?;
        for (i, at) in index.write::<i64>()?.iter_mut().enumerate() {
            let from = i as i64 - before;
            *at = match mode {
                PadMode::Reflect if from < 0 => -from,
                PadMode::Reflect if from >= size => 2 * (size - 1) - from,
                _ => from.clamp(0, size - 1),
            };
        }
        result = crate::index_select(&result, dim as i64, &index)?;
    }
    Ok(result)
}

fn check_planes(input: &Tensor, output: [i64; 2]) -> Result<[i64; 2]> {
    if input.dim() != 4 || input.sizes()[2..].contains(&0) || output.iter().any(|&n| n <= 0) {
        return Err(Error::runtime(format!(
            "Input and output sizes should be greater than 0, but got input {:?} output (H: {}, W: \
             {})",
            input.sizes(),
            output[0],
            output[1]
        )));
    }
    Ok([input.sizes()[2], input.sizes()[3]])
}

/// `torch.nn.functional.interpolate(mode='nearest')` of images, by output size or scale factors.
///
/// # Errors
/// For inputs that are not four-dimensional, and empty ones.
pub fn upsample_nearest2d(
    input: &Tensor,
    output: [i64; 2],
    scales: [Option<f64>; 2],
) -> Result<Tensor> {
    let size = check_planes(input, output)?;
    let mut result = input.clone();
    for i in 0..2 {
        let scale = match scales[i] {
            Some(scale) if scale > 0.0 => (1.0 / scale) as f32,
            _ => size[i] as f32 / output[i] as f32,
        };
        let index = Tensor::zeros(&[output[i]], DType::Int64)?;
        for (to, at) in index.write::<i64>()?.iter_mut().enumerate() {
            *at = ((to as f32 * scale).floor() as i64).min(size[i] - 1);
        }
        result = crate::index_select(&result, 2 + i as i64, &index)?;
    }
    Ok(result)
}

/// Two neighbours and how much of the second one.
type Blend = (usize, usize, f64);

fn blends(size: i64, output: i64, align_corners: bool, scale: Option<f64>) -> Vec<Blend> {
    let step = match scale {
        _ if align_corners && output > 1 => (size - 1) as f64 / (output - 1) as f64,
        _ if align_corners => 0.0,
        Some(scale) if scale > 0.0 => 1.0 / scale,
        _ => size as f64 / output as f64,
    };
    let blend = |i: i64| {
        let at = if align_corners { i as f64 * step } else { (i as f64 + 0.5) * step - 0.5 };
        let at = at.max(0.0);
        let low = (at as i64).min(size - 1);
        (low as usize, (low + 1).min(size - 1) as usize, (at - low as f64).clamp(0.0, 1.0))
    };
    (0..output).map(blend).collect()
}

/// `torch.nn.functional.interpolate(mode='bilinear')`.
///
/// # Errors
/// As [`upsample_nearest2d`], and for integers.
pub fn upsample_bilinear2d(
    input: &Tensor,
    output: [i64; 2],
    align_corners: bool,
    scales: [Option<f64>; 2],
) -> Result<Tensor> {
    let [height, width] = check_planes(input, output)?;
    if !matches!(compute_dtype(input.dtype()), DType::Float32 | DType::Float64) {
        return Err(Error::no_kernel("compute_indices_weights_linear", input.dtype()));
    }
    let sizes = [input.sizes()[0], input.sizes()[1], output[0], output[1]];
    let result = Tensor::zeros(&sizes, DType::Float64)?;
    let rows = blends(height, output[0], align_corners, scales[0]);
    let cols = blends(width, output[1], align_corners, scales[1]);
    let wide = input.to_dtype(DType::Float64)?.contiguous()?;
    let (height, width) = (height as usize, width as usize);
    {
        let from = wide.read::<f64>()?;
        let mut to = result.write::<f64>()?;
        let mut out = to.iter_mut();
        for plane in from.chunks_exact(height * width) {
            for &(top, bottom, down) in &rows {
                for (&(left, right, across), out) in cols.iter().zip(&mut out) {
                    let line = |y: usize| {
                        plane[y * width + left] * (1.0 - across) + plane[y * width + right] * across
                    };
                    *out = line(top) * (1.0 - down) + line(bottom) * down;
                }
            }
        }
    }
    result.to_dtype(input.dtype())
}
