//! Views that move, split or pair dimensions.

use crate::layout::shape::{list, wrap_dim};
use crate::{Dims, Error, Result, Tensor};

impl Tensor {
    /// Windows of a dimension side by side, `torch.Tensor.unfold`: a view with a dimension more.
    ///
    /// # Errors
    /// For windows larger than the dimension, and steps below 1.
    pub fn unfold(&self, dim: i64, size: i64, step: i64) -> Result<Tensor> {
        let dim = wrap_dim(dim, self.dim())?;
        let have = self.sizes().get(dim).copied().unwrap_or(1);
        if size < 0 {
            return Err(Error::runtime(format!("size is {size} but must be >= 0")));
        }
        if size > have {
            return Err(Error::runtime(format!(
                "maximum size for tensor at dimension {dim} is {have} but size is {size}"
            )));
        }
        if step <= 0 {
            return Err(Error::runtime(format!("step is {step} but must be > 0")));
        }
        let (mut sizes, mut strides) =
            (Dims::from_slice(self.sizes()), Dims::from_slice(self.strides()));
        sizes.push(size);
        match strides.get(dim).copied() {
            Some(between) => {
                sizes[dim] = (have - size) / step + 1;
                strides[dim] = between.saturating_mul(step);
                strides.push(between);
            }
            None => strides.push(1),
        }
        Ok(self.view_unchecked(sizes, strides, self.offset()))
    }

    /// A diagonal of two dimensions as the last one, `torch.diagonal`: a view.
    ///
    /// # Errors
    /// Where the dimensions are one, or do not exist.
    pub fn diagonal(&self, offset: i64, dim1: i64, dim2: i64) -> Result<Tensor> {
        let (a, b) = (wrap_dim(dim1, self.dim())?, wrap_dim(dim2, self.dim())?);
        if a == b {
            return Err(Error::runtime(format!(
                "diagonal dimensions cannot be identical {dim1}, {dim2}"
            )));
        }
        let (rows, columns) = (self.sizes()[a], self.sizes()[b]);
        let (down, right) = (self.strides()[a], self.strides()[b]);
        let length = match offset >= 0 {
            true => rows.min(columns.saturating_sub(offset)),
            false => rows.saturating_add(offset).min(columns),
        }
        .max(0);
        let skip = match (length, offset >= 0) {
            (0, _) => 0,
            (_, true) => offset * right,
            (_, false) => -offset * down,
        };
        let kept = |i: &usize| *i != a && *i != b;
        let mut sizes: Dims = (0..self.dim()).filter(kept).map(|i| self.sizes()[i]).collect();
        let mut strides: Dims = (0..self.dim()).filter(kept).map(|i| self.strides()[i]).collect();
        sizes.push(length);
        strides.push(down.saturating_add(right));
        Ok(self.view_unchecked(sizes, strides, self.offset() + skip))
    }

    /// Dimensions moved to other positions, `torch.movedim`: a view.
    ///
    /// # Errors
    /// For lists of different lengths and dimensions named twice.
    pub fn movedim(&self, source: &[i64], destination: &[i64]) -> Result<Tensor> {
        if source.len() != destination.len() {
            return Err(Error::runtime(format!(
                "movedim: Invalid source or destination dims: source ({} dims) should contain the \
                 same number of dims as destination ({} dims)",
                list(source),
                list(destination)
            )));
        }
        let wrap = |dims: &[i64]| -> Result<Vec<usize>> {
            dims.iter().map(|&dim| wrap_dim(dim, self.dim())).collect()
        };
        let (from, to) = (wrap(source)?, wrap(destination)?);
        let twice = |dims: &[usize]| (1..dims.len()).any(|i| dims[..i].contains(&dims[i]));
        for (name, dims, wrapped) in [("source", source, &from), ("destination", destination, &to)]
        {
            if twice(wrapped) {
                return Err(Error::runtime(format!(
                    "movedim: repeated dim in `{name}` ({})",
                    list(dims)
                )));
            }
        }
        if self.dim() == 0 {
            return Ok(self.alias());
        }
        let mut order: Vec<Option<i64>> = vec![None; self.dim()];
        for (&from, &to) in from.iter().zip(&to) {
            order[to] = Some(from as i64);
        }
        let mut rest = (0..self.dim()).filter(|dim| !from.contains(dim));
        let order: Vec<i64> = order
            .into_iter()
            .map(|dim| dim.unwrap_or_else(|| rest.next().unwrap_or_default() as i64))
            .collect();
        self.permute(&order)
    }

    /// The last two dimensions swapped, `torch.Tensor.mT`.
    ///
    /// # Errors
    /// For vectors.
    pub fn matrix_transpose(&self, name: &str) -> Result<Tensor> {
        match self.dim() {
            0 => Ok(self.clone()),
            1 => Err(Error::runtime(format!(
                "tensor.{name} is only supported on matrices or batches of matrices. Got 1-D tensor."
            ))),
            _ => self.transpose(-2, -1),
        }
    }
}
