//! Matrix products with sparse factors.

use sconce_kernel_core::Memory;
use sconce_tensor::Layout;

use crate::elementwise::binary_op::BinaryOp;
use crate::indexing::scatter::ScatterReduce;
use crate::sparse::coalesce::{add_rows, fold_rows, groups};
use crate::sparse::elementwise::gather_dense;
use crate::sparse::indices::{begins, of_places, read, vector};
use crate::sparse::{Sparse, SparseParts};
use crate::{DType, Error, Result, Scalar, Tensor};

/// Numbers of products that are held at a time.
const PIECE: i64 = 1 << 18;

/// A matrix as its entries.
struct Matrix {
    rows: Vec<i64>,
    columns: Vec<i64>,
    values: Tensor,
    sizes: [i64; 2],
}

fn matrix(sparse: &Sparse, caller: &str) -> Result<Matrix> {
    let coo = sparse.to_coo()?;
    let (&[rows, columns], SparseParts::Coordinates { indices, values, .. }) =
        (coo.sizes.as_slice(), &coo.parts)
    else {
        return Err(Error::runtime(format!(
            "{caller}: Expected a 2-D sparse matrix, got {}-D",
            sparse.dim()
        )));
    };
    if coo.sparse_dim() != 2 {
        return Err(Error::runtime(format!(
            "{caller}: expected a matrix of 2 sparse dimensions, got {}",
            coo.sparse_dim()
        )));
    }
    let all = read(indices)?;
    let (of_row, of_column) = all.split_at(all.len() / 2);
    Ok(Matrix {
        rows: of_row.to_vec(),
        columns: of_column.to_vec(),
        values: values.clone(),
        sizes: [rows, columns],
    })
}

fn check_dense(caller: &str, sparse: [i64; 2], dense: &Tensor) -> Result<[i64; 2]> {
    let &[inner, columns] = dense.sizes() else {
        return Err(Error::runtime(format!(
            "{caller}: Expected a 2-D dense matrix, got {}-D",
            dense.dim()
        )));
    };
    if inner != sparse[1] {
        return Err(Error::runtime(format!(
            "mat1 and mat2 shapes cannot be multiplied ({}x{} and {inner}x{columns})",
            sparse[0], sparse[1]
        )));
    }
    Ok([inner, columns])
}

fn check_dtype(caller: &str, sparse: DType, dense: DType) -> Result<()> {
    if sparse == dense {
        return Ok(());
    }
    Err(Error::runtime(format!(
        "{caller}: Expected self.dtype ({}) and mat2.dtype ({}) to match",
        sparse.scalar_type_name(),
        dense.scalar_type_name()
    )))
}

/// The product of a sparse matrix and a dense one.
///
/// # Errors
/// For sizes and dtypes that do not fit.
pub fn mm_sparse(sparse: &Sparse, dense: &Tensor) -> Result<Tensor> {
    let matrix = matrix(sparse, "mm")?;
    let [_, columns] = check_dense("mm", matrix.sizes, dense)?;
    check_dtype("mm", sparse.dtype(), dense.dtype())?;
    let result = Tensor::zeros(&[matrix.sizes[0], columns], dense.dtype())?;
    let piece = (PIECE / columns.max(1)).max(1) as usize;
    let entries = matrix.rows.chunks(piece).zip(matrix.columns.chunks(piece));
    for (number, (rows, of_column)) in entries.enumerate() {
        let start = (number * piece) as i64;
        let values = matrix.values.narrow(0, start, rows.len() as i64)?.unsqueeze(1)?;
        let factors = crate::index_select(dense, 0, &vector(of_column)?)?;
        let products = crate::binary(BinaryOp::Mul, (&factors).into(), (&values).into())?;
        let index = [Some(vector(rows)?)];
        crate::index_put(&result, &index, &products, true)?;
    }
    Ok(result)
}

/// `beta * input + alpha * sparse @ dense`.
///
/// # Errors
/// As [`mm_sparse`], and for an input that does not broadcast.
pub fn addmm_sparse(
    input: &Tensor,
    sparse: &Sparse,
    dense: &Tensor,
    beta: Scalar,
    alpha: Scalar,
) -> Result<Tensor> {
    if input.dtype() != dense.dtype() {
        return Err(Error::runtime(format!(
            "expected scalar type {} but found {}",
            dense.dtype().scalar_type_name(),
            input.dtype().scalar_type_name()
        )));
    }
    let product = mm_sparse(sparse, dense)?;
    if beta.to_complex() == Scalar::Int(0).to_complex() {
        return crate::binary(BinaryOp::Mul, (&product).into(), alpha.into());
    }
    let input = input.expand(product.sizes())?;
    let input = crate::binary(BinaryOp::Mul, (&input).into(), beta.into())?;
    crate::add((&input).into(), (&product).into(), alpha)
}

/// A product for each of a batch of sparse matrices, all dimensions of which are sparse.
///
/// # Errors
/// For other layouts than coordinates, and sizes that do not fit.
pub fn bmm_sparse(sparse: &Sparse, dense: &Tensor) -> Result<Tensor> {
    let (&[batch, rows, inner], &[other, depth, columns]) =
        (sparse.sizes.as_slice(), dense.sizes())
    else {
        return Err(Error::runtime("batch1 must be a 3D tensor"));
    };
    if batch != other || inner != depth {
        return Err(Error::runtime(format!(
            "Expected size for first two dimensions of batch2 tensor to be: [{batch}, {inner}] but got: \
             [{other}, {depth}]."
        )));
    }
    let SparseParts::Coordinates { indices, values, .. } = &sparse.parts else {
        let dense_factor = sparse.to_dense()?;
        return crate::bmm(&dense_factor, dense);
    };
    if sparse.sparse_dim() != 3 {
        return Err(Error::runtime("bmm_sparse: Tensor 'self' must have 3 sparse dims"));
    }
    // One matrix with the others along its diagonal.
    let all = read(indices)?;
    let entries = sparse.nnz() as usize;
    let (numbers, rest) = all.split_at(entries);
    let (of_row, of_column) = rest.split_at(entries);
    let mut flat: Vec<i64> = numbers.iter().zip(of_row).map(|(n, i)| n * rows + i).collect();
    flat.extend(numbers.iter().zip(of_column).map(|(n, j)| n * inner + j));
    let diagonal = Sparse::made(
        &[batch * rows, batch * inner],
        super::indices::table(&flat, 2, entries)?,
        values.clone(),
        false,
    );
    mm_sparse(&diagonal, &dense.reshape(&[batch * inner, columns])?)?.view(&[batch, rows, columns])
}

/// The product of two sparse matrices, in coordinates.
///
/// # Errors
/// For sizes and dtypes that do not fit.
pub fn mm_of_sparse(a: &Sparse, b: &Sparse) -> Result<Sparse> {
    let (left, right) =
        (matrix(&a.to_coo()?.coalesce()?, "mm")?, matrix(&b.to_coo()?.coalesce()?, "mm")?);
    if left.sizes[1] != right.sizes[0] {
        return Err(Error::runtime(format!(
            "mat1 and mat2 shapes cannot be multiplied ({}x{} and {}x{})",
            left.sizes[0], left.sizes[1], right.sizes[0], right.sizes[1]
        )));
    }
    check_dtype("sparse_matmul", a.dtype(), b.dtype())?;
    if !a.dtype().is_floating_point() && !a.dtype().is_complex() {
        return Err(Error::no_kernel("sparse_matmul", a.dtype()));
    }
    let begin = begins(&right.rows, right.sizes[0])?;
    let range = |row: i64| -> std::ops::Range<usize> {
        let at = |row: i64| begin.get(row as usize).copied().unwrap_or(0) as usize;
        at(row)..at(row + 1)
    };
    let count: usize = left.columns.iter().map(|&inner| range(inner).len()).sum();
    Memory::check_scratch(count.saturating_mul(6 * size_of::<i64>()))?;
    let (mut places, mut of_left, mut of_right) = (Vec::new(), Vec::new(), Vec::new());
    for (entry, (&row, &inner)) in left.rows.iter().zip(&left.columns).enumerate() {
        for other in range(inner) {
            let column = right.columns.get(other).copied().unwrap_or(0);
            places.push(row * right.sizes[1] + column);
            of_left.push(entry as i64);
            of_right.push(other as i64);
        }
    }
    let first = crate::index_select(&left.values, 0, &vector(&of_left)?)?;
    let second = crate::index_select(&right.values, 0, &vector(&of_right)?)?;
    let products = crate::binary(BinaryOp::Mul, (&first).into(), (&second).into())?;
    let found = groups(&places)?;
    let values = add_rows(found.places.len() as i64, &found.of_entry, &products)?;
    let sizes = [left.sizes[0], right.sizes[1]];
    Ok(Sparse::made(&sizes, of_places(&found.places, &sizes)?, values, true))
}

/// `torch.sparse.mm(sparse, dense, reduce)`: the sum, mean, largest or smallest of the products in a row; 0 in rows
/// without entries.
///
/// # Errors
/// For other operations, and sizes that do not fit.
pub fn mm_sparse_reduce(sparse: &Sparse, dense: &Tensor, reduce: &str) -> Result<Tensor> {
    let fold = match reduce {
        "sum" => ScatterReduce::Sum,
        "mean" => ScatterReduce::Mean,
        "amax" => ScatterReduce::Max,
        "amin" => ScatterReduce::Min,
        other => {
            return Err(Error::runtime(format!(
                "reduce argument must be either sum, prod, mean, amax or amin, got {other}"
            )));
        }
    };
    if sparse.layout() != Layout::SparseCsr {
        return Err(Error::not_implemented(format!(
            "_sparse_mm with a reduction of a tensor of layout {}",
            sparse.layout()
        )));
    }
    let matrix = matrix(sparse, "sparse_mm_reduce")?;
    let [_, columns] = check_dense("sparse_mm_reduce", matrix.sizes, dense)?;
    check_dtype("sparse_mm_reduce", sparse.dtype(), dense.dtype())?;
    let count = matrix.rows.len() as u64 * columns.max(1) as u64;
    Memory::check_scratch((count as usize).saturating_mul(2 * dense.dtype().item_size()))?;
    let factors = crate::index_select(dense, 0, &vector(&matrix.columns)?)?;
    let values = matrix.values.unsqueeze(1)?;
    let products = crate::binary(BinaryOp::Mul, (&factors).into(), (&values).into())?;
    fold_rows(matrix.sizes[0], &matrix.rows, &products, fold)
}

/// `torch.sparse.sampled_addmm`: `beta * input + alpha * (a @ b)` at the places of the input.
///
/// # Errors
/// For other layouts than CSR, and sizes that do not fit.
pub fn sampled_addmm(
    input: &Sparse,
    a: &Tensor,
    b: &Tensor,
    beta: Scalar,
    alpha: Scalar,
) -> Result<Sparse> {
    let product = crate::matmul(a, b)?;
    if product.sizes() != input.sizes {
        return Err(Error::runtime(format!(
            "sampled_addmm: Expected self of sizes {:?}, got {:?}",
            product.sizes(),
            input.sizes
        )));
    }
    let there = gather_dense(&product, input)?;
    let there = crate::binary(BinaryOp::Mul, (&there).into(), alpha.into())?;
    if beta.to_complex() == Scalar::Int(0).to_complex() {
        return Ok(input.with_values(there));
    }
    let own = crate::binary(BinaryOp::Mul, input.values().into(), beta.into())?;
    Ok(input.with_values(crate::add((&own).into(), (&there).into(), Scalar::Int(1))?))
}
