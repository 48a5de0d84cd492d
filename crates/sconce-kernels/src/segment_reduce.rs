//! Reductions of segments of a dimension.

use crate::numbers::{Numbers, expect_floating};
use crate::shape::wrap_dim;
use crate::{DType, Dims, Error, Result, Tensor};

/// The reductions of `torch.segment_reduce`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named like the argument of torch.segment_reduce")]
pub enum SegmentReduce {
    Max,
    Min,
    Mean,
    Sum,
    Prod,
}

/// `torch.segment_reduce` along `axis` by the ends of segments, one row of them for every index of
/// the dimensions before.
///
/// # Errors
/// For dtypes other than floating ones, and segments that do not fit.
pub fn segment_reduce(
    data: &Tensor,
    reduce: SegmentReduce,
    lengths: &Tensor,
    are_offsets: bool,
    axis: i64,
    initial: Option<f64>,
) -> Result<Tensor> {
    let dtype = data.dtype();
    expect_floating("segment_reduce_cpu", dtype)?;
    let axis = wrap_dim(axis, data.dim())?;
    let unfit = || Error::not_implemented("aten::segment_reduce with segments that do not fit");
    if data.dim() == 0
        || lengths.dim() != axis + 1
        || lengths.sizes()[..axis] != data.sizes()[..axis]
    {
        return Err(unfit());
    }
    let bounds = lengths.to_dtype(DType::Int64)?.to_vec::<i64>()?;
    let per_row = lengths.sizes()[axis] as usize;
    let segments = if are_offsets { per_row.saturating_sub(1) } else { per_row };
    let size = data.sizes()[axis] as usize;
    let inner = crate::shape::product(&data.sizes()[axis + 1..]) as usize;
    let outer = crate::shape::product(&data.sizes()[..axis]) as usize;
    let Numbers::Float(all) = Numbers::of(data)? else { return Err(unfit()) };
    let mut results = Vec::with_capacity(outer * segments * inner);
    for row in 0..outer {
        let bounds = &bounds[row * per_row..(row + 1) * per_row];
        let mut start = if are_offsets { bounds.first().copied().unwrap_or(0) } else { 0 };
        for segment in 0..segments {
            let end = if are_offsets {
                bounds[segment + 1]
            } else {
                start.saturating_add(bounds[segment])
            };
            if start < 0 || end < start || end > size as i64 {
                return Err(unfit());
            }
            for column in 0..inner {
                let items = (start..end).map(|at| all[(row * size + at as usize) * inner + column]);
                results.push(reduced(reduce, items, end - start, initial));
            }
            start = end;
        }
    }
    let mut sizes = Dims::from_slice(data.sizes());
    sizes[axis] = segments as i64;
    Numbers::Float(results).tensor(&sizes, dtype)
}

fn reduced(
    reduce: SegmentReduce,
    items: impl Iterator<Item = f64>,
    count: i64,
    initial: Option<f64>,
) -> f64 {
    let nan_or = |a: f64, b: f64, best: f64| if a.is_nan() || b.is_nan() { f64::NAN } else { best };
    match reduce {
        SegmentReduce::Max => {
            items.fold(initial.unwrap_or(f64::NEG_INFINITY), |a, b| nan_or(a, b, a.max(b)))
        }
        SegmentReduce::Min => {
            items.fold(initial.unwrap_or(f64::INFINITY), |a, b| nan_or(a, b, a.min(b)))
        }
        SegmentReduce::Sum => items.fold(initial.unwrap_or(0.0), |a, b| a + b),
        SegmentReduce::Prod => items.fold(initial.unwrap_or(1.0), |a, b| a * b),
        SegmentReduce::Mean => match (count, initial) {
            (0, None) => f64::NAN,
            (0, Some(initial)) => initial,
            _ => items.fold(initial.unwrap_or(0.0), |a, b| a + b) / count as f64,
        },
    }
}
