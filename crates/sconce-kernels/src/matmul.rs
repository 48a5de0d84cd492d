//! Matrix products of tensors.

use half::{bf16, f16};
use num_complex::Complex;
use sconce_gemm::half_products::HalfProducts;
use sconce_gemm::matrix::{Matrix, Multiply};
use sconce_gemm::{half_gemm, strided_gemm};
use sconce_kernel_core::error::cpp_type_name;
use sconce_kernel_core::layout::shape::{broadcast, expanded_strides};
use sconce_kernel_core::layout::strided_iter;
use sconce_kernel_core::parallel::partition;
use sconce_kernel_core::simd::dispatch::dispatch;
use sconce_kernel_core::tensor::promotion::compute_dtype;

use crate::elementwise::binary::binary;
use crate::elementwise::binary_op::BinaryOp;
use crate::elementwise::complex::{view_as_complex, view_as_real};
use crate::{DType, Dims, Error, Operand, Result, Scalar, Tensor};

fn same_dtype(a: &Tensor, b: &Tensor) -> Result<()> {
    if a.dtype() == b.dtype() {
        return Ok(());
    }
    Err(Error::runtime(format!(
        "expected m1 and m2 to have the same dtype, but got: {} != {}",
        cpp_type_name(a.dtype()),
        cpp_type_name(b.dtype())
    )))
}

fn check_matrix(name: &str, operand: &str, tensor: &Tensor) -> Result<()> {
    match tensor.dim() {
        2 => Ok(()),
        n => Err(Error::runtime(format!("{name}: {operand} must be a matrix, got {n}-D tensor"))),
    }
}

/// Refuses matrices of which one has not as many columns as the other has rows.
fn check_inner(name: &str, a: &Tensor, b: &Tensor) -> Result<()> {
    match (a.sizes(), b.sizes()) {
        (&[m, k], &[k2, n]) if k != k2 => Err(Error::runtime(format!(
            "{name}: mat1 and mat2 shapes cannot be multiplied ({m}x{k} and {k2}x{n})"
        ))),
        _ => Ok(()),
    }
}

/// `torch.mm`.
///
/// # Errors
/// Where they are not matrices, their sizes do not fit or their dtypes differ.
pub fn mm(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    for (tensor, name) in [(a, "self"), (b, "mat2")] {
        check_matrix("mm", name, tensor)?;
    }
    check_inner("mm", a, b)?;
    same_dtype(a, b)?;
    product(a, b, None)
}

/// Refuses what are no batches of matrices that fit.
pub(crate) fn check_batches(a: &Tensor, b: &Tensor) -> Result<()> {
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
    Ok(())
}

/// `torch.bmm`.
///
/// # Errors
/// As [`mm`], for three dimensions.
pub fn bmm(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    check_batches(a, b)?;
    b.expect_dtype(a.dtype())?;
    product(a, b, None)
}

/// The product of tensors of two or more dimensions whose matrices are known to fit, plus `bias`,
/// which has the product's dtype, a floating one, and broadcasts to its sizes. Batches are
/// broadcast; nothing is copied, whatever the strides. HalfProducts precision is rounded once.
fn product(a: &Tensor, b: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    let dtype = a.dtype();
    if a.dim() == 2 && b.dim() == 2 {
        match dtype {
            DType::Float16 => return product_of_halves::<f16>(a, b, bias),
            DType::BFloat16 => return product_of_halves::<bf16>(a, b, bias),
            _ => {}
        }
    }
    let compute = match compute_dtype(dtype) {
        DType::Bool => return Err(Error::no_kernel("addmm_impl_cpu_", dtype)),
        other => other,
    };
    let (a, b) = (a.to_dtype(compute)?, b.to_dtype(compute)?);
    let (x_batch, x) = a.sizes().split_at(a.dim() - 2);
    let (y_batch, y) = b.sizes().split_at(b.dim() - 2);
    let batch = broadcast(x_batch, y_batch)?;
    let sizes: Dims = batch.iter().copied().chain([x[0], y[1]]).collect();
    // Integers are added up in place.
    let make = if compute == DType::Int64 { Tensor::zeros } else { Tensor::for_overwrite };
    let result = make(&sizes, compute)?;
    if let Some(bias) = bias {
        result.copy_from(&bias.expand(&sizes)?)?;
    }
    let accumulate = bias.is_some();
    match compute {
        DType::Float32 => multiply_batch::<f32>(&a, &b, &result, accumulate),
        DType::Float64 => multiply_batch::<f64>(&a, &b, &result, accumulate),
        DType::Complex64 => multiply_batch::<Complex<f32>>(&a, &b, &result, accumulate),
        DType::Complex128 => multiply_batch::<Complex<f64>>(&a, &b, &result, accumulate),
        DType::Int64 => {
            let whole = |tensor: &Tensor, matrix: &[i64]| {
                let sizes: Dims = batch.iter().chain(matrix).copied().collect();
                tensor.expand(&sizes)?.contiguous()
            };
            multiply_integers(&whole(&a, x)?, &whole(&b, y)?, &result)
        }
        _ => Err(Error::no_kernel("addmm_impl_cpu_", dtype)),
    }?;
    result.to_dtype(dtype)
}

/// [`product`] of two matrices of half precision.
fn product_of_halves<H: HalfProducts>(
    a: &Tensor,
    b: &Tensor,
    bias: Option<&Tensor>,
) -> Result<Tensor> {
    let (sizes, k) = ([a.sizes()[0], b.sizes()[1]], a.sizes()[1]);
    let bias = bias.map(|bias| bias.to_dtype(DType::Float32)?.expand(&sizes)).transpose()?;
    let result = Tensor::for_overwrite(&sizes, a.dtype())?;
    if result.numel() == 0 || k == 0 {
        match bias {
            Some(bias) => result.copy_from(&bias)?,
            None => result.fill(0.into())?,
        }
        return Ok(result);
    }
    let [m, k, n] = [sizes[0], k, sizes[1]].map(|size| size as usize);
    let (xs, ys) = (a.storage().read::<H>()?, b.storage().read::<H>()?);
    let (a_at, b_at) = (matrix(a, a.offset() as usize), matrix(b, b.offset() as usize));
    if !a_at.fits(m, k, xs.len()) || !b_at.fits(k, n, ys.len()) {
        return Err(Error::runtime("a matrix reaches beyond its storage"));
    }
    let numbers = bias.as_ref().map(|bias| bias.storage().read::<f32>()).transpose()?;
    let bias = bias.as_ref().zip(numbers.as_deref());
    let bias = bias.map(|(bias, numbers)| (numbers, matrix(bias, bias.offset() as usize)));
    let mut out = result.write::<H>()?;
    half_gemm::multiply([m, k, n], (&xs, a_at), (&ys, b_at), bias, &mut out)?;
    drop(out);
    Ok(result)
}

/// Where the matrices of a broadcast batch start, in the batch's order.
fn starts(a: &Tensor, b: &Tensor, batch: &[i64]) -> Vec<(usize, usize)> {
    let strides = |tensor: &Tensor| {
        let dims = tensor.dim() - 2;
        expanded_strides(&tensor.sizes()[..dims], &tensor.strides()[..dims], batch)
    };
    let mut starts = Vec::new();
    let (x, y) = (strides(a), strides(b));
    strided_iter::rows(
        batch,
        [&x, &y],
        [a.offset(), b.offset()],
        |[x, y], [x_step, y_step], len| {
            starts.extend((0..len).map(|i| (x + i * x_step, y + i * y_step)));
        },
    );
    starts
}

/// The last two dimensions as a matrix.
fn matrix(tensor: &Tensor, start: usize) -> Matrix {
    let strides = &tensor.strides()[tensor.dim() - 2..];
    Matrix { start, row_stride: strides[0] as usize, col_stride: strides[1] as usize }
}

fn multiply_batch<T: Multiply>(
    a: &Tensor,
    b: &Tensor,
    result: &Tensor,
    accumulate: bool,
) -> Result<()> {
    if result.numel() == 0 {
        return Ok(());
    }
    let (batch, matrix_sizes) = result.sizes().split_at(result.dim() - 2);
    let (m, n) = (matrix_sizes[0] as usize, matrix_sizes[1] as usize);
    let k = a.sizes()[a.dim() - 1] as usize;
    let (xs, ys) = (a.storage().read::<T>()?, b.storage().read::<T>()?);
    let (xs, ys): (&[T], &[T]) = (&xs, &ys);
    let starts = starts(a, b, batch);
    let (x_at, y_at) = (matrix(a, 0), matrix(b, 0));
    let one = |at: usize, out: &mut [T], parallel: bool| {
        let Some(&(x, y)) = starts.get(at) else { return Ok(()) };
        let (x, y) = (Matrix { start: x, ..x_at }, Matrix { start: y, ..y_at });
        strided_gemm::multiply([m, k, n], (xs, x), (ys, y), out, accumulate, parallel)
    };
    let mut out = result.write::<T>()?;
    // Other ways multiply complex sums by 1, which makes NaN of what is infinite.
    let exact = T::DTYPE.is_complex() && m * n * k <= SMALL_COMPLEX;
    if exact || (starts.len() > 1 && m * n * k <= SMALL) {
        return multiply_small([m, k, n], (xs, x_at), (ys, y_at), &starts, &mut out, accumulate);
    }
    let threads = partition::num_threads();
    let work = (m * n).saturating_mul(k).saturating_mul(starts.len());
    if threads > 1 && starts.len() >= threads && work >= strided_gemm::PARALLEL {
        return partition::try_for_each(out.chunks_mut(m * n).enumerate(), |(at, out)| {
            one(at, out, false)
        });
    }
    out.chunks_exact_mut(m * n).enumerate().try_for_each(|(at, out)| one(at, out, true))
}

/// Multiply-adds up to which a product of a batch takes less time than preparing a call does.
const SMALL: usize = 256;

/// Multiply-adds of complex numbers up to which a product is computed by its definition.
const SMALL_COMPLEX: usize = 4096;

/// Many small products, by their definition.
fn multiply_small<T: Multiply>(
    [m, k, n]: [usize; 3],
    (xs, x_at): (&[T], Matrix),
    (ys, y_at): (&[T], Matrix),
    starts: &[(usize, usize)],
    out: &mut [T],
    accumulate: bool,
) -> Result<()> {
    let fits = |&(x, y): &(usize, usize)| {
        let (x, y) = (Matrix { start: x, ..x_at }, Matrix { start: y, ..y_at });
        x.fits(m, k, xs.len()) && y.fits(k, n, ys.len())
    };
    if !starts.iter().all(fits) {
        return Err(Error::runtime("a matrix reaches beyond its storage"));
    }
    let [x_row, x_col, y_row, y_col] =
        [x_at.row_stride, x_at.col_stride, y_at.row_stride, y_at.col_stride];
    for (out, &(x, y)) in out.chunks_exact_mut(m * n).zip(starts) {
        for (i, out) in out.chunks_exact_mut(n).enumerate() {
            for (j, out) in out.iter_mut().enumerate() {
                let mut sum = if accumulate { *out } else { T::ZERO };
                for p in 0..k {
                    sum = sum + xs[x + i * x_row + p * x_col] * ys[y + p * y_row + j * y_col];
                }
                *out = sum;
            }
        }
    }
    Ok(())
}

fn multiply_integers(a: &Tensor, b: &Tensor, result: &Tensor) -> Result<()> {
    let (a, b) = (a.contiguous()?, b.contiguous()?);
    let at_end = |tensor: &Tensor, dim: usize| tensor.sizes()[tensor.dim() - dim] as usize;
    let [m, k, n] = [at_end(&a, 2), at_end(&a, 1), at_end(&b, 1)];
    if result.numel() == 0 || k == 0 {
        return Ok(());
    }
    let (xs, ys) = (a.read::<i64>()?, b.read::<i64>()?);
    let mut out = result.write::<i64>()?;
    let pairs = xs.chunks_exact(m * k).zip(ys.chunks_exact(k * n));
    dispatch(
        #[inline(always)]
        || {
            for (out, (xs, ys)) in out.chunks_exact_mut(m * n).zip(pairs) {
                for (out, xs) in out.chunks_exact_mut(n).zip(xs.chunks_exact(k)) {
                    add_integer_rows(xs, ys, out);
                }
            }
        },
    );
    Ok(())
}

/// Adds the product of a vector and a matrix of integers to `out`, four rows of the matrix at a time.
#[inline(always)]
fn add_integer_rows(xs: &[i64], ys: &[i64], out: &mut [i64]) {
    let n = out.len();
    let (fours, rest) = xs.as_chunks::<4>();
    for (&[a, b, c, d], rows) in fours.iter().zip(ys.chunks_exact(4 * n)) {
        let (first, second) = rows.split_at(2 * n);
        let ((p, q), (r, s)) = (first.split_at(n), second.split_at(n));
        for (out, (((&p, &q), &r), &s)) in out.iter_mut().zip(p.iter().zip(q).zip(r).zip(s)) {
            let left = a.wrapping_mul(p).wrapping_add(b.wrapping_mul(q));
            let right = c.wrapping_mul(r).wrapping_add(d.wrapping_mul(s));
            *out = out.wrapping_add(left).wrapping_add(right);
        }
    }
    for (&x, row) in rest.iter().zip(ys[4 * n * fours.len()..].chunks_exact(n)) {
        for (out, &y) in out.iter_mut().zip(row) {
            *out = out.wrapping_add(x.wrapping_mul(y));
        }
    }
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
        (_, 1) if a.dtype() != b.dtype() => {
            // The error that the flattened batch gives.
            mv(&empty_like(a, &[a.sizes()[a.dim() - 2], a.sizes()[a.dim() - 1]])?, b)
        }
        (dims, 1) if a.sizes()[dims - 1] != b.numel() && is_one_matrix(a) => {
            let rows = sconce_kernel_core::layout::shape::product(&a.sizes()[..dims - 1]);
            mv(&empty_like(a, &[rows, a.sizes()[dims - 1]])?, b)
        }
        (_, 1) => matmul(a, &b.unsqueeze(1)?)?.squeeze(Some(&[-1])),
        (2, 2) => mm(a, b),
        // Where the batch does not lie as one matrix, the error is that of batches.
        (dims, 2) if a.sizes()[dims - 1] != b.sizes()[0] && !is_one_matrix(a) => {
            batched_matmul(a, b)
        }
        // A batch against one matrix is one tall matrix.
        (_, 2) => {
            let (k, n) = (a.sizes()[a.dim() - 1], b.sizes()[1]);
            if k == b.sizes()[0] && !is_one_matrix(a) {
                b.expect_dtype(a.dtype())?;
            }
            let mut sizes = Dims::from_slice(a.sizes());
            let rows = sconce_kernel_core::layout::shape::product(&sizes[..a.dim() - 1]);
            let flat = mm(&a.reshape(&[rows, k])?, b)?;
            sizes[a.dim() - 1] = n;
            flat.view(&sizes)
        }
        _ => batched_matmul(a, b),
    }
}

/// Whether the rows of a batch lie as those of one matrix do.
fn is_one_matrix(batch: &Tensor) -> bool {
    let rows = batch.sizes().iter().zip(batch.strides()).take(batch.dim() - 1);
    let inner = rows.clone().skip(1);
    batch.numel() == 0 || rows.zip(inner).all(|((_, step), (size, inner))| *step == size * inner)
}

fn batched_matmul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let (x_batch, x) = a.sizes().split_at(a.dim() - 2);
    let (y_batch, y) = b.sizes().split_at(b.dim() - 2);
    if x[1] == y[0] && a.dtype() == b.dtype() {
        return product(a, b, None);
    }
    // The error that the flattened batches give.
    let count = sconce_kernel_core::layout::shape::product(&broadcast(x_batch, y_batch)?);
    bmm(&empty_like(a, &[count, x[0], x[1]])?, &empty_like(b, &[count, y[0], y[1]])?)
}

/// A tensor of these sizes that has no memory behind it.
fn empty_like(tensor: &Tensor, sizes: &[i64]) -> Result<Tensor> {
    Tensor::zeros(&[1], tensor.dtype())?.expand(sizes)
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
    if a.dtype() != b.dtype() {
        return Err(Error::runtime(format!(
            "dot : expected both vectors to have same dtype, but found {} and {}",
            a.dtype().scalar_type_name(),
            b.dtype().scalar_type_name()
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
    if a.dtype() != b.dtype() {
        let (matrix, vector) = (a.dtype().scalar_type_name(), b.dtype().scalar_type_name());
        return Err(Error::runtime(format!(
            "addmv input tensors must have the same dtype, but got {vector}, {matrix}, and {vector}"
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
    for (tensor, name) in [(a, "self"), (b, "mat2")] {
        check_matrix("addmm", name, tensor)?;
    }
    for (tensor, name) in [(input, "self"), (a, "mat1")] {
        if tensor.dtype() != b.dtype() {
            return Err(Error::runtime(format!(
                "{name} and mat2 must have the same dtype, but got {} and {}",
                tensor.dtype().scalar_type_name(),
                b.dtype().scalar_type_name()
            )));
        }
    }
    check_inner("addmm", a, b)?;
    add_product(input, [a, b], beta, alpha, is_extreme(alpha))
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
    check_batches(a, b)?;
    if input.dtype() != a.dtype() || input.dtype() != b.dtype() {
        return Err(Error::runtime(format!(
            "Input dtypes must be the same, got: input {}, batch1: {}, batch2: {}",
            cpp_type_name(input.dtype()),
            cpp_type_name(a.dtype()),
            cpp_type_name(b.dtype())
        )));
    }
    // PyTorch multiplies small matrices itself, and scales what comes out.
    let work = a.sizes()[1].saturating_mul(a.sizes()[2]).saturating_mul(b.sizes()[2]);
    add_product(input, [a, b], beta, alpha, is_extreme(alpha) && work >= 400)
}

/// Whether it makes a difference if a factor is multiplied before numbers are added up: where some of them may become
/// infinite, and for complex factors, of which one part that is infinite makes the other NaN.
pub(crate) fn is_extreme(alpha: Scalar) -> bool {
    let alpha = alpha.to_complex();
    alpha.im != 0.0 || ![alpha.re, alpha.im].iter().all(|part| part.abs() < 1e18)
}

/// `beta * input + alpha * (a @ b)` of operands that fit: in one pass where nothing is scaled. `scaled_first` is for
/// numbers that BLAS multiplies: it scales `a`, which shows where that becomes infinite.
fn add_product(
    input: &Tensor,
    [a, b]: [&Tensor; 2],
    beta: Scalar,
    alpha: Scalar,
    scaled_first: bool,
) -> Result<Tensor> {
    let plain = beta == Scalar::Int(1) && alpha == Scalar::Int(1);
    if plain && input.dtype().is_floating_point() {
        return product(a, b, Some(input));
    }
    let (dtype, compute) = (input.dtype(), compute_dtype(input.dtype()));
    if dtype.is_floating_point() && dtype != compute {
        // HalfProducts precision is rounded once, at the end.
        let [input, a, b] = [input, a, b].map(|operand| operand.to_dtype(compute));
        return add_product(&input?, [&a?, &b?], beta, alpha, false)?.to_dtype(dtype);
    }
    let scale = |tensor: Tensor, by: Scalar| match by.to_complex() {
        one if one == Complex::new(1.0, 0.0) => Ok(tensor),
        _ => binary(BinaryOp::Mul, (&tensor).into(), Operand::Scalar(by)),
    };
    let product = match scaled_first && !dtype.is_integral() {
        true => product(&scale(a.clone(), alpha)?, b, None)?,
        false => scale(product(a, b, None)?, alpha)?,
    };
    let input = input.expand(product.sizes())?;
    if !beta.to_bool() {
        return Ok(product);
    }
    sum_of_parts(&scale(input, beta)?, &product)
}

/// The sum of each part of complex numbers: [`binary`] multiplies by a complex 1, as `torch.add` does.
pub(crate) fn sum_of_parts(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if !a.dtype().is_complex() || a.dtype() != b.dtype() {
        return binary(BinaryOp::Add, a.into(), b.into());
    }
    let (a, b) = (view_as_real(a)?, view_as_real(b)?);
    view_as_complex(&binary(BinaryOp::Add, (&a).into(), (&b).into())?)
}

/// `torch.nn.functional.linear`: `input @ weight.T + bias`.
///
/// # Errors
/// Where sizes do not fit or dtypes differ.
pub fn linear(input: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    if let Some(result) = plain_linear(input, weight, bias)? {
        return Ok(result);
    }
    let weight = weight.t()?;
    let Some(bias) = bias else { return matmul(input, &weight) };
    // The rows of a batch are one matrix; where they do not lie side by side, PyTorch multiplies
    // first, which shows where dtypes differ.
    let one_dtype = input.dtype() == weight.dtype() && input.dtype() == bias.dtype();
    let flat = bias.dim() == 1 && (input.is_contiguous() || one_dtype);
    if let Some((&k, batch)) = input.sizes().split_last()
        && (input.dim() <= 2 || flat)
    {
        let rows = input.reshape(&[sconce_kernel_core::layout::shape::product(batch), k])?;
        let result = addmm(bias, &rows, &weight, 1.into(), 1.into())?;
        let mut sizes = Dims::from_slice(batch);
        sizes.push(result.sizes()[1]);
        return result.view(&sizes);
    }
    let product = matmul(input, &weight)?;
    binary(BinaryOp::Add, (&product).into(), bias.into())
}

/// [`linear`] of contiguous `f32` operands that fit, by the shortest way.
fn plain_linear(input: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Option<Tensor>> {
    let (Some((&k, batch)), &[n, k2]) = (input.sizes().split_last(), weight.sizes()) else {
        return Ok(None);
    };
    let plain = |tensor: &Tensor| tensor.dtype() == DType::Float32 && tensor.is_contiguous();
    let fits = k == k2
        && plain(input)
        && plain(weight)
        && bias.is_none_or(|bias| plain(bias) && bias.sizes() == [n]);
    let sizes: Dims = batch.iter().copied().chain([n]).collect();
    let count = sconce_kernel_core::layout::shape::numel(&sizes)?;
    if !fits || count == 0 {
        return Ok(None);
    }
    let result = Tensor::for_overwrite(&sizes, DType::Float32)?;
    let (k, n) = (k as usize, n as usize);
    let rows = count as usize / n;
    let mut out = result.write::<f32>()?;
    if let Some(bias) = bias {
        let bias = bias.read::<f32>()?;
        for row in out.chunks_exact_mut(n) {
            row.copy_from_slice(&bias);
        }
    }
    let xs_at = Matrix { start: 0, row_stride: k, col_stride: 1 };
    let ws_at = Matrix { start: 0, row_stride: 1, col_stride: k };
    let (xs, ws) = (input.read::<f32>()?, weight.read::<f32>()?);
    strided_gemm::gemm([rows, k, n], (&xs, xs_at), (&ws, ws_at), &mut out, bias.is_some())?;
    drop(out);
    Ok(Some(result))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dtypes_that_differ_are_named_as_pytorch_names_them() {
        let (single, double) = (DType::Float32, DType::Float64);
        let ones = |sizes: &[i64], dtype| Tensor::full(sizes, 1.into(), dtype).unwrap();
        let (x, w) = (ones(&[2, 3], double), ones(&[2, 3], single));
        let (wide, bias) = (ones(&[2, 3], double), ones(&[2], single));
        let batch = ones(&[1, 2, 3], double);
        let transposed = ones(&[4, 2, 3], double).transpose(0, 1).unwrap();
        let one = || Scalar::Int(1);
        let cases = [
            (
                linear(&x, &w, None),
                "expected m1 and m2 to have the same dtype, but got: double != float",
            ),
            (
                linear(&x, &w, Some(&bias)),
                "mat1 and mat2 must have the same dtype, but got Double and Float",
            ),
            (
                linear(&batch, &wide, Some(&bias)),
                "self and mat2 must have the same dtype, but got Float and Double",
            ),
            (linear(&transposed, &w, Some(&bias)), "expected scalar type Double but found Float"),
            (
                addmm(&bias, &w, &wide.t().unwrap(), one(), one()),
                "self and mat2 must have the same dtype, but got Float and Double",
            ),
            (
                baddbmm(&bias, &batch, &batch.transpose(1, 2).unwrap(), one(), one()),
                "Input dtypes must be the same, got: input float, batch1: double, batch2: double",
            ),
            (
                matmul(&batch, &ones(&[3], single)),
                "addmv input tensors must have the same dtype, but got Float, Double, and Float",
            ),
            (
                dot(&ones(&[3], double), &ones(&[3], single)),
                "dot : expected both vectors to have same dtype, but found Double and Float",
            ),
        ];
        for (found, expected) in cases {
            assert_eq!(found.unwrap_err().message(), expected);
        }
        // Where rows do not lie side by side the bias is added afterwards, and may have another dtype.
        let found = linear(&transposed, &wide, Some(&bias)).unwrap();
        assert_eq!((found.dtype(), found.sizes()), (double, &[2, 4, 2][..]));
    }

    #[test]
    fn half_precision_is_rounded_once() {
        use half::bf16;
        let bf = |number: f32| Tensor::from_slice(&[bf16::from_f32(number)], &[1, 1]).unwrap();
        // 1.0078125 * 1.0078125 is 1.01568…, which bfloat16 has as 1.015625: with -1 that is 0.015625.
        let found = addmm(&bf(-1.0), &bf(1.007_812_5), &bf(1.007_812_5), 1.into(), 1.into());
        assert_eq!(found.unwrap().to_vec::<bf16>().unwrap(), [bf16::from_f32(0.015_686_035)]);
    }
}

#[cfg(test)]
mod half_tests {
    use super::*;

    /// Small whole numbers, whose sums `f32` holds.
    fn whole(sizes: &[i64], dtype: DType) -> Tensor {
        let count = sizes.iter().product::<i64>();
        let numbers: Vec<f32> = (0..count).map(|i| ((i * 37 + i / 11) % 9) as f32 - 4.0).collect();
        Tensor::from_slice(&numbers, sizes).unwrap().to_dtype(dtype).unwrap()
    }

    fn numbers(tensor: &Tensor) -> Vec<f32> {
        tensor.to_dtype(DType::Float32).unwrap().to_vec().unwrap()
    }

    #[test]
    fn products_are_those_of_single_precision_rounded_once() {
        let single = |tensor: &Tensor| tensor.to_dtype(DType::Float32).unwrap();
        for dtype in [DType::Float16, DType::BFloat16] {
            for [m, k, n] in [[1, 40, 70], [5, 33, 200], [70, 600, 3], [3, 5000, 40], [90, 7, 90]] {
                let (rows, cols) = (whole(&[m, k], dtype), whole(&[k, n], dtype));
                let standing = |of: &Tensor| of.t().unwrap().contiguous().unwrap().t().unwrap();
                let one_row = whole(&[1, k], dtype).expand(&[m, k]).unwrap();
                let one_col = whole(&[k, 1], dtype).expand(&[k, n]).unwrap();
                for a in [&rows, &standing(&rows), &one_row] {
                    for b in [&cols, &standing(&cols), &one_col] {
                        let bias = whole(&[n], dtype);
                        let found = [mm(a, b), addmm(&bias, a, b, 1.into(), 1.into())];
                        let (a, b, bias) = (single(a), single(b), single(&bias));
                        let expected = [mm(&a, &b), addmm(&bias, &a, &b, 1.into(), 1.into())];
                        for (found, expected) in found.into_iter().zip(expected) {
                            let expected = expected.unwrap().to_dtype(dtype).unwrap();
                            let found = found.unwrap();
                            assert_eq!(found.dtype(), dtype);
                            assert_eq!(numbers(&found), numbers(&expected), "{m} x {k} x {n}");
                        }
                    }
                }
            }
            let nothing = mm(&whole(&[2, 0], dtype), &whole(&[0, 3], dtype)).unwrap();
            assert_eq!(numbers(&nothing), [0.0; 6]);
        }
    }
}
