//! From one layout to another.

use sconce_tensor::Layout;

use crate::sparse::coalesce::{Groups, add_rows, groups};
use crate::sparse::indices::{begins, grid, lines, places, read, table, vector};
use crate::sparse::{Sparse, SparseParts};
use crate::{DType, Error, Result, Tensor};

impl Sparse {
    /// `Tensor.to_sparse(sparse_dim)` of a dense tensor: coordinates of what is not zero.
    ///
    /// # Errors
    /// For more dimensions than the tensor has.
    pub fn from_dense(dense: &Tensor, sparse_dim: i64) -> Result<Sparse> {
        let dims = dense.dim() as i64;
        if !(0..=dims).contains(&sparse_dim) || (dims > 0 && sparse_dim == 0) {
            let low = i64::from(dims > 0 && sparse_dim == 0);
            return Err(Error::runtime(format!(
                "dense_to_sparse: sparse_dim argument must be in [{low},{dims}] range, but \
                 {sparse_dim} is given"
            )));
        }
        if dims == 0 {
            // A number is one entry, or none where it is 0.
            let mut one = dense.reshape(&[1])?;
            let count = i64::from(is_some(dense)?.item()?.to_bool());
            one = one.narrow(0, 0, count)?.copy()?;
            let indices = Tensor::zeros(&[0, count], DType::Int64)?;
            return Ok(Sparse::made(&[], indices, one, true));
        }
        let inner: Vec<i64> = (sparse_dim..dims).collect();
        let mut mask = is_some(dense)?;
        if !inner.is_empty() {
            mask = crate::any(&mask, &inner, false)?;
        }
        let found = crate::nonzero(&mask)?;
        let indices = found.t()?.contiguous()?;
        let sparse = dense.sizes().get(..sparse_dim as usize).unwrap_or_default();
        let entries = indices.size(-1)? as usize;
        let places = places(&read(&indices)?, sparse, entries)?;
        let mut rows = vec![sparse.iter().product()];
        rows.extend(dense.sizes().get(sparse_dim as usize..).unwrap_or_default());
        let values = crate::index_select(&dense.reshape(&rows)?, 0, &vector(&places)?)?;
        Ok(Sparse::made(dense.sizes(), indices, values, true))
    }

    /// The same in one of the compressed layouts, of the last two dimensions before the `dense_dim` of values.
    ///
    /// # Errors
    /// For tensors of less than two dimensions, blocks that do not divide the sizes, and batches of different counts.
    pub fn compress_dense(
        dense: &Tensor,
        layout: Layout,
        block: (i64, i64),
        dense_dim: usize,
    ) -> Result<Sparse> {
        let sizes = dense.sizes();
        let batch = sizes.len().checked_sub(2 + dense_dim).ok_or_else(|| {
            Error::runtime(format!(
                "dense_to_sparse_{}: expected a tensor of {} dimensions or more, got {}",
                name(layout),
                2 + dense_dim,
                sizes.len()
            ))
        })?;
        let (rows, columns) = (sizes[batch], sizes[batch + 1]);
        let (height, width) = block;
        check_block(&format!("dense_to_sparse_{}", name(layout)), (rows, columns), block)?;
        let batches: i64 = sizes.iter().take(batch).product();
        let inner = sizes.get(batch + 2..).unwrap_or_default();
        let mut blocks = vec![batches, rows / height, height, columns / width, width];
        blocks.extend(inner);
        let mut order =
            if layout.compresses_rows() { vec![0, 1, 3, 2, 4] } else { vec![0, 3, 1, 2, 4] };
        order.extend(5..blocks.len() as i64);
        let blocks = dense.reshape(&blocks)?.permute(&order)?;
        let within: Vec<i64> = (3..blocks.dim() as i64).collect();
        let mask = crate::any(&is_some(&blocks)?, &within, false)?;
        let (lines, others) = (mask.size(1)?, mask.size(2)?);
        let found = read(&crate::nonzero(&mask)?.t()?)?;
        let total = found.len() / 3;
        let (number, line, other) =
            (&found[..total], &found[total..2 * total], &found[2 * total..]);
        let nnz = if batches == 0 { 0 } else { total as i64 / batches };
        let mut compressed = Vec::new();
        for one in 0..batches {
            let start = number.partition_point(|&number| number < one);
            let end = number.partition_point(|&number| number <= one);
            if (end - start) as i64 != nnz {
                return Err(Error::runtime(
                    "Expect the same number of specified elements per batch.",
                ));
            }
            compressed.extend(begins(&line[start..end], lines)?);
        }
        let place = number.iter().zip(line).zip(other);
        let places: Vec<i64> =
            place.map(|((number, line), other)| (number * lines + line) * others + other).collect();
        let mut flat = vec![batches * lines * others];
        flat.extend(blocks.sizes().get(3..).unwrap_or_default());
        let values = crate::index_select(&blocks.reshape(&flat)?, 0, &vector(&places)?)?;
        let outer = sizes.get(..batch).unwrap_or_default();
        let with = |last: &[i64]| -> Vec<i64> { outer.iter().chain(last).copied().collect() };
        let mut of_values = vec![nnz];
        if layout.is_blocked() {
            of_values.extend([height, width]);
        }
        of_values.extend(inner);
        let parts = SparseParts::Compressed {
            layout,
            compressed: vector(&compressed)?.view(&with(&[lines + 1]))?,
            plain: vector(other)?.view(&with(&[nnz]))?,
            values: values.view(&with(&of_values))?,
        };
        Ok(Sparse { sizes: sizes.to_vec(), parts })
    }

    /// The same without entries, in another layout and dtype.
    ///
    /// # Errors
    /// For coordinates that are to be compressed: they have no blocks and no batches.
    pub fn zeros_like(&self, layout: Layout, dtype: DType) -> Result<Sparse> {
        let SparseParts::Compressed { compressed, plain, .. } = &self.parts else {
            if layout != Layout::SparseCoo {
                return Err(Error::not_implemented("a compressed tensor like one in coordinates"));
            }
            return Sparse::empty_coo(&self.sizes, self.sparse_dim(), dtype);
        };
        let batch = self.batch_dim();
        if layout == Layout::SparseCoo {
            return Sparse::empty_coo(&self.sizes, batch + 2, dtype);
        }
        let (lines, others) = grid(self);
        let is_same = layout.compresses_rows() == self.layout().compresses_rows();
        let outer = self.sizes.get(..batch).unwrap_or_default();
        let with = |last: &[i64]| -> Vec<i64> { outer.iter().chain(last).copied().collect() };
        let mut of_values = vec![0];
        if layout.is_blocked() {
            let (height, width) = self.block();
            of_values.extend([height, width]);
        }
        of_values.extend(self.sizes.get(batch + 2..).unwrap_or_default());
        let begins = with(&[if is_same { lines } else { others } + 1]);
        let parts = SparseParts::Compressed {
            layout,
            compressed: Tensor::zeros(&begins, compressed.dtype())?,
            plain: Tensor::zeros(&with(&[0]), plain.dtype())?,
            values: Tensor::zeros(&with(&of_values), dtype)?,
        };
        Ok(Sparse { sizes: self.sizes.clone(), parts })
    }

    /// In coordinates, entries in their order: `Tensor.to_sparse()`.
    ///
    /// # Errors
    /// Where memory is short.
    pub fn to_coo(&self) -> Result<Sparse> {
        let SparseParts::Compressed { layout, compressed, plain, values } = &self.parts else {
            return Ok(self.clone());
        };
        let (height, width) = self.block();
        let (batch, nnz) = (self.batch_dim(), self.nnz());
        let outer = self.sizes.get(..batch).unwrap_or_default();
        let batches: i64 = outer.iter().product();
        let (begin, other) = (read(compressed)?, read(plain)?);
        let per_batch = grid(self).0 as usize + 1;
        let mut of_line = Vec::with_capacity(other.len());
        begin.chunks_exact(per_batch).for_each(|begins| of_line.extend(lines(begins)));
        if of_line.len() != other.len() {
            return Err(Error::runtime("the compressed indices do not fit the plain indices"));
        }
        let (of_row, of_column) =
            if layout.compresses_rows() { (of_line, other) } else { (other, of_line) };
        // Elements of an entry, in the order of rows.
        let area = (height * width) as usize;
        sconce_kernel_core::Memory::check_scratch(
            of_row.len().saturating_mul(area).saturating_mul(3 * size_of::<i64>()),
        )?;
        let (mut number, mut row, mut column) = (Vec::new(), Vec::new(), Vec::new());
        for (entry, (&block_row, &block_column)) in of_row.iter().zip(&of_column).enumerate() {
            for within in 0..area as i64 {
                number.push(entry as i64 / nnz.max(1));
                row.push(block_row * height + within / width);
                column.push(block_column * width + within % width);
            }
        }
        let mut indices = super::indices::of_places(&number, outer)?.to_vec::<i64>()?;
        let entries = row.len();
        indices.extend(row);
        indices.extend(column);
        let mut flat = vec![batches * nnz * area as i64];
        let inner = batch + 1 + if layout.is_blocked() { 2 } else { 0 };
        flat.extend(values.sizes().get(inner..).unwrap_or_default());
        let (indices, values) = (table(&indices, batch + 2, entries)?, values.reshape(&flat)?);
        Ok(Sparse::made(&self.sizes, indices, values, *layout == Layout::SparseCsr))
    }

    /// In one of the compressed layouts.
    ///
    /// # Errors
    /// For more or fewer than two sparse dimensions, and blocks that do not divide the sizes.
    pub fn compress(&self, layout: Layout, block: (i64, i64)) -> Result<Sparse> {
        if self.layout() == layout && (!layout.is_blocked() || self.block() == block) {
            return Ok(self.clone());
        }
        self.check_conversion(layout, block)?;
        if self.batch_dim() > 0 {
            return Sparse::compress_dense(&self.to_dense()?, layout, block, self.dense_dim());
        }
        let caller = match self.layout() {
            Layout::SparseCoo => format!("coo_to_sparse_{}", name(layout)),
            _ => format!("sparse_compressed_to_sparse_{}", name(layout)),
        };
        let coo = self.to_coo()?.coalesce()?;
        let SparseParts::Coordinates { indices, values, .. } = &coo.parts else {
            return Err(Error::runtime("a compressed layout among coordinates"));
        };
        if coo.sparse_dim() != 2 {
            return Err(Error::runtime(format!(
                "{caller}: conversion from Sparse to {} for input tensors with sparse_dim()!=2 is not \
                 supported",
                super::layout_name(layout)
            )));
        }
        let (rows, columns) = (coo.sizes[0], coo.sizes[1]);
        check_block(&caller, (rows, columns), block)?;
        let (height, width) = block;
        let (all, entries) = (read(indices)?, coo.nnz() as usize);
        let (row, column) = all.split_at(entries);
        let (lines, others) = match layout.compresses_rows() {
            true => (rows / height, columns / width),
            false => (columns / width, rows / height),
        };
        let pairs = row.iter().zip(column);
        let places: Vec<i64> = pairs
            .clone()
            .map(|(row, column)| {
                let (row, column) = (row / height, column / width);
                let (line, other) =
                    if layout.compresses_rows() { (row, column) } else { (column, row) };
                line * others + other
            })
            .collect();
        let Groups { places, of_entry } = groups(&places)?;
        let area = height * width;
        let target: Vec<i64> = of_entry
            .iter()
            .zip(pairs)
            .map(|(group, (row, column))| group * area + row % height * width + column % width)
            .collect();
        let nnz = places.len() as i64;
        let values = add_rows(nnz * area, &target, values)?;
        let mut of_values = vec![nnz];
        if layout.is_blocked() {
            of_values.extend([height, width]);
        }
        of_values.extend(coo.sizes.get(2..).unwrap_or_default());
        let of_line: Vec<i64> =
            places.iter().map(|place| place.checked_div(others).unwrap_or(0)).collect();
        let plain: Vec<i64> =
            places.iter().map(|place| place.checked_rem(others).unwrap_or(0)).collect();
        let parts = SparseParts::Compressed {
            layout,
            compressed: vector(&begins(&of_line, lines)?)?,
            plain: vector(&plain)?,
            values: values.view(&of_values)?,
        };
        Ok(Sparse { sizes: coo.sizes.clone(), parts })
    }
}

impl Sparse {
    /// Refuses what PyTorch does not convert: blocks to entries, and blocks to blocks of other sizes.
    fn check_conversion(&self, layout: Layout, block: (i64, i64)) -> Result<()> {
        let own = self.layout();
        if !own.is_blocked() {
            return Ok(());
        }
        let same_kind = own == layout;
        let caller = if same_kind { "to_sparse" } else { "sparse_compressed_to_sparse" };
        let (to, from) = (name(layout), super::layout_name(own));
        if !layout.is_blocked() {
            return Err(Error::runtime(format!(
                "{caller}_{to}: expected SparseCsr or SparseCsc layout but got {from}"
            )));
        }
        if self.block() != block {
            let old = self.block();
            return Err(Error::runtime(format!(
                "{caller}_{to}: conversion from {from} to {} with blocksize changed from [{}, {}] to \
                 [{}, {}] is not supported",
                super::layout_name(layout),
                old.0,
                old.1,
                block.0,
                block.1
            )));
        }
        Ok(())
    }
}

/// Whether each element is something else than zero.
fn is_some(dense: &Tensor) -> Result<Tensor> {
    dense.to_dtype(DType::Bool)
}

fn name(layout: Layout) -> &'static str {
    layout.name().trim_start_matches("sparse_")
}

fn check_block(caller: &str, (rows, columns): (i64, i64), block: (i64, i64)) -> Result<()> {
    let (height, width) = block;
    if height <= 0 || width <= 0 {
        return Err(Error::runtime(format!(
            "{caller}: blocksize needs to be positive, got ({height},{width})"
        )));
    }
    if rows % height != 0 || columns % width != 0 {
        return Err(Error::runtime(format!(
            "{caller}: tensor sparse size ({rows},{columns}) must be divisible by given blocksize \
             ({height},{width})"
        )));
    }
    Ok(())
}
