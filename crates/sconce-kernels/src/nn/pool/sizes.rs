//! The windows of a pool along each dimension, and the sizes of its result.

use super::windows::{Axis, Window};
use super::{PoolOptions, join};
use crate::{DType, Dims, Error, Result, Tensor};

/// One dimension's share of [`PoolOptions`].
#[derive(Debug, Clone, Copy)]
pub(in crate::nn) struct WindowSteps {
    pub(in crate::nn) kernel: i64,
    pub(in crate::nn) stride: i64,
    pub(in crate::nn) padding: i64,
    pub(in crate::nn) dilation: i64,
}

impl PoolOptions<'_> {
    fn walk(&self, name: &str, rank: usize, dim: usize) -> Result<WindowSteps> {
        let pick = |what: &str, list: &[i64], default: i64| match list.len() {
            0 if what == "stride" => Ok(default),
            1 => Ok(list[0]),
            n if n == rank => Ok(list[dim]),
            _ => Err(Error::runtime(format!(
                "{name}: {what} must either be a single int, or a tuple of {rank} ints"
            ))),
        };
        let kernel = pick("kernel_size", self.kernel, 1)?;
        let walk = WindowSteps {
            kernel,
            stride: pick("stride", self.stride, kernel)?,
            padding: pick("padding", self.padding, 0)?,
            dilation: pick("dilation", self.dilation, 1)?,
        };
        if walk.kernel <= 0 {
            return Err(Error::runtime("kernel size should be greater than zero"));
        }
        if walk.stride <= 0 {
            return Err(Error::runtime("stride should not be zero"));
        }
        if walk.dilation <= 0 {
            return Err(Error::runtime("dilation should be greater than zero"));
        }
        if walk.padding < 0 || walk.padding > walk.window()? / 2 {
            return Err(Error::runtime(format!(
                "pad should be at most half of effective kernel size, but got pad={}, \
                 kernel_size={kernel} and dilation={}",
                walk.padding, walk.dilation
            )));
        }
        Ok(walk)
    }
}

impl WindowSteps {
    /// How far a window reaches.
    fn window(self) -> Result<i64> {
        (self.kernel - 1)
            .checked_mul(self.dilation)
            .and_then(|n| n.checked_add(1))
            .ok_or_else(|| Error::runtime("integer overflow in the sizes of a pooling window"))
    }

    /// How many windows there are; where none fits, 0 or fewer.
    pub(in crate::nn) fn count(self, size: i64, ceil_mode: bool) -> Result<i64> {
        let padded = size
            .checked_add(2 * self.padding)
            .ok_or_else(|| Error::runtime("integer overflow in the sizes of a pooling window"))?;
        let room = padded - self.window()?;
        if !ceil_mode {
            return Ok(room.div_euclid(self.stride) + 1);
        }
        let count = room.saturating_add(self.stride - 1).div_euclid(self.stride) + 1;
        // The last window starts inside the input or its left border.
        let beyond = (count - 1).saturating_mul(self.stride) >= size.saturating_add(self.padding);
        Ok(count - i64::from(beyond))
    }

    pub(in crate::nn) fn axis(self, size: i64, count: i64) -> Result<Axis> {
        let window = self.window()?;
        let window_at = |i: i64| {
            let start = i * self.stride - self.padding;
            let end = start.saturating_add(window);
            let steps = (-start.min(0) + self.dilation - 1) / self.dilation;
            Window {
                start: (start + steps * self.dilation) as usize,
                end: end.min(size).max(0) as usize,
                covered: end.min(size + self.padding) - start,
            }
        };
        Ok(Axis { windows: windows(count, window_at)?, step: self.dilation as usize })
    }
}

/// A list of windows, which may be longer than what has to be allocated for the result.
fn windows(count: i64, window: impl Fn(i64) -> Window) -> Result<Vec<Window>> {
    let mut all = Vec::new();
    all.try_reserve_exact(count.max(0) as usize)
        .map_err(|_| Error::out_of_memory(format!("no memory for {count} pooling windows")))?;
    all.extend((0..count).map(window));
    Ok(all)
}

/// What `torch.max_pool1d` says of paddings by itself, where no indices are asked for.
pub(in crate::nn) fn check_row_padding(options: &PoolOptions<'_>) -> Result<()> {
    match (options.kernel.first(), options.padding.first()) {
        (Some(&kernel), Some(&padding)) if kernel > 0 && padding > kernel / 2 => {
            Err(Error::runtime(format!(
                "max_pool1d() padding should be at most half of kernel size, but got \
                 padding={padding} and kernel_size={kernel}"
            )))
        }
        _ => Ok(()),
    }
}

/// Refuses paddings beyond half a kernel without its gaps.
fn check_paddings(walks: &[WindowSteps]) -> Result<()> {
    if walks.iter().all(|walk| walk.padding <= walk.kernel / 2) {
        return Ok(());
    }
    let said = "pad should be smaller than or equal to half of kernel size, but got";
    // Rows are images of one row.
    let row = WindowSteps { kernel: 1, stride: 1, padding: 0, dilation: 1 };
    Err(Error::runtime(match walks {
        [t, h, w] => format!(
            "{said} kT: {} kW: {} kH: {} padT: {} padW: {} padH: {}",
            t.kernel, w.kernel, h.kernel, t.padding, w.padding, h.padding
        ),
        _ => {
            let w = walks.last().copied().unwrap_or(row);
            let h = walks.iter().rev().nth(1).copied().unwrap_or(row);
            format!(
                "{said} padW = {}, padH = {}, kW = {}, kH = {}",
                w.padding, h.padding, w.kernel, h.kernel
            )
        }
    }))
}

/// The windows of a pool along each dimension, and the sizes of its result.
pub(in crate::nn) fn fixed(
    input: &Tensor,
    name: &str,
    rank: usize,
    options: &PoolOptions<'_>,
) -> Result<([Axis; 3], Dims)> {
    let lead = input.dim() - rank;
    let mut sizes = Dims::from_slice(input.sizes());
    let walks: Vec<WindowSteps> =
        (0..rank).map(|dim| options.walk(name, rank, dim)).collect::<Result<_>>()?;
    for (walk, size) in walks.iter().zip(&mut sizes[lead..]) {
        *size = walk.count(*size, options.ceil_mode)?;
    }
    check_paddings(&walks)?;
    if sizes[lead..].iter().any(|&size| size < 1) {
        return Err(Error::runtime(format!(
            "Given input size: ({}). Calculated output size: ({}). Output size is too small",
            join(&input.sizes()[lead - 1..]),
            join(&sizes[lead - 1..])
        )));
    }
    // What cannot be allocated fails here, before lists as long as it are made.
    Tensor::zeros(&sizes, DType::UInt8)?;
    let mut axes = [Axis::unit(), Axis::unit(), Axis::unit()];
    for (dim, walk) in walks.iter().enumerate() {
        axes[3 - rank + dim] = walk.axis(input.sizes()[lead + dim], sizes[lead + dim])?;
    }
    Ok((axes, sizes))
}

/// Windows that divide each dimension into as many parts, as even as possible.
pub(in crate::nn) fn adaptive(
    input: &Tensor,
    name: &str,
    output: &[i64],
) -> Result<([Axis; 3], Dims)> {
    if output.iter().any(|&n| n < 0) {
        return Err(Error::runtime(format!(
            "{name}: elements of output_size must be greater than or equal to 0"
        )));
    }
    let lead = input.dim() - output.len();
    let mut sizes = Dims::from_slice(input.sizes());
    sizes[lead..].copy_from_slice(output);
    Tensor::zeros(&sizes, DType::UInt8)?;
    sconce_kernel_core::layout::shape::numel(output)?;
    let mut axes = [Axis::unit(), Axis::unit(), Axis::unit()];
    for (dim, (&count, &size)) in output.iter().zip(&input.sizes()[lead..]).enumerate() {
        let window = |i: i64| {
            let (i, size, count) = (i128::from(i), i128::from(size), i128::from(count));
            let (start, end) = (i * size / count, ((i + 1) * size + count - 1) / count);
            Window { start: start as usize, end: end as usize, covered: (end - start) as i64 }
        };
        if sizes.contains(&0) {
            continue;
        }
        axes[3 - output.len() + dim] = Axis { windows: windows(count, window)?, step: 1 };
    }
    Ok((axes, sizes))
}
