//! Functions of elements, sums and products of sparse tensors.

use sconce_kernels::{
    self as kernels, BinaryOp, DenseOrSparse, Scalar, ScatterReduce, add_sparse, add_to_dense,
    mul_sparse, mul_with_dense, reduce_compressed, sum_sparse,
};

use super::SparseRule::{Coalesced, Run, Values};
use super::operands::AnyTensor::{Dense, Sparse};
use super::{Result, SparseRow, made, result};
use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::tensor::operands::made as dense;
use crate::value::IValue;

/// Functions of elements give 0 for 0, so they are computed on values alone.
pub(super) const RULES: &[SparseRow] = &[
    SparseRow("aten::abs", "-", Coalesced),
    SparseRow("aten::angle", "-", Coalesced),
    SparseRow("aten::asin", "-", Coalesced),
    SparseRow("aten::asinh", "-", Coalesced),
    SparseRow("aten::atan", "-", Coalesced),
    SparseRow("aten::atanh", "-", Coalesced),
    SparseRow("aten::ceil", "-", Coalesced),
    SparseRow("aten::conj_physical", "-", Coalesced),
    SparseRow("aten::conj", "-", Values),
    SparseRow("aten::deg2rad", "-", Coalesced),
    SparseRow("aten::erf", "-", Coalesced),
    SparseRow("aten::erfinv", "-", Coalesced),
    SparseRow("aten::expm1", "-", Coalesced),
    SparseRow("aten::floor", "-", Coalesced),
    SparseRow("aten::frac", "-", Coalesced),
    SparseRow("aten::isinf", "-", Coalesced),
    SparseRow("aten::isnan", "-", Coalesced),
    SparseRow("aten::isneginf", "-", Coalesced),
    SparseRow("aten::isposinf", "-", Coalesced),
    SparseRow("aten::log1p", "-", Coalesced),
    SparseRow("aten::nan_to_num", "-", Coalesced),
    SparseRow("aten::neg", "-", Values),
    SparseRow("aten::positive", "-", Values),
    SparseRow("aten::rad2deg", "-", Coalesced),
    SparseRow("aten::relu", "-", Coalesced),
    SparseRow("aten::round", "- decimals", Coalesced),
    SparseRow("aten::sgn", "-", Coalesced),
    SparseRow("aten::sign", "-", Coalesced),
    SparseRow("aten::signbit", "-", Coalesced),
    SparseRow("aten::sin", "-", Coalesced),
    SparseRow("aten::sinh", "-", Coalesced),
    SparseRow("aten::sqrt", "-", Coalesced),
    SparseRow("aten::square", "-", Coalesced),
    SparseRow("aten::tan", "-", Coalesced),
    SparseRow("aten::tanh", "-", Coalesced),
    SparseRow("aten::trunc", "-", Coalesced),
    SparseRow(
        "aten::pow",
        "Tensor_Scalar",
        Run(|context, args| {
            in_coordinates(&args)?;
            let dense = crate::ops::find("aten::pow", "Tensor_Scalar");
            let dense = dense.ok_or_else(|| Raise::unsupported("powers of sparse tensors"))?;
            Coalesced.run(dense.run, context, args)
        }),
    ),
    SparseRow("aten::add", "Tensor", Run(|_, args| add(&args, args.scalar(2)?))),
    SparseRow(
        "aten::sub",
        "Tensor",
        Run(|_, args| {
            check_subtraction(&args)?;
            let minus = match args.scalar(2)? {
                Scalar::Float(value) => Scalar::Float(-value),
                Scalar::Complex(value) => Scalar::Complex(-value),
                value => Scalar::Int(value.to_i64().wrapping_neg()),
            };
            add(&args, minus)
        }),
    ),
    SparseRow(
        "aten::add",
        "Scalar",
        Run(|_, _| {
            let words = "add(sparse, dense) is not supported. Use add(dense, sparse) instead.";
            Err(Raise::message(words))
        }),
    ),
    SparseRow("aten::mul", "Tensor", Run(|_, args| mul(&args))),
    SparseRow("aten::mul", "Scalar", Values),
    SparseRow("aten::mul_", "Tensor Scalar", Run(|_, args| mul_in_place(&args))),
    SparseRow("aten::div", "Scalar", Run(|_, args| divide(&args, BinaryOp::Div))),
    SparseRow("aten::floor_divide", "Scalar", Run(|_, args| divide(&args, BinaryOp::DivFloor))),
    SparseRow("aten::div", "Tensor", Run(|_, args| divide(&args, BinaryOp::Div))),
    SparseRow("aten::floor_divide", "-", Run(|_, args| divide(&args, BinaryOp::DivFloor))),
    SparseRow(
        "aten::sum",
        "-",
        Run(|_, args| {
            let (sparse, dtype) = (args.sparse(0, "sum")?, args.dtype(1)?);
            dense(kernels::sum(sparse.values(), &[], false, dtype))
        }),
    ),
    SparseRow(
        "aten::sum",
        "dim_IntList",
        Run(|_, args| {
            let (dims, keepdim, dtype) = (args.ints(1)?, args.bool(2)?, args.dtype(3)?);
            let sparse = args.sparse(0, "sum")?;
            if sparse.layout().is_sparse_compressed() {
                return result(reduce_compressed(
                    &sparse,
                    &dims,
                    keepdim,
                    dtype,
                    ScatterReduce::Sum,
                ));
            }
            let whole = sparse.dtype().is_integral() || sparse.dtype() == kernels::DType::Bool;
            let dtype = dtype.or_else(|| whole.then_some(kernels::DType::Int64));
            summed(sum_sparse(&sparse, &dims, keepdim, dtype))
        }),
    ),
    SparseRow(
        "aten::any",
        "-",
        Run(|_, args| dense(kernels::any(args.sparse(0, "any")?.values(), &[], false))),
    ),
    SparseRow(
        "aten::norm",
        "Scalar",
        Run(|_, args| {
            let sparse = args.coordinates(0, "norm")?.coalesce().map_err(kernel)?;
            dense(kernels::norm(sparse.values(), args.real(1)?, &[], false))
        }),
    ),
];

pub(super) fn summed(sum: kernels::Result<DenseOrSparse>) -> Result {
    Ok(match sum.map_err(kernel)? {
        DenseOrSparse::Dense(dense) => IValue::Tensor(dense),
        DenseOrSparse::Sparse(sparse) => made(sparse),
    })
}

/// Refuses what PyTorch does not subtract.
fn check_subtraction(args: &Args<'_>) -> Result<()> {
    in_coordinates(args)?;
    for index in 0..2 {
        let dtype = match args.get(index) {
            IValue::Sparse(sparse) => sparse.read().dtype(),
            IValue::Tensor(tensor) => tensor.dtype(),
            _ => continue,
        };
        if dtype == kernels::DType::Bool {
            return Err(Raise::message(
                "Subtraction, the `-` operator, with a bool tensor is not supported. If you are \
                 trying to invert a mask, use the `~` or `logical_not()` operator instead.",
            ));
        }
    }
    Ok(())
}

fn add(args: &Args<'_>, alpha: Scalar) -> Result {
    if !matches!(args.get(1), IValue::Sparse(_) | IValue::Tensor(_)) {
        let words = "add(sparse, dense) is not supported. Use add(dense, sparse) instead.";
        return Err(Raise::message(words));
    }
    match (args.any_tensor(0)?, args.any_tensor(1)?) {
        (Sparse(a), Sparse(b)) => result(add_sparse(&a, &b, alpha)),
        (Dense(a), Sparse(b)) => dense(add_to_dense(a, &b, alpha)),
        (Sparse(a), Dense(b)) if a.layout().is_sparse_compressed() => {
            let wide = a.to_dense().map_err(kernel)?;
            dense(kernels::add((&wide).into(), b.into(), alpha))
        }
        (Sparse(_), Dense(_)) => Err(Raise::message(
            "add(sparse, dense) is not supported. Use add(dense, sparse) instead.",
        )),
        (Dense(_), Dense(_)) => Err(Raise::unsupported("this sum of sparse tensors")),
    }
}

fn mul(args: &Args<'_>) -> Result {
    let scaled = |sparse: &kernels::Sparse, by: Scalar| {
        kernels::binary(BinaryOp::Mul, sparse.values().into(), by.into())
            .map(|values| sparse.with_values(values))
    };
    match (args.get(0), args.get(1)) {
        (IValue::Sparse(sparse), IValue::Int(_) | IValue::Float(_) | IValue::Complex(..)) => {
            return result(scaled(&sparse.read(), args.scalar(1)?));
        }
        (IValue::Int(_) | IValue::Float(_) | IValue::Complex(..), IValue::Sparse(sparse)) => {
            return result(scaled(&sparse.read(), args.scalar(0)?));
        }
        _ => {}
    }
    result(match (args.any_tensor(0)?, args.any_tensor(1)?) {
        (Sparse(a), Sparse(b)) => mul_sparse(&a, &b),
        (Sparse(sparse), Dense(dense)) | (Dense(dense), Sparse(sparse)) => {
            mul_with_dense(&sparse, dense)
        }
        (Dense(_), Dense(_)) => return Err(Raise::unsupported("this product of sparse tensors")),
    })
}

/// A product in place. One with a number no longer counts as coalesced in PyTorch.
fn mul_in_place(args: &Args<'_>) -> Result {
    let product = mul(args)?;
    match (args.get(0), &product, args.get(1)) {
        (IValue::Sparse(target), IValue::Sparse(product), other) => {
            super::store(target, product)?;
            let is_number = match other {
                IValue::Tensor(tensor) => tensor.dim() == 0,
                other => !matches!(other, IValue::Sparse(_)),
            };
            if is_number && target.read().nnz() > 1 {
                let uncoalesced = target.read().with_coalesced(false);
                *target.write() = uncoalesced;
            }
        }
        (IValue::Tensor(target), IValue::Tensor(product), _) => {
            kernels::store(target, product).map_err(kernel)?;
        }
        _ => return Err(Raise::unsupported("a result of another layout than where it goes")),
    }
    Ok(args.get(0).clone())
}

/// Refuses compressed tensors, as PyTorch does for some operators.
fn in_coordinates(args: &Args<'_>) -> Result<()> {
    for index in 0..2 {
        if let IValue::Sparse(sparse) = args.get(index)
            && sparse.read().layout().is_sparse_compressed()
        {
            let layout = kernels::layout_name(sparse.read().layout());
            return Err(Raise::message(format!("unsupported tensor layout: {layout}")));
        }
    }
    Ok(())
}

fn divide(args: &Args<'_>, by: BinaryOp) -> Result {
    in_coordinates(args)?;
    let sparse = args.sparse(0, "div")?;
    let divisor = args.operand(1)?;
    if let kernels::Operand::Tensor(divisor) = divisor
        && divisor.dim() > 0
    {
        return Err(Raise::message(format!(
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape {:?} for \
             divisor)",
            divisor.sizes()
        )));
    }
    let sparse = match by {
        BinaryOp::Div => sparse.clone(),
        _ => sparse.coalesce().map_err(kernel)?,
    };
    let values = kernels::binary(by, sparse.values().into(), divisor).map_err(kernel)?;
    Ok(made(sparse.with_values(values)))
}
