//! Conversions to the array types of other crates, each behind a feature of its own name.
//!
//! Dtypes that the other side lacks are an error that names the dtype, never another dtype.

#[cfg(feature = "candle")]
pub mod candle;
#[cfg(feature = "ndarray")]
pub mod ndarray;
