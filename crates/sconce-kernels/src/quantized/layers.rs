//! Quantized linear layers, convolutions and products.
//!
//! Sums of integer products are exact and rounded once, in `float32` steps as FBGEMM does. Operands
//! that fit the instructions for small integers go through [`Int8Rows`]; the rest is computed in
//! `float64`.

use sconce_gemm::int8_dot::Int8Rows;
use sconce_kernel_core::parallel::partition;
use sconce_kernel_core::simd::dispatch::dispatch;
use sconce_kernel_core::tensor::quantization::{
    integers, pack, per_tensor, quantizer, underlying, with_quantizer,
};
use sconce_kernel_core::tensor::quantizer::Quantizer;

use crate::nn::conv::convolution::checked_geometry;
use crate::nn::conv::window::Geometry;
use crate::quantize::{Steps, centred, choose_parameters, dequantize, nearest, quantize};
use crate::{
    BinaryOp, ConvOptions, DType, Error, MemoryFormat, PodElement, Result, Scalar, Tensor, binary,
    conv, linear,
};

/// The most numbers in a row of [`Int8Rows`].
const LONGEST: usize = 65_000;
/// Products below which other threads cost more than they bring.
const PARALLEL: usize = 1 << 18;
/// Channels whose sums are kept side by side.
const LANES: usize = 16;
/// Places of a convolution whose patches are laid out together.
const BLOCK: usize = 32;

/// Where results of a product go: their parameters and whether they are cut off at 0.
#[derive(Debug, Clone, Copy)]
pub struct OutputParameters {
    /// The size of a step.
    pub scale: f64,
    /// What stands for 0.
    pub zero_point: i64,
    /// Whether negative results become 0.
    pub relu: bool,
}

impl OutputParameters {
    fn quantizer(self) -> Quantizer {
        Quantizer::PerTensor { scale: self.scale, zero_point: self.zero_point }
    }
}

/// The scales of a weight's output channels; one stands for all.
fn weight_scales(weight: &Tensor) -> Result<Vec<f32>> {
    let (scales, ..) = quantizer(weight)?.channels()?;
    Ok(scales.into_iter().map(|scale| scale as f32).collect())
}

/// The scale of each channel of a product, and its bias.
pub(super) struct Channels {
    scales: Vec<f32>,
    biases: Vec<f32>,
}

impl Channels {
    pub(super) fn of(
        scale: f64,
        weight: &Tensor,
        bias: Option<&Tensor>,
        count: usize,
    ) -> Result<Channels> {
        let own = weight_scales(weight)?;
        let own = |at: usize| own.get(at).copied().unwrap_or(own[0]);
        let biases = match bias {
            Some(bias) => dequantize(bias)?.to_vec::<f32>()?,
            None => vec![0.0; count],
        };
        if biases.len() != count {
            return Err(Error::runtime("bias should have as many elements as there are outputs"));
        }
        Ok(Channels { scales: (0..count).map(|at| scale as f32 * own(at)).collect(), biases })
    }
}

/// `f` of the sums, whose channels lie side by side, and the scale and bias of their channels.
pub(super) fn finished<T: PodElement>(
    sums: &Tensor,
    channels: &Channels,
    f: impl Fn(f32, f32, f32) -> T + Copy,
) -> Result<Tensor> {
    fn rows<S: PodElement, T: PodElement>(
        sums: &Tensor,
        channels: &Channels,
        f: impl Fn(S, f32, f32) -> T + Copy,
    ) -> Result<Tensor> {
        let result = Tensor::for_overwrite(sums.sizes(), T::DTYPE)?;
        let Channels { scales, biases } = channels;
        let width = scales.len().max(1);
        let rows = sums.read::<S>()?;
        for (out, row) in result.write::<T>()?.chunks_exact_mut(width).zip(rows.chunks_exact(width))
        {
            dispatch(
                #[inline(always)]
                move || {
                    let channels = scales.iter().zip(biases);
                    for ((out, &sum), (&scale, &bias)) in out.iter_mut().zip(row).zip(channels) {
                        *out = f(sum, scale, bias);
                    }
                },
            );
        }
        Ok(result)
    }
    let sums = sums.contiguous()?;
    match sums.dtype() {
        DType::Int32 => rows(
            &sums,
            channels,
            #[inline(always)]
            move |sum: i32, scale, bias| f(sum as f32, scale, bias),
        ),
        _ => rows(&sums, channels, move |sum: f64, scale, bias| f(sum as f32, scale, bias)),
    }
}

/// Rounds exact sums, whose channels lie side by side, to the steps of an output.
fn requantized(
    sums: &Tensor,
    (input, weight): (&Tensor, &Tensor),
    bias: Option<&Tensor>,
    output: OutputParameters,
) -> Result<Tensor> {
    let (scale, _) = per_tensor(input)?;
    let count = sums.sizes().last().map_or(1, |&count| count as usize);
    let mut channels = Channels::of(scale, weight, bias, count)?;
    for (scale, bias) in channels.scales.iter_mut().zip(&mut channels.biases) {
        *bias /= *scale;
        *scale /= output.scale as f32;
    }
    let mut steps = Steps::of(input.dtype(), output.zero_point)?;
    if output.relu {
        steps = steps.without_negatives();
    }
    macro_rules! codes {
        ($ty:ty) => {
            finished(
                sums,
                &channels,
                #[inline(always)]
                move |sum, scale, bias| steps.nearest((sum + bias) * scale) as $ty,
            )
        };
    }
    match underlying(input.dtype())?.0 {
        DType::UInt8 => codes!(u8),
        DType::Int8 => codes!(i8),
        _ => codes!(i32),
    }
}

/// The integers of a product's operands, if [`Int8Rows`] can multiply them in rows of this length: the
/// input's less their zero point, the weight's as they are. Of convolutions channels lie last in both.
fn small_integers(
    (input, weight): (&Tensor, &Tensor),
    format: MemoryFormat,
    len: usize,
) -> Result<Option<(Vec<i16>, Tensor)>> {
    let Quantizer::PerTensor { zero_point, .. } = *quantizer(input)? else { return Ok(None) };
    let (_, zero_points, _) = quantizer(weight)?.channels()?;
    let fits = matches!(input.dtype(), DType::QUInt8 | DType::QInt8)
        && weight.dtype() == DType::QInt8
        && (-128..=255).contains(&zero_point)
        && zero_points.iter().all(|&zero| zero == 0)
        && (1..=LONGEST).contains(&len);
    if !fits {
        return Ok(None);
    }
    let codes = integers(input)?.contiguous_in(format)?;
    let zero_point = zero_point as i16;
    let (offset, count) = (codes.offset() as usize, codes.numel() as usize);
    let codes = match codes.dtype() {
        DType::UInt8 => {
            let codes = codes.storage().read::<u8>()?;
            codes[offset..offset + count].iter().map(|&x| i16::from(x) - zero_point).collect()
        }
        _ => {
            let codes = codes.storage().read::<i8>()?;
            codes[offset..offset + count].iter().map(|&x| i16::from(x) - zero_point).collect()
        }
    };
    Ok(Some((codes, integers(weight)?.contiguous_in(format)?)))
}

/// The exact sums of a linear layer.
pub(super) fn linear_sums(input: &Tensor, weight: &Tensor) -> Result<Tensor> {
    let operands = (input, weight);
    let fits = weight.dim() == 2 && input.sizes().last() == weight.sizes().last();
    let len = weight.sizes().last().map_or(0, |&len| len as usize);
    let small = if fits { small_integers(operands, MemoryFormat::Contiguous, len)? } else { None };
    let Some((xs, weight)) = small else {
        return linear(&centred(input)?, &centred(weight)?, None);
    };
    let width = weight.sizes()[0] as usize;
    let mut sizes = input.sizes().to_vec();
    sizes.pop();
    sizes.push(width as i64);
    let result = Tensor::for_overwrite(&sizes, DType::Int32)?;
    {
        let ws = weight.read::<i8>()?;
        let rows = Int8Rows::new(&ws, len, xs.len() / len);
        let mut out = result.write::<i32>()?;
        partition::for_each_chunk(&mut out, width, PARALLEL / len, |start, out| {
            let first = start / width.max(1);
            let count = out.len() / width.max(1);
            rows.dots(&xs[first * len..(first + count) * len], out);
        });
    }
    Ok(result)
}

/// The exact sums of a convolution, channels last.
fn conv_sums(input: &Tensor, weight: &Tensor, options: &ConvOptions<'_>) -> Result<Tensor> {
    let axis = (input.dim() + 1).saturating_sub(weight.dim());
    let format = match weight.dim() {
        4 => MemoryFormat::ChannelsLast,
        5 => MemoryFormat::ChannelsLast3d,
        _ => MemoryFormat::Contiguous,
    };
    let batched = format != MemoryFormat::Contiguous && input.dim() == weight.dim();
    let whole =
        || conv(&centred(input)?, &centred(weight)?, None, options)?.movedim(&[axis as i64], &[-1]);
    if !batched {
        return whole();
    }
    // What does not fit is told as the whole says it.
    let Ok(geometry) = checked_geometry(input, weight, options) else { return whole() };
    let (own, filters) = (weight.sizes()[1] as usize, weight.sizes()[0] as usize);
    let len = own * geometry.kernel.iter().product::<usize>();
    let Some((xs, weight)) = small_integers((input, weight), format, len)? else { return whole() };
    let layer = Layer {
        geometry,
        channels: input.sizes()[1] as usize,
        filters,
        groups: options.groups as usize,
        len,
    };
    let spatial = &geometry.output[3 - (input.dim() - 2)..];
    let sizes = [input.sizes()[0]].into_iter().chain(spatial.iter().map(|&n| n as i64));
    let sizes: Vec<i64> = sizes.chain([filters as i64]).collect();
    let result = Tensor::for_overwrite(&sizes, DType::Int32)?;
    let offset = weight.offset() as usize;
    let ws = weight.storage().read::<i8>()?;
    layer.convolve(&xs, &ws[offset..offset + filters * len], &mut result.write::<i32>()?);
    Ok(result)
}

/// A convolution of integers whose channels lie last.
struct Layer {
    geometry: Geometry,
    channels: usize,
    filters: usize,
    groups: usize,
    /// Numbers in a patch of one group.
    len: usize,
}

impl Layer {
    fn convolve(&self, xs: &[i16], ws: &[i8], out: &mut [i32]) {
        let filters = self.filters;
        if out.is_empty() {
            return;
        }
        if self.groups == self.channels && self.groups == filters {
            // Taps outermost, so that channels lie side by side.
            let taps = self.len;
            let transposed: Vec<i16> = (0..taps)
                .flat_map(|tap| (0..filters).map(move |c| i16::from(ws[c * taps + tap])))
                .collect();
            return partition::for_each_chunk(out, filters, PARALLEL / taps, |start, out| {
                self.each_channel(xs, &transposed, start / filters, out);
            });
        }
        let (serial, positions) = (PARALLEL / self.len, out.len() / filters);
        let groups = ws.chunks_exact(filters / self.groups * self.len);
        let groups: Vec<Int8Rows<'_>> =
            groups.map(|rows| Int8Rows::new(rows, self.len, positions)).collect();
        partition::for_each_chunk(out, filters * BLOCK, serial, |start, out| {
            self.each_group(xs, &groups, start / filters, out);
        });
    }

    /// The positions from `first` on, where every channel has a filter of its own.
    fn each_channel(&self, xs: &[i16], ws: &[i16], first: usize, out: &mut [i32]) {
        let width = self.channels;
        dispatch(
            #[inline(always)]
            || {
                let mut inside = Vec::with_capacity(self.len);
                for (at, out) in out.chunks_exact_mut(width).enumerate() {
                    inside.clear();
                    self.taps(first + at, |tap, position| {
                        inside.extend(position.map(|position| (tap * width, position * width)));
                    });
                    let (blocks, rest) = out.as_chunks_mut::<LANES>();
                    for (block, out) in blocks.iter_mut().enumerate() {
                        sum_taps(out, xs, ws, block * LANES, &inside);
                    }
                    let done = width - rest.len();
                    for (c, out) in rest.iter_mut().enumerate() {
                        let mut sum = [0];
                        sum_taps(&mut sum, xs, ws, done + c, &inside);
                        [*out] = sum;
                    }
                }
            },
        );
    }

    /// The positions from `first` on, as products of patches and filters.
    fn each_group(&self, xs: &[i16], rows: &[Int8Rows<'_>], first: usize, out: &mut [i32]) {
        let Layer { geometry, channels, filters, groups, len } = self;
        let (own, per_group) = (channels / groups, filters / groups);
        let plain = geometry.kernel == [1; 3]
            && geometry.stride == [1; 3]
            && geometry.padding == [0; 3]
            && *groups == 1;
        let mut patches = vec![0; if plain { 0 } else { BLOCK * len }];
        let mut part = vec![0; BLOCK * per_group];
        for (block, out) in out.chunks_mut(BLOCK * filters).enumerate() {
            let (first, count) = (first + block * BLOCK, out.len() / filters);
            for (group, rows) in rows.iter().enumerate() {
                if plain {
                    rows.dots(&xs[first * channels..(first + count) * channels], out);
                    continue;
                }
                for (at, patch) in patches.chunks_exact_mut(*len).take(count).enumerate() {
                    self.taps(first + at, |tap, position| {
                        let patch = &mut patch[tap * own..(tap + 1) * own];
                        match position {
                            Some(at) => {
                                patch.copy_from_slice(&xs[at * channels + group * own..][..own]);
                            }
                            None => patch.fill(0),
                        }
                    });
                }
                let patches = &patches[..count * len];
                if *groups == 1 {
                    rows.dots(patches, out);
                    continue;
                }
                rows.dots(patches, &mut part[..count * per_group]);
                for (out, part) in out.chunks_exact_mut(*filters).zip(part.chunks_exact(per_group))
                {
                    out[group * per_group..][..per_group].copy_from_slice(part);
                }
            }
        }
    }

    /// Calls `f` for each element of the window at a position of the result: which it is, and the position
    /// of the input that it falls on.
    #[inline(always)]
    fn taps(&self, at: usize, mut f: impl FnMut(usize, Option<usize>)) {
        let Geometry { input, kernel, output, stride, padding, dilation } = self.geometry;
        let column = at % output[2];
        let row = at / output[2] % output[1];
        let slice = at / (output[2] * output[1]) % output[0];
        let image = at / (output[2] * output[1] * output[0]);
        let within = |dim: usize, at: usize, tap: usize| {
            let at = (at * stride[dim] + tap * dilation[dim]).checked_sub(padding[dim])?;
            (at < input[dim]).then_some(at)
        };
        let mut tap = 0;
        for i in 0..kernel[0] {
            let z = within(0, slice, i);
            for j in 0..kernel[1] {
                let y =
                    z.and_then(|z| Some((image * input[0] + z) * input[1] + within(1, row, j)?));
                for k in 0..kernel[2] {
                    f(tap, y.and_then(|y| Some(y * input[2] + within(2, column, k)?)));
                    tap += 1;
                }
            }
        }
    }
}

/// The products of neighbouring channels, summed over pairs of positions: of the filter and of the input.
#[inline(always)]
fn sum_taps<const N: usize>(
    out: &mut [i32; N],
    xs: &[i16],
    ws: &[i16],
    channel: usize,
    positions: &[(usize, usize)],
) {
    let mut sums = [0; N];
    for &(w, x) in positions {
        let (x, w) = (&xs[x + channel..][..N], &ws[w + channel..][..N]);
        for ((sum, &x), &w) in sums.iter_mut().zip(x).zip(w) {
            *sum += i32::from(x) * i32::from(w);
        }
    }
    *out = sums;
}

/// `quantized::linear`, `quantized::linear_relu`.
///
/// # Errors
/// For sizes that do not fit and tensors that are not quantized.
pub fn quantized_linear(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    output: OutputParameters,
) -> Result<Tensor> {
    let codes = requantized(&linear_sums(input, weight)?, (input, weight), bias, output)?;
    with_quantizer(&codes, input.dtype(), output.quantizer())
}

/// `quantized::linear_dynamic_fp16`: weights are held within what `float16` can hold, and rounded to
/// it.
///
/// # Errors
/// As `torch.nn.functional.linear`.
pub fn half_linear(input: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    const MOST: f64 = 65504.0;
    let bounds = (Scalar::Float(-MOST), Scalar::Float(MOST));
    let held = crate::clamp(weight, Some(bounds.0.into()), Some(bounds.1.into()))?;
    let rounded = held.to_dtype(DType::Float16)?.to_dtype(DType::Float32)?;
    linear(input, &rounded, bias)
}

/// `quantized::linear_dynamic`: the input is quantized by its own range, the result is `float32`.
///
/// # Errors
/// As [`quantized_linear`].
pub fn quantized_linear_dynamic(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    reduce_range: bool,
    relu: bool,
) -> Result<Tensor> {
    let input = by_its_own_range(input, reduce_range)?;
    floats(&linear_sums(&input, weight)?, (&input, weight), bias, relu)
}

/// `quantized::conv2d_dynamic` and its like: the input is quantized by its own range, the result is
/// `float32`.
///
/// # Errors
/// As [`quantized_conv`].
pub fn quantized_conv_dynamic(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &ConvOptions<'_>,
    output_padding: Option<&[i64]>,
    reduce_range: bool,
) -> Result<Tensor> {
    let input = by_its_own_range(input, reduce_range)?;
    let sums = match output_padding {
        Some(extra) => transposed_sums(&input, weight, options, extra),
        None => conv_sums(&input, weight, options),
    }?;
    channels_last(floats(&sums, (&input, weight), bias, false)?, weight)
}

fn by_its_own_range(input: &Tensor, reduce_range: bool) -> Result<Tensor> {
    let (scale, zero_point) = choose_parameters(input, reduce_range)?;
    quantize(input, Quantizer::PerTensor { scale, zero_point }, DType::QUInt8)
}

/// Exact sums, whose channels lie side by side, as the numbers they stand for.
fn floats(
    sums: &Tensor,
    (input, weight): (&Tensor, &Tensor),
    bias: Option<&Tensor>,
    relu: bool,
) -> Result<Tensor> {
    let (scale, _) = per_tensor(input)?;
    let count = sums.sizes().last().map_or(1, |&count| count as usize);
    let channels = Channels::of(scale, weight, bias, count)?;
    finished(
        sums,
        &channels,
        #[inline(always)]
        move |sum, scale, bias| {
            let value = sum * scale + bias;
            if relu { value.max(0.0) } else { value }
        },
    )
}

/// `quantized::conv1d` to `conv3d`, and with `relu`.
///
/// # Errors
/// As `torch.conv2d`, and for tensors that are not quantized.
pub fn quantized_conv(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &ConvOptions<'_>,
    output: OutputParameters,
) -> Result<Tensor> {
    convolved(&conv_sums(input, weight, options)?, (input, weight), bias, output)
}

/// `quantized::conv_transpose1d` to `conv_transpose3d`.
///
/// # Errors
/// As `torch.conv_transpose2d`, and for tensors that are not quantized.
pub fn quantized_conv_transpose(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &ConvOptions<'_>,
    output_padding: &[i64],
    output: OutputParameters,
) -> Result<Tensor> {
    let sums = transposed_sums(input, weight, options, output_padding)?;
    convolved(&sums, (input, weight), bias, output)
}

/// The exact sums of a transposed convolution, channels last.
fn transposed_sums(
    input: &Tensor,
    weight: &Tensor,
    options: &ConvOptions<'_>,
    output_padding: &[i64],
) -> Result<Tensor> {
    let (whole, kernel) = (centred(input)?, centred(weight)?);
    let sums = crate::conv_transpose(&whole, &kernel, None, options, output_padding)?;
    let axis = (sums.dim() + 1).saturating_sub(weight.dim());
    sums.movedim(&[axis as i64], &[-1])
}

fn convolved(
    sums: &Tensor,
    (input, weight): (&Tensor, &Tensor),
    bias: Option<&Tensor>,
    output: OutputParameters,
) -> Result<Tensor> {
    let codes = channels_last(requantized(sums, (input, weight), bias, output)?, weight)?;
    with_quantizer(&codes, input.dtype(), output.quantizer())
}

/// The result of a convolution, whose channels are the last dimension, with its dimensions in their
/// positions. FBGEMM's results have their channels last in memory, too; what pools make of ties depends
/// on it.
fn channels_last(result: Tensor, weight: &Tensor) -> Result<Tensor> {
    let axis = (result.dim() + 1).saturating_sub(weight.dim());
    let result = result.movedim(&[-1], &[axis as i64])?;
    let format = match result.dim() {
        4 => MemoryFormat::ChannelsLast,
        5 => MemoryFormat::ChannelsLast3d,
        _ => MemoryFormat::Contiguous,
    };
    let strides = format.strides(result.sizes())?;
    result.with_strides(&strides)
}

/// `quantized::mul`: the product of integers, rounded once.
///
/// # Errors
/// For sizes that do not broadcast, and tensors that have not one scale.
pub fn quantized_mul(a: &Tensor, b: &Tensor, output: OutputParameters) -> Result<Tensor> {
    let ((a_scale, _), (b_scale, _)) = (per_tensor(a)?, per_tensor(b)?);
    let product = binary(BinaryOp::Mul, (&centred(a)?).into(), (&centred(b)?).into())?;
    let by = a_scale as f32 * b_scale as f32 * (1.0 / output.scale as f32);
    let low = if output.relu { output.zero_point } else { i64::MIN };
    let values: Vec<i64> = product
        .contiguous()?
        .read::<f64>()?
        .iter()
        .map(|&x| (nearest(x as f32 * by) + output.zero_point).max(low))
        .collect();
    pack(&values, product.sizes(), a.dtype(), output.quantizer())?.like_format_of(a)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_layer_rounds_once() {
        let x = Tensor::from_slice(&[1f32, 2.0], &[1, 2]).unwrap();
        let x = quantize(&x, Quantizer::PerTensor { scale: 0.5, zero_point: 3 }, DType::QUInt8);
        let w = Tensor::from_slice(&[1f32, 1.0, 2.0, -1.0], &[2, 2]).unwrap();
        let by =
            Quantizer::PerChannel { scales: vec![0.5, 0.25], zero_points: vec![0, 0], axis: 0 };
        let w = quantize(&w, by, DType::QInt8).unwrap();
        let output = OutputParameters { scale: 0.25, zero_point: 10, relu: false };
        let bias = Tensor::from_slice(&[0.5f32, 0.0], &[2]).unwrap();
        let y = quantized_linear(&x.unwrap(), &w, Some(&bias), output).unwrap();
        assert_eq!(dequantize(&y).unwrap().to_vec::<f32>().unwrap(), [3.5, 0.0]);
    }
}
