//! Sizes and places of sparse tensors: transposed, joined, taken apart.

use sconce_kernel_core::layout::shape::wrap_dim;
use sconce_tensor::Layout;

use crate::sparse::coalesce::add_rows;
use crate::sparse::indices::{read, table, vector};
use crate::sparse::{DenseOrSparse, Sparse, SparseParts};
use crate::{DType, Error, Result, Tensor};

impl Sparse {
    fn coordinates(&self, caller: &str) -> Result<(&Tensor, &Tensor)> {
        match &self.parts {
            SparseParts::Coordinates { indices, values, .. } => Ok((indices, values)),
            SparseParts::Compressed { layout, .. } => {
                Err(Error::not_implemented(format!("{caller} of a tensor of layout {layout}")))
            }
        }
    }

    /// `Tensor.transpose` of two sparse or two dense dimensions. A compressed matrix changes its layout.
    ///
    /// # Errors
    /// For a sparse and a dense dimension.
    pub fn transpose(&self, a: i64, b: i64) -> Result<Sparse> {
        let (a, b) = (wrap_dim(a, self.dim())?, wrap_dim(b, self.dim())?);
        let mut sizes = self.sizes.clone();
        sizes.swap(a, b);
        if let SparseParts::Compressed { layout, compressed, plain, values } = &self.parts {
            return self.transpose_compressed((a, b), sizes, *layout, (compressed, plain, values));
        }
        let (indices, values) = self.coordinates("transpose")?;
        let sparse = self.sparse_dim();
        if a >= sparse && b >= sparse {
            let values = values.transpose((a - sparse + 1) as i64, (b - sparse + 1) as i64)?;
            return Ok(Sparse::made(&sizes, indices.clone(), values, self.is_coalesced()));
        }
        if a >= sparse || b >= sparse {
            return Err(Error::runtime(format!(
                "sparse transpose: transposed dimensions must be sparse Got sparse_dim: {sparse}, d0: \
                 {a}, d1: {b}"
            )));
        }
        let mut order: Vec<i64> = (0..sparse as i64).collect();
        order.swap(a, b);
        let indices = crate::index_select(indices, 0, &vector(&order)?)?;
        Ok(Sparse::made(&sizes, indices, values.clone(), false))
    }

    fn transpose_compressed(
        &self,
        (a, b): (usize, usize),
        sizes: Vec<i64>,
        layout: Layout,
        (compressed, plain, values): (&Tensor, &Tensor, &Tensor),
    ) -> Result<Sparse> {
        if a == b {
            return Ok(self.clone());
        }
        let batch = self.batch_dim();
        if a.min(b) != batch || a.max(b) != batch + 1 {
            return Err(Error::runtime(
                "transpose(): can only transpose the matrix dimensions of compressed sparse tensors",
            ));
        }
        let layout = match layout {
            Layout::SparseCsr => Layout::SparseCsc,
            Layout::SparseCsc => Layout::SparseCsr,
            Layout::SparseBsr => Layout::SparseBsc,
            _ => Layout::SparseBsr,
        };
        let values = if layout.is_blocked() {
            values.transpose(batch as i64 + 1, batch as i64 + 2)?
        } else {
            values.clone()
        };
        let (compressed, plain) = (compressed.clone(), plain.clone());
        Ok(Sparse { sizes, parts: SparseParts::Compressed { layout, compressed, plain, values } })
    }

    /// `Tensor.permute`, of sparse dimensions among each other and dense ones among each other.
    ///
    /// # Errors
    /// For dimensions that are missing or named twice, and sparse ones in the place of dense ones.
    pub fn permute(&self, dims: &[i64]) -> Result<Sparse> {
        let (indices, values) = self.coordinates("permute")?;
        let wrapped: Vec<usize> =
            dims.iter().map(|&dim| wrap_dim(dim, self.dim())).collect::<Result<_>>()?;
        let mut seen = vec![false; self.dim()];
        let twice =
            |&dim: &usize| seen.get_mut(dim).is_none_or(|seen| std::mem::replace(seen, true));
        if wrapped.len() != self.dim() {
            return Err(Error::runtime(format!(
                "permute(sparse_coo): number of dimensions in the tensor input does not match the length \
                 of the desired ordering of dimensions i.e. input.dim() = {} is not equal to len(dims) = \
                 {}",
                self.dim(),
                dims.len()
            )));
        }
        if wrapped.iter().any(twice) {
            return Err(Error::runtime("permute(): duplicate dims are not allowed."));
        }
        let sparse = self.sparse_dim();
        let (first, last) = wrapped.split_at(sparse);
        if first.iter().any(|&dim| dim >= sparse) {
            return Err(Error::runtime(
                "permute(sparse_coo): dimensions can only be permuted among the sparse and among the \
                 dense ones",
            ));
        }
        let sizes: Vec<i64> = wrapped.iter().map(|&dim| self.sizes[dim]).collect();
        let is_same = first.iter().enumerate().all(|(at, &dim)| at == dim);
        let order: Vec<i64> = first.iter().map(|&dim| dim as i64).collect();
        let mut of_values = vec![0];
        of_values.extend(last.iter().map(|&dim| (dim - sparse + 1) as i64));
        let indices = crate::index_select(indices, 0, &vector(&order)?)?;
        let values = values.permute(&of_values)?;
        let permuted = Sparse::made(&sizes, indices, values, false);
        Ok(permuted.with_coalesced(is_same && self.is_coalesced()))
    }

    /// `Tensor.unsqueeze`.
    ///
    /// # Errors
    /// For dimensions that there are none of.
    pub fn unsqueeze(&self, dim: i64) -> Result<Sparse> {
        let (indices, values) = self.coordinates("unsqueeze")?;
        let dim = wrap_dim(dim, self.dim() + 1)?;
        let mut sizes = self.sizes.clone();
        sizes.insert(dim, 1);
        let sparse = self.sparse_dim();
        if dim > sparse {
            let values = values.unsqueeze((dim - sparse + 1) as i64)?;
            return Ok(Sparse::made(&sizes, indices.clone(), values, self.is_coalesced()));
        }
        let zeros = Tensor::zeros(&[1, self.nnz()], DType::Int64)?;
        let (before, after) = (
            indices.narrow(0, 0, dim as i64)?,
            indices.narrow(0, dim as i64, (sparse - dim) as i64)?,
        );
        let indices = crate::cat(&[before, zeros, after], 0)?;
        Ok(Sparse::made(&sizes, indices, values.clone(), false))
    }

    /// `Tensor.select`: what has an index, without that dimension. Dense where no sparse dimension is left.
    ///
    /// # Errors
    /// For indices beyond the dimension.
    pub fn select(&self, dim: i64, index: i64) -> Result<DenseOrSparse> {
        let dim = wrap_dim(dim, self.dim())?;
        let size = self.sizes[dim];
        if index < -size || index >= size {
            return Err(Error::index(format!(
                "select(): index {index} out of range for tensor of size {:?} at dimension {dim}",
                self.sizes
            )));
        }
        let index = if index < 0 { index + size } else { index };
        let own;
        let coo = match &self.parts {
            SparseParts::Coordinates { .. } => self,
            SparseParts::Compressed { .. } => {
                own = self.to_coo()?.coalesce()?;
                &own
            }
        };
        let (indices, values) = coo.coordinates("select")?;
        let mut sizes = coo.sizes.clone();
        sizes.remove(dim);
        let sparse = coo.sparse_dim();
        if dim >= sparse {
            let values = values.select((dim - sparse + 1) as i64, index)?;
            let left = Sparse::made(&sizes, indices.clone(), values, coo.is_coalesced());
            return Ok(DenseOrSparse::Sparse(left));
        }
        let (kept, all) = (coo.entries_where(dim, |found| found == index)?, read(indices)?);
        let values = crate::index_select(values, 0, &vector(&kept)?)?;
        if sparse == 1 {
            let sum = crate::sum(&values, &[0], false, Some(values.dtype()))?;
            return Ok(DenseOrSparse::Dense(sum));
        }
        let indices = pick(&all, (sparse, coo.nnz() as usize), &kept, |at, found| {
            (at != dim).then_some(found)
        })?;
        let is_coalesced = self.layout().is_sparse_compressed();
        Ok(DenseOrSparse::Sparse(Sparse::made(&sizes, indices, values, is_coalesced)))
    }

    /// The numbers of the entries whose index in a sparse dimension is wanted.
    fn entries_where(&self, dim: usize, wanted: impl Fn(i64) -> bool) -> Result<Vec<i64>> {
        let (indices, _) = self.coordinates("select")?;
        let row = read(&indices.select(0, dim as i64)?)?;
        Ok((0..).zip(row).filter(|&(_, found)| wanted(found)).map(|(at, _)| at).collect())
    }

    /// `Tensor.narrow_copy`.
    ///
    /// # Errors
    /// For ranges beyond the dimension.
    pub fn narrow(&self, dim: i64, start: i64, length: i64) -> Result<Sparse> {
        let (indices, values) = self.coordinates("narrow_copy")?;
        let dim = wrap_dim(dim, self.dim())?;
        let size = self.sizes[dim];
        let end = start.saturating_add(length);
        if start < 0 || length < 0 || end > size {
            return Err(Error::runtime(format!(
                "Invalid range to narrow. range(start, start+length) must be a subset of range(0, {size})."
            )));
        }
        let mut sizes = self.sizes.clone();
        sizes[dim] = length;
        let sparse = self.sparse_dim();
        if dim >= sparse {
            let values = values.narrow((dim - sparse + 1) as i64, start, length)?;
            return Ok(Sparse::made(&sizes, indices.clone(), values, self.is_coalesced()));
        }
        let kept = self.entries_where(dim, |found| (start..end).contains(&found))?;
        let values = crate::index_select(values, 0, &vector(&kept)?)?;
        let shifted = |at: usize, found: i64| Some(if at == dim { found - start } else { found });
        let indices = pick(&read(indices)?, (sparse, self.nnz() as usize), &kept, shifted)?;
        Ok(Sparse::made(&sizes, indices, values, false).with_coalesced(self.is_coalesced()))
    }

    /// `torch.index_select`.
    ///
    /// # Errors
    /// For indices beyond the dimension.
    pub fn index_select(&self, dim: i64, index: &Tensor) -> Result<Sparse> {
        let (indices, values) = self.coordinates("index_select")?;
        let dim = wrap_dim(dim, self.dim())?;
        let size = self.sizes[dim];
        let mut wanted = read(index)?;
        for index in &mut wanted {
            if *index < -size || *index >= size {
                return Err(Error::index(format!(
                    "index_select(): index contains {index} that is out of range for tensor of size \
                     {:?} at dimension {dim}",
                    self.sizes
                )));
            }
            *index = if *index < 0 { *index + size } else { *index };
        }
        let mut sizes = self.sizes.clone();
        sizes[dim] = wanted.len() as i64;
        let sparse = self.sparse_dim();
        if dim >= sparse {
            let values = crate::index_select(values, (dim - sparse + 1) as i64, &vector(&wanted)?)?;
            return Ok(Sparse::made(&sizes, indices.clone(), values, self.is_coalesced()));
        }
        let row = read(&indices.select(0, dim as i64)?)?;
        let mut by_index = vec![Vec::new(); size as usize];
        for (entry, &found) in (0..).zip(&row) {
            if let Some(entries) = by_index.get_mut(found as usize) {
                entries.push(entry);
            }
        }
        let (mut kept, mut to) = (Vec::new(), Vec::new());
        for (at, &index) in (0..).zip(&wanted) {
            let entries = by_index.get(index as usize).map(Vec::as_slice).unwrap_or_default();
            kept.extend_from_slice(entries);
            to.extend(std::iter::repeat_n(at, entries.len()));
        }
        let values = crate::index_select(values, 0, &vector(&kept)?)?;
        let (all, entries) = (read(indices)?, self.nnz() as usize);
        let mut rows = Vec::with_capacity(kept.len() * sparse);
        for at in 0..sparse {
            let row = all.get(at * entries..(at + 1) * entries).unwrap_or_default();
            match at == dim {
                true => rows.extend_from_slice(&to),
                false => rows.extend(kept.iter().filter_map(|&entry| row.get(entry as usize))),
            }
        }
        Ok(Sparse::made(&sizes, table(&rows, sparse, kept.len())?, values, false))
    }

    /// A tensor repeated along sparse dimensions of size 1, and along new ones before them.
    ///
    /// # Errors
    /// For sizes that it does not broadcast to.
    pub fn broadcast_to(&self, sizes: &[i64]) -> Result<Sparse> {
        let (indices, values) = self.coordinates("_sparse_broadcast_to")?;
        let lead = sizes.len().checked_sub(self.dim()).ok_or_else(|| {
            Error::runtime("_sparse_broadcast_to: the number of sizes is smaller than the tensor's")
        })?;
        let fits = |(own, to): (&i64, &i64)| own == to || *own == 1;
        if !self.sizes.iter().zip(&sizes[lead..]).all(fits) {
            return Err(Error::runtime(format!(
                "The size of tensor a {:?} must match the size of tensor b {sizes:?}",
                self.sizes
            )));
        }
        let sparse = self.sparse_dim();
        let (all, entries) = (read(indices)?, self.nnz() as usize);
        // Whether a dimension is one along which entries are repeated.
        let is_new = |dim: usize, to: i64| {
            dim.checked_sub(lead).is_none_or(|own| self.sizes.get(own) == Some(&1) && to != 1)
        };
        let outer = sizes.get(..lead + sparse).unwrap_or_default();
        let new: Vec<i64> = outer
            .iter()
            .enumerate()
            .filter(|&(dim, &to)| is_new(dim, to))
            .map(|(_, &to)| to)
            .collect();
        let copies: i64 = new.iter().product();
        sconce_kernel_core::Memory::check_scratch(
            (copies as usize)
                .saturating_mul(entries)
                .saturating_mul(size_of::<i64>() * (lead + sparse)),
        )?;
        let numbers: Vec<i64> = (0..copies).collect();
        let of_copy = read(&super::indices::of_places(&numbers, &new)?)?;
        let (mut rows, mut next) = (Vec::new(), 0);
        for (dim, &to) in outer.iter().enumerate() {
            let is_new = is_new(dim, to);
            let repeated = of_copy.get(next * copies as usize..(next + 1) * copies as usize);
            let own =
                dim.checked_sub(lead).and_then(|dim| all.get(dim * entries..(dim + 1) * entries));
            // Entry by entry, each with all its copies.
            for entry in 0..entries {
                match is_new {
                    true => rows.extend_from_slice(repeated.unwrap_or_default()),
                    false => {
                        let index = own.and_then(|row| row.get(entry)).copied().unwrap_or(0);
                        rows.extend(std::iter::repeat_n(index, copies as usize));
                    }
                }
            }
            next += usize::from(is_new);
        }
        let total = copies as usize * entries;
        let mut of_values = vec![total as i64];
        of_values.extend(sizes.get(lead + sparse..).unwrap_or_default());
        let mut expanded = vec![entries as i64, copies];
        expanded.extend(sizes.get(lead + sparse..).unwrap_or_default());
        let values = values.unsqueeze(1)?.expand(&expanded)?.reshape(&of_values)?;
        // Entries stay in order where what is repeated comes after what is not.
        let first_new = outer.iter().enumerate().position(|(dim, &to)| is_new(dim, to));
        let last_old = outer.iter().enumerate().rposition(|(dim, &to)| !is_new(dim, to));
        let stays = first_new.is_none_or(|new| last_old.is_none_or(|old| old < new));
        let indices = table(&rows, lead + sparse, total)?;
        Ok(Sparse::made(sizes, indices, values, self.is_coalesced() && stays))
    }
}

/// Indices of the entries kept, each row as told; rows that give nothing are left out.
fn pick(
    all: &[i64],
    (dims, entries): (usize, usize),
    kept: &[i64],
    change: impl Fn(usize, i64) -> Option<i64>,
) -> Result<Tensor> {
    let (mut rows, mut count) = (Vec::new(), 0);
    for at in 0..dims {
        let row = all.get(at * entries..(at + 1) * entries).unwrap_or_default();
        if change(at, 0).is_some() {
            count += 1;
            let found = kept.iter().filter_map(|&entry| row.get(entry as usize));
            rows.extend(found.filter_map(|&found| change(at, found)));
        }
    }
    table(&rows, count, kept.len())
}

/// `torch.cat` of tensors in coordinates.
///
/// # Errors
/// For sizes and numbers of sparse dimensions that differ.
pub fn cat_sparse(tensors: &[Sparse], dim: i64) -> Result<Sparse> {
    let first = tensors
        .first()
        .ok_or_else(|| Error::value("torch.cat(): expected a non-empty list of Tensors"))?;
    let dim = wrap_dim(dim, first.dim())?;
    let sparse = first.sparse_dim();
    let dtype = tensors
        .iter()
        .try_fold(first.dtype(), |dtype, tensor| crate::promote_types(dtype, tensor.dtype()))?;
    let mut sizes = first.sizes.clone();
    sizes[dim] = 0;
    let (mut indices, mut values) = (Vec::new(), Vec::new());
    let whole: i64 = tensors.iter().filter_map(|tensor| tensor.sizes.get(dim)).sum();
    for (number, tensor) in tensors.iter().enumerate() {
        let fits = tensor.dim() == first.dim()
            && tensor.sparse_dim() == sparse
            && (0..first.dim()).all(|at| at == dim || tensor.sizes[at] == first.sizes[at]);
        if !fits {
            return Err(Error::runtime(format!(
                "All tensors must have the same shape: {:?} (except in the concatenating dimension), but \
                 found shape: {:?} at position {number}",
                first.sizes, tensor.sizes
            )));
        }
        let (of_tensor, own) = tensor.coordinates("cat")?;
        let own = own.to_dtype(dtype)?;
        if dim < sparse {
            let shift = sizes[dim];
            let all = read(of_tensor)?;
            let every: Vec<i64> = (0..tensor.nnz()).collect();
            let moved = |at: usize, found: i64| Some(if at == dim { found + shift } else { found });
            let picked = pick(&all, (sparse, tensor.nnz() as usize), &every, moved)?;
            indices.push(picked);
            values.push(own);
        } else {
            // The values stand in a part of the whole dimension.
            let at = (dim - sparse + 1) as i64;
            let mut wide = own.sizes().to_vec();
            wide[at as usize] = whole;
            let padded = Tensor::zeros(&wide, dtype)?;
            padded.narrow(at, sizes[dim], tensor.sizes[dim])?.copy_from(&own)?;
            indices.push(of_tensor.clone());
            values.push(padded);
        }
        sizes[dim] += tensor.sizes[dim];
    }
    Ok(Sparse::made(&sizes, crate::cat(&indices, 1)?, crate::cat(&values, 0)?, false))
}

impl Sparse {
    /// `Tensor.sparse_resize_`: other sizes, of as many sparse and dense dimensions; entries stay.
    ///
    /// # Errors
    /// For sizes that entries do not fit in.
    pub fn resize(&self, sizes: &[i64], sparse_dim: usize) -> Result<Sparse> {
        let (indices, values) = self.coordinates("sparse_resize_")?;
        if self.nnz() == 0 {
            return Sparse::empty_coo(sizes, sparse_dim, self.dtype());
        }
        if sparse_dim != self.sparse_dim() || sizes.len() != self.dim() {
            return Err(Error::runtime(format!(
                "changing the number of sparse dimensions (from {} to {sparse_dim}) on a non-empty \
                 sparse tensor is not supported.",
                self.sparse_dim()
            )));
        }
        let mut of_values = vec![self.nnz()];
        of_values.extend(sizes.get(sparse_dim..).unwrap_or_default());
        let wide = if of_values == values.sizes() {
            values.clone()
        } else {
            let wide = Tensor::zeros(&of_values, values.dtype())?;
            let mut part = wide.clone();
            for (dim, &size) in values.sizes().iter().enumerate().skip(1) {
                part = part.narrow(dim as i64, 0, size)?;
            }
            part.copy_from(values)?;
            wide
        };
        let rows: Vec<i64> = (0..self.nnz()).collect();
        let values = add_rows(self.nnz(), &rows, &wide)?;
        Sparse::coo(indices.clone(), values, sizes, self.is_coalesced())
    }
}
