//! Discrete Fourier transforms of the lines of a tensor along one dimension, by rustfft.
//!
//! A real line of an even number of points is taken for half as many complex numbers, its even
//! points their real and its odd points their imaginary parts; what that gives is taken apart after
//! the transform, or put together before it.

mod definition;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use num_complex::Complex;
use rustfft::{Fft, FftDirection, FftNum, FftPlanner};
use sconce_kernels::{Element, Memory, PodElement, Result, Tensor};

use definition::{in_one_go, of_infinite};

/// Plans of more points are not kept for the next call.
const MOST_POINTS: usize = 1 << 16;

/// How many plans a thread keeps.
const MOST_PLANS: usize = 64;

/// What transforms need to know beside their lines.
pub(crate) struct Plans<T: FftNum> {
    planner: FftPlanner<T>,
    made: BTreeMap<(usize, bool), Arc<dyn Fft<T>>>,
    turns: BTreeMap<usize, Rc<[Complex<T>]>>,
}

impl<T: Precision> Plans<T> {
    fn new() -> Plans<T> {
        Plans { planner: FftPlanner::new(), made: BTreeMap::new(), turns: BTreeMap::new() }
    }

    fn plan(&mut self, points: usize, forward: bool) -> Arc<dyn Fft<T>> {
        let direction = if forward { FftDirection::Forward } else { FftDirection::Inverse };
        if points > MOST_POINTS {
            return FftPlanner::new().plan_fft(points, direction);
        }
        if self.made.len() >= MOST_PLANS {
            *self = Plans::new();
        }
        let Plans { planner, made, .. } = self;
        made.entry((points, forward)).or_insert_with(|| planner.plan_fft(points, direction)).clone()
    }

    /// e^(-2πik/n) for k up to n / 2.
    fn turns(&mut self, points: usize) -> Rc<[Complex<T>]> {
        let make = || {
            let turn = |k: usize| {
                let (sin, cos) = (std::f64::consts::TAU * k as f64 / points as f64).sin_cos();
                Complex::new(T::of(cos), T::of(-sin))
            };
            (0..=points / 2).map(turn).collect()
        };
        if points > MOST_POINTS {
            return make();
        }
        self.turns.entry(points).or_insert_with(make).clone()
    }
}

/// The precision that a transform is computed in: that of its elements.
pub(crate) trait Precision: FftNum + PodElement + std::ops::MulAssign {
    /// This thread's plans.
    fn with_plans<R>(f: impl FnOnce(&mut Plans<Self>) -> R) -> R;

    /// A number of this precision.
    fn of(number: f64) -> Self;

    /// The number in double precision.
    fn wide(self) -> f64;
}

macro_rules! precisions {
    ($($ty:ident)*) => {$(
        impl Precision for $ty {
            fn with_plans<R>(f: impl FnOnce(&mut Plans<$ty>) -> R) -> R {
                thread_local! {
                    static PLANS: RefCell<Plans<$ty>> = RefCell::new(Plans::new());
                }
                PLANS.with_borrow_mut(f)
            }

            fn of(number: f64) -> $ty {
                number as $ty
            }

            fn wide(self) -> f64 {
                self.into()
            }
        }
    )*};
}
precisions! { f32 f64 }

/// Refuses so many complex numbers of scratch memory beyond what may be held.
fn ask<T: Precision>(numbers: usize) -> Result<()> {
    Memory::check_scratch(numbers.saturating_mul(size_of::<Complex<T>>()))
}

/// A plan for lines of so many points, which asks for the memory of the plan and of its scratch before it takes them.
fn planned<T: Precision>(points: usize, forward: bool) -> Result<Arc<dyn Fft<T>>> {
    if points > MOST_POINTS {
        // A number for each point at least; where a large prime divides them, a plan of more points with their
        // transform besides.
        ask::<T>(if greatest_factor(points) <= MOST_SMALL { points } else { 3 * points })?;
    }
    let plan = T::with_plans(|plans| plans.plan(points, forward));
    ask::<T>(plan.get_inplace_scratch_len())?;
    Ok(plan)
}

/// The greatest prime that has a transform of its own, without others.
const MOST_SMALL: usize = 31;

fn greatest_factor(mut number: usize) -> usize {
    let (mut factor, mut greatest) = (2, 1);
    while factor * factor <= number {
        while number.is_multiple_of(factor) {
            (number, greatest) = (number / factor, factor);
        }
        factor += 1;
    }
    greatest.max(number)
}

/// Transforms the lines of a tensor along its dimensions, one after the other. The result is a view with the
/// last of them innermost in memory: who calls knows what layout it is to have.
///
/// # Errors
/// For dimensions that do not exist, and other dtypes.
pub(crate) fn complex_lines<T: Precision>(
    input: &Tensor,
    dims: &[i64],
    forward: bool,
    factor: f64,
) -> Result<Tensor>
where
    Complex<T>: PodElement,
{
    let mut result = input.clone();
    let mut factor = T::of(factor);
    for &dim in dims {
        let lines = to_last(&result, dim)?.copy()?;
        let len = lines.size(-1)? as usize;
        if lines.numel() > 0 {
            let mut all = lines.write::<Complex<T>>()?;
            let infinite =
                all.chunks_exact(len).map(|line| of_infinite(line.iter().copied(), forward));
            let infinite: Vec<_> =
                infinite.enumerate().filter_map(|(at, line)| Some((at, line?))).collect();
            planned::<T>(len, forward)?.process(&mut all);
            for (at, line) in infinite {
                all[at * len..][..len].copy_from_slice(&line);
            }
            scale(&mut all, factor);
        }
        factor = T::one();
        result = from_last(&lines, dim)?;
    }
    Ok(result)
}

fn scale<T: Precision>(all: &mut [Complex<T>], factor: T) {
    if factor != T::one() {
        all.iter_mut().for_each(|x| *x = *x * factor);
    }
}

/// Transforms the real lines of a tensor along one dimension: the half of each that is not redundant,
/// or all of it.
///
/// # Errors
/// As [`complex_lines`].
pub(crate) fn lines_of_real<T: Precision>(
    input: &Tensor,
    dim: i64,
    factor: f64,
    onesided: bool,
) -> Result<Tensor>
where
    Complex<T>: PodElement,
{
    let lines = to_last(input, dim)?.contiguous()?;
    let len = lines.size(-1)? as usize;
    let kept = if onesided { len / 2 + 1 } else { len };
    let result = sized(&lines, kept, <Complex<T> as Element>::DTYPE)?;
    if lines.numel() > 0 {
        let (from, mut to) = (lines.read::<T>()?, result.write::<Complex<T>>()?);
        let rows = from.chunks_exact(len).zip(to.chunks_exact_mut(kept));
        let half = len / 2;
        let factor = T::of(factor);
        let infinite = |from: &[T], to: &mut [Complex<T>]| {
            let line = of_infinite(from.iter().map(|&x| Complex::new(x, T::zero())), true);
            line.map(|mut line| {
                scale(&mut line, factor);
                to.copy_from_slice(&line[..kept]);
            })
            .is_some()
        };
        if len.is_multiple_of(2) {
            ask::<T>(3 * half)?;
            let fft = planned::<T>(half, true)?;
            let turns = T::with_plans(|plans| plans.turns(len));
            let zero = Complex::new(T::zero(), T::zero());
            let mut line = vec![zero; half];
            let mut scratch = vec![zero; fft.get_inplace_scratch_len()];
            for (from, to) in rows {
                if infinite(from, to) {
                    continue;
                }
                for (z, pair) in line.iter_mut().zip(from.as_chunks::<2>().0) {
                    *z = Complex::new(pair[0], pair[1]);
                }
                fft.process_with_scratch(&mut line, &mut scratch);
                take_apart(&line, &mut to[..=half], &turns, factor);
                mirror(to, len);
            }
        } else {
            ask::<T>(2 * len)?;
            let fft = planned::<T>(len, true)?;
            let mut line = vec![Complex::new(T::zero(), T::zero()); len];
            for (from, to) in rows {
                if infinite(from, to) {
                    continue;
                }
                for (z, &x) in line.iter_mut().zip(from) {
                    *z = Complex::new(x, T::zero());
                }
                fft.process(&mut line);
                scale(&mut line, factor);
                to.copy_from_slice(&line[..kept]);
            }
        }
    }
    from_last(&result, dim)
}

/// The first half of the transform of a real line from that of its points in pairs.
fn take_apart<T: Precision>(
    pairs: &[Complex<T>],
    to: &mut [Complex<T>],
    turns: &[Complex<T>],
    factor: T,
) {
    let half = pairs.len();
    let (first, by) = (pairs[0], factor * T::of(0.5));
    to[0] = Complex::new((first.re + first.im) * factor, T::zero());
    to[half] = Complex::new((first.re - first.im) * factor, T::zero());
    let mirrored = pairs[1..].iter().rev();
    let both = pairs[1..].iter().zip(mirrored).zip(&turns[1..]);
    for (to, ((&a, &b), &turn)) in to[1..half].iter_mut().zip(both) {
        let b = b.conj();
        let (even, odd) = (a + b, (a - b) * turn);
        // Less i times what stands for the odd points.
        *to = Complex::new((even.re + odd.im) * by, (even.im - odd.re) * by);
    }
}

/// The second half of the transform of a real line of `len` points.
fn mirror<T: Precision>(to: &mut [Complex<T>], len: usize) {
    for k in len / 2 + 1..to.len() {
        to[k] = to[len - k].conj();
    }
}

/// Transforms lines along one dimension back to real ones of `len` points, of whose transforms at
/// least half is given.
///
/// # Errors
/// As [`complex_lines`].
pub(crate) fn lines_to_real<T: Precision>(
    input: &Tensor,
    dim: i64,
    len: usize,
    factor: f64,
) -> Result<Tensor>
where
    Complex<T>: PodElement,
{
    let lines = to_last(input, dim)?.contiguous()?;
    let given = lines.size(-1)? as usize;
    let result = sized(&lines, len, T::DTYPE)?;
    if result.numel() > 0 && lines.numel() > 0 {
        let (from, mut to) = (lines.read::<Complex<T>>()?, result.write::<T>()?);
        let rows = from.chunks_exact(given).zip(to.chunks_exact_mut(len));
        let half = len / 2;
        let factor = T::of(factor);
        let real = |x: Complex<T>| Complex::new(x.re, T::zero());
        let whole = |from: &[Complex<T>], line: &mut [Complex<T>]| {
            line[..=half].copy_from_slice(&from[..=half]);
            line[0] = real(from[0]);
            if len.is_multiple_of(2) {
                line[half] = real(from[half]);
            }
            mirror(line, len);
        };
        let all = if in_one_go(len) { len } else { 0 };
        let mut all = vec![Complex::new(T::zero(), T::zero()); all];
        let mut infinite = |from: &[Complex<T>], to: &mut [T]| {
            if !in_one_go(len) {
                return false;
            }
            whole(from, &mut all);
            let line = of_infinite(all.iter().copied(), false);
            line.map(|line| to.iter_mut().zip(line).for_each(|(x, z)| *x = z.re * factor)).is_some()
        };
        if len.is_multiple_of(2) {
            ask::<T>(3 * half)?;
            let fft = planned::<T>(half, false)?;
            let turns = T::with_plans(|plans| plans.turns(len));
            let mut line = vec![Complex::new(T::zero(), T::zero()); half];
            for (from, to) in rows {
                if infinite(from, to) {
                    continue;
                }
                let (first, last) = (real(from[0]), real(from[half]));
                line[0] = Complex::new(first.re + last.re, first.re - last.re);
                let both = from[1..half].iter().zip(from[1..half].iter().rev()).zip(&turns[1..]);
                for (z, ((&a, &b), turn)) in line[1..].iter_mut().zip(both) {
                    let b = b.conj();
                    let (even, odd) = (a + b, (a - b) * turn.conj());
                    *z = Complex::new(even.re - odd.im, even.im + odd.re);
                }
                fft.process(&mut line);
                for (pair, z) in to.as_chunks_mut::<2>().0.iter_mut().zip(&line) {
                    *pair = [z.re * factor, z.im * factor];
                }
            }
        } else {
            ask::<T>(2 * len)?;
            let fft = planned::<T>(len, false)?;
            let mut line = vec![Complex::new(T::zero(), T::zero()); len];
            for (from, to) in rows {
                if infinite(from, to) {
                    continue;
                }
                whole(from, &mut line);
                fft.process(&mut line);
                to.iter_mut().zip(&line).for_each(|(x, z)| *x = z.re * factor);
            }
        }
    }
    from_last(&result, dim)
}

/// A tensor for lines of another length.
fn sized(lines: &Tensor, len: usize, dtype: sconce_kernels::DType) -> Result<Tensor> {
    let mut sizes = lines.sizes().to_vec();
    if let Some(last) = sizes.last_mut() {
        *last = len as i64;
    }
    Tensor::zeros(&sizes, dtype)
}

/// The tensor with one dimension moved to the end.
fn to_last(input: &Tensor, dim: i64) -> Result<Tensor> {
    input.movedim(&[dim], &[-1])
}

/// The tensor with its last dimension moved to `dim`.
fn from_last(input: &Tensor, dim: i64) -> Result<Tensor> {
    input.movedim(&[-1], &[dim])
}

#[cfg(test)]
mod tests {
    use sconce_kernels::DType;

    use super::*;

    /// The definition, of every line of `len` numbers.
    fn slow(all: &[Complex<f64>], len: usize, forward: bool) -> Vec<Complex<f64>> {
        let sign = if forward { -1.0 } else { 1.0 };
        let line = |line: &[Complex<f64>]| {
            let at = |k: usize| {
                let terms = line.iter().enumerate().map(|(i, &x)| {
                    let angle = sign * std::f64::consts::TAU * (i * k % len) as f64 / len as f64;
                    x * Complex::from_polar(1.0, angle)
                });
                terms.sum::<Complex<f64>>()
            };
            (0..len).map(at).collect::<Vec<_>>()
        };
        all.chunks_exact(len).flat_map(line).collect()
    }

    fn check(found: &Tensor, expected: &[Complex<f64>], within: f64, what: &str) {
        let found = found.to_dtype(DType::Complex128).unwrap().to_vec::<Complex<f64>>().unwrap();
        assert_eq!(found.len(), expected.len(), "{what}");
        let largest = expected.iter().fold(1.0, |most: f64, x| most.max(x.norm()));
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).norm() < within * largest, "{what}: {found} {expected}");
        }
    }

    #[test]
    fn lines_are_transformed_as_the_definition_says() {
        for len in [1, 2, 3, 4, 5, 6, 7, 12, 17, 30, 97, 128] {
            let numbers: Vec<f64> = (0..3 * len).map(|i| ((i * 37) % 23) as f64 - 9.5).collect();
            let real: Vec<Complex<f64>> = numbers.iter().map(|&x| x.into()).collect();
            let forward = slow(&real, len, true);
            let kept = len / 2 + 1;
            let half: Vec<_> =
                forward.chunks_exact(len).flat_map(|line| line[..kept].to_vec()).collect();
            let sizes = [3, len as i64];
            let input = Tensor::from_slice(&numbers, &sizes).unwrap();
            let single = input.to_dtype(DType::Float32).unwrap();
            let what = format!("{len} points");
            for (onesided, expected) in [(true, &half), (false, &forward)] {
                let found = lines_of_real::<f64>(&input, 1, 1.0, onesided).unwrap();
                check(&found, expected, 1e-13, &what);
                let found = lines_of_real::<f32>(&single, 1, 1.0, onesided).unwrap();
                check(&found, expected, 1e-6, &what);
                let turned = lines_of_real::<f64>(&input.t().unwrap(), 0, 1.0, onesided).unwrap();
                check(&turned.t().unwrap(), expected, 1e-13, &what);
            }
            let spectrum = Tensor::from_slice(&half, &[3, kept as i64]).unwrap();
            let back = lines_to_real::<f64>(&spectrum, 1, len, 1.0 / len as f64).unwrap();
            check(&back, &real, 1e-13, &what);
            let spectrum = spectrum.to_dtype(DType::Complex64).unwrap();
            let back = lines_to_real::<f32>(&spectrum, 1, len, 1.0 / len as f64).unwrap();
            check(&back, &real, 1e-6, &what);
            let whole = input.to_dtype(DType::Complex128).unwrap();
            let found = complex_lines::<f64>(&whole, &[1], true, 1.0).unwrap();
            check(&found, &forward, 1e-13, &what);
            let both = complex_lines::<f64>(&whole, &[1, 0], false, 0.5).unwrap();
            let across: Vec<_> = {
                let along = slow(&real, len, false);
                let turned: Vec<_> = (0..3 * len).map(|i| along[i % 3 * len + i / 3]).collect();
                let turned = slow(&turned, 3, false);
                (0..3 * len).map(|i| turned[i % len * 3 + i / len] * 0.5).collect()
            };
            check(&both, &across, 1e-13, &what);
        }
    }
}
