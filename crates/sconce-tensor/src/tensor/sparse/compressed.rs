use std::sync::Arc;

use super::{accumulate::Blocks, check_strided, read_indices};
use crate::geometry;
use crate::tensor::Body;
use crate::{DType, Dims, Error, Layout, Tensor};

/// The parts of a CSR, CSC, BSR or BSC tensor. Leading dimensions of all parts are batches.
#[derive(Debug, Clone)]
pub struct SparseCompressed {
    /// Which of the four.
    pub layout: Layout,
    /// `crow_indices` or `ccol_indices`: batch × (compressed dimension + 1).
    pub compressed: Tensor,
    /// `col_indices` or `row_indices`: batch × nnz.
    pub plain: Tensor,
    /// batch × nnz × (block rows × block columns, in BSR and BSC) × the dense dimensions.
    pub values: Tensor,
}

impl SparseCompressed {
    /// The number of entries (blocks in BSR and BSC) of one batch.
    pub fn nnz(&self) -> i64 {
        self.plain.sizes().last().copied().unwrap_or(0)
    }

    /// Number of batch dimensions.
    fn batch_dims(&self) -> usize {
        self.compressed.ndim() - 1
    }

    /// Rows and columns of a block; 1 and 1 without blocks.
    fn block(&self) -> (i64, i64) {
        if !self.layout.is_blocked() {
            return (1, 1);
        }
        let at = self.batch_dims() + 1;
        (self.values.sizes()[at], self.values.sizes()[at + 1])
    }

    /// Names in PyTorch's messages: compressed indices, plain indices, and their dimensions.
    fn names(&self) -> Names {
        names(self.layout)
    }

    /// Sizes of the compressed and the plain dimension, in blocks.
    fn grid(&self, sizes: &[i64]) -> (i64, i64) {
        let (block_rows, block_columns) = self.block();
        let at = self.batch_dims();
        let rows = sizes[at].checked_div(block_rows).unwrap_or(0);
        let columns = sizes[at + 1].checked_div(block_columns).unwrap_or(0);
        if self.layout.compresses_rows() { (rows, columns) } else { (columns, rows) }
    }
}

struct Names {
    compressed: &'static str,
    plain: &'static str,
    compressed_dim: &'static str,
    compressed_count: &'static str,
    plain_count: &'static str,
}

fn names(layout: Layout) -> Names {
    if layout.compresses_rows() {
        Names {
            compressed: "crow_indices",
            plain: "col_indices",
            compressed_dim: "row",
            compressed_count: "nrows",
            plain_count: "ncols",
        }
    } else {
        Names {
            compressed: "ccol_indices",
            plain: "row_indices",
            compressed_dim: "column",
            compressed_count: "ncols",
            plain_count: "nrows",
        }
    }
}

impl Tensor {
    /// A CSR, CSC, BSR or BSC tensor: `torch.sparse_compressed_tensor` without reading the indices.
    ///
    /// # Errors
    /// [`Error::InvalidSparse`], in PyTorch's words, where the shapes or dtypes of the parts do not
    /// fit; [`Error::InvalidView`] for sizes that no tensor can have.
    ///
    /// ```
    /// use sconce_tensor::{Layout, Tensor};
    /// let crow = Tensor::from_vec(vec![0i64, 1, 2], &[3])?;
    /// let col = Tensor::from_vec(vec![2i64, 0], &[2])?;
    /// let values = Tensor::from_vec(vec![3f32, 4.], &[2])?;
    /// let t = Tensor::sparse_compressed(Layout::SparseCsr, crow, col, values, &[2, 3])?;
    /// assert_eq!(t.to_dense()?.to_vec::<f32>()?, [0., 0., 3., 4., 0., 0.]);
    /// # Ok::<(), sconce_tensor::Error>(())
    /// ```
    pub fn sparse_compressed(
        layout: Layout,
        compressed: Tensor,
        plain: Tensor,
        values: Tensor,
        sizes: &[i64],
    ) -> Result<Tensor, Error> {
        let numel = geometry::numel(sizes)?;
        let parts = SparseCompressed { layout, compressed, plain, values };
        check_shapes(&parts, sizes).map_err(Error::InvalidSparse)?;
        let dtype = parts.values.dtype();
        let body = Body::SparseCompressed(Arc::new(parts));
        Ok(Tensor::with_body(dtype, Dims::from_slice(sizes), Dims::new(), numel, body))
    }
}

/// What `torch._validate_sparse_compressed_tensor_args` checks without reading indices.
fn check_shapes(parts: &SparseCompressed, sizes: &[i64]) -> Result<(), String> {
    let SparseCompressed { layout, compressed, plain, values } = parts;
    if !layout.is_sparse_compressed() {
        return Err(format!("expected sparse compressed tensor layout but got {layout}"));
    }
    let n = parts.names();
    let strided = [(n.compressed, compressed), (n.plain, plain), ("values", values)];
    check_strided(&strided).map_err(|error| error.to_string())?;
    if compressed.ndim() == 0 || plain.ndim() != compressed.ndim() {
        return Err(format!(
            "dimensionality of {} and {} must be equal and at least 1 but got {} and {}, respectively",
            n.compressed,
            n.plain,
            compressed.ndim(),
            plain.ndim()
        ));
    }
    let batch = compressed.ndim() - 1;
    let block_dims = if layout.is_blocked() { 2 } else { 0 };
    if values.ndim() < batch + block_dims + 1 {
        return Err(format!(
            "values must have dimensionality > sum of batch and block dimensionalities (={batch} + \
             {block_dims}) but got {}",
            values.ndim()
        ));
    }
    let dense = values.ndim() - batch - block_dims - 1;
    if sizes.len() != batch + 2 + dense {
        return Err(format!(
            "tensor dimensionality must be sum of batch, base, and dense dimensionalities (={batch} + 2 \
             + {dense}) but got {}",
            sizes.len()
        ));
    }
    let batches = [&compressed.sizes()[..batch], &plain.sizes()[..batch], &values.sizes()[..batch]];
    if batches.iter().any(|part| *part != &sizes[..batch]) {
        return Err(format!(
            "all batch dimensions of {} (={:?}), {} (={:?}), and values (={:?}) must be equal to tensor \
             batch dimensions (={:?})",
            n.compressed,
            batches[0],
            n.plain,
            batches[1],
            batches[2],
            &sizes[..batch]
        ));
    }
    let (block_rows, block_columns) = parts.block();
    for (i, block) in [block_rows, block_columns].into_iter().enumerate() {
        let size = sizes[batch + i];
        if block <= 0 {
            return Err(format!("values block dimension {i} must be positive, got {block}"));
        }
        if size % block != 0 {
            return Err(format!(
                "tensor shape[{}] (={size}) must be divisible with blocksize[{i}] (={block}) as defined \
                 by values shape",
                batch + i
            ));
        }
    }
    if values.sizes()[batch + 1 + block_dims..] != sizes[batch + 2..] {
        return Err(format!(
            "the dense dimensions of values (={:?}) must be those of the tensor (={:?})",
            &values.sizes()[batch + 1 + block_dims..],
            &sizes[batch + 2..]
        ));
    }
    let expected = parts.grid(sizes).0.saturating_add(1);
    if compressed.sizes()[batch] != expected {
        return Err(format!(
            "{}.shape[-1] must be equal to the number of {}s + 1 (={expected}), but got {}",
            n.compressed,
            n.compressed_dim,
            compressed.sizes()[batch]
        ));
    }
    if plain.sizes()[batch] != values.sizes()[batch] {
        return Err(format!(
            "{}.shape[-1] must be equal to nnz (={}) as defined by values.shape[{batch}], but got {}",
            n.plain,
            values.sizes()[batch],
            plain.sizes()[batch]
        ));
    }
    if compressed.dtype() != plain.dtype() {
        return Err(format!(
            "{} and {} must have the same dtype, bot got {} and {}, respectively",
            n.compressed,
            n.plain,
            compressed.dtype().scalar_type_name(),
            plain.dtype().scalar_type_name()
        ));
    }
    if !matches!(compressed.dtype(), DType::Int32 | DType::Int64) {
        return Err(format!(
            "{} and {} dtype must be Int or Long, but got {}",
            n.compressed,
            n.plain,
            compressed.dtype().scalar_type_name()
        ));
    }
    Ok(())
}

/// Checks the invariants of the index values, in PyTorch's words.
pub(super) fn validate(parts: &SparseCompressed, sizes: &[i64]) -> Result<(), Error> {
    for_each_entry(parts, sizes, |_| Ok(()))
}

/// Copies the entries into zeroed dense bytes.
pub(super) fn fill(parts: &SparseCompressed, sizes: &[i64], out: &mut [u8]) -> Result<(), Error> {
    let values = &parts.values;
    let batch = parts.batch_dims();
    // Where the dense tensor is empty, the rest of its sizes may be anything.
    if out.is_empty() {
        return Ok(());
    }
    let dense: i64 = sizes[batch + 2..].iter().product();
    let item = values.dtype().item_size() * dense as usize;
    let (block_rows, block_columns) = parts.block();
    let (rows, columns) = (sizes[batch], sizes[batch + 1]);
    let bytes = values.native_bytes(values.default_limit())?;
    let mut values = bytes.chunks_exact(item);
    let mut blocks = Blocks::new(parts.values.dtype(), out, item);
    for_each_entry(parts, sizes, |entry| {
        let (block_row, block_column) = if parts.layout.compresses_rows() {
            (entry.compressed, entry.plain)
        } else {
            (entry.plain, entry.compressed)
        };
        for i in 0..block_rows {
            let row = entry.batch * rows + block_row * block_rows + i;
            for j in 0..block_columns {
                let at = row * columns + block_column * block_columns + j;
                if let Some(value) = values.next() {
                    blocks.add(at as usize, value)?;
                }
            }
        }
        Ok(())
    })
}

struct Entry {
    batch: i64,
    compressed: i64,
    plain: i64,
}

/// Visits the entries in the order of the values, after checking the invariants of their batch.
fn for_each_entry(
    parts: &SparseCompressed,
    sizes: &[i64],
    mut visit: impl FnMut(Entry) -> Result<(), Error>,
) -> Result<(), Error> {
    let batches: i64 = sizes[..parts.batch_dims()].iter().product();
    let nnz = parts.nnz() as usize;
    let (compressed, plain) = (read_indices(&parts.compressed)?, read_indices(&parts.plain)?);
    let (_, plain_size) = parts.grid(sizes);
    let n = parts.names();
    let fail = |text: String| Err(Error::InvalidSparse(text));
    for batch in 0..batches {
        let per_batch = compressed.len() / batches as usize;
        let starts = &compressed[batch as usize * per_batch..][..per_batch];
        let plain = &plain[batch as usize * nnz..][..nnz];
        if starts.first() != Some(&0) {
            return fail(format!("`{}[..., 0] == 0` is not satisfied.", n.compressed));
        }
        if starts.last() != Some(&(nnz as i64)) {
            return fail(format!("`{}[..., -1] == nnz` is not satisfied.", n.compressed));
        }
        if starts
            .windows(2)
            .any(|pair| !(0..=plain_size).contains(&pair[1].saturating_sub(pair[0])))
        {
            return fail(format!(
                "`0 <= {c}[..., 1:] - {c}[..., :-1] <= {}` is not satisfied.",
                n.plain_count,
                c = n.compressed
            ));
        }
        if plain.iter().any(|index| !(0..plain_size).contains(index)) {
            return fail(format!("`0 <= {} < {}` is not satisfied.", n.plain, n.plain_count));
        }
        for (i, pair) in starts.windows(2).enumerate() {
            // The starts rise from 0 to nnz, so both lie inside.
            let entries = &plain[pair[0] as usize..pair[1] as usize];
            if entries.windows(2).any(|pair| pair[0] >= pair[1]) {
                return fail(format!(
                    "`{p}[..., {c}[..., i - 1]:{c}[..., i]] for all i = 1, ..., {} are sorted and \
                     distinct along the last dimension values` is not satisfied.",
                    n.compressed_count,
                    p = n.plain,
                    c = n.compressed
                ));
            }
            for &plain in entries {
                visit(Entry { batch, compressed: i as i64, plain })?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(values: &[i64], sizes: &[i64]) -> Tensor {
        Tensor::from_vec(values.to_vec(), sizes).unwrap()
    }

    fn floats(sizes: &[i64]) -> Tensor {
        let n = sizes.iter().product::<i64>();
        Tensor::from_vec((1..=n).map(|i| i as f32).collect(), sizes).unwrap()
    }

    fn make(
        layout: Layout,
        c: &[i64],
        p: &[i64],
        values: &[i64],
        sizes: &[i64],
    ) -> Result<Tensor, Error> {
        let (c, p) = (int(c, &[c.len() as i64]), int(p, &[p.len() as i64]));
        Tensor::sparse_compressed(layout, c, p, floats(values), sizes)
    }

    #[test]
    fn dense_forms() {
        use Layout::{SparseBsc, SparseBsr, SparseCsc, SparseCsr};
        type Case<'a> = (Layout, &'a [i64], &'a [i64], &'a [i64], &'a [i64], &'a [f32]);
        let cases: [Case<'_>; 5] = [
            (SparseCsr, &[0, 2, 2], &[0, 2], &[2], &[2, 3], &[1., 0., 2., 0., 0., 0.]),
            (SparseCsc, &[0, 1, 1, 2], &[0, 1], &[2], &[2, 3], &[1., 0., 0., 0., 0., 2.]),
            (
                SparseBsr,
                &[0, 1, 2],
                &[0, 1],
                &[2, 1, 2],
                &[2, 4],
                &[1., 2., 0., 0., 0., 0., 3., 4.],
            ),
            (
                SparseBsc,
                &[0, 1, 2],
                &[1, 0],
                &[2, 1, 2],
                &[2, 4],
                &[0., 0., 3., 4., 1., 2., 0., 0.],
            ),
            (SparseCsr, &[0, 1], &[1], &[1, 2], &[1, 2, 2], &[0., 0., 1., 2.]),
        ];
        for (layout, c, p, values, sizes, want) in cases {
            let t = make(layout, c, p, values, sizes).unwrap();
            assert_eq!(t.to_dense().unwrap().to_vec::<f32>().unwrap(), want, "{layout}");
        }
        let batched = Tensor::sparse_compressed(
            SparseCsr,
            int(&[0, 1, 1, 0, 0, 1], &[2, 3]),
            int(&[1, 0], &[2, 1]),
            floats(&[2, 1]),
            &[2, 2, 2],
        );
        let dense = batched.unwrap().to_dense().unwrap().to_vec::<f32>().unwrap();
        assert_eq!(dense, [0., 1., 0., 0., 0., 0., 2., 0.]);
    }

    #[test]
    fn what_torch_refuses_is_refused_in_its_words() {
        use Layout::{SparseBsr, SparseCsc, SparseCsr};
        type Case<'a> = (Layout, &'a [i64], &'a [i64], &'a [i64], &'a [i64], &'a str);
        let sorted = "`col_indices[..., crow_indices[..., i - 1]:crow_indices[..., i]] for all i = 1, \
                      ..., nrows are sorted and distinct along the last dimension values` is not \
                      satisfied.";
        let cases: [Case<'_>; 12] = [
            (
                SparseCsr,
                &[0, 1, 3],
                &[0, 1],
                &[2],
                &[2, 3],
                "`crow_indices[..., -1] == nnz` is not satisfied.",
            ),
            (
                SparseCsr,
                &[1, 1, 2],
                &[0, 1],
                &[2],
                &[2, 3],
                "`crow_indices[..., 0] == 0` is not satisfied.",
            ),
            (SparseCsr, &[0, 2, 2], &[1, 0], &[2], &[2, 3], sorted),
            (SparseCsr, &[0, 2, 2], &[1, 1], &[2], &[2, 3], sorted),
            (
                SparseCsr,
                &[0, 2, 2],
                &[1, 3],
                &[2],
                &[2, 3],
                "`0 <= col_indices < ncols` is not satisfied.",
            ),
            (
                SparseCsr,
                &[0, 2, 2],
                &[-1, 2],
                &[2],
                &[2, 3],
                "`0 <= col_indices < ncols` is not satisfied.",
            ),
            (
                SparseCsr,
                &[0, 3, 2],
                &[0, 1],
                &[2],
                &[2, 3],
                "`0 <= crow_indices[..., 1:] - crow_indices[..., :-1] <= ncols` is not satisfied.",
            ),
            (
                SparseCsr,
                &[0, 2],
                &[0, 2],
                &[2],
                &[2, 3],
                "crow_indices.shape[-1] must be equal to the number of rows + 1 (=3), but got 2",
            ),
            (
                SparseCsc,
                &[0, 1, 2],
                &[0, 1],
                &[2],
                &[2, 3],
                "ccol_indices.shape[-1] must be equal to the number of columns + 1 (=4), but got 3",
            ),
            (
                SparseCsr,
                &[0, 1, 2],
                &[0, 1],
                &[2],
                &[2],
                "tensor dimensionality must be sum of batch, base, and dense dimensionalities (=0 + 2 + 0) \
                 but got 1",
            ),
            (
                SparseBsr,
                &[0, 1, 2],
                &[0, 1],
                &[2, 1, 2],
                &[2, 5],
                "tensor shape[1] (=5) must be divisible with blocksize[1] (=2) as defined by values shape",
            ),
            (
                SparseBsr,
                &[0, 1, 2],
                &[0, 1],
                &[2],
                &[2, 4],
                "values must have dimensionality > sum of batch and block dimensionalities (=0 + 2) but \
                 got 1",
            ),
        ];
        for (layout, c, p, values, sizes, want) in cases {
            let got = make(layout, c, p, values, sizes).and_then(|t| t.validate_sparse());
            assert_eq!(got.unwrap_err().to_string(), want);
        }
    }
}
