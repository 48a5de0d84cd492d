//! Convolution: by im2col and a matrix product, by depthwise kernels, in the blocked layout.

pub(crate) mod blocked;
pub(crate) mod conv_element;
pub(crate) mod convolution;
pub(crate) mod depthwise;
pub(crate) mod im2col;
pub(crate) mod im2col_gemm;
pub(crate) mod transpose;
pub(crate) mod window;
