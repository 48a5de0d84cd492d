//! Views of strided tensors: arithmetic on sizes, strides and offset; no element is touched.

use crate::geometry::{self, contiguous_strides};
use crate::tensor::Body;
use crate::tensor::quantized::Quantizer;
use crate::{Dims, Error, Layout, Tensor};

impl Tensor {
    fn viewable(&self, what: &str) -> Result<(), Error> {
        if self.layout() != Layout::Strided {
            return Err(Error::Unsupported(format!("{what} of a {} tensor", self.layout())));
        }
        if let Some(Quantizer::PerChannel { .. }) = self.quantizer() {
            return Err(Error::Unsupported(format!(
                "{what} of a tensor quantized per channel; dequantize() it first"
            )));
        }
        Ok(())
    }

    /// A view that lies inside this one.
    fn inner(&self, offset: i64, sizes: Dims, strides: Dims) -> Result<Tensor, Error> {
        let numel = geometry::numel(&sizes)?;
        Ok(Tensor { offset, sizes, strides, numel, ..self.clone() })
    }

    /// Where `steps` along `dim` lead. A tensor without elements may have any offset and strides,
    /// so the sum is checked.
    fn advance(&self, dim: usize, steps: i64) -> Result<i64, Error> {
        let moved = self.strides[dim].checked_mul(steps).and_then(|by| self.offset.checked_add(by));
        moved.ok_or_else(|| Error::InvalidView("storage offset overflows".into()))
    }

    fn dim(&self, dim: i64) -> Result<usize, Error> {
        let n = self.ndim() as i64;
        let wrapped = if dim < 0 { dim.saturating_add(n) } else { dim };
        if (0..n).contains(&wrapped) {
            return Ok(wrapped as usize);
        }
        let bound = n.max(1);
        Err(Error::BadIndex(format!(
            "Dimension out of range (expected to be in range of [{}, {}], but got {dim})",
            -bound,
            bound - 1
        )))
    }

    /// One index of a dimension, which disappears: `torch.Tensor.select`. Negative numbers count
    /// from the end.
    ///
    /// # Errors
    /// [`Error::BadIndex`]; [`Error::Unsupported`] for tensors that are not strided, and those
    /// quantized per channel.
    pub fn select(&self, dim: i64, index: i64) -> Result<Tensor, Error> {
        self.viewable("select")?;
        let dim_at = self.dim(dim)?;
        let size = self.sizes[dim_at];
        let wrapped = if index < 0 { index.saturating_add(size) } else { index };
        if !(0..size).contains(&wrapped) {
            return Err(Error::BadIndex(format!(
                "select(): index {index} out of range for tensor of size {:?} at dimension {dim}",
                &self.sizes[..]
            )));
        }
        let offset = self.advance(dim_at, wrapped)?;
        let (mut sizes, mut strides) = (self.sizes.clone(), self.strides.clone());
        sizes.remove(dim_at);
        strides.remove(dim_at);
        self.inner(offset, sizes, strides)
    }

    /// `len` indices of a dimension from `start`: `torch.Tensor.narrow`.
    ///
    /// # Errors
    /// As [`Tensor::select`].
    pub fn narrow(&self, dim: i64, start: i64, len: i64) -> Result<Tensor, Error> {
        self.viewable("narrow")?;
        let dim = self.dim(dim)?;
        let size = self.sizes[dim];
        if start < 0 || len < 0 || start > size || len > size - start {
            return Err(Error::BadIndex(format!(
                "start ({start}) + length ({len}) exceeds dimension size ({size})"
            )));
        }
        let offset = self.advance(dim, start)?;
        let mut sizes = self.sizes.clone();
        sizes[dim] = len;
        self.inner(offset, sizes, self.strides.clone())
    }

    /// Every `step`-th index of a dimension from `start` up to `stop`, as Python's
    /// `t[start:stop:step]`: negative numbers count from the end, numbers outside are clamped.
    ///
    /// # Errors
    /// As [`Tensor::select`]; steps must be positive.
    pub fn slice(&self, dim: i64, start: i64, stop: i64, step: i64) -> Result<Tensor, Error> {
        self.viewable("slice")?;
        let dim = self.dim(dim)?;
        if step <= 0 {
            return Err(Error::BadIndex("slice step must be positive".into()));
        }
        let size = self.sizes[dim];
        let clamp = |at: i64| (if at < 0 { at.saturating_add(size) } else { at }).clamp(0, size);
        let (start, stop) = (clamp(start), clamp(stop));
        let len = (stop - start).max(0);
        let offset = self.advance(dim, start)?;
        let (mut sizes, mut strides) = (self.sizes.clone(), self.strides.clone());
        sizes[dim] = len / step + i64::from(len % step != 0);
        // With one index or none the stride is never used.
        strides[dim] = strides[dim].saturating_mul(step);
        self.inner(offset, sizes, strides)
    }

    /// Two dimensions exchanged: `torch.Tensor.transpose`.
    ///
    /// # Errors
    /// As [`Tensor::select`].
    pub fn transpose(&self, a: i64, b: i64) -> Result<Tensor, Error> {
        self.viewable("transpose")?;
        let (a, b) = (self.dim(a)?, self.dim(b)?);
        let (mut sizes, mut strides) = (self.sizes.clone(), self.strides.clone());
        sizes.swap(a, b);
        strides.swap(a, b);
        self.inner(self.offset, sizes, strides)
    }

    /// The dimensions in another order: `torch.Tensor.permute`.
    ///
    /// # Errors
    /// As [`Tensor::select`]; every dimension must be named once.
    pub fn permute(&self, dims: &[i64]) -> Result<Tensor, Error> {
        self.viewable("permute")?;
        let order = dims.iter().map(|&dim| self.dim(dim)).collect::<Result<Vec<_>, _>>()?;
        let mut sorted = order.clone();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..self.ndim()) {
            return Err(Error::BadIndex(format!(
                "permute: {dims:?} does not name each of {} dimensions once",
                self.ndim()
            )));
        }
        let sizes = order.iter().map(|&dim| self.sizes[dim]).collect();
        let strides = order.iter().map(|&dim| self.strides[dim]).collect();
        self.inner(self.offset, sizes, strides)
    }

    /// The elements of a contiguous tensor under other sizes: `torch.Tensor.view`. One size may be
    /// -1, for whatever is left.
    ///
    /// # Errors
    /// [`Error::BadIndex`] where the number of elements differs; [`Error::Unsupported`] where the
    /// tensor is not contiguous.
    pub fn reshape(&self, sizes: &[i64]) -> Result<Tensor, Error> {
        self.viewable("reshape")?;
        if !self.is_contiguous() {
            return Err(Error::Unsupported("reshape of a tensor that is not contiguous".into()));
        }
        let mut sizes = Dims::from_slice(sizes);
        let fail = || {
            Error::BadIndex(format!("shape {sizes:?} is invalid for input of size {}", self.numel))
        };
        if let Some(open) = sizes.iter().position(|&size| size == -1) {
            let mut rest = sizes.clone();
            rest.remove(open);
            let known = geometry::numel(&rest).map_err(|_| fail())?;
            if known == 0 || self.numel % known != 0 {
                return Err(fail());
            }
            sizes[open] = self.numel / known;
        }
        if geometry::numel(&sizes).ok() != Some(self.numel) {
            return Err(Error::BadIndex(format!(
                "shape {sizes:?} is invalid for input of size {}",
                self.numel
            )));
        }
        let strides = contiguous_strides(&sizes);
        self.inner(self.offset, sizes, strides)
    }

    /// The same view with its elements read as plain integers: a quantized tensor's `int_repr`, for
    /// the types whose elements are whole bytes.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for other dtypes.
    pub fn int_repr(&self) -> Result<Tensor, Error> {
        use crate::DType::{Int8, Int32, QInt8, QInt32, QUInt8, UInt8};
        let dtype = match self.dtype {
            QInt8 => Int8,
            QUInt8 => UInt8,
            QInt32 => Int32,
            other => return Err(Error::Unsupported(format!("int_repr of {other}"))),
        };
        match &self.body {
            Body::Quantized(storage, _) | Body::Strided(storage) => {
                Ok(Tensor { dtype, body: Body::Strided(storage.clone()), ..self.clone() })
            }
            _ => Err(Error::NoData("tensor")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Tensor {
        Tensor::from_vec((0..12).collect::<Vec<i32>>(), &[3, 4]).unwrap()
    }

    #[test]
    fn views_read_what_python_would() {
        let cases: Vec<(&str, Tensor, Vec<i32>)> = vec![
            ("select", grid().select(0, -1).unwrap(), vec![8, 9, 10, 11]),
            ("select column", grid().select(1, 1).unwrap(), vec![1, 5, 9]),
            ("narrow", grid().narrow(1, 1, 2).unwrap(), vec![1, 2, 5, 6, 9, 10]),
            ("slice", grid().slice(1, 0, 99, 3).unwrap(), vec![0, 3, 4, 7, 8, 11]),
            ("slice from the end", grid().slice(0, -1, i64::MAX, 1).unwrap(), vec![8, 9, 10, 11]),
            ("empty slice", grid().slice(0, 2, 1, 1).unwrap(), vec![]),
            ("huge step", grid().slice(0, 0, 3, i64::MAX).unwrap(), vec![0, 1, 2, 3]),
            (
                "transpose",
                grid().transpose(0, -1).unwrap(),
                vec![0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11],
            ),
            ("permute", grid().permute(&[1, 0]).unwrap().select(0, 3).unwrap(), vec![3, 7, 11]),
            ("reshape", grid().reshape(&[2, -1]).unwrap().select(0, 1).unwrap(), (6..12).collect()),
        ];
        for (name, view, want) in cases {
            assert_eq!(view.to_vec::<i32>().unwrap(), want, "{name}");
        }
    }

    #[test]
    fn bad_indices_are_refused() {
        assert_eq!(
            grid().select(2, 0).unwrap_err().to_string(),
            "Dimension out of range (expected to be in range of [-2, 1], but got 2)"
        );
        assert!(grid().select(0, 3).is_err());
        assert!(grid().select(0, i64::MIN).is_err());
        assert!(grid().narrow(0, 2, 2).is_err());
        assert!(grid().narrow(0, 1, i64::MAX).is_err());
        assert!(grid().slice(0, 0, 1, 0).is_err());
        assert!(grid().permute(&[0, 0]).is_err());
        assert!(grid().reshape(&[5]).is_err());
        assert!(grid().reshape(&[-1, -1]).is_err());
        assert!(grid().transpose(0, 1).unwrap().reshape(&[12]).is_err());
    }
}
