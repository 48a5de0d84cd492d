//! Discrete Fourier transforms: `torch.fft` on top of rustfft.
//!
//! `float32` and `complex64` are computed in single precision, as PyTorch does, all else in double
//! precision.

use std::cmp::Reverse;

use sconce_kernels::layout::{contiguous_strides, wrap_dim};
use sconce_kernels::{
    DType, Error, MemoryFormat, Result, Scalar, Tensor, cat, complex_dtype, conj, real, real_dtype,
};

use crate::lines::{complex_lines, lines_of_real, lines_to_real};

/// What a transform is multiplied by, of n points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Nothing.
    None,
    /// `1 / sqrt(n)`.
    ByRootN,
    /// `1 / n`.
    ByN,
}

impl Scale {
    /// What `norm` says for a transform that goes forward, or back.
    ///
    /// # Errors
    /// For other names than `backward`, `ortho` and `forward`.
    pub fn of(norm: Option<&str>, forward: bool) -> Result<Scale> {
        match norm {
            None | Some("backward") => Ok(if forward { Scale::None } else { Scale::ByN }),
            Some("forward") => Ok(if forward { Scale::ByN } else { Scale::None }),
            Some("ortho") => Ok(Scale::ByRootN),
            Some(other) => Err(Error::runtime(format!("Invalid normalization mode: \"{other}\""))),
        }
    }

    /// By its number in `aten::_fft_c2c` and its like.
    ///
    /// # Errors
    /// For other numbers than 0, 1 and 2.
    pub fn numbered(number: i64) -> Result<Scale> {
        match number {
            0 => Ok(Scale::None),
            1 => Ok(Scale::ByRootN),
            2 => Ok(Scale::ByN),
            _ => Err(Error::runtime(format!("Unsupported normalization type {number}"))),
        }
    }

    fn factor(self, points: f64) -> f64 {
        match self {
            Scale::None => 1.0,
            Scale::ByRootN => 1.0 / points.sqrt(),
            Scale::ByN => 1.0 / points,
        }
    }
}

/// `result` laid out as PyTorch's transforms of `input` over `dims` are: the other dimensions outside, those of
/// the largest strides first, and `dims` inside, in their order.
fn laid_out(result: Tensor, input: &Tensor, dims: &[usize]) -> Result<Tensor> {
    let mut order: Vec<usize> = (0..input.dim()).filter(|dim| !dims.contains(dim)).collect();
    order.sort_by_key(|&dim| Reverse(input.strides()[dim]));
    order.extend(dims);
    let mut strides = vec![1; input.dim()];
    let mut step = 1i64;
    for dim in order.into_iter().rev() {
        strides[dim] = step;
        step = step.saturating_mul(result.sizes()[dim].max(1));
    }
    result.with_strides(&strides)
}

/// Dimensions by their numbers from the front, the largest strides first but for the last `fixed` of them.
fn sorted(input: &Tensor, dims: &[i64], fixed: usize) -> Result<Vec<usize>> {
    let wrapped = dims.iter().map(|&dim| wrap_dim(dim, input.dim()));
    let mut wrapped = wrapped.collect::<Result<Vec<usize>>>()?;
    let count = wrapped.len() - fixed;
    wrapped[..count].sort_by_key(|&dim| Reverse(input.strides()[dim]));
    Ok(wrapped)
}

/// The conjugate, its dimensions in memory in the order of the input's.
fn conjugate(input: &Tensor) -> Result<Tensor> {
    conj(input)?.with_strides(&input.preserved_strides())
}

fn points(input: &Tensor, dims: &[i64]) -> Result<f64> {
    dims.iter().try_fold(1.0, |n, &dim| Ok(n * input.size(dim)? as f64))
}

/// `aten::_fft_c2c`: complex to complex over `dims`.
///
/// # Errors
/// For dtypes without kernels and dimensions that do not exist.
pub fn fft_c2c(input: &Tensor, dims: &[i64], scale: Scale, forward: bool) -> Result<Tensor> {
    if !input.dtype().is_complex() {
        return Err(Error::runtime("Expected self.is_complex() to be true, but got false."));
    }
    let factor = scale.factor(points(input, dims)?);
    let result = match input.dtype() {
        DType::Complex64 => complex_lines::<f32>(input, dims, forward, factor),
        dtype => {
            let wide = input.to_dtype(DType::Complex128)?;
            complex_lines::<f64>(&wide, dims, forward, factor)?.to_dtype(dtype)
        }
    }?;
    laid_out(result, input, &sorted(input, dims, 0)?)
}

/// `aten::_fft_r2c`: real to complex over `dims`; of the last one only the half that is not
/// redundant, if `onesided`.
///
/// # Errors
/// As [`fft_c2c`].
pub fn fft_r2c(input: &Tensor, dims: &[i64], scale: Scale, onesided: bool) -> Result<Tensor> {
    let out = complex_dtype(input.dtype())?;
    let Some((&last, rest)) = dims.split_last() else { return input.to_dtype(out) };
    let factor = scale.factor(points(input, dims)?);
    let result = match input.dtype() {
        DType::Float32 => {
            let half = lines_of_real::<f32>(input, last, factor, onesided)?;
            complex_lines::<f32>(&half, rest, true, 1.0)
        }
        _ => {
            let wide = input.to_dtype(DType::Float64)?;
            let half = lines_of_real::<f64>(&wide, last, factor, onesided)?;
            complex_lines::<f64>(&half, rest, true, 1.0)?.to_dtype(out)
        }
    }?;
    laid_out(result, input, &sorted(input, dims, 1)?)
}

/// `aten::_fft_c2r`: complex, of which half of the last of `dims` is given, to real.
///
/// # Errors
/// As [`fft_c2c`].
pub fn fft_c2r(input: &Tensor, dims: &[i64], scale: Scale, last_size: i64) -> Result<Tensor> {
    if !input.dtype().is_complex() {
        return Err(Error::runtime("Expected self.is_complex() to be true, but got false."));
    }
    let Some((&last, rest)) = dims.split_last() else { return real(input)?.copy() };
    let count = last_size.max(0) as usize;
    if (input.size(last)? as usize) < count / 2 + 1 {
        return Err(Error::runtime(
            "_fft_c2r: the last dimension is shorter than its signal needs",
        ));
    }
    let factor = scale.factor(points(input, rest)? * count as f64);
    let half = match rest {
        [] => input.clone(),
        _ => fft_c2c(input, rest, Scale::None, false)?,
    };
    let result = match input.dtype() {
        DType::Complex64 => lines_to_real::<f32>(&half, last, count, factor),
        dtype => {
            let wide = half.to_dtype(DType::Complex128)?;
            lines_to_real::<f64>(&wide, last, count, factor)?.to_dtype(real_dtype(dtype))
        }
    }?;
    laid_out(result, &half, &sorted(&half, &[last], 1)?)
}

/// Integers as `float32`; what has no Fourier transform on the CPU is refused.
fn promoted(input: &Tensor, complex: bool) -> Result<Tensor> {
    let dtype = match input.dtype() {
        dtype @ (DType::Float32 | DType::Float64) => dtype,
        dtype @ (DType::Complex64 | DType::Complex128) => dtype,
        dtype if dtype.is_integral() || dtype == DType::Bool => DType::Float32,
        dtype => {
            let name = dtype.scalar_type_name();
            return Err(Error::not_implemented(format!("Unsupported dtype {name}")));
        }
    };
    let dtype = if complex { complex_dtype(dtype)? } else { dtype };
    if dtype == input.dtype() {
        return Ok(input.clone());
    }
    input.to_dtype_in(dtype, MemoryFormat::Preserve)
}

/// Cuts off, or pads with zeros, so that `dims` have `sizes`.
fn resized(input: &Tensor, dims: &[i64], sizes: &[i64]) -> Result<Tensor> {
    let mut cut = input.clone();
    for (&dim, &size) in dims.iter().zip(sizes) {
        if size < cut.size(dim)? {
            cut = cut.slice(dim, None, Some(size), 1)?;
        }
    }
    let mut result = cut.clone();
    for (&dim, &size) in dims.iter().zip(sizes) {
        let have = result.size(dim)?;
        if size > have {
            let mut padding = result.sizes().to_vec();
            padding[wrap_dim(dim, result.dim())?] = size - have;
            result = cat(&[result.clone(), Tensor::zeros(&padding, result.dtype())?], dim)?;
        }
    }
    // What is padded lies in memory as `torch.nn.functional.pad` has it.
    match cut.suggested_format() {
        _ if result.sizes() == cut.sizes() => Ok(result),
        MemoryFormat::Contiguous => Ok(result),
        format => {
            let strides = format.strides(result.sizes())?;
            result.with_strides(&strides)
        }
    }
}

fn check_points(n: i64) -> Result<()> {
    if n >= 1 {
        return Ok(());
    }
    Err(Error::runtime(format!("Invalid number of data points ({n}) specified")))
}

/// What a one-dimensional transform makes of which dtype.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `fft` and `ifft`: complex to complex.
    Complex,
    /// `rfft` and `ihfft`: real to complex.
    FromReal,
    /// `irfft` and `hfft`: complex to real.
    ToReal,
}

/// Which of `torch.fft`'s transforms: its kind and whether it goes forward (`fft`, `rfft`, `hfft`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transform {
    /// What it makes of what.
    pub kind: Kind,
    /// Its direction.
    pub forward: bool,
    /// Its name, as errors have it.
    pub name: &'static str,
}

/// `torch.fft.fft`, `ifft`, `rfft`, `irfft`, `hfft`, `ihfft`.
///
/// # Errors
/// For dtypes that the transform does not take, and sizes below 1.
///
/// ```
/// use sconce_kernels::{Tensor, real};
/// use sconce_linalg::{Kind, Transform, fft};
/// let t = Tensor::from_slice(&[1f32, 0.0, 0.0, 0.0], &[4])?;
/// let rfft = Transform { kind: Kind::FromReal, forward: true, name: "rfft" };
/// assert_eq!(real(&fft(rfft, &t, None, -1, None)?)?.to_vec::<f32>()?, [1.0, 1.0, 1.0]);
/// # Ok::<(), sconce_kernels::Error>(())
/// ```
pub fn fft(
    transform: Transform,
    input: &Tensor,
    n: Option<i64>,
    dim: i64,
    norm: Option<&str>,
) -> Result<Tensor> {
    let Transform { kind, forward, name } = transform;
    if kind == Kind::FromReal && input.dtype().is_complex() {
        return Err(Error::type_error(format!(
            "{name} expects a real input tensor, but got {}",
            input.dtype().scalar_type_name()
        )));
    }
    // What is real is not made complex first along one dimension: the result lies in memory as it does.
    let input = promoted(input, kind == Kind::ToReal)?;
    if input.dim() == 0 {
        return Err(Error::index(format!(
            "Dimension specified as {dim} but tensor has no dimensions"
        )));
    }
    let dims = [wrap_dim(dim, input.dim())? as i64];
    let have = input.size(dims[0])?;
    let n = n.unwrap_or(if kind == Kind::ToReal { (have - 1).saturating_mul(2) } else { have });
    check_points(n)?;
    let scale = Scale::of(norm, forward)?;
    let size = if kind == Kind::ToReal { n / 2 + 1 } else { n };
    let input = resized(&input, &dims, &[size])?;
    match (kind, forward) {
        (Kind::Complex, _) if input.dtype().is_complex() => fft_c2c(&input, &dims, scale, forward),
        (Kind::Complex, _) => {
            let result = fft_c2c(&promoted(&input, true)?, &dims, scale, forward)?;
            laid_out(result, &input, &sorted(&input, &dims, 1)?)
        }
        (Kind::FromReal, true) => fft_r2c(&input, &dims, scale, true),
        (Kind::FromReal, false) => conjugate(&fft_r2c(&input, &dims, scale, true)?),
        (Kind::ToReal, false) => fft_c2r(&input, &dims, scale, n),
        (Kind::ToReal, true) => fft_c2r(&conjugate(&input)?, &dims, scale, n),
    }
}

/// The dimensions and their sizes as `s` and `dim` say, both optional.
fn shape_and_dims(
    input: &Tensor,
    s: Option<&[i64]>,
    dims: Option<&[i64]>,
) -> Result<(Vec<i64>, Vec<i64>)> {
    let count = input.dim();
    let dims: Vec<i64> = match (dims, s) {
        (Some(dims), _) => {
            dims.iter().map(|&dim| Ok(wrap_dim(dim, count)? as i64)).collect::<Result<_>>()?
        }
        (None, Some(s)) => {
            if s.len() > count {
                return Err(Error::runtime(format!(
                    "Got shape with {} values but input tensor only has {count} dimensions.",
                    s.len()
                )));
            }
            (count - s.len()..count).map(|dim| dim as i64).collect()
        }
        (None, None) => (0..count as i64).collect(),
    };
    if dims.iter().enumerate().any(|(at, dim)| dims[..at].contains(dim)) {
        return Err(Error::runtime("FFT dims must be unique"));
    }
    if s.is_some_and(|s| s.len() != dims.len()) {
        let message = "When given, dim and shape arguments must have the same length";
        return Err(Error::runtime(message));
    }
    let sizes = dims
        .iter()
        .enumerate()
        .map(|(at, &dim)| match s.map(|s| s[at]) {
            None | Some(-1) => input.size(dim),
            Some(size) => Ok(size),
        })
        .collect::<Result<Vec<i64>>>()?;
    sizes.iter().try_for_each(|&n| check_points(n))?;
    Ok((dims, sizes))
}

/// `torch.fft.fftn` and its like, and the transforms over two dimensions.
///
/// # Errors
/// As [`fft`], and where `s` and `dims` do not fit.
pub fn fftn(
    transform: Transform,
    input: &Tensor,
    s: Option<&[i64]>,
    dims: Option<&[i64]>,
    norm: Option<&str>,
) -> Result<Tensor> {
    let Transform { kind, forward, name } = transform;
    if kind == Kind::FromReal && input.dtype().is_complex() {
        let dtype = input.dtype().scalar_type_name();
        return Err(Error::type_error(match forward {
            true => format!("{name} expects a real-valued input tensor, but got {dtype}"),
            false => format!("Only supports floating-point dtypes, but found: {dtype}"),
        }));
    }
    let input = promoted(input, kind != Kind::FromReal)?;
    let (dims, mut sizes) = shape_and_dims(&input, s, dims)?;
    let scale = Scale::of(norm, forward)?;
    if kind == Kind::Complex {
        return fft_c2c(&resized(&input, &dims, &sizes)?, &dims, scale, forward);
    }
    let (Some((&last, rest)), Some(last_size)) = (dims.split_last(), sizes.last_mut()) else {
        return Err(Error::runtime(format!("{name} must transform at least one axis")));
    };
    if kind == Kind::FromReal {
        let input = resized(&input, &dims, &sizes)?;
        if forward {
            return fft_r2c(&input, &dims, scale, true);
        }
        let half = conjugate(&fft_r2c(&input, &[last], Scale::None, true)?)?;
        let factor = scale.factor(points(&input, &dims)?);
        return scaled(&fft_c2c(&half, rest, Scale::None, false)?, factor);
    }
    let n = match s.and_then(|s| s.last()) {
        Some(&n) if n != -1 => n,
        _ => 2 * (input.size(last)? - 1),
    };
    check_points(n)?;
    *last_size = n / 2 + 1;
    let input = resized(&input, &dims, &sizes)?;
    if !forward {
        return fft_c2r(&input, &dims, scale, n);
    }
    let factor = scale.factor(points(&input, rest)? * n as f64);
    let across = fft_c2c(&input, rest, Scale::None, true)?;
    scaled(&fft_c2r(&conjugate(&across)?, &[last], Scale::None, n)?, factor)
}

fn scaled(input: &Tensor, factor: f64) -> Result<Tensor> {
    if factor == 1.0 {
        return Ok(input.clone());
    }
    if input.dtype().is_complex() {
        // Part by part: a complex product makes NaN of what is infinite.
        let parts = scaled(&sconce_kernels::view_as_real(input)?, factor)?;
        return sconce_kernels::view_as_complex(&parts);
    }
    sconce_kernels::binary(
        sconce_kernels::BinaryOp::Mul,
        input.into(),
        Scalar::Float(factor).into(),
    )
}

/// `torch.fft.fftfreq`: the frequencies of `n` points that are `d` apart, in `dtype`.
///
/// # Errors
/// For a negative number of points.
pub fn fftfreq(n: i64, d: f64, dtype: DType) -> Result<Tensor> {
    let all: Vec<f64> =
        (0..n.max(0)).map(|k| if k < (n + 1) / 2 { k } else { k - n } as f64).collect();
    frequencies(&all, n, d, dtype)
}

/// `torch.fft.rfftfreq`: the frequencies that are not redundant.
///
/// # Errors
/// As [`fftfreq`].
pub fn rfftfreq(n: i64, d: f64, dtype: DType) -> Result<Tensor> {
    let all: Vec<f64> = (0..=n.max(0) / 2).map(|k| k as f64).collect();
    frequencies(&all, n, d, dtype)
}

fn frequencies(multiples: &[f64], n: i64, d: f64, dtype: DType) -> Result<Tensor> {
    if n < 0 {
        return Err(Error::runtime(format!(
            "Trying to create tensor with negative dimension {n}: [{n}]"
        )));
    }
    let step = 1.0 / (n as f64 * d);
    let all: Vec<f64> = multiples.iter().map(|k| k * step).collect();
    Tensor::from_slice(&all, &[all.len() as i64])?.to_dtype(dtype)
}

/// `torch.fft.fftshift`, or `ifftshift` where `back`: over all dimensions unless some are given.
///
/// # Errors
/// Where there is no such dimension.
pub fn fftshift(input: &Tensor, dims: Option<&[i64]>, back: bool) -> Result<Tensor> {
    let all: Vec<i64> = (0..input.dim() as i64).collect();
    let dims = dims.unwrap_or(&all);
    if dims.is_empty() {
        return Err(Error::runtime("`shifts` required"));
    }
    let mut result = input.copy()?;
    for &dim in dims {
        let size = result.size(dim)?;
        // As many at the front as the other direction leaves at the end.
        let front = if back { size / 2 } else { size - size / 2 };
        let (head, tail) =
            (result.slice(dim, None, Some(front), 1)?, result.slice(dim, Some(front), None, 1)?);
        result = cat(&[tail, head], dim)?;
    }
    Ok(result)
}

/// Overlapping frames of the last dimension, a view: `frames × length`.
pub(crate) fn frames(input: &Tensor, length: i64, hop: i64) -> Result<Tensor> {
    let size = input.size(-1)?;
    let count = 1 + (size - length) / hop;
    let (mut sizes, mut strides) = (input.sizes().to_vec(), input.strides().to_vec());
    let step = strides.last().copied().unwrap_or(1);
    if let (Some(size), Some(stride)) = (sizes.last_mut(), strides.last_mut()) {
        (*size, *stride) = (count, step.saturating_mul(hop));
    }
    sizes.push(length);
    strides.push(step);
    if sizes.contains(&0) {
        strides = contiguous_strides(&sizes).to_vec();
    }
    input.as_strided(&sizes, &strides, None)
}
