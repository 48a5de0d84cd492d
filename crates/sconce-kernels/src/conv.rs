//! Convolution of one to three spatial dimensions: columns of patches times weights, and a direct
//! loop where every channel has its own filter.

use rayon::prelude::*;

use crate::binary::compute_dtype;
use crate::gemm::{Matrix, Multiply, gemm};
use crate::{BinaryOp, DType, Dims, Error, Result, Tensor, binary};

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

/// The geometry of one convolution, always with three spatial dimensions.
#[derive(Debug, Clone, Copy)]
struct Geometry {
    input: [usize; 3],
    kernel: [usize; 3],
    output: [usize; 3],
    stride: [usize; 3],
    padding: [usize; 3],
    dilation: [usize; 3],
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
    let spatial = weight.dim().saturating_sub(2);
    if !(1..=3).contains(&spatial) {
        return Err(Error::runtime("convolution takes one, two or three spatial dimensions"));
    }
    if input.dim() == spatial + 1 {
        return conv(&input.unsqueeze(0)?, weight, bias, options)?.squeeze(Some(&[0]));
    }
    if input.dim() != spatial + 2 {
        return Err(Error::runtime(format!(
            "Expected {}D (unbatched) or {}D (batched) input to conv{spatial}d, but got input of \
             size: {:?}",
            spatial + 1,
            spatial + 2,
            input.sizes()
        )));
    }
    check(input, weight, bias, options)?;
    input.expect_dtype(weight.dtype()).map_err(|_| {
        Error::runtime(format!(
            "expected scalar type {} but found {}",
            input.dtype().scalar_type_name(),
            weight.dtype().scalar_type_name()
        ))
    })?;
    let geometry = geometry(input, weight, options, spatial)?;
    let dtype = input.dtype();
    let compute = compute_dtype(dtype);
    let (x, w) = (input.to_dtype(compute)?.contiguous()?, weight.to_dtype(compute)?.contiguous()?);
    let groups = options.groups as usize;
    let mut sizes: Dims = Dims::from_slice(&[x.sizes()[0], w.sizes()[0]]);
    sizes.extend(geometry.output[3 - spatial..].iter().map(|&n| n as i64));
    let result = Tensor::zeros(&sizes, compute)?;
    match compute {
        DType::Float32 => run::<f32>(&x, &w, &result, geometry, groups),
        DType::Float64 => run::<f64>(&x, &w, &result, geometry, groups),
        _ => Err(Error::no_kernel("slow_conv2d_cpu", dtype)),
    }?;
    let Some(bias) = bias else { return result.to_dtype(dtype) };
    let mut shape = Dims::from_elem(1, spatial + 1);
    shape[0] = bias.numel();
    let bias = bias.to_dtype(compute)?.reshape(&shape)?;
    binary(BinaryOp::Add, (&result).into(), (&bias).into())?.to_dtype(dtype)
}

fn check(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &ConvOptions<'_>,
) -> Result<()> {
    let spatial = weight.dim() - 2;
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
        _ => "",
    };
    if !message.is_empty() {
        return Err(Error::runtime(message));
    }
    let (groups, w, x) = (options.groups, weight.sizes(), input.sizes());
    if w[0] % groups != 0 || w[0] < groups {
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
    match bias {
        Some(bias) if bias.dim() != 1 || bias.numel() != w[0] => Err(Error::runtime(format!(
            "Given weight of size {w:?}, expected bias to be 1-dimensional with {} elements, but \
             got bias of size {:?} instead",
            w[0],
            bias.sizes()
        ))),
        _ => Ok(()),
    }
}

fn geometry(
    input: &Tensor,
    weight: &Tensor,
    options: &ConvOptions<'_>,
    spatial: usize,
) -> Result<Geometry> {
    let lead = 3 - spatial;
    let sizes = |tensor: &Tensor| {
        std::array::from_fn(|i| if i < lead { 1 } else { tensor.sizes()[2 + i - lead] })
    };
    let spread = |list: &[i64], none: i64| -> [i64; 3] {
        std::array::from_fn(|i| match i.checked_sub(lead) {
            None => none,
            Some(i) => {
                if list.len() == 1 {
                    list[0]
                } else {
                    list[i]
                }
            }
        })
    };
    let (x, k): ([i64; 3], [i64; 3]) = (sizes(input), sizes(weight));
    let stride = spread(options.stride, 1);
    let (padding, dilation) = (spread(options.padding, 0), spread(options.dilation, 1));
    let mut output = [1usize; 3];
    for i in 0..3 {
        let padded = padding[i].checked_mul(2).and_then(|p| p.checked_add(x[i]));
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
                join(&|i| x[i].saturating_add(padding[i].saturating_mul(2))),
                join(&|i| dilation[i].saturating_mul(k[i] - 1).saturating_add(1))
            )));
        }
        output[i] = ((padded - window) / stride[i] + 1) as usize;
    }
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

fn run<T: Multiply + std::ops::AddAssign + std::ops::Mul<Output = T>>(
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
    if out.is_empty() || depth == 0 {
        return Ok(());
    }
    if in_per_group == 1 {
        // Channels are divided among threads; each is computed by one of them, in one order.
        out.par_chunks_exact_mut(out_size).enumerate().for_each(|(plane, out)| {
            let channels = groups * out_per_group;
            let (batch, channel) = (plane / channels, plane % channels);
            let input = (batch * groups + channel / out_per_group) * in_size;
            let filter = &ws[channel * taps..(channel + 1) * taps];
            depthwise(&xs[input..input + in_size], filter, out, geometry);
        });
        return Ok(());
    }
    let flat = taps == 1 && geometry.stride == [1; 3] && geometry.padding == [0; 3];
    let mut columns = vec![T::ZERO; if flat { 0 } else { depth * out_size }];
    for (block, out) in out.chunks_exact_mut(out_per_group * out_size).enumerate() {
        let input = &xs[block * in_per_group * in_size..(block + 1) * in_per_group * in_size];
        let columns = if flat {
            input
        } else {
            let rows = columns.par_chunks_exact_mut(taps * out_size);
            rows.zip(input.par_chunks_exact(in_size))
                .for_each(|(rows, plane)| gather_patches(plane, rows, geometry));
            &columns[..]
        };
        let weights = Matrix {
            start: block % groups * out_per_group * depth,
            row_stride: depth,
            col_stride: 1,
        };
        let patches = Matrix { start: 0, row_stride: out_size, col_stride: 1 };
        gemm([out_per_group, depth, out_size], (ws, weights), (columns, patches), out, false)?;
    }
    Ok(())
}

/// The outputs along one dimension whose window element `tap` lies inside the input, and where the
/// first of them reads.
fn inside(geometry: &Geometry, dim: usize, tap: usize) -> (std::ops::Range<usize>, usize) {
    let (stride, padding) = (geometry.stride[dim], geometry.padding[dim]);
    let at = tap * geometry.dilation[dim];
    let first = padding.saturating_sub(at).div_ceil(stride);
    let end = (geometry.input[dim] + padding).saturating_sub(at).div_ceil(stride);
    let end = end.min(geometry.output[dim]);
    let first = first.min(end);
    (first..end, (first * stride + at).saturating_sub(padding))
}

/// For every element of the window: calls `row(out, input, len)` for the rows of outputs it reaches.
fn window_rows(g: &Geometry, tap: [usize; 3], mut row: impl FnMut(usize, usize, usize)) {
    let [(ds, d0), (hs, h0), (ws, w0)] = [0, 1, 2].map(|dim| inside(g, dim, tap[dim]));
    if ws.is_empty() {
        return;
    }
    for (i, od) in ds.enumerate() {
        for (j, oh) in hs.clone().enumerate() {
            let out = (od * g.output[1] + oh) * g.output[2] + ws.start;
            let plane = d0 + i * g.stride[0];
            let line = h0 + j * g.stride[1];
            row(out, (plane * g.input[1] + line) * g.input[2] + w0, ws.len());
        }
    }
}

fn taps(g: Geometry) -> impl Iterator<Item = [usize; 3]> {
    let [d, h, w] = g.kernel;
    (0..d * h * w).map(move |n| [n / (h * w), n / w % h, n % w])
}

fn gather_patches<T: Multiply>(plane: &[T], rows: &mut [T], g: Geometry) {
    rows.fill(T::ZERO);
    let size = g.output.iter().product::<usize>();
    let step = g.stride[2];
    for (tap, row) in taps(g).zip(rows.chunks_exact_mut(size)) {
        window_rows(&g, tap, |out, input, len| {
            if step == 1 {
                row[out..out + len].copy_from_slice(&plane[input..input + len]);
            } else {
                let values = plane[input..].iter().step_by(step);
                row[out..out + len].iter_mut().zip(values).for_each(|(to, &x)| *to = x);
            }
        });
    }
}

fn depthwise<T>(plane: &[T], filter: &[T], out: &mut [T], g: Geometry)
where
    T: Multiply + std::ops::AddAssign + std::ops::Mul<Output = T>,
{
    let step = g.stride[2];
    for (tap, &weight) in taps(g).zip(filter) {
        window_rows(&g, tap, |at, input, len| {
            let out = out[at..at + len].iter_mut();
            if step == 1 {
                out.zip(&plane[input..input + len]).for_each(|(o, &x)| *o += x * weight);
            } else {
                out.zip(plane[input..].iter().step_by(step)).for_each(|(o, &x)| *o += x * weight);
            }
        });
    }
}
