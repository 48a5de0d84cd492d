//! Sparse tensors: coordinates with values, and the four compressed layouts.
//!
//! A [`Sparse`] holds its indices and values as tensors, as PyTorch's do, so that what is done with values is done by
//! the other kernels, and programs see both as views. Indices are read as vectors of integers.

mod coalesce;
mod compress;
mod elementwise;
mod indices;
mod products;
mod reduction;
mod shape;
mod softmax;

pub use elementwise::{add_sparse, add_to_dense, mul_sparse, mul_with_dense};
pub use indices::{compressed_from_coordinates, coordinates_from_compressed};
pub use products::{
    addmm_sparse, bmm_sparse, mm_of_sparse, mm_sparse, mm_sparse_reduce, sampled_addmm,
};
pub use reduction::{reduce_compressed, sum_sparse};
pub use shape::cat_sparse;
pub use softmax::{sparse_log_softmax, sparse_softmax};

use sconce_tensor::Layout;

use crate::{DType, Error, Importer, Result, Tensor};

/// A sparse tensor: its sizes, and where its values stand.
#[derive(Debug, Clone)]
pub struct Sparse {
    sizes: Vec<i64>,
    parts: SparseParts,
}

/// Where the values of a sparse tensor stand.
#[derive(Debug, Clone)]
pub enum SparseParts {
    /// `torch.sparse_coo`.
    Coordinates {
        /// `int64`, sparse dimensions × entries.
        indices: Tensor,
        /// Entries × dense dimensions.
        values: Tensor,
        /// Whether the indices are known to be in order and distinct.
        is_coalesced: bool,
    },
    /// CSR, CSC, BSR and BSC.
    Compressed {
        /// Which of the four.
        layout: Layout,
        /// Where each row (or column) begins: batches × (rows + 1).
        compressed: Tensor,
        /// The column (or row) of each entry: batches × entries.
        plain: Tensor,
        /// Batches × entries × (block) × dense dimensions.
        values: Tensor,
    },
}

/// What is left of a sparse tensor.
#[derive(Debug, Clone)]
pub enum DenseOrSparse {
    /// A tensor without a sparse dimension.
    Dense(Tensor),
    /// One with some.
    Sparse(Sparse),
}

fn of_tensor(error: sconce_tensor::Error) -> Error {
    match error {
        sconce_tensor::Error::InvalidSparse(text) => Error::runtime(text),
        other => Error::from(other),
    }
}

impl Sparse {
    /// A tensor in coordinate layout. Unlike PyTorch's it is always checked: indices lie within the sizes.
    ///
    /// # Errors
    /// Where the parts do not fit each other, in PyTorch's words.
    pub fn coo(
        indices: Tensor,
        values: Tensor,
        sizes: &[i64],
        is_coalesced: bool,
    ) -> Result<Sparse> {
        Sparse::made(sizes, indices, values, is_coalesced).checked()
    }

    /// A tensor in one of the compressed layouts, checked as well.
    ///
    /// # Errors
    /// Where the parts do not fit each other, in PyTorch's words.
    pub fn compressed(
        layout: Layout,
        compressed: Tensor,
        plain: Tensor,
        values: Tensor,
        sizes: &[i64],
    ) -> Result<Sparse> {
        let parts = SparseParts::Compressed { layout, compressed, plain, values };
        Sparse { sizes: sizes.to_vec(), parts }.checked()
    }

    /// A tensor without entries.
    ///
    /// # Errors
    /// For more sparse dimensions than sizes.
    pub fn empty_coo(sizes: &[i64], sparse_dim: usize, dtype: DType) -> Result<Sparse> {
        let dense = sizes.get(sparse_dim..).ok_or_else(|| {
            Error::runtime(format!("{sparse_dim} sparse dimensions of a tensor of {}", sizes.len()))
        })?;
        let values: Vec<i64> = std::iter::once(0).chain(dense.iter().copied()).collect();
        let indices = Tensor::zeros(&[sparse_dim as i64, 0], DType::Int64)?;
        Ok(Sparse::made(sizes, indices, Tensor::zeros(&values, dtype)?, true))
    }

    /// Of parts that are known to fit. Fewer than two entries are always in order.
    fn made(sizes: &[i64], indices: Tensor, values: Tensor, is_coalesced: bool) -> Sparse {
        let is_coalesced = is_coalesced || values.sizes().first().is_none_or(|&count| count < 2);
        let parts = SparseParts::Coordinates { indices, values, is_coalesced };
        Sparse { sizes: sizes.to_vec(), parts }
    }

    fn checked(self) -> Result<Sparse> {
        // Of the values only sizes and dtype count: no copy is made of them.
        self.to_file_with(&mut |values| {
            let one = Tensor::zeros(&[1], values.dtype())?;
            one.as_strided(values.sizes(), &vec![0; values.dim()], Some(0))
        })?;
        indices::check(&self)?;
        Ok(self)
    }

    /// A tensor of a file.
    ///
    /// # Errors
    /// For tensors that are not sparse or whose parts do not fit.
    pub fn from_file(tensor: &sconce_tensor::Tensor, importer: &mut Importer) -> Result<Sparse> {
        let sizes = tensor.sizes().to_vec();
        let parts = if let Some(parts) = tensor.sparse_coo_parts() {
            SparseParts::Coordinates {
                indices: importer.import(&parts.indices)?,
                values: importer.import(&parts.values)?,
                is_coalesced: parts.coalesced.unwrap_or(false),
            }
        } else if let Some(parts) = tensor.sparse_compressed_parts() {
            SparseParts::Compressed {
                layout: parts.layout,
                compressed: importer.import(&parts.compressed)?,
                plain: importer.import(&parts.plain)?,
                values: importer.import(&parts.values)?,
            }
        } else {
            return Err(Error::not_implemented("a tensor that is not sparse"));
        };
        Sparse { sizes, parts }.checked()
    }

    /// A copy that can be saved or printed.
    ///
    /// # Errors
    /// Where memory is short.
    pub fn to_file(&self) -> Result<sconce_tensor::Tensor> {
        self.to_file_with(&mut |values| Ok(values.clone()))
    }

    fn to_file_with(
        &self,
        values_of: &mut dyn FnMut(&Tensor) -> Result<Tensor>,
    ) -> Result<sconce_tensor::Tensor> {
        let strided = |tensor: &Tensor| -> Result<sconce_tensor::Tensor> {
            crate::Exporter::default().export(tensor)
        };
        match &self.parts {
            SparseParts::Coordinates { indices, values, is_coalesced } => {
                let values = strided(&values_of(values)?)?;
                sconce_tensor::Tensor::sparse_coo(
                    indices.to_file()?,
                    values,
                    &self.sizes,
                    Some(*is_coalesced),
                )
            }
            SparseParts::Compressed { layout, compressed, plain, values } => {
                let values = strided(&values_of(values)?)?;
                sconce_tensor::Tensor::sparse_compressed(
                    *layout,
                    compressed.to_file()?,
                    plain.to_file()?,
                    values,
                    &self.sizes,
                )
            }
        }
        .map_err(of_tensor)
    }

    /// The layout.
    pub fn layout(&self) -> Layout {
        match &self.parts {
            SparseParts::Coordinates { .. } => Layout::SparseCoo,
            SparseParts::Compressed { layout, .. } => *layout,
        }
    }

    /// Indices and values.
    pub fn parts(&self) -> &SparseParts {
        &self.parts
    }

    /// The values of its entries.
    pub fn values(&self) -> &Tensor {
        match &self.parts {
            SparseParts::Coordinates { values, .. } | SparseParts::Compressed { values, .. } => {
                values
            }
        }
    }

    /// The dtype of its values.
    pub fn dtype(&self) -> DType {
        self.values().dtype()
    }

    /// The sizes.
    pub fn sizes(&self) -> &[i64] {
        &self.sizes
    }

    /// The number of dimensions.
    pub fn dim(&self) -> usize {
        self.sizes.len()
    }

    /// The number of elements, those that are not written down included.
    pub fn numel(&self) -> i64 {
        self.sizes.iter().product()
    }

    /// The number of entries; of a batch, in the compressed layouts.
    pub fn nnz(&self) -> i64 {
        let entries = match &self.parts {
            SparseParts::Coordinates { values, .. } => values.sizes().first(),
            SparseParts::Compressed { plain, .. } => plain.sizes().last(),
        };
        entries.copied().unwrap_or(0)
    }

    /// How many dimensions are addressed by indices.
    pub fn sparse_dim(&self) -> usize {
        match &self.parts {
            SparseParts::Coordinates { indices, .. } => {
                indices.sizes().first().map_or(0, |&n| n as usize)
            }
            SparseParts::Compressed { .. } => 2,
        }
    }

    /// How many dimensions are those of values.
    pub fn dense_dim(&self) -> usize {
        self.dim() - self.sparse_dim() - self.batch_dim()
    }

    /// How many dimensions come before those of matrices, in the compressed layouts.
    pub fn batch_dim(&self) -> usize {
        match &self.parts {
            SparseParts::Coordinates { .. } => 0,
            SparseParts::Compressed { compressed, .. } => compressed.dim() - 1,
        }
    }

    /// Whether its entries are known to be in order and distinct.
    pub fn is_coalesced(&self) -> bool {
        matches!(self.parts, SparseParts::Coordinates { is_coalesced: true, .. })
    }

    /// Rows and columns of a block; one of each without blocks.
    fn block(&self) -> (i64, i64) {
        if !self.layout().is_blocked() {
            return (1, 1);
        }
        let at = self.batch_dim() + 1;
        let sizes = self.values().sizes();
        (sizes.get(at).copied().unwrap_or(1), sizes.get(at + 1).copied().unwrap_or(1))
    }

    /// The same places with other values, as many.
    pub fn with_values(&self, values: Tensor) -> Sparse {
        let parts = match &self.parts {
            SparseParts::Coordinates { indices, is_coalesced, .. } => SparseParts::Coordinates {
                indices: indices.clone(),
                values,
                is_coalesced: *is_coalesced,
            },
            SparseParts::Compressed { layout, compressed, plain, .. } => SparseParts::Compressed {
                layout: *layout,
                compressed: compressed.clone(),
                plain: plain.clone(),
                values,
            },
        };
        Sparse { sizes: self.sizes.clone(), parts }
    }

    /// The same, said to be coalesced or not.
    pub fn with_coalesced(&self, is_coalesced: bool) -> Sparse {
        match &self.parts {
            SparseParts::Coordinates { indices, values, .. } => {
                let (indices, values) = (indices.clone(), values.clone());
                let parts = SparseParts::Coordinates { indices, values, is_coalesced };
                Sparse { sizes: self.sizes.clone(), parts }
            }
            SparseParts::Compressed { .. } => self.clone(),
        }
    }

    /// A copy with memory of its own.
    ///
    /// # Errors
    /// Where memory is short.
    pub fn copy(&self) -> Result<Sparse> {
        let parts = match &self.parts {
            SparseParts::Coordinates { indices, values, is_coalesced } => {
                SparseParts::Coordinates {
                    indices: indices.copy()?,
                    values: values.copy()?,
                    is_coalesced: *is_coalesced,
                }
            }
            SparseParts::Compressed { layout, compressed, plain, values } => {
                SparseParts::Compressed {
                    layout: *layout,
                    compressed: compressed.copy()?,
                    plain: plain.copy()?,
                    values: values.copy()?,
                }
            }
        };
        Ok(Sparse { sizes: self.sizes.clone(), parts })
    }

    /// With values of another dtype.
    ///
    /// # Errors
    /// For dtypes that nothing is converted to.
    pub fn to_dtype(&self, dtype: DType) -> Result<Sparse> {
        Ok(self.with_values(self.values().to_dtype(dtype)?))
    }
}

/// As PyTorch's messages call layouts.
pub fn layout_name(layout: Layout) -> &'static str {
    match layout {
        Layout::SparseCoo => "Sparse",
        Layout::SparseCsr => "SparseCsr",
        Layout::SparseCsc => "SparseCsc",
        Layout::SparseBsr => "SparseBsr",
        Layout::SparseBsc => "SparseBsc",
        _ => "Strided",
    }
}
