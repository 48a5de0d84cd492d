//! Layers between steps of quantization, as programs of `torch.export` write them (`quantized_decomposed`): their
//! inputs and weights are bare integers, and what these stand for is said beside them.
//!
//! PyTorch computes such layers on `float32`. Here sums of integer products are exact, and scaled once.

use sconce_kernel_core::iter::map::map;
use sconce_kernel_core::tensor::quantization::with_quantizer;
use sconce_kernel_core::tensor::quantizer::Quantizer;

use super::layers::{Channels, finished, linear_sums};
use crate::{DType, Error, PodElement, Result, Tensor};

/// How numbers become integers: `clamp(round(x * inverse) + zero_point, least, most)`.
#[derive(Debug, Clone, Copy)]
pub struct CodeSteps {
    /// How many steps there are in 1.
    pub inverse: f64,
    /// What stands for 0.
    pub zero_point: i64,
    /// The least integer.
    pub least: i64,
    /// The greatest.
    pub most: i64,
    /// Where they are kept: `uint8` or `int8`.
    pub dtype: DType,
}

/// What the input of a layer stands for, and what becomes of its results.
#[derive(Debug, Clone, Copy)]
pub struct IntegerLayer<'a> {
    /// The size of a step of the input.
    pub scale: f64,
    /// What stands for 0 in the input.
    pub zero_point: i64,
    /// What is added to each channel.
    pub bias: Option<&'a Tensor>,
    /// Whether negative results become 0.
    pub relu: bool,
    /// The integers that results become; without, they are `float32`.
    pub codes: Option<CodeSteps>,
}

/// A weight as integers, with the scale of each output channel, or one for all.
///
/// # Errors
/// For integers other than `int8`.
pub fn integer_weight(codes: &Tensor, scales: &[f64]) -> Result<Tensor> {
    if codes.dtype() != DType::Int8 {
        return Err(Error::no_kernel("quantized", codes.dtype()));
    }
    let quantizer = match *scales {
        [scale] => Quantizer::PerTensor { scale, zero_point: 0 },
        _ => Quantizer::PerChannel {
            scales: scales.to_vec(),
            zero_points: vec![0; scales.len()],
            axis: 0,
        },
    };
    with_quantizer(&codes.copy()?, DType::QInt8, quantizer)
}

/// A linear layer on integers with a weight of [`integer_weight`].
///
/// # Errors
/// As `torch.nn.functional.linear`.
pub fn integer_linear(input: &Tensor, weight: &Tensor, layer: &IntegerLayer<'_>) -> Result<Tensor> {
    let input = layer.input(input)?;
    layer.finished(&linear_sums(&input, weight)?, weight)
}

impl IntegerLayer<'_> {
    fn input(&self, codes: &Tensor) -> Result<Tensor> {
        let dtype = match codes.dtype() {
            DType::UInt8 => DType::QUInt8,
            DType::Int8 => DType::QInt8,
            other => return Err(Error::no_kernel("quantized", other)),
        };
        let quantizer = Quantizer::PerTensor { scale: self.scale, zero_point: self.zero_point };
        with_quantizer(codes, dtype, quantizer)
    }

    fn finished(&self, sums: &Tensor, weight: &Tensor) -> Result<Tensor> {
        let count = sums.sizes().last().map_or(1, |&count| count as usize);
        let channels = Channels::of(self.scale, weight, self.bias, count)?;
        let least = if self.relu { 0.0 } else { f32::NEG_INFINITY };
        let Some(codes) = self.codes else {
            return finished(
                sums,
                &channels,
                #[inline(always)]
                move |sum, scale, bias| at_least(sum * scale + bias, least),
            );
        };
        let rounding = codes.rounding();
        match codes.dtype {
            DType::UInt8 => finished(
                sums,
                &channels,
                #[inline(always)]
                move |sum, scale, bias| rounding.code(at_least(sum * scale + bias, least)) as u8,
            ),
            DType::Int8 => finished(
                sums,
                &channels,
                #[inline(always)]
                move |sum, scale, bias| rounding.code(at_least(sum * scale + bias, least)) as i8,
            ),
            other => Err(Error::no_kernel("quantized", other)),
        }
    }
}

/// NaN stays what it is.
#[inline(always)]
fn at_least(x: f32, least: f32) -> f32 {
    if x < least { least } else { x }
}

/// [`CodeSteps`] in the numbers that are computed with.
#[derive(Clone, Copy)]
struct Rounding {
    inverse: f32,
    zero_point: f32,
    least: f32,
    most: f32,
}

impl Rounding {
    #[inline(always)]
    fn code(self, x: f32) -> f32 {
        ((x * self.inverse).round_ties_even() + self.zero_point).max(self.least).min(self.most)
    }
}

impl CodeSteps {
    fn rounding(&self) -> Rounding {
        Rounding {
            inverse: self.inverse as f32,
            zero_point: self.zero_point as f32,
            least: self.least as f32,
            most: self.most as f32,
        }
    }

    /// The integers of a tensor of `float32`, row-major.
    ///
    /// # Errors
    /// For other dtypes.
    pub fn codes_of(&self, input: &Tensor) -> Result<Tensor> {
        let rounding = self.rounding();
        let input = input.contiguous()?;
        match self.dtype {
            DType::UInt8 => map(&input, move |x: f32| rounding.code(x) as u8),
            DType::Int8 => map(&input, move |x: f32| rounding.code(x) as i8),
            other => Err(Error::no_kernel("quantized", other)),
        }
    }
}

/// The numbers that integers stand for, row-major: `(code - zero_point) * scale`.
///
/// # Errors
/// For integers other than `uint8` and `int8`.
pub fn numbers_of_codes(codes: &Tensor, scale: f64, zero_point: i64) -> Result<Tensor> {
    fn of<T: PodElement + Into<f32>>(codes: &Tensor, scale: f32, zero: f32) -> Result<Tensor> {
        map(&codes.contiguous()?, move |code: T| (code.into() - zero) * scale)
    }
    let (scale, zero_point) = (scale as f32, zero_point as f32);
    match codes.dtype() {
        DType::UInt8 => of::<u8>(codes, scale, zero_point),
        DType::Int8 => of::<i8>(codes, scale, zero_point),
        other => Err(Error::no_kernel("quantized", other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear;

    #[test]
    fn a_layer_of_integers_is_the_layer_of_what_they_stand_for() {
        let codes: Vec<u8> = (0..4 * 24).map(|i| (i * 37 % 256) as u8).collect();
        let codes = Tensor::from_slice(&codes, &[4, 24]).unwrap();
        let weight: Vec<i8> = (0..5 * 24).map(|i| (i * 53 % 255) as i8).collect();
        let weight = Tensor::from_slice(&weight, &[5, 24]).unwrap();
        let scales = [0.01, 0.02, 0.005, 0.03, 0.001];
        let bias = Tensor::from_slice(&[1f32, -2.0, 0.5, 0.0, 3.0], &[5]).unwrap();
        let packed = integer_weight(&weight, &scales).unwrap();
        let numbers = numbers_of_codes(&codes, 0.05, 100).unwrap();
        let scales = scales.map(|scale| scale as f32);
        let real = weight.to_dtype(DType::Float32).unwrap();
        let column = Tensor::from_slice(&scales, &[5, 1]).unwrap();
        let real = crate::binary(crate::BinaryOp::Mul, (&real).into(), (&column).into()).unwrap();
        let want = linear(&numbers, &real, Some(&bias)).unwrap();
        let mut layer = IntegerLayer {
            scale: 0.05,
            zero_point: 100,
            bias: Some(&bias),
            relu: false,
            codes: None,
        };
        let found = integer_linear(&codes, &packed, &layer).unwrap().to_vec::<f32>().unwrap();
        let close = |(x, y): (&f32, &f32)| (x - y).abs() <= 1e-4 * (1.0 + y.abs());
        assert!(found.iter().zip(&want.to_vec::<f32>().unwrap()).all(close));
        let steps =
            CodeSteps { inverse: 20.0, zero_point: 7, least: 0, most: 200, dtype: DType::UInt8 };
        layer.relu = true;
        let positive = crate::unary(crate::UnaryOp::Relu, &want).unwrap();
        layer.codes = Some(steps);
        let found = integer_linear(&codes, &packed, &layer).unwrap().to_vec::<u8>().unwrap();
        let want = steps.codes_of(&positive).unwrap().to_vec::<u8>().unwrap();
        assert!(found.iter().zip(&want).all(|(a, b)| a.abs_diff(*b) <= 1) && want.contains(&200));
    }
}
