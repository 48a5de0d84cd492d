//! Transposed convolution over one to three spatial dimensions: weights times input give columns of
//! patches, which are summed where they overlap.

use sconce_gemm::matrix::Matrix;
use sconce_kernel_core::chosen_implementation::chose;
use sconce_kernel_core::parallel::partition;
use sconce_kernel_core::tensor::promotion::compute_dtype;

use crate::nn::conv::conv_element::ConvElement;
use crate::nn::conv::convolution::{
    biased, check_dtypes, check_not_empty, check_options, spatial_dims, spatial_sizes, spread,
    with_batch,
};
use crate::nn::conv::depthwise;
use crate::nn::conv::window::{Geometry, taps, window_rows};
use crate::{ConvOptions, DType, Dims, Error, Memory, Result, Tensor};

/// `torch.conv_transpose1d`, `conv_transpose2d` or `conv_transpose3d`, by the number of the weight's
/// dimensions; the input may come without a batch. The padding takes away from the result,
/// `output_padding` adds to its end.
///
/// # Errors
/// Where sizes do not fit, in PyTorch's words.
///
/// ```
/// use sconce_kernels::{ConvOptions, Tensor, conv_transpose};
/// let input = Tensor::from_slice(&[1f32, 2.0], &[1, 1, 2])?;
/// let weight = Tensor::from_slice(&[1f32, 10.0], &[1, 1, 2])?;
/// let options = ConvOptions { stride: &[1], padding: &[0], dilation: &[1], groups: 1 };
/// let result = conv_transpose(&input, &weight, None, &options, &[0])?;
/// assert_eq!(result.to_vec::<f32>()?, [1.0, 12.0, 20.0]);
/// # Ok::<(), sconce_kernels::Error>(())
/// ```
pub fn conv_transpose(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &ConvOptions<'_>,
    output_padding: &[i64],
) -> Result<Tensor> {
    let spatial = spatial_dims(weight)?;
    with_batch(input, spatial, &format!("conv_transpose{spatial}d"), |input| {
        check(input, weight, bias, options, output_padding)?;
        compute(input, weight, bias, options, output_padding)
    })
}

fn check(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &ConvOptions<'_>,
    output_padding: &[i64],
) -> Result<()> {
    let spatial = weight.dim() - 2;
    check_options(options, spatial)?;
    if output_padding.len() != 1 && output_padding.len() != spatial {
        return Err(Error::runtime(format!(
            "expected output_padding to be a single integer value or a list of {spatial} values to \
             match the convolution dimensions, but got output_padding={output_padding:?}"
        )));
    }
    if output_padding.iter().any(|&n| n < 0) {
        return Err(Error::runtime("negative output_padding is not supported"));
    }
    let (groups, w, x) = (options.groups, weight.sizes(), input.sizes());
    if w[0] % groups != 0 || w[0] < groups {
        return Err(Error::runtime(format!(
            "Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but \
             got weight of size [{w:?}] instead"
        )));
    }
    if w[0] != x[1] {
        return Err(Error::runtime(format!(
            "Given transposed=1, weight of size {w:?}, expected input{x:?} to have {} channels, but \
             got {} channels instead",
            w[0], x[1]
        )));
    }
    let channels = w[1].saturating_mul(groups);
    match bias {
        Some(bias) if bias.dim() != 1 || bias.numel() != channels => Err(Error::runtime(format!(
            "Given transposed=1, weight of size {w:?}, expected bias to be 1-dimensional with \
             {channels} elements, but got bias of size {:?} instead",
            bias.sizes()
        ))),
        // The weight's first, unlike without transposing.
        _ => check_dtypes(input, weight, None).and_then(|()| check_dtypes(input, weight, bias)),
    }
}

/// The sizes of the convolution that this one is the transpose of: from the result to the input.
fn geometry(
    input: &Tensor,
    weight: &Tensor,
    options: &ConvOptions<'_>,
    output_padding: &[i64],
) -> Result<Geometry> {
    let spatial = weight.dim() - 2;
    let (x, k) = (spatial_sizes(input), spatial_sizes(weight));
    let stride = spread(options.stride, spatial, 1);
    let padding = spread(options.padding, spatial, 0);
    let dilation = spread(options.dilation, spatial, 1);
    let extra = spread(output_padding, spatial, 0);
    let lead = 3 - spatial;
    if (lead..3).any(|i| extra[i] >= stride[i] && extra[i] >= dilation[i]) {
        return Err(Error::runtime(too_much_padding(
            &extra[lead..],
            &stride[lead..],
            &dilation[lead..],
        )));
    }
    check_not_empty(input)?;
    let mut sizes = [1i64; 3];
    for i in 0..3 {
        // (x - 1) * stride - 2 * padding + dilation * (k - 1) + output_padding + 1
        let steps = (x[i] - 1).checked_mul(stride[i]);
        let window = (k[i] - 1).checked_mul(dilation[i]);
        let size = steps.zip(window).zip(padding[i].checked_mul(2)).and_then(
            |((steps, window), padding)| {
                steps
                    .checked_add(window)?
                    .checked_add(extra[i])?
                    .checked_sub(padding)?
                    .checked_add(1)
            },
        );
        sizes[i] =
            size.ok_or_else(|| Error::runtime("integer overflow in the sizes of a convolution"))?;
    }
    if sizes.iter().any(|&size| size < 1) {
        let join =
            |sizes: &[i64]| sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" x ");
        return Err(Error::runtime(format!(
            "Given input size per channel: ({}). Calculated output size per channel: ({}). Output \
             size is too small",
            join(&x[lead..]),
            join(&sizes[lead..])
        )));
    }
    let unsigned = |list: [i64; 3]| list.map(|n| n as usize);
    Ok(Geometry {
        input: unsigned(sizes),
        kernel: unsigned(k),
        output: unsigned(x),
        stride: unsigned(stride),
        padding: unsigned(padding),
        dilation: unsigned(dilation),
    })
}

fn too_much_padding(extra: &[i64], stride: &[i64], dilation: &[i64]) -> String {
    // One-dimensional convolutions are computed as two-dimensional ones.
    let wide = |list: &[i64], none: i64| match *list {
        [width] => vec![none, width],
        _ => list.to_vec(),
    };
    let names =
        if extra.len() == 3 { &["depth", "height", "width"][..] } else { &["height", "width"] };
    let mut parts = Vec::new();
    let lists = [
        ("output_padding", wide(extra, 0)),
        ("stride", wide(stride, 1)),
        ("dilation", wide(dilation, 1)),
    ];
    for (what, list) in &lists {
        parts.extend(names.iter().zip(list).map(|(name, size)| format!("{what}_{name}: {size}")));
    }
    format!(
        "output padding must be smaller than either stride or dilation, but got {}",
        parts.join(" ")
    )
}

fn compute(
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &ConvOptions<'_>,
    output_padding: &[i64],
) -> Result<Tensor> {
    let geometry = geometry(input, weight, options, output_padding)?;
    let (dtype, groups) = (input.dtype(), options.groups as usize);
    let name = match weight.dim() {
        5 => "slow_conv_transpose3d_out_cpu",
        _ => "slow_conv_transpose2d_out_cpu",
    };
    if dtype == DType::Bool || (dtype.is_integral() && dtype != DType::Int64) {
        return Err(Error::no_kernel(name, dtype));
    }
    let compute = compute_dtype(dtype);
    let (x, w) = (input.to_dtype(compute)?.contiguous()?, weight.to_dtype(compute)?.contiguous()?);
    let mut sizes = Dims::from_slice(&[x.sizes()[0], w.sizes()[1] * options.groups]);
    sizes.extend(geometry.input[5 - weight.dim()..].iter().map(|&n| n as i64));
    let result = biased(&sizes, bias, compute)?;
    match compute {
        DType::Float32 => run::<f32>(&x, &w, &result, geometry, groups),
        DType::Float64 => run::<f64>(&x, &w, &result, geometry, groups),
        DType::Int64 => run::<i64>(&x, &w, &result, geometry, groups),
        DType::Complex64 => run::<num_complex::Complex<f32>>(&x, &w, &result, geometry, groups),
        DType::Complex128 => run::<num_complex::Complex<f64>>(&x, &w, &result, geometry, groups),
        _ => Err(Error::no_kernel(name, dtype)),
    }?;
    result.to_dtype(dtype)
}

/// Adds the transposed convolution to the result.
fn run<T: ConvElement>(
    x: &Tensor,
    w: &Tensor,
    result: &Tensor,
    g: Geometry,
    groups: usize,
) -> Result<()> {
    let (in_per_group, out_per_group) = (w.sizes()[0] as usize / groups, w.sizes()[1] as usize);
    let (large, small): (usize, usize) = (g.input.iter().product(), g.output.iter().product());
    let window: usize = g.kernel.iter().product();
    let rows = out_per_group * window;
    let (xs, ws) = (x.read::<T>()?, w.read::<T>()?);
    let (xs, ws) = (&xs[..], &ws[..]);
    let mut out = result.write::<T>()?;
    if out.is_empty() || rows == 0 || small == 0 || in_per_group == 0 {
        return Ok(());
    }
    if in_per_group == 1 {
        chose("depthwise, transposed");
        partition::for_each(out.chunks_exact_mut(large).enumerate(), |(plane, out)| {
            let channels = groups * out_per_group;
            let (batch, channel) = (plane / channels, plane % channels);
            let input = (batch * groups + channel / out_per_group) * small;
            let filter = &ws[channel * window..(channel + 1) * window];
            depthwise::transpose(&xs[input..input + small], filter, out, g);
        });
        return Ok(());
    }
    let bytes = rows.saturating_mul(small).saturating_mul(size_of::<T>());
    Memory::check_scratch(bytes)?;
    chose("GEMM and col2im");
    let mut columns: Vec<T> = Vec::new();
    let wanted = rows.checked_mul(small).filter(|&n| columns.try_reserve_exact(n).is_ok());
    let Some(count) = wanted else {
        return Err(Error::runtime("not enough memory for the patches of a convolution"));
    };
    for (block, out) in out.chunks_exact_mut(out_per_group * large).enumerate() {
        columns.clear();
        columns.resize(count, T::NOTHING);
        // The weight is in_per_group × rows; its transpose is multiplied.
        let weights =
            Matrix { start: block % groups * in_per_group * rows, row_stride: 1, col_stride: rows };
        let input =
            Matrix { start: block * in_per_group * small, row_stride: small, col_stride: 1 };
        T::product([rows, in_per_group, small], (ws, weights), (xs, input), &mut columns)?;
        let planes = out.chunks_exact_mut(large).zip(columns.chunks_exact(window * small));
        partition::for_each(planes, |(plane, columns)| add_patches(columns, plane, g));
    }
    Ok(())
}

fn add_patches<T: ConvElement>(columns: &[T], plane: &mut [T], g: Geometry) {
    let size: usize = g.output.iter().product();
    let step = g.stride[2];
    for (tap, column) in taps(g).zip(columns.chunks_exact(size)) {
        window_rows(&g, tap, |from, to, len| {
            let targets = plane[to..].iter_mut().step_by(step);
            targets.zip(&column[from..from + len]).for_each(|(to, &x)| *to = to.sum(x));
        });
    }
}
