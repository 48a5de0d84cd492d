//! Tensors of nested lists of numbers, and back.

use num_complex::Complex as Number;
use sconce_ir::Type;
use sconce_kernels::{DType, Scalar, Tensor};

use crate::error::{Error, Raise, kernel};
use crate::op_context::OpContext;
use crate::ops::Args;
use crate::ops::descriptor::{Table, op, size_guard};
use crate::ops::tensor::operands::made;
use crate::value::IValue::{self, Bool, Complex, Float, Int};

type Result<T = IValue> = std::result::Result<T, Raise>;

/// PyTorch's own bound on the dimensions of a tensor.
const MAX_DIMS: usize = 64;

pub(crate) const TABLE: Table = &[
    op("aten::tensor", "bool float int complex", |_, args| of_number(&args)),
    op("aten::as_tensor", "bool float int complex", |_, args| of_number(&args)),
    op("aten::tensor", "-", |context, args| match args.bool(3)? {
        false => of_list(context, &args),
        true => Err(Raise::unsupported("a tensor that needs gradients")),
    }),
    op("aten::as_tensor", "list", |context, args| of_list(context, &args)),
    op("aten::as_tensor", "-", |_, args| {
        args.on_cpu(2)?;
        let data = args.tensor(0)?;
        made(data.to_dtype(args.dtype(1)?.unwrap_or(data.dtype())))
    }),
];

/// The dtype of numbers when none is given.
fn default_dtype(number: &IValue) -> Option<DType> {
    Some(match number {
        Bool(_) => DType::Bool,
        Int(_) => DType::Int64,
        Float(_) => DType::Float32,
        Complex(..) => DType::Complex64,
        _ => return None,
    })
}

fn of_number(args: &Args<'_>) -> Result {
    args.on_cpu(2)?;
    let value = match args.get(0) {
        Complex(re, im) => Scalar::Complex(Number::new(*re, *im)),
        _ => args.scalar(0)?,
    };
    let dtype = args.dtype(1)?.unwrap_or(value.dtype());
    made(match value {
        Scalar::Float(value) if dtype == DType::Int64 => {
            // As x86 converts it.
            let fits = value.abs() < i64::MAX as f64;
            Tensor::scalar(Scalar::Int(if fits { value as i64 } else { i64::MIN }), dtype)
        }
        Scalar::Float(value) if dtype.is_integral() => {
            let fits = value.trunc().abs() <= f64::from(i32::MAX);
            let whole = if fits { value as i32 } else { i32::MIN };
            Tensor::scalar(i64::from(whole).into(), DType::Int32).and_then(|x| x.to_dtype(dtype))
        }
        _ => Tensor::scalar(value, dtype),
    })
}

fn of_list(context: &mut dyn OpContext, args: &Args<'_>) -> Result {
    args.on_cpu(2)?;
    let sizes = sizes_of(args.get(0))?;
    let count = sizes.iter().copied().fold(1, usize::saturating_mul);
    // The numbers in one row, and as numbers of the dtype.
    context.budget().check_items(count)?;
    context.budget().check_bytes(count.saturating_mul(size_of::<IValue>() + size_of::<f64>()))?;
    // The lists need not be as long as their first ones say.
    let mut numbers = Vec::new();
    collect(args.get(0), &sizes, 0, &mut numbers)?;
    let own = own_dtype(args.get(0))?;
    let sizes: Vec<i64> = sizes.iter().map(|&size| size as i64).collect();
    let tensor = match own {
        DType::Bool => Tensor::from_bools(
            &pick(&numbers, |number| match number {
                Bool(value) => Some(*value),
                _ => None,
            })?,
            &sizes,
        ),
        DType::Int64 => Tensor::from_slice(
            &pick(&numbers, |number| match number {
                Int(value) => Some(*value),
                _ => None,
            })?,
            &sizes,
        ),
        DType::Float32 => Tensor::from_slice(
            &pick(&numbers, |number| match number {
                Float(value) => Some(*value as f32),
                _ => None,
            })?,
            &sizes,
        ),
        _ => Tensor::from_slice(
            &pick(&numbers, |number| match number {
                Complex(re, im) => Some(Number::new(*re as f32, *im as f32)),
                _ => None,
            })?,
            &sizes,
        ),
    };
    match args.dtype(1)? {
        None => made(tensor),
        // What the default dtype would round is not rounded on the way.
        Some(DType::Float64) if own == DType::Float32 => {
            let wide = pick(&numbers, |number| match number {
                Float(value) => Some(*value),
                _ => None,
            })?;
            made(Tensor::from_slice(&wide, &sizes))
        }
        Some(dtype) => made(tensor.and_then(|tensor| tensor.to_dtype(dtype))),
    }
}

fn pick<T>(numbers: &[IValue], kind: impl Fn(&IValue) -> Option<T>) -> Result<Vec<T>> {
    let picked: Option<Vec<T>> = numbers.iter().map(kind).collect();
    picked.ok_or_else(|| Raise::unsupported("a tensor of numbers of several kinds"))
}

/// The dtype that the type of the innermost elements gives.
fn own_dtype(list: &IValue) -> Result<DType> {
    let IValue::List(list) = list else { return Err(no_numbers()) };
    let mut ty = list.read().element.clone();
    while let Type::List(element) = ty {
        ty = (*element).clone();
    }
    Ok(match ty {
        Type::Bool => DType::Bool,
        Type::Int => DType::Int64,
        Type::Float => DType::Float32,
        Type::Complex => DType::Complex64,
        Type::Union(_) => {
            return Err(Raise::message(format!(
                "Add new condition, expected Float, Complex, Int, or Bool but got{ty}"
            )));
        }
        ty => {
            return Err(Raise::message(format!(
                "Input must be of ints, floats, or bools, got {}",
                ty.annotation()
            )));
        }
    })
}

fn no_numbers() -> Raise {
    Raise::unsupported("aten::tensor of a list of what are no numbers")
}

/// The lengths of the first list of each depth.
fn sizes_of(list: &IValue) -> Result<Vec<usize>> {
    let mut sizes = Vec::new();
    let mut next = list.clone();
    while let IValue::List(list) = next {
        if sizes.len() == MAX_DIMS {
            return Err(Raise::unsupported("a tensor of over 64 dimensions"));
        }
        let list = list.read();
        sizes.push(list.items.len());
        next = list.items.first().cloned().unwrap_or(IValue::None);
    }
    Ok(sizes)
}

/// The numbers in order. No deeper than the sizes say, which are bounded.
fn collect(list: &IValue, sizes: &[usize], dim: usize, numbers: &mut Vec<IValue>) -> Result<()> {
    let (IValue::List(list), Some(&size)) = (list, sizes.get(dim)) else {
        return Err(no_numbers());
    };
    let list = list.read();
    if list.items.len() != size {
        return Err(Raise::message(format!(
            "Expected sequence of length {size} at dim {dim} (got {})",
            list.items.len()
        )));
    }
    for item in &list.items {
        match default_dtype(item) {
            Some(_) if dim + 1 == sizes.len() => numbers.push(item.clone()),
            _ => collect(item, sizes, dim + 1, numbers)?,
        }
    }
    Ok(())
}

/// `prim::tolist`: a tensor, how deep the lists are, and a number for the type of their elements.
pub(crate) fn to_list(args: &[IValue]) -> Result {
    let [IValue::Tensor(tensor), Int(dim), Int(kind)] = args else {
        return Err(Raise::Error(Error::Malformed("tolist of no tensor".to_owned())));
    };
    let (element, dtype) = match kind {
        0 => (Type::Int, DType::Int64),
        1 => (Type::Float, DType::Float32),
        2 => (Type::Bool, DType::Bool),
        3 => (Type::Complex, DType::Complex64),
        _ => return Err(Raise::unsupported("tolist to elements of this type")),
    };
    let found = tensor.dtype();
    let fits = match element {
        Type::Float => found.is_floating_point(),
        Type::Complex => found.is_complex(),
        _ => found == dtype,
    };
    if !fits {
        let wanted = if dtype == DType::Float32 { DType::Float64 } else { dtype };
        return Err(Raise::message(format!(
            "Output annotation element type and runtime tensor element type must match for \
             tolist(): {} vs {}",
            wanted.scalar_type_name(),
            found.scalar_type_name()
        )));
    }
    if *dim != tensor.dim() as i64 {
        return Err(Raise::message(
            "Output annotation list dimension and runtime tensor dimension must match for tolist()",
        ));
    }
    size_guard::check_items(tensor)?;
    nested(tensor, &element)
}

/// No deeper than a tensor has dimensions.
fn nested(tensor: &Tensor, element: &Type) -> Result {
    let Some(&size) = tensor.sizes().first() else {
        return Ok(match (tensor.item().map_err(kernel)?, element) {
            (item, Type::Float) => Float(item.to_f64()),
            (Scalar::Complex(item), Type::Complex) => Complex(item.re, item.im),
            (item, Type::Bool) => Bool(item.to_bool()),
            (item, _) => Int(item.to_i64()),
        });
    };
    let mut ty = element.clone();
    for _ in 1..tensor.dim() {
        ty = Type::list(ty);
    }
    let items: Result<Vec<IValue>> =
        (0..size).map(|index| nested(&tensor.select(0, index).map_err(kernel)?, element)).collect();
    Ok(IValue::list(ty, items?))
}
