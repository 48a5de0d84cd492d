//! Sparse layouts: the shapes of their parts are checked when a tensor is built, what the indices
//! say only when [`Tensor::validate_sparse`] or [`Tensor::to_dense`] reads them.

use std::sync::Arc;

use crate::geometry::{self, contiguous_strides};
use crate::tensor::Body;
use crate::tensor::gather::zeroed;
use crate::{DType, Device, Dims, Error, Layout, Storage, Tensor};

mod accumulate;
mod compressed;

pub use compressed::SparseCompressed;

/// The parts of a tensor in coordinate layout: for every one of `nnz` entries a column of `indices`
/// and a row of `values`.
#[derive(Debug, Clone)]
pub struct SparseCoo {
    /// `sparse_dim` × `nnz`, `int64`.
    pub indices: Tensor,
    /// `nnz` × the dense dimensions.
    pub values: Tensor,
    /// Whether the file says that the indices are sorted and distinct.
    pub coalesced: Option<bool>,
}

impl SparseCoo {
    /// The number of entries.
    pub fn nnz(&self) -> i64 {
        self.values.sizes()[0]
    }

    /// How many of the dimensions are addressed by indices.
    pub fn sparse_dim(&self) -> usize {
        self.indices.sizes()[0] as usize
    }
}

impl Tensor {
    /// A tensor in coordinate layout: `torch.sparse_coo_tensor` without reading the indices.
    ///
    /// # Errors
    /// [`Error::InvalidSparse`], in PyTorch's words, where the shapes or dtypes of the parts do not
    /// fit; [`Error::InvalidView`] for sizes that no tensor can have.
    ///
    /// ```
    /// use sconce_tensor::Tensor;
    /// let indices = Tensor::from_vec(vec![0i64, 1, 2, 0], &[2, 2])?; // (0, 2) and (1, 0)
    /// let values = Tensor::from_vec(vec![3f32, 4.], &[2])?;
    /// let t = Tensor::sparse_coo(indices, values, &[2, 3], None)?;
    /// assert_eq!(t.to_dense()?.to_vec::<f32>()?, [0., 0., 3., 4., 0., 0.]);
    /// # Ok::<(), sconce_tensor::Error>(())
    /// ```
    pub fn sparse_coo(
        indices: Tensor,
        values: Tensor,
        sizes: &[i64],
        coalesced: Option<bool>,
    ) -> Result<Tensor, Error> {
        let fail = |text: String| Err(Error::InvalidSparse(text));
        check_strided(&[("indices", &indices), ("values", &values)])?;
        if indices.dtype() != DType::Int64 {
            return fail(format!("indices must be an int64 tensor, got {}", indices.dtype()));
        }
        let &[sparse_dim, nnz] = indices.sizes() else {
            return fail(format!(
                "indices must be sparse_dim x nnz, but got: {:?}",
                indices.sizes()
            ));
        };
        let Some((&entries, dense)) = values.sizes().split_first() else {
            return fail("values must have at least one dimension, but got: []".into());
        };
        if sizes.len() as u128 != sparse_dim as u128 + dense.len() as u128 {
            return fail(format!(
                "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {}, sparse_dim = \
                 {sparse_dim}, dense_dim = {}",
                sizes.len(),
                dense.len()
            ));
        }
        if entries != nnz {
            return fail(format!(
                "indices and values must have same nnz, but got nnz from indices: {nnz}, nnz from \
                 values: {entries}"
            ));
        }
        if &sizes[sparse_dim as usize..] != dense {
            let mut expected = Dims::from_slice(&sizes[sparse_dim as usize..]);
            expected.insert(0, nnz);
            return fail(format!(
                "values has incorrect size, expected {expected:?}, got {:?}",
                values.sizes()
            ));
        }
        let numel = geometry::numel(sizes)?;
        let dtype = values.dtype();
        let body = Body::SparseCoo(Arc::new(SparseCoo { indices, values, coalesced }));
        Ok(Tensor::with_body(dtype, Dims::from_slice(sizes), Dims::new(), numel, body))
    }

    /// Reads the indices of a sparse tensor and checks what PyTorch's `check_invariants` checks:
    /// that they lie inside the sizes and, in the compressed layouts, rise as they must. Tensors of
    /// other layouts pass.
    ///
    /// # Errors
    /// [`Error::InvalidSparse`] in PyTorch's words, and the errors of reading.
    pub fn validate_sparse(&self) -> Result<(), Error> {
        match &self.body {
            Body::SparseCoo(parts) => validate_coo(parts, &self.sizes),
            Body::SparseCompressed(parts) => compressed::validate(parts, &self.sizes),
            _ => Ok(()),
        }
    }

    /// The strided tensor that a sparse one stands for; entries of one place are added up. A strided
    /// tensor gives itself. The result may take a gibibyte: see [`Tensor::to_dense_with_limit`].
    ///
    /// # Errors
    /// Those of [`Tensor::validate_sparse`] and [`Tensor::contiguous_bytes`], [`Error::TooLarge`],
    /// and [`Error::Unsupported`] for dtypes without addition where entries meet, and for nested
    /// tensors.
    pub fn to_dense(&self) -> Result<Tensor, Error> {
        self.to_dense_with_limit(1 << 30)
    }

    /// [`Tensor::to_dense`] with a limit on the bytes of the result.
    ///
    /// # Errors
    /// Those of [`Tensor::to_dense`].
    pub fn to_dense_with_limit(&self, max_bytes: u64) -> Result<Tensor, Error> {
        let parts = match &self.body {
            Body::SparseCoo(_) | Body::SparseCompressed(_) => &self.body,
            Body::Nested(_) => {
                return Err(Error::Unsupported("to_dense of a nested tensor".into()));
            }
            _ => return Ok(self.clone()),
        };
        let mut out = zeroed("dense tensor", self.dtype.bytes_for(self.numel as u128), max_bytes)?;
        match parts {
            Body::SparseCoo(parts) => {
                validate_coo(parts, &self.sizes)?;
                fill_coo(parts, &self.sizes, &mut out)?;
            }
            Body::SparseCompressed(parts) => {
                compressed::validate(parts, &self.sizes)?;
                compressed::fill(parts, &self.sizes, &mut out)?;
            }
            _ => {}
        }
        let storage = Storage::from_bytes(out.into(), Device::CPU);
        let dense = Tensor::contiguous(storage, self.dtype, &self.sizes)?;
        Ok(dense.with_requires_grad(self.requires_grad).with_device(self.device().clone()))
    }
}

/// The parts must be views of storages (or meta), and of whole bytes.
fn check_strided(parts: &[(&str, &Tensor)]) -> Result<(), Error> {
    for (what, part) in parts {
        if part.layout() != Layout::Strided || part.dtype().is_quantized() {
            return Err(Error::InvalidSparse(format!(
                "{what} must be a strided tensor, got {} of {}",
                part.layout(),
                part.dtype()
            )));
        }
    }
    Ok(())
}

/// Indices as `i64`.
fn read_indices(indices: &Tensor) -> Result<Vec<i64>, Error> {
    if indices.dtype() == DType::Int32 {
        return Ok(indices.to_table::<i32>()?.into_iter().map(i64::from).collect());
    }
    indices.to_table::<i64>()
}

fn validate_coo(parts: &SparseCoo, sizes: &[i64]) -> Result<(), Error> {
    let nnz = parts.nnz() as usize;
    if nnz == 0 {
        return Ok(());
    }
    let indices = read_indices(&parts.indices)?;
    for (dim, (row, &size)) in indices.chunks_exact(nnz).zip(sizes).enumerate() {
        if let Some(&low) = row.iter().min().filter(|&&low| low < 0) {
            return Err(Error::InvalidSparse(format!("found negative index {low} for dim {dim}")));
        }
        if let Some(&high) = row.iter().max().filter(|&&high| high >= size) {
            return Err(Error::InvalidSparse(format!(
                "size is inconsistent with indices: for dim {dim}, size is {size} but found index {high}"
            )));
        }
    }
    Ok(())
}

/// Adds the entries of a validated tensor into zeroed dense bytes.
fn fill_coo(parts: &SparseCoo, sizes: &[i64], out: &mut [u8]) -> Result<(), Error> {
    let values = &parts.values;
    let nnz = parts.nnz() as usize;
    // Where the dense tensor is empty, the rest of its sizes may be anything.
    if nnz == 0 || out.is_empty() {
        return Ok(());
    }
    let block =
        values.dtype().item_size() * sizes[parts.sparse_dim()..].iter().product::<i64>() as usize;
    let bytes = values.native_bytes(values.default_limit())?;
    let indices = read_indices(&parts.indices)?;
    let strides = contiguous_strides(&sizes[..parts.sparse_dim()]);
    let mut blocks = accumulate::Blocks::new(values.dtype(), out, block);
    for (entry, value) in bytes.chunks_exact(block).enumerate() {
        let at: i64 =
            strides.iter().enumerate().map(|(d, stride)| indices[d * nnz + entry] * stride).sum();
        blocks.add(at as usize, value)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(values: &[i64], sizes: &[i64]) -> Tensor {
        Tensor::from_vec(values.to_vec(), sizes).unwrap()
    }

    fn float(values: &[f32], sizes: &[i64]) -> Tensor {
        Tensor::from_vec(values.to_vec(), sizes).unwrap()
    }

    #[test]
    fn shapes_are_checked_in_torchs_words() {
        let two = || float(&[1., 2.], &[2]);
        let cases: Vec<(Tensor, Tensor, &[i64], &str)> = vec![
            (
                int(&[0, 1, 1, 1, 2, 2], &[2, 3]),
                two(),
                &[2, 3],
                "indices and values must have same nnz, but got nnz from indices: 3, nnz from values: 2",
            ),
            (
                int(&[0, 1, 1, 2], &[2, 2]),
                two(),
                &[2, 3, 4],
                "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = 3, sparse_dim = \
                 2, dense_dim = 0",
            ),
            (
                int(&[0, 1, 1, 2], &[2, 2]),
                float(&[1., 2., 3., 4.], &[2, 2]),
                &[2, 3, 4],
                "values has incorrect size, expected [2, 4], got [2, 2]",
            ),
            (int(&[0, 1], &[2]), two(), &[2, 3], "indices must be sparse_dim x nnz, but got: [2]"),
        ];
        for (indices, values, sizes, want) in cases {
            let got = Tensor::sparse_coo(indices, values, sizes, None);
            assert_eq!(got.unwrap_err().to_string(), want);
        }
    }

    #[test]
    fn indices_are_checked_when_read() {
        let cases = [
            (
                [0, 1, 1, 3],
                "size is inconsistent with indices: for dim 1, size is 3 but found index 3",
            ),
            ([0, -1, 1, 2], "found negative index -1 for dim 0"),
        ];
        for (indices, want) in cases {
            let t =
                Tensor::sparse_coo(int(&indices, &[2, 2]), float(&[1., 2.], &[2]), &[2, 3], None)
                    .unwrap();
            assert_eq!(t.validate_sparse().unwrap_err().to_string(), want);
            assert_eq!(t.to_dense().unwrap_err().to_string(), want);
        }
    }

    #[test]
    fn duplicates_add_up() {
        let t = Tensor::sparse_coo(
            int(&[1, 0, 1], &[1, 3]),
            float(&[1., 2., 10., 20., 100., 200.], &[3, 2]),
            &[2, 2],
            Some(false),
        )
        .unwrap();
        assert_eq!(t.to_dense().unwrap().to_vec::<f32>().unwrap(), [10., 20., 101., 202.]);
        assert_eq!((t.numel(), t.nbytes()), (4, 24 + 24));
    }

    #[test]
    fn scalars_and_empties() {
        let scalar =
            Tensor::sparse_coo(int(&[], &[0, 2]), float(&[1., 2.], &[2]), &[], None).unwrap();
        assert_eq!(scalar.to_dense().unwrap().to_vec::<f32>().unwrap(), [3.]);
        let none = Tensor::sparse_coo(int(&[], &[2, 0]), float(&[], &[0]), &[2, 2], None).unwrap();
        assert_eq!(none.to_dense().unwrap().to_vec::<f32>().unwrap(), [0.; 4]);
        let huge =
            Tensor::sparse_coo(int(&[], &[2, 0]), float(&[], &[0]), &[1 << 30, 1 << 30], None);
        assert!(matches!(huge.unwrap().to_dense(), Err(Error::TooLarge { .. })));
        let wide =
            Tensor::sparse_coo(int(&[], &[1, 0]), float(&[], &[0, 1 << 62]), &[0, 1 << 62], None);
        assert_eq!(wide.unwrap().to_dense().unwrap().numel(), 0);
    }
}
