//! Pooling in the blocked layout.

use sconce_kernel_core::simd::dispatch::dispatch;
use sconce_kernel_core::simd::lanes::LANES;

use super::blocked_sizes;
use crate::{DType, Error, PoolOptions, Result, Tensor};

type Pixel = [f32; LANES];

/// `torch.max_pool2d` of a blocked image.
///
/// # Errors
/// Where sizes do not fit.
pub fn max_pool2d_blocked(image: &Tensor, options: &PoolOptions) -> Result<Tensor> {
    let [n, blocks, height, width] = blocked_sizes(image)?;
    let input = [height, width];
    let sizes = pooled(input, options);
    let Some([out_height, out_width]) = sizes else {
        return Err(Error::runtime("a pool in blocks whose sizes do not fit"));
    };
    let image = image.contiguous()?;
    let from = image.read::<f32>()?;
    let sizes = [n, blocks, out_height, out_width, LANES].map(|size| size as i64);
    let result = Tensor::for_overwrite(&sizes, DType::Float32)?;
    let mut to = result.write::<f32>()?;
    let planes = from.chunks_exact(height * width * LANES);
    for (from, to) in planes.zip(to.chunks_exact_mut(out_height * out_width * LANES)) {
        let (from, _) = from.as_chunks::<LANES>();
        let (to, _) = to.as_chunks_mut::<LANES>();
        dispatch(
            #[inline(always)]
            || max_plane(from, input, to, out_width, options),
        );
    }
    drop(to);
    Ok(result)
}

/// The sizes of a pool's result, if there is any.
fn pooled(input: [usize; 2], o: &PoolOptions) -> Option<[usize; 2]> {
    if [o.kernel, o.stride, o.padding, o.dilation].iter().any(|list| list.len() != 2) {
        return None;
    }
    let mut sizes = [0; 2];
    for i in 0..2 {
        let numbers = [o.kernel[i], o.stride[i], o.padding[i], o.dilation[i]];
        if numbers.iter().any(|&n| !(0..1 << 20).contains(&n)) || 2 * o.padding[i] > o.kernel[i] {
            return None;
        }
        let [kernel, stride, padding, dilation] = numbers.map(|n| n as usize);
        if kernel == 0 || stride == 0 || dilation == 0 {
            return None;
        }
        let room = (input[i] + 2 * padding).checked_sub((kernel - 1) * dilation + 1)?;
        let extra = if o.ceil_mode { stride - 1 } else { 0 };
        sizes[i] = (room + extra) / stride + 1;
        // The last window must start inside of the image or of the padding before it.
        if o.ceil_mode && (sizes[i] - 1) * stride >= input[i] + padding {
            sizes[i] -= 1;
        }
    }
    Some(sizes)
}

#[inline(always)]
fn max_plane(
    from: &[Pixel],
    input: [usize; 2],
    to: &mut [Pixel],
    out_width: usize,
    o: &PoolOptions,
) {
    let inside = |at: usize, i: usize, k: usize| {
        let position = at * o.stride[i] as usize + k * o.dilation[i] as usize;
        position.checked_sub(o.padding[i] as usize).filter(|&position| position < input[i])
    };
    for (index, to) in to.iter_mut().enumerate() {
        let (y, x) = (index / out_width, index % out_width);
        let mut most = [f32::NEG_INFINITY; LANES];
        for i in 0..o.kernel[0] as usize {
            let Some(row) = inside(y, 0, i) else { continue };
            for j in 0..o.kernel[1] as usize {
                let Some(column) = inside(x, 1, j) else { continue };
                let pixel = &from[row * input[1] + column];
                for (most, &x) in most.iter_mut().zip(pixel) {
                    // NaN wins.
                    *most = if x > *most || x.is_nan() { x } else { *most };
                }
            }
        }
        *to = most;
    }
}

/// The mean of each channel of a blocked image: `torch.adaptive_avg_pool2d` to one pixel.
///
/// # Errors
/// Where the tensor is no blocked image, or an empty one.
pub fn mean_blocked(image: &Tensor) -> Result<Tensor> {
    let [n, blocks, height, width] = blocked_sizes(image)?;
    if height * width == 0 {
        return Err(Error::runtime("the mean of no pixels"));
    }
    let image = image.contiguous()?;
    let from = image.read::<f32>()?;
    let result =
        Tensor::for_overwrite(&[n as i64, blocks as i64, 1, 1, LANES as i64], DType::Float32)?;
    let mut to = result.write::<f32>()?;
    let planes = from.chunks_exact(height * width * LANES);
    for (from, to) in planes.zip(to.chunks_exact_mut(LANES)) {
        let (from, _) = from.as_chunks::<LANES>();
        dispatch(
            #[inline(always)]
            || mean_plane(from, width, to),
        );
    }
    drop(to);
    Ok(result)
}

/// Sums of rows are added up, so that rounding does not grow with the image.
#[inline(always)]
fn mean_plane(from: &[Pixel], width: usize, to: &mut [f32]) {
    let mut total = [0f32; LANES];
    for row in from.chunks_exact(width) {
        let mut sum = [0f32; LANES];
        for pixel in row {
            sum.iter_mut().zip(pixel).for_each(|(sum, &x)| *sum += x);
        }
        total.iter_mut().zip(sum).for_each(|(total, sum)| *total += sum);
    }
    let count = from.len() as f32;
    to.iter_mut().zip(total).for_each(|(to, total)| *to = total / count);
}
