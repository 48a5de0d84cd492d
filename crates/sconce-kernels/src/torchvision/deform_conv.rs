//! `torchvision.ops.deform_conv2d`: a convolution whose sampling positions are moved by offsets.

use num_traits::Float;
use sconce_kernel_core::tensor::promotion::compute_dtype;

use crate::{BinaryOp, DType, Error, PodElement, Result, Tensor, binary};

/// How a deformable convolution walks. Pairs are height and width.
#[derive(Debug, Clone, Copy)]
pub struct DeformOptions {
    /// Steps between windows.
    pub stride: [i64; 2],
    /// Zeros around the input.
    pub padding: [i64; 2],
    /// Steps between elements of a window.
    pub dilation: [i64; 2],
    /// Groups of channels that are convolved on their own.
    pub groups: i64,
    /// Groups of channels that share offsets.
    pub offset_groups: i64,
}

/// The sizes that take part.
struct Shape {
    batch: usize,
    channels: usize,
    size: [usize; 2],
    kernel: [usize; 2],
    output: [usize; 2],
}

fn shape(
    input: &Tensor,
    weight: &Tensor,
    offset: &Tensor,
    mask: Option<&Tensor>,
    o: &DeformOptions,
) -> Result<Shape> {
    let (&[batch, channels, height, width], &[filters, per_group, rows, columns]) =
        (input.sizes(), weight.sizes())
    else {
        return Err(Error::runtime("deform_conv2d expects an input and a weight of 4 dimensions"));
    };
    let positive = o.stride.iter().chain(&o.dilation).chain([&rows, &columns]).all(|&n| n > 0);
    if !positive || o.padding.iter().any(|&n| n < 0) || o.groups < 1 || o.offset_groups < 1 {
        return Err(Error::runtime(
            "deform_conv2d of a stride, dilation or size that is not positive",
        ));
    }
    let fits = per_group.checked_mul(o.groups) == Some(channels)
        && filters % o.groups == 0
        && channels % o.offset_groups == 0;
    if !fits {
        return Err(Error::runtime(
            "deform_conv2d: channels of the input, the weight and the groups do not fit",
        ));
    }
    let count = |size: i64, kernel: i64, dim: usize| {
        let reach = o.dilation[dim].checked_mul(kernel - 1)?.checked_add(1)?;
        let room = size.checked_add(o.padding[dim].checked_mul(2)?)?.checked_sub(reach)?;
        Some(room.div_euclid(o.stride[dim]) + 1)
    };
    let (Some(down @ 1..), Some(across @ 1..)) = (count(height, rows, 0), count(width, columns, 1))
    else {
        return Err(Error::runtime("Calculated output size too small"));
    };
    let taps = o.offset_groups.saturating_mul(rows.saturating_mul(columns));
    let expected = |numbers: i64| [batch, numbers.saturating_mul(taps), down, across];
    if offset.sizes() != expected(2) || mask.is_some_and(|mask| mask.sizes() != expected(1)) {
        return Err(Error::runtime(format!(
            "offset and mask must have sizes {:?} and {:?}",
            expected(2),
            expected(1)
        )));
    }
    let pair = |a: i64, b: i64| [a as usize, b as usize];
    Ok(Shape {
        batch: batch as usize,
        channels: channels as usize,
        size: pair(height, width),
        kernel: pair(rows, columns),
        output: pair(down, across),
    })
}

/// `torchvision.ops.deform_conv2d`, modulated where there is a mask.
///
/// # Errors
/// Where the operands do not fit each other.
pub fn deform_conv2d(
    input: &Tensor,
    weight: &Tensor,
    offset: &Tensor,
    mask: Option<&Tensor>,
    bias: &Tensor,
    options: &DeformOptions,
) -> Result<Tensor> {
    let shape = shape(input, weight, offset, mask, options)?;
    let dtype = input.dtype();
    for operand in [Some(weight), Some(offset), mask, Some(bias)].into_iter().flatten() {
        operand.expect_dtype(dtype)?;
    }
    let compute = compute_dtype(dtype);
    let columns = match compute {
        DType::Float32 => columns::<f32>(&shape, input, offset, mask, options),
        DType::Float64 => columns::<f64>(&shape, input, offset, mask, options),
        other => Err(Error::no_kernel("deformable_im2col", other)),
    }?;
    let (groups, filters) = (options.groups, weight.sizes()[0]);
    let points = (shape.output[0] * shape.output[1]) as i64;
    let batch = shape.batch as i64;
    let columns = columns.view(&[batch, groups, -1, points])?;
    let weight = weight.to_dtype(compute)?.reshape(&[1, groups, filters / groups, -1])?;
    let [down, across] = shape.output.map(|n| n as i64);
    let result = crate::matmul(&weight, &columns)?.reshape(&[batch, filters, down, across])?;
    let bias = bias.to_dtype(compute)?.reshape(&[1, filters, 1, 1])?;
    binary(BinaryOp::Add, (&result).into(), (&bias).into())?.to_dtype(dtype)
}

/// The samples of every window: sizes batch, channels × kernel, windows.
fn columns<F: Float + PodElement>(
    s: &Shape,
    input: &Tensor,
    offset: &Tensor,
    mask: Option<&Tensor>,
    o: &DeformOptions,
) -> Result<Tensor> {
    let taps = s.kernel[0] * s.kernel[1];
    let points = s.output[0] * s.output[1];
    let rows = (s.channels * taps) as i64;
    let result = Tensor::zeros(&[s.batch as i64, rows, points as i64], F::DTYPE)?;
    let wide = |tensor: &Tensor| tensor.to_dtype(F::DTYPE)?.to_vec::<F>();
    let (input, offset) = (wide(input)?, wide(offset)?);
    let mask = mask.map(wide).transpose()?;
    let plane = s.size[0] * s.size[1];
    let offset_groups = o.offset_groups as usize;
    let per_group = s.channels / offset_groups;
    let cast = |x: i64| F::from(x).unwrap_or_else(F::nan);
    let mut to = result.write::<F>()?;
    for (row, to) in to.chunks_exact_mut(points.max(1)).enumerate() {
        let (tap, channel) = (row % taps, row / taps % s.channels);
        let batch = row / taps / s.channels;
        let image = &input[(batch * s.channels + channel) * plane..][..plane];
        let group = (batch * offset_groups + channel / per_group) * taps + tap;
        let (i, j) = ((tap / s.kernel[1]) as i64, (tap % s.kernel[1]) as i64);
        for (point, to) in to.iter_mut().enumerate() {
            let (y, x) = ((point / s.output[1]) as i64, (point % s.output[1]) as i64);
            let moved = |at: i64, tap: i64, dim: usize| {
                let position = at * o.stride[dim] - o.padding[dim] + tap * o.dilation[dim];
                cast(position) + offset[(2 * group + dim) * points + point]
            };
            let value = bilinear(image, s.size, moved(y, i, 0), moved(x, j, 1));
            *to = mask.as_ref().map_or(value, |mask| mask[group * points + point] * value);
        }
    }
    drop(to);
    Ok(result)
}

/// A position of an image between its elements, with zeros around it.
fn bilinear<F: Float>(image: &[F], [height, width]: [usize; 2], y: F, x: F) -> F {
    let cast = |n: usize| F::from(n).unwrap_or_else(F::nan);
    let inside = y > -F::one() && y < cast(height) && x > -F::one() && x < cast(width);
    if !inside {
        return F::zero();
    }
    let (top, left) = (y.floor(), x.floor());
    let (down, across) = (y - top, x - left);
    let at = |y: F, x: F| match (y.to_usize(), x.to_usize()) {
        (Some(row), Some(column)) if y >= F::zero() && x >= F::zero() => {
            if row < height && column < width { image[row * width + column] } else { F::zero() }
        }
        _ => F::zero(),
    };
    let (bottom, right) = (top + F::one(), left + F::one());
    let (up, back) = (F::one() - down, F::one() - across);
    up * back * at(top, left)
        + up * across * at(top, right)
        + down * back * at(bottom, left)
        + down * across * at(bottom, right)
}
