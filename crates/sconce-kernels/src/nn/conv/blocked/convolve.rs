//! Convolution in the blocked layout.

use std::ops::Range;

use half::bf16;
use sconce_kernel_core::chosen_implementation::chose;
use sconce_kernel_core::parallel::partition;
use sconce_kernel_core::simd::dispatch::{Level, best};
use sconce_kernel_core::simd::lanes::LANES;
use smallvec::SmallVec;

use super::activation::{Activation, NEAR_PIXELS};
use super::channel_pairs::has_pairs;
use super::depthwise_pair::{DepthwisePair, depthwise_pair, takes_pairs};
use super::derived_weights::DerivedWeights;
use super::margin::with_margin;
use super::pack::block_runs;
use super::permuted::{PermutedRow, permuted_row};
use super::tile::{DepthwiseRow, Part, Row, depthwise_row};
use super::tile_number::{TileNumber, Weights};
use super::{ChannelLayout, blocked_sizes, scratch, winograd};
use crate::{DType, Error, Result, Tensor};

/// Multiply-adds below which other threads cost more than they bring.
pub(super) const PARALLEL: usize = 1 << 20;

/// Weights of a part of the windows that all rows are computed with before the next part, in elements,
/// where tiles are so small that weights come faster than a second cache of some CPUs gives them.
const PART: usize = 4 << 10;

/// Up to this many pixels an image is copied with the zeros around it before it is convolved channel by channel: at the
/// sides of a small one, pixels that need tests are many. A large one would take longer to copy.
const MARGIN_PIXELS: usize = 32 * 32;

/// Up to this many pixels of the result the weights of the next channels are asked for while these are multiplied.
const AHEAD_PIXELS: usize = 14 * 14;

/// How many pieces each thread gets, so that none waits long for the others.
const PIECES_PER_THREAD: usize = 4;

/// Rows for each thread from which on threads share an image by its rows: of few rows one thread would have more.
const ROWS_TO_SHARE: usize = 7;

/// A convolution in blocks: the numbers that its packed weight does not tell. Pairs are height and
/// width.
#[derive(Debug, Clone, Copy)]
pub struct BlockedConv {
    /// Input channels.
    pub in_channels: i64,
    /// Result channels.
    pub out_channels: i64,
    /// As [`ConvOptions::groups`](crate::ConvOptions::groups).
    pub groups: i64,
    /// The window.
    pub kernel: [i64; 2],
    /// Steps between windows.
    pub stride: [i64; 2],
    /// Zeros put around the input.
    pub padding: [i64; 2],
    /// Steps between elements of a window.
    pub dilation: [i64; 2],
    /// What is done to the results, after the residual is added.
    pub activation: Activation,
    /// Whether every product is computed as it stands: not by Winograd's algorithm, which saves multiplications
    /// and rounds a few times more.
    pub exact: bool,
    /// Whether inputs and weights may be rounded to `bfloat16` where that is quicker; sums are `float32`.
    pub bf16: bool,
}

/// The sizes of a convolution of one image.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    /// Blocks of channels; of a planar image, channels.
    planes: usize,
    input: [usize; 2],
    output: [usize; 2],
    kernel: [usize; 2],
    stride: [usize; 2],
    padding: [usize; 2],
    dilation: [usize; 2],
}

impl Sizes {
    /// Whether this is a window of 3x3 that moves by one pixel.
    fn is_plain_3x3(&self) -> bool {
        (self.kernel, self.stride, self.dilation) == ([3; 2], [1; 2], [1; 2])
    }

    /// The rows of the input, with those of its padding, that some rows of the result are made of.
    fn rows_read(&self, first: usize, count: usize) -> Range<usize> {
        let reach = (self.kernel[0] - 1) * self.dilation[0] + 1;
        first * self.stride[0]..(first + count - 1) * self.stride[0] + reach
    }
}

/// `activation(conv2d(input, weight, bias) + residual)` in the blocked layout. The weight and the
/// bias are those of [`pack_weight`](crate::pack_weight) and [`pack_bias`](crate::pack_bias). The
/// input is a blocked image, but for convolutions of up to four channels in one group, which take
/// it as it is.
///
/// # Errors
/// Where sizes or dtypes do not fit.
pub fn conv_blocked(
    input: &Tensor,
    weight: &Tensor,
    bias: &Tensor,
    residual: Option<&Tensor>,
    options: &BlockedConv,
) -> Result<Tensor> {
    convolve(best(), input, weight, bias, residual, options)
}

pub(super) fn convolve(
    level: Level,
    input: &Tensor,
    weight: &Tensor,
    bias: &Tensor,
    residual: Option<&Tensor>,
    options: &BlockedConv,
) -> Result<Tensor> {
    let unfit = || Error::runtime("a convolution in blocks whose sizes do not fit");
    let shape =
        [options.out_channels, options.in_channels.checked_div(options.groups).unwrap_or(0)];
    let [height, width] = options.kernel;
    let scheme = ChannelLayout::of(&[shape[0], shape[1], height, width], options.groups);
    let scheme = scheme.ok_or_else(unfit)?;
    let (batch, sizes) = sizes(scheme, input, options)?.ok_or_else(unfit)?;
    let (out_channels, groups) = (options.out_channels as usize, options.groups as usize);
    let blocks = out_channels.div_ceil(LANES);
    let [out_height, out_width] = sizes.output.map(|size| size as i64);
    let out_sizes = [batch as i64, blocks as i64, out_height, out_width, LANES as i64];
    if residual.is_some_and(|residual| residual.sizes() != out_sizes) {
        return Err(unfit());
    }
    let result = Tensor::for_overwrite(&out_sizes, DType::Float32)?;
    let (input, residual) = (input.contiguous()?, residual.map(Tensor::contiguous).transpose()?);
    let (x, w, b) = (input.read::<f32>()?, weight.read::<f32>()?, bias.read::<f32>()?);
    let residual = residual.as_ref().map(Tensor::read::<f32>).transpose()?;
    let mut out = result.write::<f32>()?;
    let taps = sizes.kernel[0] * sizes.kernel[1];
    let weights = match scheme {
        ChannelLayout::Depthwise => blocks * taps * LANES,
        ChannelLayout::Grouped => blocks * (out_channels / groups) * taps * LANES,
        ChannelLayout::Planar => blocks * LANES * sizes.planes * taps,
        ChannelLayout::Dense => blocks * LANES * (sizes.planes / groups) * LANES * taps,
    };
    if w.len() != weights || b.len() != blocks * LANES {
        return Err(unfit());
    }
    if out.is_empty() || x.is_empty() {
        return Err(unfit());
    }
    let by_pairs = options.bf16 && scheme == ChannelLayout::Dense && has_pairs(level);
    if scheme == ChannelLayout::Dense && groups == 1 && !options.exact && sizes.is_plain_3x3() {
        let outline = winograd::Outline {
            batch,
            channels: options.in_channels as usize,
            out_blocks: blocks,
            input: sizes.input,
            output: sizes.output,
            padding: sizes.padding,
        };
        let variant = winograd::choose(level.or_best(), &outline, by_pairs);
        let derived = variant.and_then(|_| weight.storage().derived(DerivedWeights::default));
        if let (Some(variant), Some(derived)) = (variant, derived)
            && let Some(weights) = derived.winograd.of(variant, &w, outline.channels, out_channels)
        {
            let operands = winograd::Operands {
                input: &x,
                bias: &b,
                residual: residual.as_deref(),
                activation: options.activation,
            };
            let work = 9 * outline.channels * out.len();
            let threads = if work < PARALLEL { 1 } else { partition::num_threads() };
            if winograd::convolve(level, variant, &outline, operands, weights, threads, &mut out) {
                chose(variant.name());
                drop(out);
                return Ok(result);
            }
        }
    }
    let derived = if by_pairs { weight.storage().derived(DerivedWeights::default) } else { None };
    let pairs = derived.as_ref().and_then(|derived| derived.pairs(&w, out_channels, groups));
    chose(match scheme {
        ChannelLayout::Depthwise => "blocked layout, depthwise",
        ChannelLayout::Grouped => "blocked layout, narrow groups",
        ChannelLayout::Planar => "blocked layout, direct, plain input",
        ChannelLayout::Dense if pairs.is_some() => "blocked layout, direct, bfloat16",
        ChannelLayout::Dense => "blocked layout, direct",
    });
    let (in_len, out_len) = (x.len() / batch.max(1), out.len() / batch.max(1));
    for (index, out) in out.chunks_exact_mut(out_len).enumerate() {
        let x = &x[index * in_len..(index + 1) * in_len];
        let residual = residual.as_ref().map(|r| &r[index * out_len..(index + 1) * out_len]);
        let weights = Weights { single: &w, pairs };
        let call = Call { level, sizes, weights, bias: &b, residual, options, groups };
        match scheme {
            ChannelLayout::Depthwise => call.depthwise(x, out),
            ChannelLayout::Grouped => call.narrow_groups(x, out),
            ChannelLayout::Planar => call.padded::<f32>(x, 1, out),
            ChannelLayout::Dense if pairs.is_some() => call.padded::<bf16>(x, LANES, out),
            ChannelLayout::Dense => call.padded::<f32>(x, LANES, out),
        }
    }
    drop(out);
    Ok(result)
}

/// The batch and the sizes of a image; `None` where they do not fit.
fn sizes(scheme: ChannelLayout, input: &Tensor, o: &BlockedConv) -> Result<Option<(usize, Sizes)>> {
    let [batch, planes, height, width] = match (scheme, input.sizes()) {
        (ChannelLayout::Planar, &[n, c, h, w]) if input.dtype() == DType::Float32 => {
            [n, c, h, w].map(|size| size as usize)
        }
        _ => blocked_sizes(input)?,
    };
    let wanted = match scheme {
        ChannelLayout::Planar => o.in_channels as usize,
        _ => (o.in_channels as usize).div_ceil(LANES),
    };
    let steps = o.stride.iter().chain(&o.dilation).chain(&o.kernel);
    if planes != wanted || steps.into_iter().any(|&n| n <= 0) || o.padding.iter().any(|&n| n < 0) {
        return Ok(None);
    }
    // Far below what could overflow in sizes and offsets, and above any image.
    let small = |list: [i64; 2]| list.iter().all(|&n| n < 1 << 20);
    if ![o.stride, o.dilation, o.kernel, o.padding].into_iter().all(small) {
        return Ok(None);
    }
    let pair = |list: [i64; 2]| list.map(|n| n as usize);
    let (kernel, stride) = (pair(o.kernel), pair(o.stride));
    let (padding, dilation) = (pair(o.padding), pair(o.dilation));
    let input = [height, width];
    let mut output = [0; 2];
    for i in 0..2 {
        let (padded, window) = (input[i] + 2 * padding[i], (kernel[i] - 1) * dilation[i] + 1);
        let Some(room) = padded.checked_sub(window) else { return Ok(None) };
        output[i] = room / stride[i] + 1;
    }
    Ok(Some((batch, Sizes { planes, input, output, kernel, stride, padding, dilation })))
}

/// Of this many elements of a window, each with `line` weights, how many are taken at a time.
pub(super) fn part_of(level: Level, elements: usize, line: usize) -> usize {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => elements,
        _ => elements.min((PART / line).max(1)),
    }
}

/// How many of an image's rows a piece has when this many threads share as many stretches of channels.
pub(super) fn rows_per_piece(rows: usize, threads: usize, block_runs: usize) -> usize {
    if threads < 2 {
        return rows;
    }
    let pieces = (threads * PIECES_PER_THREAD).div_ceil(block_runs.max(1));
    rows.div_ceil(pieces).max(1)
}

/// Whether threads share an image by its rows, all channels of some for each, and not by its channels. What one
/// convolution writes the next then reads on the same core: another core's cache is far away on some processors.
fn shares_rows(rows: usize, threads: usize) -> bool {
    threads > 1 && rows >= ROWS_TO_SHARE * threads
}

/// The convolution of one image.
#[derive(Clone, Copy)]
struct Call<'a> {
    level: Level,
    sizes: Sizes,
    weights: Weights<'a>,
    bias: &'a [f32],
    residual: Option<&'a [f32]>,
    options: &'a BlockedConv,
    groups: usize,
}

/// Some rows of a stretch of result channels.
struct ConvTask<'a, T> {
    first_row: usize,
    first_block: usize,
    group: usize,
    weights: &'a [T],
    out: [&'a mut [f32]; 2],
}

impl Call<'_> {
    fn residual_rows(&self, block: usize, first_row: usize, len: usize) -> Option<&[f32]> {
        self.residual_pixels(block, first_row * self.sizes.output[1], len)
    }

    fn residual_pixels(&self, block: usize, first: usize, len: usize) -> Option<&[f32]> {
        let [height, width] = self.sizes.output;
        let start = (block * height * width + first) * LANES;
        self.residual.and_then(|residual| residual.get(start..start + len))
    }

    /// Puts the zeros around the image, if there are any, and convolves it as numbers of a type. A pixel is `lanes`
    /// numbers.
    fn padded<T: TileNumber>(&self, x: &[f32], lanes: usize, out: &mut [f32]) {
        let Sizes { planes, input: [height, width], padding: [top, left], .. } = self.sizes;
        if [top, left] == [0; 2]
            && let Some(x) = T::as_they_are(x)
        {
            return self.dense(x, [height, width], lanes, out);
        }
        let padded = [height + 2 * top, width + 2 * left];
        let len = planes * padded[0] * padded[1] * lanes;
        scratch::with(len.div_ceil(size_of::<f32>() / size_of::<T>()), |copy| {
            let copy: &mut [T] = &mut bytemuck::cast_slice_mut(copy)[..len];
            let (line, wide) = (width * lanes, padded[1] * lanes);
            let planes = x.chunks_exact(height * line).zip(copy.chunks_exact_mut(padded[0] * wide));
            T::each(x.len(), planes, |(from, to)| {
                if line == wide {
                    to[..top * wide].fill(T::zeroed());
                    T::copy(from, &mut to[top * wide..(top + height) * wide]);
                    to[(top + height) * wide..].fill(T::zeroed());
                    return;
                }
                to[..top * wide].fill(T::zeroed());
                to[(top + height) * wide..].fill(T::zeroed());
                let rows = to[top * wide..].chunks_exact_mut(wide);
                for (from, to) in from.chunks_exact(line).zip(rows) {
                    to[..left * lanes].fill(T::zeroed());
                    T::copy(from, &mut to[left * lanes..left * lanes + line]);
                    to[left * lanes + line..].fill(T::zeroed());
                }
            });
            self.dense(copy, padded, lanes, out);
        });
    }

    /// Convolves a image that has its zeros around it.
    fn dense<T: TileNumber>(
        &self,
        x: &[T],
        [height, width]: [usize; 2],
        lanes: usize,
        out: &mut [f32],
    ) {
        let s = self.sizes;
        let plane = height * width * lanes;
        let planes = s.planes / self.groups;
        let offsets: Vec<usize> = (0..planes)
            .flat_map(|p| {
                (0..s.kernel[0]).flat_map(move |i| (0..s.kernel[1]).map(move |j| [p, i, j]))
            })
            .map(|[p, i, j]| p * plane + (i * s.dilation[0] * width + j * s.dilation[1]) * lanes)
            .collect();
        // Elements of the last block have fewer channels where those of the image do not fill it.
        let rest_channels = if lanes == 1 { 0 } else { self.options.in_channels as usize % LANES };
        let whole = match rest_channels {
            0 => offsets.len(),
            _ => offsets.len() - s.kernel[0] * s.kernel[1],
        };
        let [out_height, out_width] = s.output;
        let out_channels = self.options.out_channels as usize;
        let per_block = offsets.len() * lanes * LANES;
        let stretch_count = block_runs(out_channels, self.groups).count();
        let work = offsets.len() * lanes * out_channels * out_height * out_width;
        let threads = if work < PARALLEL { 1 } else { partition::num_threads() };
        let mut rows = rows_per_piece(out_height, threads, stretch_count);
        let by_rows = shares_rows(out_height, threads)
            && T::weights(self.weights).len() <= x.len() + out.len();
        if by_rows {
            rows = rows.min(out_height.div_ceil(threads));
        }
        let (mut rest, mut weights) = (out, T::weights(self.weights));
        let mut pieces = Vec::new();
        for stretch in block_runs(out_channels, self.groups) {
            let (own, others) = weights.split_at(per_block * stretch.blocks);
            weights = others;
            let all = std::mem::take(&mut rest);
            let (all, others) = all.split_at_mut(stretch.blocks * out_height * out_width * LANES);
            rest = others;
            let (a, b) = all.split_at_mut(out_height * out_width * LANES);
            let mut second = b.chunks_mut(rows * out_width * LANES);
            for (index, a) in a.chunks_mut(rows * out_width * LANES).enumerate() {
                pieces.push(ConvTask {
                    first_row: index * rows,
                    first_block: stretch.first,
                    group: stretch.group,
                    weights: own,
                    out: [a, second.next().unwrap_or_default()],
                });
            }
        }
        let flat = s.kernel == [1; 2] && s.stride == [1; 2];
        // Few pixels are done before the weights of the next channels have come from a far cache.
        let asks_ahead = lanes > 1 && out_height * out_width <= AHEAD_PIXELS;
        let compute = |piece: ConvTask<'_, T>| {
            let [a, b] = piece.out;
            let activation = self.options.activation;
            let step = match flat {
                true if activation.is_of_stored() => a.len().min(NEAR_PIXELS * LANES),
                true => a.len(),
                false => out_width * LANES,
            };
            let start = piece.group * planes * plane;
            let line = piece.weights.len() / offsets.len();
            let most = part_of(self.level, offsets.len(), line);
            for (index, offsets_part) in offsets.chunks(most).enumerate() {
                let done = index * most;
                let part =
                    Part { first: done == 0, last: done + offsets_part.len() == offsets.len() };
                let mut second = b.chunks_mut(step);
                for (index, a) in a.chunks_mut(step).enumerate() {
                    let b = second.next().unwrap_or_default();
                    let pixel = piece.first_row * out_width + index * step / LANES;
                    let residual = [
                        self.residual_pixels(piece.first_block, pixel, a.len()),
                        self.residual_pixels(piece.first_block + 1, pixel, b.len()),
                    ];
                    let window = match flat {
                        true => pixel,
                        false => (piece.first_row + index) * s.stride[0] * width,
                    };
                    let call = Row {
                        input: x,
                        start: start + window * lanes,
                        offsets: offsets_part,
                        run: lanes,
                        whole: whole.saturating_sub(done),
                        rest: rest_channels,
                        step: s.stride[1] * lanes,
                        weights: &piece.weights[done * line..],
                        bias: &self.bias[piece.first_block * LANES..],
                        residual: if b.is_empty() { [residual[0], None] } else { residual },
                        activation,
                        part,
                        ahead: if asks_ahead && index == 0 { piece.weights.len() } else { 0 },
                    };
                    T::row(self.level, &call, [&mut *a, &mut *b]);
                    if part.last {
                        activation.apply_to_stored(a);
                        activation.apply_to_stored(b);
                    }
                }
            }
        };
        match threads < 2 {
            true => pieces.into_iter().for_each(compute),
            false => {
                if by_rows {
                    pieces.sort_by_key(|piece| piece.first_row);
                }
                partition::for_each(pieces.into_iter(), compute);
            }
        }
    }

    /// Convolves every channel with its own filter.
    fn depthwise(&self, x: &[f32], out: &mut [f32]) {
        let s = self.sizes;
        let taps = s.kernel[0] * s.kernel[1];
        let is_small = s.input[0] * s.input[1] <= MARGIN_PIXELS && s.padding != [0; 2];
        let compute = |block: usize, first: usize, image: &[f32], out: &mut [f32]| {
            let residual = self.residual_rows(block, first, out.len());
            if !is_small {
                return self.depthwise_rows(&s, image, [block, first], residual, out);
            }
            let count = out.len() / (s.output[1] * LANES);
            let rows = s.rows_read(first, count);
            let input = [rows.len(), s.input[1] + 2 * s.padding[1]];
            let inside = Sizes { input, padding: [0; 2], ..s };
            with_margin(image, s.input, s.padding, rows, |image| {
                self.depthwise_rows(&inside, image, [block, 0], residual, out);
            });
        };
        self.by_block(x, taps, PARALLEL / 8, out, compute);
    }

    /// Some rows of one block of channels, from `first` on, each channel with its own filter.
    fn depthwise_rows(
        &self,
        s: &Sizes,
        image: &[f32],
        [block, first]: [usize; 2],
        residual: Option<&[f32]>,
        out: &mut [f32],
    ) {
        let ([height, width], [kernel, columns]) = (s.input, s.kernel);
        let taps = kernel * columns;
        let weights = &self.weights.single[block * taps * LANES..(block + 1) * taps * LANES];
        let bias = &self.bias[block * LANES..];
        let line = s.output[1] * LANES;
        let one = |at: usize, residual, out: &mut [f32]| {
            let inside = |(k, weights): (usize, _)| {
                let y = (at * s.stride[0] + k * s.dilation[0]).checked_sub(s.padding[0])?;
                (y < height).then_some((y * width * LANES, weights))
            };
            let lines = weights.chunks_exact(columns * LANES).enumerate();
            let rows: SmallVec<[(usize, &[f32]); 8]> = lines.filter_map(inside).collect();
            let call = DepthwiseRow {
                input: image,
                width,
                rows: &rows,
                kernel: columns,
                stride: s.stride[1],
                padding: s.padding[1],
                dilation: s.dilation[1],
                bias,
                residual,
                activation: self.options.activation,
            };
            depthwise_row(self.level, &call, out);
            self.options.activation.apply_to_stored(out);
        };
        // In large images, which are not copied, two rows at once have been measured to be slower than one.
        let takes_pairs = s.padding == [0; 2]
            && kernel == columns
            && (s.stride, s.dilation) == ([1; 2], [1; 2])
            && takes_pairs(self.level, kernel)
            && width >= kernel;
        let part = |row: usize| residual.map(|all| &all[row * line..(row + 1) * line]);
        let mut rows = out.chunks_exact_mut(line).enumerate();
        while let Some((index, upper)) = rows.next() {
            let at = first + index;
            let lower = if takes_pairs { rows.next() } else { None };
            let Some((_, lower)) = lower else {
                one(at, part(index), upper);
                continue;
            };
            let pair = DepthwisePair {
                input: image,
                start: at * width * LANES,
                line: width * LANES,
                kernel,
                weights,
                bias,
                residual: [part(index), part(index + 1)],
                activation: self.options.activation,
            };
            depthwise_pair(self.level, &pair, [&mut *upper, &mut *lower]);
            self.options.activation.apply_to_stored(upper);
            self.options.activation.apply_to_stored(lower);
        }
    }

    /// Convolves groups that share a block.
    fn narrow_groups(&self, x: &[f32], out: &mut [f32]) {
        let s = self.sizes;
        let group = self.options.out_channels as usize / self.groups;
        let per_block = group * s.kernel[0] * s.kernel[1] * LANES;
        let wide = (s.input[1] + 2 * s.padding[1]) * LANES;
        let line = s.output[1] * LANES;
        let compute = |block: usize, first: usize, image: &[f32], out: &mut [f32]| {
            let rows = s.rows_read(first, out.len() / line);
            with_margin(image, s.input, s.padding, rows, |input| {
                for (index, out) in out.chunks_exact_mut(line).enumerate() {
                    let call = PermutedRow {
                        input,
                        start: index * s.stride[0] * wide,
                        group,
                        kernel: s.kernel,
                        line: s.dilation[0] * wide,
                        column: s.dilation[1] * LANES,
                        step: s.stride[1] * LANES,
                        weights: &self.weights.single[block * per_block..(block + 1) * per_block],
                        bias: &self.bias[block * LANES..],
                        residual: self.residual_rows(block, first + index, out.len()),
                        activation: self.options.activation,
                    };
                    permuted_row(self.level, &call, out);
                    self.options.activation.apply_to_stored(out);
                }
            });
        };
        self.by_block(x, per_block / LANES, PARALLEL, out, compute);
    }

    /// Computes blocks of channels that depend on no others, and parts of their rows on several threads where there
    /// are more multiply-adds than `serial`, as many as `work` for each result. `compute` gets the block, the first
    /// row, the block's image, and the rows.
    fn by_block(
        &self,
        x: &[f32],
        work: usize,
        serial: usize,
        out: &mut [f32],
        compute: impl Fn(usize, usize, &[f32], &mut [f32]) + Sync,
    ) {
        let ([height, width], [out_height, out_width]) = (self.sizes.input, self.sizes.output);
        let (plane, out_plane) = (height * width * LANES, out_height * out_width * LANES);
        let threads = if out.len() * work < serial { 1 } else { partition::num_threads() };
        // Rows are computed in pairs.
        let mut rows = rows_per_piece(out_height, threads, out.len() / out_plane);
        let by_rows = shares_rows(out_height, threads);
        if by_rows {
            rows = rows.min(out_height.div_ceil(threads));
        }
        let rows = rows.next_multiple_of(2);
        let compute = |(block, first, out): (usize, usize, &mut [f32])| {
            compute(block, first, &x[block * plane..(block + 1) * plane], out);
        };
        let blocks = out.chunks_exact_mut(out_plane).enumerate();
        let pieces = blocks.flat_map(|(block, out)| {
            let parts = out.chunks_mut(rows * out_width * LANES).enumerate();
            parts.map(move |(part, out)| (block, part * rows, out))
        });
        match threads < 2 {
            true => pieces.for_each(compute),
            false => {
                let mut pieces: Vec<_> = pieces.collect();
                if by_rows {
                    pieces.sort_by_key(|&(_, first, _)| first);
                }
                partition::for_each(pieces.into_iter(), compute);
            }
        }
    }
}
