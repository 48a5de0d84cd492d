//! Views: other sizes and strides over the same storage. None copies an element, except `reshape` where
//! no strides can express the result.

use crate::layout::shape::{self, infer_size, list, numel, view_strides, wrap_dim};
use crate::{Dims, Error, Result, Tensor};

impl Tensor {
    /// Any sizes and strides inside the storage, `torch.as_strided`; the offset stays where it is
    /// unless given.
    ///
    /// # Errors
    /// For negative numbers, lists of different lengths, and views beyond the storage.
    pub fn as_strided(
        &self,
        sizes: &[i64],
        strides: &[i64],
        offset: Option<i64>,
    ) -> Result<Tensor> {
        if sizes.len() != strides.len() {
            return Err(Error::runtime("mismatch in length of strides and shape"));
        }
        if strides.iter().any(|&stride| stride < 0) {
            return Err(Error::runtime(format!(
                "as_strided: Negative strides are not supported at the moment, got strides: {}",
                list(strides)
            )));
        }
        let offset = offset.unwrap_or(self.offset());
        if offset < 0 {
            return Err(Error::runtime(format!("Tensor: invalid storage offset {offset}")));
        }
        let item = self.dtype().item_size() as i128;
        if numel(sizes)? > 0 {
            let last = sizes.iter().zip(strides).fold(i128::from(offset), |last, (&n, &step)| {
                last.saturating_add(i128::from(n - 1).saturating_mul(i128::from(step)))
            });
            let needed = last.saturating_add(1).saturating_mul(item);
            if needed > self.storage().nbytes() as i128 {
                return Err(Error::runtime(format!(
                    "setStorage: sizes {}, strides {}, storage offset {offset}, and itemsize {item} \
                     requiring a storage size of {needed} are out of bounds for storage of size {}",
                    list(sizes),
                    list(strides),
                    self.storage().nbytes()
                )));
            }
        }
        Ok(self.view_unchecked(Dims::from_slice(sizes), Dims::from_slice(strides), offset))
    }

    fn with_dims(&self, sizes: Dims, strides: Dims) -> Tensor {
        self.view_unchecked(sizes, strides, self.offset())
    }

    /// A view of all of it, which stays as it is when this tensor changes its view: `aten::alias`.
    pub fn alias(&self) -> Tensor {
        let (sizes, strides) = self.dims();
        self.with_dims(sizes, strides)
    }

    fn dims(&self) -> (Dims, Dims) {
        (Dims::from_slice(self.sizes()), Dims::from_slice(self.strides()))
    }

    /// One index of a dimension, which goes away: `torch.select`.
    ///
    /// # Errors
    /// Where there is no such dimension or index.
    pub fn select(&self, dim: i64, index: i64) -> Result<Tensor> {
        if self.dim() == 0 {
            return Err(Error::index("select() cannot be applied to a 0-dim tensor."));
        }
        let dim = wrap_dim(dim, self.dim())?;
        let (mut sizes, mut strides) = self.dims();
        let size = sizes[dim];
        if index < -size || index >= size {
            return Err(Error::index(format!(
                "select(): index {index} out of range for tensor of size {} at dimension {dim}",
                list(&sizes)
            )));
        }
        let index = if index < 0 { index + size } else { index };
        let offset = self.offset() + index * strides[dim];
        sizes.remove(dim);
        strides.remove(dim);
        Ok(self.view_unchecked(sizes, strides, offset))
    }

    /// Python's `[start:end:step]` of one dimension, bounds clipped: `aten::slice`.
    ///
    /// # Errors
    /// For steps below 1 and dimensions that do not exist.
    pub fn slice(
        &self,
        dim: i64,
        start: Option<i64>,
        end: Option<i64>,
        step: i64,
    ) -> Result<Tensor> {
        if self.dim() == 0 {
            return Err(Error::index("slice() cannot be applied to a 0-dim tensor."));
        }
        let dim = wrap_dim(dim, self.dim())?;
        if step <= 0 {
            return Err(Error::runtime("slice step must be positive"));
        }
        let (mut sizes, mut strides) = self.dims();
        let size = sizes[dim];
        let clip = |at: i64, low: i64| {
            (if at < 0 { at.saturating_add(size) } else { at }).clamp(low, size)
        };
        let start = clip(start.unwrap_or(0), 0);
        let end = clip(end.unwrap_or(i64::MAX), start.min(size)).max(start);
        let length = end - start;
        let offset = self.offset().saturating_add(start.saturating_mul(strides[dim]));
        sizes[dim] = length / step + i64::from(length % step != 0);
        strides[dim] = strides[dim].saturating_mul(step);
        Ok(self.view_unchecked(sizes, strides, offset))
    }

    /// `length` indices of a dimension from `start`, `torch.narrow`.
    ///
    /// # Errors
    /// Where they reach beyond the dimension.
    pub fn narrow(&self, dim: i64, start: i64, length: i64) -> Result<Tensor> {
        if self.dim() == 0 {
            return Err(Error::runtime("narrow() cannot be applied to a 0-dim tensor."));
        }
        if length < 0 {
            return Err(Error::runtime("narrow(): length must be non-negative."));
        }
        let size = self.size(dim)?;
        if start < -size || start > size {
            return Err(Error::index(format!(
                "start out of range (expected to be in range of [{}, {size}], but got {start})",
                -size
            )));
        }
        let start = if start < 0 { start + size } else { start };
        if length > size - start {
            return Err(Error::runtime(format!(
                "start ({start}) + length ({length}) exceeds dimension size ({size})."
            )));
        }
        self.slice(dim, Some(start), Some(start + length), 1)
    }

    /// Repeats dimensions of size 1 without copying, `torch.Tensor.expand`; -1 keeps a size.
    ///
    /// # Errors
    /// Where a size that is not 1 would change.
    pub fn expand(&self, to: &[i64]) -> Result<Tensor> {
        let Some(lead) = to.len().checked_sub(self.dim()) else {
            return Err(Error::runtime(format!(
                "expand(torch.{}Tensor{{{}}}, size={}): the number of sizes provided ({}) must be \
                 greater or equal to the number of dimensions in the tensor ({})",
                self.dtype().scalar_type_name(),
                list(self.sizes()),
                list(to),
                to.len(),
                self.dim()
            )));
        };
        let mut sizes = Dims::from_slice(to);
        // Of several sizes that do not fit the last one is named.
        for (i, size) in sizes.iter_mut().enumerate().rev() {
            let Some(own) = i.checked_sub(lead) else {
                if *size < 0 {
                    return Err(Error::runtime(format!(
                        "The expanded size of the tensor ({size}) isn't allowed in a leading, \
                         non-existing dimension {i}"
                    )));
                }
                continue;
            };
            let have = self.sizes()[own];
            if *size == -1 {
                *size = have;
            }
            if have != 1 && have != *size {
                return Err(Error::runtime(format!(
                    "The expanded size of the tensor ({size}) must match the existing size ({have}) \
                     at non-singleton dimension {i}.  Target sizes: {}.  Tensor sizes: {}",
                    list(to),
                    list(self.sizes())
                )));
            }
        }
        numel(&sizes)?;
        let mut strides = shape::expanded_strides(self.sizes(), self.strides(), &sizes);
        // A new dimension of one element is as far from the next as it would be row-major.
        for dim in (0..lead).rev().filter(|&dim| sizes[dim] == 1) {
            if let (Some(&size), Some(&stride)) = (sizes.get(dim + 1), strides.get(dim + 1)) {
                strides[dim] = stride.saturating_mul(size);
            }
        }
        Ok(self.with_dims(sizes, strides))
    }

    /// The dimensions in another order, `torch.permute`.
    ///
    /// # Errors
    /// Where `dims` is not an order of the dimensions.
    pub fn permute(&self, dims: &[i64]) -> Result<Tensor> {
        if dims.len() != self.dim() {
            return Err(Error::runtime(format!(
                "permute(sparse_coo): number of dimensions in the tensor input does not match the \
                 length of the desired ordering of dimensions i.e. input.dim() = {} is not equal to \
                 len(dims) = {}",
                self.dim(),
                dims.len()
            )));
        }
        let mut seen = Dims::from_elem(0, dims.len());
        let (mut sizes, mut strides) = self.dims();
        for (i, &dim) in dims.iter().enumerate() {
            let dim = wrap_dim(dim, self.dim())?;
            seen[dim] += 1;
            if seen[dim] > 1 {
                return Err(Error::runtime("permute(): duplicate dims are not allowed."));
            }
            (sizes[i], strides[i]) = (self.sizes()[dim], self.strides()[dim]);
        }
        Ok(self.with_dims(sizes, strides))
    }

    /// Two dimensions swapped, `torch.transpose`.
    ///
    /// # Errors
    /// Where there is no such dimension.
    pub fn transpose(&self, a: i64, b: i64) -> Result<Tensor> {
        let (a, b) = (wrap_dim(a, self.dim())?, wrap_dim(b, self.dim())?);
        let (mut sizes, mut strides) = self.dims();
        if self.dim() > 0 {
            sizes.swap(a, b);
            strides.swap(a, b);
        }
        Ok(self.with_dims(sizes, strides))
    }

    /// A matrix turned over, `torch.t`.
    ///
    /// # Errors
    /// For more than two dimensions.
    pub fn t(&self) -> Result<Tensor> {
        match self.dim() {
            0 | 1 => Ok(self.alias()),
            2 => self.transpose(0, 1),
            n => Err(Error::runtime(format!(
                "t() expects a tensor with <= 2 dimensions, but self is {n}D"
            ))),
        }
    }

    /// Other sizes over the same elements, `torch.Tensor.view`; one size may be -1.
    ///
    /// # Errors
    /// Where numbers of elements differ, or no strides can show it.
    pub fn view(&self, sizes: &[i64]) -> Result<Tensor> {
        let sizes = infer_size(sizes, self.numel())?;
        let strides = view_strides(self.sizes(), self.strides(), &sizes).ok_or_else(|| {
            Error::runtime(
                "view size is not compatible with input tensor's size and stride (at least one \
                 dimension spans across two contiguous subspaces). Use .reshape(...) instead.",
            )
        })?;
        Ok(self.with_dims(sizes, strides))
    }

    /// A view where there is one, otherwise a copy: `torch.reshape`.
    ///
    /// # Errors
    /// Where numbers of elements differ.
    pub fn reshape(&self, sizes: &[i64]) -> Result<Tensor> {
        let sizes = infer_size(sizes, self.numel())?;
        match view_strides(self.sizes(), self.strides(), &sizes) {
            Some(strides) => Ok(self.with_dims(sizes, strides)),
            None => self.copy()?.view(&sizes),
        }
    }

    /// Dimensions from `start` to `end` as one, `torch.flatten`.
    ///
    /// # Errors
    /// Where there are no such dimensions.
    pub fn flatten(&self, start: i64, end: i64) -> Result<Tensor> {
        let (start, end) = (wrap_dim(start, self.dim())?, wrap_dim(end, self.dim())?);
        if start > end {
            return Err(Error::runtime(
                "flatten() has invalid args: start_dim cannot come after end_dim",
            ));
        }
        if self.dim() == 0 {
            return self.reshape(&[1]);
        }
        if start == end {
            // The tensor itself, no view of it.
            return Ok(self.clone());
        }
        let mut sizes = Dims::from_slice(&self.sizes()[..start]);
        sizes.push(shape::product(&self.sizes()[start..=end]));
        sizes.extend_from_slice(&self.sizes()[end + 1..]);
        self.reshape(&sizes)
    }

    /// A new dimension of size 1, `torch.unsqueeze`.
    ///
    /// # Errors
    /// For positions that do not exist.
    pub fn unsqueeze(&self, dim: i64) -> Result<Tensor> {
        let dim = wrap_dim(dim, self.dim() + 1)?;
        let (mut sizes, mut strides) = self.dims();
        let stride = if dim < self.dim() { sizes[dim].saturating_mul(strides[dim]) } else { 1 };
        sizes.insert(dim, 1);
        strides.insert(dim, stride);
        Ok(self.with_dims(sizes, strides))
    }

    /// Without all dimensions of size 1 (`None`), or without those named that have it.
    ///
    /// # Errors
    /// Where there is no such dimension.
    pub fn squeeze(&self, dims: Option<&[i64]>) -> Result<Tensor> {
        // A tensor without dimensions has one that can be named.
        let mut goes = Dims::from_elem(i64::from(dims.is_none()), self.dim().max(1));
        for &dim in dims.unwrap_or(&[]) {
            let dim = wrap_dim(dim, self.dim())?;
            if std::mem::replace(&mut goes[dim], 1) == 1 {
                let message = format!("dim {dim} appears multiple times in the list of dims");
                return Err(Error::runtime(message));
            }
        }
        let keep = |i: &usize| !(goes[*i] == 1 && self.sizes()[*i] == 1);
        let kept: Vec<usize> = (0..self.dim()).filter(keep).collect();
        let sizes = kept.iter().map(|&i| self.sizes()[i]).collect();
        let strides = kept.iter().map(|&i| self.strides()[i]).collect();
        Ok(self.with_dims(sizes, strides))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn six() -> Tensor {
        Tensor::from_slice(&[0f32, 1., 2., 3., 4., 5.], &[2, 3]).unwrap()
    }

    #[test]
    fn views_alias() {
        let t = six();
        t.transpose(0, 1).unwrap().select(0, 1).unwrap().fill(9.0.into()).unwrap();
        assert_eq!(t.to_vec::<f32>().unwrap(), [0., 9., 2., 3., 9., 5.]);
        let flat = t.view(&[-1]).unwrap();
        flat.slice(0, Some(1), Some(-1), 2).unwrap().fill(7.0.into()).unwrap();
        assert_eq!(t.to_vec::<f32>().unwrap(), [0., 7., 2., 7., 9., 5.]);
        let copy = t.t().unwrap().reshape(&[6]).unwrap();
        assert!(!copy.storage().ptr_eq(t.storage()));
        assert_eq!(copy.to_vec::<f32>().unwrap(), [0., 7., 7., 9., 2., 5.]);
        let overlap = t.view(&[6]).unwrap();
        let (to, from) = (overlap.narrow(0, 1, 5).unwrap(), overlap.narrow(0, 0, 5).unwrap());
        to.copy_from(&from).unwrap();
        assert_eq!(t.to_vec::<f32>().unwrap(), [0., 0., 7., 2., 7., 9.]);
    }

    #[test]
    fn errors_are_in_pytorch_words() {
        let t = six();
        let cases: &[(Result<Tensor>, &str)] = &[
            (t.view(&[2, 2]), "shape '[2, 2]' is invalid for input of size 6"),
            (t.view(&[-1, -1]), "only one dimension can be inferred"),
            (t.view(&[-2, 3]), "invalid shape dimension -2 at index 0 of shape [-2, 3]"),
            (
                t.t().unwrap().view(&[6]),
                "view size is not compatible with input tensor's size and stride (at least one \
                 dimension spans across two contiguous subspaces). Use .reshape(...) instead.",
            ),
            (
                t.select(2, 0),
                "Dimension out of range (expected to be in range of [-2, 1], but got 2)",
            ),
            (
                t.select(0, 5),
                "select(): index 5 out of range for tensor of size [2, 3] at dimension 0",
            ),
            (t.narrow(0, 1, 5), "start (1) + length (5) exceeds dimension size (2)."),
            (
                t.expand(&[2, 2, 4]),
                "The expanded size of the tensor (4) must match the existing size (3) at \
                 non-singleton dimension 2.  Target sizes: [2, 2, 4].  Tensor sizes: [2, 3]",
            ),
            (t.permute(&[0, 0]), "permute(): duplicate dims are not allowed."),
            (t.slice(0, None, None, 0), "slice step must be positive"),
            (
                t.as_strided(&[3], &[3], Some(2)),
                "setStorage: sizes [3], strides [3], storage offset 2, and itemsize 4 requiring a \
                 storage size of 36 are out of bounds for storage of size 24",
            ),
        ];
        for (result, message) in cases {
            assert_eq!(result.as_ref().unwrap_err().message(), *message);
        }
    }
}
