//! Tensors made from numbers, or like other tensors.

use sconce_kernels as kernels;
use sconce_kernels::{DType, MemoryFormat, Scalar, Tensor};

use crate::error::{Raise, kernel};
use crate::op_context::OpContext;
use crate::ops::Args;
use crate::ops::descriptor::{Table, op};
use crate::ops::tensor::operands::made;
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

pub(crate) const TABLE: Table = &[
    op("aten::empty", "memory_format", |context, args| {
        let (sizes, dtype) = (args.ints(0)?, options(&args, 1, DType::Float32)?);
        context.budget().check_sizes(&sizes)?;
        let format = args.memory_format(5)?.unwrap_or(MemoryFormat::Contiguous);
        made(Tensor::zeros_in(&sizes, dtype, format))
    }),
    op("aten::empty_strided", "-", |context, args| {
        strided(context, &args, &args.ints(0)?, &args.ints(1)?, 2, DType::Float32)
    }),
    op("aten::empty_permuted", "-", |context, args| {
        let (sizes, order) = (args.ints(0)?, args.ints(1)?);
        let strides = permuted_strides(&sizes, &order)?;
        strided(context, &args, &sizes, &strides, 2, DType::Float32)
    }),
    op("aten::new_empty", "-", |context, args| {
        let (sizes, dtype) = (args.ints(1)?, args.tensor(0)?.dtype());
        filled(context, &args, &sizes, Scalar::Int(0), 2, dtype)
    }),
    op("aten::new_empty_strided", "-", |context, args| {
        let dtype = args.tensor(0)?.dtype();
        strided(context, &args, &args.ints(1)?, &args.ints(2)?, 3, dtype)
    }),
    op("aten::new_ones", "-", |context, args| {
        let (sizes, dtype) = (args.ints(1)?, args.tensor(0)?.dtype());
        filled(context, &args, &sizes, Scalar::Int(1), 2, dtype)
    }),
    op("aten::new_full", "-", |context, args| {
        let (sizes, dtype) = (args.ints(1)?, args.tensor(0)?.dtype());
        filled(context, &args, &sizes, args.scalar(2)?, 3, dtype)
    }),
    op("aten::full_like", "-", |context, args| like(context, &args, args.scalar(1)?, 2)),
    op("aten::empty_like", "-", |context, args| like(context, &args, Scalar::Int(0), 1)),
    op("aten::zeros_like", "-", |context, args| like(context, &args, Scalar::Int(0), 1)),
    op("aten::ones_like", "-", |context, args| like(context, &args, Scalar::Int(1), 1)),
    op("aten::scalar_tensor", "-", |context, args| {
        filled(context, &args, &[], args.scalar(0)?, 1, DType::Float32)
    }),
    op("aten::arange", "start_step", |context, args| {
        args.plain_options(4, 5)?;
        let (start, end, step) = (args.scalar(0)?, args.scalar(1)?, args.scalar(2)?);
        // That a step is nothing is said before anything is counted.
        if step.to_f64() != 0.0 {
            let count = (end.to_f64() - start.to_f64()) / step.to_f64();
            context.budget().check_sizes(&[count.max(0.0) as i64])?;
        }
        made(kernels::arange(start, end, step, args.dtype(3)?))
    }),
    op("aten::linspace", "- Tensor_Tensor Tensor_Scalar Scalar_Tensor", |context, args| {
        let dtype = options(&args, 3, DType::Float32)?;
        let steps = args.int(2)?;
        context.budget().check_sizes(&[steps.max(0)])?;
        made(kernels::linspace(
            bound(&args, "linspace", 0)?,
            bound(&args, "linspace", 1)?,
            steps,
            dtype,
        ))
    }),
    op("aten::logspace", "- Tensor_Tensor Tensor_Scalar Scalar_Tensor", |context, args| {
        let dtype = options(&args, 4, DType::Float32)?;
        let steps = args.int(2)?;
        context.budget().check_sizes(&[steps.max(0)])?;
        let (start, end) = (bound(&args, "logspace", 0)?, bound(&args, "logspace", 1)?);
        made(kernels::logspace(start, end, steps, args.real(3)?, dtype))
    }),
    op("aten::eye", "-", |context, args| {
        let n = args.int(0)?;
        eye(context, &args, n, n, 1)
    }),
    op("aten::eye", "m", |context, args| eye(context, &args, args.int(0)?, args.int(1)?, 2)),
    op("aten::tril_indices", "-", |context, args| triangle(context, &args, true)),
    op("aten::triu_indices", "-", |context, args| triangle(context, &args, false)),
    op("aten::_dim_arange", "-", |_, args| {
        let size = args.tensor(0)?.size(args.int(1)?).map_err(kernel)?;
        made(kernels::arange(Scalar::Int(0), Scalar::Int(size), Scalar::Int(1), None))
    }),
    op("aten::_list_to_tensor", "-", |_, args| {
        let numbers: Vec<i32> = args.ints(0)?.into_iter().map(|number| number as i32).collect();
        made(Tensor::from_slice(&numbers, &[numbers.len() as i64]))
    }),
    op("aten::range", "-", |context, args| range(context, &args, None, 2)),
    op("aten::range", "step", |context, args| range(context, &args, Some(2), 3)),
];

/// The dtype operand, and the layout and device after it, as they must be.
fn options(args: &Args<'_>, dtype: usize, default: DType) -> Result<DType> {
    args.plain_options(dtype + 1, dtype + 2)?;
    Ok(args.dtype(dtype)?.unwrap_or(default))
}

fn filled(
    context: &dyn OpContext,
    args: &Args<'_>,
    sizes: &[i64],
    value: Scalar,
    dtype: usize,
    default: DType,
) -> Result {
    let dtype = options(args, dtype, default)?;
    context.budget().check_sizes(sizes)?;
    made(Tensor::full(sizes, value, dtype))
}

/// A tensor of the sizes of the first operand; from `dtype` on, the operands say what it is.
fn like(context: &dyn OpContext, args: &Args<'_>, value: Scalar, dtype: usize) -> Result {
    let tensor = args.tensor(0)?;
    let format = args.memory_format(dtype + 4)?.unwrap_or(MemoryFormat::Preserve);
    let dtype = options(args, dtype, tensor.dtype())?;
    context.budget().check_sizes(tensor.sizes())?;
    let made = tensor.zeros_like(dtype, format).map_err(kernel)?;
    made.fill(value).map_err(kernel)?;
    Ok(IValue::Tensor(made))
}

/// The strides of dimensions that lie in memory in another order.
fn permuted_strides(sizes: &[i64], order: &[i64]) -> Result<Vec<i64>> {
    if order.len() != sizes.len() {
        return Err(Raise::message(format!(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. \
             len(size) = {} is not equal to len(physical_layout) = {}",
            sizes.len(),
            order.len()
        )));
    }
    for (at, &dim) in order.iter().enumerate() {
        if !(0..sizes.len() as i64).contains(&dim) {
            return Err(Raise::message(format!(
                "Dimension out of range (expected to be between 0 and {}, but got {dim} at index \
                 {at}).  NB: negative dims not currently supported; file an issue if you want it.",
                sizes.len() - 1
            )));
        }
        if order[..at].contains(&dim) {
            return Err(Raise::message("Duplicate dim not allowed"));
        }
    }
    let (mut strides, mut step) = (vec![0; sizes.len()], 1i64);
    for &dim in order.iter().rev() {
        strides[dim as usize] = step;
        step = step.saturating_mul(sizes[dim as usize].max(1));
    }
    Ok(strides)
}

/// Memory for these sizes and strides.
fn strided(
    context: &dyn OpContext,
    args: &Args<'_>,
    sizes: &[i64],
    strides: &[i64],
    dtype: usize,
    default: DType,
) -> Result {
    let dtype = options(args, dtype, default)?;
    if sizes.len() != strides.len() {
        return Err(Raise::message(format!(
            "dimensionality of sizes ({}) must match dimensionality of strides ({})",
            sizes.len(),
            strides.len()
        )));
    }
    let mut pairs = sizes.iter().zip(strides);
    let reach = pairs.try_fold(1i64, |reach, (&size, &stride)| {
        let length = (size.max(1) - 1).checked_mul(stride)?;
        reach.checked_add(length).filter(|&reach| reach > 0)
    });
    let count = if sizes.iter().any(|&size| size <= 0) { Some(0) } else { reach };
    let Some(count) = count else {
        return Err(Raise::message(format!(
            "Storage size calculation overflowed with sizes={sizes:?} and strides={strides:?}"
        )));
    };
    context.budget().check_sizes(&[count])?;
    made(Tensor::zeros(&[count], dtype).and_then(|all| all.as_strided(sizes, strides, Some(0))))
}

fn eye(context: &dyn OpContext, args: &Args<'_>, rows: i64, columns: i64, dtype: usize) -> Result {
    let dtype = options(args, dtype, DType::Float32)?;
    if rows < 0 || columns < 0 {
        let (name, value) = if rows < 0 { ("n", rows) } else { ("m", columns) };
        return Err(Raise::message(format!("{name} must be greater or equal to 0, got {value}")));
    }
    context.budget().check_sizes(&[rows, columns])?;
    made(kernels::eye(rows, columns, dtype))
}

fn triangle(context: &dyn OpContext, args: &Args<'_>, lower: bool) -> Result {
    let dtype = options(args, 3, DType::Int64)?;
    let (rows, columns) = (args.int(0)?, args.int(1)?);
    context.budget().check_sizes(&[2, rows.max(0), columns.max(0)])?;
    made(kernels::triangle_indices(lower, rows, columns, args.int(2)?, dtype))
}

/// An end of a range: a number, or a tensor of one.
fn bound(args: &Args<'_>, name: &str, index: usize) -> Result<Scalar> {
    let end = match args.get(index) {
        IValue::Tensor(tensor) if tensor.dim() == 0 => tensor.item().map_err(kernel)?,
        IValue::Tensor(tensor) => {
            return Err(Raise::message(format!(
                "{name} only supports 0-dimensional start and end tensors, but got start or end \
                 with {} dimension(s).",
                tensor.dim()
            )));
        }
        _ => args.scalar(index)?,
    };
    match end {
        Scalar::Complex(_) => Err(Raise::unsupported("a range between complex numbers")),
        end => Ok(end),
    }
}

/// `torch.range`, which holds its end.
fn range(
    context: &mut dyn OpContext,
    args: &Args<'_>,
    step: Option<usize>,
    dtype: usize,
) -> Result {
    args.plain_options(dtype + 1, dtype + 2)?;
    let (start, end) = (args.real(0)?, args.real(1)?);
    let step = step.map_or(Ok(1.0), |index| args.real(index))?;
    if step == 0.0 {
        return Err(Raise::message("step must be nonzero"));
    }
    if (step > 0.0 && start > end) || (step < 0.0 && start < end) {
        return Err(Raise::message("upper bound and lower bound inconsistent with step sign"));
    }
    let count = ((end - start) / step).floor() + 1.0;
    context.budget().check_sizes(&[count as i64])?;
    let numbers: Vec<f64> = (0..count as i64).map(|at| start + step * at as f64).collect();
    let dtype = args.dtype(dtype)?.unwrap_or(DType::Float32);
    made(Tensor::from_slice(&numbers, &[numbers.len() as i64]).and_then(|all| all.to_dtype(dtype)))
}
