//! Tensors: strided views of storages.

use std::any::Any;
use std::cell::{OnceCell, Ref, RefMut};
use std::fmt;
use std::rc::Rc;

use half::{bf16, f16};
use num_complex::Complex;
use sconce_tensor::Float8;

use crate::layout::shape::{self, contiguous_strides, list, numel};
use crate::layout::strided_iter;
use crate::{Bool, DType, Dims, Error, PodElement, Result, Scalar, Storage};

/// A strided view of a [`Storage`], `torch.Tensor` at run time.
///
/// Cloning copies no elements: clones and views share the storage, and what is written through one
/// is seen through all of them, as in PyTorch. What a tensor looks like can be changed for all its
/// clones, but not its views: [`Tensor::show`].
///
/// ```
/// use sconce_kernel_core::Tensor;
/// let t = Tensor::from_slice(&[1f32, 2.0, 3.0, 4.0], &[2, 2])?;
/// t.select(0, 1)?.fill(9.0.into())?;
/// assert_eq!(t.to_vec::<f32>()?, [1.0, 2.0, 9.0, 9.0]);
/// # Ok::<(), sconce_kernel_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Tensor(Rc<View>);

struct View {
    storage: Storage,
    dtype: DType,
    sizes: Dims,
    strides: Dims,
    offset: i64,
    /// How many elements there are. This and the next two follow from sizes and strides, and every
    /// kernel asks.
    count: usize,
    /// [`Tensor::is_contiguous`].
    contiguous: bool,
    /// [`Tensor::is_row_major`].
    row_major: bool,
    /// The view that replaced this one when the tensor was changed in place. Never emptied again, so that sizes
    /// and strides that were lent stay where they are.
    replacement: OnceCell<Rc<View>>,
    /// How many views came before this one.
    changes: u16,
    /// [`Tensor::attachment`], of the first view.
    attachment: OnceCell<Rc<dyn Any>>,
}

impl View {
    fn new(
        storage: Storage,
        dtype: DType,
        sizes: Dims,
        strides: Dims,
        offset: i64,
        changes: u16,
    ) -> View {
        let count = shape::product(&sizes) as usize;
        let row_major = shape::is_row_major(&sizes, &strides);
        let contiguous = row_major || shape::is_contiguous(&sizes, &strides);
        let replacement = OnceCell::new();
        View {
            storage,
            dtype,
            sizes,
            strides,
            offset,
            count,
            contiguous,
            row_major,
            replacement,
            changes,
            attachment: OnceCell::new(),
        }
    }
}

/// How often a tensor may change its view: each is kept, and all are walked through.
const MAX_CHANGES: u16 = 256;

impl Tensor {
    /// Row-major and zero: `torch.zeros`.
    ///
    /// # Errors
    /// For negative sizes and where memory is short.
    pub fn zeros(sizes: &[i64], dtype: DType) -> Result<Tensor> {
        Tensor::row_major(sizes, dtype, Storage::zeroed)
    }

    /// Row-major, for the caller to overwrite every element: what they are is whatever was in
    /// memory before.
    pub fn for_overwrite(sizes: &[i64], dtype: DType) -> Result<Tensor> {
        Tensor::row_major(sizes, dtype, Storage::for_overwrite)
    }

    fn row_major(
        sizes: &[i64],
        dtype: DType,
        make: impl FnOnce(usize) -> Result<Storage>,
    ) -> Result<Tensor> {
        let count = numel(sizes)?;
        if count == 0 {
            shape::check_strides(sizes)?;
        }
        let nbytes = usize::try_from(count)
            .ok()
            .and_then(|n| n.checked_mul(dtype.item_size()))
            .filter(|&n| n <= isize::MAX as usize)
            .ok_or_else(|| Error::runtime("Storage size calculation overflowed"))?;
        let (sizes, strides) = (Dims::from_slice(sizes), contiguous_strides(sizes));
        Ok(Tensor::new(make(nbytes)?, dtype, sizes, strides, 0))
    }

    fn new(storage: Storage, dtype: DType, sizes: Dims, strides: Dims, offset: i64) -> Tensor {
        Tensor(Rc::new(View::new(storage, dtype, sizes, strides, offset, 0)))
    }

    #[inline]
    fn current(&self) -> &View {
        let mut view = &*self.0;
        while let Some(replacement) = view.replacement.get() {
            view = replacement;
        }
        view
    }

    /// Makes this tensor and all its clones look as `view` does, and share its storage: what PyTorch's
    /// in-position operators do that change sizes (`unsqueeze_`, `t_`, `resize_`, `set_`).
    ///
    /// # Errors
    /// Where it has changed too often, and for another dtype.
    pub fn show(&self, view: &Tensor) -> Result<()> {
        view.expect_dtype(self.dtype())?;
        let (current, shown) = (self.current(), view.current());
        if current.changes >= MAX_CHANGES {
            return Err(Error::not_implemented(format!(
                "a tensor whose sizes change in place more than {MAX_CHANGES} times"
            )));
        }
        let replacement = View::new(
            shown.storage.clone(),
            shown.dtype,
            shown.sizes.clone(),
            shown.strides.clone(),
            shown.offset,
            current.changes + 1,
        );
        // The last view has no replacement until here.
        current
            .replacement
            .set(Rc::new(replacement))
            .map_err(|_| Error::runtime("a tensor changed while it was read"))
    }

    /// `torch.Tensor.resize_`: other sizes over the same storage, row-major; a storage that is too
    /// small is replaced by a larger one, with zeros at its end.
    ///
    /// # Errors
    /// Where the storage is too small and other tensors share it.
    pub fn resize(&self, sizes: &[i64]) -> Result<()> {
        if self.sizes() == sizes {
            return Ok(());
        }
        let strides = contiguous_strides(sizes);
        let end = self.offset().saturating_add(numel(sizes)?);
        let item = self.dtype().item_size();
        if end as u128 * item as u128 <= self.storage().nbytes() as u128 {
            return self.show(&self.as_strided(sizes, &strides, None)?);
        }
        if !self.storage().is_unique() {
            let message = "a larger size for a tensor whose storage other tensors share";
            return Err(Error::not_implemented(message));
        }
        let larger = Tensor::zeros(&[end], self.dtype())?;
        let held = (self.storage().nbytes() / item) as i64;
        larger.narrow(0, 0, held)?.copy_from(&self.as_strided(&[held], &[1], Some(0))?)?;
        self.show(&larger.as_strided(sizes, &strides, Some(self.offset()))?)
    }

    /// `torch.empty`. The elements are zero all the same: what a program can see must not depend on
    /// what memory held before.
    ///
    /// # Errors
    /// As [`Tensor::zeros`].
    pub fn empty(sizes: &[i64], dtype: DType) -> Result<Tensor> {
        Tensor::zeros(sizes, dtype)
    }

    /// `torch.full`.
    ///
    /// # Errors
    /// As [`Tensor::zeros`], and for numbers that the dtype cannot hold.
    pub fn full(sizes: &[i64], value: Scalar, dtype: DType) -> Result<Tensor> {
        let tensor = Tensor::for_overwrite(sizes, dtype)?;
        tensor.fill(value)?;
        Ok(tensor)
    }

    /// A tensor without dimensions. What is beyond a floating dtype becomes infinite.
    ///
    /// # Errors
    /// As [`Tensor::full`], for integers.
    pub fn scalar(value: Scalar, dtype: DType) -> Result<Tensor> {
        value.check_fits_whole(dtype)?;
        let tensor = Tensor::for_overwrite(&[], dtype)?;
        tensor.fill_rounded(value)?;
        Ok(tensor)
    }

    /// A row-major copy of `elements`.
    ///
    /// # Errors
    /// Where `sizes` hold another number of elements.
    pub fn from_slice<T: PodElement>(elements: &[T], sizes: &[i64]) -> Result<Tensor> {
        if numel(sizes)? as u64 != elements.len() as u64 {
            return Err(Error::runtime(format!(
                "shape '{}' is invalid for input of size {}",
                list(sizes),
                elements.len()
            )));
        }
        let tensor = Tensor::for_overwrite(sizes, T::DTYPE)?;
        tensor.write::<T>()?.copy_from_slice(elements);
        Ok(tensor)
    }

    /// A tensor of `bool`s.
    ///
    /// # Errors
    /// As [`Tensor::from_slice`].
    pub fn from_bools(elements: &[bool], sizes: &[i64]) -> Result<Tensor> {
        let elements: Vec<Bool> = elements.iter().map(|&b| b.into()).collect();
        Tensor::from_slice(&elements, sizes)
    }

    /// A view of a storage.
    ///
    /// # Errors
    /// Where it reaches beyond the storage, or a number is negative.
    pub fn from_storage(
        storage: Storage,
        dtype: DType,
        sizes: &[i64],
        strides: &[i64],
        offset: i64,
    ) -> Result<Tensor> {
        let whole = Tensor::new(storage, dtype, Dims::new(), Dims::new(), 0);
        whole.as_strided(sizes, strides, Some(offset))
    }

    /// The storage, which other tensors may share.
    #[inline]
    pub fn storage(&self) -> &Storage {
        &self.current().storage
    }

    /// The type of the elements.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.current().dtype
    }

    /// Sizes of the dimensions.
    #[inline]
    pub fn sizes(&self) -> &[i64] {
        &self.current().sizes
    }

    /// [`Tensor::sizes`] by the name that it has in Python.
    #[inline]
    pub fn shape(&self) -> &[i64] {
        self.sizes()
    }

    /// Steps between neighbours, in elements.
    #[inline]
    pub fn strides(&self) -> &[i64] {
        &self.current().strides
    }

    /// Where the view starts in its storage, in elements.
    #[inline]
    pub fn offset(&self) -> i64 {
        self.current().offset
    }

    /// Number of dimensions.
    #[inline]
    pub fn dim(&self) -> usize {
        self.current().sizes.len()
    }

    /// Size of one dimension, which may count from the end.
    ///
    /// # Errors
    /// Where there is no such dimension.
    pub fn size(&self, dim: i64) -> Result<i64> {
        let at = shape::wrap_dim(dim, self.dim())?;
        self.sizes().get(at).copied().ok_or_else(|| {
            Error::index(format!("Dimension specified as {dim} but tensor has no dimensions"))
        })
    }

    /// Number of elements.
    #[inline]
    pub fn numel(&self) -> i64 {
        self.current().count as i64
    }

    /// How many bytes its elements would take if each had memory of its own, of sizes that are 0 as if they
    /// were 1: who goes over all of them goes over this many, however few there are in memory.
    #[inline]
    pub fn extent(&self) -> usize {
        let View { dtype, sizes, count, contiguous, .. } = self.current();
        let elements = match (*count, *contiguous) {
            (1.., true) => *count,
            _ => sizes.iter().fold(1, |all: usize, &size| all.saturating_mul(size.max(1) as usize)),
        };
        elements.saturating_mul(dtype.item_size())
    }

    /// Whether both are one tensor, not only views of the same elements: Python's `is`.
    #[inline]
    pub fn is(&self, other: &Tensor) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// A number that no other tensor has while this one is there: Python's `id`.
    #[inline]
    pub fn id(&self) -> usize {
        Rc::as_ptr(&self.0).addr()
    }

    /// Something of the caller's that goes with the tensor: clones have it too, views do not.
    pub fn attachment(&self) -> Option<&Rc<dyn Any>> {
        self.0.attachment.get()
    }

    /// The same, made now where there is none yet.
    pub fn attachment_or(&self, make: impl FnOnce() -> Rc<dyn Any>) -> &Rc<dyn Any> {
        self.0.attachment.get_or_init(make)
    }

    /// Whether this is the only handle to the tensor and to its storage, all of which it shows in
    /// row-major order: then nobody can tell whether a result is put in its position.
    #[inline]
    pub fn is_disposable(&self) -> bool {
        Rc::strong_count(&self.0) == 1
            && self.current().storage.is_disposable()
            && self.is_contiguous()
            && self.current().storage.nbytes() == self.count() * self.current().dtype.item_size()
    }

    /// [`Tensor::numel`] as a length.
    #[inline]
    pub fn count(&self) -> usize {
        self.current().count
    }

    /// Whether the elements lie row-major without gaps.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.current().contiguous
    }

    /// Whether the strides are the row-major ones, those of dimensions of one element included.
    #[inline]
    pub fn is_row_major(&self) -> bool {
        self.current().row_major
    }

    /// The same storage under other sizes and strides, which the caller has checked.
    pub fn view_unchecked(&self, sizes: Dims, strides: Dims, offset: i64) -> Tensor {
        Tensor::new(self.current().storage.clone(), self.current().dtype, sizes, strides, offset)
    }

    /// Reads the elements of a contiguous tensor, row-major.
    ///
    /// # Errors
    /// For other dtypes, tensors that are not contiguous, and storages that are being written.
    #[inline]
    pub fn read<T: PodElement>(&self) -> Result<Ref<'_, [T]>> {
        let range = self.range::<T>()?;
        Ref::filter_map(self.current().storage.read::<T>()?, |all| all.get(range))
            .map_err(|_| Error::runtime("tensor reaches beyond its storage"))
    }

    /// Lends the elements of a contiguous tensor for writing.
    ///
    /// # Errors
    /// As [`Tensor::read`], and for storages that are being read.
    #[inline]
    pub fn write<T: PodElement>(&self) -> Result<RefMut<'_, [T]>> {
        let range = self.range::<T>()?;
        RefMut::filter_map(self.current().storage.write::<T>()?, |all| all.get_mut(range))
            .map_err(|_| Error::runtime("tensor reaches beyond its storage"))
    }

    #[inline]
    fn range<T: PodElement>(&self) -> Result<std::ops::Range<usize>> {
        self.expect_dtype(T::DTYPE)?;
        let view = self.current();
        if !view.contiguous {
            return Err(Error::runtime("the elements of this view do not lie side by side"));
        }
        let start = if view.count == 0 { 0 } else { view.offset as usize };
        Ok(start..start + view.count)
    }

    #[inline]
    /// Refuses other dtypes.
    ///
    /// # Errors
    /// Where this one is not as wanted.
    pub fn expect_dtype(&self, wanted: DType) -> Result<()> {
        if self.current().dtype == wanted { Ok(()) } else { Err(self.unexpected_dtype(wanted)) }
    }

    #[cold]
    fn unexpected_dtype(&self, wanted: DType) -> Error {
        Error::runtime(format!(
            "expected scalar type {} but found {}",
            wanted.scalar_type_name(),
            self.current().dtype.scalar_type_name()
        ))
    }

    /// The elements, row-major.
    ///
    /// # Errors
    /// For other dtypes.
    pub fn to_vec<T: PodElement>(&self) -> Result<Vec<T>> {
        self.expect_dtype(T::DTYPE)?;
        Ok(self.contiguous()?.read::<T>()?.to_vec())
    }

    /// The only element, `torch.Tensor.item`.
    ///
    /// # Errors
    /// Where there is not exactly one.
    pub fn item(&self) -> Result<Scalar> {
        if self.numel() != 1 {
            return Err(Error::runtime(format!(
                "a Tensor with {} elements cannot be converted to Scalar",
                self.numel()
            )));
        }
        let one = self.view_unchecked(Dims::new(), Dims::new(), self.current().offset);
        macro_rules! read {
            ($ty:ty, $x:ident => $scalar:expr) => {{
                let $x = one.read::<$ty>()?[0];
                Ok($scalar)
            }};
        }
        match self.current().dtype {
            DType::Bool => read!(Bool, x => Scalar::Bool(x.get())),
            DType::Float64 => read!(f64, x => Scalar::Float(x)),
            DType::Float32 => read!(f32, x => Scalar::Float(f64::from(x))),
            DType::Float16 => read!(f16, x => Scalar::Float(x.to_f64())),
            DType::BFloat16 => read!(bf16, x => Scalar::Float(x.to_f64())),
            DType::ComplexHalf => {
                read!(Complex<f16>, x => Scalar::Complex(Complex::new(x.re.into(), x.im.into())))
            }
            DType::Complex64 => {
                read!(Complex<f32>, x => Scalar::Complex(Complex::new(x.re.into(), x.im.into())))
            }
            DType::Complex128 => read!(Complex<f64>, x => Scalar::Complex(x)),
            dtype if Float8::of(dtype).is_some() => one.to_dtype(DType::Float32)?.item(),
            _ => {
                let wide = one.to_dtype(DType::Int64)?;
                let value = wide.read::<i64>()?[0];
                Ok(Scalar::Int(value))
            }
        }
    }

    /// Overwrites every element, `torch.Tensor.fill_`.
    ///
    /// # Errors
    /// For numbers that the dtype cannot hold, and dtypes without kernels.
    pub fn fill(&self, value: Scalar) -> Result<()> {
        let is_half = matches!(self.dtype(), DType::Float16 | DType::BFloat16);
        // PyTorch writes a single element of half precision without looking how large it is.
        let held = if is_half && self.numel() == 1 { DType::Float64 } else { self.dtype() };
        value.check_fits(held)?;
        self.fill_rounded(value)
    }

    /// Overwrites every element by the number of its dtype that is nearest.
    fn fill_rounded(&self, value: Scalar) -> Result<()> {
        let (int, float, complex) = (value.to_i64(), value.to_f64(), value.to_complex());
        match self.current().dtype {
            DType::Bool => self.fill_with(Bool::from(value.to_bool())),
            DType::UInt8 => self.fill_with(int as u8),
            DType::Int8 => self.fill_with(int as i8),
            DType::Int16 => self.fill_with(int as i16),
            DType::Int32 => self.fill_with(int as i32),
            DType::Int64 => self.fill_with(int),
            DType::UInt16 => self.fill_with(int as u16),
            DType::UInt32 => self.fill_with(int as u32),
            DType::UInt64 => self.fill_with(int as u64),
            DType::Float16 => self.fill_with(f16::from_f32(float as f32)),
            DType::BFloat16 => self.fill_with(bf16::from_f32(float as f32)),
            DType::Float32 => self.fill_with(float as f32),
            DType::Float64 => self.fill_with(float),
            DType::ComplexHalf => {
                let half = |part: f64| f16::from_f32(part as f32);
                self.fill_with(Complex::new(half(complex.re), half(complex.im)))
            }
            DType::Complex64 => self.fill_with(Complex::new(complex.re as f32, complex.im as f32)),
            DType::Complex128 => self.fill_with(complex),
            other => match Float8::of(other) {
                Some(kind) => self.fill_with(kind.encode(float as f32)),
                None => Err(Error::no_kernel("fill_cpu", other)),
            },
        }
    }

    fn fill_with<T: PodElement>(&self, value: T) -> Result<()> {
        let mut all = self.current().storage.write::<T>()?;
        // What stands for many is written once.
        let sizes = self.current().sizes.iter().zip(&self.current().strides);
        let sizes: Dims =
            sizes.map(|(&size, &stride)| if stride == 0 { size.min(1) } else { size }).collect();
        strided_iter::rows(
            &sizes,
            [&self.current().strides],
            [self.current().offset],
            |[at], [step], len| match step {
                1 => all[at..at + len].fill(value),
                _ => (0..len).for_each(|i| all[at + i * step] = value),
            },
        );
        Ok(())
    }

    /// Row-major: itself, or a copy.
    ///
    /// # Errors
    /// Where memory is short.
    pub fn contiguous(&self) -> Result<Tensor> {
        if self.is_contiguous() {
            return Ok(self.clone());
        }
        self.copy()
    }

    /// A row-major copy with a storage of its own, `torch.Tensor.clone` but for its strides.
    ///
    /// # Errors
    /// Where memory is short.
    pub fn copy(&self) -> Result<Tensor> {
        let copy = Tensor::for_overwrite(&self.current().sizes, self.current().dtype)?;
        copy.copy_from(self)?;
        Ok(copy)
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes = &self.current().sizes[..];
        write!(
            f,
            "Tensor({}, {sizes:?}, strides {:?})",
            self.current().dtype.name(),
            &self.current().strides[..]
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_view_is_seen_by_clones_but_not_by_views() {
        let x = Tensor::from_slice(&[1f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]).unwrap();
        let (same, row, sizes) = (x.clone(), x.select(0, 1).unwrap(), x.sizes());
        x.show(&x.t().unwrap()).unwrap();
        assert_eq!(sizes, [2, 3]);
        assert_eq!((same.sizes(), same.strides()), (&[3, 2][..], &[1, 3][..]));
        assert_eq!((same.size(0).unwrap(), same.size(-1).unwrap()), (3, 2));
        assert_eq!(row.sizes(), [3]);
        same.select(1, 1).unwrap().fill(0.into()).unwrap();
        assert_eq!(row.to_vec::<f32>().unwrap(), [0.0; 3]);
        assert!(x.is(&same) && x.show(&row.to_dtype(DType::Int64).unwrap()).is_err());
        for _ in 1..MAX_CHANGES {
            x.show(&x.t().unwrap()).unwrap();
        }
        assert!(x.show(&x.t().unwrap()).is_err());
    }

    #[test]
    fn clones_share_what_is_attached() {
        let x = Tensor::from_slice(&[1f32, 2.0], &[2]).unwrap();
        let clone = x.clone();
        x.attachment_or(|| Rc::new(7u8));
        let held =
            |tensor: &Tensor| tensor.attachment().and_then(|any| any.downcast_ref().copied());
        assert_eq!((held(&clone), held(&x.select(0, 1).unwrap())), (Some(7u8), None));
        x.show(&x.unsqueeze(0).unwrap()).unwrap();
        assert_eq!(held(&x), Some(7u8));
    }

    #[test]
    fn a_resized_tensor_keeps_its_elements() {
        let x = Tensor::from_slice(&[1i64, 2, 3, 4], &[4]).unwrap();
        x.resize(&[3]).unwrap();
        assert_eq!(x.to_vec::<i64>().unwrap(), [1, 2, 3]);
        x.resize(&[2, 2]).unwrap();
        assert_eq!(x.to_vec::<i64>().unwrap(), [1, 2, 3, 4]);
        assert!(x.resize(&[5]).is_err(), "its first look shares the storage");
        let y = Tensor::from_slice(&[1i64, 2], &[2]).unwrap();
        y.resize(&[2, 2]).unwrap();
        assert_eq!(y.to_vec::<i64>().unwrap(), [1, 2, 0, 0]);
        let part = y.select(0, 0).unwrap();
        assert!(part.resize(&[5]).is_err() && y.resize(&[-1]).is_err());
        y.resize(&[0]).unwrap();
        assert_eq!(y.numel(), 0);
    }
}
