//! Type promotion: the common dtype of several tensors or numbers (`torch.result_type`).

use sconce_tensor::Float8;

use crate::{DType, Error, Result, Scalar, Tensor};

/// An operand: a tensor, or a number, which does not raise the dtype of tensors of its kind.
#[derive(Clone, Copy)]
pub enum Operand<'a> {
    /// A tensor; one without dimensions gives way to others in promotion.
    Tensor(&'a Tensor),
    /// A number.
    Scalar(Scalar),
}

impl<'a> From<&'a Tensor> for Operand<'a> {
    fn from(tensor: &'a Tensor) -> Operand<'a> {
        Operand::Tensor(tensor)
    }
}

impl<S: Into<Scalar>> From<S> for Operand<'_> {
    fn from(scalar: S) -> Self {
        Operand::Scalar(scalar.into())
    }
}

impl Operand<'_> {
    /// The dtype it has on its own.
    #[inline]
    pub fn dtype(self) -> DType {
        match self {
            Operand::Tensor(tensor) => tensor.dtype(),
            Operand::Scalar(scalar) => scalar.dtype(),
        }
    }

    /// Its sizes; none for a number.
    #[inline]
    pub fn sizes(&self) -> &[i64] {
        match self {
            Operand::Tensor(tensor) => tensor.sizes(),
            Operand::Scalar(_) => &[],
        }
    }

    /// As a tensor of `dtype`, sharing memory where it is one already.
    ///
    /// # Errors
    /// Where memory is short or the dtype has no kernels.
    pub fn to_dtype(self, dtype: DType) -> Result<Tensor> {
        match self {
            Operand::Tensor(tensor) => tensor.to_dtype(dtype),
            Operand::Scalar(scalar) => Tensor::scalar(scalar, dtype),
        }
    }
}

/// The smallest dtype that holds both, `torch.promote_types`.
///
/// # Errors
/// For pairs that PyTorch refuses, such as `uint32` with a signed type.
pub fn promote_types(a: DType, b: DType) -> Result<DType> {
    use DType::*;
    if a == b {
        return Ok(a);
    }
    let is_small = Float8::of(a).or(Float8::of(b)).is_some();
    let refuse = || {
        let (a, b) = (a.scalar_type_name(), b.scalar_type_name());
        if is_small {
            return Error::runtime(format!(
                "Promotion for Float8 Types is not supported, attempted to promote {a} and {b}"
            ));
        }
        Error::runtime(format!("Promotion for {a} and {b} is not supported"))
    };
    if is_small {
        return Err(refuse());
    }
    let (rank_a, rank_b) = (category(a).ok_or_else(refuse)?, category(b).ok_or_else(refuse)?);
    let (low, high) = if rank_a <= rank_b { (a, b) } else { (b, a) };
    match rank_a.min(rank_b) {
        same if rank_a == rank_b => match same {
            Category::Bool => Ok(Bool),
            Category::Int => promote_integers(a, b).ok_or_else(refuse),
            Category::Float => Ok(promote_floats(a, b)),
            Category::Complex => Ok(to_complex(promote_floats(a.to_real(), b.to_real()))),
        },
        Category::Float => Ok(to_complex(promote_floats(low, high.to_real()))),
        _ => Ok(high),
    }
}

fn promote_integers(a: DType, b: DType) -> Option<DType> {
    use DType::*;
    if a.is_signed() == b.is_signed() {
        return Some(if a.item_size() > b.item_size() { a } else { b });
    }
    let (unsigned, signed) = if a.is_signed() { (b, a) } else { (a, b) };
    match (unsigned, signed) {
        (UInt8, Int8) => Some(Int16),
        (UInt8, _) => Some(signed),
        _ => None,
    }
}

fn promote_floats(a: DType, b: DType) -> DType {
    match (a, b) {
        _ if a == b => a,
        _ if a.item_size() == b.item_size() => DType::Float32,
        _ if a.item_size() > b.item_size() => a,
        _ => b,
    }
}

/// The complex dtype whose parts have this dtype.
pub fn to_complex(real: DType) -> DType {
    match real {
        DType::Float16 => DType::ComplexHalf,
        DType::BFloat16 => DType::BComplex32,
        DType::Float64 => DType::Complex128,
        other if other.is_complex() => other,
        _ => DType::Complex64,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Category {
    Bool,
    Int,
    Float,
    Complex,
}

fn category(dtype: DType) -> Option<Category> {
    match dtype {
        DType::Bool => Some(Category::Bool),
        DType::Float16 | DType::BFloat16 | DType::Float32 | DType::Float64 => Some(Category::Float),
        DType::ComplexHalf | DType::BComplex32 | DType::Complex64 | DType::Complex128 => {
            Some(Category::Complex)
        }
        _ if dtype.is_integral() => Some(Category::Int),
        _ if Float8::of(dtype).is_some() => Some(Category::Float),
        _ => None,
    }
}

/// The dtype that these operands meet in: tensors with dimensions decide before tensors without,
/// and those before numbers, unless what gives way is of a higher kind (`bool`, integer, floating,
/// complex). `torch.result_type` for any number of operands.
///
/// # Errors
/// Those of [`promote_types`].
pub fn result_type(operands: &[Operand<'_>]) -> Result<DType> {
    let (mut with_dims, mut without, mut numbers) = (None, None, None);
    for operand in operands {
        let slot = match operand {
            Operand::Scalar(_) => &mut numbers,
            Operand::Tensor(tensor) if tensor.dim() == 0 => &mut without,
            Operand::Tensor(_) => &mut with_dims,
        };
        *slot = Some(match *slot {
            Some(dtype) => promote_types(dtype, operand.dtype())?,
            None => operand.dtype(),
        });
    }
    let result = combine(with_dims, combine(without, numbers)?)?;
    result.ok_or_else(|| Error::runtime("result_type of no operands"))
}

fn combine(strong: Option<DType>, weak: Option<DType>) -> Result<Option<DType>> {
    let (Some(high), Some(low)) = (strong, weak) else { return Ok(strong.or(weak)) };
    let promoted = match (category(high), category(low)) {
        (Some(Category::Complex), _) => high,
        (Some(Category::Float), Some(Category::Complex)) => to_complex(high),
        (Some(h), Some(l)) if h >= l => high,
        _ => promote_types(high, low)?,
    };
    Ok(Some(promoted))
}

/// Whether a result of dtype `from` may be stored in a tensor of dtype `to`: never to a lower kind
/// (`torch.can_cast`).
pub fn can_cast(from: DType, to: DType) -> bool {
    match (category(from), category(to)) {
        (Some(from), Some(to)) => from <= to,
        _ => from == to,
    }
}

/// Refuses to store a result of dtype `from` in a tensor of dtype `to`.
///
/// # Errors
/// Where [`can_cast`] does not hold.
pub fn check_cast(from: DType, to: DType) -> Result<()> {
    if can_cast(from, to) {
        return Ok(());
    }
    Err(Error::runtime(format!(
        "result type {} can't be cast to the desired output type {}",
        from.scalar_type_name(),
        to.scalar_type_name()
    )))
}

/// `float32` for integers and `bool`, as `torch.sin` and true division give it.
pub fn int_to_float(dtype: DType) -> DType {
    if dtype.is_integral() || dtype == DType::Bool { DType::Float32 } else { dtype }
}

/// The dtype that kernels compute in: half-precision types in `float32`, integers in `int64`.
/// Every result is the same as in the type itself, rounded or wrapped once.
pub fn compute_dtype(dtype: DType) -> DType {
    match dtype {
        DType::Float16 | DType::BFloat16 => DType::Float32,
        DType::ComplexHalf => DType::Complex64,
        other if other.is_integral() => DType::Int64,
        other => other,
    }
}

/// Whether it is one of the two types of half precision.
pub fn is_half(dtype: DType) -> bool {
    matches!(dtype, DType::Float16 | DType::BFloat16)
}
