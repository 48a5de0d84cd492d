//! Window functions.

use std::f64::consts::PI;

use sconce_kernel_core::{DType, Error, Result, Tensor, cpp_type_name};

/// A window function, by its operator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Window {
    /// `torch.bartlett_window`.
    Bartlett,
    /// `torch.blackman_window`.
    Blackman,
    /// `torch.hamming_window` and `torch.hann_window`: `alpha - beta * cos`.
    Cosine {
        /// The constant term.
        alpha: f64,
        /// The factor of the cosine.
        beta: f64,
        /// `hamming_window` or `hann_window`.
        name: &'static str,
    },
    /// `torch.kaiser_window`.
    Kaiser {
        /// Its shape.
        beta: f64,
    },
}

impl Window {
    fn name(self) -> &'static str {
        match self {
            Window::Bartlett => "bartlett_window",
            Window::Blackman => "blackman_window",
            Window::Cosine { name, .. } => name,
            Window::Kaiser { .. } => "kaiser_window",
        }
    }

    /// Its value `at` samples from the start of a window that ends at `last`.
    fn at(self, at: f64, last: f64) -> f64 {
        let turn = 2.0 * PI * at / last;
        match self {
            Window::Bartlett if at <= last / 2.0 => 2.0 * at / last,
            Window::Bartlett => 2.0 - 2.0 * at / last,
            Window::Blackman => 0.42 - 0.5 * turn.cos() + 0.08 * (2.0 * turn).cos(),
            Window::Cosine { alpha, beta, .. } => alpha - beta * turn.cos(),
            Window::Kaiser { beta } => {
                let side = 2.0 * at / last - 1.0;
                bessel_i0(beta * (1.0 - side * side).max(0.0).sqrt()) / bessel_i0(beta)
            }
        }
    }
}

/// The modified Bessel function of the first kind of order 0, by its power series.
fn bessel_i0(x: f64) -> f64 {
    let quarter = x * x / 4.0;
    let (mut sum, mut term, mut k) = (1.0, 1.0, 1.0);
    while term > sum * f64::EPSILON && k < 10_000.0 {
        term *= quarter / (k * k);
        sum += term;
        k += 1.0;
    }
    sum
}

/// A window of `length` samples; a periodic one leaves out the last of `length + 1`.
///
/// # Errors
/// For negative lengths and dtypes that are not floating.
pub fn window(kind: Window, length: i64, periodic: bool, dtype: DType) -> Result<Tensor> {
    let name = kind.name();
    if !dtype.is_floating_point() && !dtype.is_complex() {
        return Err(Error::runtime(format!(
            "{name} expects floating point dtypes, got: TensorOptions(dtype={}, device=cpu (default), \
             layout=Strided (default), requires_grad=false (default), pinned_memory=false (default), \
             memory_format=(nullopt))",
            cpp_type_name(dtype)
        )));
    }
    if length < 0 {
        return Err(Error::runtime(format!(
            "{name} requires non-negative window_length, got window_length={length}"
        )));
    }
    if length <= 1 {
        return Tensor::full(&[length], 1.into(), dtype);
    }
    if dtype.is_complex() {
        let message = format!("\"arange_cpu\" not implemented for '{}'", dtype.scalar_type_name());
        return Err(Error::not_implemented(message));
    }
    let result = Tensor::zeros(&[length], DType::Float64)?;
    let last = if periodic { length } else { length - 1 } as f64;
    for (at, x) in result.write::<f64>()?.iter_mut().enumerate() {
        *x = kind.at(at as f64, last);
    }
    result.to_dtype(dtype)
}
