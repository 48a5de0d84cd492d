//! What LU factorisations give: solutions, inverses, determinants, the factors themselves.

use sconce_kernels::{DType, Error, Result, Tensor};

use crate::dense::{
    Batch, Matrix, MatrixNumber, Out, ask_for, broadcast_batches, by_number, check_computed,
    check_float, check_info, check_matrices, check_square,
};
use crate::lapack::{Lu, row_order, solve_lu, solve_lu_adjoint};

/// `torch.linalg.lu_factor_ex`: LU, pivots (`int32`), info (`int32`).
///
/// # Errors
/// For tensors that are no matrices and dtypes without kernels.
pub fn lu_factor_ex(a: &Tensor, pivot: bool, function: &str) -> Result<[Tensor; 3]> {
    check_lu(a, pivot, function)?;
    by_number!(a, T => factor::<T>(a, |_| {}))
}

fn check_lu(a: &Tensor, pivot: bool, function: &str) -> Result<()> {
    if a.dim() < 2 {
        return Err(Error::runtime(format!(
            "{function}: Expected tensor with 2 or more dimensions. Got size: {:?} instead",
            a.sizes()
        )));
    }
    if !pivot && a.numel() > 0 {
        return Err(Error::runtime(format!(
            "{function}: LU without pivoting is not implemented on the CPU"
        )));
    }
    check_computed(a, function)
}

/// LU, pivots and info of a batch, each of which `then` sees as well.
fn factor<T: MatrixNumber>(a: &Tensor, mut then: impl FnMut(&Lu<T>)) -> Result<[Tensor; 3]> {
    let matrices = Batch::<T>::read_for(a, 2)?;
    let (rows, cols) = (matrices.rows, matrices.cols);
    let mut lu: Out<T> = matrices.out(&[rows, cols])?;
    let mut pivots: Out<i32> = matrices.out(&[rows.min(cols)])?;
    let mut info: Out<i32> = matrices.out(&[])?;
    for matrix in matrices.matrices() {
        let result = Lu::new(matrix);
        then(&result);
        lu.push(&result.lu.data);
        pivots.push(&result.pivots);
        info.push(&[result.info]);
    }
    Ok([lu.tensor(a.dtype())?, pivots.tensor(DType::Int32)?, info.tensor(DType::Int32)?])
}

/// `torch.linalg.lu_factor`: LU and pivots.
///
/// # Errors
/// As [`lu_factor_ex`].
pub fn lu_factor(a: &Tensor, pivot: bool) -> Result<[Tensor; 2]> {
    let [lu, pivots, info] = lu_factor_ex(a, pivot, "linalg.lu_factor")?;
    check_info(&info, "torch.linalg.lu_factor", a.dim() == 2)?;
    Ok([lu, pivots])
}

/// `torch.linalg.lu`: P, L and U.
///
/// # Errors
/// As [`lu_factor_ex`].
pub fn lu(a: &Tensor, pivot: bool) -> Result<[Tensor; 3]> {
    let [lu, pivots, _] = lu_factor_ex(a, pivot, "linalg.lu")?;
    lu_unpack(&lu, &pivots, true, pivot)
}

/// `torch.lu_unpack`: P, L and U of a packed factorisation; what is not asked for is empty.
///
/// # Errors
/// For pivots that are not `int32` or do not fit.
pub fn lu_unpack(lu: &Tensor, pivots: &Tensor, data: bool, perm: bool) -> Result<[Tensor; 3]> {
    if lu.dim() < 2 {
        return Err(Error::runtime(format!(
            "torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: {:?} instead",
            lu.sizes()
        )));
    }
    if perm && pivots.dtype() != DType::Int32 {
        return Err(Error::runtime(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n\
             Note: this function is intended to be used with the output produced by torch.linalg.lu_factor",
        ));
    }
    let none = Tensor::zeros(&[0], lu.dtype())?;
    let (rows, cols) = (lu.size(-2)?, lu.size(-1)?);
    if perm {
        let batch = lu.sizes()[..lu.dim() - 2].iter().copied();
        let expected: Vec<i64> = batch.chain([rows.min(cols)]).collect();
        if pivots.sizes() != expected {
            return Err(Error::value(format!(
                "Expected LU_pivots to have shape {expected:?} but got {:?} instead.",
                pivots.sizes()
            )));
        }
    }
    let p = if perm { permutation(lu, pivots)? } else { none.clone() };
    if !data {
        return Ok([p, none.clone(), none]);
    }
    let least = rows.min(cols);
    let upper = sconce_kernels::triu(&lu.narrow(-2, 0, least)?, 0)?.contiguous()?;
    let lower = sconce_kernels::tril(&lu.narrow(-1, 0, least)?, -1)?.copy()?;
    let ones = sconce_kernels::eye(rows, least, lu.dtype())?;
    let lower = sconce_kernels::add((&lower).into(), (&ones).into(), 1.into())?;
    Ok([p, lower, upper])
}

fn permutation(lu: &Tensor, pivots: &Tensor) -> Result<Tensor> {
    let rows = lu.size(-2)? as usize;
    let batch = &lu.sizes()[..lu.dim() - 2];
    let mut out: Out<f64> = Out::new(batch, &[rows, rows])?;
    let each = lu.size(-2)?.min(lu.size(-1)?) as usize;
    let all = pivots.to_vec::<i32>()?;
    if !pivots_are_rows(&all, rows) {
        return Err(Error::runtime(
            "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you properly \
             pass the result of lu_factor?",
        ));
    }
    for at in 0..sconce_kernels::layout::numel(batch)? as usize {
        let pivots = &all[at * each..(at + 1) * each];
        let mut matrix = Matrix::<f64>::zeros(rows, rows);
        for (i, &from) in row_order(pivots, rows).iter().enumerate() {
            matrix[(from, i)] = 1.0;
        }
        out.push(&matrix.data);
    }
    out.tensor(lu.dtype())
}

fn pivots_are_rows(pivots: &[i32], rows: usize) -> bool {
    pivots.iter().all(|&p| p >= 1 && p as usize <= rows)
}

fn check_pivots(pivots: &[i32], rows: usize) -> Result<()> {
    if pivots_are_rows(pivots, rows) {
        return Ok(());
    }
    Err(Error::runtime(
        "pivots given to lu_solve must all be greater or equal to 1. Did you properly pass the result of lu_factor?",
    ))
}

/// `torch.linalg.inv_ex`: the inverse and info.
///
/// # Errors
/// For tensors that are no square matrices and dtypes without kernels.
pub fn inv_ex(a: &Tensor) -> Result<[Tensor; 2]> {
    check_square(a, "linalg.inv", "A")?;
    check_float(a, "linalg.inv")?;
    by_number!(a, T => {
        let matrices = Batch::<T>::read_for(a, 3)?;
        let n = matrices.rows;
        let mut inverse: Out<T> = matrices.out(&[n, n])?;
        let mut info: Out<i32> = matrices.out(&[])?;
        for matrix in matrices.matrices() {
            let lu = Lu::new(matrix);
            inverse.push(&if lu.info == 0 { lu.solve(Matrix::identity(n, n)) } else { lu.lu.clone() }.data);
            info.push(&[lu.info]);
        }
        Ok([inverse.tensor(a.dtype())?, info.tensor(DType::Int32)?])
    })
}

/// `torch.linalg.inv`.
///
/// # Errors
/// As [`inv_ex`], and for singular matrices.
pub fn inv(a: &Tensor) -> Result<Tensor> {
    let [inverse, info] = inv_ex(a)?;
    check_info(&info, "linalg.inv", a.dim() == 2)?;
    Ok(inverse)
}

/// Whether `b` of `solve(a, b)` is a batch of vectors rather than of matrices.
pub(crate) fn is_vector(a: &Tensor, b: &Tensor) -> bool {
    let batch = &a.sizes()[..a.dim().saturating_sub(1)];
    b.dim() == 1 || (a.dim() >= 1 && a.dim() - 1 == b.dim() && b.sizes() == batch)
}

/// `torch.linalg.solve_ex`: the solution, LU, pivots and info.
///
/// # Errors
/// For sizes that do not fit and dtypes that differ or have no kernels.
pub fn solve_ex(a: &Tensor, b: &Tensor, left: bool) -> Result<[Tensor; 4]> {
    check_square(a, "linalg.solve", "A")?;
    check_computed(a, "linalg.solve")?;
    check_same_dtype(a, b, "linalg.solve", "A", "B")?;
    let vector = is_vector(a, b);
    let columns = if vector { b.unsqueeze(-1)? } else { b.clone() };
    if vector && !left {
        return Err(Error::runtime(
            "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. \
             In this case linalg.solve is equivalent to B / A.squeeze(-1)",
        ));
    }
    check_fit(a, &columns, left, "linalg.solve")?;
    let (wide, columns) = broadcast_batches(a, &columns)?;
    let columns = if left { columns } else { columns.transpose(-2, -1)? };
    let (x, lu, pivots, info) = by_number!(a, T => {
        ask_for::<T>(&[(&columns, 2), (a, 2)])?;
        let sides = Batch::<T>::read(&columns)?;
        let mut x: Out<T> = sides.out(&[sides.rows, sides.cols])?;
        if left && wide.sizes() == a.sizes() {
            let mut sides = sides.matrices();
            let [lu, pivots, info] = factor::<T>(a, |lu| {
                if let Some(side) = sides.next() {
                    x.push(&lu.solve(side).data);
                }
            })?;
            (x.tensor(a.dtype())?, lu, pivots, info)
        } else {
            let [lu, pivots, info] = factor::<T>(a, |_| {})?;
            let wide = if left { wide } else { wide.transpose(-2, -1)? };
            for (system, side) in Batch::<T>::read(&wide)?.matrices().zip(sides.matrices()) {
                x.push(&Lu::new(system).solve(side).data);
            }
            (x.tensor(a.dtype())?, lu, pivots, info)
        }
    });
    let x = if left { x } else { x.transpose(-2, -1)?.contiguous()? };
    let x = if vector { x.squeeze(Some(&[-1]))? } else { x };
    Ok([x, lu, pivots, info])
}

/// `torch.linalg.solve`.
///
/// # Errors
/// As [`solve_ex`], and for singular matrices.
pub fn solve(a: &Tensor, b: &Tensor, left: bool) -> Result<Tensor> {
    let [x, _, _, info] = solve_ex(a, b, left)?;
    check_info(&info, "torch.linalg.solve", a.dim() == 2)?;
    Ok(x)
}

pub(crate) fn check_same_dtype(
    a: &Tensor,
    b: &Tensor,
    function: &str,
    a_name: &str,
    b_name: &str,
) -> Result<()> {
    if a.dtype() == b.dtype() {
        return Ok(());
    }
    Err(Error::runtime(format!(
        "{function}: Expected {a_name} and {b_name} to have the same dtype, but found {a_name} of type {} \
         and {b_name} of type {} instead",
        a.dtype().scalar_type_name(),
        b.dtype().scalar_type_name()
    )))
}

pub(crate) fn check_fit(a: &Tensor, b: &Tensor, left: bool, function: &str) -> Result<()> {
    check_matrices(b, function, "B")?;
    let (n, rows, cols) = (a.size(-2)?, b.size(-2)?, b.size(-1)?);
    if n == if left { rows } else { cols } {
        return Ok(());
    }
    Err(Error::runtime(format!(
        "{function}: Incompatible shapes of A and B for the equation {} ({}x{} and {rows}x{cols})",
        if left { "AX = B" } else { "XA = B" },
        n,
        a.size(-1)?,
    )))
}

/// `torch.linalg.lu_solve`.
///
/// # Errors
/// For sizes that do not fit and pivots that are out of range.
pub fn lu_solve(
    lu: &Tensor,
    pivots: &Tensor,
    b: &Tensor,
    left: bool,
    adjoint: bool,
) -> Result<Tensor> {
    let name = "linalg.lu_solve";
    check_square(lu, "torch.linalg.lu_solve", "A")?;
    check_float(lu, name)?;
    check_same_dtype(lu, b, name, "LU", "B")?;
    if pivots.dtype() != DType::Int32 {
        return Err(Error::runtime(format!(
            "{name}: pivots should be a Tensor of scalar type torch.int32"
        )));
    }
    if pivots.dim() + 1 != lu.dim() || pivots.sizes() != &lu.sizes()[..lu.dim() - 1] {
        return Err(Error::runtime(format!(
            "{name}: MatrixNumber of pivots per batch should be same as the dimension of the matrix"
        )));
    }
    check_fit(lu, b, left, name)?;
    let n = lu.size(-1)?;
    let (wide, columns) = broadcast_batches(lu, b)?;
    let batch = wide.sizes()[..wide.dim() - 2].to_vec();
    let wide_pivots: Vec<i64> = batch.iter().copied().chain([n]).collect();
    let pivots = pivots.expand(&wide_pivots)?.to_vec::<i32>()?;
    check_pivots(&pivots, n as usize)?;
    // X A = B is Aᴴ Xᴴ = Bᴴ.
    let columns = if left { columns } else { sconce_kernels::conj(&columns.transpose(-2, -1)?)? };
    let x = by_number!(lu, T => {
        let [factors, sides] = Batch::<T>::read_both((&wide, 1), (&columns, 2))?;
        let mut x: Out<T> = sides.out(&[sides.rows, sides.cols])?;
        let step = n as usize;
        for (at, (factor, side)) in factors.matrices().zip(sides.matrices()).enumerate() {
            let pivots = &pivots[at * step..(at + 1) * step];
            let solve = if adjoint == left { solve_lu_adjoint } else { solve_lu };
            x.push(&solve(&factor, pivots, side).data);
        }
        x.tensor(lu.dtype())?
    });
    if left { Ok(x) } else { sconce_kernels::conj(&x.transpose(-2, -1)?)?.contiguous() }
}

/// `aten::_linalg_det`: the determinant, LU and pivots.
///
/// # Errors
/// For tensors that are no square matrices and dtypes without kernels.
pub fn det(a: &Tensor) -> Result<[Tensor; 3]> {
    check_square(a, "linalg.det", "A")?;
    check_computed(a, "linalg.det")?;
    by_number!(a, T => {
        let mut det: Out<T> = Out::new(&a.sizes()[..a.dim() - 2], &[])?;
        let [lu, pivots, _] = factor::<T>(a, |lu| det.push(&[lu.det()]))?;
        Ok([det.tensor(a.dtype())?, lu, pivots])
    })
}

/// `aten::_linalg_slogdet`: sign and logarithm of the determinant, LU and pivots.
///
/// # Errors
/// As [`det`].
pub fn slogdet(a: &Tensor) -> Result<[Tensor; 4]> {
    check_square(a, "linalg.slogdet", "A")?;
    check_float(a, "linalg.slogdet")?;
    let (real, batch) = (sconce_kernels::real_dtype(a.dtype()), &a.sizes()[..a.dim() - 2]);
    by_number!(a, T => {
        let (mut signs, mut logs): (Out<T>, Out<f64>) = (Out::new(batch, &[])?, Out::new(batch, &[])?);
        let [lu, pivots, _] = factor::<T>(a, |lu| {
            let mut log = 0.0;
            let mut unit = lu.parity();
            for i in 0..lu.lu.rows {
                let x = lu.lu[(i, i)];
                let length = x.length();
                log += length.ln();
                unit = if length == 0.0 { T::of_real(0.0) } else { unit * (x / T::of_real(length)) };
            }
            signs.push(&[unit]);
            logs.push(&[log]);
        })?;
        Ok([signs.tensor(a.dtype())?, logs.tensor(real)?, lu, pivots])
    })
}

/// `torch.logdet`: NaN where the determinant is negative.
///
/// # Errors
/// As [`det`].
pub fn logdet(a: &Tensor) -> Result<Tensor> {
    let [sign, log, ..] = slogdet(a)?;
    let sign = sconce_kernels::unary(sconce_kernels::UnaryOp::Log, &sign)?;
    // The logarithm of 0 is -inf already; adding that of the sign, -inf again, changes nothing.
    sconce_kernels::add((&sign).into(), (&log).into(), 1.into())
}
