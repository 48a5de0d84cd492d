//! The strides of an element-wise operator's result, from the layouts of its operands, as PyTorch's
//! `TensorIterator` derives them.

use smallvec::SmallVec;

use crate::layout::strides::{Geometry, strides_of_result};
use crate::{DType, Dims, Operand, Result, Tensor, result_type};

/// The layout of an operand before its operator ran.
#[derive(Debug, Clone)]
struct OperandLayout {
    sizes: Dims,
    strides: Dims,
    /// The strides of a copy. An operand whose dtype is not the one computed in is copied first.
    of_copy: Dims,
    dtype: DType,
}

/// The layouts of the operands of an element-wise operator, which determine the strides of its result.
///
/// ```
/// use sconce_kernel_core::{DType, Operand, ResultLayout, Tensor};
/// let x = Tensor::zeros(&[2, 3], DType::Float32)?.t()?;
/// let layout = ResultLayout::of(&[Operand::Tensor(&x), Operand::from(2)]).unwrap();
/// let result = layout.lay_out(Tensor::zeros(&[3, 2], DType::Float32)?)?;
/// assert_eq!(result.strides(), [1, 3]);
/// # Ok::<(), sconce_kernel_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ResultLayout {
    operands: Vec<OperandLayout>,
    /// The dtype that the operands are promoted to, if they are.
    common: Option<DType>,
}

impl ResultLayout {
    /// The layouts of these operands. `None` where all of them are row-major: then so is the result.
    pub fn of(operands: &[Operand<'_>]) -> Option<ResultLayout> {
        if operands.iter().all(is_plain) {
            return None;
        }
        let seen = operands.iter().map(|operand| match operand {
            Operand::Tensor(tensor) => OperandLayout {
                sizes: Dims::from_slice(tensor.sizes()),
                strides: Dims::from_slice(tensor.strides()),
                of_copy: tensor.preserved_strides(),
                dtype: tensor.dtype(),
            },
            Operand::Scalar(number) => OperandLayout {
                sizes: Dims::new(),
                strides: Dims::new(),
                of_copy: Dims::new(),
                dtype: number.dtype(),
            },
        });
        Some(ResultLayout { operands: seen.collect(), common: result_type(operands).ok() })
    }

    /// The same, where the first operands keep their dtypes: conditions or indices.
    pub fn unpromoted(mut self, count: usize) -> ResultLayout {
        for seen in self.operands.iter_mut().take(count) {
            seen.of_copy = seen.strides.clone();
        }
        self
    }

    /// The result, with the strides that PyTorch gives it.
    ///
    /// # Errors
    /// Where memory is short.
    pub fn lay_out(&self, result: Tensor) -> Result<Tensor> {
        // Truth says nothing about what was compared.
        let computed = match result.dtype() {
            DType::Bool => self.common,
            dtype => self.common.map(|_| dtype),
        };
        let operands = self.operands.iter().map(|seen| {
            let is_copied = computed.is_some_and(|dtype| dtype != seen.dtype);
            (&seen.sizes[..], if is_copied { &seen.of_copy[..] } else { &seen.strides[..] })
        });
        let operands: SmallVec<[Geometry<'_>; 3]> = operands.collect();
        let strides = strides_of_result(&operands, result.sizes());
        result.with_strides(&strides)
    }
}

fn is_plain(operand: &Operand<'_>) -> bool {
    match operand {
        Operand::Tensor(tensor) => tensor.is_row_major(),
        Operand::Scalar(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strided(sizes: &[i64], strides: &[i64], dtype: DType) -> Tensor {
        Tensor::zeros(&[4096], dtype).unwrap().as_strided(sizes, strides, None).unwrap()
    }

    #[test]
    fn strides_of_results_are_those_of_torch() {
        // Sizes and strides of the operands of torch.addcmul, torch.add or torch.neg, the strides of
        // what it gives.
        type Case = (&'static [(&'static [i64], &'static [i64])], &'static [i64]);
        let cases: &[Case] = &[
            (&[(&[3, 1, 4], &[1, 12, 3]), (&[3, 1, 1], &[1, 1, 1])], &[1, 12, 3]),
            (&[(&[3, 3, 1, 4], &[16, 4, 4, 1])], &[12, 4, 4, 1]),
            (&[(&[1, 4, 3, 1], &[1, 1, 6, 30])], &[1, 1, 4, 12]),
            (&[(&[3, 1, 2], &[1, 4, 8])], &[1, 3, 3]),
            (
                &[(&[], &[]), (&[1, 4, 2, 2], &[8, 1, 4, 8]), (&[4, 2, 2], &[6, 2, 1])],
                &[8, 1, 4, 8],
            ),
            (&[(&[3, 3, 2, 4], &[6, 1, 3, 24])], &[6, 1, 3, 18]),
            (&[(&[2, 2], &[4, 1])], &[2, 1]),
            (&[(&[2, 1], &[2, 1]), (&[2, 3], &[0, 1])], &[3, 1]),
            (&[(&[4, 1, 3], &[3, 3, 1]), (&[4, 1, 3], &[1, 20, 5])], &[3, 12, 1]),
            (&[(&[1, 4, 3], &[20, 5, 1])], &[12, 3, 1]),
            (&[(&[1, 3], &[4, 1]), (&[3, 1, 3], &[1, 3, 9]), (&[3, 1, 3], &[1, 9, 3])], &[1, 9, 3]),
            (&[(&[4, 4, 3], &[1, 18, 6]), (&[1, 4, 3], &[18, 1, 6])], &[1, 12, 4]),
            (&[(&[2, 1, 4], &[6, 6, 1])], &[4, 4, 1]),
            (&[(&[1, 1, 3], &[1, 3, 1]), (&[1, 1, 3], &[1, 3, 1])], &[3, 3, 1]),
            (&[(&[2, 1, 2, 2], &[1, 2, 6, 12])], &[1, 2, 2, 4]),
            (&[(&[1, 2, 1, 4], &[24, 1, 4, 4])], &[8, 1, 2, 2]),
            (&[(&[2, 4, 1], &[1, 3, 1])], &[1, 2, 1]),
            (&[(&[3, 3, 2, 1], &[4, 1, 20, 20])], &[3, 1, 9, 9]),
            (&[(&[3, 1, 2, 3], &[1, 1, 4, 16])], &[1, 1, 3, 6]),
            (&[(&[2, 2], &[1, 2]), (&[2, 2], &[1, 4])], &[1, 2]),
            (
                &[
                    (&[2, 2, 3, 4], &[36, 4, 12, 1]),
                    (&[2, 2, 3, 4], &[24, 12, 4, 1]),
                    (&[2, 2, 3, 4], &[0, 8, 1, 32]),
                ],
                &[24, 4, 8, 1],
            ),
            (&[(&[], &[]), (&[3, 1, 2, 1], &[2, 2, 1, 10])], &[2, 2, 1, 6]),
            (&[(&[1, 1, 3], &[9, 1, 3])], &[3, 1, 1]),
            (
                &[
                    (&[1, 1, 3, 4], &[8, 4, 8, 1]),
                    (&[1, 1, 3, 4], &[1, 36, 3, 9]),
                    (&[1, 1, 3, 4], &[1, 6, 0, 1]),
                ],
                &[4, 4, 4, 1],
            ),
            (&[(&[4, 1, 1, 3], &[18, 9, 1, 3]), (&[4, 1, 1, 3], &[6, 6, 3, 1])], &[3, 3, 1, 1]),
            (&[(&[1, 2, 3, 2], &[4, 1, 4, 12])], &[2, 1, 2, 6]),
        ];
        for &(operands, expected) in cases {
            let tensors: Vec<Tensor> =
                operands.iter().map(|(n, s)| strided(n, s, DType::Float32)).collect();
            let operands: Vec<Operand<'_>> = tensors.iter().map(Operand::Tensor).collect();
            let sizes = operands.iter().fold(Dims::new(), |sizes, operand| {
                crate::layout::shape::broadcast(&sizes, operand.sizes()).unwrap()
            });
            let result = Tensor::zeros(&sizes, DType::Float32).unwrap();
            let found = match ResultLayout::of(&operands) {
                Some(iteration) => iteration.lay_out(result).unwrap(),
                None => result,
            };
            assert_eq!(found.strides(), expected, "{tensors:?}");
        }
    }
}
