//! Activations that follow a linear layer.

use sconce_kernel_core::parallel::{grain, partition};
use sconce_kernel_core::simd::dispatch::{Level, best, dispatch};
use sconce_kernel_core::vecmath::single;

/// What is applied to every element of a product before it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LinearActivation {
    /// `torch.relu`.
    Relu,
    /// `torch.nn.functional.gelu`.
    Gelu,
    /// `torch.nn.functional.gelu(approximate='tanh')`.
    GeluTanh,
    /// `torch.nn.functional.silu`.
    Silu,
    /// `torch.sigmoid`.
    Sigmoid,
    /// `torch.tanh`.
    Tanh,
}

/// Applies an activation in place, on all threads.
pub(crate) fn activate(activation: LinearActivation, out: &mut [f32]) {
    partition::for_each_chunk(out, 64, grain::ROWS, |_, out| activate_here(activation, out));
}

/// [`activate`] on the calling thread.
pub(crate) fn activate_here(activation: LinearActivation, out: &mut [f32]) {
    match activation {
        // NaN passes through.
        LinearActivation::Relu => each(out, |x| if x < 0.0 { 0.0 } else { x }),
        LinearActivation::Gelu if best() == Level::Baseline => each(out, single::gelu),
        LinearActivation::Gelu => each(out, single::gelu_fused),
        LinearActivation::GeluTanh => each(out, single::gelu_tanh),
        LinearActivation::Silu => each(out, single::silu),
        LinearActivation::Sigmoid => each(out, single::sigmoid),
        LinearActivation::Tanh => each(out, single::tanh),
    }
}

fn each(out: &mut [f32], f: impl Fn(f32) -> f32) {
    dispatch(
        #[inline(always)]
        || {
            for x in out.iter_mut() {
                *x = f(*x);
            }
        },
    );
}
