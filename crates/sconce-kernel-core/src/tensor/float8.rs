//! Floating types of 8 bits: there is no arithmetic for them, they are converted by way of `float32`.

use sconce_tensor::Float8;

use crate::parallel::{grain, partition};
use crate::{DType, Result, Tensor};

/// The numbers of codes.
pub(super) fn widened(codes: &Tensor, kind: Float8) -> Result<Tensor> {
    let codes = codes.contiguous()?;
    let result = Tensor::for_overwrite(codes.sizes(), DType::Float32)?;
    let (start, numbers) = (usize::try_from(codes.offset()).unwrap_or_default(), kind.numbers());
    let from = codes.storage().read::<u8>()?;
    let from: &[u8] = &from;
    partition::for_each_chunk(&mut result.write::<f32>()?, 64, grain::ELEMENTWISE, |at, to| {
        let from = from.iter().skip(start + at);
        to.iter_mut().zip(from).for_each(|(to, &code)| *to = numbers[usize::from(code)]);
    });
    Ok(result)
}

/// The codes nearest to numbers of `float32`.
pub(super) fn rounded(numbers: &Tensor, kind: Float8, dtype: DType) -> Result<Tensor> {
    let numbers = numbers.contiguous()?;
    let result = Tensor::for_overwrite(numbers.sizes(), dtype)?;
    let from = numbers.read::<f32>()?;
    let from: &[f32] = &from;
    // What was made for this starts at its storage's beginning.
    let mut to = result.storage().write::<u8>()?;
    partition::for_each_chunk(&mut to, 64, grain::ELEMENTWISE, |at, to| {
        let from = from.iter().skip(at);
        to.iter_mut().zip(from).for_each(|(to, &number)| *to = kind.encode(number));
    });
    drop(to);
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_files_and_come_back() {
        let numbers: Vec<f32> = (-300..300).map(|i| i as f32 * 1.7).collect();
        let numbers = Tensor::from_slice(&numbers, &[20, 30]).unwrap();
        for dtype in [DType::Float8E4M3FN, DType::Float8E5M2, DType::Float8E4M3FNUZ] {
            let codes = numbers.to_dtype(dtype).unwrap();
            let in_file = numbers.to_file().unwrap().to_dtype(dtype).unwrap();
            let in_file = Tensor::from_file(&in_file).unwrap();
            let bytes = |tensor: &Tensor| tensor.storage().read::<u8>().unwrap()[..600].to_vec();
            assert_eq!(bytes(&codes), bytes(&in_file));
            // A view, of which one part is converted.
            let column = codes.transpose(0, 1).unwrap().narrow(0, 3, 2).unwrap();
            let back = column.to_dtype(DType::Float64).unwrap().to_vec::<f64>().unwrap();
            let kind = Float8::of(dtype).unwrap();
            let number =
                |row: usize, at: usize| kind.numbers()[usize::from(bytes(&codes)[row * 30 + at])];
            let want: Vec<f64> = (0..40).map(|i| f64::from(number(i % 20, 3 + i / 20))).collect();
            let equal = |(x, y): (&f64, &f64)| x == y || x.is_nan() && y.is_nan();
            assert!(back.len() == 40 && back.iter().zip(&want).all(equal), "{dtype:?}");
        }
    }

    #[test]
    fn single_numbers_are_filled_in_and_read() {
        let filled = Tensor::full(&[3], crate::Scalar::Float(3.3), DType::Float8E4M3FN).unwrap();
        assert_eq!(filled.narrow(0, 1, 1).unwrap().item().unwrap().to_f64(), 3.25);
    }
}
