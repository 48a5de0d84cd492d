//! Convolution over one to three spatial dimensions: by im2col and a matrix product, or by the
//! depthwise kernel where every channel has its own filter.

use sconce_gemm::matrix::Matrix;
use sconce_kernel_core::chosen_implementation::chose;
use sconce_kernel_core::parallel::partition;
use sconce_kernel_core::tensor::promotion::compute_dtype;

use crate::nn::conv::conv_element::ConvElement;
use crate::nn::conv::depthwise;
use crate::nn::conv::im2col_gemm::{self, Channels};
use crate::nn::conv::window::Geometry;
use crate::{DType, Dims, Error, PadMode, Result, Tensor, all_true, isfinite, pad};

/// How a convolution walks over its input. Lists hold one number for every spatial dimension, or
/// one for all of them.
#[derive(Debug, Clone)]
pub struct ConvOptions<'a> {
    /// Steps between windows.
    pub stride: &'a [i64],
    /// Zeros put around the input.
    pub padding: &'a [i64],
    /// Steps between elements of a window.
    pub dilation: &'a [i64],
    /// Channels are divided into this many groups, convolved apart.
    pub groups: i64,
}

/// `torch.conv1d`, `conv2d` or `conv3d`, by the number of the weight's dimensions; the input may
/// come without a batch.
///
/// # Errors
/// Where sizes do not fit, in PyTorch's words.
///
/// ```
/// use sconce_kernels::{ConvOptions, Tensor, conv};
/// let input = Tensor::from_slice(&[1f32, 2.0, 3.0, 4.0], &[1, 1, 4])?;
/// let weight = Tensor::from_slice(&[1f32, -1.0], &[1, 1, 2])?;
/// let options = ConvOptions { stride: &[1], padding: &[0], dilation: &[1], groups: 1 };
/// assert_eq!(conv(&input, &weight, None, &options)?.to_vec::<f32>()?, [-1.0, -1.0, -1.0]);
/// # Ok::<(), sconce_kernels::Error>(())
/// ```
pub fn conv(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &ConvOptions<'_>,
) -> Result<Tensor> {
    let spatial = spatial_dims(weight)?;
    with_batch(input, spatial, &format!("conv{spatial}d"), |input| {
        check(input, weight, bias, options)?;
        let after = spread(options.padding, spatial, 0);
        convolve(input, weight, bias, options, after)
    })
}

/// `torch.conv1d`, `conv2d` or `conv3d` with `padding='same'`: as many zeros that the result has the
/// input's sizes, one more of them at the end where their number is odd.
///
/// # Errors
/// As [`conv`], and for strides other than 1.
pub fn conv_same(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    stride: &[i64],
    dilation: &[i64],
    groups: i64,
) -> Result<Tensor> {
    let spatial = spatial_dims(weight)?;
    with_batch(input, spatial, &format!("conv{spatial}d"), |input| {
        let none = ConvOptions { stride, padding: &[0], dilation, groups };
        check(input, weight, bias, &none)?;
        if stride.iter().any(|&step| step != 1) {
            return Err(Error::runtime("padding='same' is not supported for strided convolutions"));
        }
        let (steps, lead) = (spread(dilation, spatial, 1), 3 - spatial);
        let total = |i: usize| steps[i].saturating_mul(weight.sizes()[2 + i - lead] - 1);
        let both: [i64; 3] = std::array::from_fn(|i| if i < lead { 0 } else { total(i).max(0) });
        let before = both.map(|total| total / 2);
        let after = std::array::from_fn(|i| both[i] - before[i]);
        convolve(input, weight, bias, &ConvOptions { padding: &before[lead..], ..none }, after)
    })
}

/// The input with this many zeros around it, before and after.
fn with_zeros(input: &Tensor, before: [i64; 3], after: [i64; 3]) -> Result<Tensor> {
    let spatial = input.dim() - 2;
    let pairs: Vec<i64> = (3 - spatial..3).rev().flat_map(|i| [before[i], after[i]]).collect();
    pad(input, &pairs, PadMode::Constant(0.into()))
}

/// The number of spatial dimensions of a weight.
pub(crate) fn spatial_dims(weight: &Tensor) -> Result<usize> {
    let spatial = weight.dim().saturating_sub(2);
    match (1..=3).contains(&spatial) {
        true => Ok(spatial),
        false => Err(Error::runtime("convolution takes one, two or three spatial dimensions")),
    }
}

/// Calls with a batch of one where the input has no batch.
pub(crate) fn with_batch(
    input: &Tensor,
    spatial: usize,
    name: &str,
    convolve: impl FnOnce(&Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    match input.dim().checked_sub(spatial) {
        Some(1) => convolve(&input.unsqueeze(0)?)?.squeeze(Some(&[0])),
        Some(2) => convolve(input),
        _ => Err(Error::runtime(format!(
            "Expected {}D (unbatched) or {}D (batched) input to {name}, but got input of size: {:?}",
            spatial + 1,
            spatial + 2,
            input.sizes()
        ))),
    }
}

/// One number for each of three dimensions; those that are not there get `none`.
pub(crate) fn spread(list: &[i64], spatial: usize, none: i64) -> [i64; 3] {
    let lead = 3 - spatial;
    std::array::from_fn(|i| match i.checked_sub(lead) {
        None => none,
        Some(_) if list.len() == 1 => list[0],
        Some(i) => list[i],
    })
}

/// Whether strides, paddings, dilations and groups make sense at all.
pub(crate) fn check_options(options: &ConvOptions<'_>, spatial: usize) -> Result<()> {
    let named =
        [("stride", options.stride), ("padding", options.padding), ("dilation", options.dilation)];
    for (name, list) in named {
        if list.len() != 1 && list.len() != spatial {
            return Err(Error::runtime(format!(
                "expected {name} to be a single integer value or a list of {spatial} values to \
                 match the convolution dimensions, but got {name}={list:?}"
            )));
        }
    }
    let message = match options {
        o if o.padding.iter().any(|&n| n < 0) => "negative padding is not supported",
        o if o.stride.iter().any(|&n| n <= 0) => "non-positive stride is not supported",
        o if o.dilation.iter().any(|&n| n <= 0) => "dilation should be greater than zero",
        o if o.groups <= 0 => "non-positive groups is not supported",
        _ => return Ok(()),
    };
    Err(Error::runtime(message))
}

/// Whether the dtypes of the operands are one.
pub(crate) fn check_dtypes(input: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<()> {
    if let Some(bias) = bias.filter(|bias| bias.dtype() != input.dtype()) {
        return Err(Error::runtime(format!(
            "Input type ({}) and bias type ({}) should be the same",
            cpp_name(input.dtype()),
            cpp_name(bias.dtype())
        )));
    }
    let name = |tensor: &Tensor| tensor.dtype().scalar_type_name();
    input.expect_dtype(weight.dtype()).map_err(|_| {
        Error::runtime(format!("expected scalar type {} but found {}", name(input), name(weight)))
    })
}

/// What `caffe2::TypeMeta` calls a dtype, the type's name in C++.
fn cpp_name(dtype: DType) -> &'static str {
    match dtype {
        DType::Float32 => "float",
        DType::Float64 => "double",
        DType::Float16 => "c10::Half",
        DType::BFloat16 => "c10::BFloat16",
        DType::Int64 => "long",
        DType::Int32 => "int",
        DType::Int16 => "short",
        DType::Int8 => "signed char",
        DType::UInt8 => "unsigned char",
        DType::Complex64 => "c10::complex<float>",
        DType::Complex128 => "c10::complex<double>",
        other => other.scalar_type_name(),
    }
}

fn check(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &ConvOptions<'_>,
) -> Result<()> {
    check_sizes(input, weight, options)?;
    let w = weight.sizes();
    match bias {
        Some(bias) if bias.dim() != 1 || bias.numel() != w[0] => Err(Error::runtime(format!(
            "Given weight of size {w:?}, expected bias to be 1-dimensional with {} elements, but \
             got bias of size {:?} instead",
            w[0],
            bias.sizes()
        ))),
        _ => check_dtypes(input, weight, bias),
    }
}

/// The sizes of a convolution whose operands have a batch and fit each other.
pub(crate) fn checked_geometry(
    input: &Tensor,
    weight: &Tensor,
    options: &ConvOptions<'_>,
) -> Result<Geometry> {
    check_sizes(input, weight, options)?;
    geometry(input, weight, options, spread(options.padding, weight.dim() - 2, 0))
}

fn check_sizes(input: &Tensor, weight: &Tensor, options: &ConvOptions<'_>) -> Result<()> {
    let spatial = weight.dim() - 2;
    check_options(options, spatial)?;
    let (groups, w, x) = (options.groups, weight.sizes(), input.sizes());
    if w[0] < groups {
        return Err(Error::runtime(format!(
            "Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got \
             weight of size {w:?} instead"
        )));
    }
    if w[0] % groups != 0 {
        return Err(Error::runtime(format!(
            "Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but \
             got weight of size [{w:?}] instead"
        )));
    }
    if w[1].checked_mul(groups) != Some(x[1]) {
        return Err(Error::runtime(format!(
            "Given groups={groups}, weight of size {w:?}, expected input{x:?} to have {} channels, \
             but got {} channels instead",
            w[1].saturating_mul(groups),
            x[1]
        )));
    }
    Ok(())
}

/// The sizes; `after` is the padding behind the input, the options' that before it.
fn geometry(
    input: &Tensor,
    weight: &Tensor,
    options: &ConvOptions<'_>,
    after: [i64; 3],
) -> Result<Geometry> {
    let spatial = weight.dim() - 2;
    let lead = 3 - spatial;
    let (x, k) = (spatial_sizes(input), spatial_sizes(weight));
    let stride = spread(options.stride, spatial, 1);
    let padding = spread(options.padding, spatial, 0);
    let dilation = spread(options.dilation, spatial, 1);
    let mut output = [1usize; 3];
    for i in 0..3 {
        let padded = padding[i].checked_add(after[i]).and_then(|p| p.checked_add(x[i]));
        let window = (k[i] - 1).checked_mul(dilation[i]).and_then(|n| n.checked_add(1));
        let (Some(padded), Some(window)) = (padded, window) else {
            return Err(Error::runtime("integer overflow in the sizes of a convolution"));
        };
        if padded < window || k[i] == 0 {
            let join = |f: &dyn Fn(usize) -> i64| {
                (lead..3).map(|i| f(i).to_string()).collect::<Vec<_>>().join(" x ")
            };
            return Err(Error::runtime(format!(
                "Calculated padded input size per channel: ({}). Kernel size: ({}). Kernel size \
                 can't be greater than actual input size",
                join(&|i| x[i].saturating_add(padding[i]).saturating_add(after[i])),
                join(&|i| dilation[i].saturating_mul(k[i] - 1).saturating_add(1))
            )));
        }
        output[i] = ((padded - window) / stride[i] + 1) as usize;
    }
    check_not_empty(input)?;
    let unsigned = |list: [i64; 3]| list.map(|n| n as usize);
    Ok(Geometry {
        input: unsigned(x),
        kernel: unsigned(k),
        output,
        stride: unsigned(stride),
        padding: unsigned(padding),
        dilation: unsigned(dilation),
    })
}

/// PyTorch convolves empty batches and no channels, but no empty images.
pub(crate) fn check_not_empty(input: &Tensor) -> Result<()> {
    let sizes = input.sizes();
    match input.numel() == 0 && sizes[0] != 0 && sizes[1] != 0 {
        true => Err(Error::runtime(format!(
            "Only zero batch or zero channel inputs are supported, but got input shape: {sizes:?}"
        ))),
        false => Ok(()),
    }
}

/// The sizes after the first two, with ones before them.
pub(crate) fn spatial_sizes(tensor: &Tensor) -> [i64; 3] {
    let lead = 5 - tensor.dim();
    std::array::from_fn(|i| if i < lead { 1 } else { tensor.sizes()[2 + i - lead] })
}

/// Convolves an input with a batch, padded by the options and this many zeros at the end.
fn convolve(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &ConvOptions<'_>,
    after: [i64; 3],
) -> Result<Tensor> {
    let before = spread(options.padding, spatial_dims(weight)?, 0);
    // PyTorch stores these zeros, and zero times what is not finite is NaN.
    let stored = match input.dtype() {
        DType::Float64 => (before, after),
        _ => ([0; 3], std::array::from_fn(|i| after[i] - before[i])),
    };
    if stored != ([0; 3], [0; 3]) && !all_true(&isfinite(weight)?)? {
        let left = std::array::from_fn(|i| after[i] - stored.1[i]);
        let options = ConvOptions { padding: &left[5 - weight.dim()..], ..options.clone() };
        let input = with_zeros(input, stored.0, stored.1)?;
        return convolve_in_dtype(&input, weight, bias, &options, left);
    }
    convolve_in_dtype(input, weight, bias, options, after)
}

/// [`convolve`] in the dtype that this one is computed in, with no zeros stored around the input.
fn convolve_in_dtype(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &ConvOptions<'_>,
    after: [i64; 3],
) -> Result<Tensor> {
    let geometry = geometry(input, weight, options, after)?;
    let dtype = input.dtype();
    let narrow = dtype.is_integral() && dtype != DType::Int64;
    if dtype == DType::Bool || (narrow && geometry.dilation != [1; 3]) {
        let dilated = geometry.dilation != [1; 3];
        let name = if dilated { "slow_conv_dilated<>" } else { "slow_conv2d_cpu" };
        return Err(Error::no_kernel(name, dtype));
    }
    let compute = compute_dtype(dtype);
    let (x, w) = (input.to_dtype(compute)?.contiguous()?, weight.to_dtype(compute)?.contiguous()?);
    let mut sizes: Dims = Dims::from_slice(&[x.sizes()[0], w.sizes()[0]]);
    sizes.extend(geometry.output[5 - weight.dim()..].iter().map(|&n| n as i64));
    let result = biased(&sizes, bias, compute)?;
    let groups = options.groups as usize;
    match compute {
        DType::Float32 => run::<f32>(&x, &w, &result, geometry, groups),
        DType::Float64 => run::<f64>(&x, &w, &result, geometry, groups),
        DType::Int64 => run::<i64>(&x, &w, &result, geometry, groups),
        DType::Complex64 => run::<num_complex::Complex<f32>>(&x, &w, &result, geometry, groups),
        DType::Complex128 => run::<num_complex::Complex<f64>>(&x, &w, &result, geometry, groups),
        _ => Err(Error::no_kernel("slow_conv2d_cpu", dtype)),
    }?;
    result.to_dtype(dtype)
}

/// A result in which every channel holds its bias, or zero.
pub(crate) fn biased(sizes: &[i64], bias: Option<&Tensor>, dtype: DType) -> Result<Tensor> {
    let result = Tensor::zeros(sizes, dtype)?;
    if let Some(bias) = bias {
        let mut shape = Dims::from_elem(1, sizes.len() - 1);
        shape[0] = bias.numel();
        result.copy_from(&bias.to_dtype(dtype)?.reshape(&shape)?)?;
    }
    Ok(result)
}

/// Filters of one input channel from which on they are a matrix worth multiplying with.
const MATRIX: usize = 4;

/// Adds the convolution to the result.
fn run<T: ConvElement>(
    x: &Tensor,
    w: &Tensor,
    result: &Tensor,
    geometry: Geometry,
    groups: usize,
) -> Result<()> {
    let (in_per_group, out_per_group) = (w.sizes()[1] as usize, w.sizes()[0] as usize / groups);
    let in_size: usize = geometry.input.iter().product();
    let out_size: usize = geometry.output.iter().product();
    let taps: usize = geometry.kernel.iter().product();
    let depth = in_per_group * taps;
    let (xs, ws) = (x.read::<T>()?, w.read::<T>()?);
    let (xs, ws) = (&xs[..], &ws[..]);
    let mut out = result.write::<T>()?;
    if out.is_empty() || depth == 0 || in_size == 0 {
        return Ok(());
    }
    if in_per_group == 1 && out_per_group < MATRIX {
        chose("depthwise");
        // Channels are divided among threads; each is computed by one of them, in one order.
        partition::for_each(out.chunks_exact_mut(out_size).enumerate(), |(plane, out)| {
            let channels = groups * out_per_group;
            let (batch, channel) = (plane / channels, plane % channels);
            let input = (batch * groups + channel / out_per_group) * in_size;
            let filter = &ws[channel * taps..(channel + 1) * taps];
            depthwise::convolve(&xs[input..input + in_size], filter, out, geometry);
        });
        return Ok(());
    }
    let flat = taps == 1 && geometry.stride == [1; 3] && geometry.padding == [0; 3];
    let flat = flat && in_size == out_size;
    if !flat {
        chose("im2col and GEMM");
        let channels = Channels { groups, input: in_per_group, output: out_per_group };
        return im2col_gemm::convolve(xs, ws, &mut out, geometry, channels);
    }
    chose("1x1 as GEMM");
    for (block, out) in out.chunks_exact_mut(out_per_group * out_size).enumerate() {
        let input = &xs[block * in_per_group * in_size..(block + 1) * in_per_group * in_size];
        let weights = Matrix {
            start: block % groups * out_per_group * depth,
            row_stride: depth,
            col_stride: 1,
        };
        let pixels = Matrix { start: 0, row_stride: out_size, col_stride: 1 };
        T::product([out_per_group, depth, out_size], (ws, weights), (input, pixels), out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_with_filters_of_their_own_are_convolved_as_defined() {
        // Sizes of input and filter; stride, padding, dilation.
        let cases = [
            ([5, 40], [3, 3], 1, 1, 1),
            ([4, 70], [1, 5], 1, 2, 2),
            ([9, 50], [3, 4], 2, 1, 1),
            ([3, 3], [3, 7], 1, 3, 1),
            ([6, 33], [2, 2], 3, 0, 2),
            ([1, 2], [1, 2], 5, 1, 3),
        ];
        for ([height, width], [rows, columns], stride, padding, dilation) in cases {
            let numbers = |len: i64, step: i64| -> Vec<f32> {
                (0..len).map(|i| (i * step % 23) as f32 - 11.0).collect()
            };
            let (plane, filter) = (numbers(2 * height * width, 7), numbers(2 * rows * columns, 5));
            let input = Tensor::from_slice(&plane, &[1, 2, height, width]).unwrap();
            let weight = Tensor::from_slice(&filter, &[2, 1, rows, columns]).unwrap();
            let options = ConvOptions {
                stride: &[stride],
                padding: &[padding],
                dilation: &[dilation],
                groups: 2,
            };
            let found = conv(&input, &weight, None, &options).unwrap();
            let (high, wide) = (found.sizes()[2], found.sizes()[3]);
            let mut expected = Vec::new();
            for position in 0..2 * high * wide {
                let (channel, y, x) =
                    (position / (high * wide), position / wide % high, position % wide);
                let mut sum = 0.0;
                for tap in 0..rows * columns {
                    let y = y * stride + tap / columns * dilation - padding;
                    let x = x * stride + tap % columns * dilation - padding;
                    if (0..height).contains(&y) && (0..width).contains(&x) {
                        let weight = filter[(channel * rows * columns + tap) as usize];
                        sum += plane[((channel * height + y) * width + x) as usize] * weight;
                    }
                }
                expected.push(sum);
            }
            assert_eq!(found.to_vec::<f32>().unwrap(), expected, "{height} {width}");
        }
    }

    #[test]
    fn one_channel_gives_the_same_to_few_filters_and_to_many() {
        let numbers = |len: i64, step: usize| -> Vec<f32> {
            (0..len as usize).map(|i| (i * step % 23) as f32 - 11.0).collect()
        };
        for groups in [1, 2] {
            let input = Tensor::from_slice(&numbers(groups * 40, 7), &[1, groups, 40]).unwrap();
            // Whole numbers: sums are exact in any order.
            let filters =
                Tensor::from_slice(&numbers(groups * 6 * 9, 5), &[groups * 6, 1, 9]).unwrap();
            let options = ConvOptions { stride: &[2], padding: &[3], dilation: &[1], groups };
            let many = conv(&input, &filters, None, &options).unwrap();
            for channel in 0..groups * 6 {
                let filter = filters.narrow(0, channel, 1).unwrap().contiguous().unwrap();
                let plane = input.narrow(1, channel / 6, 1).unwrap().contiguous().unwrap();
                let one = ConvOptions { groups: 1, ..options };
                let few = conv(&plane, &filter, None, &one).unwrap();
                let found = many.narrow(1, channel, 1).unwrap();
                assert_eq!(found.contiguous().unwrap().to_vec::<f32>(), few.to_vec::<f32>());
            }
        }
    }
}
