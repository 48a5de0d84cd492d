//! Linear algebra: factorisations, systems of equations, norms.

use sconce_kernels as kernels;
use sconce_kernels::{DType, Tensor};
use sconce_linalg as linalg;
use sconce_linalg::{Order, Tolerance};

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::linalg_inv", "-", |_, args| made(linalg::inv(args.tensor(0)?)))
        .strides(ResultStrides::Columns),
    op("aten::inverse", "-", |_, args| made(linalg::inv(args.tensor(0)?)))
        .strides(ResultStrides::Columns),
    op("aten::linalg_inv_ex", "-", |_, args| {
        checked(linalg::inv_ex(args.tensor(0)?), args.bool(1)?, "linalg.inv_ex", args.tensor(0)?)
    })
    .strides(ResultStrides::Columns),
    op("aten::linalg_solve", "-", |_, args| {
        made(linalg::solve(args.tensor(0)?, args.tensor(1)?, args.bool(2)?))
    })
    .strides(ResultStrides::Solution(2)),
    op("aten::linalg_solve_ex", "-", |_, args| {
        let all = linalg::solve_ex(args.tensor(0)?, args.tensor(1)?, args.bool(2)?);
        let result = all.map(|[x, _, _, info]| [x, info]);
        checked(result, args.bool(3)?, "linalg.solve_ex", args.tensor(0)?)
    })
    .strides(ResultStrides::Solution(2)),
    op("aten::_linalg_solve_ex", "-", |_, args| {
        let all = linalg::solve_ex(args.tensor(0)?, args.tensor(1)?, args.bool(2)?);
        checked(all, args.bool(3)?, "torch.linalg.solve", args.tensor(0)?)
    })
    .strides(ResultStrides::Columns),
    op("aten::_linalg_check_errors", "-", |_, args| check_errors(&args)),
    // What a program asserts that was exported.
    op("sconce::assert_linalg", "-", |_, args| check_errors(&args)),
    op("aten::linalg_lu_factor", "-", |_, args| {
        several(linalg::lu_factor(args.tensor(0)?, args.bool(1)?))
    })
    .strides(ResultStrides::Columns),
    op("aten::linalg_lu_factor_ex", "-", |_, args| {
        let result = linalg::lu_factor_ex(args.tensor(0)?, args.bool(1)?, "linalg.lu_factor");
        checked(result, args.bool(2)?, "torch.linalg.lu_factor_ex", args.tensor(0)?)
    })
    .strides(ResultStrides::Columns),
    op("aten::_lu_with_info", "-", |_, args| {
        let result = linalg::lu_factor_ex(args.tensor(0)?, args.bool(1)?, "linalg.lu_factor");
        checked(result, args.bool(2)?, "torch.linalg.lu_factor_ex", args.tensor(0)?)
    })
    .strides(ResultStrides::Columns),
    op("aten::linalg_lu", "-", |_, args| several(linalg::lu(args.tensor(0)?, args.bool(1)?))),
    op("aten::lu_unpack", "-", |_, args| {
        let (data, pivots) = (args.bool(2)?, args.bool(3)?);
        several(linalg::lu_unpack(args.tensor(0)?, args.tensor(1)?, data, pivots))
    }),
    op("aten::linalg_lu_solve", "-", |_, args| {
        let (lu, pivots, b) = (args.tensor(0)?, args.tensor(1)?, args.tensor(2)?);
        made(linalg::lu_solve(lu, pivots, b, args.bool(3)?, args.bool(4)?))
    })
    .strides(ResultStrides::Solution(3)),
    op("aten::lu_solve", "-", |_, args| {
        let (b, lu, pivots) = (args.tensor(0)?, args.tensor(1)?, args.tensor(2)?);
        made(linalg::lu_solve(lu, pivots, b, true, false))
    })
    .strides(ResultStrides::Columns),
    op("aten::linalg_det", "-", |_, args| {
        made(linalg::det(args.tensor(0)?).map(|[first, ..]| first))
    }),
    op("aten::det", "-", |_, args| made(linalg::det(args.tensor(0)?).map(|[first, ..]| first))),
    op("aten::_linalg_det", "-", |_, args| several(linalg::det(args.tensor(0)?))),
    op("aten::linalg_slogdet", "-", |_, args| {
        several(linalg::slogdet(args.tensor(0)?).map(|[sign, log, ..]| [sign, log]))
    }),
    op("aten::slogdet", "-", |_, args| {
        several(linalg::slogdet(args.tensor(0)?).map(|[sign, log, ..]| [sign, log]))
    }),
    op("aten::_linalg_slogdet", "-", |_, args| several(linalg::slogdet(args.tensor(0)?))),
    op("aten::logdet", "-", |_, args| made(linalg::logdet(args.tensor(0)?))),
    op("aten::linalg_ldl_factor", "-", |_, args| {
        several(linalg::ldl_factor(args.tensor(0)?, args.bool(1)?))
    })
    .strides(ResultStrides::Columns),
    op("aten::linalg_ldl_factor_ex", "-", |_, args| {
        let result = linalg::ldl_factor_ex(args.tensor(0)?, args.bool(1)?);
        checked(result, args.bool(2)?, "torch.linalg.ldl_factor_ex", args.tensor(0)?)
    })
    .strides(ResultStrides::Columns),
    op("aten::linalg_ldl_solve", "-", |_, args| {
        let (ld, pivots, b) = (args.tensor(0)?, args.tensor(1)?, args.tensor(2)?);
        made(linalg::ldl_solve(ld, pivots, b, args.bool(3)?))
    })
    .strides(ResultStrides::Columns),
    op("aten::linalg_qr", "-", |_, args| several(linalg::qr(args.tensor(0)?, &args.str(1)?)))
        .strides(ResultStrides::Columns),
    op("aten::geqrf", "-", |_, args| several(linalg::geqrf(args.tensor(0)?)))
        .strides(ResultStrides::Matrices),
    op("aten::linalg_householder_product", "-", |_, args| {
        made(linalg::householder_product(args.tensor(0)?, args.tensor(1)?))
    })
    .strides(ResultStrides::Columns),
    op("aten::orgqr", "-", |_, args| {
        made(linalg::householder_product(args.tensor(0)?, args.tensor(1)?))
    }),
    op("aten::ormqr", "-", |_, args| {
        let (a, tau, other) = (args.tensor(0)?, args.tensor(1)?, args.tensor(2)?);
        made(linalg::ormqr(a, tau, other, args.bool(3)?, args.bool(4)?))
    })
    .strides(ResultStrides::Columns),
    op("aten::linalg_solve_triangular", "-", |_, args| {
        let (a, b) = (args.tensor(0)?, args.tensor(1)?);
        made(linalg::solve_triangular(a, b, args.bool(2)?, args.bool(3)?, args.bool(4)?))
    })
    .strides(ResultStrides::Columns),
    op("aten::triangular_solve", "-", |_, args| {
        let (b, a) = (args.tensor(0)?, args.tensor(1)?);
        several(linalg::triangular_solve(b, a, args.bool(2)?, args.bool(3)?, args.bool(4)?))
    })
    .strides(ResultStrides::Columns),
    op("aten::linalg_cholesky", "-", |_, args| {
        made(linalg::cholesky(args.tensor(0)?, args.bool(1)?))
    })
    .strides(ResultStrides::Columns),
    op("aten::linalg_cholesky_ex", "-", |_, args| {
        let result = linalg::cholesky_ex(args.tensor(0)?, args.bool(1)?);
        checked(result, args.bool(2)?, "linalg.cholesky_ex", args.tensor(0)?)
    })
    .strides(ResultStrides::Columns),
    op("aten::cholesky_inverse", "-", |_, args| {
        made(linalg::cholesky_inverse(args.tensor(0)?, args.bool(1)?))
    })
    .strides(ResultStrides::Columns),
    op("aten::cholesky_solve", "-", |_, args| {
        made(linalg::cholesky_solve(args.tensor(0)?, args.tensor(1)?, args.bool(2)?))
    })
    .strides(ResultStrides::Columns),
    op("aten::linalg_svd", "-", |_, args| {
        no_driver(&args, 2)?;
        several(linalg::svd(args.tensor(0)?, args.bool(1)?))
    }),
    op("aten::linalg_svdvals", "-", |_, args| {
        no_driver(&args, 1)?;
        made(linalg::svdvals(args.tensor(0)?))
    }),
    op("aten::_linalg_svd", "-", |_, args| {
        no_driver(&args, 3)?;
        if args.bool(2)? {
            return several(linalg::svd(args.tensor(0)?, args.bool(1)?));
        }
        let none = Tensor::zeros(&[0], args.tensor(0)?.dtype()).map_err(kernel)?;
        several(linalg::svdvals(args.tensor(0)?).map(|s| [none.clone(), s, none.clone()]))
    }),
    op("aten::svd", "-", |_, args| several(svd(args.tensor(0)?, args.bool(1)?, args.bool(2)?))),
    op("aten::linalg_eigh", "-", |_, args| several(linalg::eigh(args.tensor(0)?, &args.str(1)?))),
    op("aten::linalg_eigvalsh", "-", |_, args| {
        made(linalg::eigvalsh(args.tensor(0)?, &args.str(1)?))
    }),
    op("aten::_linalg_eigh", "-", |_, args| {
        let [values, vectors] = linalg::eigh(args.tensor(0)?, &args.str(1)?).map_err(kernel)?;
        let none = Tensor::zeros(&[0], vectors.dtype()).map_err(kernel)?;
        several(Ok([values, if args.bool(2)? { vectors } else { none }]))
    }),
    op("aten::linalg_eig", "-", |_, args| several(linalg::eig(args.tensor(0)?))),
    op("aten::linalg_eigvals", "-", |_, args| made(linalg::eigvals(args.tensor(0)?))),
    op("aten::_linalg_eigvals", "-", |_, args| made(linalg::eigvals(args.tensor(0)?))),
    op("aten::linalg_lstsq", "-", |_, args| {
        let rcond = if args.get(2).is_none() { None } else { Some(args.real(2)?) };
        let driver = args.optional_str(3)?;
        several(linalg::lstsq(args.tensor(0)?, args.tensor(1)?, rcond, driver.as_deref()))
    })
    .strides(ResultStrides::LeastSquares),
    op("aten::linalg_pinv", "- rcond_tensor", |_, args| {
        made(linalg::pinv(args.tensor(0)?, &relative(&args)?, args.bool(2)?))
    }),
    op("aten::linalg_pinv", "atol_rtol_float atol_rtol_tensor", |_, args| {
        made(linalg::pinv(args.tensor(0)?, &tolerance(&args)?, args.bool(3)?))
    }),
    op("aten::pinverse", "-", |_, args| {
        made(linalg::pinv(args.tensor(0)?, &relative(&args)?, false))
    }),
    op("aten::linalg_matrix_rank", "- tol_tensor", |_, args| {
        let tolerance = Tolerance { atol: number(&args, 1)?, rtol: Some(zero()?) };
        made(linalg::matrix_rank(args.tensor(0)?, &tolerance, args.bool(2)?))
    }),
    op("aten::linalg_matrix_rank", "atol_rtol_float atol_rtol_tensor", |_, args| {
        made(linalg::matrix_rank(args.tensor(0)?, &tolerance(&args)?, args.bool(3)?))
    }),
    op("aten::linalg_polar", "-", |_, args| several(linalg::polar_decomposition(args.tensor(0)?))),
    op("aten::linalg_matrix_sqrth", "-", |_, args| made(linalg::matrix_sqrth(args.tensor(0)?))),
    op("aten::linalg_matrix_exp", "-", |_, args| made(linalg::matrix_exp(args.tensor(0)?))),
    op("aten::matrix_exp", "-", |_, args| made(linalg::matrix_exp(args.tensor(0)?))),
    op("aten::linalg_matrix_power", "-", |_, args| {
        made(linalg::matrix_power(args.tensor(0)?, args.int(1)?))
    }),
    op("aten::matrix_power", "-", |_, args| {
        made(linalg::matrix_power(args.tensor(0)?, args.int(1)?))
    }),
    op("aten::linalg_tensorinv", "-", |_, args| {
        made(linalg::tensorinv(args.tensor(0)?, args.int(1)?))
    }),
    op("aten::linalg_tensorsolve", "-", |_, args| {
        let dims = args.optional_ints(2)?;
        made(linalg::tensorsolve(args.tensor(0)?, args.tensor(1)?, dims.as_deref()))
    }),
    op("aten::linalg_matrix_norm", "- str_ord", |_, args| {
        let order = order(&args, 1)?.unwrap_or(Order::Number(2.0));
        let dims = args.ints(2)?;
        made(linalg::matrix_norm(args.tensor(0)?, &order, &dims, args.bool(3)?, args.dtype(4)?))
    }),
    op("aten::linalg_norm", "- ord_str", |_, args| {
        let (order, dims) = (order(&args, 1)?, args.optional_ints(2)?);
        let (keepdim, dtype) = (args.bool(3)?, args.dtype(4)?);
        made(linalg::linalg_norm(args.tensor(0)?, order.as_ref(), dims.as_deref(), keepdim, dtype))
    }),
    op("aten::linalg_cond", "- p_str", |_, args| {
        made(linalg::cond(args.tensor(0)?, order(&args, 1)?.as_ref()))
    }),
    op("aten::nuclear_norm", "-", |_, args| nuclear(&args, &[-2, -1], 1)),
    op("aten::nuclear_norm", "dim", |_, args| nuclear(&args, &args.ints(1)?, 2)),
];

/// Several tensors as a tuple.
fn several<const N: usize>(result: kernels::Result<[Tensor; N]>) -> Result {
    let tensors = result.map_err(kernel)?;
    Ok(IValue::tuple(tensors.into_iter().map(IValue::Tensor).collect()))
}

/// The same, of which the last is `info`: refused where it tells of failure and `check` is set.
fn checked<const N: usize>(
    result: kernels::Result<[Tensor; N]>,
    check: bool,
    function: &str,
    input: &Tensor,
) -> Result {
    let tensors = result.map_err(kernel)?;
    if let (true, Some(info)) = (check, tensors.last()) {
        linalg::check_errors(info, function, input.dim() == 2).map_err(kernel)?;
    }
    several(Ok(tensors))
}

/// Refuses what failed, by its `info`.
fn check_errors(args: &Args<'_>) -> Result {
    let name = args.str(1)?;
    linalg::check_errors(args.tensor(0)?, &name, args.bool(2)?).map_err(kernel)?;
    Ok(IValue::None)
}

/// Refuses a driver, of which PyTorch has none to choose from on the CPU.
fn no_driver(args: &Args<'_>, driver: usize) -> Result<()> {
    match args.get(driver) {
        IValue::Str(_) if args.tensor(0)?.numel() > 0 => Err(Raise::message(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with \
             cuSOLVER backend.",
        )),
        _ => Ok(()),
    }
}

/// `torch.svd`: V rather than its conjugate transpose; zeros where it is not asked for.
fn svd(input: &Tensor, some: bool, vectors: bool) -> kernels::Result<[Tensor; 3]> {
    if input.dim() < 2 {
        return Err(kernels::Error::runtime(
            "linalg.svd: input should have at least 2 dimensions, but has 1 dimensions instead",
        ));
    }
    if !vectors {
        let (mut u, mut v) = (input.sizes().to_vec(), input.sizes().to_vec());
        let dims = input.dim();
        u[dims - 1] = u[dims - 2];
        v[dims - 2] = v[dims - 1];
        let (u, v) = (Tensor::zeros(&u, input.dtype())?, Tensor::zeros(&v, input.dtype())?);
        return Ok([u, linalg::svdvals(input)?, v.transpose(-2, -1)?]);
    }
    let [u, s, vh] = linalg::svd(input, !some)?;
    Ok([u, s, kernels::conj(&vh.transpose(-2, -1)?)?])
}

fn zero() -> Result<Tensor> {
    Tensor::zeros(&[], DType::Float64).map_err(kernel)
}

/// A float or a tensor as a tensor, or `None`.
fn number(args: &Args<'_>, index: usize) -> Result<Option<Tensor>> {
    match args.get(index) {
        IValue::None => Ok(None),
        IValue::Tensor(tensor) => Ok(Some(tensor.clone())),
        _ => Tensor::scalar(args.scalar(index)?, DType::Float64).map_err(kernel).map(Some),
    }
}

fn tolerance(args: &Args<'_>) -> Result<Tolerance> {
    Ok(Tolerance { atol: number(args, 1)?, rtol: number(args, 2)? })
}

/// `rcond` stands second.
fn relative(args: &Args<'_>) -> Result<Tolerance> {
    Ok(Tolerance { atol: Some(zero()?), rtol: number(args, 1)? })
}

fn order(args: &Args<'_>, index: usize) -> Result<Option<Order>> {
    Ok(match args.get(index) {
        IValue::None => None,
        IValue::Str(name) => Some(Order::Named(name.to_string())),
        _ => Some(Order::Number(args.real(index)?)),
    })
}

fn nuclear(args: &Args<'_>, dims: &[i64], keepdim: usize) -> Result {
    let order = Order::Named("nuc".to_owned());
    made(linalg::matrix_norm(args.tensor(0)?, &order, dims, args.bool(keepdim)?, None))
}
