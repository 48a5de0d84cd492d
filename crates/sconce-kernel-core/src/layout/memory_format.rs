//! Memory formats: the order of dimensions in memory.

use crate::layout::shape::{contiguous_strides, is_contiguous};
use crate::{Dims, Error, Result};

/// `torch.memory_format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryFormat {
    /// Row-major.
    Contiguous,
    /// The order of the tensor that is given.
    Preserve,
    /// Images whose channels lie side by side.
    ChannelsLast,
    /// Volumes whose channels lie side by side.
    ChannelsLast3d,
}

impl MemoryFormat {
    /// The format of a number in a program.
    pub fn from_number(number: i64) -> Option<MemoryFormat> {
        use MemoryFormat::{ChannelsLast, ChannelsLast3d, Contiguous, Preserve};
        [Contiguous, Preserve, ChannelsLast, ChannelsLast3d]
            .get(usize::try_from(number).ok()?)
            .copied()
    }

    /// The dimensions from the innermost to the outermost, for the rank the format is for.
    pub fn order(self) -> Option<&'static [usize]> {
        match self {
            MemoryFormat::ChannelsLast => Some(&[1, 3, 2, 0]),
            MemoryFormat::ChannelsLast3d => Some(&[1, 4, 3, 2, 0]),
            _ => None,
        }
    }

    /// The strides of a tensor without gaps.
    ///
    /// # Errors
    /// Where the format is for another number of dimensions.
    pub fn strides(self, sizes: &[i64]) -> Result<Dims> {
        let Some(order) = self.order() else { return Ok(contiguous_strides(sizes)) };
        if order.len() != sizes.len() {
            let name = if order.len() == 4 { "channels_last" } else { "channels_last_3d" };
            return Err(Error::runtime(format!(
                "required rank {} tensor to use {name} format",
                order.len()
            )));
        }
        Ok(dense_strides(sizes, order))
    }

    /// Whether a tensor is of this format, without gaps.
    pub fn fits(self, sizes: &[i64], strides: &[i64]) -> bool {
        let Some(order) = self.order() else { return is_contiguous(sizes, strides) };
        if order.len() != sizes.len() {
            return false;
        }
        let dense = dense_strides(sizes, order);
        let fits = |dim: usize| sizes[dim] == 1 || dense[dim] == strides[dim];
        sizes.contains(&0) || (0..sizes.len()).all(fits)
    }
}

/// Strides without gaps, of the dimensions from the innermost to the outermost.
pub fn dense_strides(sizes: &[i64], order: &[usize]) -> Dims {
    let mut strides = Dims::from_elem(1, sizes.len());
    let mut step = 1i64;
    for &dim in order {
        strides[dim] = step;
        step = step.saturating_mul(sizes[dim].max(1));
    }
    strides
}

/// Whether strides ascend in this order of dimensions, so that the tensor has the format by its own layout.
/// Strides that are row-major as well count as row-major.
pub fn grow(sizes: &[i64], strides: &[i64], order: &[usize]) -> bool {
    if sizes.len() != order.len() || strides[1] == 0 {
        return false;
    }
    let mut least = 0i64;
    for &dim in order {
        let ambiguous = dim == 0 && least == strides[1];
        if sizes[dim] == 0 || strides[dim] < least || ambiguous {
            return false;
        }
        least = strides[dim].saturating_mul(sizes[dim]);
    }
    true
}
