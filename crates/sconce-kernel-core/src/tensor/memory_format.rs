//! Tensors in a memory format: new ones, copies, and the format of an existing one.

use crate::layout::memory_format::{MemoryFormat, dense_strides, grow};
use crate::layout::shape::{contiguous_strides, is_contiguous};
use crate::layout::strides::{is_dense, iteration_order};
use crate::{DType, Dims, Error, Result, Tensor};

impl Tensor {
    /// Zeros of a memory format.
    ///
    /// # Errors
    /// As [`Tensor::zeros`], and where the format is for another number of dimensions.
    pub fn zeros_in(sizes: &[i64], dtype: DType, format: MemoryFormat) -> Result<Tensor> {
        let strides = format.strides(sizes)?;
        let dense = Tensor::zeros(sizes, dtype)?;
        Ok(dense.view_unchecked(Dims::from_slice(sizes), strides, 0))
    }

    /// Zeros of the sizes and, where they leave no gaps, the strides of this tensor: what
    /// `torch.zeros_like` keeps.
    ///
    /// # Errors
    /// As [`Tensor::zeros`].
    pub fn zeros_like(&self, dtype: DType, format: MemoryFormat) -> Result<Tensor> {
        let strides = self.strides_in(format)?;
        let dense = Tensor::zeros(self.sizes(), dtype)?;
        Ok(dense.view_unchecked(Dims::from_slice(self.sizes()), strides, 0))
    }

    /// The strides of a new tensor like this one in a format.
    fn strides_in(&self, format: MemoryFormat) -> Result<Dims> {
        match format {
            MemoryFormat::Preserve => Ok(self.preserved_strides()),
            _ => format.strides(self.sizes()),
        }
    }

    /// The strides of a new tensor that keeps the order of this one's dimensions: the same ones
    /// where they neither overlap nor leave gaps.
    pub fn preserved_strides(&self) -> Dims {
        let (sizes, strides) = (self.sizes(), self.strides());
        if is_contiguous(sizes, strides) {
            return Dims::from_slice(strides);
        }
        if is_dense(sizes, strides) {
            return Dims::from_slice(strides);
        }
        dense_strides(sizes, &iteration_order(sizes, &[Dims::from_slice(strides)]))
    }

    /// `torch.Tensor.is_contiguous(memory_format=…)`.
    pub fn is_contiguous_in(&self, format: MemoryFormat) -> bool {
        format.fits(self.sizes(), self.strides())
    }

    /// The format that results computed from this tensor take: channels last where its strides are
    /// in that order, otherwise row-major.
    pub fn suggested_format(&self) -> MemoryFormat {
        let own = |format: &MemoryFormat| {
            format.order().is_some_and(|order| grow(self.sizes(), self.strides(), order))
        };
        [MemoryFormat::ChannelsLast, MemoryFormat::ChannelsLast3d]
            .into_iter()
            .find(own)
            .unwrap_or(MemoryFormat::Contiguous)
    }

    /// Itself where it is of this format, otherwise a copy: `torch.Tensor.contiguous`.
    ///
    /// # Errors
    /// Where the format is for another number of dimensions.
    pub fn contiguous_in(&self, format: MemoryFormat) -> Result<Tensor> {
        if format == MemoryFormat::Preserve {
            let message = "preserve memory format is unsupported by the contiguous operator";
            return Err(Error::runtime(message));
        }
        if self.is_contiguous_in(format) { Ok(self.clone()) } else { self.copy_in(format) }
    }

    /// A copy of this format, `torch.clone`.
    ///
    /// # Errors
    /// Where the format is for another number of dimensions.
    pub fn copy_in(&self, format: MemoryFormat) -> Result<Tensor> {
        self.to_dtype_in(self.dtype(), format)
    }

    /// A copy of another dtype and of this format.
    ///
    /// # Errors
    /// As [`Tensor::to_dtype`] and [`Tensor::copy_in`].
    pub fn to_dtype_in(&self, dtype: DType, format: MemoryFormat) -> Result<Tensor> {
        let strides = self.strides_in(format)?;
        if dtype != self.dtype() && strides == contiguous_strides(self.sizes()) {
            return self.to_dtype(dtype);
        }
        let dense = Tensor::for_overwrite(self.sizes(), dtype)?;
        let copy = dense.view_unchecked(Dims::from_slice(self.sizes()), strides, 0);
        copy.copy_from(self)?;
        Ok(copy)
    }

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
        let copy = Tensor::for_overwrite(self.sizes(), self.dtype())?;
        let copy = copy.as_strided(self.sizes(), strides, None)?;
        copy.copy_from(&self)?;
        Ok(copy)
    }

    /// This tensor in the format that `input` suggests for its results.
    pub fn like_format_of(self, input: &Tensor) -> Result<Tensor> {
        let strides = match input.is_row_major() || input.dim() != self.dim() {
            true => contiguous_strides(self.sizes()),
            false => input.suggested_format().strides(self.sizes())?,
        };
        self.with_strides(&strides)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strided(sizes: &[i64], strides: &[i64]) -> Tensor {
        Tensor::zeros(&[4096], DType::Float32).unwrap().as_strided(sizes, strides, None).unwrap()
    }

    #[test]
    fn strides_are_those_of_torch() {
        // Sizes, strides, what `clone` gives, and whether `suggest_memory_format` says channels last.
        type Case = (&'static [i64], &'static [i64], &'static [i64], bool);
        let cases: &[Case] = &[
            (&[2, 3, 4, 5], &[60, 20, 5, 1], &[60, 20, 5, 1], false),
            (&[2, 3, 4, 5], &[60, 1, 15, 3], &[60, 1, 15, 3], true),
            (&[2, 1, 4, 5], &[20, 1, 5, 1], &[20, 1, 5, 1], true),
            (&[2, 3, 1, 1], &[3, 1, 1, 1], &[3, 1, 1, 1], false),
            (&[2, 3, 4, 5], &[120, 1, 30, 6], &[60, 1, 15, 3], true),
            (&[3, 4], &[1, 3], &[1, 3], false),
            (&[3, 4], &[1, 6], &[1, 3], false),
            (&[3, 4], &[0, 1], &[4, 1], false),
            (&[2, 2, 3, 4, 5], &[120, 1, 40, 10, 2], &[120, 1, 40, 10, 2], true),
        ];
        for &(sizes, strides, cloned, last) in cases {
            let tensor = strided(sizes, strides);
            assert_eq!(tensor.copy_in(MemoryFormat::Preserve).unwrap().strides(), cloned);
            assert_eq!(tensor.suggested_format() != MemoryFormat::Contiguous, last, "{strides:?}");
        }
    }

    #[test]
    fn a_format_of_another_rank_is_refused() {
        let error =
            strided(&[3, 4], &[4, 1]).contiguous_in(MemoryFormat::ChannelsLast).unwrap_err();
        assert_eq!(error.message(), "required rank 4 tensor to use channels_last format");
    }
}
