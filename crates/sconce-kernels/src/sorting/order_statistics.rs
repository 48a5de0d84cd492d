//! Order statistics: `median`, `kthvalue`, `mode`, `quantile`, and `topk`.
//!
//! Among equal elements, which index is returned depends on how PyTorch sorts: see [`introsort`].

use sconce_kernel_core::layout::shape::wrap_dim;
use sconce_kernel_core::parallel::{grain, partition};
use sconce_kernel_core::simd::dispatch::dispatch;
use sconce_kernel_core::tensor::dtype_range::rounded;
use sconce_kernel_core::tensor::wide_elements::{Real, computed, expect_ordered};

use crate::reduction::reduce::{Rows, rows};
use crate::sorting::introsort;
use crate::sorting::sort_keys::{self, KeyedIndex, SortKey, WithKeys, with_keys};
use crate::{DType, Dims, Error, Result, Tensor};

/// Which element of a row is chosen.
trait RankQuery {
    /// Its position. Rows have at least one element.
    fn of<T: SortKey>(&self, row: &[T]) -> usize;
}

/// For each row along `dim` the element that is chosen: values and indices.
fn picked(
    input: &Tensor,
    dim: i64,
    keepdim: bool,
    name: &str,
    choice: impl RankQuery + Sync,
) -> Result<(Tensor, Tensor)> {
    let dtype = input.dtype();
    expect_ordered(name, dtype)?;
    let rows = rows(input, &[dim], keepdim)?;
    if rows.len == 0 && rows.count > 0 {
        return Err(Error::index(format!(
            "{name}(): Expected reduction dim {} to have non-zero size.",
            wrap_dim(dim, input.dim())?
        )));
    }
    let (values, indices) = match computed(dtype)? {
        DType::Int64 => chosen::<i64>(&rows, choice),
        DType::Float32 => chosen::<f32>(&rows, choice),
        DType::Float64 => chosen::<f64>(&rows, choice),
        _ => Err(Error::no_kernel(name, dtype)),
    }?;
    Ok((values.to_dtype(dtype)?, indices))
}

fn chosen<T: SortKey>(rows: &Rows, choice: impl RankQuery + Sync) -> Result<(Tensor, Tensor)> {
    let wide = rows.tensor.to_dtype(T::DTYPE)?;
    let all = wide.read::<T>()?;
    let (all, len) = (&all[..], rows.len.max(1));
    let indices = Tensor::zeros(&rows.sizes, DType::Int64)?;
    let values = Tensor::zeros(&rows.sizes, T::DTYPE)?;
    {
        let mut indices = indices.write::<i64>()?;
        // This many rows are work enough for another thread.
        let serial = (grain::ROWS / len).max(1);
        partition::for_each_chunk(&mut indices, 1, serial, |start, piece| {
            for (at, row) in piece.iter_mut().zip(all[start * len..].chunks_exact(len)) {
                *at = choice.of(row) as i64;
            }
        });
        let chosen = all.chunks_exact(len).zip(indices.iter());
        for (value, (row, &at)) in values.write::<T>()?.iter_mut().zip(chosen) {
            *value = row[at as usize];
        }
    }
    Ok((values, indices))
}

/// `torch.median(dim)`, or `torch.nanmedian` where `ignore_nan`: the lower of two middle elements.
///
/// # Errors
/// For empty rows, `bool` and complex numbers.
pub fn median(
    input: &Tensor,
    dim: i64,
    keepdim: bool,
    ignore_nan: bool,
) -> Result<(Tensor, Tensor)> {
    expect_number("median_out", input.dtype())?;
    picked(input, dim, keepdim, "median", MedianQuery { ignore_nan })
}

fn expect_number(kernel: &str, dtype: DType) -> Result<()> {
    if dtype == DType::Bool { Err(Error::no_kernel(kernel, dtype)) } else { Ok(()) }
}

/// The lower of two middle elements; of equal ones, in the order in which they stand.
struct MedianQuery {
    ignore_nan: bool,
}

impl RankQuery for MedianQuery {
    fn of<T: SortKey>(&self, row: &[T]) -> usize {
        let nans = row.iter().filter(|x| x.not_a_number()).count();
        if !self.ignore_nan && nans > 0 {
            return row.iter().position(|x| x.not_a_number()).unwrap_or(0);
        }
        if nans == row.len() {
            let mut order: Vec<usize> = (0..row.len()).collect();
            introsort::select(&mut order, 0, &|_, _| false);
            return order.first().copied().unwrap_or(0);
        }
        sort_keys::nth(row, (row.len() - nans - 1) / 2).0
    }
}

/// `torch.median` or `torch.nanmedian` of all elements; NaN of none.
///
/// # Errors
/// For `bool` and complex numbers.
pub fn median_all(input: &Tensor, ignore_nan: bool) -> Result<Tensor> {
    let dtype = input.dtype();
    expect_number("median_cpu", dtype)?;
    expect_ordered("median_cpu", dtype)?;
    if input.numel() == 0 {
        return match dtype.is_floating_point() {
            true => Tensor::scalar(f64::NAN.into(), dtype),
            // NaN as x86 converts it.
            false if dtype == DType::Int32 => Tensor::scalar(i64::from(i32::MIN).into(), dtype),
            false => Tensor::scalar(i64::MIN.into(), DType::Int64)?.to_dtype(dtype),
        };
    }
    Ok(median(&input.reshape(&[-1])?, 0, false, ignore_nan)?.0)
}

/// `torch.kthvalue`: the `k`-th smallest, counted from 1.
///
/// # Errors
/// Where there are fewer, and for `bool` and complex numbers.
pub fn kthvalue(input: &Tensor, k: i64, dim: i64, keepdim: bool) -> Result<(Tensor, Tensor)> {
    expect_number("kthvalue_cpu", input.dtype())?;
    let at = wrap_dim(dim, input.dim())?;
    let size = input.sizes().get(at).copied().unwrap_or(1);
    if k < 1 || k > size {
        return Err(Error::runtime(format!(
            "kthvalue(): selected number k out of range for dimension {at}"
        )));
    }
    picked(input, dim, keepdim, "kthvalue", KthQuery { rank: k as usize - 1 })
}

/// The element of this rank; of equal ones, that which Hoare's selection finds.
struct KthQuery {
    rank: usize,
}

impl RankQuery for KthQuery {
    fn of<T: SortKey>(&self, row: &[T]) -> usize {
        match sort_keys::nth(row, self.rank) {
            (position, false) => position,
            (_, true) => quickselect(row, self.rank),
        }
    }
}

/// Hoare's selection with the median of three as the pivot; the index of the element of this rank.
fn quickselect<T: Real>(row: &[T], rank: usize) -> usize {
    let mut order: Vec<usize> = (0..row.len()).collect();
    let above = |a: usize, b: usize| row[a].order(row[b]).is_gt();
    let (mut low, mut high) = (0, row.len() - 1);
    while low < high {
        if high == low + 1 {
            if above(order[low], order[high]) {
                order.swap(low, high);
            }
            break;
        }
        order.swap(low + (high - low) / 2, low + 1);
        for (a, b) in [(low + 1, high), (low, high), (low + 1, low)] {
            if above(order[a], order[b]) {
                order.swap(a, b);
            }
        }
        let pivot = order[low];
        let (mut i, mut j) = (low + 1, high);
        loop {
            i += 1;
            while above(pivot, order[i]) {
                i += 1;
            }
            j -= 1;
            while above(order[j], pivot) {
                j -= 1;
            }
            if j < i {
                break;
            }
            order.swap(i, j);
        }
        order.swap(low, j);
        if j <= rank {
            low = i;
        }
        if j >= rank {
            high = j - 1;
        }
    }
    order[rank]
}

/// `torch.mode`: the most frequent element, the least of several. NaN stands wherever the sort, which
/// has no order for it, leaves it.
///
/// # Errors
/// For empty rows and complex numbers.
pub fn mode(input: &Tensor, dim: i64, keepdim: bool) -> Result<(Tensor, Tensor)> {
    struct MostFrequent;
    impl RankQuery for MostFrequent {
        fn of<T: SortKey>(&self, row: &[T]) -> usize {
            most_frequent(row)
        }
    }
    picked(input, dim, keepdim, "mode", MostFrequent)
}

fn most_frequent<T: Real>(row: &[T]) -> usize {
    let mut order: Vec<usize> = (0..row.len()).collect();
    introsort::sort(&mut order, &|a: usize, b: usize| row[a] < row[b]);
    let (mut best, mut most, mut run) = (0, 0, 0);
    for (i, &at) in order.iter().enumerate() {
        run += 1;
        let ends = order.get(i + 1).is_none_or(|&next| row[next] != row[at]);
        if ends {
            if run > most {
                (best, most) = (at, run);
            }
            run = 0;
        }
    }
    best
}

/// How [`quantile`] finds a value between two elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "named like the argument of torch.quantile")]
pub enum Interpolation {
    Linear,
    Lower,
    Higher,
    Midpoint,
    Nearest,
}

impl Interpolation {
    /// By its name.
    ///
    /// # Errors
    /// For others.
    pub fn named(name: &str) -> Result<Interpolation> {
        Ok(match name {
            "linear" => Interpolation::Linear,
            "lower" => Interpolation::Lower,
            "higher" => Interpolation::Higher,
            "midpoint" => Interpolation::Midpoint,
            "nearest" => Interpolation::Nearest,
            _ => {
                return Err(Error::runtime(format!(
                    "quantile() interpolation must be one of linear, lower, higher, midpoint or \
                     nearest, but got {name}"
                )));
            }
        })
    }
}

/// `torch.quantile`, or `torch.nanquantile` where `ignore_nan`; a dimension for the quantiles comes
/// first where `q` has one. Without a dimension, of all elements.
///
/// # Errors
/// For dtypes other than `float32` and `float64`, empty inputs, and quantiles outside [0, 1].
pub fn quantile(
    input: &Tensor,
    q: &Tensor,
    dim: Option<i64>,
    keepdim: bool,
    interpolation: Interpolation,
    ignore_nan: bool,
) -> Result<Tensor> {
    let dtype = input.dtype();
    if !matches!(dtype, DType::Float32 | DType::Float64) {
        return Err(Error::runtime("quantile() input tensor must be either float or double dtype"));
    }
    if q.dtype() != dtype {
        return Err(Error::runtime("quantile() q tensor must be same dtype as the input tensor"));
    }
    if q.dim() > 1 {
        return Err(Error::runtime("quantile() q must be a scalar or 1D tensor"));
    }
    if input.numel() == 0 {
        return Err(Error::runtime("quantile() input tensor must be non-empty"));
    }
    let dims: Dims = dim.into_iter().collect();
    let rows = rows(input, &dims, keepdim)?;
    let qs = q.to_dtype(DType::Float64)?.to_vec::<f64>()?;
    if qs.iter().any(|q| !(0.0..=1.0).contains(q)) {
        return Err(Error::runtime("quantile() q values must be in the range [0, 1]"));
    }
    let results = match dtype {
        DType::Float32 => quantiles::<f32>(&rows, &qs, interpolation, ignore_nan),
        _ => quantiles::<f64>(&rows, &qs, interpolation, ignore_nan),
    }?;
    // In memory the quantiles of a row lie side by side, as in PyTorch.
    let own = rows.sizes.iter().copied();
    let sizes: Dims = own.chain(q.sizes().iter().copied()).collect();
    let result = Tensor::from_slice(&results, &sizes)?.to_dtype(dtype)?;
    if q.dim() == 0 { Ok(result) } else { result.movedim(&[-1], &[0]) }
}

/// From this many quantiles on, rows are sorted.
const MANY: usize = 8;

fn quantiles<T: SortKey + Into<f64>>(
    rows: &Rows,
    qs: &[f64],
    interpolation: Interpolation,
    ignore_nan: bool,
) -> Result<Vec<f64>> {
    let all = rows.tensor.read::<T>()?;
    let mut results = vec![0.0; qs.len() * rows.count];
    for (i, row) in all.chunks_exact(rows.len.max(1)).enumerate() {
        let mut numbers: Vec<f64> = row.iter().map(|&x| x.into()).collect();
        numbers.retain(|x| !x.is_nan());
        let whole = numbers.len() == row.len() || (ignore_nan && !numbers.is_empty());
        let is_sorted = qs.len() >= MANY;
        if is_sorted {
            numbers.sort_unstable_by(f64::total_cmp);
        }
        for (j, &q) in qs.iter().enumerate() {
            results[i * qs.len() + j] = match whole {
                true => {
                    between(numbers.len(), q, T::DTYPE, interpolation, |rank| match is_sorted {
                        true => numbers[rank],
                        false => *numbers.select_nth_unstable_by(rank, f64::total_cmp).1,
                    })
                }
                false => f64::NAN,
            };
        }
    }
    Ok(results)
}

/// The number at `q` of a sorted row, of which `at` gives those that stand at a rank.
fn between(
    len: usize,
    q: f64,
    dtype: DType,
    interpolation: Interpolation,
    mut at: impl FnMut(usize) -> f64,
) -> f64 {
    let rank = rounded(q * (len - 1) as f64, dtype);
    let rank = match interpolation {
        Interpolation::Lower => rank.floor(),
        Interpolation::Higher => rank.ceil(),
        Interpolation::Nearest => rank.round_ties_even(),
        _ => rank,
    };
    let (low, high) = ((rank.floor() as usize).min(len - 1), (rank.ceil() as usize).min(len - 1));
    let below = at(low);
    let above = if high == low { below } else { at(high) };
    let weight = match interpolation {
        Interpolation::Midpoint => 0.5,
        _ => rank - rank.floor(),
    };
    match weight.abs() < 0.5 {
        true => below + weight * (above - below),
        false => above - (above - below) * (1.0 - weight),
    }
}

/// `torch.topk`: the `k` largest or smallest and where they stood.
///
/// # Errors
/// Where there are fewer, and for complex numbers.
pub fn topk(
    input: &Tensor,
    k: i64,
    dim: i64,
    largest: bool,
    sorted: bool,
) -> Result<(Tensor, Tensor)> {
    if input.dtype().is_quantized() {
        return crate::rearranged_with_indices(input, |whole| topk(whole, k, dim, largest, sorted));
    }
    let dtype = input.dtype();
    expect_ordered("topk_impl", dtype)?;
    expect_number("topk_cpu", dtype)?;
    let at = wrap_dim(dim, input.dim())?;
    let size = input.sizes().get(at).copied().unwrap_or(1);
    if k < 0 || k > size {
        return Err(Error::runtime("selected index k out of range"));
    }
    if input.dim() == 0 {
        return Ok((input.copy()?, Tensor::zeros(&[], DType::Int64)?));
    }
    let rows = input.transpose(at as i64, -1)?.contiguous()?;
    let len = size.max(1) as usize;
    let k_len = k as usize;
    let best = ModeQuery { k: k_len, largest, sorted };
    let indices = match computed(dtype)? {
        DType::Int64 => best.of_rows::<i64>(&rows, len),
        DType::Float32 => best.of_rows::<f32>(&rows, len),
        DType::Float64 => best.of_rows::<f64>(&rows, len),
        _ => Err(Error::no_kernel("topk_impl", dtype)),
    }?;
    let mut sizes = Dims::from_slice(rows.sizes());
    if let Some(last) = sizes.last_mut() {
        *last = k;
    }
    let indices = Tensor::from_slice(&indices, &sizes)?;
    let values = crate::gather(&rows, -1, &indices)?;
    let back = |tensor: Tensor| tensor.transpose(at as i64, -1)?.contiguous();
    Ok((back(values)?, back(indices)?))
}

/// How many elements are wanted, and which.
#[derive(Clone, Copy)]
struct ModeQuery {
    k: usize,
    largest: bool,
    sorted: bool,
}

impl ModeQuery {
    /// The positions of the wanted elements of rows of `len`.
    fn of_rows<T: SortKey>(self, rows: &Tensor, len: usize) -> Result<Vec<i64>> {
        let wide = rows.to_dtype(T::DTYPE)?;
        let all = wide.read::<T>()?;
        let (all, k) = (&all[..], self.k);
        let mut positions = vec![0; all.len() / len * k];
        if k > 0 {
            let serial = (grain::ROWS / len).max(1) * k;
            partition::for_each_chunk(&mut positions, k, serial, |start, piece| {
                let rows = all[start / k * len..].chunks_exact(len);
                for (positions, row) in piece.chunks_exact_mut(k).zip(rows) {
                    match self.is_partial(len) {
                        true => self.first_of_row(row, positions),
                        false => with_keys(row, self.largest, TopkQuery { best: self, positions }),
                    }
                }
            });
        }
        Ok(positions)
    }

    /// Whether so few of a row are wanted that PyTorch sorts those alone.
    fn is_partial(self, len: usize) -> bool {
        self.k * 64 <= len
    }

    /// As PyTorch leaves them: selected and sorted by rank alone.
    fn of_row<P: KeyedIndex>(self, row: &mut [P]) {
        let less = |a: P, b: P| a.rank() < b.rank();
        introsort::select(row, self.k - 1, &less);
        if self.sorted {
            introsort::sort(&mut row[..self.k - 1], &less);
        }
    }

    /// Writes the positions of the wanted elements of a row where they are few: `introsort::partial_sort`
    /// that leaves out what cannot come to the front.
    fn first_of_row<T: SortKey>(self, row: &[T], positions: &mut [i64]) {
        /// Elements that are left out together.
        const TOGETHER: usize = 64;
        let rank = |x: T| if self.largest { !x.rank() } else { x.rank() };
        let less = |a: (T::Key, usize), b: (T::Key, usize)| a.0 < b.0;
        let (front, rest) = row.split_at(self.k);
        let mut heap: Vec<_> = front.iter().map(|&x| rank(x)).zip(0..).collect();
        introsort::make_heap(&mut heap, &less);
        dispatch(
            #[inline(always)]
            || {
                for (piece, at) in rest.chunks(TOGETHER).zip((self.k..).step_by(TOGETHER)) {
                    let greatest = heap[0].0;
                    if piece.iter().fold(false, |any, &x| any | (rank(x) < greatest)) {
                        for (&x, at) in piece.iter().zip(at..) {
                            introsort::offer(&mut heap, (rank(x), at), &less);
                        }
                    }
                }
            },
        );
        introsort::sort_heap(&mut heap, &less);
        positions.iter_mut().zip(heap).for_each(|(position, (_, at))| *position = at as i64);
    }
}

/// Writes the positions of the wanted elements of a row.
struct TopkQuery<'a> {
    best: ModeQuery,
    positions: &'a mut [i64],
}

impl WithKeys<()> for TopkQuery<'_> {
    fn with<P: KeyedIndex>(&mut self, row: &mut [P], _: u64) {
        let k = self.best.k;
        if !self.best.sorted {
            self.best.of_row(row);
        } else if !select_distinct(row, k) {
            row.sort_unstable_by_key(|placed| placed.position());
            self.best.of_row(row);
        }
        for (position, placed) in self.positions.iter_mut().zip(row) {
            *position = placed.position() as i64;
        }
    }
}

/// Brings the first `k` of the sorted row to its front, if no two of them or others are equal: then
/// every way to find and sort them gives the same.
fn select_distinct<P: KeyedIndex>(row: &mut [P], k: usize) -> bool {
    let (_, &mut last, rest) = row.select_nth_unstable(k - 1);
    if rest.iter().any(|placed| placed.rank() == last.rank()) {
        return false;
    }
    row[..k].sort_unstable();
    !sort_keys::has_equal(&row[..k])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_a_row_are_those_of_sorting_it_in_part() {
        for (len, k, spread) in [(64, 1, 9), (700, 10, 50), (6500, 100, 1 << 20), (500, 7, 3)] {
            let number = |i: usize| match i * 7919 % 101 {
                5 if spread < 50 => f32::NAN,
                _ => (i * 48_271 % 65_537 % spread) as f32 * 0.5 - 3.0,
            };
            let row: Vec<f32> = (0..len).map(number).collect();
            for largest in [false, true] {
                let rank = |x: f32| if largest { !x.rank() } else { x.rank() };
                let mut all: Vec<(u32, usize)> = row.iter().map(|&x| rank(x)).zip(0..).collect();
                introsort::partial_sort(&mut all, k, &|a: (u32, usize), b| a.0 < b.0);
                let expected: Vec<i64> = all[..k].iter().map(|&(_, at)| at as i64).collect();
                let mut positions = vec![0; k];
                ModeQuery { k, largest, sorted: true }.first_of_row(&row, &mut positions);
                assert_eq!(positions, expected, "{k} of {len}");
            }
        }
    }
}
