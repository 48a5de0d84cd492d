//! What tensors, devices and dtypes say of themselves. Tensors here are strided, lie in the CPU's memory
//! and need no gradients.

use sconce_kernels::{DType, Operand, Scalar, Tensor, can_cast, promote_types, result_type};

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::overlap::OverlapRule;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made;
use crate::value::IValue::{self, Bool, Int};

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("prim::is_cpu", "-", |_, args| args.tensor(0).map(|_| Bool(true))),
    op("prim::is_ipu", "-", |_, args| no(&args)),
    op("prim::is_maia", "-", |_, args| no(&args)),
    op("prim::is_meta", "-", |_, args| no(&args)),
    op("prim::is_mkldnn", "-", |_, args| no(&args)),
    op("prim::is_mps", "-", |_, args| no(&args)),
    op("prim::is_mtia", "-", |_, args| no(&args)),
    op("prim::is_sparse", "-", |_, args| no(&args)),
    op("prim::is_sparse_csr", "-", |_, args| no(&args)),
    op("prim::is_vulkan", "-", |_, args| no(&args)),
    op("prim::is_xla", "-", |_, args| no(&args)),
    op("prim::is_xpu", "-", |_, args| no(&args)),
    op("prim::layout", "-", |_, args| args.tensor(0).map(|_| Int(0))),
    op("prim::name", "-", |_, args| args.tensor(0).map(|_| IValue::None)),
    op("prim::itemsize", "-", |_, args| item_size(&args)),
    op("prim::nbytes", "-", |_, args| {
        let tensor = args.tensor(0)?;
        Ok(Int(tensor.numel() * tensor.dtype().item_size() as i64))
    }),
    op("aten::element_size", "-", |_, args| item_size(&args)),
    op("aten::is_conj", "-", |_, args| no(&args)),
    op("aten::is_neg", "-", |_, args| no(&args)),
    op("aten::is_inference", "-", |_, args| no(&args)),
    op("aten::get_device", "-", |_, args| args.tensor(0).map(|_| Int(-1))),
    op("aten::cpu", "-", |_, mut args| Ok(args.take(0))),
    op("aten::_shape_as_tensor", "-", |_, args| {
        let sizes = args.tensor(0)?.sizes();
        made(Tensor::from_slice(sizes, &[sizes.len() as i64]))
    }),
    op("aten::copy_", "Tensor int float", |_, mut args| {
        let number;
        let source = match args.operand(1)? {
            Operand::Tensor(source) => source,
            Operand::Scalar(value) => {
                number = own(value).map_err(kernel)?;
                &number
            }
        };
        args.tensor(0)?.copy_from(source).map_err(kernel)?;
        Ok(args.take(0))
    }),
    op("aten::_no_grad_fill_", "-", |_, mut args| {
        args.tensor(0)?.fill(args.scalar(1)?).map_err(kernel)?;
        Ok(args.take(0))
    })
    .overlap(OverlapRule::Unchecked),
    op("aten::_no_grad_zero_", "-", |_, mut args| {
        args.tensor(0)?.fill(Scalar::Int(0)).map_err(kernel)?;
        Ok(args.take(0))
    })
    .overlap(OverlapRule::Unchecked),
    op("prim::NumToTensor", "bool", |_, args| made(own(args.scalar(0)?))),
    op("aten::result_type", "Tensor Scalar Scalar_Tensor Scalar_Scalar", |_, args| {
        Ok(number(result_type(&[args.operand(0)?, args.operand(1)?]).map_err(kernel)?))
    }),
    op("aten::promote_types", "-", |_, args| {
        Ok(number(promote_types(dtype(&args, 0)?, dtype(&args, 1)?).map_err(kernel)?))
    }),
    op("aten::can_cast", "-", |_, args| Ok(Bool(can_cast(dtype(&args, 0)?, dtype(&args, 1)?)))),
    op("aten::_autocast_to_reduced_precision", "-", |_, args| {
        let lower = args.dtype(4)?.filter(|_| args.bool(2).unwrap_or(false));
        cast_for_region(args, lower)
    }),
    op("aten::_autocast_to_full_precision", "-", |_, args| {
        let is_half = matches!(args.tensor(0)?.dtype(), DType::Float16 | DType::BFloat16);
        let full = (is_half && args.bool(2)?).then_some(DType::Float32);
        cast_for_region(args, full)
    }),
    op("prim::type", "-", |_, args| {
        let (kind, _) = device(&args)?;
        Ok(IValue::str(kind))
    }),
    op("prim::index", "-", |_, args| {
        let (_, index) = device(&args)?;
        Ok(index.map_or(IValue::None, Int))
    }),
];

fn no(args: &Args<'_>) -> Result {
    args.tensor_or_nested(0).map(|_| Bool(false))
}

fn item_size(args: &Args<'_>) -> Result {
    Ok(Int(args.tensor(0)?.dtype().item_size() as i64))
}

/// A number as a tensor of the dtype that holds all such numbers.
fn own(value: Scalar) -> sconce_kernels::Result<Tensor> {
    match value {
        Scalar::Float(_) => Tensor::scalar(value, DType::Float64),
        value => Tensor::scalar(value, value.dtype()),
    }
}

/// A tensor as a region of `torch.autocast` on the CPU takes it: in another dtype where it is of a floating one that is
/// not float64.
fn cast_for_region(mut args: Args<'_>, dtype: Option<DType>) -> Result {
    let tensor = args.tensor(0)?;
    let is_eligible = matches!(tensor.dtype(), DType::Float16 | DType::BFloat16 | DType::Float32);
    match dtype.filter(|&dtype| is_eligible && dtype != tensor.dtype()) {
        Some(dtype) => made(tensor.to_dtype(dtype)),
        None => Ok(args.take(0)),
    }
}

fn number(dtype: DType) -> IValue {
    Int(i64::from(dtype.scalar_type_number()))
}

fn dtype(args: &Args<'_>, index: usize) -> Result<DType> {
    args.dtype(index)?.ok_or_else(|| Raise::unsupported("a dtype that is None"))
}

/// Kind and index of a device.
fn device(args: &Args<'_>) -> Result<(String, Option<i64>)> {
    let IValue::Device(text) = args.get(0) else {
        return Err(Raise::unsupported("a device of this kind"));
    };
    Ok(match text.split_once(':') {
        Some((kind, index)) => (kind.to_owned(), index.parse().ok()),
        None => (text.to_string(), None),
    })
}
