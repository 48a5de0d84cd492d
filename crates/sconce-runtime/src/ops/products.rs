//! Products of vectors, matrices and tensors.

use sconce_kernels as kernels;
use sconce_kernels::{DType, Operand, ResultLayout, Scalar, Tensor, UnaryOp};

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::overlap::OverlapRule;
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::addmm", "-", |_, args| fused(&args, addmm)).strides(ResultStrides::RowMajor),
    op(SUM_WITH_PRODUCT, "-", |_, args| sum_with_product(&args)),
    op("aten::addmm_", "-", |_, args| fused_in_place(args, addmm))
        .overlap(OverlapRule::ReadBeforeWritten),
    op("aten::addmv", "-", |_, args| fused(&args, kernels::addmv)),
    op("aten::addmv_", "-", |_, args| fused_in_place(args, kernels::addmv))
        .overlap(OverlapRule::ReadBeforeWritten),
    op("aten::addr", "-", |_, args| fused(&args, kernels::addr)),
    op("aten::addr_", "-", |_, args| fused_in_place(args, kernels::addr)),
    op("aten::addbmm", "-", |_, args| fused(&args, kernels::addbmm))
        .strides(ResultStrides::RowMajor),
    op("aten::addbmm_", "-", |_, mut args| {
        let (input, a, b) = (args.tensor(0)?, args.tensor(1)?, args.tensor(2)?);
        let result = kernels::addbmm(input, a, b, args.scalar(3)?, args.scalar(4)?);
        let result = result.map_err(kernel)?;
        // The one of these that takes the sizes of its result. A column would be overwritten while it is read:
        // PyTorch repeats its first number everywhere.
        if let (&[rows, 1], &[_, columns]) = (input.sizes(), result.sizes())
            && rows > 1
            && columns > 1
        {
            return Err(Raise::message(format!(
                "output with shape {:?} doesn't match the broadcast shape {:?}",
                input.sizes(),
                result.sizes()
            )));
        }
        input.resize(result.sizes()).map_err(kernel)?;
        input.copy_from(&result).map_err(kernel)?;
        Ok(args.take(0))
    })
    .overlap(OverlapRule::ReadBeforeWritten),
    op("aten::baddbmm", "-", |_, args| fused(&args, kernels::batch_addmm))
        .strides(ResultStrides::RowMajor),
    op("aten::baddbmm_", "-", |_, args| fused_in_place(args, kernels::batch_addmm))
        .overlap(OverlapRule::Unchecked),
    op("aten::outer", "-", |_, args| made(kernels::outer(args.tensor(0)?, args.tensor(1)?))),
    op("aten::ger", "-", |_, args| made(kernels::outer(args.tensor(0)?, args.tensor(1)?))),
    op("aten::vdot", "-", |_, args| made(kernels::vdot(args.tensor(0)?, args.tensor(1)?))),
    op("aten::inner", "-", |_, args| made(kernels::inner(args.tensor(0)?, args.tensor(1)?))),
    op("aten::kron", "-", |_, args| made(kernels::kron(args.tensor(0)?, args.tensor(1)?))),
    op("aten::trace", "-", |_, args| made(kernels::trace(args.tensor(0)?))),
    op("aten::tensordot", "-", |_, args| {
        let (a, b) = (args.tensor(0)?, args.tensor(1)?);
        made(kernels::tensordot(a, b, &args.ints(2)?, &args.ints(3)?))
    }),
    op("aten::einsum", "-", |_, args| {
        let (tensors, path) = (args.tensors(1)?, args.optional_ints(2)?);
        made(kernels::einsum(&args.str(0)?, &tensors, path.as_deref()))
    }),
    op("aten::cross", "-", |_, args| {
        made(kernels::cross(args.tensor(0)?, args.tensor(1)?, args.optional_int(2)?))
    }),
    op("aten::linalg_cross", "-", |_, args| {
        made(kernels::linalg_cross(args.tensor(0)?, args.tensor(1)?, args.int(2)?))
    }),
    op("aten::linalg_vecdot", "-", |_, args| {
        made(kernels::vecdot(args.tensor(0)?, args.tensor(1)?, args.int(2)?))
    }),
    op("aten::linalg_vander", "-", |_, args| {
        made(kernels::linalg_vander(args.tensor(0)?, args.optional_int(1)?))
    }),
    op("aten::linalg_matmul", "-", |_, args| {
        made(kernels::matmul(args.tensor(0)?, args.tensor(1)?))
    }),
    op("aten::linalg_multi_dot", "-", |_, args| made(kernels::multi_dot(&args.tensors(0)?))),
    op("aten::chain_matmul", "-", |_, args| {
        let matrices = args.tensors(0)?;
        match matrices.as_slice() {
            [one] => made(one.copy()),
            _ => made(kernels::multi_dot(&matrices)),
        }
    }),
    op("aten::mm", "-", |_, args| made(kernels::mm(args.tensor(0)?, args.tensor(1)?))),
    op("aten::bmm", "-", |_, args| made(kernels::bmm(args.tensor(0)?, args.tensor(1)?))),
    op("aten::mv", "-", |_, args| made(kernels::mv(args.tensor(0)?, args.tensor(1)?))),
    op("aten::dot", "-", |_, args| made(kernels::dot(args.tensor(0)?, args.tensor(1)?))),
    op("aten::matmul", "-", |_, args| made(kernels::matmul(args.tensor(0)?, args.tensor(1)?))),
    op("aten::linear", "-", |_, args| {
        made(kernels::linear(args.tensor(0)?, args.tensor(1)?, args.optional_tensor(2)?))
    }),
    op("aten::vander", "-", |_, args| {
        made(kernels::vander(args.tensor(0)?, args.optional_int(1)?, args.bool(2)?))
    }),
    op("aten::_addmm_activation", "-", |_, args| {
        let (input, a, b) = (args.tensor(0)?, args.tensor(1)?, args.tensor(2)?);
        let sum = kernels::addmm(input, a, b, args.scalar(3)?, args.scalar(4)?);
        let op = if args.bool(5)? { UnaryOp::GeluTanh } else { UnaryOp::Relu };
        made(sum.and_then(|sum| kernels::unary(op, &sum)))
    }),
    op("aten::_int_mm", "-", |_, args| {
        let (a, b) = (args.tensor(0)?, args.tensor(1)?);
        if a.dtype() != DType::Int8 || b.dtype() != DType::Int8 {
            return Err(Raise::message("_int_mm: expected matrices of int8"));
        }
        let wide = |tensor: &Tensor| tensor.to_dtype(DType::Int32);
        made(wide(a).and_then(|a| kernels::mm(&a, &wide(b)?)))
    }),
];

/// What PyTorch makes of `aten::addmm` before it runs a program, where nothing is scaled: a product and
/// a sum, with the sum's promotion, broadcasting, rounding and strides.
pub(crate) const SUM_WITH_PRODUCT: &str = "sconce::sum_with_product";

fn sum_with_product(args: &Args<'_>) -> Result {
    let (input, a, b) = (args.tensor(0)?, args.tensor(1)?, args.tensor(2)?);
    if is_at_once(input, a, b) {
        return made(addmm(input, a, b, Scalar::Int(1), Scalar::Int(1)));
    }
    let product = kernels::mm(a, b).map_err(kernel)?;
    let operands = [Operand::Tensor(input), Operand::Tensor(&product)];
    let sum = kernels::binary(kernels::BinaryOp::Add, operands[0], operands[1]).map_err(kernel)?;
    made(match ResultLayout::of(&operands) {
        Some(iteration) => iteration.lay_out(sum),
        None => Ok(sum),
    })
}

/// Whether one pass gives the same.
fn is_at_once(input: &Tensor, a: &Tensor, b: &Tensor) -> bool {
    let ([rows, inner], [same, columns]) = (a.sizes(), b.sizes()) else { return false };
    let sizes = [*rows, *columns];
    let is_whole = matches!(input.dtype(), DType::Float32 | DType::Float64);
    is_whole
        && inner == same
        && [a, b].iter().all(|factor| factor.dtype() == input.dtype())
        && input.is_row_major()
        && kernels::layout::broadcast(input.sizes(), &sizes).is_ok_and(|found| found[..] == sizes)
}

type Fused = fn(&Tensor, &Tensor, &Tensor, Scalar, Scalar) -> kernels::Result<Tensor>;

/// `beta * input + alpha * product`.
fn fused(args: &Args<'_>, function: Fused) -> Result {
    let (input, a, b) = (args.tensor(0)?, args.tensor(1)?, args.tensor(2)?);
    made(function(input, a, b, args.scalar(3)?, args.scalar(4)?))
}

fn fused_in_place(mut args: Args<'_>, function: Fused) -> Result {
    let (input, a, b) = (args.tensor(0)?, args.tensor(1)?, args.tensor(2)?);
    let result = function(input, a, b, args.scalar(3)?, args.scalar(4)?).map_err(kernel)?;
    kernels::store(input, &result).map_err(kernel)?;
    Ok(args.take(0))
}

fn addmm(
    input: &Tensor,
    a: &Tensor,
    b: &Tensor,
    beta: Scalar,
    alpha: Scalar,
) -> kernels::Result<Tensor> {
    let whole = |factor: Scalar| match a.dtype().is_integral() {
        true => Scalar::Int(factor.to_i64()),
        false => factor,
    };
    kernels::addmm(input, a, b, whole(beta), whole(alpha))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_scaled_is_a_sum_with_a_product() {
        let ones = |sizes: &[i64], dtype| Tensor::full(sizes, 1.into(), dtype).unwrap();
        let sum = |input: Tensor| {
            let (a, b) = (ones(&[2, 4], DType::Float32), ones(&[4, 3], DType::Float32));
            sum_with_product(&Args(&mut [input, a, b].map(IValue::Tensor)))
        };
        let turned = ones(&[3, 2], DType::Float32).t().unwrap();
        for (input, dtype, sizes, strides) in [
            (ones(&[3], DType::Float32), DType::Float32, &[2, 3][..], &[3, 1][..]),
            (turned, DType::Float32, &[2, 3], &[1, 2]),
            (ones(&[2, 3], DType::Float64), DType::Float64, &[2, 3], &[3, 1]),
            (ones(&[5, 2, 3], DType::Float32), DType::Float32, &[5, 2, 3], &[6, 3, 1]),
        ] {
            let IValue::Tensor(found) = sum(input).unwrap() else { panic!("no tensor") };
            assert_eq!((found.dtype(), found.sizes(), found.strides()), (dtype, sizes, strides));
            let whole = found.to_dtype(DType::Float32).unwrap().contiguous().unwrap();
            assert!(whole.to_vec::<f32>().unwrap().iter().all(|&number| number == 5.0));
        }
        let error = sum(ones(&[4, 3], DType::Float32)).unwrap_err();
        assert!(format!("{error:?}").contains("must match the size of tensor b (2)"), "{error:?}");
    }
}
