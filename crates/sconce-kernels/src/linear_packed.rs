//! `torch.nn.Linear` with a weight that was packed beforehand.

use crate::panels::{self, PANEL, Shape};
use crate::simd::dispatch;
use crate::{DType, Dims, Error, Result, Tensor, threads, vecmath};

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

/// Packs a weight of `torch.nn.Linear`, a `float32` matrix of `n` rows of `k` elements, for
/// [`linear_packed`]: `[n / 32, k, 32]`, filled up with zeros.
///
/// # Errors
/// For other dtypes and numbers of dimensions.
pub fn pack_linear(weight: &Tensor) -> Result<Tensor> {
    weight.expect_dtype(DType::Float32)?;
    let &[n, k] = weight.sizes() else {
        return Err(Error::runtime("a weight to pack must be a matrix"));
    };
    let weight = weight.contiguous()?;
    let panels = (n as usize).div_ceil(PANEL) as i64;
    let result = Tensor::zeros(&[panels, k, PANEL as i64], DType::Float32)?;
    panels::pack(&weight.read::<f32>()?, n as usize, k as usize, &mut result.write::<f32>()?);
    Ok(result)
}

/// `activation(input @ weight.T + bias)` for a weight of `n` rows that [`pack_linear`] packed;
/// `None` where the input is of another dtype or size, which the ordinary operator has to deal with.
///
/// # Errors
/// Where memory is short.
pub fn linear_packed(
    input: &Tensor,
    packed: &Tensor,
    n: i64,
    bias: Option<&Tensor>,
    activation: Option<LinearActivation>,
) -> Result<Option<Tensor>> {
    let (Some((&k, batch)), &[panels, depth, _]) = (input.sizes().split_last(), packed.sizes())
    else {
        return Ok(None);
    };
    let single = |tensor: &Tensor| tensor.dtype() == DType::Float32;
    let fits = k == depth
        && single(input)
        && single(packed)
        && (n as usize).div_ceil(PANEL) == panels as usize
        && bias.is_none_or(|bias| single(bias) && bias.sizes() == [n]);
    if !fits {
        return Ok(None);
    }
    let sizes: Dims = batch.iter().copied().chain([n]).collect();
    let result = Tensor::unset(&sizes, DType::Float32)?;
    let input = input.contiguous()?;
    let bias = bias.map(Tensor::contiguous).transpose()?;
    let bias = bias.as_ref().map(Tensor::read::<f32>).transpose()?;
    let m = result.count().checked_div(n as usize).unwrap_or(0);
    let shape = Shape { m, k: k as usize, n: n as usize };
    let mut out = result.write::<f32>()?;
    let (xs, ws) = (input.read::<f32>()?, packed.read::<f32>()?);
    panels::multiply(shape, &xs, &ws, bias.as_deref(), &mut out);
    if let Some(activation) = activation {
        activate(activation, &mut out);
    }
    drop(out);
    Ok(Some(result))
}

/// Applies an activation in place.
pub(crate) fn activate(activation: LinearActivation, out: &mut [f32]) {
    threads::pieces(out, 64, crate::rows::PARALLEL, |_, out| match activation {
        // NaN passes through.
        LinearActivation::Relu => each(out, |x| if x < 0.0 { 0.0 } else { x }),
        LinearActivation::Gelu => each(out, vecmath::gelu),
        LinearActivation::GeluTanh => each(out, vecmath::gelu_tanh),
        LinearActivation::Silu => each(out, vecmath::silu),
        LinearActivation::Sigmoid => each(out, vecmath::sigmoid),
        LinearActivation::Tanh => each(out, vecmath::tanh),
    });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{UnaryOp, linear, unary};

    #[test]
    fn packed_weights_give_what_ordinary_ones_give() {
        let numbers = |n: i64| (0..n).map(|i| ((i * 37 % 101) as f32 - 50.0) / 40.0).collect();
        let tensor = |sizes: &[i64]| {
            let all: Vec<f32> = numbers(sizes.iter().product());
            Tensor::from_slice(&all, sizes).unwrap()
        };
        let (weight, bias) = (tensor(&[70, 33]), tensor(&[70]));
        let packed = pack_linear(&weight).unwrap();
        let activations = [
            (LinearActivation::Relu, UnaryOp::Relu),
            (LinearActivation::Gelu, UnaryOp::Gelu),
            (LinearActivation::GeluTanh, UnaryOp::GeluTanh),
            (LinearActivation::Silu, UnaryOp::Silu),
            (LinearActivation::Sigmoid, UnaryOp::Sigmoid),
            (LinearActivation::Tanh, UnaryOp::Tanh),
        ];
        for sizes in [&[33][..], &[1, 33], &[2, 5, 33], &[0, 33]] {
            for (activation, op) in activations {
                let input = tensor(sizes);
                let plain = unary(op, &linear(&input, &weight, Some(&bias)).unwrap()).unwrap();
                let fused = linear_packed(&input, &packed, 70, Some(&bias), Some(activation));
                let fused = fused.unwrap().unwrap();
                assert_eq!(plain.sizes(), fused.sizes());
                let pairs = plain.to_vec::<f32>().unwrap().into_iter();
                for (a, b) in pairs.zip(fused.to_vec::<f32>().unwrap()) {
                    assert!((a - b).abs() <= 1e-5 * a.abs().max(1.0), "{op:?}: {a} {b}");
                }
            }
        }
        let other = Tensor::zeros(&[2, 34], DType::Float32).unwrap();
        assert!(linear_packed(&other, &packed, 70, None, None).unwrap().is_none());
    }
}
