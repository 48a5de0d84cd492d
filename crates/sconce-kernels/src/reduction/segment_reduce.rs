//! Reductions of segments of a dimension.

use sconce_kernel_core::layout::shape::{numel, wrap_dim};
use sconce_kernel_core::tensor::dtype_range::rounded;
use sconce_kernel_core::tensor::wide_elements::{WideElements, expect_floating};

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

/// Where segments begin and end.
#[derive(Debug, Clone, Copy)]
pub enum Segments<'a> {
    /// Their lengths, which are as many elements as there are.
    Lengths(&'a Tensor),
    /// Their lengths, after which elements may be left (`unsafe=True`).
    SomeLengths(&'a Tensor),
    /// The beginning of each, and the end of the last.
    Offsets(&'a Tensor),
}

/// `torch.segment_reduce` along `axis` by the ends of segments, one row of them for every index of
/// the dimensions before.
///
/// # Errors
/// For dtypes other than floating ones, and segments that do not fit.
pub fn segment_reduce(
    data: &Tensor,
    reduce: SegmentReduce,
    segments: Segments<'_>,
    axis: i64,
    initial: Option<f64>,
) -> Result<Tensor> {
    let dtype = data.dtype();
    let axis = wrap_dim(axis, data.dim())?;
    let unfit = || Error::not_implemented("aten::segment_reduce with segments that do not fit");
    let (Segments::Lengths(lengths) | Segments::SomeLengths(lengths) | Segments::Offsets(lengths)) =
        segments;
    let are_offsets = matches!(segments, Segments::Offsets(_));
    if axis + 1 != lengths.dim() {
        return Err(Error::runtime(format!(
            "segment_reduce(): Expected axis to be the last dimension of lengths but got {axis}."
        )));
    }
    if data.dim() == 0 || lengths.sizes()[..axis] != data.sizes()[..axis] {
        return Err(unfit());
    }
    let bounds = lengths.to_dtype(DType::Int64)?.to_vec::<i64>()?;
    let per_row = lengths.sizes()[axis] as usize;
    if let Segments::Lengths(_) = segments {
        expect_whole(&bounds, per_row, data.sizes()[axis])?;
    }
    if !matches!(lengths.dtype(), DType::Int32 | DType::Int64) {
        let by = if are_offsets { "offsets" } else { "lengths" };
        let kernel = format!("_segment_reduce_{by}_cpu_kernel1");
        return Err(Error::no_kernel(&kernel, lengths.dtype()));
    }
    expect_floating("_segment_reduce_cpu", dtype)?;
    let mut sizes = Dims::from_slice(data.sizes());
    sizes[axis] = lengths.sizes()[axis] - i64::from(are_offsets);
    numel(&sizes)?;
    let count = sizes[axis] as usize;
    let size = data.sizes()[axis] as usize;
    let inner = sconce_kernel_core::layout::shape::product(&data.sizes()[axis + 1..]) as usize;
    let outer = sconce_kernel_core::layout::shape::product(&data.sizes()[..axis]) as usize;
    let WideElements::Float(all) = WideElements::of(data)? else { return Err(unfit()) };
    let mut results = Vec::with_capacity(outer * count * inner);
    for row in 0..outer {
        let bounds = &bounds[row * per_row..(row + 1) * per_row];
        let mut start = if are_offsets { bounds.first().copied().unwrap_or(0) } else { 0 };
        for segment in 0..count {
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
                results.push(reduced(reduce, items, end - start, initial, dtype));
            }
            start = end;
        }
    }
    WideElements::Float(results).tensor(&sizes, dtype)
}

/// Refuses lengths that are not those of whole rows.
fn expect_whole(lengths: &[i64], per_row: usize, size: i64) -> Result<()> {
    if lengths.iter().any(|&length| length < 0) {
        return Err(Error::runtime("lengths contains negative value!"));
    }
    let sum = |row: &[i64]| row.iter().fold(0, |sum: i64, &length| sum.saturating_add(length));
    let mut rows = lengths.chunks(per_row.max(1));
    if rows.any(|row| sum(row) != size) || (per_row == 0 && size != 0) {
        return Err(Error::runtime(
            "segment_reduce(): Expected all rows of lengths along axis to sum to \
             data.size(lengths.dim()-1) when !unsafe.",
        ));
    }
    Ok(())
}

fn reduced(
    reduce: SegmentReduce,
    items: impl Iterator<Item = f64>,
    count: i64,
    initial: Option<f64>,
    dtype: DType,
) -> f64 {
    // PyTorch's running result is of the tensor's own dtype.
    let round = |value: f64| rounded(value, dtype);
    let initial = initial.map(round);
    let nan_or = |a: f64, b: f64, best: f64| if a.is_nan() || b.is_nan() { f64::NAN } else { best };
    match reduce {
        SegmentReduce::Max => {
            items.fold(initial.unwrap_or(f64::NEG_INFINITY), |a, b| nan_or(a, b, a.max(b)))
        }
        SegmentReduce::Min => {
            items.fold(initial.unwrap_or(f64::INFINITY), |a, b| nan_or(a, b, a.min(b)))
        }
        SegmentReduce::Sum => items.fold(initial.unwrap_or(0.0), |a, b| round(a + b)),
        SegmentReduce::Prod => items.fold(initial.unwrap_or(1.0), |a, b| round(a * b)),
        SegmentReduce::Mean => match (count, initial) {
            (0, None) => f64::NAN,
            (0, Some(initial)) => initial,
            _ => round(items.fold(initial.unwrap_or(0.0), |a, b| round(a + b)) / count as f64),
        },
    }
}
