//! How the results of operators lie in memory: the strides that PyTorch's results have, which follow
//! from those of the operands. Where all operands are row-major nothing is asked but that.

use sconce_kernels::{Dims, Iteration, MemoryFormat, Operand, Scalar, Tensor, contiguous_strides};
use smallvec::SmallVec;

use super::Args;
use super::tensor_args::kernel;
use crate::error::Raise;
use crate::value::IValue;

type Result<T> = std::result::Result<T, Raise>;

/// What the strides of an operator's results follow from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// All tensors, as PyTorch goes through them together.
    Elements,
    /// As [`Layout::Elements`], where numbers among the first operands are tensors without dimensions.
    Numbers,
    /// As [`Layout::Numbers`], the second operand first.
    Reversed,
    /// As [`Layout::Numbers`], where the first operand is a condition.
    Choice,
    /// The first tensor: a copy that keeps its order.
    Copy,
    /// As [`Layout::Elements`] where nothing is reduced: the operand of this place says.
    Unreduced(usize),
    /// As [`Layout::Copy`] where nothing is reduced.
    UnreducedCopy(usize),
    /// Row-major, whatever the operands are.
    RowMajor,
    /// Row-major matrices on their side.
    Columns,
}

/// Symbols, overloads where not all of them, and their layout. Several lines may be of one symbol.
const LAYOUTS: &[(Layout, &str)] = &[
    (
        Layout::Numbers,
        "add sub mul div floor_divide remainder fmod atan2 maximum minimum max.other min.other fmax \
         fmin eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor __and__ __or__ __xor__ \
         __lshift__ __rshift__ bitwise_left_shift bitwise_right_shift logical_and logical_or \
         logical_xor copysign hypot nextafter heaviside gcd lcm logaddexp logaddexp2 xlogy \
         special_xlog1py special_zeta igamma igammac complex polar special_chebyshev_polynomial_t \
         special_chebyshev_polynomial_u special_chebyshev_polynomial_v \
         special_chebyshev_polynomial_w special_hermite_polynomial_h special_hermite_polynomial_he \
         special_laguerre_polynomial_l special_legendre_polynomial_p \
         special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u \
         special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w isclose",
    ),
    (Layout::Choice, "where.self where.ScalarOther where.ScalarSelf where.Scalar"),
    (Layout::Reversed, "rsub"),
    (
        Layout::Elements,
        "neg abs sign sgn square exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sin cos \
         tan asin acos atan sinh cosh tanh asinh acosh atanh sigmoid erf erfc erfinv gelu silu mish \
         hardsigmoid hardswish frac floor ceil round trunc logical_not bitwise_not isnan isinf \
         isfinite isposinf isneginf signbit logit special_entr i0 special_i0e special_i1 \
         special_i1e special_ndtri special_log_ndtr special_ndtr special_erfcx special_airy_ai \
         special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 \
         special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0 \
         special_modified_bessel_k1 special_scaled_modified_bessel_k0 \
         special_scaled_modified_bessel_k1 special_spherical_bessel_j0 digamma lgamma polygamma \
         sinc angle relu celu selu elu softplus hardshrink softshrink leaky_relu threshold clamp \
         clamp_min clamp_max pow.Tensor_Tensor pow.Tensor_Scalar float_power.Tensor_Tensor \
         float_power.Tensor_Scalar lerp addcmul addcdiv _prelu_kernel",
    ),
    (
        Layout::Copy,
        "deg2rad rad2deg nan_to_num frexp hardtanh relu6 fill zero flip fliplr flipud sort msort \
         fake_quantize_per_tensor_affine conj conj_physical _conj_physical chalf argsort \
         native_dropout native_dropout_backward type_as",
    ),
    (Layout::Unreduced(2), "mse_loss smooth_l1_loss l1_loss soft_margin_loss"),
    (Layout::UnreducedCopy(2), "huber_loss"),
    (Layout::UnreducedCopy(3), "binary_cross_entropy"),
    (
        Layout::RowMajor,
        "pow.Scalar float_power.Scalar log_sigmoid mvlgamma rrelu masked_fill masked_scatter isin \
         bernoulli renorm softmax log_softmax layer_norm cumsum cumprod logcumsumexp",
    ),
    (
        Layout::Columns,
        "linalg_cholesky linalg_cholesky_ex cholesky_inverse cholesky_solve geqrf \
         linalg_householder_product linalg_inv linalg_inv_ex inverse linalg_ldl_factor \
         linalg_ldl_factor_ex linalg_ldl_solve linalg_lu_factor linalg_lu_factor_ex \
         _lu_with_info linalg_lu_solve lu_solve linalg_solve linalg_solve_ex _linalg_solve_ex \
         linalg_solve_triangular triangular_solve ormqr",
    ),
];

/// How results lie in memory, of one call.
pub(super) enum Strides {
    Iterated(Iteration),
    Given(Dims),
    RowMajor,
    Columns,
}

impl Layout {
    /// The layout of an operator's results, if there is more to it than what its kernel does.
    pub(super) fn find(symbol: &str, overload: &str) -> Option<Layout> {
        let name = symbol.strip_prefix("aten::")?;
        let is_it = |line: &str| match line.split_once('.') {
            Some((plain, of)) => plain == name && of == overload,
            None => line == name,
        };
        let found = LAYOUTS.iter().find(|(_, names)| names.split(' ').any(is_it));
        found.map(|&(layout, _)| layout)
    }

    /// What the operands say of the results' strides; `None` where all are row-major.
    pub(super) fn strides(self, args: &Args<'_>) -> Option<Strides> {
        let tensors = || args.0.iter().filter_map(as_tensor);
        if self != Layout::Columns && tensors().all(Tensor::is_row_major) {
            return None;
        }
        let operands = |numbers: usize| -> SmallVec<[Operand<'_>; 4]> {
            let operand = |(place, arg)| match as_number(arg).filter(|_| place < numbers) {
                Some(number) => Some(Operand::Scalar(number)),
                None => as_tensor(arg).map(Operand::Tensor),
            };
            args.0.iter().enumerate().filter_map(operand).collect()
        };
        let iterated = |iteration: Option<Iteration>| iteration.map(Strides::Iterated);
        let copied = || tensors().next().map(|first| Strides::Given(first.preserved_strides()));
        let is_whole = |place| matches!(args.get(place), IValue::Int(0));
        match self {
            Layout::Elements => iterated(Iteration::over(&operands(0))),
            Layout::Numbers => iterated(Iteration::over(&operands(2))),
            Layout::Reversed => {
                let mut operands = operands(2);
                operands.reverse();
                iterated(Iteration::over(&operands))
            }
            Layout::Choice => iterated(Iteration::choosing(&operands(3))),
            Layout::Copy => copied(),
            Layout::Unreduced(place) if is_whole(place) => {
                iterated(Iteration::over(&operands(0)))
            }
            Layout::UnreducedCopy(place) if is_whole(place) => copied(),
            Layout::Unreduced(_) | Layout::UnreducedCopy(_) => None,
            Layout::RowMajor => Some(Strides::RowMajor),
            Layout::Columns => Some(Strides::Columns),
        }
    }
}

fn as_tensor(arg: &IValue) -> Option<&Tensor> {
    match arg {
        IValue::Tensor(tensor) if !tensor.dtype().is_quantized() => Some(tensor),
        _ => None,
    }
}

fn as_number(arg: &IValue) -> Option<Scalar> {
    match *arg {
        IValue::Bool(value) => Some(Scalar::Bool(value)),
        IValue::Int(value) => Some(Scalar::Int(value)),
        IValue::Float(value) => Some(Scalar::Float(value)),
        IValue::Complex(re, im) => Some(Scalar::Complex(num_complex::Complex::new(re, im))),
        _ => None,
    }
}

impl Strides {
    /// A result with the strides that it takes, or a tuple of such results.
    pub(super) fn lay_out(&self, result: IValue) -> Result<IValue> {
        match result {
            IValue::Tensor(tensor) => self.tensor(tensor).map(IValue::Tensor),
            IValue::Tuple(tuple) => {
                let items = tuple.items.iter().map(|item| self.lay_out(item.clone()));
                Ok(IValue::tuple(items.collect::<Result<_>>()?))
            }
            other => Ok(other),
        }
    }

    fn tensor(&self, tensor: Tensor) -> Result<Tensor> {
        if tensor.dtype().is_quantized() {
            return Ok(tensor);
        }
        let strides = match self {
            Strides::Iterated(iteration) => return iteration.lay_out(tensor).map_err(kernel),
            Strides::Given(strides) if strides.len() == tensor.dim() => strides.clone(),
            Strides::Given(_) => return Ok(tensor),
            Strides::RowMajor => contiguous_strides(tensor.sizes()),
            Strides::Columns if tensor.dim() < 2 => return Ok(tensor),
            Strides::Columns => columns(tensor.sizes()),
        };
        tensor.with_strides(&strides).map_err(kernel)
    }
}

/// The strides of matrices that lie column by column.
fn columns(sizes: &[i64]) -> Dims {
    let mut turned = Dims::from_slice(sizes);
    let last = turned.len().saturating_sub(1);
    turned.swap(last, last.saturating_sub(1));
    let mut strides = contiguous_strides(&turned);
    strides.swap(last, last.saturating_sub(1));
    strides
}
