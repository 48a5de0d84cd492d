//! Vector instructions: which ones this CPU has, and code that uses them.

pub mod arithmetic;
pub mod dispatch;
#[cfg(target_arch = "x86_64")]
pub mod f16c;
pub mod half_precision;
pub mod lanes;
pub mod map_slice;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub mod transpose_4x4;
