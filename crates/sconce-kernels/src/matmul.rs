//! Products of matrices.

use num_complex::Complex;

use crate::binary::{BinaryOp, binary, compute_dtype};
use crate::gemm::{Matrix, Multiply, gemm};
use crate::shape::broadcast;
use crate::{DType, Dims, Error, Operand, Result, Scalar, Tensor};

fn same_dtype(a: &Tensor, b: &Tensor) -> Result<()> {
    if a.dtype() == b.dtype() {
        return Ok(());
    }
    let name = |dtype: DType| match dtype {
        DType::Float32 => "float",
        DType::Float64 => "double",
        DType::Float16 => "c10::Half",
        DType::BFloat16 => "c10::BFloat16",
        DType::Int64 => "long int",
        DType::Int32 => "int",
        DType::Int16 => "short int",
        DType::Int8 => "signed char",
        DType::UInt8 => "unsigned char",
        DType::Bool => "bool",
        DType::Complex64 => "c10::complex<float>",
        DType::Complex128 => "c10::complex<double>",
        other => other.name(),
    };
    Err(Error::runtime(format!(
        "expected m1 and m2 to have the same dtype, but got: {} != {}",
        name(a.dtype()),
        name(b.dtype())
    )))
}

/// `torch.mm`.
///
/// # Errors
/// Where they are not matrices, their sizes do not fit or their dtypes differ.
pub fn mm(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    for (tensor, name) in [(a, "self"), (b, "mat2")] {
        if tensor.dim() != 2 {
            return Err(Error::runtime(format!(
                "mm: {name} must be a matrix, got {}-D tensor",
                tensor.dim()
            )));
        }
    }
    let ([m, k], [k2, n]) = ([a.sizes()[0], a.sizes()[1]], [b.sizes()[0], b.sizes()[1]]);
    if k != k2 {
        return Err(Error::runtime(format!(
            "mm: mat1 and mat2 shapes cannot be multiplied ({m}x{k} and {k2}x{n})"
        )));
    }
    same_dtype(a, b)?;
    batched(&a.unsqueeze(0)?, &b.unsqueeze(0)?)?.select(0, 0)
}

/// `torch.bmm`.
///
/// # Errors
/// As [`mm`], for three dimensions.
pub fn bmm(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    for (tensor, name) in [(a, "batch1"), (b, "batch2")] {
        if tensor.dim() != 3 {
            return Err(Error::runtime(format!("{name} must be a 3D tensor")));
        }
    }
    let (x, y) = (a.sizes(), b.sizes());
    if x[0] != y[0] || x[2] != y[1] {
        return Err(Error::runtime(format!(
            "Expected size for first two dimensions of batch2 tensor to be: [{}, {}] but got: \
             [{}, {}].",
            x[0], x[2], y[0], y[1]
        )));
    }
    same_dtype(a, b)?;
    batched(a, b)
}

/// The product of three-dimensional tensors whose sizes are known to fit. A batch may be expanded.
fn batched(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let dtype = a.dtype();
    let compute = match compute_dtype(dtype) {
        DType::Bool => return Err(Error::no_kernel("addmm_impl_cpu_", dtype)),
        other => other,
    };
    let (a, b) = (a.to_dtype(compute)?, b.to_dtype(compute)?);
    let sizes = [a.sizes()[0], a.sizes()[1], b.sizes()[2]];
    let result = Tensor::zeros(&sizes, compute)?;
    match compute {
        DType::Float32 => multiply::<f32>(&a, &b, &result),
        DType::Float64 => multiply::<f64>(&a, &b, &result),
        DType::Complex64 => multiply::<Complex<f32>>(&a, &b, &result),
        DType::Complex128 => multiply::<Complex<f64>>(&a, &b, &result),
        DType::Int64 => multiply_integers(&a, &b, &result),
        _ => Err(Error::no_kernel("addmm_impl_cpu_", dtype)),
    }?;
    result.to_dtype(dtype)
}

fn matrix(tensor: &Tensor, batch: i64) -> Matrix {
    let strides = tensor.strides();
    Matrix {
        start: (tensor.offset() + batch * strides[0]) as usize,
        row_stride: strides[1] as usize,
        col_stride: strides[2] as usize,
    }
}

fn multiply<T: Multiply>(a: &Tensor, b: &Tensor, result: &Tensor) -> Result<()> {
    let (x, y) = (a.sizes(), b.sizes());
    let [m, k, n] = [x[1] as usize, x[2] as usize, y[2] as usize];
    let (xs, ys) = (a.storage().read::<T>()?, b.storage().read::<T>()?);
    let mut out = result.write::<T>()?;
    if m * n == 0 {
        return Ok(());
    }
    for (batch, out) in out.chunks_exact_mut(m * n).enumerate() {
        let (x, y) = (matrix(a, batch as i64), matrix(b, batch as i64));
        gemm([m, k, n], (&xs, x), (&ys, y), out, false)?;
    }
    Ok(())
}

fn multiply_integers(a: &Tensor, b: &Tensor, result: &Tensor) -> Result<()> {
    let (a, b) = (a.contiguous()?, b.contiguous()?);
    let [m, k, n] = [a.sizes()[1] as usize, a.sizes()[2] as usize, b.sizes()[2] as usize];
    if m * k * n == 0 {
        return Ok(());
    }
    let (xs, ys) = (a.read::<i64>()?, b.read::<i64>()?);
    let mut out = result.write::<i64>()?;
    let pairs = xs.chunks_exact(m * k).zip(ys.chunks_exact(k * n));
    for (out, (xs, ys)) in out.chunks_exact_mut(m * n).zip(pairs) {
        for (out, row) in out.chunks_exact_mut(n).zip(xs.chunks_exact(k)) {
            for (&x, ys) in row.iter().zip(ys.chunks_exact(n)) {
                for (out, &y) in out.iter_mut().zip(ys) {
                    *out = out.wrapping_add(x.wrapping_mul(y));
                }
            }
        }
    }
    Ok(())
}

/// `torch.matmul`: vectors, matrices and batches of them, batches broadcast.
///
/// # Errors
/// Where sizes do not fit or dtypes differ.
///
/// ```
/// use sconce_kernels::{Tensor, matmul};
/// let m = Tensor::from_slice(&[1f32, 2.0, 3.0, 4.0], &[2, 2])?;
/// let v = Tensor::from_slice(&[1f32, 1.0], &[2])?;
/// assert_eq!(matmul(&m, &v)?.to_vec::<f32>()?, [3.0, 7.0]);
/// # Ok::<(), sconce_kernels::Error>(())
/// ```
pub fn matmul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    match (a.dim(), b.dim()) {
        (0, _) | (_, 0) => Err(Error::runtime(format!(
            "both arguments to matmul need to be at least 1D, but they are {}D and {}D",
            a.dim(),
            b.dim()
        ))),
        (1, 1) => dot(a, b),
        (2, 1) => mv(a, b),
        (1, _) => matmul(&a.unsqueeze(0)?, b)?.squeeze(Some(&[-2])),
        (_, 1) => matmul(a, &b.unsqueeze(1)?)?.squeeze(Some(&[-1])),
        (2, 2) => mm(a, b),
        // A batch against one matrix is one tall matrix.
        (_, 2) => {
            let (k, n) = (a.sizes()[a.dim() - 1], b.sizes()[1]);
            let mut sizes = Dims::from_slice(a.sizes());
            let rows = sizes[..a.dim() - 1].iter().product();
            let flat = mm(&a.reshape(&[rows, k])?, b)?;
            sizes[a.dim() - 1] = n;
            flat.view(&sizes)
        }
        _ => batched_matmul(a, b),
    }
}

fn batched_matmul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let (x_batch, x) = a.sizes().split_at(a.dim() - 2);
    let (y_batch, y) = b.sizes().split_at(b.dim() - 2);
    let batch = broadcast(x_batch, y_batch)?;
    let count = batch.iter().product::<i64>();
    let flat = |tensor: &Tensor, matrix: &[i64]| {
        let sizes: Dims = batch.iter().chain(matrix).copied().collect();
        tensor.expand(&sizes)?.reshape(&[count, matrix[0], matrix[1]])
    };
    let result = bmm(&flat(a, x)?, &flat(b, y)?)?;
    let sizes: Dims = batch.iter().copied().chain([x[0], y[1]]).collect();
    result.view(&sizes)
}

/// `torch.dot`.
///
/// # Errors
/// Where they are not vectors of one length.
pub fn dot(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if a.dim() != 1 || b.dim() != 1 {
        return Err(Error::runtime(format!(
            "1D tensors expected, but got {}D and {}D tensors",
            a.dim(),
            b.dim()
        )));
    }
    let (x, y) = (a.numel(), b.numel());
    if x != y {
        return Err(Error::runtime(format!(
            "inconsistent tensor size, expected tensor [{x}] and src [{y}] to have the same number \
             of elements, but got {x} and {y} elements respectively"
        )));
    }
    mm(&a.unsqueeze(0)?, &b.unsqueeze(1)?)?.view(&[])
}

/// `torch.mv`.
///
/// # Errors
/// Where sizes do not fit.
pub fn mv(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if a.dim() != 2 || b.dim() != 1 {
        return Err(Error::runtime(format!(
            "vector + matrix @ vector expected, got 1, {}, {}",
            a.dim(),
            b.dim()
        )));
    }
    let (m, k, v) = (a.sizes()[0], a.sizes()[1], b.sizes()[0]);
    if k != v {
        return Err(Error::runtime(format!(
            "size mismatch, got input ({m}), mat ({m}x{k}), vec ({v})"
        )));
    }
    mm(a, &b.unsqueeze(1)?)?.view(&[m])
}

/// `torch.addmm`: `beta * input + alpha * (a @ b)`. With `beta` 0 the input is not looked at, so
/// its NaNs do not spread.
///
/// # Errors
/// Where sizes do not fit or dtypes differ.
pub fn addmm(
    input: &Tensor,
    a: &Tensor,
    b: &Tensor,
    beta: Scalar,
    alpha: Scalar,
) -> Result<Tensor> {
    add_product(input, mm(a, b)?, beta, alpha)
}

/// `torch.baddbmm`.
///
/// # Errors
/// Where sizes do not fit or dtypes differ.
pub fn baddbmm(
    input: &Tensor,
    a: &Tensor,
    b: &Tensor,
    beta: Scalar,
    alpha: Scalar,
) -> Result<Tensor> {
    add_product(input, bmm(a, b)?, beta, alpha)
}

fn add_product(input: &Tensor, product: Tensor, beta: Scalar, alpha: Scalar) -> Result<Tensor> {
    let input = input.expand(product.sizes())?;
    let scale = |tensor: Tensor, by: Scalar| match by.to_complex() {
        one if one == Complex::new(1.0, 0.0) => Ok(tensor),
        _ => binary(BinaryOp::Mul, (&tensor).into(), Operand::Scalar(by)),
    };
    let product = scale(product, alpha)?;
    if !beta.to_bool() {
        return Ok(product);
    }
    binary(BinaryOp::Add, (&scale(input, beta)?).into(), (&product).into())
}

/// `torch.nn.functional.linear`: `input @ weight.T + bias`.
///
/// # Errors
/// Where sizes do not fit or dtypes differ.
pub fn linear(input: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    let weight = weight.t()?;
    let product = matmul(input, &weight)?;
    match bias {
        Some(bias) => {
            let bias = bias.expand(product.sizes())?;
            binary(BinaryOp::Add, (&product).into(), (&bias).into())
        }
        None => Ok(product),
    }
}
