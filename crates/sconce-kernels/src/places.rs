//! Where index tensors point to: runs of neighbouring elements of a contiguous tensor.

use std::cell::Ref;

use half::{bf16, f16};
use num_complex::Complex;

use crate::rows::PARALLEL;
use crate::shape::{contiguous_strides, wrap_dim};
use crate::simd::dispatch;
use crate::{Bool, DType, Dims, Element, Error, Result, Tensor, threads, walk};

/// Runs `$f::<T>` for an unsigned type as wide as the dtype's elements: moving needs no more.
macro_rules! by_width {
    ($tensor:expr, $f:ident ( $($arg:expr),* )) => {
        match $tensor.dtype().item_size() {
            1 => $f::<u8>($($arg),*),
            2 => $f::<u16>($($arg),*),
            4 => $f::<u32>($($arg),*),
            8 => $f::<u64>($($arg),*),
            _ => $f::<$crate::places::Widest>($($arg),*),
        }
    };
}
pub(crate) use by_width;

/// The widest element.
pub(crate) type Widest = Complex<f64>;

/// A contiguous tensor's elements as units of their width.
pub(crate) fn units<T: Element>(tensor: &Tensor) -> Result<Ref<'_, [T]>> {
    let start = if tensor.numel() == 0 { 0 } else { tensor.offset() as usize };
    let range = start..start + tensor.count();
    Ref::filter_map(tensor.storage().read::<T>()?, |all| all.get(range))
        .map_err(|_| Error::runtime("tensor reaches beyond its storage"))
}

/// Sizes, of which a tensor without dimensions has one.
pub(crate) fn at_least_one(sizes: &[i64]) -> Dims {
    if sizes.is_empty() { Dims::from_elem(1, 1) } else { Dims::from_slice(sizes) }
}

/// Runs of elements in a contiguous tensor, in the order of the elements of another.
pub(crate) struct Places {
    /// Where each run starts, as `int64`.
    starts: Tensor,
    /// How long each is.
    len: usize,
}

impl Places {
    /// Runs of `len` elements that are known to lie in the tensor.
    pub(crate) fn new(starts: Tensor, len: usize) -> Places {
        Places { starts, len }
    }

    /// Where every element of `index` points to along a dimension of a contiguous `input`. What is
    /// expanded over the last dimensions gives runs of their elements.
    ///
    /// # Errors
    /// For indices beyond the dimension, and an index tensor larger than the input elsewhere.
    pub(crate) fn along(input: &Tensor, dim: i64, index: &Tensor) -> Result<Places> {
        if !matches!(index.dtype(), DType::Int64 | DType::Int32) && index.numel() > 0 {
            return Err(Error::runtime("gather(): Expected dtype int32/int64 for index"));
        }
        let dim = wrap_dim(dim, input.dim())?;
        if index.numel() == 0 {
            return Ok(Places::new(Tensor::zeros(&[0], DType::Int64)?, 1));
        }
        if index.dim().max(1) != input.dim().max(1) {
            let message = "Index tensor must have the same number of dimensions as input tensor";
            return Err(Error::runtime(message));
        }
        for (at, (&i, &n)) in index.sizes().iter().zip(input.sizes()).enumerate() {
            if at != dim && i > n {
                return Err(Error::runtime(format!(
                    "Size does not match at dimension {at} expected index {:?} to be no larger \
                     than self {:?} apart from dimension {dim}",
                    index.sizes(),
                    input.sizes()
                )));
            }
        }
        let index = index.to_dtype(DType::Int64)?;
        let (sizes, own) = (at_least_one(input.sizes()), at_least_one(index.sizes()));
        let steps = at_least_one(index.strides());
        let mut strides = contiguous_strides(&sizes);
        let (size, stride) = (sizes[dim], strides[dim]);
        let repeats = |d: &usize| own[*d] == sizes[*d] && (steps[*d] == 0 || own[*d] == 1);
        let tail = (dim + 1..own.len()).rev().take_while(repeats).count();
        let kept = own.len() - tail;
        let len = crate::shape::product(&own[kept..]) as usize;
        strides[dim] = 0;

        let starts = Tensor::unset(&own[..kept], DType::Int64)?;
        let mut beyond = None;
        {
            let all = index.storage().read::<i64>()?;
            let mut starts = starts.write::<i64>()?;
            let mut rest = &mut starts[..];
            let steps = [&steps[..kept], &strides[..kept]];
            dispatch(
                #[inline(always)]
                || {
                    walk::rows(&own[..kept], steps, [index.offset(), 0], |at, step, n| {
                        let (row, later) = std::mem::take(&mut rest).split_at_mut(n);
                        rest = later;
                        let (from, base, next) = (at[0], at[1] as i64, step[1] as i64);
                        match step[0] {
                            0 => row.fill(all[from]),
                            1 => row.copy_from_slice(&all[from..from + n]),
                            step => {
                                let picked = all[from..].iter().step_by(step);
                                row.iter_mut().zip(picked).for_each(|(x, &i)| *x = i);
                            }
                        }
                        let outside = |i: i64| (i < 0) | (i >= size);
                        if row.iter().fold(false, |any, &i| any | outside(i)) {
                            beyond = beyond.or(row.iter().copied().find(|&i| outside(i)));
                            return;
                        }
                        match (stride, next) {
                            (1, 0) => row.iter_mut().for_each(|x| *x += base),
                            _ => row.iter_mut().enumerate().for_each(|(i, x)| {
                                *x = base + i as i64 * next + *x * stride;
                            }),
                        }
                    });
                },
            );
        }
        match beyond {
            Some(i) => Err(Error::runtime(format!(
                "index {i} is out of bounds for dimension {dim} with size {size}"
            ))),
            None => Ok(Places::new(starts, len)),
        }
    }

    /// How long each run is.
    pub(crate) fn run(&self) -> usize {
        self.len
    }

    /// Where each run starts.
    ///
    /// # Errors
    /// Never: they are this kernel's own.
    pub(crate) fn starts(&self) -> Result<Ref<'_, [i64]>> {
        self.starts.read::<i64>()
    }

    /// The elements at these places of a contiguous tensor, as a tensor of these sizes.
    ///
    /// # Errors
    /// Where memory is short.
    pub(crate) fn gather(&self, input: &Tensor, sizes: &[i64]) -> Result<Tensor> {
        fn copy<T: Element>(input: &Tensor, result: &Tensor, places: &Places) -> Result<()> {
            let (from, starts) = (units::<T>(input)?, places.starts()?);
            let (from, starts, len) = (&from[..], &starts[..], places.len);
            let mut to = result.storage().write::<T>()?;
            let to = &mut to[..starts.len() * len];
            threads::pieces(to, len, PARALLEL, |start, piece| match len {
                0 => {}
                1 => piece.iter_mut().zip(&starts[start..]).for_each(|(x, &at)| {
                    *x = from[at as usize];
                }),
                _ => piece.chunks_exact_mut(len).zip(&starts[start / len..]).for_each(
                    |(run, &at)| run.copy_from_slice(&from[at as usize..at as usize + len]),
                ),
            });
            Ok(())
        }
        let result = Tensor::unset(sizes, input.dtype())?;
        by_width!(input, copy(input, &result, self))?;
        Ok(result)
    }

    /// Writes the elements of a contiguous `source` of the same dtype to these places of a contiguous
    /// tensor; the last one wins.
    ///
    /// # Errors
    /// Where both share a storage.
    pub(crate) fn scatter(&self, target: &Tensor, source: &Tensor) -> Result<()> {
        fn copy<T: Element>(target: &Tensor, source: &Tensor, places: &Places) -> Result<()> {
            let (from, starts, len) = (units::<T>(source)?, places.starts()?, places.len);
            let mut to = target.storage().write::<T>()?;
            let to = to.get_mut(target.offset() as usize..).unwrap_or_default();
            match len {
                0 => {}
                1 => starts.iter().zip(&*from).for_each(|(&at, &x)| to[at as usize] = x),
                _ => starts.iter().zip(from.chunks_exact(len)).for_each(|(&at, run)| {
                    to[at as usize..at as usize + len].copy_from_slice(run);
                }),
            }
            Ok(())
        }
        by_width!(target, copy(target, source, self))
    }

    /// Folds the elements of `source` into these places of `target`, in order.
    ///
    /// # Errors
    /// Never: see [`Places::starts`].
    pub(crate) fn fold<T: Element>(
        &self,
        target: &mut [T],
        source: &[T],
        combine: impl Fn(T, T) -> T,
    ) -> Result<()> {
        let (starts, len) = (self.starts()?, self.len);
        match len {
            0 => {}
            1 => starts.iter().zip(source).for_each(|(&at, &x)| {
                let target = &mut target[at as usize];
                *target = combine(*target, x);
            }),
            _ => dispatch(
                #[inline(always)]
                || {
                    for (&at, run) in starts.iter().zip(source.chunks_exact(len)) {
                        for (to, &x) in target[at as usize..at as usize + len].iter_mut().zip(run) {
                            *to = combine(*to, x);
                        }
                    }
                },
            ),
        }
        Ok(())
    }

    /// Adds the elements of a contiguous `source` of the same dtype to these places of a contiguous
    /// tensor, every sum in that dtype.
    ///
    /// # Errors
    /// Where both share a storage, and for dtypes without kernels.
    pub(crate) fn add(&self, target: &Tensor, source: &Tensor) -> Result<()> {
        macro_rules! by_dtype {
            ($($dtype:ident $sum:expr;)*) => {
                match target.dtype() {
                    $(DType::$dtype => {
                        self.fold(&mut target.write()?, &source.read()?, $sum)
                    })*
                    other => Err(Error::no_kernel("add_stub", other)),
                }
            };
        }
        by_dtype! {
            Bool |a: Bool, b: Bool| Bool::from(a.get() || b.get());
            UInt8 u8::wrapping_add;
            Int8 i8::wrapping_add;
            Int16 i16::wrapping_add;
            Int32 i32::wrapping_add;
            Int64 i64::wrapping_add;
            UInt16 u16::wrapping_add;
            UInt32 u32::wrapping_add;
            UInt64 u64::wrapping_add;
            Float16 |a: f16, b: f16| a + b;
            BFloat16 |a: bf16, b: bf16| a + b;
            Float32 |a: f32, b: f32| a + b;
            Float64 |a: f64, b: f64| a + b;
            ComplexHalf |a: Complex<f16>, b: Complex<f16>| a + b;
            Complex64 |a: Complex<f32>, b: Complex<f32>| a + b;
            Complex128 |a: Complex<f64>, b: Complex<f64>| a + b;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_definition() {
        let input = Tensor::zeros(&[3, 4, 5], DType::Float32).unwrap();
        let numbers = |sizes: &[i64]| {
            let count = crate::shape::product(sizes);
            let all: Vec<i64> = (0..count).map(|i| i * 7 % 3).collect();
            Tensor::from_slice(&all, sizes).unwrap()
        };
        let cases = [
            numbers(&[3, 4, 5]),
            numbers(&[2, 3, 4]),
            numbers(&[3, 1, 5]),
            numbers(&[5, 4, 3]).transpose(0, 2).unwrap(),
            numbers(&[3, 4, 1]).expand(&[3, 4, 5]).unwrap(),
            numbers(&[3, 1, 1]).expand(&[3, 4, 5]).unwrap(),
            numbers(&[3, 1, 1]).expand(&[3, 4, 3]).unwrap(),
            numbers(&[1, 4, 1]).expand(&[3, 4, 5]).unwrap(),
            numbers(&[1]).expand(&[3, 2, 5]).unwrap(),
            numbers(&[3, 4, 5]).to_dtype(DType::Int32).unwrap(),
        ];
        for index in cases {
            for dim in 0..3 {
                let places = Places::along(&input, dim as i64, &index).unwrap();
                let starts = places.starts().unwrap();
                let run = places.run() as i64;
                let found: Vec<i64> = starts.iter().flat_map(|&at| at..at + run).collect();
                let picked = index.to_dtype(DType::Int64).unwrap().to_vec::<i64>().unwrap();
                let (_, b, c) = (index.sizes()[0], index.sizes()[1], index.sizes()[2]);
                let expected = picked.iter().enumerate().map(|(n, &i)| {
                    let n = n as i64;
                    let mut at = [n / (b * c), n / c % b, n % c];
                    at[dim] = i;
                    at[0] * 20 + at[1] * 5 + at[2]
                });
                assert_eq!(found, expected.collect::<Vec<_>>(), "{index:?} along {dim}");
            }
        }
        let wrong = Tensor::from_slice(&[0i64, 3, -1], &[1, 1, 3]).unwrap();
        let found = Places::along(&input, 0, &wrong).map(|places| places.run());
        assert_eq!(
            found.unwrap_err().message(),
            "index 3 is out of bounds for dimension 0 with size 3"
        );
    }
}
