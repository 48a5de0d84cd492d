//! Reductions over dimensions: `sum`, `mean`, `prod`, `var`, `norm`, `any`, `all`.
//!
//! Most reductions are an [`OrderedFold`] over the tensor as it lies in memory: over rows, or over
//! columns where those are adjacent. The others work on rows: the reduced dimensions are moved to the
//! end and made contiguous.

use num_complex::Complex;
use num_traits::{One, Zero};
use sconce_kernel_core::layout::shape::wrap_dim;
use sconce_kernel_core::layout::strided_iter;
use sconce_kernel_core::simd::dispatch::dispatch;
use sconce_kernel_core::tensor::promotion::compute_dtype;
use smallvec::SmallVec;

use crate::elementwise::unary::unary;
use crate::elementwise::unary_op::UnaryOp;
use crate::reduction::reduction_order::{Columns, OrderedFold};
use crate::{Bool, DType, Dims, Error, PodElement, Result, Storage, Tensor};

/// The rows of a tensor: what stays, and what is reduced, side by side.
pub(crate) struct Rows {
    /// Contiguous; the reduced dimensions are the last ones.
    pub(crate) tensor: Tensor,
    /// Elements of a row.
    pub(crate) len: usize,
    /// Number of rows.
    pub(crate) count: usize,
    /// Sizes of the result.
    pub(crate) sizes: Dims,
}

/// All dimensions where none is named.
pub(crate) fn rows(input: &Tensor, dims: &[i64], keepdim: bool) -> Result<Rows> {
    Reduced::new(input, dims, keepdim)?.rows()
}

/// A tensor and which of its dimensions go.
pub(crate) struct Reduced {
    /// A view of it in which these are the last ones.
    permuted: Tensor,
    /// How many dimensions stay.
    kept: usize,
    /// Elements that become one.
    pub(crate) len: usize,
    /// Elements of the result.
    pub(crate) count: usize,
    /// Sizes of the result.
    pub(crate) sizes: Dims,
}

impl Reduced {
    /// All dimensions where none is named.
    pub(crate) fn new(input: &Tensor, dims: &[i64], keepdim: bool) -> Result<Reduced> {
        let n = input.dim();
        let mut reduced = Dims::from_elem(i64::from(dims.is_empty()), n.max(1));
        for &dim in dims {
            let dim = wrap_dim(dim, n)?;
            let Some(reduced) = reduced.get_mut(dim) else { continue };
            if *reduced == 1 {
                return Err(Error::runtime(format!(
                    "dim {dim} appears multiple times in the list of dims"
                )));
            }
            *reduced = 1;
        }
        let (mut order, mut gone, mut sizes) = (Dims::new(), Dims::new(), Dims::new());
        let (mut len, mut count) = (1, 1);
        for (dim, (&size, &reduced)) in input.sizes().iter().zip(&reduced).enumerate() {
            if reduced == 1 {
                gone.push(dim as i64);
                len = usize::saturating_mul(len, size as usize);
                if keepdim {
                    sizes.push(1);
                }
            } else {
                order.push(dim as i64);
                count = usize::saturating_mul(count, size as usize);
                sizes.push(size);
            }
        }
        let kept = order.len();
        order.extend_from_slice(&gone);
        Ok(Reduced { permuted: input.permute(&order)?, kept, len, count, sizes })
    }

    /// Where the elements lie, among others.
    pub(crate) fn storage(&self) -> &Storage {
        self.permuted.storage()
    }

    /// What is reduced, side by side.
    pub(crate) fn rows(self) -> Result<Rows> {
        let Reduced { permuted, len, count, sizes, .. } = self;
        Ok(Rows { tensor: permuted.contiguous()?, len, count, sizes })
    }

    /// The elements as columns, where they lie so in memory and enough of them are side by side.
    pub(crate) fn columns(&self) -> Option<Columns> {
        if self.len == 0 || self.count == 0 {
            return None;
        }
        let (sizes, strides) = (self.permuted.sizes(), self.permuted.strides());
        let (sizes, strides) = (sizes.split_at(self.kept), strides.split_at(self.kept));
        let (gone, [steps]) = strided_iter::merge(sizes.1, [strides.1]);
        let (kept, [strides]) = strided_iter::merge(sizes.0, [strides.0]);
        let ([len], [step]) = (&gone[..], &steps[..]) else { return None };
        let ((&width, kept), (&1, strides)) = (kept.split_last()?, strides.split_last()?) else {
            return None;
        };
        if width < NARROW {
            return None;
        }
        let mut starts = SmallVec::with_capacity(self.count / width as usize);
        strided_iter::rows(kept, [strides], [self.permuted.offset()], |[at], [step], count| {
            starts.extend((0..count).map(|i| at + i * step));
        });
        Some(Columns { starts, width: width as usize, len: *len as usize, step: *step as usize })
    }

    /// What `finish` makes of every folded row.
    pub(crate) fn fold<T: PodElement, A, M, J, U: PodElement>(
        self,
        fold: OrderedFold<A, M, J>,
        finish: impl Fn(A) -> U + Copy + Sync,
    ) -> Result<Tensor>
    where
        A: Copy + Send + Sync,
        M: Fn(T) -> A + Copy + Sync,
        J: Fn(A, A) -> A + Copy + Sync,
    {
        let result = Tensor::for_overwrite(&self.sizes, U::DTYPE)?;
        let mut out = result.write::<U>()?;
        match self.columns() {
            Some(columns) => {
                fold.columns(&self.permuted.storage().read::<T>()?, &columns, &mut out, finish);
            }
            None => {
                let rows = self.rows()?;
                fold.rows(&rows.tensor.read::<T>()?, rows.len, &mut out, finish);
            }
        }
        drop(out);
        Ok(result)
    }

    /// The sum of every row.
    fn sums<T: PodElement + Zero>(self) -> Result<Tensor> {
        self.fold(OrderedFold::new(T::zero(), |x: T| x, |a, b| a + b), |sum| sum)
    }

    /// The product of every row.
    fn products<T: PodElement + One>(self) -> Result<Tensor> {
        self.fold(OrderedFold::new(T::one(), |x: T| x, |a, b| a * b), |product| product)
    }
}

/// So few columns are quicker made rows first.
pub(crate) const NARROW: i64 = 8;

impl Rows {
    /// One value for every row.
    pub(crate) fn each<T: PodElement, U: PodElement>(
        &self,
        f: impl Fn(&[T]) -> U,
    ) -> Result<Tensor> {
        let result = Tensor::zeros(&self.sizes, U::DTYPE)?;
        let all = self.tensor.read::<T>()?;
        let mut out = result.write::<U>()?;
        dispatch(
            #[inline(always)]
            || {
                for (i, out) in out.iter_mut().enumerate() {
                    *out = f(&all[i * self.len..(i + 1) * self.len]);
                }
            },
        );
        drop(out);
        Ok(result)
    }
}

/// The sum of a row, in an order that depends on its length alone.
pub(crate) fn row_sum<T: Copy + Zero>(row: &[T]) -> T {
    OrderedFold::new(T::zero(), |x: T| x, |a, b| a + b).row(row)
}

/// `torch.sum`: integers and `bool` add up in `int64` unless `dtype` is given.
///
/// # Errors
/// Where there is no such dimension or one is named twice.
///
/// ```
/// use sconce_kernels::{DType, Tensor, sum};
/// let t = Tensor::from_slice(&[1i32, 2, 3, 4], &[2, 2])?;
/// assert_eq!(sum(&t, &[0], false, None)?.to_vec::<i64>()?, [4, 6]);
/// # Ok::<(), sconce_kernels::Error>(())
/// ```
pub fn sum(input: &Tensor, dims: &[i64], keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    let whole = input.dtype().is_integral() || input.dtype() == DType::Bool;
    let dtype = dtype.unwrap_or(if whole { DType::Int64 } else { input.dtype() });
    if whole && dtype == DType::Int64 {
        return whole_sum(input, dims, keepdim);
    }
    if dtype.is_integral() {
        return whole_sum(&input.to_dtype(dtype)?, dims, keepdim)?.to_dtype(dtype);
    }
    let wide = input.to_dtype(dtype)?.to_dtype(compute_dtype(dtype))?;
    let reduced = Reduced::new(&wide, dims, keepdim)?;
    let result = match wide.dtype() {
        DType::Float32 => reduced.sums::<f32>(),
        DType::Float64 => reduced.sums::<f64>(),
        DType::Complex64 => reduced.sums::<Complex<f32>>(),
        DType::Complex128 => reduced.sums::<Complex<f64>>(),
        DType::Bool => {
            let join = |a: bool, b: bool| a | b;
            reduced.fold(OrderedFold::exact(false, |x: Bool| x.get(), join), Bool::from)
        }
        other => Err(Error::no_kernel("sum_cpu", other)),
    }?;
    result.to_dtype(dtype)
}

/// The sum of integers or `bool`s as `int64`, which wraps around.
fn whole_sum(input: &Tensor, dims: &[i64], keepdim: bool) -> Result<Tensor> {
    macro_rules! of {
        ($ty:ty, $x:ident => $wide:expr) => {{
            let of = |$x: $ty| -> i64 { $wide };
            let reduced = Reduced::new(input, dims, keepdim)?;
            reduced.fold(OrderedFold::exact(0, of, i64::wrapping_add), |sum| sum)
        }};
    }
    match input.dtype() {
        DType::Bool => of!(Bool, x => i64::from(x.get())),
        DType::UInt8 => of!(u8, x => x.into()),
        DType::Int8 => of!(i8, x => x.into()),
        DType::Int16 => of!(i16, x => x.into()),
        DType::Int32 => of!(i32, x => x.into()),
        DType::Int64 => of!(i64, x => x),
        _ => whole_sum(&input.to_dtype(DType::Int64)?, dims, keepdim),
    }
}

/// `torch.mean`.
///
/// # Errors
/// For integers, and as [`sum`].
pub fn mean(input: &Tensor, dims: &[i64], keepdim: bool, dtype: Option<DType>) -> Result<Tensor> {
    if input.dtype().is_quantized() {
        let own = crate::per_tensor(input)?;
        return crate::through_floats(&[input], own, |real| match real {
            [real] => mean(real, dims, keepdim, dtype),
            _ => Err(Error::runtime("mean(): expected one tensor")),
        });
    }
    let out = dtype.unwrap_or(input.dtype());
    if !out.is_floating_point() && !out.is_complex() {
        return Err(Error::not_implemented(format!(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or \
             complex dtype. Got: {}",
            out.scalar_type_name()
        )));
    }
    let compute = compute_dtype(out);
    let total = sum(&input.to_dtype(out)?.to_dtype(compute)?, dims, keepdim, None)?;
    let len = rows_len(input, dims)? as f64;
    crate::binary(crate::BinaryOp::Div, (&total).into(), len.into())?.to_dtype(out)
}

fn rows_len(input: &Tensor, dims: &[i64]) -> Result<i64> {
    if dims.is_empty() {
        return Ok(input.numel());
    }
    dims.iter().try_fold(1, |len, &dim| {
        let dim = wrap_dim(dim, input.dim())?;
        Ok(i64::saturating_mul(len, input.sizes().get(dim).copied().unwrap_or(1)))
    })
}

/// `torch.prod` over one dimension, or all of them.
///
/// # Errors
/// As [`sum`].
pub fn prod(input: &Tensor, dim: Option<i64>, keepdim: bool) -> Result<Tensor> {
    let whole = input.dtype().is_integral() || input.dtype() == DType::Bool;
    let dtype = if whole { DType::Int64 } else { input.dtype() };
    let wide = input.to_dtype(dtype)?.to_dtype(compute_dtype(dtype))?;
    let reduced = Reduced::new(&wide, dim.as_slice(), keepdim)?;
    let result = match wide.dtype() {
        DType::Float32 => reduced.products::<f32>(),
        DType::Float64 => reduced.products::<f64>(),
        DType::Int64 => {
            reduced.fold(OrderedFold::exact(1, |x: i64| x, i64::wrapping_mul), |all| all)
        }
        other => Err(Error::no_kernel("prod_cpu", other)),
    }?;
    result.to_dtype(dtype)
}

/// `torch.all`.
///
/// # Errors
/// As [`sum`].
pub fn all(input: &Tensor, dims: &[i64], keepdim: bool) -> Result<Tensor> {
    truth(input, dims, keepdim, true, |a, b| a & b)
}

/// `torch.any`.
///
/// # Errors
/// As [`sum`].
pub fn any(input: &Tensor, dims: &[i64], keepdim: bool) -> Result<Tensor> {
    truth(input, dims, keepdim, false, |a, b| a | b)
}

fn truth(
    input: &Tensor,
    dims: &[i64],
    keepdim: bool,
    start: bool,
    join: impl Fn(u8, u8) -> u8 + Copy + Sync,
) -> Result<Tensor> {
    // Bytes make vector code, `bool`s do not.
    let fold = OrderedFold::exact(u8::from(start), |x: Bool| u8::from(x.get()), join);
    let reduced = Reduced::new(&input.to_dtype(DType::Bool)?, dims, keepdim)?;
    let result = reduced.fold(fold, |x| Bool::from(x != 0))?;
    // The one reduction that keeps uint8, as PyTorch does for old programs.
    if input.dtype() == DType::UInt8 { result.to_dtype(DType::UInt8) } else { Ok(result) }
}

/// `torch.var` with a correction (1 by default in PyTorch): two passes, in `float64`.
///
/// # Errors
/// For integers, and as [`sum`].
pub fn var(input: &Tensor, dims: &[i64], correction: f64, keepdim: bool) -> Result<Tensor> {
    let dtype = input.dtype();
    if !dtype.is_floating_point() {
        let message = "std and var only support floating point and complex dtypes";
        return Err(Error::not_implemented(message));
    }
    let rows = rows(&input.to_dtype(DType::Float64)?, dims, keepdim)?;
    let result = rows.each(|row: &[f64]| {
        let n = row.len() as f64;
        let mean = row_sum(row) / n;
        let squares: Vec<f64> = row.iter().map(|x| (x - mean) * (x - mean)).collect();
        // Of nothing, the mean is not a number either.
        if row.is_empty() { f64::NAN } else { row_sum(&squares) / (n - correction).max(0.0) }
    })?;
    result.to_dtype(dtype)
}

/// `torch.std`.
///
/// # Errors
/// As [`var`].
pub fn std(input: &Tensor, dims: &[i64], correction: f64, keepdim: bool) -> Result<Tensor> {
    let wide = input.to_dtype(compute_dtype(input.dtype()))?;
    unary(UnaryOp::Sqrt, &var(&wide, dims, correction, keepdim)?)?.to_dtype(input.dtype())
}

/// `torch.linalg.vector_norm` of order `p`.
///
/// # Errors
/// For integers, and as [`sum`].
pub fn norm(input: &Tensor, p: f64, dims: &[i64], keepdim: bool) -> Result<Tensor> {
    if input.dtype().is_complex() {
        return norm(&unary(UnaryOp::Abs, input)?, p, dims, keepdim);
    }
    let dtype = input.dtype();
    if !dtype.is_floating_point() {
        return Err(Error::runtime(format!(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got {}",
            dtype.scalar_type_name()
        )));
    }
    if p < 0.0 || p == f64::INFINITY {
        check_identity(input, p, dims)?;
    }
    let wide = input.to_dtype(compute_dtype(dtype))?;
    let reduced = Reduced::new(&wide, dims, keepdim)?;
    if reduced.len == 0 {
        return Tensor::zeros(&reduced.sizes, dtype);
    }
    let result = match wide.dtype() {
        DType::Float32 => reduced.norms::<f32>(p),
        _ => reduced.norms::<f64>(p),
    }?;
    result.to_dtype(dtype)
}

/// Refuses norms that nothing has: of no elements at all, or of an empty dimension.
fn check_identity(input: &Tensor, order: f64, dims: &[i64]) -> Result<()> {
    let whole = dims.is_empty() || (dims.len() == 1 && input.dim() == 1);
    if whole && input.numel() == 0 {
        return Err(Error::runtime(format!(
            "linalg.vector_norm cannot compute the {order} norm on an empty tensor because the \
             operation does not have an identity"
        )));
    }
    for &dim in dims {
        if input.dim() > 0 && input.size(dim)? == 0 {
            return Err(Error::runtime(format!(
                "linalg.vector_norm cannot compute the {order} norm on the dimension {dim}because \
                 this dimension is empty and the operation does not have an identity"
            )));
        }
    }
    Ok(())
}

impl Reduced {
    /// The norm of every row, in double precision; sums beyond what the dtype holds are infinite.
    fn norms<T: PodElement + Into<f64>>(self, p: f64) -> Result<Tensor> {
        let most = if T::DTYPE == DType::Float32 { f64::from(f32::MAX) } else { f64::MAX };
        let held = move |sum: f64| if sum > most { f64::INFINITY } else { sum };
        let join = |a: f64, b: f64| a + b;
        let pick = |a: f64, b: f64, keep: bool| if a.is_nan() || keep { a } else { b };
        match p {
            2.0 => {
                let squares = OrderedFold::new(0.0, |x: T| x.into() * x.into(), join);
                self.fold(squares, move |sum| held(sum).sqrt())
            }
            1.0 => self.fold(OrderedFold::new(0.0, |x: T| x.into().abs(), join), |sum| sum),
            0.0 => {
                let of = |x: T| if x.into() == 0.0 { 0.0 } else { 1.0 };
                self.fold(OrderedFold::new(0.0, of, join), |count| count)
            }
            f64::INFINITY => {
                let join = |a: f64, b: f64| pick(a, b, a > b);
                self.fold(OrderedFold::new(0.0, |x: T| x.into().abs(), join), |most| most)
            }
            f64::NEG_INFINITY => {
                let join = |a: f64, b: f64| pick(a, b, a < b);
                self.fold(OrderedFold::new(f64::INFINITY, |x: T| x.into().abs(), join), |x| x)
            }
            p => {
                let of = |x: T| x.into().abs().powf(p);
                self.fold(OrderedFold::new(0.0, of, join), move |sum| held(sum).powf(1.0 / p))
            }
        }
    }
}

/// `torch.count_nonzero` over all elements.
///
/// # Errors
/// For dtypes without kernels.
pub fn count_nonzero(input: &Tensor) -> Result<Tensor> {
    sum(&input.to_dtype(DType::Bool)?, &[], false, None)
}

/// `torch.sum_to_size`.
///
/// # Errors
/// Where the sizes do not broadcast to those of the input.
pub fn sum_to_size(input: &Tensor, sizes: &[i64]) -> Result<Tensor> {
    let expandable = sizes.len() <= input.dim()
        && sizes
            .iter()
            .rev()
            .zip(input.sizes().iter().rev())
            .all(|(&to, &from)| to == 1 || to == from);
    if !expandable {
        return Err(Error::runtime(format!(
            "size {{{}}} is not expandable to size {{{}}}.",
            sconce_kernel_core::layout::shape::list(sizes),
            sconce_kernel_core::layout::shape::list(input.sizes())
        )));
    }
    if sizes.is_empty() {
        return crate::sum(input, &[], false, None);
    }
    let lead = input.dim() - sizes.len();
    let goes = |dim: &usize| {
        dim.checked_sub(lead).is_none_or(|at| sizes[at] == 1 && input.sizes()[*dim] != 1)
    };
    let dims: Vec<i64> = (0..input.dim()).filter(goes).map(|dim| dim as i64).collect();
    if dims.is_empty() {
        return Ok(input.clone());
    }
    crate::sum(input, &dims, true, None)?.view(sizes)
}
