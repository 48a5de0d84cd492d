//! Whether tensors share elements in memory, decided by sizes and strides alone: PyTorch's
//! `MemoryOverlap`.

use crate::layout::strides::is_dense;
use crate::{Error, Result, Tensor};

/// How the elements of two tensors lie to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlap {
    /// None is shared.
    None,
    /// The same elements in the same order.
    Full,
    /// Some are shared, or all in another order.
    Partial,
    /// Unknown: one of the tensors has gaps.
    Unknown,
}

impl Tensor {
    /// Whether several indices share an element, as in the result of `torch.Tensor.expand`.
    ///
    /// ```
    /// use sconce_kernel_core::{DType, Tensor};
    /// let row = Tensor::zeros(&[1, 3], DType::Float32)?;
    /// assert!(row.expand(&[2, 3])?.repeats_elements() && !row.repeats_elements());
    /// # Ok::<(), sconce_kernel_core::Error>(())
    /// ```
    pub fn repeats_elements(&self) -> bool {
        let repeated = |(&size, &stride): (&i64, &i64)| stride == 0 && size > 1;
        self.numel() > 0 && self.sizes().iter().zip(self.strides()).any(repeated)
    }

    /// Refuses to write to a tensor in which several indices [share an element](Tensor::repeats_elements).
    ///
    /// # Errors
    /// Where one does.
    pub fn expect_elements_once(&self) -> Result<()> {
        if !self.repeats_elements() {
            return Ok(());
        }
        Err(Error::runtime(
            "unsupported operation: more than one element of the written-to tensor refers to a \
             single memory location. Please clone() the tensor before performing the operation.",
        ))
    }

    /// How the elements of two tensors lie to each other.
    ///
    /// ```
    /// use sconce_kernel_core::{DType, Overlap, Tensor};
    /// let x = Tensor::zeros(&[6], DType::Float32)?;
    /// assert_eq!(x.narrow(0, 0, 5)?.overlap(&x.narrow(0, 1, 5)?), Overlap::Partial);
    /// assert_eq!(x.narrow(0, 0, 3)?.overlap(&x.narrow(0, 3, 3)?), Overlap::None);
    /// # Ok::<(), sconce_kernel_core::Error>(())
    /// ```
    pub fn overlap(&self, other: &Tensor) -> Overlap {
        if self.is(other) {
            return Overlap::Full;
        }
        if self.numel() == 0 || other.numel() == 0 || !self.storage().ptr_eq(other.storage()) {
            return Overlap::None;
        }
        if [self, other].iter().any(|tensor| !is_dense(tensor.sizes(), tensor.strides())) {
            return Overlap::Unknown;
        }
        let bytes = |tensor: &Tensor| {
            let size = tensor.dtype().item_size() as i64;
            (tensor.offset() * size, (tensor.offset() + tensor.numel()) * size)
        };
        let ((start, end), (other_start, other_end)) = (bytes(self), bytes(other));
        match (start, end) == (other_start, other_end) {
            true if self.strides() == other.strides() => Overlap::Full,
            true => Overlap::Partial,
            false if start < other_end && other_start < end => Overlap::Partial,
            false => Overlap::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;

    #[test]
    fn what_shares_elements_is_told_apart() {
        let x = Tensor::zeros(&[4, 4], DType::Float32).unwrap();
        let row = |at| x.select(0, at).unwrap();
        let column = |at| x.select(1, at).unwrap();
        for (a, b, expected) in [
            (x.clone(), x.clone(), Overlap::Full),
            (x.clone(), x.view(&[4, 4]).unwrap(), Overlap::Full),
            (x.clone(), x.t().unwrap(), Overlap::Partial),
            (x.clone(), row(0), Overlap::Partial),
            (row(0), row(1), Overlap::None),
            (column(0), column(1), Overlap::Unknown),
            (row(0), x.narrow(0, 4, 0).unwrap(), Overlap::None),
            (x.clone(), x.copy().unwrap(), Overlap::None),
        ] {
            assert_eq!((a.overlap(&b), b.overlap(&a)), (expected, expected), "{a:?} {b:?}");
        }
    }
}
