//! `torch.nn.Linear` with a packed weight.

use half::{bf16, f16};
use sconce_gemm::panel::{PANEL, Shape};
use sconce_gemm::{packed_bf16, packed_gemm, packed_int8};
use sconce_kernel_core::chosen_implementation::chose;

use crate::nn::linear::activation::{LinearActivation, activate};
use crate::nn::linear::packed_half;
use crate::{DType, Dims, Error, PodElement, Result, Tensor};

/// The last size of a weight that is packed in pairs.
const PAIR: i64 = 2 * PANEL as i64;

/// How exact products with constant weights of `float32` are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Precision {
    /// `float32`.
    #[default]
    Full,
    /// Weights and inputs are rounded to `bfloat16` where that is quicker, sums are `float32`: results are off by some
    /// thousandths of their root mean square.
    Bf16,
    /// The weights of linear layers have eight bits, and a scale for each 32 elements of a row. Inputs and sums are
    /// `float32`.
    Int8Weights,
}

impl Precision {
    /// The names of all, the first of which is the default.
    pub const NAMES: [(&str, Precision); 3] = [
        ("full", Precision::Full),
        ("bf16", Precision::Bf16),
        ("int8-weights", Precision::Int8Weights),
    ];
}

impl std::fmt::Display for Precision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let named = Precision::NAMES.iter().find(|(_, precision)| precision == self);
        f.write_str(named.map_or("", |(name, _)| name))
    }
}

impl std::str::FromStr for Precision {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        let named = Precision::NAMES.iter().find(|(own, _)| *own == name);
        named.map(|(_, precision)| *precision).ok_or_else(|| {
            let names = Precision::NAMES.map(|(name, _)| name).join(", ");
            format!("{name:?} is no precision; there are {names}")
        })
    }
}

/// Packs a weight of `torch.nn.Linear`, a matrix of `n` rows of `k` elements in `float32` or half
/// precision, for [`linear_packed`]: `[n / 32, k, 32]`, filled up with zeros. At another precision than
/// [`Precision::Full`], `float32` becomes `bfloat16`, `[n / 32, k / 2, 64]`, or `int8`, `[n / 32, l, 32]`, whose `l` lines
/// are those of elements and scales; but weights that are not finite are not quantized.
///
/// # Errors
/// For other dtypes and numbers of dimensions.
pub fn pack_linear(weight: &Tensor, precision: Precision) -> Result<Tensor> {
    fn of<T: PodElement>(weight: &Tensor, [n, k]: [i64; 2]) -> Result<Tensor> {
        let panels = (n as usize).div_ceil(PANEL) as i64;
        // What is missing in the last panel is 0.
        let is_whole = (n as usize).is_multiple_of(PANEL);
        let make = if is_whole { Tensor::for_overwrite } else { Tensor::zeros };
        let result = make(&[panels, k, PANEL as i64], weight.dtype())?;
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
    if weight.dtype() == DType::Float32 && precision != Precision::Full {
        let (all, panels) = (weight.read::<f32>()?, (n as usize).div_ceil(PANEL) as i64);
        if precision == Precision::Bf16 {
            let sizes = [panels, (k as u64).div_ceil(2) as i64, PAIR];
            let result = Tensor::for_overwrite(&sizes, DType::BFloat16)?;
            packed_bf16::pack(&all, n as usize, k as usize, &mut result.write::<bf16>()?);
            return Ok(result);
        }
        let sizes = [panels, packed_int8::lines(k as usize) as i64, PANEL as i64];
        let result = Tensor::for_overwrite(&sizes, DType::Int8)?;
        if packed_int8::pack(&all, n as usize, k as usize, &mut result.write::<i8>()?) {
            return Ok(result);
        }
    }
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
    let (Some((&k, batch)), &[panels, depth, line]) = (input.sizes().split_last(), packed.sizes())
    else {
        return Ok(None);
    };
    let (dtype, wanted) = match (packed.dtype(), line) {
        (DType::BFloat16, PAIR) => (DType::Float32, (k as u64).div_ceil(2) as i64),
        (DType::Int8, _) => (DType::Float32, packed_int8::lines(k as usize) as i64),
        (dtype, _) => (dtype, k),
    };
    let fits = depth == wanted
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
    chose(packed_implementation(packed, sizes));
    let operands = (&input, packed, bias.as_ref());
    let shape = Shape { m: sizes[0], k: sizes[1], n: sizes[2] };
    let activated = |out: &mut [f32]| {
        if let Some(activation) = activation {
            activate(activation, out);
        }
    };
    match packed.dtype() {
        DType::Float32 => on_slices::<f32, f32>(operands, &result, |xs, ws, bias, out| {
            packed_gemm::multiply(shape, xs, ws, bias, out);
            activated(out);
            Ok(())
        }),
        DType::BFloat16 if line == PAIR => {
            on_slices::<f32, bf16>(operands, &result, |xs, ws, bias, out| {
                packed_bf16::multiply(shape, xs, ws, bias, out)?;
                activated(out);
                Ok(())
            })
        }
        DType::Int8 => on_slices::<f32, i8>(operands, &result, |xs, ws, bias, out| {
            packed_int8::multiply(shape, xs, ws, bias, out)?;
            activated(out);
            Ok(())
        }),
        DType::Float16 => on_slices::<f16, f16>(operands, &result, |xs, ws, bias, out| {
            packed_half::multiply(sizes, xs, ws, bias, activation, out)
        }),
        DType::BFloat16 => on_slices::<bf16, bf16>(operands, &result, |xs, ws, bias, out| {
            packed_half::multiply(sizes, xs, ws, bias, activation, out)
        }),
        _ => return Ok(None),
    }?;
    Ok(Some(result))
}

/// How a product with a packed weight is computed.
fn packed_implementation(packed: &Tensor, [m, k, _]: [usize; 3]) -> &'static str {
    let in_pairs = packed.sizes().last() == Some(&PAIR);
    match packed.dtype() {
        DType::BFloat16 if in_pairs && m == 1 => "packed GEMV, bfloat16",
        DType::BFloat16 if in_pairs && packed_bf16::has_instructions() => "packed GEMM, bfloat16",
        DType::BFloat16 if in_pairs => "packed GEMM, widened bfloat16",
        DType::Int8 if m == 1 => "packed GEMV, int8 weights",
        DType::Int8 => "packed GEMM, int8 weights",
        DType::Float32 if m == 1 => "packed GEMV",
        DType::Float32 if packed_gemm::is_by_bf16_parts(m, k) => {
            "packed GEMM, bfloat16 parts on AMX"
        }
        DType::Float32 => "packed GEMM",
        _ => "packed GEMM, half precision",
    }
}

/// Calls `multiply` on the elements of input, packed weight and bias, and those of the result.
fn on_slices<T: PodElement, W: PodElement>(
    (input, packed, bias): (&Tensor, &Tensor, Option<&Tensor>),
    result: &Tensor,
    multiply: impl FnOnce(&[T], &[W], Option<&[T]>, &mut [T]) -> Result<()>,
) -> Result<()> {
    let bias = bias.map(Tensor::read::<T>).transpose()?;
    let (xs, ws) = (input.read::<T>()?, packed.read::<W>()?);
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
        let packed = pack_linear(&weight, Precision::Full).unwrap();
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

    #[test]
    fn less_precision_costs_little_and_holds_to_what_it_says() {
        let mut state = 7u32;
        let mut random = |sizes: &[i64]| {
            let next = |_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 8) as f32 / (1 << 23) as f32 - 1.0
            };
            let all: Vec<f32> = (0..sizes.iter().product::<i64>()).map(next).collect();
            Tensor::from_slice(&all, sizes).unwrap()
        };
        let (weight, bias) = (random(&[70, 333]), random(&[70]));
        for (precision, bounds) in
            [(Precision::Bf16, 1e-3..6e-3), (Precision::Int8Weights, 1e-3..6e-3)]
        {
            let packed = pack_linear(&weight, precision).unwrap();
            for sizes in [&[333][..], &[2, 20, 333]] {
                let input = random(sizes);
                let full = linear(&input, &weight, Some(&bias)).unwrap().to_vec::<f32>().unwrap();
                let less = linear_packed(&input, &packed, 70, Some(&bias), None).unwrap().unwrap();
                let less = less.to_vec::<f32>().unwrap();
                let square = |xs: &mut dyn Iterator<Item = f32>| xs.map(|x| x * x).sum::<f32>();
                let errors = square(&mut full.iter().zip(&less).map(|(a, b)| a - b));
                let error = (errors / square(&mut full.iter().copied())).sqrt();
                assert!(bounds.contains(&error), "{precision:?}, {sizes:?}: {error}");
            }
            let other = random(&[2, 300]);
            assert!(linear_packed(&other, &packed, 70, None, None).unwrap().is_none());
            let half = random(&[2, 333]).to_dtype(DType::BFloat16).unwrap();
            assert!(linear_packed(&half, &packed, 70, None, None).unwrap().is_none());
        }
        let infinite = Tensor::from_slice(&[f32::INFINITY, 1.0], &[1, 2]).unwrap();
        let packed = pack_linear(&infinite, Precision::Int8Weights).unwrap();
        assert_eq!(packed.dtype(), DType::Float32);
    }
}
