//! Fake quantization: rounding to what a quantized number would hold
//! (`torch.fake_quantize_per_tensor_affine` and its relatives), as used in quantization-aware training.

use sconce_kernel_core::error::{Error, Result};
use sconce_kernel_core::tensor::strided::Tensor;
use sconce_tensor::DType;

use crate::quantize::range_parameters;
use crate::reduction::min_max::{amax, amin};

/// What numbers are rounded to.
#[derive(Debug, Clone)]
pub struct FakeQuantizer {
    /// The steps: one, or one for each channel.
    pub scales: Vec<f32>,
    /// The integers that 0 becomes, as many as scales.
    pub zero_points: Vec<i64>,
    /// The dimension of the channels; `None` where there is one scale for all.
    pub axis: Option<usize>,
    /// The least and the greatest integer.
    pub range: (i64, i64),
}

/// The tensor as it would come back from being quantized, and which numbers were within the range.
///
/// # Errors
/// For other dtypes than `float32` and those of half precision, an empty range, and scales that are not
/// one for each channel.
pub fn fake_quantize(input: &Tensor, by: &FakeQuantizer) -> Result<(Tensor, Tensor)> {
    let (least, most) = by.range;
    if least > most {
        return Err(Error::runtime("`quant_min` should be less than or equal to `quant_max`."));
    }
    if matches!(input.dtype(), DType::Float16 | DType::BFloat16) {
        let (result, kept) = fake_quantize(&input.to_dtype(DType::Float32)?, by)?;
        return Ok((result.to_dtype(input.dtype())?, kept));
    }
    if input.dtype() != DType::Float32 {
        return Err(Error::not_implemented(
            "fake quantization of other dtypes than float32 and halves",
        ));
    }
    let channels =
        by.axis.map_or(1, |axis| input.sizes().get(axis).map_or(0, |&size| size as usize));
    if by.scales.len() != channels || by.zero_points.len() != channels {
        return Err(Error::runtime(
            "dimensions of scale and zero-point are not consistent with input tensor",
        ));
    }
    if by.zero_points.iter().any(|point| !(least..=most).contains(point)) {
        return Err(Error::runtime("`zero_point` must be between `quant_min` and `quant_max`."));
    }
    let inner = by.axis.map_or(1, |axis| input.sizes()[axis + 1..].iter().product::<i64>().max(1));
    let input = input.contiguous()?;
    let (result, kept) =
        (Tensor::zeros(input.sizes(), DType::Float32)?, Tensor::zeros(input.sizes(), DType::Bool)?);
    {
        let (xs, mut results, mut mask) =
            (input.read::<f32>()?, result.write::<f32>()?, kept.write::<crate::Bool>()?);
        for (at, ((&x, out), kept)) in
            xs.iter().zip(results.iter_mut()).zip(mask.iter_mut()).enumerate()
        {
            let channel = (at / inner as usize) % channels.max(1);
            let (scale, zero_point) = (by.scales[channel], by.zero_points[channel]);
            let whole = (x * (1.0 / scale)).round_ties_even() + zero_point as f32;
            let held = whole.max(least as f32).min(most as f32);
            *out = (held - zero_point as f32) * scale;
            *kept = crate::Bool::from(least as f32 <= whole && whole <= most as f32);
        }
    }
    Ok((result, kept))
}

/// The ranges of numbers that were seen, which follow new ones slowly: one, or one for each channel.
/// `MovingAverageMinMaxObserver` of PyTorch.
#[derive(Debug, Clone)]
pub struct MovingRange {
    /// The least numbers; infinite before the first was seen.
    pub low: Vec<f32>,
    /// The greatest numbers, as many.
    pub high: Vec<f32>,
}

impl MovingRange {
    /// Moves towards the range of a tensor, or of each of its channels along a dimension, by `constant` of the
    /// distance.
    ///
    /// # Errors
    /// For other dtypes than `float32`, tensors without elements, channels of one number, and other numbers of
    /// channels.
    pub fn follow(&mut self, input: &Tensor, axis: Option<usize>, constant: f32) -> Result<()> {
        if input.dtype() != DType::Float32 {
            return Err(Error::not_implemented("observing numbers of other than float32"));
        }
        let channels = axis.map_or(1, |axis| input.sizes()[axis] as usize);
        if self.low.len() != channels || self.high.len() != channels {
            return Err(Error::runtime(format!(
                "{} ranges are running for {channels} channels",
                self.low.len()
            )));
        }
        if input.numel() == 0 || axis.is_some() && input.dim() < 2 {
            return Err(Error::runtime("there is no range of numbers in each channel"));
        }
        let over: Vec<i64> =
            (0..input.dim()).filter(|&dim| Some(dim) != axis).map(|dim| dim as i64).collect();
        let lows = amin(input, &over, false)?.to_vec::<f32>()?;
        let highs = amax(input, &over, false)?.to_vec::<f32>()?;
        let step = |old: &mut f32, new: f32| {
            *old = if old.is_infinite() { new } else { *old + constant * (new - *old) };
        };
        self.low.iter_mut().zip(lows).for_each(|(old, new)| step(old, new));
        self.high.iter_mut().zip(highs).for_each(|(old, new)| step(old, new));
        Ok(())
    }

    /// The scales and zero points that hold these numbers in integers of `range`.
    ///
    /// # Errors
    /// For ranges of NaN, which no integers hold.
    pub fn parameters(&self, range: (i64, i64), symmetric: bool) -> Result<Vec<(f32, i64)>> {
        let each = self.low.iter().zip(&self.high).map(|(&low, &high)| {
            if low.is_nan() || high.is_nan() || range.0 >= range.1 {
                return Err(Error::not_implemented("fake quantization of a range that is none"));
            }
            let (scale, zero_point) = range_parameters(low, high, range, symmetric);
            Ok((scale as f32, zero_point))
        });
        each.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_begin_with_what_is_seen_first_and_then_follow() {
        let mut seen = MovingRange { low: vec![f32::INFINITY; 2], high: vec![-f32::INFINITY; 2] };
        let first = Tensor::from_slice(&[-1.0f32, 2.0, 0.5, 4.0], &[2, 2]).unwrap();
        seen.follow(&first, Some(0), 0.5).unwrap();
        assert_eq!((&seen.low[..], &seen.high[..]), (&[-1.0, 0.5][..], &[2.0, 4.0][..]));
        let second = Tensor::from_slice(&[-3.0f32, 2.0, 0.5, 8.0], &[2, 2]).unwrap();
        seen.follow(&second, Some(0), 0.5).unwrap();
        assert_eq!((&seen.low[..], &seen.high[..]), (&[-2.0, 0.5][..], &[2.0, 6.0][..]));
        // As PyTorch's `choose_qparams` has them: 0 is held whatever was seen.
        let found = seen.parameters((-128, 127), true).unwrap();
        assert_eq!(found[0], (4.015_748 / 255.0, 0));
        let found = seen.parameters((0, 255), false).unwrap();
        assert_eq!(found, [(4.0 / 255.0, 128), (6.0 / 255.0, 0)]);
        let nothing = MovingRange { low: vec![f32::INFINITY], high: vec![-f32::INFINITY] };
        assert_eq!(nothing.parameters((-128, 127), false).unwrap(), [(0.1, 127)]);
        let none = MovingRange { low: vec![f32::NAN], high: vec![1.0] };
        assert!(none.parameters((0, 255), false).is_err());
    }

    #[test]
    fn numbers_are_rounded_to_steps_and_kept_within_the_range() {
        let input = Tensor::from_slice(&[-9.0f32, -0.3, 0.25, 0.3, 9.0], &[5]).unwrap();
        let by =
            FakeQuantizer { scales: vec![0.5], zero_points: vec![1], axis: None, range: (-3, 4) };
        let (result, kept) = fake_quantize(&input, &by).unwrap();
        assert_eq!(result.to_vec::<f32>().unwrap(), [-2.0, -0.5, 0.0, 0.5, 1.5]);
        let kept = kept.to_dtype(DType::Int64).unwrap().to_vec::<i64>().unwrap();
        assert_eq!(kept, [0, 1, 1, 1, 0]);
        let none = FakeQuantizer { range: (4, -3), ..by };
        assert!(fake_quantize(&input, &none).is_err());
    }
}
