//! `max`, `min`, `argmax`, `argmin`, `amax` and `amin`: extreme values and their positions.

use sconce_kernel_core::layout::shape::wrap_dim;
use sconce_kernel_core::parallel::partition;
use sconce_kernel_core::simd::dispatch::dispatch;
use sconce_kernel_core::tensor::promotion::compute_dtype;

use crate::reduction::reduce::{Reduced, Rows, rows};
use crate::reduction::reduction_order::{Columns, WIDTH};
use crate::{DType, Error, PodElement, Result, Tensor};

/// Which end [`min_max`] looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MinMax {
    /// `max`, `amax`, `argmax`.
    Max,
    /// `min`, `amin`, `argmin`.
    Min,
}

/// `torch.max(input, dim)` and `torch.min(input, dim)`: values and their first indices; without a
/// dimension, over all elements. NaN wins over every number.
///
/// # Errors
/// Where there is nothing to choose from, and for complex numbers.
pub fn min_max(
    which: MinMax,
    input: &Tensor,
    dim: Option<i64>,
    keepdim: bool,
) -> Result<(Tensor, Tensor)> {
    if input.dtype().is_quantized() {
        return crate::rearranged_with_indices(input, |whole| min_max(which, whole, dim, keepdim));
    }
    let name = if which == MinMax::Max { "max" } else { "min" };
    positions(MinMaxQuery::new(name, which, input, dim, keepdim)?)
}

/// The values of [`min_max`] alone.
///
/// # Errors
/// As [`min_max`].
pub fn min_max_values(
    which: MinMax,
    input: &Tensor,
    dim: Option<i64>,
    keepdim: bool,
) -> Result<Tensor> {
    if input.dtype().is_quantized() {
        return Ok(min_max(which, input, dim, keepdim)?.0);
    }
    let name = if which == MinMax::Max { "max" } else { "min" };
    values(MinMaxQuery::new(name, which, input, dim, keepdim)?)
}

/// `torch.argmax` and `torch.argmin`.
///
/// # Errors
/// As [`min_max`], and for `bool`.
pub fn arg_min_max(
    which: MinMax,
    input: &Tensor,
    dim: Option<i64>,
    keepdim: bool,
) -> Result<Tensor> {
    let name = if which == MinMax::Max { "argmax" } else { "argmin" };
    if input.dtype() == DType::Bool {
        return Err(Error::runtime(format!("{name}(): does not support bool input")));
    }
    if input.numel() == 0 && dim.is_none() {
        let message = "Expected reduction dim to be specified for input.numel() == 0.";
        return Err(Error::index(format!("{name}(): {message}")));
    }
    match input.dtype().is_quantized() {
        true => Ok(min_max(which, input, dim, keepdim)?.1),
        false => Ok(positions(MinMaxQuery::new(name, which, input, dim, keepdim)?)?.1),
    }
}

/// What is chosen from, once it is known to be something.
struct MinMaxQuery<'a> {
    name: &'a str,
    which: MinMax,
    dtype: DType,
    reduced: Reduced,
    compute: DType,
}

impl<'a> MinMaxQuery<'a> {
    /// For an operator of this name.
    fn new(
        name: &'a str,
        which: MinMax,
        input: &Tensor,
        dim: Option<i64>,
        keepdim: bool,
    ) -> Result<MinMaxQuery<'a>> {
        let choice = MinMaxQuery::of_dims(name, which, input, dim.as_slice(), keepdim)?;
        let reduced = &choice.reduced;
        if reduced.len == 0 && (reduced.count > 0 || dim.is_none()) {
            return Err(match dim {
                Some(dim) => Error::index(format!(
                    "{name}(): Expected reduction dim {} to have non-zero size.",
                    wrap_dim(dim, input.dim())?
                )),
                None => Error::runtime(format!(
                    "{name}(): Expected reduction dim to be specified for input.numel() == 0. \
                     Specify the reduction dim with the 'dim' argument."
                )),
            });
        }
        Ok(choice)
    }

    /// The same over any dimensions, which the caller knows to hold something.
    fn of_dims(
        name: &'a str,
        which: MinMax,
        input: &Tensor,
        dims: &[i64],
        keepdim: bool,
    ) -> Result<MinMaxQuery<'a>> {
        let dtype = input.dtype();
        if dtype.is_complex() || dtype == DType::UInt64 {
            let kernel = if which == MinMax::Max { "max_all" } else { "min_all" };
            return Err(Error::no_kernel(kernel, dtype));
        }
        let compute = match dtype {
            DType::UInt8 | DType::Int8 | DType::Int16 | DType::Int32 => dtype,
            DType::Bool => DType::UInt8,
            other => compute_dtype(other),
        };
        let reduced = Reduced::new(&input.to_dtype(compute)?, dims, keepdim)?;
        Ok(MinMaxQuery { name, which, dtype, reduced, compute })
    }
}

/// The values that are chosen.
fn values(choice: MinMaxQuery<'_>) -> Result<Tensor> {
    let MinMaxQuery { name, which, dtype, reduced, compute } = choice;
    let values = match compute {
        DType::Float32 => reduced.extremes::<f32>(which),
        DType::Float64 => reduced.extremes::<f64>(which),
        DType::Int64 => reduced.extremes::<i64>(which),
        DType::Int32 => reduced.extremes::<i32>(which),
        DType::Int16 => reduced.extremes::<i16>(which),
        DType::Int8 => reduced.extremes::<i8>(which),
        DType::UInt8 => reduced.extremes::<u8>(which),
        _ => Err(Error::no_kernel(name, compute)),
    }?;
    values.to_dtype(dtype)
}

/// The values that are chosen, and where they stand.
fn positions(choice: MinMaxQuery<'_>) -> Result<(Tensor, Tensor)> {
    let MinMaxQuery { name, which, dtype, reduced, compute } = choice;
    let (values, indices) = match compute {
        DType::Float32 => reduced.positions::<f32>(which),
        DType::Float64 => reduced.positions::<f64>(which),
        DType::Int64 => reduced.positions::<i64>(which),
        DType::Int32 => reduced.positions::<i32>(which),
        DType::Int16 => reduced.positions::<i16>(which),
        DType::Int8 => reduced.positions::<i8>(which),
        DType::UInt8 => reduced.positions::<u8>(which),
        _ => Err(Error::no_kernel(name, compute)),
    }?;
    Ok((values.to_dtype(dtype)?, indices))
}

/// Numbers of which one is the greatest. NaN wins over every number, and is one of them.
trait Ordered: PodElement + PartialOrd {
    /// Nothing is less.
    const LEAST: Self;
    /// Nothing but NaN is greater.
    const GREATEST: Self;
    /// Whether they are integers, of which those that are alike are the same.
    const WHOLE: bool = false;

    /// Whether it is NaN.
    #[inline(always)]
    #[allow(clippy::eq_op, reason = "only NaN is not itself")]
    fn is_none(self) -> bool {
        self != self
    }

    /// The greater; the first where they are alike.
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        if (other > self) | other.is_none() { other } else { self }
    }

    /// The lesser; the first where they are alike.
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        if (other < self) | other.is_none() { other } else { self }
    }
}

impl Ordered for f32 {
    const LEAST: f32 = f32::NEG_INFINITY;
    const GREATEST: f32 = f32::INFINITY;
}
impl Ordered for f64 {
    const LEAST: f64 = f64::NEG_INFINITY;
    const GREATEST: f64 = f64::INFINITY;
}
macro_rules! whole {
    ($($ty:ident)*) => {$(
        impl Ordered for $ty {
            const LEAST: $ty = $ty::MIN;
            const GREATEST: $ty = $ty::MAX;
            const WHOLE: bool = true;
        }
    )*};
}
whole! { u8 i8 i16 i32 i64 }

impl Reduced {
    /// The greatest or least element of every row, which must not be empty; NaN wins over every number.
    fn extremes<T: Ordered>(self, which: MinMax) -> Result<Tensor> {
        match which {
            MinMax::Max => self.best(T::LEAST, T::max),
            MinMax::Min => self.best(T::GREATEST, T::min),
        }
    }

    fn best<T: Ordered>(self, start: T, join: impl Fn(T, T) -> T + Copy + Sync) -> Result<Tensor> {
        let values = Tensor::for_overwrite(&self.sizes, T::DTYPE)?;
        let Some(columns) = self.columns() else {
            let Rows { tensor, len, .. } = self.rows()?;
            best_of_rows(&tensor.read::<T>()?, len, &mut values.write::<T>()?, start, join);
            return Ok(values);
        };
        let all = self.storage().read::<T>()?;
        let all: &[T] = &all;
        columns.each(&mut values.write::<T>()?, |at, out| {
            dispatch(
                #[inline(always)]
                || {
                    let (pieces, rest) = out.as_chunks_mut::<TOGETHER>();
                    let done = at + pieces.len() * TOGETHER;
                    for (piece, at) in pieces.iter_mut().zip((at..).step_by(TOGETHER)) {
                        *piece = columns_joined(&all[at..], &columns, [start; TOGETHER], join);
                    }
                    for (out, at) in rest.iter_mut().zip(done..) {
                        [*out] = columns_joined(&all[at..], &columns, [start], join);
                    }
                },
            );
        });
        Ok(values)
    }

    /// The extreme of every row, and where it first stands. Rows must not be empty.
    fn positions<T: Ordered>(self, which: MinMax) -> Result<(Tensor, Tensor)> {
        match which {
            MinMax::Max => self.first_best(T::LEAST, T::max, |a: T, b: T| a > b),
            MinMax::Min => self.first_best(T::GREATEST, T::min, |a: T, b: T| a < b),
        }
    }

    fn first_best<T: Ordered>(
        self,
        start: T,
        join: impl Fn(T, T) -> T + Copy + Sync,
        wins: impl Fn(T, T) -> bool + Copy + Sync,
    ) -> Result<(Tensor, Tensor)> {
        let values = Tensor::for_overwrite(&self.sizes, T::DTYPE)?;
        let indices = Tensor::for_overwrite(&self.sizes, DType::Int64)?;
        let mut found = vec![(start, 0i64); self.count];
        match self.columns().filter(|columns| u32::try_from(columns.len).is_ok()) {
            Some(columns) => {
                let all = self.storage().read::<T>()?;
                let all: &[T] = &all;
                columns
                    .each(&mut found, |at, out| best_of_columns(&all[at..], &columns, out, wins));
            }
            None => {
                let Rows { tensor, len, .. } = self.rows()?;
                let all = tensor.read::<T>()?;
                let all: &[T] = &all;
                partition::for_each_chunk(&mut found, 1, PARALLEL / len.max(1), |first, out| {
                    for (row, out) in (first..).zip(out) {
                        *out = best_of_row(&all[row * len..(row + 1) * len], start, join, wins);
                    }
                });
            }
        }
        let (mut out, mut at) = (values.write::<T>()?, indices.write::<i64>()?);
        for ((out, at), (value, index)) in out.iter_mut().zip(at.iter_mut()).zip(found) {
            (*out, *at) = (value, index);
        }
        drop((out, at));
        Ok((values, indices))
    }
}

/// Elements below which other threads cost more than they bring.
const PARALLEL: usize = 1 << 16;

/// Elements of a row from which on it is quicker iterated over twice, many at a time, than once.
const LONG: usize = 48;

/// The extremes of rows of `len` elements each.
fn best_of_rows<T: Ordered>(
    all: &[T],
    len: usize,
    out: &mut [T],
    start: T,
    join: impl Fn(T, T) -> T + Copy + Sync,
) {
    if let [out] = out
        && len >= PARALLEL
    {
        // A part for each thread, where there are some.
        let mut parts = [start; 8];
        let pieces = all.chunks(len.div_ceil(parts.len()));
        partition::for_each(parts.iter_mut().zip(pieces), |(to, piece)| {
            *to = best_of_values(piece, start, join);
        });
        *out = parts.into_iter().fold(start, join);
        return;
    }
    partition::for_each_chunk(out, 1, PARALLEL / len.max(1), |first, out| {
        for (row, out) in (first..).zip(out) {
            *out = best_of_values(&all[row * len..(row + 1) * len], start, join);
        }
    });
}

/// The extreme of a row.
fn best_of_values<T: Ordered>(row: &[T], start: T, join: impl Fn(T, T) -> T + Copy) -> T {
    dispatch(
        #[inline(always)]
        move || {
            if T::WHOLE {
                return row.iter().fold(start, |best, &x| join(best, x));
            }
            // Vectors of which none waits for another. Not one array of all: that would lie in memory.
            let [mut a, mut b, mut c, mut d] = [[start; LANES]; 4];
            let (pieces, rest) = row.as_chunks::<LANES>();
            let (fours, others) = pieces.as_chunks::<4>();
            for [e, f, g, h] in fours {
                for (lanes, more) in [(&mut a, e), (&mut b, f), (&mut c, g), (&mut d, h)] {
                    join_lanes(lanes, more, join);
                }
            }
            for more in others.iter().chain([&b, &c, &d]) {
                join_lanes(&mut a, more, join);
            }
            rest.iter().chain(&a).fold(start, |best, &x| join(best, x))
        },
    )
}

/// Elements of a row that are compared side by side.
const LANES: usize = 16;

#[inline(always)]
fn join_lanes<T: Copy>(lanes: &mut [T; LANES], more: &[T; LANES], join: impl Fn(T, T) -> T) {
    for l in 0..LANES {
        lanes[l] = join(lanes[l], more[l]);
    }
}

/// The extreme of a row that is not empty, and where it first stands.
fn best_of_row<T: Ordered>(
    row: &[T],
    start: T,
    join: impl Fn(T, T) -> T + Copy,
    wins: impl Fn(T, T) -> bool,
) -> (T, i64) {
    /// Elements that are looked at together.
    const TOGETHER: usize = 64;
    if row.len() < LONG {
        let mut best = (row[0], 0);
        for (&x, at) in row.iter().zip(0..) {
            let better = wins(x, best.0) | (x.is_none() & !best.0.is_none());
            best = if better { (x, at) } else { best };
        }
        return best;
    }
    let best = best_of_values(row, start, join);
    let is_it = |x: T| (x == best) | (x.is_none() & best.is_none());
    let piece = dispatch(
        #[inline(always)]
        || {
            let has = |piece: &[T; TOGETHER]| piece.iter().fold(false, |any, &x| any | is_it(x));
            let (pieces, _) = row.as_chunks::<TOGETHER>();
            pieces.iter().position(has).unwrap_or(pieces.len())
        },
    );
    let at = row[piece * TOGETHER..].iter().position(|&x| is_it(x)).unwrap_or(0);
    let at = piece * TOGETHER + at;
    (row[at], at as i64)
}

/// Columns that are joined side by side, in registers.
const TOGETHER: usize = 32;

/// What columns side by side, the first of which starts at `all`, have been joined to.
#[inline(always)]
fn columns_joined<T: Copy, const N: usize>(
    all: &[T],
    columns: &Columns,
    mut joined: [T; N],
    join: impl Fn(T, T) -> T,
) -> [T; N] {
    for index in 0..columns.len {
        let row = &all[index * columns.step..][..N];
        for i in 0..N {
            joined[i] = join(joined[i], row[i]);
        }
    }
    joined
}

/// The extremes of columns side by side, the first of which start at `all`, and where they first stand.
fn best_of_columns<T: Ordered>(
    all: &[T],
    columns: &Columns,
    out: &mut [(T, i64)],
    wins: impl Fn(T, T) -> bool,
) {
    let width = out.len();
    let (mut best, mut at) = ([T::LEAST; WIDTH], [0u32; WIDTH]);
    best[..width].copy_from_slice(&all[..width]);
    dispatch(
        #[inline(always)]
        || {
            for index in 1..columns.len {
                let row = &all[index * columns.step..][..width];
                for ((&x, best), at) in row.iter().zip(&mut best[..width]).zip(&mut at[..width]) {
                    let better = wins(x, *best) | (x.is_none() & !best.is_none());
                    *best = if better { x } else { *best };
                    *at = if better { index as u32 } else { *at };
                }
            }
        },
    );
    for (out, found) in out.iter_mut().zip(best.into_iter().zip(at)) {
        *out = (found.0, i64::from(found.1));
    }
}

/// `torch.amax` over any dimensions.
///
/// # Errors
/// As [`min_max`].
pub fn amax(input: &Tensor, dims: &[i64], keepdim: bool) -> Result<Tensor> {
    extremum_over(MinMax::Max, input, dims, keepdim)
}

/// `torch.amin` over any dimensions.
///
/// # Errors
/// As [`min_max`].
pub fn amin(input: &Tensor, dims: &[i64], keepdim: bool) -> Result<Tensor> {
    extremum_over(MinMax::Min, input, dims, keepdim)
}

fn extremum_over(which: MinMax, input: &Tensor, dims: &[i64], keepdim: bool) -> Result<Tensor> {
    let name = if which == MinMax::Max { "amax" } else { "amin" };
    if input.numel() == 0 && dims.is_empty() {
        return Err(Error::index(format!(
            "{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the \
             reduction dim with the 'dim' argument."
        )));
    }
    for &dim in dims {
        if input.dim() > 0 && input.size(dim)? == 0 {
            let message = format!("Expected reduction dim {dim} to have non-zero size.");
            return Err(Error::index(format!("{name}(): {message}")));
        }
    }
    if input.dtype().is_quantized() {
        let Rows { tensor, len, count, sizes } = rows(input, dims, keepdim)?;
        let flat = tensor.view(&[count as i64, len as i64])?;
        return min_max(which, &flat, Some(1), false)?.0.view(&sizes);
    }
    let name = if which == MinMax::Max { "max" } else { "min" };
    values(MinMaxQuery::of_dims(name, which, input, dims, keepdim)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_of_rows_and_columns_are_those_found_one_by_one() {
        for (rows, columns) in [(1, 9), (3, 10), (70, 12), (300, 80), (2000, 9)] {
            for nans in [0, 1, 40] {
                // Numbers that come again and again, so that the first of the best has to be found.
                let number = |i: usize| match i * 31 % (rows * columns) < nans {
                    true => f32::NAN,
                    false => (i * 7919 % 97) as f32 - 48.0,
                };
                let numbers: Vec<f32> = (0..rows * columns).map(number).collect();
                let sizes = [rows as i64, columns as i64];
                let table = Tensor::from_slice(&numbers, &sizes).unwrap();
                for (which, greater) in [(MinMax::Max, true), (MinMax::Min, false)] {
                    let first = |line: &mut dyn Iterator<Item = f32>| {
                        let (mut best, mut found) = (line.next().unwrap(), 0);
                        for (x, at) in line.zip(1..) {
                            let wins = if greater { x > best } else { x < best };
                            if !best.is_nan() && (wins || x.is_nan()) {
                                (best, found) = (x, at);
                            }
                        }
                        (best.to_bits(), found)
                    };
                    let by_column = (0..columns)
                        .map(|c| first(&mut (0..rows).map(|r| numbers[r * columns + c])));
                    let by_row = numbers.chunks(columns).map(|row| first(&mut row.iter().copied()));
                    let expected: [Vec<(u32, i64)>; 2] = [by_column.collect(), by_row.collect()];
                    for (dim, expected) in (0..).zip(expected) {
                        let (values, at) = min_max(which, &table, Some(dim), false).unwrap();
                        let bits = |t: &Tensor| -> Vec<u32> {
                            t.to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect()
                        };
                        let found = bits(&values).into_iter().zip(at.to_vec::<i64>().unwrap());
                        assert_eq!(found.collect::<Vec<_>>(), expected, "{rows} {columns} {dim}");
                        let alone = min_max_values(which, &table, Some(dim), false).unwrap();
                        assert_eq!(bits(&alone), bits(&values));
                    }
                }
            }
        }
    }
}
