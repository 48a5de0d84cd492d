//! Applies a function to every element of a slice, in a loop compiled for each level of vector
//! instructions.

use crate::PodElement;
use crate::simd::dispatch::dispatch_for;
use crate::vecmath::float_element::FloatElement;

/// Fills a slice with the values of a function.
pub fn map_slice<T: PodElement, U: PodElement>(xs: &[T], out: &mut [U], f: impl Fn(T) -> U) {
    // What the function has captured moves along: behind a reference it would be read anew for every
    // element, for all the compiler knows what is written may lie there.
    dispatch_for::<T, U, _>(
        #[inline(always)]
        move || {
            for (out, &x) in out.iter_mut().zip(xs) {
                *out = f(x);
            }
        },
    );
}

/// Fills a slice with the values of a function that is computed in double precision.
pub fn map_wide<T: FloatElement>(xs: &[T], out: &mut [T], f: impl Fn(f64) -> f64) {
    map_slice(
        xs,
        out,
        #[inline(always)]
        move |x: T| T::from_double(f(x.to_double())),
    );
}

/// As [`map_slice`], with an `exact` function for the elements for which `fast` gives NaN.
pub fn map_slice_with_fallback<T: FloatElement>(
    xs: &[T],
    out: &mut [T],
    fast: impl Fn(T) -> T + Copy,
    exact: impl Fn(T) -> T,
) {
    for (xs, out) in xs.chunks(256).zip(out.chunks_mut(256)) {
        map_slice(xs, out, fast);
        if out.iter().fold(false, |any, x| any | x.is_not_a_number()) {
            for (out, &x) in out.iter_mut().zip(xs).filter(|(out, _)| out.is_not_a_number()) {
                *out = exact(x);
            }
        }
    }
}
