//! Products of matrices and vectors, by family and by CPU.
//!
//! | family | file |
//! |---|---|
//! | any two matrices, by the `gemm` crate | [`strided_gemm`] |
//! | a vector and a matrix | [`gemv`] |
//! | rows and columns that are contiguous | [`dot`] |
//! | a weight that was packed beforehand | [`packed_gemm`], [`packed_gemv`] |
//! | `float32` through three parts of `bfloat16` on CPUs with AMX | `bf16x3_gemm` |
//! | such a weight in `bfloat16`, or in eight bits with scales | [`packed_bf16`], [`packed_int8`] |
//! | half precision | [`half_gemm`] |
//! | small integers | [`int8_dot`] |
//!
//! The order in which a sum is added up never depends on the number of threads.
//!
//! Architecture invariant: slices in, slices out; nothing here knows of tensors or operators.

#[cfg(target_arch = "x86_64")]
mod amx;
#[cfg(target_arch = "x86_64")]
mod avx512_bf16;
#[cfg(target_arch = "x86_64")]
mod bf16x3_gemm;
mod bounds;
pub mod dot;
mod dot_vector;
pub mod gemv;
pub mod half_gemm;
pub mod half_products;
pub mod int8_dot;
pub mod interleaved_tiles;
pub mod matrix;
pub mod packed_bf16;
pub mod packed_gemm;
pub mod packed_gemv;
pub mod packed_int8;
pub mod panel;
pub mod panel_product;
pub mod strided_gemm;
