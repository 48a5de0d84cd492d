//! `torch.nn.Linear` with a packed weight.

use half::{bf16, f16};
use sconce_gemm::packed_gemm;
use sconce_gemm::panel::{PANEL, Shape};
use sconce_kernel_core::chosen_implementation::chose;

use crate::nn::linear::activation::{LinearActivation, activate};
use crate::nn::linear::packed_half;
use crate::{DType, Dims, Error, PodElement, Result, Tensor};

/// Packs a weight of `torch.nn.Linear`, a matrix of `n` rows of `k` elements in `float32` or half
/// precision, for [`linear_packed`]: `[n / 32, k, 32]`, filled up with zeros.
///
/// # Errors
/// For other dtypes and numbers of dimensions.
pub fn pack_linear(weight: &Tensor) -> Result<Tensor> {
    fn of<T: PodElement>(weight: &Tensor, [n, k]: [i64; 2]) -> Result<Tensor> {
        let panels = (n as usize).div_ceil(PANEL) as i64;
        let result = Tensor::zeros(&[panels, k, PANEL as i64], weight.dtype())?;
        sconce_gemm::panel::pack(
            &weight.read::<T>()?,
            n as usize,
            k as usize,
            &mut result.write::<T>()?,
        );
        Ok(result)
    }
    let &[n, k] = weight.sizes() else {
        return Err(Error::runtime("a weight to pack must be a matrix"));
    };
    let weight = weight.contiguous()?;
    match weight.dtype() {
        DType::Float32 => of::<f32>(&weight, [n, k]),
        DType::Float16 => of::<f16>(&weight, [n, k]),
        DType::BFloat16 => of::<bf16>(&weight, [n, k]),
        dtype => Err(Error::no_kernel("pack_linear", dtype)),
    }
}

/// `activation(input @ weight.T + bias)` for a weight of `n` rows that [`pack_linear`] packed, of the
/// input's dtype; half precision is rounded after the sum and after the activation. `None` where the
/// input is of another dtype or size, which the ordinary operator has to deal with.
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
    let dtype = packed.dtype();
    let fits = k == depth
        && input.dtype() == dtype
        && (n as usize).div_ceil(PANEL) == panels as usize
        && bias.is_none_or(|bias| bias.dtype() == dtype && bias.sizes() == [n]);
    if !fits {
        return Ok(None);
    }
    let sizes: Dims = batch.iter().copied().chain([n]).collect();
    let result = Tensor::for_overwrite(&sizes, dtype)?;
    if result.numel() == 0 {
        return Ok(Some(result));
    }
    let input = input.contiguous()?;
    let bias = bias.map(Tensor::contiguous).transpose()?;
    let sizes = [result.count() / n as usize, k as usize, n as usize];
    chose(packed_implementation(dtype, sizes));
    let operands = (&input, packed, bias.as_ref());
    match dtype {
        DType::Float32 => on_slices::<f32>(operands, &result, |xs, ws, bias, out| {
            let [m, k, n] = sizes;
            packed_gemm::multiply(Shape { m, k, n }, xs, ws, bias, out);
            if let Some(activation) = activation {
                activate(activation, out);
            }
            Ok(())
        }),
        DType::Float16 => on_slices::<f16>(operands, &result, |xs, ws, bias, out| {
            packed_half::multiply(sizes, xs, ws, bias, activation, out)
        }),
        DType::BFloat16 => on_slices::<bf16>(operands, &result, |xs, ws, bias, out| {
            packed_half::multiply(sizes, xs, ws, bias, activation, out)
        }),
        _ => return Ok(None),
    }?;
    Ok(Some(result))
}

/// How a product with a packed weight is computed.
fn packed_implementation(dtype: DType, [m, k, _]: [usize; 3]) -> &'static str {
    match dtype {
        DType::Float32 if m == 1 => "packed GEMV",
        DType::Float32 if packed_gemm::is_by_bf16_parts(m, k) => {
            "packed GEMM, bfloat16 parts on AMX"
        }
        DType::Float32 => "packed GEMM",
        _ => "packed GEMM, half precision",
    }
}

/// Calls `multiply` on the elements of input, packed weight and bias, and those of the result.
fn on_slices<T: PodElement>(
    (input, packed, bias): (&Tensor, &Tensor, Option<&Tensor>),
    result: &Tensor,
    multiply: impl FnOnce(&[T], &[T], Option<&[T]>, &mut [T]) -> Result<()>,
) -> Result<()> {
    let bias = bias.map(Tensor::read::<T>).transpose()?;
    let (xs, ws) = (input.read::<T>()?, packed.read::<T>()?);
    multiply(&xs, &ws, bias.as_deref(), &mut result.write::<T>()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unary;
    use crate::{UnaryOp, linear};

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
