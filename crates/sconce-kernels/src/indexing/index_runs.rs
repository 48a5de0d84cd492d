//! The positions that index tensors name: runs of neighbouring elements of a contiguous tensor.

use std::cell::Ref;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use half::{bf16, f16};
use num_complex::Complex;
use sconce_kernel_core::layout::shape::{contiguous_strides, wrap_dim};
use sconce_kernel_core::layout::strided_iter;
use sconce_kernel_core::parallel::{grain, partition};
use sconce_kernel_core::simd::dispatch::{dispatch, dispatch_for};

use crate::{Bool, DType, Dims, Error, PodElement, Result, Tensor};

/// Runs `$f::<T>` for an unsigned type as wide as the dtype's elements: moving needs no more.
macro_rules! by_width {
    ($tensor:expr, $f:ident ( $($arg:expr),* )) => {
        match $tensor.dtype().item_size() {
            1 => $f::<u8>($($arg),*),
            2 => $f::<u16>($($arg),*),
            4 => $f::<u32>($($arg),*),
            8 => $f::<u64>($($arg),*),
            _ => $f::<$crate::indexing::index_runs::Widest>($($arg),*),
        }
    };
}
pub(crate) use by_width;

/// The widest element.
pub(crate) type Widest = Complex<f64>;

/// A contiguous tensor's elements as units of their width.
pub(crate) fn units<T: PodElement>(tensor: &Tensor) -> Result<Ref<'_, [T]>> {
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
pub(crate) struct IndexRuns {
    starts: Starts,
    /// How many runs there are.
    count: usize,
    /// How long each is.
    len: usize,
}

/// Where runs start.
enum Starts {
    /// These, as `int64`, are known to lie in the tensor.
    Known(Tensor),
    /// Those that an index tensor says, once somebody asks for them.
    IndexedDim(IndexedDim),
}

/// Elements of an index tensor along a dimension of a contiguous tensor.
struct IndexedDim {
    /// As `int64`.
    index: Tensor,
    walk: IndexWalk,
}

/// How the elements of an index tensor are iterated over.
struct IndexWalk {
    sizes: Dims,
    /// Those of the index tensor, and those of the other one, in which the dimension has none.
    strides: [Dims; 2],
    offset: i64,
    /// Of the other tensor along the dimension.
    size: i64,
    stride: i64,
    /// Which dimension that is.
    dim: usize,
}

/// Starts that are computed together.
const TOGETHER: usize = 512;

impl IndexWalk {
    /// Calls `f` with the starts of runs in this range, a piece at a time, and which the first of them
    /// is. Where an index lies beyond the dimension, it stops and gives that.
    fn pieces(
        &self,
        all: &[i64],
        range: Range<usize>,
        f: &mut dyn FnMut(usize, &[i64]),
    ) -> Option<i64> {
        let (mut piece, mut filled, mut first) = ([0i64; TOGETHER], 0, range.start);
        let mut beyond = None;
        let strides = [&self.strides[0][..], &self.strides[1]];
        strided_iter::rows_within(&self.sizes, strides, [self.offset, 0], range, |at, step, n| {
            let (mut from, mut base, next) = (at[0], at[1] as i64, step[1] as i64);
            let mut left = if beyond.is_none() { n } else { 0 };
            while left > 0 {
                let count = left.min(TOGETHER - filled);
                let part = &mut piece[filled..filled + count];
                match step[0] {
                    0 => part.fill(all[from]),
                    1 => part.copy_from_slice(&all[from..from + count]),
                    step => {
                        let picked = all[from..].iter().step_by(step);
                        part.iter_mut().zip(picked).for_each(|(x, &i)| *x = i);
                    }
                }
                if !self.starts(part, base, next) {
                    beyond = part.iter().copied().find(|i| !(0..self.size).contains(i));
                    return;
                }
                filled += count;
                from += count * step[0];
                base += count as i64 * next;
                left -= count;
                if filled == TOGETHER {
                    f(first, &piece);
                    (first, filled) = (first + filled, 0);
                }
            }
        });
        if beyond.is_none() && filled > 0 {
            f(first, &piece[..filled]);
        }
        beyond
    }

    /// Makes of indices where runs start, of which the first has index 0 at `base` and each other
    /// `next` further on. Gives `false`, and changes nothing, where one lies beyond the dimension.
    fn starts(&self, part: &mut [i64], base: i64, next: i64) -> bool {
        let (last, stride) = (self.size - 1, self.stride);
        dispatch(
            #[inline(always)]
            || {
                // The signs of what is below zero and above the last one.
                if part.iter().fold(0, |signs, &i| signs | i | last.wrapping_sub(i)) < 0 {
                    return false;
                }
                match (stride, next) {
                    (1, 0) => part.iter_mut().for_each(|x| *x += base),
                    _ => part.iter_mut().zip(0..).for_each(|(x, i)| {
                        *x = base + i * next + *x * stride;
                    }),
                }
                true
            },
        )
    }
}

/// Places of which what they are computed from has been read: threads can share it.
enum RunStarts<'a> {
    Known(&'a [i64]),
    IndexedDim(&'a [i64], &'a IndexWalk),
}

impl RunStarts<'_> {
    /// Calls `f` with the starts of runs in this range, some at a time, and which the first of them is.
    ///
    /// # Errors
    /// For indices beyond the dimension.
    fn pieces(&self, range: Range<usize>, mut f: impl FnMut(usize, &[i64])) -> Result<()> {
        let (all, walk) = match *self {
            RunStarts::Known(starts) => {
                f(range.start, &starts[range]);
                return Ok(());
            }
            RunStarts::IndexedDim(all, walk) => (all, walk),
        };
        match walk.pieces(all, range, &mut f) {
            Some(i) => Err(Error::runtime(format!(
                "index {i} is out of bounds for dimension {} with size {}",
                walk.dim, walk.size
            ))),
            None => Ok(()),
        }
    }
}

impl IndexRuns {
    /// Runs of `len` elements that are known to lie in the tensor.
    pub(crate) fn new(starts: Tensor, len: usize) -> IndexRuns {
        IndexRuns { count: starts.count(), starts: Starts::Known(starts), len }
    }

    /// Where every element of `index` points to along a dimension of a contiguous `input`. What is
    /// expanded over the last dimensions gives runs of their elements. Whether indices lie within the
    /// dimension is found out when the positions are used.
    ///
    /// # Errors
    /// For an index tensor of other numbers than whole ones, and one larger than the input elsewhere.
    pub(crate) fn along(input: &Tensor, dim: i64, index: &Tensor) -> Result<IndexRuns> {
        if !matches!(index.dtype(), DType::Int64 | DType::Int32) && index.numel() > 0 {
            return Err(Error::runtime("gather(): Expected dtype int32/int64 for index"));
        }
        let dim = wrap_dim(dim, input.dim())?;
        if index.numel() == 0 {
            return Ok(IndexRuns::new(Tensor::zeros(&[0], DType::Int64)?, 1));
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
        let len = sconce_kernel_core::layout::shape::product(&own[kept..]) as usize;
        strides[dim] = 0;
        let (sizes, strides) =
            strided_iter::merge(&own[..kept], [&steps[..kept], &strides[..kept]]);
        let count = sconce_kernel_core::layout::shape::product(&sizes) as usize;
        let offset = index.offset();
        let walk = IndexWalk { sizes, strides, offset, size, stride, dim };
        Ok(IndexRuns { starts: Starts::IndexedDim(IndexedDim { index, walk }), count, len })
    }

    /// How long each run is.
    pub(crate) fn run(&self) -> usize {
        self.len
    }

    /// Calls `f` with where the runs start.
    fn with<R>(&self, f: impl FnOnce(RunStarts<'_>) -> Result<R>) -> Result<R> {
        match &self.starts {
            Starts::Known(starts) => f(RunStarts::Known(&starts.read::<i64>()?)),
            Starts::IndexedDim(along) => {
                f(RunStarts::IndexedDim(&along.index.storage().read::<i64>()?, &along.walk))
            }
        }
    }

    /// Calls `f` for every run, in order, with where it starts.
    ///
    /// # Errors
    /// For indices beyond the dimension.
    pub(crate) fn each(&self, mut f: impl FnMut(usize, usize)) -> Result<()> {
        self.with(|found| {
            found.pieces(0..self.count, |first, starts| {
                (first..).zip(starts).for_each(|(run, &at)| f(run, at as usize));
            })
        })
    }

    /// The elements at these positions of a contiguous tensor, as a tensor of these sizes.
    ///
    /// # Errors
    /// For indices beyond the dimension, and where memory is short.
    pub(crate) fn gather(&self, input: &Tensor, sizes: &[i64]) -> Result<Tensor> {
        fn copy<T: PodElement>(
            input: &Tensor,
            result: &Tensor,
            positions: &IndexRuns,
        ) -> Result<()> {
            let (from, len) = (units::<T>(input)?, positions.len);
            let from = &from[..];
            let mut to = result.storage().write::<T>()?;
            let to = &mut to[..positions.count * len];
            positions.with(|found| {
                let part = |start: usize, piece: &mut [T]| {
                    let runs = start / len..(start + piece.len()) / len;
                    let first = runs.start;
                    found.pieces(runs, |run, starts| {
                        let to = &mut piece[(run - first) * len..][..starts.len() * len];
                        match len {
                            1 => to.iter_mut().zip(starts).for_each(|(x, &at)| {
                                *x = from[at as usize];
                            }),
                            _ => to.chunks_exact_mut(len).zip(starts).for_each(|(run, &at)| {
                                run.copy_from_slice(&from[at as usize..at as usize + len]);
                            }),
                        }
                    })
                };
                if to.is_empty() {
                    // Indices may be wrong nevertheless.
                    return found.pieces(0..positions.count, |_, _| {});
                }
                let failed = AtomicBool::new(false);
                partition::for_each_chunk(to, len, grain::ROWS, |start, piece| {
                    failed.fetch_or(part(start, piece).is_err(), Ordering::Relaxed);
                });
                match failed.into_inner() {
                    // The first one is told, whichever thread found one.
                    true => found.pieces(0..positions.count, |_, _| {}),
                    false => Ok(()),
                }
            })
        }
        let result = Tensor::for_overwrite(sizes, input.dtype())?;
        by_width!(input, copy(input, &result, self))?;
        Ok(result)
    }

    /// Writes the elements of a contiguous `source` of the same dtype to these positions of a contiguous
    /// tensor; the last one wins.
    ///
    /// # Errors
    /// For indices beyond the dimension, and where both share a storage.
    pub(crate) fn scatter(&self, target: &Tensor, source: &Tensor) -> Result<()> {
        fn copy<T: PodElement>(
            target: &Tensor,
            source: &Tensor,
            positions: &IndexRuns,
        ) -> Result<()> {
            let from = units::<T>(source)?;
            let mut to = target.storage().write::<T>()?;
            positions.fold(
                to.get_mut(target.offset() as usize..).unwrap_or_default(),
                &from,
                |_, x| x,
            )
        }
        by_width!(target, copy(target, source, self))
    }

    /// Folds the elements of `source` into these positions of `target`, in order.
    ///
    /// # Errors
    /// For indices beyond the dimension.
    pub(crate) fn fold<T: PodElement>(
        &self,
        target: &mut [T],
        source: &[T],
        combine: impl Fn(T, T) -> T + Copy,
    ) -> Result<()> {
        let len = self.len;
        let one = |to: &mut T, &x: &T| *to = combine(*to, x);
        self.with(|found| {
            found.pieces(0..self.count, |first, starts| match len {
                0 => {}
                1 => {
                    let pairs = starts.iter().zip(&source[first..]);
                    pairs.for_each(|(&at, x)| one(&mut target[at as usize], x));
                }
                _ => dispatch_for::<T, T, _>(
                    #[inline(always)]
                    || {
                        let runs = source[first * len..].chunks_exact(len);
                        for (&at, run) in starts.iter().zip(runs) {
                            let to = &mut target[at as usize..at as usize + len];
                            to.iter_mut().zip(run).for_each(|(to, x)| one(to, x));
                        }
                    },
                ),
            })
        })
    }

    /// Adds the elements of a contiguous `source` of the same dtype to these positions of a contiguous
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
            let count = sconce_kernel_core::layout::shape::product(sizes);
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
                let positions = IndexRuns::along(&input, dim as i64, &index).unwrap();
                let mut starts = Vec::new();
                positions.each(|_, at| starts.push(at as i64)).unwrap();
                let run = positions.run() as i64;
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
        let found =
            IndexRuns::along(&input, 0, &wrong).and_then(|positions| positions.each(|_, _| {}));
        assert_eq!(
            found.unwrap_err().message(),
            "index 3 is out of bounds for dimension 0 with size 3"
        );
    }
}
