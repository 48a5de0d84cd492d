//! Batches of dense matrices between tensors and factorisations.
//!
//! Everything is computed in `float64` or `complex128` and rounded once to the dtype of the result,
//! so that two number types serve the four dtypes that linear algebra has.

use std::ops::{Add, AddAssign, Div, Index, IndexMut, Mul, Neg, Sub, SubAssign};

use faer::traits::ComplexField;
use num_complex::Complex64;
use sconce_kernels::{DType, Error, Memory, PodElement, Result, Tensor};

/// A number that matrices are made of: `f64` or `Complex64`.
pub(crate) trait MatrixNumber:
    ComplexField<Real = f64>
    + PodElement
    + Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
{
    const IS_COMPLEX: bool;
    fn of_real(real: f64) -> Self;
    fn conjugate(self) -> Self;
    fn real_part(self) -> f64;
    fn imaginary_part(self) -> f64;
    fn length(self) -> f64;
    /// What LAPACK compares when it looks for a pivot.
    fn size(self) -> f64;
}

impl MatrixNumber for f64 {
    const IS_COMPLEX: bool = false;
    fn of_real(real: f64) -> f64 {
        real
    }
    fn conjugate(self) -> f64 {
        self
    }
    fn real_part(self) -> f64 {
        self
    }
    fn imaginary_part(self) -> f64 {
        0.0
    }
    fn length(self) -> f64 {
        self.abs()
    }
    fn size(self) -> f64 {
        self.abs()
    }
}

impl MatrixNumber for Complex64 {
    const IS_COMPLEX: bool = true;
    fn of_real(real: f64) -> Complex64 {
        Complex64::new(real, 0.0)
    }
    fn conjugate(self) -> Complex64 {
        self.conj()
    }
    fn real_part(self) -> f64 {
        self.re
    }
    fn imaginary_part(self) -> f64 {
        self.im
    }
    fn length(self) -> f64 {
        self.re.hypot(self.im)
    }
    fn size(self) -> f64 {
        self.re.abs() + self.im.abs()
    }
}

/// A matrix, row-major.
#[derive(Debug, Clone)]
pub(crate) struct Matrix<T> {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) data: Vec<T>,
}

impl<T> Index<(usize, usize)> for Matrix<T> {
    type Output = T;
    fn index(&self, (row, col): (usize, usize)) -> &T {
        &self.data[row * self.cols + col]
    }
}

impl<T> IndexMut<(usize, usize)> for Matrix<T> {
    fn index_mut(&mut self, (row, col): (usize, usize)) -> &mut T {
        &mut self.data[row * self.cols + col]
    }
}

impl<T: MatrixNumber> Matrix<T> {
    pub(crate) fn zeros(rows: usize, cols: usize) -> Matrix<T> {
        Matrix { rows, cols, data: vec![T::of_real(0.0); rows * cols] }
    }

    pub(crate) fn identity(rows: usize, cols: usize) -> Matrix<T> {
        let mut matrix = Matrix::zeros(rows, cols);
        (0..rows.min(cols)).for_each(|i| matrix[(i, i)] = T::of_real(1.0));
        matrix
    }

    pub(crate) fn of_faer(matrix: faer::MatRef<'_, T>) -> Matrix<T> {
        let (rows, cols) = matrix.shape();
        Matrix::from_fn(rows, cols, |i, j| matrix[(i, j)])
    }

    pub(crate) fn faer(&self) -> faer::MatRef<'_, T> {
        faer::MatRef::from_row_major_slice(&self.data, self.rows, self.cols)
    }

    pub(crate) fn from_fn(rows: usize, cols: usize, f: impl Fn(usize, usize) -> T) -> Matrix<T> {
        let mut data = Vec::with_capacity(rows * cols);
        for i in 0..rows {
            data.extend((0..cols).map(|j| f(i, j)));
        }
        Matrix { rows, cols, data }
    }

    /// The size of the greatest number.
    pub(crate) fn greatest(&self) -> f64 {
        self.data.iter().fold(0.0, |max: f64, x| max.max(x.length()))
    }

    /// Divided by a number.
    pub(crate) fn divided(&self, by: f64) -> Matrix<T> {
        Matrix::from_fn(self.rows, self.cols, |i, j| self[(i, j)] / T::of_real(by))
    }

    /// What a column has from the diagonal on.
    pub(crate) fn column_from(&self, column: usize) -> Vec<T> {
        (column..self.rows).map(|row| self[(row, column)]).collect()
    }

    pub(crate) fn swap_rows(&mut self, a: usize, b: usize) {
        if a != b {
            let (head, tail) = self.data.split_at_mut(a.max(b) * self.cols);
            head[a.min(b) * self.cols..][..self.cols].swap_with_slice(&mut tail[..self.cols]);
        }
    }

    /// The conjugate transpose.
    pub(crate) fn adjoint(&self) -> Matrix<T> {
        Matrix::from_fn(self.cols, self.rows, |i, j| self[(j, i)].conjugate())
    }

    /// The Hermitian matrix of which one triangle is given; its diagonal counts as real.
    pub(crate) fn hermitian(&self, lower: bool) -> Matrix<T> {
        Matrix::from_fn(self.rows, self.cols, |i, j| match i.cmp(&j) {
            std::cmp::Ordering::Equal => T::of_real(self[(i, i)].real_part()),
            std::cmp::Ordering::Greater if !lower => self[(j, i)].conjugate(),
            std::cmp::Ordering::Less if lower => self[(j, i)].conjugate(),
            _ => self[(i, j)],
        })
    }

    /// The transpose.
    pub(crate) fn transpose(&self) -> Matrix<T> {
        Matrix::from_fn(self.cols, self.rows, |i, j| self[(j, i)])
    }

    pub(crate) fn times(&self, other: &Matrix<T>) -> Matrix<T> {
        Matrix::of_faer((self.faer() * other.faer()).as_ref())
    }

    /// Whether an element is not a number.
    pub(crate) fn has_nan(&self) -> bool {
        self.data.iter().any(|x| x.real_part().is_nan() || x.imaginary_part().is_nan())
    }

    /// Whether every element is finite.
    pub(crate) fn is_finite(&self) -> bool {
        self.data.iter().all(|x| x.real_part().is_finite() && x.imaginary_part().is_finite())
    }
}

/// The matrices of a tensor whose last two dimensions they are.
pub(crate) struct Batch<T> {
    pub(crate) batch: Vec<i64>,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    data: Vec<T>,
}

impl<T: MatrixNumber> Batch<T> {
    /// Reads a tensor of two dimensions or more, for an operator that holds one matrix at a time.
    pub(crate) fn read(tensor: &Tensor) -> Result<Batch<T>> {
        Batch::read_for(tensor, 1)
    }

    fn read_unasked(tensor: &Tensor) -> Result<Batch<T>> {
        let [batch @ .., rows, cols] = tensor.sizes() else {
            return Err(Error::runtime("expected a matrix or a batch of matrices"));
        };
        let data = tensor.to_dtype(T::DTYPE)?.to_vec::<T>()?;
        Ok(Batch { batch: batch.to_vec(), rows: *rows as usize, cols: *cols as usize, data })
    }

    /// As [`Batch::read`], for an operator that holds at least so many matrices of this size at once: refuses,
    /// before anything is read, what would be more than may be held.
    pub(crate) fn read_for(tensor: &Tensor, working_matrices: usize) -> Result<Batch<T>> {
        ask_for::<T>(&[(tensor, working_matrices)])?;
        Batch::read_unasked(tensor)
    }

    /// As [`Batch::read_for`], of two tensors whose matrices are worked on side by side.
    pub(crate) fn read_both(
        first: (&Tensor, usize),
        second: (&Tensor, usize),
    ) -> Result<[Batch<T>; 2]> {
        ask_for::<T>(&[first, second])?;
        Ok([Batch::read_unasked(first.0)?, Batch::read_unasked(second.0)?])
    }

    /// How many matrices there are.
    pub(crate) fn count(&self) -> usize {
        sconce_kernels::layout::numel(&self.batch).unwrap_or(0) as usize
    }

    pub(crate) fn matrices(&self) -> impl Iterator<Item = Matrix<T>> {
        let (rows, cols, step) = (self.rows, self.cols, self.rows * self.cols);
        (0..self.count()).map(move |at| Matrix {
            rows,
            cols,
            data: self.data[at * step..(at + 1) * step].to_vec(),
        })
    }

    /// An empty result with the same batch and other last dimensions.
    ///
    /// # Errors
    /// As [`Out::new`].
    pub(crate) fn out<U: PodElement>(&self, last: &[usize]) -> Result<Out<U>> {
        Out::new(&self.batch, last)
    }
}

/// Refuses, before anything is made of some tensors, what would be more than may be held: all their numbers, and
/// so many matrices of each at once.
pub(crate) fn ask_for<T>(tensors: &[(&Tensor, usize)]) -> Result<()> {
    let numbers = tensors.iter().map(|(tensor, working_matrices)| {
        let [.., rows, cols] = tensor.sizes() else { return 0 };
        let matrix = usize::try_from(rows.saturating_mul(*cols)).unwrap_or(usize::MAX);
        let all = usize::try_from(tensor.numel()).unwrap_or(usize::MAX);
        all.saturating_add(matrix.saturating_mul(*working_matrices))
    });
    let numbers = numbers.fold(0, usize::saturating_add);
    Memory::check_scratch(numbers.saturating_mul(size_of::<T>()))
}

/// A result that is filled one matrix after the other.
pub(crate) struct Out<U> {
    sizes: Vec<i64>,
    count: usize,
    data: Vec<U>,
}

impl<U: PodElement> Out<U> {
    /// A result of so many matrices of these sizes, still empty.
    ///
    /// # Errors
    /// Where it would be more than the program may hold.
    pub(crate) fn new(batch: &[i64], last: &[usize]) -> Result<Out<U>> {
        let sizes: Vec<i64> = batch.iter().copied().chain(last.iter().map(|&n| n as i64)).collect();
        let count = sizes.iter().fold(1, |all: usize, &size| all.saturating_mul(size as usize));
        Memory::check_scratch(count.saturating_mul(size_of::<U>()))?;
        Ok(Out { sizes, count, data: Vec::new() })
    }

    pub(crate) fn push(&mut self, data: &[U]) {
        if self.data.is_empty() {
            self.data.reserve_exact(self.count.max(data.len()));
        }
        self.data.extend_from_slice(data);
    }

    /// The tensor, in a dtype, of matrices that were filled in transposed: their columns lie side by side in
    /// memory, as LAPACK returns them.
    pub(crate) fn columns(&self, dtype: DType) -> Result<Tensor> {
        self.tensor(dtype)?.transpose(-2, -1)
    }

    /// The tensor, in a dtype.
    pub(crate) fn tensor(&self, dtype: DType) -> Result<Tensor> {
        Tensor::from_slice(&self.data, &self.sizes)?.to_dtype(dtype)
    }
}

/// Calls a generic function with the number type of a tensor's dtype.
macro_rules! by_number {
    ($tensor:expr, $T:ident => $call:expr) => {
        if $tensor.dtype().is_complex() {
            type $T = num_complex::Complex64;
            $call
        } else {
            type $T = f64;
            $call
        }
    };
}
pub(crate) use by_number;

/// Refuses what is no batch of matrices.
pub(crate) fn check_matrices(input: &Tensor, function: &str, name: &str) -> Result<()> {
    if input.dim() >= 2 {
        return Ok(());
    }
    Err(Error::runtime(format!(
        "{function}: The input tensor {name} must have at least 2 dimensions."
    )))
}

/// Refuses what is no batch of square matrices.
pub(crate) fn check_square(input: &Tensor, function: &str, name: &str) -> Result<()> {
    check_matrices(input, function, name)?;
    let (rows, cols) = (input.size(-2)?, input.size(-1)?);
    if rows == cols {
        return Ok(());
    }
    Err(Error::runtime(format!(
        "{function}: {name} must be batches of square matrices, but they are {rows} by {cols} \
         matrices"
    )))
}

/// Refuses dtypes that have no linear algebra.
pub(crate) fn check_float(input: &Tensor, function: &str) -> Result<()> {
    let dtype = input.dtype();
    if !dtype.is_floating_point() && !dtype.is_complex() {
        return Err(Error::runtime(format!(
            "{function}: Expected a floating point or complex tensor as input. Got {}",
            dtype.scalar_type_name()
        )));
    }
    match dtype {
        DType::Float32 | DType::Float64 | DType::Complex64 | DType::Complex128 => Ok(()),
        _ => Err(Error::runtime(format!(
            "{function}: Low precision dtypes not supported. Got {}",
            dtype.scalar_type_name()
        ))),
    }
}

/// The same of what PyTorch only finds when it computes: of no elements, all dtypes have linear algebra.
pub(crate) fn check_computed(input: &Tensor, function: &str) -> Result<()> {
    if input.numel() == 0 && input.dtype().is_floating_point() {
        return Ok(());
    }
    check_float(input, function)
}

/// The batch that both broadcast to, and both tensors expanded to it.
pub(crate) fn broadcast_batches(a: &Tensor, b: &Tensor) -> Result<(Tensor, Tensor)> {
    let split = |tensor: &Tensor| {
        let (batch, matrix) = tensor.sizes().split_at(tensor.dim() - 2);
        (batch.to_vec(), matrix.to_vec())
    };
    let ((a_batch, a_last), (b_batch, b_last)) = (split(a), split(b));
    let batch = sconce_kernels::layout::broadcast(&a_batch, &b_batch)?;
    let to = |last: Vec<i64>| batch.iter().copied().chain(last).collect::<Vec<i64>>();
    Ok((a.expand(&to(a_last))?, b.expand(&to(b_last))?))
}

/// `aten::_linalg_check_errors`: refuses a batch of which one has an `info` other than 0.
pub(crate) fn check_info(info: &Tensor, function: &str, single: bool) -> Result<()> {
    let info = info.to_dtype(DType::Int64)?.to_vec::<i64>()?;
    let Some((at, &info)) = info.iter().enumerate().find(|&(_, &info)| info != 0) else {
        return Ok(());
    };
    let place = if single { String::new() } else { format!("(Batch element {at})") };
    let start = format!("{function}: {place}{}", if single { "" } else { ": " });
    if info < 0 {
        return Err(Error::runtime(format!(
            "{start}Argument {} has illegal value. Most certainly there is a bug in the implementation calling the backend library.",
            -info
        )));
    }
    let why = if function.contains("inv") {
        format!(
            "The diagonal element {info} is zero, the inversion could not be completed because the input matrix is singular."
        )
    } else if function.contains("solve") {
        "The solver failed because the input matrix is singular.".to_owned()
    } else if function.contains("cholesky") {
        format!(
            "The factorization could not be completed because the input is not positive-definite (the leading minor of order {info} is not positive-definite)."
        )
    } else if function.contains("svd") {
        format!(
            "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated singular values (error code: {info})."
        )
    } else if function.contains("eig") || function.contains("syevd") {
        format!(
            "The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated eigenvalues (error code: {info})."
        )
    } else if function.contains("lstsq") {
        format!(
            "The least squares solution could not be computed because the input matrix does not have full rank (error code: {info})."
        )
    } else if function.contains("lu_factor") {
        format!(
            "U[{info},{info}] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
        )
    } else {
        format!("Unknown error code: {info}.")
    };
    Err(Error::runtime(format!("{start}{why}")))
}
