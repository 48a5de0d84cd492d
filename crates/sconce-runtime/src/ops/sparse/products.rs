//! Matrix products, sums and softmax of sparse tensors.

use sconce_kernels::{
    self as kernels, Scalar, ScatterReduce, Sparse as SparseTensor, SparseParts, Tensor,
    addmm_sparse, bmm_sparse, mm_of_sparse, mm_sparse, mm_sparse_reduce, reduce_compressed,
    sampled_addmm, sparse_log_softmax, sparse_softmax, sum_sparse,
};
use sconce_tensor::Layout;

use super::SparseRule::Run;
use super::arithmetic::summed;
use super::operands::AnyTensor::{Dense, Sparse};
use super::{Result, SparseRow, result};
use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made as dense;

pub(crate) const TABLE: Table = &[
    op("aten::_sparse_mm", "-", |_, args| product(&args)),
    op("aten::_sparse_mm", "reduce", |_, args| {
        let sparse = args.sparse(0, "_sparse_mm expected a sparse matrix")?;
        dense(mm_sparse_reduce(&sparse, args.tensor(1)?, &args.str(2)?))
    }),
    op("aten::_sparse_sparse_matmul", "-", |_, args| product(&args)),
    op("aten::_sparse_addmm", "-", |_, args| addmm(&args)),
    op("aten::sparse_sampled_addmm", "-", |_, args| {
        let input = args.sparse(0, "sampled_addmm expected a sparse matrix")?;
        if input.layout() != Layout::SparseCsr {
            return Err(Raise::message("Expected result Tensor to be of format CSR"));
        }
        let (beta, alpha) = (args.scalar(3)?, args.scalar(4)?);
        result(sampled_addmm(&input, args.tensor(1)?, args.tensor(2)?, beta, alpha))
    }),
    op("aten::hspmm", "-", |_, args| hybrid_product(&args)),
    op("aten::smm", "-", |_, args| {
        let sparse = args.coordinates(0, "smm")?;
        let rows = product_entries(&sparse, args.tensor(1)?).map_err(kernel)?;
        Ok(super::made(rows))
    }),
    op("aten::sspaddmm", "-", |_, args| sum_with_product(&args)),
    op("aten::_sparse_sum", "-", |_, args| sum(&args, &[], None)),
    op("aten::_sparse_sum", "dtype", |_, args| sum(&args, &[], Some(1))),
    op("aten::_sparse_sum", "dim", |_, args| sum(&args, &args.ints(1)?, None)),
    op("aten::_sparse_sum", "dim_dtype", |_, args| sum(&args, &args.ints(1)?, Some(2))),
    op("aten::_sparse_csr_sum", "dim_dtype", |_, args| reduce(&args, ScatterReduce::Sum)),
    op("aten::_sparse_csr_prod", "dim_dtype", |_, args| reduce(&args, ScatterReduce::Product)),
    op("aten::_sparse_softmax", "-", |_, args| softmax(&args, sparse_softmax)),
    op("aten::_sparse_softmax", "int", |_, args| softmax(&args, sparse_softmax)),
    op("aten::_sparse_log_softmax", "-", |_, args| softmax(&args, sparse_log_softmax)),
    op("aten::_sparse_log_softmax", "int", |_, args| softmax(&args, sparse_log_softmax)),
];

pub(super) const RULES: &[SparseRow] = &[
    SparseRow("aten::mm", "-", Run(|_, args| product(&args))),
    SparseRow("aten::matmul", "-", Run(|_, args| product(&args))),
    SparseRow("aten::linalg_matmul", "-", Run(|_, args| product(&args))),
    SparseRow("aten::mv", "-", Run(|_, args| product(&args))),
    SparseRow("aten::bmm", "-", Run(|_, args| product(&args))),
    SparseRow("aten::addmm", "-", Run(|_, args| addmm(&args))),
    SparseRow("aten::softmax", "int", Run(|_, args| softmax(&args, sparse_softmax))),
    SparseRow("aten::log_softmax", "int", Run(|_, args| softmax(&args, sparse_log_softmax))),
];

fn sum(args: &Args<'_>, dims: &[i64], dtype: Option<usize>) -> Result {
    let dtype = dtype.map(|at| args.dtype(at)).transpose()?.flatten();
    let sparse = args.sparse(0, "_sparse_sum expected a sparse tensor")?;
    if sparse.layout().is_sparse_compressed() || dims.is_empty() {
        return dense(kernels::sum(sparse.values(), &[], false, dtype));
    }
    summed(sum_sparse(&sparse, dims, false, dtype))
}

fn reduce(args: &Args<'_>, fold: ScatterReduce) -> Result {
    let sparse = args.sparse(0, "this reduction expected a sparse matrix")?;
    result(reduce_compressed(&sparse, &args.ints(1)?, args.bool(2)?, args.dtype(3)?, fold))
}

fn softmax(args: &Args<'_>, of: fn(&SparseTensor, i64) -> kernels::Result<SparseTensor>) -> Result {
    let sparse = args.coordinates(0, "softmax")?;
    // Of `int` the last operand is a dtype, of the other whether half precision becomes single.
    let dtype = match args.get(2) {
        crate::value::IValue::Int(_) => args.dtype(2)?,
        crate::value::IValue::Bool(true) => Some(kernels::DType::Float32),
        _ => None,
    };
    let dim = args.int(1)?;
    match dtype {
        Some(dtype) => result(sparse.to_dtype(dtype).and_then(|wide| of(&wide, dim))),
        None => result(of(&sparse, dim)),
    }
}

/// A product of matrices or of a matrix and a vector, at least one of which is sparse.
fn product(args: &Args<'_>) -> Result {
    match (args.any_tensor(0)?, args.any_tensor(1)?) {
        (Sparse(a), Sparse(b)) => {
            if b.dim() == 1 {
                let vector = b.to_dense().map_err(kernel)?;
                return dense(by_vector(&a, &vector));
            }
            let product = mm_of_sparse(&a, &b);
            result(match a.layout().is_sparse_compressed() {
                true => product.and_then(|product| product.compress(Layout::SparseCsr, (1, 1))),
                false => product,
            })
        }
        (Sparse(a), Dense(b)) => dense(match (a.dim(), b.dim()) {
            (_, 1) => by_vector(&a, b),
            (3, 3) => bmm_sparse(&a, b),
            _ => mm_sparse(&a, b),
        }),
        (Dense(a), Sparse(b)) => dense(match (a.dim(), b.dim()) {
            (_, 1) => b.to_dense().and_then(|b| kernels::matmul(a, &b)),
            (1, _) => from_left(&a.unsqueeze(0).map_err(kernel)?, &b)
                .and_then(|row| row.squeeze(Some(&[0]))),
            (2, 2) => from_left(a, &b),
            _ => return Err(Raise::unsupported("this product with a sparse tensor")),
        }),
        (Dense(_), Dense(_)) => {
            Err(Raise::message("sparse_mm: Expected at least one argument to be sparse"))
        }
    }
}

fn by_vector(a: &SparseTensor, vector: &Tensor) -> kernels::Result<Tensor> {
    if a.dim() != 2 || a.sizes().last() != vector.sizes().first() {
        return Err(kernels::Error::runtime("mv: expected self.size(-1) == vec.size(-1)"));
    }
    mm_sparse(a, &vector.unsqueeze(1)?)?.squeeze(Some(&[1]))
}

/// `a @ b` of a sparse `b`.
fn from_left(a: &Tensor, b: &SparseTensor) -> kernels::Result<Tensor> {
    if b.dim() != 2 || a.sizes().last() != b.sizes().first() {
        return Err(kernels::Error::runtime(format!(
            "mat1 and mat2 shapes cannot be multiplied ({:?} and {:?})",
            a.sizes(),
            b.sizes()
        )));
    }
    let product = mm_sparse(&b.transpose(0, 1)?, &a.t()?)?.t()?;
    if b.layout().is_sparse_compressed() { product.contiguous() } else { Ok(product) }
}

fn addmm(args: &Args<'_>) -> Result {
    let (beta, alpha) = (args.scalar(3)?, args.scalar(4)?);
    match (args.any_tensor(0)?, args.any_tensor(1)?, args.any_tensor(2)?) {
        (Dense(input), Sparse(a), Dense(b)) => dense(addmm_sparse(input, &a, b, beta, alpha)),
        (Dense(input), Dense(a), Sparse(b)) => dense((|| {
            let product = from_left(a, &b)?;
            let input = input.expand(product.sizes())?;
            let input = kernels::binary(kernels::BinaryOp::Mul, (&input).into(), beta.into())?;
            kernels::add((&input).into(), (&product).into(), alpha)
        })()),
        (Dense(input), Sparse(a), Sparse(b)) => dense((|| {
            let product = mm_of_sparse(&a, &b)?.to_dense()?;
            let input = input.expand(product.sizes())?;
            let input = kernels::binary(kernels::BinaryOp::Mul, (&input).into(), beta.into())?;
            kernels::add((&input).into(), (&product).into(), alpha)
        })()),
        (Sparse(input), ..) => Err(Raise::message(format!(
            "addmm_sparse_dense: expected strided result tensor, got tensor with layout {}",
            kernels::layout_name(input.layout())
        ))),
        _ => Err(Raise::unsupported("this sum with a product of sparse tensors")),
    }
}

/// The rows of a product that have entries, as one sparse dimension of rows.
fn hybrid_product(args: &Args<'_>) -> Result {
    let sparse = args.coordinates(0, "hspmm")?;
    let product = mm_sparse(&sparse, args.tensor(1)?).map_err(kernel)?;
    let rows = rows_with_entries(&sparse).map_err(kernel)?;
    result((|| {
        let values = kernels::index_select(&product, 0, &rows)?;
        SparseTensor::coo(rows.unsqueeze(0)?, values, product.sizes(), false)
    })())
}

fn rows_with_entries(sparse: &SparseTensor) -> kernels::Result<Tensor> {
    match sparse.parts() {
        SparseParts::Coordinates { indices, .. } => {
            Ok(kernels::unique(&indices.select(0, 0)?, false, false)?.values)
        }
        SparseParts::Compressed { .. } => {
            Err(kernels::Error::not_implemented("rows of this layout"))
        }
    }
}

/// The product with every column of the rows that have entries.
fn product_entries(sparse: &SparseTensor, factor: &Tensor) -> kernels::Result<SparseTensor> {
    let product = mm_sparse(sparse, factor)?;
    let rows = rows_with_entries(sparse)?;
    let values = kernels::index_select(&product, 0, &rows)?.reshape(&[-1])?;
    let columns = product.size(1)?;
    let (count, zero) = (rows.numel(), Scalar::Int(0));
    let all =
        kernels::arange(zero, Scalar::Int(columns), Scalar::Int(1), Some(kernels::DType::Int64))?;
    let all = all.unsqueeze(0)?.expand(&[count, columns])?.reshape(&[-1])?;
    let rows = rows.unsqueeze(1)?.expand(&[count, columns])?.reshape(&[-1])?;
    SparseTensor::coo(kernels::stack(&[rows, all], 0)?, values, product.sizes(), false)
}

/// `torch.sspaddmm`: entries of both, one after the other.
fn sum_with_product(args: &Args<'_>) -> Result {
    let (input, sparse) = (args.coordinates(0, "sspaddmm")?, args.coordinates(1, "sspaddmm")?);
    let (beta, alpha) = (args.scalar(3)?, args.scalar(4)?);
    result((|| {
        let scaled = |sparse: &SparseTensor, by: Scalar| {
            kernels::binary(kernels::BinaryOp::Mul, sparse.values().into(), by.into())
        };
        let product = product_entries(
            &sparse,
            args.tensor(2)
                .map_err(|_| kernels::Error::runtime("sspaddmm: expected a dense matrix"))?,
        )?;
        if product.sizes() != input.sizes() {
            return Err(kernels::Error::runtime(format!(
                "sspaddmm: Argument #1: Expected sizes {:?}, got {:?}",
                product.sizes(),
                input.sizes()
            )));
        }
        let both = [scaled(&input, beta)?, scaled(&product, alpha)?];
        let (
            SparseParts::Coordinates { indices: first, .. },
            SparseParts::Coordinates { indices: second, .. },
        ) = (input.parts(), product.parts())
        else {
            return Err(kernels::Error::not_implemented("this layout"));
        };
        let indices = kernels::cat(&[first.clone(), second.clone()], 1)?;
        SparseTensor::coo(indices, kernels::cat(&both, 0)?, input.sizes(), false)
    })())
}
