//! Linear algebra and Fourier transforms.

pub(crate) mod factorizations;
pub(crate) mod fft;
pub(crate) mod products;
