//! Norms of matrices, and condition numbers.

use sconce_kernels::layout::wrap_dim;
use sconce_kernels::{
    BinaryOp, DType, Error, Result, Scalar, Tensor, UnaryOp, amax, amin, binary, check_norm_dtype,
    isnan, sum, unary, vector_norm, where_,
};

use crate::dense::{check_computed, check_matrices, check_square};
use crate::lu::inv_ex;
use crate::spectral::svdvals;

/// An order of a norm.
#[derive(Debug, Clone, PartialEq)]
pub enum Order {
    /// A number, infinities included.
    Number(f64),
    /// `fro` or `nuc`.
    Named(String),
}

/// `torch.linalg.matrix_norm` over two dimensions.
///
/// # Errors
/// For unknown orders, dimensions that do not exist or are one, and integers.
pub fn matrix_norm(
    input: &Tensor,
    order: &Order,
    dims: &[i64],
    keepdim: bool,
    dtype: Option<DType>,
) -> Result<Tensor> {
    let name = "linalg.matrix_norm";
    if input.dim() < 2 {
        return Err(Error::runtime(format!(
            "{name}: The input tensor A must have at least 2 dimensions."
        )));
    }
    let &[rows, cols] = dims else {
        return Err(Error::runtime(format!(
            "{name}: dim must be a 2-tuple. Got {}",
            dims.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        )));
    };
    let (rows, cols) = (wrap_dim(rows, input.dim())? as i64, wrap_dim(cols, input.dim())? as i64);
    if rows == cols {
        return Err(Error::runtime(format!(
            "{name}: dims must be different. Got ({}, {})",
            dims[0], dims[1]
        )));
    }
    check_norm_dtype(input, dtype, name)?;
    // Matrices last, and their dimensions back where they were if they are kept.
    let order_of_dims: Vec<i64> =
        (0..input.dim() as i64).filter(|&d| d != rows && d != cols).chain([rows, cols]).collect();
    let matrices = input.permute(&order_of_dims)?;
    let matrices = match dtype {
        Some(dtype) => matrices.to_dtype(dtype)?,
        None => matrices,
    };
    let result = match order {
        Order::Named(name) if name == "fro" => vector_norm(&matrices, 2.0, &[-2, -1], false, None)?,
        Order::Named(name) if name == "nuc" => sum(&svdvals(&matrices)?, &[-1], false, None)?,
        &Order::Number(number) if number.abs() == 2.0 => {
            let values = svdvals(&matrices)?;
            extreme(&values, number)?
        }
        &Order::Number(number) if number.abs() == 1.0 || number.is_infinite() => {
            let sizes = unary(UnaryOp::Abs, &matrices)?;
            let along = if number.abs() == 1.0 { -2 } else { -1 };
            let sums = sum(&sizes, &[along], false, None)?;
            extreme(&sums, number)?
        }
        Order::Number(number) => {
            return Err(Error::runtime(format!("{name}: Order {number} not supported.")));
        }
        Order::Named(order) => {
            return Err(Error::runtime(format!("{name}: Order {order} not supported.")));
        }
    };
    match keepdim {
        true => result.unsqueeze(rows.min(cols))?.unsqueeze(rows.max(cols)),
        false => Ok(result),
    }
}

/// The greatest of the last dimension for positive orders, 0 of none; the least for negative ones.
fn extreme(values: &Tensor, order: f64) -> Result<Tensor> {
    if order < 0.0 {
        return amin(values, &[-1], false);
    }
    if values.size(-1)? == 0 {
        return Tensor::zeros(&values.sizes()[..values.dim() - 1], values.dtype());
    }
    amax(values, &[-1], false)
}

/// `torch.linalg.norm`: of vectors or matrices by how many dimensions there are.
///
/// # Errors
/// As [`vector_norm`] and [`matrix_norm`].
pub fn linalg_norm(
    input: &Tensor,
    order: Option<&Order>,
    dims: Option<&[i64]>,
    keepdim: bool,
    dtype: Option<DType>,
) -> Result<Tensor> {
    if let Some(dims) = dims
        && !(1..=2).contains(&dims.len())
    {
        return Err(Error::runtime(format!(
            "linalg.norm: If dim is specified, it must be of length 1 or 2. Got {:?}",
            dims
        )));
    }
    let Some(order) = order else {
        return vector_norm(input, 2.0, dims.unwrap_or_default(), keepdim, dtype);
    };
    if dims.is_none() && !(1..=2).contains(&input.dim()) {
        return Err(Error::runtime(format!(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {}D.",
            input.dim()
        )));
    }
    let matrix = dims.map_or(input.dim(), <[i64]>::len) == 2;
    match order {
        Order::Number(number) if !matrix => {
            vector_norm(input, *number, dims.unwrap_or(&[0]), keepdim, dtype)
        }
        // A name is of a matrix norm, whatever the input.
        order => matrix_norm(
            input,
            order,
            dims.unwrap_or(if matrix { &[0, 1] } else { &[0] }),
            keepdim,
            dtype,
        ),
    }
}

/// Refuses orders that no matrix has a norm of.
fn check_norm(order: Option<&Order>) -> Result<()> {
    let name = match order {
        Some(Order::Number(number)) if ![1.0, 2.0, f64::INFINITY].contains(&number.abs()) => {
            number.to_string()
        }
        Some(Order::Named(name)) if name != "fro" && name != "nuc" => name.clone(),
        _ => return Ok(()),
    };
    Err(Error::runtime(format!("linalg.cond got an invalid norm type: {name}")))
}

/// `torch.linalg.cond`: of order 2 where none is given; infinite for singular matrices.
///
/// # Errors
/// As [`matrix_norm`].
pub fn cond(a: &Tensor, order: Option<&Order>) -> Result<Tensor> {
    check_computed(a, "linalg.cond")?;
    check_matrices(a, "linalg.cond", "A")?;
    check_norm(order)?;
    if a.numel() == 0 {
        return Tensor::zeros(&a.sizes()[..a.dim() - 2], sconce_kernels::real_dtype(a.dtype()));
    }
    let two = match order {
        None => Some(2.0),
        Some(&Order::Number(number)) if number.abs() == 2.0 => Some(number),
        _ => None,
    };
    if let Some(number) = two {
        let values = svdvals(a)?;
        let (greatest, least) =
            (values.slice(-1, None, Some(1), 1)?, values.slice(-1, Some(-1), None, 1)?);
        let (over, under) = if number > 0.0 { (greatest, least) } else { (least, greatest) };
        return binary(
            BinaryOp::Div,
            (&over.select(-1, 0)?).into(),
            (&under.select(-1, 0)?).into(),
        );
    }
    let order = order.cloned().unwrap_or(Order::Number(2.0));
    let text = match &order {
        Order::Number(number) => number.to_string(),
        Order::Named(name) => name.clone(),
    };
    check_square(a, &format!("linalg.cond(ord={text})"), "A")?;
    let [inverse, info] = inv_ex(a)?;
    let singular = binary(BinaryOp::Ne, (&info).into(), Scalar::Int(0).into())?;
    let own = matrix_norm(a, &order, &[-2, -1], false, None)?;
    let other = matrix_norm(&inverse, &order, &[-2, -1], false, None)?;
    let product = binary(BinaryOp::Mul, (&own).into(), (&other).into())?;
    // What is not a number has no bound either.
    let unbounded = binary(BinaryOp::LogicalOr, (&singular).into(), (&isnan(&product)?).into())?;
    where_(&unbounded, Scalar::Float(f64::INFINITY).into(), (&product).into())?
        .to_dtype(product.dtype())
}
