//! Matrix products by family and by processor.

#[cfg(target_arch = "x86_64")]
pub(crate) mod amx;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512_bf16;
#[cfg(target_arch = "x86_64")]
pub(crate) mod bf16x3_gemm;
pub(crate) mod dot;
pub(crate) mod factors;
pub(crate) mod gemv;
pub(crate) mod half_gemm;
pub(crate) mod half_products;
pub(crate) mod int8_dot;
pub(crate) mod interleaved_tiles;
pub(crate) mod matrix;
pub(crate) mod packed_gemm;
pub(crate) mod packed_gemv;
pub(crate) mod panel;
pub(crate) mod panel_product;
pub(crate) mod strided_gemm;
