//! Pooling over one to three spatial dimensions.
//!
//! A pool is a set of windows along each dimension ([`windows::Axis`]) and a reduction of each window's
//! elements. Fewer dimensions than three are treated as three with leading ones of size 1.

mod average;
mod fractional;
mod maximum;
mod planes;
pub(super) mod sizes;
mod unpool;
pub(super) mod windows;

pub use average::{adaptive_avg_pool, avg_pool};
pub use fractional::fractional_max_pool;
pub use maximum::{adaptive_max_pool, max_pool, max_pool_sizes, max_pool_with_indices};
pub use unpool::max_unpool;

use crate::{DType, Error, PodElement, Result, Tensor};

/// How a pooling window walks. A list has a number for each spatial dimension, or one for all.
#[derive(Debug, Clone, Copy)]
pub struct PoolOptions<'a> {
    /// The window.
    pub kernel: &'a [i64],
    /// Steps between windows; the window itself where the list is empty.
    pub stride: &'a [i64],
    /// Border around the input, at most half a window.
    pub padding: &'a [i64],
    /// Steps between elements of a window; 1 for averages.
    pub dilation: &'a [i64],
    /// Whether a last window may reach beyond the padded input.
    pub ceil_mode: bool,
}

/// Numbers that pools compute with.
trait Pooled: PodElement + PartialOrd {
    const LOWEST: Self;
    type Sum: Copy + Default + Send + Sync;
    fn is_nan(self) -> bool;
    fn wide(self) -> Self::Sum;
    fn add(a: Self::Sum, b: Self::Sum) -> Self::Sum;
    fn divide(sum: Self::Sum, divisor: i64) -> Self;
}

macro_rules! pooled_floats {
    ($($ty:ident)*) => {$(
        impl Pooled for $ty {
            const LOWEST: $ty = $ty::NEG_INFINITY;
            type Sum = f64;
            #[inline(always)]
            fn is_nan(self) -> bool { $ty::is_nan(self) }
            #[inline(always)]
            fn wide(self) -> f64 { self.into() }
            #[inline(always)]
            fn add(a: f64, b: f64) -> f64 { a + b }
            #[inline(always)]
            fn divide(sum: f64, divisor: i64) -> $ty { (sum / divisor as f64) as $ty }
        }
    )*};
}
pooled_floats! { f32 f64 }

impl Pooled for i64 {
    const LOWEST: i64 = i64::MIN;
    type Sum = i64;
    #[inline(always)]
    fn is_nan(self) -> bool {
        false
    }
    #[inline(always)]
    fn wide(self) -> i64 {
        self
    }
    #[inline(always)]
    fn add(a: i64, b: i64) -> i64 {
        a.wrapping_add(b)
    }
    #[inline(always)]
    fn divide(sum: i64, divisor: i64) -> i64 {
        sum.wrapping_div(divisor)
    }
}

/// Runs `$f::<T>` for the type that a dtype is computed in.
macro_rules! by_number {
    ($planes:expr, $name:expr, $f:ident ( $($arg:expr),* )) => {
        match $planes.wide.dtype() {
            DType::Float32 => $f::<f32>($($arg),*),
            DType::Float64 => $f::<f64>($($arg),*),
            DType::Int64 => $f::<i64>($($arg),*),
            other => Err(Error::no_kernel($name, other)),
        }
    };
}

use by_number;

/// Refuses ranks, sizes of 0 but of a batch, and dtypes that a pool does not take.
fn check(input: &Tensor, name: &str, rank: usize, dtypes: fn(DType) -> bool) -> Result<()> {
    let n = input.dim();
    check_within(input, name, rank, n.saturating_sub(rank + 1), dtypes)
}

/// As [`check`], with sizes of 0 allowed before this dimension.
fn check_within(
    input: &Tensor,
    name: &str,
    rank: usize,
    first: usize,
    dtypes: fn(DType) -> bool,
) -> Result<()> {
    let n = input.dim();
    if (n != rank + 1 && n != rank + 2) || input.sizes()[first..].contains(&0) {
        return Err(Error::runtime(format!(
            "{name}: Expected {}D or {}D (batch mode) tensor with optional 0 dim batch size for \
             input, but got: {:?}",
            rank + 1,
            rank + 2,
            input.sizes()
        )));
    }
    if dtypes(input.dtype()) { Ok(()) } else { Err(Error::no_kernel(name, input.dtype())) }
}

fn floats(dtype: DType) -> bool {
    matches!(dtype, DType::Float16 | DType::BFloat16 | DType::Float32 | DType::Float64)
}

fn numbers(dtype: DType) -> bool {
    use DType::{Int8, Int16, Int32, Int64, UInt8};
    floats(dtype) || matches!(dtype, UInt8 | Int8 | Int16 | Int32 | Int64)
}

fn join(sizes: &[i64]) -> String {
    sizes.iter().map(i64::to_string).collect::<Vec<_>>().join("x")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_sizes_may_be_0_differs_from_pool_to_pool() {
        let of = |sizes: &[i64]| Tensor::zeros(sizes, DType::Float32).unwrap();
        for (sizes, averages, maxima) in [
            (&[0i64, 4, 4][..], true, true),
            (&[2, 0, 4, 4], true, false),
            (&[0, 3, 4, 4], true, true),
            (&[3, 4, 0], false, false),
        ] {
            assert_eq!(adaptive_avg_pool(&of(sizes), &[2, 2]).is_ok(), averages, "{sizes:?}");
            assert_eq!(adaptive_max_pool(&of(sizes), &[2, 2]).is_ok(), maxima, "{sizes:?}");
        }
        let unpooled =
            max_unpool(&of(&[1, 1, 1]), &of(&[1, 1, 1]).to_dtype(DType::Int64).unwrap(), &[3, 0]);
        assert_eq!(unpooled.unwrap().sizes(), [1, 3, 0]);
        assert!(adaptive_max_pool(&of(&[0, 8, 8]), &[1 << 40, 1 << 40]).is_err());
    }

    #[test]
    fn fractional_pools_want_samples_of_their_dtype_and_room() {
        let input = Tensor::zeros(&[1, 3, 6, 6], DType::Float32).unwrap();
        let samples = Tensor::zeros(&[1, 3, 2], DType::Float32).unwrap();
        let wide = samples.to_dtype(DType::Float64).unwrap();
        assert!(fractional_max_pool(&input, &[2, 2], &[2, 2], &wide).is_err());
        for (kernel, output, fits) in [(2, 5, true), (2, 6, false), (0, 2, false), (2, 0, true)] {
            let found = fractional_max_pool(&input, &[kernel; 2], &[output; 2], &samples);
            assert_eq!(found.is_ok(), fits, "{kernel} {output}");
        }
    }
}
