//! The windows of signals.

use sconce_kernels as kernels;
use sconce_kernels::{DType, Window};

use crate::error::Raise;
use crate::ops::Args;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::hann_window", "- periodic", |_, args| {
        windowed(&args, Window::Cosine { alpha: 0.5, beta: 0.5, name: "hann_window" }, 2)
    }),
    op("aten::hamming_window", "- periodic", |_, args| {
        windowed(&args, Window::Cosine { alpha: 0.54, beta: 0.46, name: "hamming_window" }, 2)
    }),
    op("aten::hamming_window", "periodic_alpha", |_, args| {
        let alpha = args.real(2)?;
        windowed(&args, Window::Cosine { alpha, beta: 0.46, name: "hamming_window" }, 3)
    }),
    op("aten::hamming_window", "periodic_alpha_beta", |_, args| {
        let (alpha, beta) = (args.real(2)?, args.real(3)?);
        windowed(&args, Window::Cosine { alpha, beta, name: "hamming_window" }, 4)
    }),
    op("aten::blackman_window", "- periodic", |_, args| windowed(&args, Window::Blackman, 2)),
    op("aten::bartlett_window", "- periodic", |_, args| windowed(&args, Window::Bartlett, 2)),
    op("aten::kaiser_window", "- periodic", |_, args| {
        windowed(&args, Window::Kaiser { beta: 12.0 }, 2)
    }),
    op("aten::kaiser_window", "beta", |_, args| {
        let beta = args.real(2)?;
        windowed(&args, Window::Kaiser { beta }, 3)
    }),
];

/// The dtype of what is made from nothing: `float32` unless it is given.
pub(crate) fn factory_dtype(args: &Args<'_>, index: usize) -> Result<DType> {
    args.plain_options(index + 1, index + 2)?;
    Ok(args.dtype(index)?.unwrap_or(DType::Float32))
}

/// A window; where there are flags before `options`, the first says whether it is periodic.
fn windowed(args: &Args<'_>, window: Window, options: usize) -> Result {
    // Without the flag the dtype stands where the flag would.
    let (periodic, options) = match args.get(1) {
        IValue::Bool(periodic) => (*periodic, options),
        _ => (true, 1),
    };
    let dtype = factory_dtype(args, options)?;
    made(kernels::window(window, args.int(0)?, periodic, dtype))
}
