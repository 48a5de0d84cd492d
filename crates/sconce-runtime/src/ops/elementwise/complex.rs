//! Complex numbers as tensors: parts, conjugates, polar form.

use sconce_kernels as kernels;
use sconce_kernels::{Tensor, UnaryOp};

use crate::error::kernel;
use crate::ops::descriptor::overlap::{OverlapRule, check_elements_once};
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made;
use crate::value::IValue;

pub(crate) const TABLE: Table = &[
    op("aten::view_as_real", "-", |_, args| made(kernels::view_as_real(args.tensor(0)?))),
    op("aten::view_as_complex", "-", |_, args| made(kernels::view_as_complex(args.tensor(0)?))),
    op("aten::real", "-", |_, args| made(kernels::real(args.tensor(0)?))),
    op("aten::imag", "-", |_, args| made(kernels::imag(args.tensor(0)?))),
    op("aten::conj", "-", |_, args| made(kernels::conj(args.tensor(0)?)))
        .strides(ResultStrides::Copy),
    op("aten::_conj", "-", |_, args| made(kernels::conj(args.tensor(0)?))),
    op("aten::conj_physical", "-", |_, args| made(kernels::conj(args.tensor(0)?)))
        .strides(ResultStrides::Copy),
    op("aten::_conj_physical", "-", |_, args| made(kernels::conj(args.tensor(0)?)))
        .strides(ResultStrides::Copy),
    op("aten::conj_physical_", "-", |_, mut args| {
        if !args.tensor(0)?.dtype().is_complex() {
            return Ok(args.take(0));
        }
        check_elements_once(args.tensor(0)?)?;
        let result = kernels::conj(args.tensor(0)?).map_err(kernel)?;
        args.tensor(0)?.copy_from(&result).map_err(kernel)?;
        Ok(args.take(0))
    })
    .overlap(OverlapRule::Unchecked),
    // Conjugates are computed at once here, so none is ever left to resolve.
    op("aten::resolve_conj", "-", |_, mut args| Ok(args.take(0))),
    op("aten::resolve_neg", "-", |_, mut args| Ok(args.take(0))),
    op("aten::is_complex", "-", |_, args| Ok(IValue::Bool(args.tensor(0)?.dtype().is_complex()))),
    op("aten::angle", "-", |_, args| made(kernels::angle(args.tensor(0)?)))
        .strides(ResultStrides::Elements),
    op("aten::sgn", "-", |_, args| made(sgn(args.tensor(0)?))).strides(ResultStrides::Elements),
    op("aten::complex", "-", |_, args| made(kernels::complex(args.tensor(0)?, args.tensor(1)?)))
        .strides(ResultStrides::Numbers),
    op("aten::polar", "-", |_, args| made(kernels::polar(args.tensor(0)?, args.tensor(1)?)))
        .strides(ResultStrides::Numbers),
];

fn sgn(input: &Tensor) -> kernels::Result<Tensor> {
    match input.dtype().is_complex() {
        true => kernels::complex_sgn(input),
        false => kernels::unary(UnaryOp::Sign, input),
    }
}
