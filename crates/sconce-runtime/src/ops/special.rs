//! Special functions: `torch.special` and what is older than it.

use sconce_kernels as kernels;
use sconce_kernels::special::{self, Polynomial, Precision, of_tensors};
use sconce_kernels::{DType, Tensor};

use crate::error::{Raise, kernel};
use crate::ops::Args;
use crate::ops::descriptor::result_strides::ResultStrides;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::lgamma", "-", |_, args| made(of_tensors::lgamma(args.tensor(0)?)))
        .strides(ResultStrides::Elements),
    op("aten::digamma", "-", |_, args| map(&args, "digamma", special::digamma))
        .strides(ResultStrides::Elements),
    op("aten::erfinv", "-", |_, args| made(of_tensors::erfinv(args.tensor(0)?)))
        .strides(ResultStrides::Elements),
    op("aten::i0", "-", |_, args| {
        made(of_tensors::modified_bessel_i0("i0", args.tensor(0)?, true))
    })
    .strides(ResultStrides::Elements),
    op("aten::sinc", "-", |_, args| {
        if args.tensor(0)?.dtype().is_complex() {
            return made(kernels::complex_sinc(args.tensor(0)?));
        }
        made(of_tensors::sinc(args.tensor(0)?))
    })
    .strides(ResultStrides::Elements),
    op("aten::special_i0e", "-", |_, args| {
        made(of_tensors::modified_bessel_i0("i0e", args.tensor(0)?, false))
    })
    .strides(ResultStrides::Elements),
    op("aten::special_i1", "-", |_, args| {
        made(of_tensors::modified_bessel_i1("i1", args.tensor(0)?, true))
    })
    .strides(ResultStrides::Elements),
    op("aten::special_i1e", "-", |_, args| {
        made(of_tensors::modified_bessel_i1("i1e", args.tensor(0)?, false))
    })
    .strides(ResultStrides::Elements),
    op("aten::special_entr", "-", |_, args| made(of_tensors::entr(args.tensor(0)?)))
        .strides(ResultStrides::Elements),
    op("aten::special_erfcx", "-", |_, args| single(&args, "erfcx", special::erfcx))
        .strides(ResultStrides::Elements),
    op("aten::special_ndtr", "-", |_, args| made(of_tensors::ndtr(args.tensor(0)?)))
        .strides(ResultStrides::Elements),
    op("aten::special_ndtri", "-", |_, args| made(of_tensors::ndtri(not_half(&args, "ndtri")?)))
        .strides(ResultStrides::Elements),
    op("aten::special_log_ndtr", "-", |_, args| single(&args, "log_ndtr", special::log_ndtr))
        .strides(ResultStrides::Elements),
    op("aten::special_airy_ai", "-", |_, args| coarse(&args, "airy_ai", special::airy_ai))
        .strides(ResultStrides::Elements),
    op("aten::special_bessel_j0", "-", |_, args| coarse(&args, "bessel_j0", special::bessel_j0))
        .strides(ResultStrides::Elements),
    op("aten::special_bessel_j1", "-", |_, args| coarse(&args, "bessel_j1", special::bessel_j1))
        .strides(ResultStrides::Elements),
    op("aten::special_bessel_y0", "-", |_, args| coarse(&args, "bessel_y0", special::bessel_y0))
        .strides(ResultStrides::Elements),
    op("aten::special_bessel_y1", "-", |_, args| coarse(&args, "bessel_y1", special::bessel_y1))
        .strides(ResultStrides::Elements),
    op("aten::special_modified_bessel_i0", "-", |_, args| {
        let input = not_half(&args, "modified_bessel_i0")?;
        made(of_tensors::modified_bessel_i0("modified_bessel_i0", input, true))
    })
    .strides(ResultStrides::Elements),
    op("aten::special_modified_bessel_i1", "-", |_, args| {
        let input = not_half(&args, "modified_bessel_i1")?;
        made(of_tensors::modified_bessel_i1("modified_bessel_i1", input, true))
    })
    .strides(ResultStrides::Elements),
    op("aten::special_modified_bessel_k0", "-", |_, args| {
        single(&args, "modified_bessel_k0", special::modified_bessel_k0)
    })
    .strides(ResultStrides::Elements),
    op("aten::special_modified_bessel_k1", "-", |_, args| {
        single(&args, "modified_bessel_k1", special::modified_bessel_k1)
    })
    .strides(ResultStrides::Elements),
    op("aten::special_scaled_modified_bessel_k0", "-", |_, args| {
        single(&args, "scaled_modified_bessel_k0", special::scaled_modified_bessel_k0)
    })
    .strides(ResultStrides::Elements),
    op("aten::special_scaled_modified_bessel_k1", "-", |_, args| {
        single(&args, "scaled_modified_bessel_k1", special::scaled_modified_bessel_k1)
    })
    .strides(ResultStrides::Elements),
    op("aten::special_spherical_bessel_j0", "-", |_, args| {
        single(&args, "spherical_bessel_j0", special::spherical_bessel_j0)
    })
    .strides(ResultStrides::Elements),
    op("aten::polygamma", "-", |_, args| {
        Ok(IValue::Tensor(polygamma(args.int(0)?, args.tensor(1)?)?))
    })
    .strides(ResultStrides::Elements),
    op("aten::polygamma_", "-", |_, mut args| {
        let result = polygamma(args.int(1)?, args.tensor(0)?)?;
        kernels::store(args.tensor(0)?, &result).map_err(kernel)?;
        Ok(args.take(0))
    }),
    op("aten::mvlgamma", "-", |_, args| {
        let p = args.int(1)?;
        if p < 1 {
            return Err(Raise::message("p has to be greater than or equal to 1"));
        }
        if p > 10_000 {
            return Err(Raise::unsupported("aten::mvlgamma of an order above 10000"));
        }
        made(kernels::map_float("mvlgamma", args.tensor(0)?, |x| special::multigammaln(x, p)))
    })
    .strides(ResultStrides::RowMajor),
    op("aten::igamma", "-", |_, args| {
        made(kernels::zip_floating("igamma_cpu", args.tensor(0)?, args.tensor(1)?, special::igamma))
    })
    .strides(ResultStrides::Numbers),
    op("aten::igammac", "-", |_, args| {
        let (a, x) = (args.tensor(0)?, args.tensor(1)?);
        made(kernels::zip_floating("igammac_cpu", a, x, special::igammac))
    })
    .strides(ResultStrides::Numbers),
    op("aten::xlogy", "Tensor Scalar_Other Scalar_Self", |_, args| {
        made(of_tensors::xlogy(args.operand(0)?, args.operand(1)?))
    })
    .strides(ResultStrides::Numbers),
    op("aten::special_xlog1py", "- other_scalar self_scalar", |_, args| {
        made(of_tensors::xlog1py(args.operand(0)?, args.operand(1)?))
    })
    .strides(ResultStrides::Numbers),
    op("aten::special_zeta", "- other_scalar self_scalar", |_, args| {
        let operands = [args.operand(0)?, args.operand(1)?];
        let dtype = kernels::result_type(&operands).map_err(kernel)?;
        refuse_half("zeta_cpu", dtype)?;
        zip(&args, "zeta_cpu", special::zeta)
    })
    .strides(ResultStrides::Numbers),
    op("aten::logaddexp", "-", |_, args| {
        let (a, b) = (args.tensor(0)?, args.tensor(1)?);
        if a.dtype().is_complex() || b.dtype().is_complex() {
            return made(kernels::complex_logaddexp(a, b));
        }
        made(of_tensors::logaddexp(a, b))
    })
    .strides(ResultStrides::Numbers),
    op("aten::logaddexp2", "-", |_, args| {
        made(of_tensors::logaddexp2(args.tensor(0)?, args.tensor(1)?))
    })
    .strides(ResultStrides::Numbers),
    op("aten::special_chebyshev_polynomial_t", "- x_scalar n_scalar", |_, args| {
        polynomial(&args, Polynomial::ChebyshevT)
    })
    .strides(ResultStrides::Numbers),
    op("aten::special_chebyshev_polynomial_u", "- x_scalar n_scalar", |_, args| {
        polynomial(&args, Polynomial::ChebyshevU)
    })
    .strides(ResultStrides::Numbers),
    op("aten::special_chebyshev_polynomial_v", "- x_scalar n_scalar", |_, args| {
        polynomial(&args, Polynomial::ChebyshevV)
    })
    .strides(ResultStrides::Numbers),
    op("aten::special_chebyshev_polynomial_w", "- x_scalar n_scalar", |_, args| {
        polynomial(&args, Polynomial::ChebyshevW)
    })
    .strides(ResultStrides::Numbers),
    op("aten::special_shifted_chebyshev_polynomial_t", "- x_scalar n_scalar", |_, args| {
        polynomial(&args, Polynomial::ShiftedChebyshevT)
    })
    .strides(ResultStrides::Numbers),
    op("aten::special_shifted_chebyshev_polynomial_u", "- x_scalar n_scalar", |_, args| {
        polynomial(&args, Polynomial::ShiftedChebyshevU)
    })
    .strides(ResultStrides::Numbers),
    op("aten::special_shifted_chebyshev_polynomial_v", "- x_scalar n_scalar", |_, args| {
        polynomial(&args, Polynomial::ShiftedChebyshevV)
    })
    .strides(ResultStrides::Numbers),
    op("aten::special_shifted_chebyshev_polynomial_w", "- x_scalar n_scalar", |_, args| {
        polynomial(&args, Polynomial::ShiftedChebyshevW)
    })
    .strides(ResultStrides::Numbers),
    op("aten::special_hermite_polynomial_h", "- x_scalar n_scalar", |_, args| {
        polynomial(&args, Polynomial::HermiteH)
    })
    .strides(ResultStrides::Numbers),
    op("aten::special_hermite_polynomial_he", "- x_scalar n_scalar", |_, args| {
        polynomial(&args, Polynomial::HermiteHe)
    })
    .strides(ResultStrides::Numbers),
    op("aten::special_laguerre_polynomial_l", "- x_scalar n_scalar", |_, args| {
        polynomial(&args, Polynomial::LaguerreL)
    })
    .strides(ResultStrides::Numbers),
    op("aten::special_legendre_polynomial_p", "- x_scalar n_scalar", |_, args| {
        polynomial(&args, Polynomial::LegendreP)
    })
    .strides(ResultStrides::Numbers),
];

fn polygamma(order: i64, input: &Tensor) -> Result<Tensor> {
    if order < 0 {
        return Err(Raise::message("polygamma(n, x) does not support negative n."));
    }
    let precision = Precision::of(input.dtype());
    let function = |x| special::polygamma(order, x, precision);
    kernels::map_float("polygamma", input, function).map_err(kernel)
}

fn map(args: &Args<'_>, kernel: &str, function: impl Fn(f64) -> f64 + Copy + Sync) -> Result {
    made(kernels::map_float(kernel, args.tensor(0)?, function))
}

/// A function that PyTorch has no half-precision kernel for.
fn single(args: &Args<'_>, kernel: &str, function: fn(f64) -> f64) -> Result {
    not_half(args, kernel)?;
    map(args, kernel, function)
}

/// The first argument, where it is not of half precision.
fn not_half<'a>(args: &'a Args<'_>, kernel: &str) -> Result<&'a Tensor> {
    let input = args.tensor(0)?;
    refuse_half(kernel, input.dtype())?;
    Ok(input)
}

fn refuse_half(kernel: &str, dtype: DType) -> Result<()> {
    match dtype {
        DType::Float16 | DType::BFloat16 => {
            let name = dtype.scalar_type_name();
            Err(Raise::unsupported(format!("\"{kernel}\" not implemented for '{name}'")))
        }
        _ => Ok(()),
    }
}

/// A function that PyTorch itself knows to eight digits only, whatever the dtype: not in `float64`,
/// where the difference would show.
fn coarse(args: &Args<'_>, kernel: &str, function: fn(f64) -> f64) -> Result {
    match args.tensor(0)?.dtype() {
        DType::Float64 => Err(Raise::unsupported(format!("aten::special_{kernel} of float64"))),
        _ => single(args, kernel, function),
    }
}

fn zip(args: &Args<'_>, kernel: &str, function: impl Fn(f64, f64) -> f64 + Copy + Sync) -> Result {
    made(kernels::zip_float(kernel, args.operand(0)?, args.operand(1)?, function))
}

fn polynomial(args: &Args<'_>, family: Polynomial) -> Result {
    made(kernels::polynomial(family, args.operand(0)?, args.operand(1)?))
}
