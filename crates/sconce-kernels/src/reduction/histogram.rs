//! Histograms, `bincount` and `searchsorted`.
#![allow(clippy::neg_cmp_op_on_partial_ord, reason = "NaN has to fail these comparisons")]

use sconce_kernel_core::parallel::{grain, partition};
use sconce_kernel_core::simd::dispatch::dispatch;
use sconce_kernel_core::tensor::dtype_range::rounded;
use sconce_kernel_core::tensor::wide_elements::{Real, computed, expect_floating, expect_ordered};

use crate::{DType, Dims, Error, Result, Tensor, result_type};

/// The most bins that a number in a program may ask for.
const MOST_BINS: i64 = 1 << 28;

/// `torch.histc`: counts in equal bins between two bounds, those of the data where they are equal.
///
/// # Errors
/// For dtypes other than floating ones, fewer bins than one, and bounds that are not finite.
pub fn histc(input: &Tensor, bins: i64, min: f64, max: f64) -> Result<Tensor> {
    let dtype = input.dtype();
    expect_floating("histogram_cpu", dtype)?;
    if bins <= 0 {
        return Err(Error::runtime(format!(
            "torch.histogram(): bins must be > 0, but got {bins} for dimension 0"
        )));
    }
    if bins > MOST_BINS {
        return Err(Error::not_implemented(format!("a histogram of {bins} bins")));
    }
    let data = input.to_dtype(DType::Float64)?.to_vec::<f64>()?;
    let (mut low, mut high) = (rounded(min, dtype), rounded(max, dtype));
    if low == high && !data.is_empty() {
        (low, high) = bounds(&data);
    }
    if low == high {
        (low, high) = (low - 1.0, high + 1.0);
    }
    if !(low.is_finite() && high.is_finite()) {
        return Err(Error::not_implemented("torch.histc with bounds that are not finite"));
    }
    if low > high {
        return Err(Error::runtime("torch.histc: max must be larger than min"));
    }
    let mut counts = vec![0.0; bins as usize];
    for x in data.into_iter().filter(|x| (low..=high).contains(x)) {
        let position = rounded(rounded(x - low, dtype) * bins as f64, dtype);
        let position = rounded(position / rounded(high - low, dtype), dtype) as usize;
        counts[position.min(bins as usize - 1)] += 1.0;
    }
    Tensor::from_slice(&counts, &[bins])?.to_dtype(dtype)
}

fn bounds(data: &[f64]) -> (f64, f64) {
    let start = (f64::INFINITY, f64::NEG_INFINITY);
    data.iter().fold(start, |(low, high), &x| match x.is_nan() || low.is_nan() {
        true => (f64::NAN, f64::NAN),
        false => (low.min(x), high.max(x)),
    })
}

/// How the bins of a dimension of [`histogramdd`] are given.
#[derive(Debug, Clone)]
pub enum Bins {
    /// This many equal ones.
    Count(i64),
    /// Their edges.
    Edges(Tensor),
}

/// `torch.histogramdd`: counts of points, a row each, in bins for every dimension, and their edges.
///
/// # Errors
/// For dtypes other than `float32` and `float64`, and bins that do not fit the points.
pub fn histogramdd(
    input: &Tensor,
    bins: &[Bins],
    range: Option<&[f64]>,
    weight: Option<&Tensor>,
    density: bool,
) -> Result<(Tensor, Vec<Tensor>)> {
    let dtype = input.dtype();
    if !matches!(dtype, DType::Float32 | DType::Float64) {
        return Err(Error::no_kernel("histogramdd", dtype));
    }
    if input.dim() < 2 {
        return Err(Error::runtime(
            "torch.histogramdd: input tensor should have at least 2 dimensions",
        ));
    }
    let width = input.size(-1)?;
    if bins.len() as i64 != width {
        return Err(Error::runtime(format!(
            "torch.histogramdd: expected {width} sequences of bin edges for a {width}-dimensional \
             histogram but got {}",
            bins.len()
        )));
    }
    if range.is_some_and(|range| range.len() != 2 * bins.len()) {
        return Err(Error::runtime(format!(
            "torch.histogramdd: for a {width}-dimensional histogram range should have {} elements, \
             but got {}",
            2 * width,
            range.map_or(0, <[f64]>::len)
        )));
    }
    let points = input.reshape(&[-1, width])?;
    let columns: Vec<Vec<f64>> = (0..width)
        .map(|i| points.select(1, i)?.to_dtype(DType::Float64)?.to_vec::<f64>())
        .collect::<Result<_>>()?;
    let mut edges = Vec::new();
    for (i, bins) in bins.iter().enumerate() {
        let range = range.map(|range| (range[2 * i], range[2 * i + 1]));
        edges.push(bin_edges(&columns[i], bins, range, dtype, i)?);
    }
    let steps: Vec<Vec<f64>> = edges
        .iter()
        .map(|edges| edges.to_dtype(DType::Float64)?.to_vec::<f64>())
        .collect::<Result<_>>()?;
    let sizes: Dims = steps.iter().map(|edges| edges.len() as i64 - 1).collect();
    let mut counts = Tensor::zeros(&sizes, DType::Float64)?.to_vec::<f64>()?;
    let weights = match weight {
        None => None,
        Some(weight) if weight.numel() == points.sizes()[0] && weight.dtype() == dtype => {
            Some(weight.to_dtype(DType::Float64)?.to_vec::<f64>()?)
        }
        Some(_) => {
            return Err(Error::not_implemented(
                "torch.histogramdd with weights of another size or dtype",
            ));
        }
    };
    for point in 0..points.sizes()[0] as usize {
        let mut at = Some(0);
        for (column, edges) in columns.iter().zip(&steps) {
            let position = bin_of(edges, column[point]);
            at = at.zip(position).map(|(at, position)| at * (edges.len() - 1) + position);
        }
        if let Some(count) = at.and_then(|at| counts.get_mut(at)) {
            *count += weights.as_ref().map_or(1.0, |weights| weights[point]);
        }
    }
    if density {
        to_density(&mut counts, &steps, dtype);
    }
    Ok((Tensor::from_slice(&counts, &sizes)?.to_dtype(dtype)?, edges))
}

/// The bin whose left edge is at or below `x`; the last one holds its right edge, too. Edges out of
/// order are searched by the halves that C++'s `upper_bound` takes.
fn bin_of(edges: &[f64], x: f64) -> Option<usize> {
    let (first, last) = (edges.first()?, edges.last()?);
    if !(*first <= x && x <= *last) {
        return None;
    }
    let (mut above, mut left) = (0, edges.len());
    while left > 0 {
        let half = left / 2;
        if x < edges[above + half] {
            left = half;
        } else {
            above += half + 1;
            left -= half + 1;
        }
    }
    Some(above.saturating_sub(1).min(edges.len().checked_sub(2)?))
}

fn bin_edges(
    column: &[f64],
    bins: &Bins,
    range: Option<(f64, f64)>,
    dtype: DType,
    dim: usize,
) -> Result<Tensor> {
    let count = match bins {
        Bins::Edges(edges) => {
            if edges.dim() != 1 || edges.dtype() != dtype || edges.numel() < 1 {
                return Err(Error::not_implemented("torch.histogram with edges of this kind"));
            }
            if edges.numel() < 2 {
                return Err(Error::not_implemented("torch.histogram with a single edge"));
            }
            return edges.copy();
        }
        &Bins::Count(count) => count,
    };
    if count <= 0 {
        return Err(Error::runtime(format!(
            "torch.histogram(): bins must be > 0, but got {count} for dimension {dim}"
        )));
    }
    if count > MOST_BINS {
        return Err(Error::not_implemented(format!("a histogram of {count} bins")));
    }
    let (mut low, mut high) = match range {
        Some(range) => range,
        None if column.is_empty() => (0.0, 1.0),
        None => bounds(column),
    };
    if low == high {
        (low, high) = (low - 0.5, high + 0.5);
    }
    if !(low.is_finite() && high.is_finite() && low <= high) {
        return Err(Error::not_implemented("torch.histogram with bounds of this kind"));
    }
    crate::linspace(low.into(), high.into(), count + 1, dtype)
}

/// Counts divided by their sum and the size of their bins.
fn to_density(counts: &mut [f64], edges: &[Vec<f64>], dtype: DType) {
    let total: f64 = counts.iter().sum();
    for (at, count) in counts.iter_mut().enumerate() {
        let mut rest = at;
        let mut volume = 1.0;
        for edges in edges.iter().rev() {
            let bin = rest % (edges.len() - 1);
            rest /= edges.len() - 1;
            volume *= rounded(edges[bin + 1] - edges[bin], dtype);
        }
        *count /= volume * total;
    }
}

/// `torch.bincount`.
///
/// # Errors
/// For negative numbers, dtypes other than integers, and more than one dimension.
pub fn bincount(input: &Tensor, weights: Option<&Tensor>, minlength: i64) -> Result<Tensor> {
    if !input.dtype().is_integral() || input.dtype() == DType::UInt64 {
        return Err(Error::no_kernel("bincount_cpu", input.dtype()));
    }
    if minlength < 0 {
        return Err(Error::runtime("minlength should be >= 0"));
    }
    let data = input.to_dtype(DType::Int64)?.contiguous()?;
    let data = data.read::<i64>()?;
    if input.dim() == 1 && data.is_empty() {
        return Tensor::zeros(&[minlength], DType::Int64);
    }
    let (least, most) = dispatch(
        #[inline(always)]
        || data.iter().fold((0, 0), |(least, most): (i64, i64), &x| (least.min(x), most.max(x))),
    );
    if input.dim() != 1 || least < 0 {
        let message = "bincount only supports 1-d non-negative integral inputs.";
        return Err(Error::runtime(message));
    }
    if weights.is_some_and(|weights| weights.sizes() != input.sizes()) {
        return Err(Error::runtime("weights should be 1-d and have the same length as input"));
    }
    let length = most.saturating_add(i64::from(!data.is_empty())).max(minlength);
    let Some(weights) = weights else {
        let result = Tensor::zeros(&[length], DType::Int64)?;
        count(&data, &mut result.write::<i64>()?);
        return Ok(result);
    };
    let result = Tensor::zeros(&[length], DType::Float64)?;
    {
        let mut sums = result.write::<f64>()?;
        let weights = weights.to_dtype(DType::Float64)?.to_vec::<f64>()?;
        data.iter().zip(&weights).for_each(|(&x, weight)| sums[x as usize] += weight);
    }
    if weights.dtype() == DType::Float32 { result.to_dtype(DType::Float32) } else { Ok(result) }
}

/// Counts how often each number occurs.
fn count(numbers: &[i64], counts: &mut [i64]) {
    /// Tables that are counted in by turns: the same number twice in a row need not wait for itself.
    const TABLES: usize = 4;
    let (groups, mut rest) = numbers.as_chunks::<TABLES>();
    if counts.len() <= groups.len() {
        let mut tables = vec![[0i64; TABLES]; counts.len()];
        for group in groups {
            for table in 0..TABLES {
                tables[group[table] as usize][table] += 1;
            }
        }
        counts.iter_mut().zip(tables).for_each(|(count, all)| *count += all.iter().sum::<i64>());
    } else {
        rest = numbers;
    }
    rest.iter().for_each(|&x| counts[x as usize] += 1);
}

/// `torch.searchsorted`: where values would be put into rows in order, after equal ones where
/// `right`.
///
/// # Errors
/// For leading sizes that differ.
pub fn searchsorted(
    sorted: &Tensor,
    values: &Tensor,
    right: bool,
    sorter: Option<&Tensor>,
) -> Result<Tensor> {
    let common = result_type(&[sorted.into(), values.into()])?;
    let (sorted, values) = (&sorted.to_dtype(common)?, &values.to_dtype(common)?);
    expect_ordered("searchsorted_out_cpu", common)?;
    if common == DType::Bool {
        return Err(Error::no_kernel("searchsorted_out_cpu", DType::Bool));
    }
    let lead = |t: &Tensor| Dims::from_slice(&t.sizes()[..t.dim().saturating_sub(1)]);
    let one_row = sorted.dim() == 1;
    if sorted.dim() == 0
        || (!one_row && (sorted.dim() != values.dim() || lead(sorted) != lead(values)))
    {
        return Err(Error::runtime(format!(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 \
             dimensions of boundaries tensor and input value tensor must match, but we got \
             boundaries tensor {:?} and input value tensor {:?}",
            sorted.sizes(),
            values.sizes()
        )));
    }
    let sorted = match sorter {
        None => sorted.clone(),
        Some(sorter) if sorter.sizes() == sorted.sizes() && sorter.dtype() == DType::Int64 => {
            crate::gather(sorted, -1, sorter)?
        }
        Some(_) => return Err(Error::not_implemented("torch.searchsorted with this sorter")),
    };
    let row = sorted.sizes().last().copied().unwrap_or(0) as usize;
    let per_row =
        if one_row { values.count() } else { values.sizes().last().map_or(1, |&n| n as usize) };
    let wide = computed(common)?;
    let (sorted, wanted) =
        (sorted.to_dtype(wide)?.contiguous()?, values.to_dtype(wide)?.contiguous()?);
    let lens = [row, per_row];
    match wide {
        DType::Int64 => positions::<i64>(&sorted, &wanted, lens, right),
        DType::Float32 => positions::<f32>(&sorted, &wanted, lens, right),
        DType::Float64 => positions::<f64>(&sorted, &wanted, lens, right),
        _ => Err(Error::no_kernel("searchsorted_out_cpu", common)),
    }
}

/// How many elements come before, by halves as PyTorch does: so it finds the same position where elements
/// are not in order, or NaN.
fn bound<T>(row: &[T], before: impl Fn(&T) -> bool) -> usize {
    let (mut start, mut end) = (0, row.len());
    while start < end {
        let middle = start + (end - start) / 2;
        let goes_on = before(&row[middle]);
        start = if goes_on { middle + 1 } else { start };
        end = if goes_on { end } else { middle };
    }
    start
}

fn positions<T: Real>(
    sorted: &Tensor,
    values: &Tensor,
    [row, per_row]: [usize; 2],
    right: bool,
) -> Result<Tensor> {
    let result = Tensor::zeros(values.sizes(), DType::Int64)?;
    {
        let (sorted, values) = (sorted.read::<T>()?, values.read::<T>()?);
        let (sorted, values) = (&sorted[..], &values[..]);
        let mut out = result.write::<i64>()?;
        let unit = if row == sorted.len() { 1 } else { per_row };
        partition::for_each_chunk(&mut out, unit, grain::ROWS, |start, out| {
            let values = values[start..].chunks(per_row.max(1));
            let rows = (start / per_row.max(1)..)
                .map(|i| sorted.get(i * row..(i + 1) * row).unwrap_or_default());
            for (out, (values, row)) in out.chunks_mut(per_row.max(1)).zip(values.zip(rows)) {
                for (position, &value) in out.iter_mut().zip(values) {
                    // Written with negations for NaN, which no comparison holds of.
                    let before = |x: &T| if right { !(*x > value) } else { !(*x >= value) };
                    *position = bound(row, before) as i64;
                }
            }
        });
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_one_table() {
        for (len, most) in [(0, 1), (3, 5), (9, 2), (1000, 17), (101, 90)] {
            let numbers: Vec<i64> = (0..len).map(|i| i * 7919 % most).collect();
            let input = Tensor::from_slice(&numbers, &[len]).unwrap();
            let found = bincount(&input, None, 4).unwrap().to_vec::<i64>().unwrap();
            let length = numbers.iter().max().map_or(0, |&most| most + 1).max(4);
            let of = |x: i64| numbers.iter().filter(|&&number| number == x).count() as i64;
            assert_eq!(found, (0..length).map(of).collect::<Vec<i64>>());
        }
    }

    #[test]
    fn places_beside_nan_are_pytorchs() {
        let nan = f32::NAN;
        let sorted = Tensor::from_slice(&[1.0, 2.0, nan, 4.0, 5.0, 6.0, 7.0], &[7]).unwrap();
        let values = Tensor::from_slice(&[1.5, 4.5, 0.0, nan, 6.0], &[5]).unwrap();
        for (right, expected) in [(false, [1, 4, 0, 7, 5]), (true, [1, 4, 0, 7, 6])] {
            let found = searchsorted(&sorted, &values, right, None).unwrap();
            assert_eq!(found.to_vec::<i64>().unwrap(), expected);
        }
    }
}
