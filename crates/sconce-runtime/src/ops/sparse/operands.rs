//! Sparse operands.

use std::cell::Ref;

use sconce_kernels::{Sparse, Tensor, layout_name};

use crate::error::Raise;
use crate::ops::Args;
use crate::value::IValue;

/// A tensor of either kind.
pub(super) enum AnyTensor<'a> {
    Dense(&'a Tensor),
    Sparse(Ref<'a, Sparse>),
}

impl Args<'_> {
    /// A sparse operand; for others the error of an operator that takes nothing else.
    pub(super) fn sparse(&self, index: usize, wanted: &str) -> Result<Ref<'_, Sparse>, Raise> {
        match self.any_tensor(index)? {
            AnyTensor::Sparse(sparse) => Ok(sparse),
            AnyTensor::Dense(_) => Err(Raise::message(format!("{wanted} but got Strided"))),
        }
    }

    /// The same in coordinates.
    pub(super) fn coordinates(&self, index: usize, name: &str) -> Result<Ref<'_, Sparse>, Raise> {
        let wanted = format!("{name} expected sparse coordinate tensor layout");
        let sparse = self.sparse(index, &wanted)?;
        if sparse.layout().is_sparse_compressed() {
            let layout = layout_name(sparse.layout());
            return Err(Raise::message(format!("{wanted} but got {layout}")));
        }
        Ok(sparse)
    }

    /// A tensor of either kind.
    pub(super) fn any_tensor(&self, index: usize) -> Result<AnyTensor<'_>, Raise> {
        match self.get(index) {
            IValue::Sparse(sparse) => Ok(AnyTensor::Sparse(sparse.read())),
            _ => self.tensor(index).map(AnyTensor::Dense),
        }
    }
}
