//! Permutations of dimensions: how operands and results are put into the order of memory, and back.

use smallvec::SmallVec;

use crate::layout::shape::is_contiguous;
use crate::layout::strides::strides_of_result;
use crate::{Dims, Result, Tensor};

/// A permutation of dimensions, outermost first.
#[derive(Debug, Clone)]
pub struct Permutation(SmallVec<[usize; 8]>);

impl Permutation {
    /// The permutation that puts dimensions of these strides into the order of memory.
    pub fn of_strides(strides: &[i64]) -> Permutation {
        let mut dims: SmallVec<[usize; 8]> = (0..strides.len()).collect();
        dims.sort_by_key(|&dim| std::cmp::Reverse(strides[dim]));
        Permutation(dims)
    }

    /// The permutation for the result of an operator of these operands, unless the result is row-major.
    pub fn of_result(operands: [&Tensor; 2], sizes: &[i64]) -> Option<Permutation> {
        if operands.iter().all(|operand| operand.is_contiguous()) || sizes.contains(&0) {
            return None;
        }
        let strides = strides_of_result(&operands.map(|t| (t.sizes(), t.strides())), sizes);
        (!is_contiguous(sizes, &strides)).then(|| Permutation::of_strides(&strides))
    }

    /// Sizes or strides, permuted.
    pub fn apply(&self, dims: &[i64]) -> Dims {
        self.0.iter().map(|&dim| dims[dim]).collect()
    }

    /// A view with permuted dimensions.
    ///
    /// # Errors
    /// Where it has another number of dimensions.
    pub fn permute(&self, tensor: &Tensor) -> Result<Tensor> {
        let dims: Dims = self.0.iter().map(|&dim| dim as i64).collect();
        tensor.permute(&dims)
    }

    /// The view that [`Permutation::permute`] was given, from the one it returned.
    ///
    /// # Errors
    /// Where it has another number of dimensions.
    pub fn undo(&self, tensor: &Tensor) -> Result<Tensor> {
        let mut dims = Dims::from_elem(0, self.0.len());
        for (position, &dim) in self.0.iter().enumerate() {
            dims[dim] = position as i64;
        }
        tensor.permute(&dims)
    }
}
