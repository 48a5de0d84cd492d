//! Elements by rank: `median`, `kthvalue`, `mode`, `quantile`, and `topk`.
//!
//! Where elements are equal, which index is given depends on how PyTorch sorts: see `introsort`.

use crate::numbers::{Numbers, Real, expect_ordered, rounded};
use crate::reduce::rows;
use crate::shape::wrap_dim;
use crate::{DType, Dims, Error, Result, Tensor, introsort};

/// An element and where it stood.
type Placed<T> = (T, i64);

/// For each row along `dim` the index that `pick` chooses: values and indices.
fn picked(
    input: &Tensor,
    dim: i64,
    keepdim: bool,
    name: &str,
    ints: impl Fn(&[i64]) -> usize,
    floats: impl Fn(&[f64]) -> usize,
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
    let numbers = Numbers::of(&rows.tensor)?;
    let len = rows.len.max(1);
    let indices: Vec<usize> = match &numbers {
        Numbers::Int(all) => all.chunks_exact(len).map(ints).collect(),
        Numbers::Float(all) => all.chunks_exact(len).map(floats).collect(),
        Numbers::Complex(_) => return Err(Error::no_kernel(name, dtype)),
    };
    let at = |i: usize, index: usize| i * len + index;
    let chosen = indices.iter().enumerate();
    let values = match &numbers {
        Numbers::Int(all) => Numbers::Int(chosen.map(|(i, &n)| all[at(i, n)]).collect()),
        Numbers::Float(all) => Numbers::Float(chosen.map(|(i, &n)| all[at(i, n)]).collect()),
        Numbers::Complex(_) => return Err(Error::no_kernel(name, dtype)),
    };
    let indices: Vec<i64> = indices.iter().map(|&index| index as i64).collect();
    Ok((values.tensor(&rows.sizes, dtype)?, Tensor::from_slice(&indices, &rows.sizes)?))
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
    picked(
        input,
        dim,
        keepdim,
        "median",
        |row| middle(row, ignore_nan),
        |row| middle(row, ignore_nan),
    )
}

fn expect_number(kernel: &str, dtype: DType) -> Result<()> {
    if dtype == DType::Bool { Err(Error::no_kernel(kernel, dtype)) } else { Ok(()) }
}

fn middle<T: Real>(row: &[T], ignore_nan: bool) -> usize {
    let nans = row.iter().filter(|x| x.not_a_number()).count();
    if !ignore_nan && nans > 0 {
        return row.iter().position(|x| x.not_a_number()).unwrap_or(0);
    }
    let mut order: Vec<usize> = (0..row.len()).collect();
    if nans == row.len() {
        introsort::select(&mut order, 0, &|_, _| false);
        return order.first().copied().unwrap_or(0);
    }
    let rank = (row.len() - nans).saturating_sub(1) / 2;
    order.sort_by(|&a, &b| row[a].order(row[b]));
    order.get(rank).copied().unwrap_or(0)
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
    let size = input.sizes().get(wrap_dim(dim, input.dim())?).copied().unwrap_or(1);
    if k < 1 || k > size {
        return Err(Error::runtime("kthvalue(): selected number k out of range for dimension"));
    }
    let rank = k as usize - 1;
    picked(
        input,
        dim,
        keepdim,
        "kthvalue",
        |row| quickselect(row, rank),
        |row| quickselect(row, rank),
    )
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
    picked(input, dim, keepdim, "mode", most_frequent, most_frequent)
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
    let rows = rows(&input.to_dtype(DType::Float64)?, &dims, keepdim)?;
    let all = rows.tensor.read::<f64>()?;
    let qs = q.to_dtype(DType::Float64)?.to_vec::<f64>()?;
    if qs.iter().any(|q| !(0.0..=1.0).contains(q)) {
        return Err(Error::runtime("quantile() q values must be in the range [0, 1]"));
    }
    let mut results = vec![0.0; qs.len() * rows.count];
    for (i, row) in all.chunks_exact(rows.len.max(1)).enumerate() {
        let mut sorted = row.to_vec();
        sorted.sort_by(|a, b| a.order(*b));
        let numbers = row.iter().filter(|x| !x.is_nan()).count();
        for (j, &q) in qs.iter().enumerate() {
            let whole = numbers == row.len() || (ignore_nan && numbers > 0);
            results[j * rows.count + i] = match whole {
                true => between(&sorted[..numbers], q, dtype, interpolation),
                false => f64::NAN,
            };
        }
    }
    let lead = q.sizes().iter().copied();
    let sizes: Dims = lead.chain(rows.sizes.iter().copied()).collect();
    Tensor::from_slice(&results, &sizes)?.to_dtype(dtype)
}

fn between(sorted: &[f64], q: f64, dtype: DType, interpolation: Interpolation) -> f64 {
    let rank = rounded(q * (sorted.len() - 1) as f64, dtype);
    let rank = match interpolation {
        Interpolation::Lower => rank.floor(),
        Interpolation::Higher => rank.ceil(),
        Interpolation::Nearest => rank.round_ties_even(),
        _ => rank,
    };
    let below = sorted[(rank.floor() as usize).min(sorted.len() - 1)];
    let above = sorted[(rank.ceil() as usize).min(sorted.len() - 1)];
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
    let indices: Vec<i64> = match Numbers::of(&rows)? {
        Numbers::Int(all) => {
            all.chunks_exact(len).flat_map(|row| top(row, k_len, largest, sorted)).collect()
        }
        Numbers::Float(all) => {
            all.chunks_exact(len).flat_map(|row| top(row, k_len, largest, sorted)).collect()
        }
        Numbers::Complex(_) => return Err(Error::no_kernel("topk_impl", dtype)),
    };
    let mut sizes = Dims::from_slice(rows.sizes());
    if let Some(last) = sizes.last_mut() {
        *last = k;
    }
    let indices = Tensor::from_slice(&indices, &sizes)?;
    let values = crate::gather(&rows, -1, &indices)?;
    let back = |tensor: Tensor| tensor.transpose(at as i64, -1)?.contiguous();
    Ok((back(values)?, back(indices)?))
}

fn top<T: Real>(row: &[T], k: usize, largest: bool, sorted: bool) -> Vec<i64> {
    let mut queue: Vec<Placed<T>> = row.iter().copied().zip(0..).collect();
    let first = |a: Placed<T>, b: Placed<T>| match largest {
        true => a.0.order(b.0).is_gt(),
        false => a.0.order(b.0).is_lt(),
    };
    if k == 0 {
        return Vec::new();
    }
    if k * 64 <= row.len() {
        introsort::partial_sort(&mut queue, k, &first);
    } else {
        introsort::select(&mut queue, k - 1, &first);
        if sorted {
            introsort::sort(&mut queue[..k - 1], &first);
        }
    }
    queue.iter().take(k).map(|placed| placed.1).collect()
}
