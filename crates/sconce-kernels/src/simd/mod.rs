//! Vector instructions: which ones this CPU has, and code that uses them.

pub(crate) mod arithmetic;
pub(crate) mod dispatch;
#[cfg(target_arch = "x86_64")]
pub(crate) mod f16c;
pub(crate) mod half_precision;
pub(crate) mod lanes;
pub(crate) mod map_slice;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) mod transpose_4x4;
