//! Sums and products of sparse tensors.

use std::cmp::Ordering;

use crate::elementwise::binary_op::BinaryOp;
use crate::sparse::coalesce::add_rows;
use crate::sparse::indices::{of_places, places, read, vector};
use crate::sparse::{Sparse, SparseParts};
use crate::{DType, Error, Operand, Result, Scalar, Tensor, check_cast, promote_types};

/// The coordinates of a tensor: its indices as numbers of places, and its values.
struct Entries<'a> {
    places: Vec<i64>,
    values: &'a Tensor,
    sparse: &'a [i64],
}

fn entries(sparse: &Sparse) -> Result<Entries<'_>> {
    let SparseParts::Coordinates { indices, values, .. } = &sparse.parts else {
        return Err(Error::not_implemented("this operator on compressed sparse tensors"));
    };
    let dims = sparse.sizes.get(..sparse.sparse_dim()).unwrap_or_default();
    let places = places(&read(indices)?, dims, sparse.nnz() as usize)?;
    Ok(Entries { places, values, sparse: dims })
}

/// `a + alpha * b` of two sparse tensors of one size.
///
/// # Errors
/// For sizes or layouts that differ.
pub fn add_sparse(a: &Sparse, b: &Sparse, alpha: Scalar) -> Result<Sparse> {
    if a.sizes != b.sizes {
        return Err(Error::runtime(format!(
            "add: expected sizes of 'self' and 'other' to match, but {:?} != {:?}",
            a.sizes, b.sizes
        )));
    }
    if a.layout() != b.layout() {
        return Err(Error::runtime(format!(
            "add: expected 'self' and 'other' of one layout, but got {} and {}",
            a.layout(),
            b.layout()
        )));
    }
    if a.layout().is_sparse_compressed() {
        let sum = add_sparse(&a.to_coo()?.coalesce()?, &b.to_coo()?.coalesce()?, alpha)?;
        return sum.compress(a.layout(), a.block());
    }
    if a.sparse_dim() != b.sparse_dim() {
        return Err(Error::runtime(format!(
            "add: expected 'self' and 'other' to have same density, but 'self' has {} sparse \
             dimensions while 'other' has {} sparse dimensions",
            a.sparse_dim(),
            b.sparse_dim()
        )));
    }
    let dtype = promote_types(a.dtype(), b.dtype())?;
    if dtype == DType::Bool {
        return Err(Error::no_kernel("cadd_sparse", dtype));
    }
    let (left, right) = (entries(a)?, entries(b)?);
    // Goes along both as if they were in order, as PyTorch does.
    let (mut i, mut j) = (0, 0);
    let mut merged = Vec::with_capacity(left.places.len() + right.places.len());
    let (mut of_left, mut of_right) = (Vec::new(), Vec::new());
    loop {
        let order = match (left.places.get(i), right.places.get(j)) {
            (None, None) => break,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(a), Some(b)) => a.cmp(b),
        };
        let at = merged.len() as i64;
        merged.extend(if order.is_le() { left.places.get(i) } else { right.places.get(j) });
        if order.is_le() {
            of_left.push(at);
            i += 1;
        }
        if order.is_ge() {
            of_right.push(at);
            j += 1;
        }
    }
    let count = merged.len() as i64;
    let first = add_rows(count, &of_left, &left.values.to_dtype(dtype)?)?;
    let second = add_rows(count, &of_right, &right.values.to_dtype(dtype)?)?;
    let values = crate::add((&first).into(), (&second).into(), alpha)?;
    let is_coalesced = a.is_coalesced() && b.is_coalesced();
    Ok(Sparse::made(&a.sizes, of_places(&merged, left.sparse)?, values, is_coalesced))
}

/// `dense + alpha * sparse`.
///
/// # Errors
/// For sizes that differ.
pub fn add_to_dense(dense: &Tensor, sparse: &Sparse, alpha: Scalar) -> Result<Tensor> {
    if dense.sizes() != sparse.sizes {
        return crate::add(dense.into(), (&sparse.to_dense()?).into(), alpha);
    }
    let dtype = crate::result_type(&[dense.into(), sparse.values().into()])?;
    let coo = sparse.to_coo()?;
    let found = entries(&coo)?;
    let mut rows = vec![found.sparse.iter().product()];
    rows.extend(coo.sizes.get(coo.sparse_dim()..).unwrap_or_default());
    let sum = dense.to_dtype(dtype)?.contiguous()?.copy()?;
    let values =
        crate::binary(BinaryOp::Mul, (&found.values.to_dtype(dtype)?).into(), alpha.into())?;
    let index = [Some(vector(&found.places)?)];
    // Entry by entry, as PyTorch does.
    crate::index_put(&sum.view(&rows)?, &index, &values.to_dtype(dtype)?, true)?;
    Ok(sum)
}

/// The product of two sparse tensors, element by element.
///
/// # Errors
/// For sizes, sparse dimensions or layouts that differ.
pub fn mul_sparse(a: &Sparse, b: &Sparse) -> Result<Sparse> {
    if a.layout().is_sparse_compressed() && a.layout() == b.layout() {
        let product = mul_sparse(&a.to_coo()?.coalesce()?, &b.to_coo()?.coalesce()?)?;
        return product.compress(a.layout(), a.block());
    }
    let (left, right) = (entries(a)?, entries(b)?);
    if promote_types(a.dtype(), b.dtype())? == DType::Bool {
        return Err(Error::no_kernel("mul_out_sparse", DType::Bool));
    }
    if left.sparse != right.sparse || a.dim() != b.dim() {
        return Err(Error::runtime(
            "sparse_binary_op_intersection_cpu(): expects sparse inputs with equal dimensionality, \
             number of sparse dimensions, and shape of sparse dimensions",
        ));
    }
    if a.nnz() == 0 || b.nnz() == 0 {
        let dtype = promote_types(a.dtype(), b.dtype())?;
        return Sparse::empty_coo(&a.sizes, a.sparse_dim(), dtype);
    }
    if a.is_coalesced() && b.is_coalesced() {
        let both = left.places.iter().zip(0..).filter_map(|(place, at)| {
            Some((*place, at, right.places.binary_search(place).ok()? as i64))
        });
        let mut kept = (Vec::new(), Vec::new(), Vec::new());
        for (place, i, j) in both {
            kept.0.push(place);
            kept.1.push(i);
            kept.2.push(j);
        }
        let first = crate::index_select(left.values, 0, &vector(&kept.1)?)?;
        let second = crate::index_select(right.values, 0, &vector(&kept.2)?)?;
        let values = crate::binary(BinaryOp::Mul, (&first).into(), (&second).into())?;
        return Ok(Sparse::made(&a.sizes, of_places(&kept.0, left.sparse)?, values, true));
    }
    // The places of the one that is not in order; what the other has there.
    let keeps_left = match (a.is_coalesced(), b.is_coalesced()) {
        (false, false) => a.nnz() <= b.nnz(),
        (is_coalesced, _) => !is_coalesced,
    };
    let (kept, other) = if keeps_left { (a, b) } else { (b, a) };
    let there = project(other, &entries(kept)?.places)?;
    let values = crate::binary(BinaryOp::Mul, kept.values().into(), (&there).into())?;
    Ok(kept.with_values(values))
}

/// What a tensor has at places: the sum of its entries there, or 0.
fn project(sparse: &Sparse, places: &[i64]) -> Result<Tensor> {
    let sparse = sparse.coalesce()?;
    let found = entries(&sparse)?;
    let (mut to, mut from) = (Vec::new(), Vec::new());
    for (at, place) in (0..).zip(places) {
        if let Ok(entry) = found.places.binary_search(place) {
            to.push(at);
            from.push(entry as i64);
        }
    }
    let rows = crate::index_select(found.values, 0, &vector(&from)?)?;
    add_rows(places.len() as i64, &to, &rows)
}

/// The elements of a dense tensor at the places of a sparse one, laid out as that one's values.
pub(super) fn gather_dense(dense: &Tensor, at: &Sparse) -> Result<Tensor> {
    match &at.parts {
        SparseParts::Coordinates { indices, .. } => {
            let dims = at.sizes.get(..at.sparse_dim()).unwrap_or_default();
            let places = places(&read(indices)?, dims, at.nnz() as usize)?;
            let mut rows = vec![dims.iter().product()];
            rows.extend(at.sizes.get(at.sparse_dim()..).unwrap_or_default());
            crate::index_select(&dense.expand(&at.sizes)?.reshape(&rows)?, 0, &vector(&places)?)
        }
        SparseParts::Compressed { values, .. } => {
            // Element by element through coordinates, which keep the order of entries.
            let coo = at.to_coo()?;
            gather_dense(dense, &coo)?.view(values.sizes())
        }
    }
}

/// A sparse tensor times a dense one, which is broadcast to it: at its places.
///
/// # Errors
/// Where the dense tensor does not broadcast.
pub fn mul_with_dense(sparse: &Sparse, dense: &Tensor) -> Result<Sparse> {
    if dense.dim() == 0 {
        let values = crate::binary(BinaryOp::Mul, sparse.values().into(), dense.into())?;
        return Ok(sparse.with_values(values));
    }
    let wide = if dense.dim() > sparse.dim() || broadcasts_up(sparse, dense) {
        &broadcast(sparse, dense)?
    } else {
        sparse
    };
    let there = gather_dense(dense, wide)?;
    let values = crate::binary(BinaryOp::Mul, wide.values().into(), Operand::Tensor(&there))?;
    Ok(wide.with_values(values))
}

fn broadcasts_up(sparse: &Sparse, dense: &Tensor) -> bool {
    let pairs = sparse.sizes.iter().rev().zip(dense.sizes().iter().rev());
    pairs.into_iter().any(|(own, other)| *own == 1 && *other != 1)
}

/// A tensor in coordinates repeated along dimensions of size 1 and leading ones.
fn broadcast(sparse: &Sparse, dense: &Tensor) -> Result<Sparse> {
    let (mut sizes, mut own) = (Vec::new(), sparse.sizes.clone());
    while own.len() < dense.dim() {
        own.insert(0, 1);
    }
    let missing = own.len() - dense.dim();
    for (dim, &size) in own.iter().enumerate() {
        let other = dim.checked_sub(missing).and_then(|dim| dense.sizes().get(dim));
        sizes.push(if size == 1 { other.copied().unwrap_or(1) } else { size });
    }
    sparse.coalesce()?.broadcast_to(&sizes)?.coalesce()
}

impl Sparse {
    /// The elements of a dense tensor at the places of this one: `dense.sparse_mask(self)`.
    ///
    /// # Errors
    /// For sizes that differ.
    pub fn mask_dense(&self, dense: &Tensor) -> Result<Sparse> {
        self.check_mask(dense.sizes())?;
        check_cast(self.dtype(), dense.dtype())?;
        Ok(self.with_values(gather_dense(dense, self)?))
    }

    /// The elements of another sparse tensor at the places of this one: `other.sparse_mask(self)`.
    ///
    /// # Errors
    /// For sizes and layouts that differ.
    pub fn mask_sparse(&self, other: &Sparse) -> Result<Sparse> {
        self.check_mask(&other.sizes)?;
        if self.layout().is_sparse_compressed() && self.layout() == other.layout() {
            // Where both have entries.
            let ones = Tensor::full(self.values().sizes(), Scalar::Int(1), other.dtype())?;
            return mul_sparse(other, &self.with_values(ones));
        }
        check_cast(self.dtype(), other.dtype())?;
        if other.layout().is_sparse_compressed() || self.layout().is_sparse_compressed() {
            return self.mask_dense(&other.to_dense()?);
        }
        Ok(self.with_values(project(other, &entries(self)?.places)?))
    }

    fn check_mask(&self, sizes: &[i64]) -> Result<()> {
        if sizes == self.sizes {
            return Ok(());
        }
        Err(Error::runtime(format!(
            "sparse_mask(): operands have incompatible sizes; self has size {sizes:?} but mask has \
             size {:?}",
            self.sizes
        )))
    }
}
