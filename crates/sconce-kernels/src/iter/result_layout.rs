//! The order in which element-wise operators go through their operands, and the strides that their
//! results take from it: PyTorch's `TensorIterator`.

use std::cmp::Ordering;

use smallvec::SmallVec;

use crate::layout::shape::{contiguous_strides, expanded_strides, is_contiguous};
use crate::tensor::memory_format::MemoryFormat;
use crate::{DType, Dims, Operand, Result, Tensor, result_type};

/// Sizes and strides of an operand.
type Look<'a> = (&'a [i64], &'a [i64]);

/// An operand as it was before its operator ran.
#[derive(Debug, Clone)]
struct Seen {
    sizes: Dims,
    strides: Dims,
    /// The strides of a copy: what an operand of another dtype than is computed in becomes first.
    of_copy: Dims,
    dtype: DType,
}

/// How the operands of an element-wise operator lie in memory, from which follows how its result does.
///
/// ```
/// use sconce_kernels::{DType, Iteration, Operand, Tensor};
/// let x = Tensor::zeros(&[2, 3], DType::Float32)?.t()?;
/// let iteration = Iteration::over(&[Operand::Tensor(&x), Operand::from(2)]).unwrap();
/// let result = iteration.lay_out(Tensor::zeros(&[3, 2], DType::Float32)?)?;
/// assert_eq!(result.strides(), [1, 3]);
/// # Ok::<(), sconce_kernels::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Iteration {
    operands: Vec<Seen>,
    /// The dtype that the operands are promoted to, or none where they are not.
    common: Option<DType>,
}

impl Iteration {
    /// That over these operands; `None` where all of them are row-major, as the result is then.
    /// Numbers count as tensors without dimensions.
    pub fn over(operands: &[Operand<'_>]) -> Option<Iteration> {
        if operands.iter().all(is_plain) {
            return None;
        }
        let seen = operands.iter().map(|operand| match operand {
            Operand::Tensor(tensor) => Seen {
                sizes: Dims::from_slice(tensor.sizes()),
                strides: Dims::from_slice(tensor.strides()),
                of_copy: tensor.preserved_strides(),
                dtype: tensor.dtype(),
            },
            Operand::Scalar(number) => Seen {
                sizes: Dims::new(),
                strides: Dims::new(),
                of_copy: Dims::new(),
                dtype: number.dtype(),
            },
        });
        Some(Iteration { operands: seen.collect(), common: result_type(operands).ok() })
    }

    /// The same where the first operands, conditions or indices, keep the dtypes they have.
    pub fn unpromoted(mut self, count: usize) -> Iteration {
        for seen in self.operands.iter_mut().take(count) {
            seen.of_copy = seen.strides.clone();
        }
        self
    }

    /// The result with the strides that it takes.
    ///
    /// # Errors
    /// Where memory is short.
    pub fn lay_out(&self, result: Tensor) -> Result<Tensor> {
        // Truth says nothing about what was compared.
        let computed = match result.dtype() {
            DType::Bool => self.common,
            dtype => self.common.map(|_| dtype),
        };
        let looks = self.operands.iter().map(|seen| {
            let is_copied = computed.is_some_and(|dtype| dtype != seen.dtype);
            (&seen.sizes[..], if is_copied { &seen.of_copy[..] } else { &seen.strides[..] })
        });
        let looks: SmallVec<[Look<'_>; 3]> = looks.collect();
        let strides = strides_of_result(&looks, result.sizes());
        result.with_strides(&strides)
    }
}

fn is_plain(operand: &Operand<'_>) -> bool {
    match operand {
        Operand::Tensor(tensor) => tensor.is_row_major(),
        Operand::Scalar(_) => true,
    }
}

/// Dimensions in another order, outermost first, and back.
#[derive(Debug, Clone)]
pub(crate) struct Turn(SmallVec<[usize; 8]>);

impl Turn {
    /// The order in which dimensions of these strides lie in memory.
    pub(crate) fn into_order(strides: &[i64]) -> Turn {
        let mut dims: SmallVec<[usize; 8]> = (0..strides.len()).collect();
        dims.sort_by_key(|&dim| std::cmp::Reverse(strides[dim]));
        Turn(dims)
    }

    /// The order of the result of an operator of these operands, if it is not row-major.
    pub(crate) fn of_result(operands: [&Tensor; 2], sizes: &[i64]) -> Option<Turn> {
        if operands.iter().all(|operand| operand.is_contiguous()) || sizes.contains(&0) {
            return None;
        }
        let strides = strides_of_result(&operands.map(|t| (t.sizes(), t.strides())), sizes);
        (!is_contiguous(sizes, &strides)).then(|| Turn::into_order(&strides))
    }

    /// Sizes or strides in this order.
    pub(crate) fn turned(&self, dims: &[i64]) -> Dims {
        self.0.iter().map(|&dim| dims[dim]).collect()
    }

    /// A tensor with its dimensions in this order.
    ///
    /// # Errors
    /// Where it has another number of dimensions.
    pub(crate) fn there(&self, tensor: &Tensor) -> Result<Tensor> {
        let dims: Dims = self.0.iter().map(|&dim| dim as i64).collect();
        tensor.permute(&dims)
    }

    /// A tensor in this order with its dimensions as they were.
    ///
    /// # Errors
    /// Where it has another number of dimensions.
    pub(crate) fn back(&self, tensor: &Tensor) -> Result<Tensor> {
        let mut dims = Dims::from_elem(0, self.0.len());
        for (place, &dim) in self.0.iter().enumerate() {
            dims[dim] = place as i64;
        }
        tensor.permute(&dims)
    }
}

/// The strides of a result of these sizes.
pub(crate) fn strides_of_result(looks: &[Look<'_>], sizes: &[i64]) -> Dims {
    if looks.iter().all(|(own, _)| *own == sizes)
        && let Some(strides) = strides_in_common(looks, sizes)
    {
        return strides;
    }
    let expanded: SmallVec<[Dims; 4]> =
        looks.iter().map(|(own, strides)| expanded_strides(own, strides, sizes)).collect();
    let order = iteration_order(sizes, &expanded);
    if order.iter().rev().copied().eq(0..sizes.len()) {
        return contiguous_strides(sizes);
    }
    let mut strides = Dims::from_elem(0, sizes.len());
    let mut step = 1i64;
    for &dim in &order {
        strides[dim] = step;
        // A size of 0 counts as it is here.
        step = step.saturating_mul(sizes[dim]);
    }
    strides
}

/// The strides of operands of one shape that lie in memory alike, without gaps.
fn strides_in_common(looks: &[Look<'_>], sizes: &[i64]) -> Option<Dims> {
    let all = |is: fn(&[i64], &[i64]) -> bool| looks.iter().all(|(own, strides)| is(own, strides));
    if all(is_contiguous) {
        return Some(contiguous_strides(sizes));
    }
    if sizes.len() == 4 && all(|own, strides| MemoryFormat::ChannelsLast.fits(own, strides)) {
        return MemoryFormat::ChannelsLast.strides(sizes).ok();
    }
    let (_, first) = looks.first()?;
    let alike = looks.iter().all(|(_, strides)| strides == first);
    (alike && is_dense(sizes, first)).then(|| Dims::from_slice(first))
}

/// Whether a tensor has no two elements at one place, and no gaps between them.
pub(crate) fn is_dense(sizes: &[i64], strides: &[i64]) -> bool {
    if sizes.contains(&0) {
        return true;
    }
    let mut order: SmallVec<[usize; 8]> = (0..sizes.len()).filter(|&dim| sizes[dim] > 1).collect();
    order.sort_unstable_by_key(|&dim| strides[dim]);
    let mut step = 1i64;
    order.into_iter().all(|dim| {
        let fits = strides[dim] == step;
        step = step.saturating_mul(sizes[dim]);
        fits
    })
}

/// The dimensions from the innermost to the outermost: by the strides of the first operand that tells
/// two apart, where dimensions along which elements are repeated tell nothing.
pub(crate) fn iteration_order(sizes: &[i64], operands: &[Dims]) -> SmallVec<[usize; 8]> {
    let compare = |a: usize, b: usize| {
        let decide = |strides: &Dims| match strides[a].cmp(&strides[b]) {
            _ if strides[a] == 0 || strides[b] == 0 => Ordering::Equal,
            Ordering::Equal if sizes[a] > sizes[b] => Ordering::Greater,
            order => order,
        };
        let mut decided = operands.iter().map(decide);
        decided.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    };
    let mut order: SmallVec<[usize; 8]> = (0..sizes.len()).rev().collect();
    for end in 1..order.len() {
        let mut at = end;
        for before in (0..end).rev() {
            match compare(order[before], order[at]) {
                Ordering::Greater => {
                    order.swap(before, at);
                    at = before;
                }
                Ordering::Less => break,
                Ordering::Equal => {}
            }
        }
    }
    order
}

impl Tensor {
    /// This tensor with other strides, that leave no gaps: itself where it has them, otherwise a copy.
    ///
    /// # Errors
    /// Where memory is short, or the strides lead beyond it.
    pub fn with_strides(self, strides: &[i64]) -> Result<Tensor> {
        if self.strides() == strides {
            return Ok(self);
        }
        let differs = |dim: usize| self.sizes()[dim] > 1 && self.strides()[dim] != strides[dim];
        if self.numel() == 0 || !(0..self.dim()).any(differs) {
            return self.as_strided(self.sizes(), strides, None);
        }
        let copy = Tensor::unset(self.sizes(), self.dtype())?;
        let copy = copy.as_strided(self.sizes(), strides, None)?;
        copy.copy_from(&self)?;
        Ok(copy)
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
            let found = match Iteration::over(&operands) {
                Some(iteration) => iteration.lay_out(result).unwrap(),
                None => result,
            };
            assert_eq!(found.strides(), expected, "{tensors:?}");
        }
    }
}
