//! Average pooling.

use sconce_kernel_core::layout::shape::wrap_dim;

use super::planes::{Planes, fold};
use super::sizes::{adaptive, fixed};
use super::windows::{Axis, Window};
use super::{PoolOptions, Pooled, by_number, check, check_within, floats};
use crate::quantize::{averaged, through_integers};
use crate::reduction::reduction_order::OrderedFold;
use crate::{DType, Error, MemoryFormat, Result, Tensor};

fn averages<T: Pooled>(
    planes: &Planes,
    axes: &[Axis; 3],
    sizes: &[i64],
    divisor: &(dyn Fn(i64, i64) -> i64 + Sync),
) -> Result<Tensor> {
    let sum = OrderedFold::new(T::Sum::default(), T::wide, T::add);
    let len = |axis: usize, window: Window| axes[axis].len(window) as i64;
    let columns: Vec<(i64, i64)> =
        axes[2].windows.iter().map(|&window| (window.covered, len(2, window))).collect();
    fold(planes, axes, sizes, sum, |sums, [depth, rows], out| {
        let covered = depth.covered * rows.covered;
        let seen = len(0, depth) * len(1, rows);
        let by = |(columns, len): (i64, i64)| match seen * len {
            0 => 1,
            seen => divisor(covered * columns, seen),
        };
        // Windows of one size are divided together.
        let mut start = 0;
        for group in columns.chunk_by(|a, b| a == b) {
            let (divisor, end) = (by(group[0]), start + group.len());
            for (out, &sum) in out[start..end].iter_mut().zip(&sums[start..end]) {
                *out = T::divide(sum, divisor);
            }
            start = end;
        }
    })
}

/// Refuses ranks and sizes of 0 in PyTorch's words for averages.
fn check_average(input: &Tensor, rank: usize) -> Result<()> {
    let (dims, sizes) = (input.dim(), input.sizes());
    let (single, batch) = (rank + 1, rank + 2);
    let is_empty = |sizes: &[i64]| sizes.iter().rev().take(single).any(|&size| size == 0);
    match rank {
        1 if dims != single && dims != batch => Err(Error::runtime(format!(
            "Expected 2 to 3 dimensions, but got {dims}-dimensional tensor for argument #1 'self' \
             (while checking arguments for avg_pool1d)"
        ))),
        2 if dims == 0 => {
            Err(Error::index("Dimension specified as -3 but tensor has no dimensions"))
        }
        2 if dims < single => wrap_dim(-3, dims).map(drop),
        2 if dims > batch || is_empty(sizes) => Err(Error::runtime(format!(
            "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but \
             got:{sizes:?}"
        ))),
        3 if dims != single && dims != batch => {
            Err(Error::runtime("non-empty 4D or 5D (batch mode) tensor expected for input"))
        }
        3 => match (dims - single..dims).find(|&dim| sizes[dim] == 0) {
            Some(dim) => Err(Error::runtime(format!(
                "avg_pool3d(): Expected input to have non-zero size for non-batch dimensions, but \
                 input has sizes {sizes:?} with dimension {dim} being empty"
            ))),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// `torch.nn.functional.avg_pool1d`, `avg_pool2d` and `avg_pool3d`.
///
/// # Errors
/// Where the window does not fit.
pub fn avg_pool(
    input: &Tensor,
    rank: usize,
    options: &PoolOptions<'_>,
    count_include_pad: bool,
    divisor_override: Option<i64>,
) -> Result<Tensor> {
    if input.dtype().is_quantized() {
        let pooled =
            |whole: &Tensor| avg_pool(whole, rank, options, count_include_pad, divisor_override);
        // PyTorch's only kernel of three dimensions has channels last.
        return match (rank, input.dim()) {
            (3, 5) => through_integers(&input.contiguous_in(MemoryFormat::ChannelsLast3d)?, pooled),
            (3, _) => through_integers(input, pooled),
            _ => averaged(input, pooled),
        };
    }
    let name = format!("avg_pool{rank}d");
    check_average(input, rank)?;
    check(
        input,
        &name,
        rank,
        match rank {
            3 => |dtype| matches!(dtype, DType::Float32 | DType::Float64 | DType::Int64),
            _ => |dtype| floats(dtype) || dtype == DType::Int64,
        },
    )?;
    if divisor_override == Some(0) {
        return Err(Error::runtime("divisor must be not zero"));
    }
    let (axes, sizes) = fixed(input, &name, rank, options)?;
    check_kernel(input, rank, options)?;
    let planes = Planes::new(input, rank)?;
    let divisor = |covered, seen| match divisor_override {
        Some(divisor) => divisor,
        None if count_include_pad => covered,
        None => seen,
    };
    by_number!(planes, &name, averages(&planes, &axes, &sizes, &divisor))?
        .to_dtype(input.dtype())?
        .like_format_of(input)
}

/// Over three dimensions PyTorch refuses kernels greater than the input, padded or not.
fn check_kernel(input: &Tensor, rank: usize, options: &PoolOptions<'_>) -> Result<()> {
    let sizes = &input.sizes()[input.dim() - rank..];
    let kernel = |dim: usize| options.kernel[dim.min(options.kernel.len() - 1)];
    if rank < 3 || (0..rank).all(|dim| sizes[dim] >= kernel(dim)) {
        return Ok(());
    }
    Err(Error::runtime(format!(
        "input image (T: {} H: {} W: {}) smaller than kernel size (kT: {} kH: {} kW: {})",
        sizes[0],
        sizes[1],
        sizes[2],
        kernel(0),
        kernel(1),
        kernel(2)
    )))
}

/// `torch.nn.functional.adaptive_avg_pool1d` and the like: an output size for each dimension.
///
/// # Errors
/// For negative output sizes and inputs of other ranks.
pub fn adaptive_avg_pool(input: &Tensor, output: &[i64]) -> Result<Tensor> {
    if input.dtype().is_quantized() {
        return averaged(input, |whole| adaptive_avg_pool(whole, output));
    }
    let name = format!("adaptive_avg_pool{}d", output.len());
    // Up to two dimensions there may be no channels.
    let first = if output.len() == 3 { 1 } else { input.dim().saturating_sub(output.len()) };
    check_within(input, &name, output.len(), first, floats)?;
    let (axes, sizes) = adaptive(input, &name, output)?;
    let planes = Planes::new(input, output.len())?;
    by_number!(planes, &name, averages(&planes, &axes, &sizes, &|_, seen| seen))?
        .to_dtype(input.dtype())?
        .like_format_of(input)
}
