use std::fmt;
pub(crate) mod gather;
pub(crate) mod nested;
pub(crate) mod quantized;
pub(crate) mod sparse;

use std::ops::Range;
use std::sync::Arc;

use sconce_source::Bytes;

use crate::geometry::{self, Positions, contiguous_strides};
use crate::tensor::nested::Nested;
use crate::tensor::quantized::Quantizer;
use crate::tensor::sparse::{SparseCompressed, SparseCoo};
use crate::{DType, Device, Dims, Element, Error, Layout, Storage};

/// A view of elements in a storage, or one of PyTorch's other layouts.
///
/// Cloning is cheap and copies no elements. Tensors over one [`Storage`] alias, as in PyTorch.
/// Every constructor checks that the view lies inside the storage, without reading it, so reading a
/// tensor can fail only where the storage cannot be loaded.
///
/// ```
/// use sconce_tensor::{DType, Tensor};
/// // [[0, 1, 2], [3, 4, 5]], its transpose, and a column of that
/// let t = Tensor::from_vec(vec![0f32, 1., 2., 3., 4., 5.], &[2, 3]).unwrap();
/// let transposed = t.transpose(0, 1).unwrap();
/// assert_eq!(transposed.sizes(), [3, 2]);
/// assert_eq!(transposed.strides(), [1, 3]);
/// assert!(transposed.storage().unwrap().ptr_eq(t.storage().unwrap()));
/// assert_eq!(transposed.select(1, 1).unwrap().to_vec::<f32>().unwrap(), [3., 4., 5.]);
/// assert_eq!(t.as_slice::<f32>().unwrap().len(), 6);
/// ```
#[derive(Clone)]
pub struct Tensor {
    pub(crate) dtype: DType,
    pub(crate) sizes: Dims,
    pub(crate) strides: Dims,
    pub(crate) offset: i64,
    pub(crate) numel: i64,
    pub(crate) requires_grad: bool,
    pub(crate) conj: bool,
    pub(crate) neg: bool,
    /// Set where the device is not that of the storage.
    pub(crate) device: Option<Device>,
    pub(crate) body: Body,
}

#[derive(Clone)]
pub(crate) enum Body {
    Strided(Storage),
    Quantized(Storage, Arc<Quantizer>),
    Meta,
    Wrapper(Layout),
    SparseCoo(Arc<SparseCoo>),
    SparseCompressed(Arc<SparseCompressed>),
    Nested(Arc<Nested>),
}

impl Tensor {
    pub(crate) fn with_body(
        dtype: DType,
        sizes: Dims,
        strides: Dims,
        numel: i64,
        body: Body,
    ) -> Tensor {
        Tensor {
            dtype,
            sizes,
            strides,
            offset: 0,
            numel,
            requires_grad: false,
            conj: false,
            neg: false,
            device: None,
            body,
        }
    }

    /// A view of `storage`; `offset` and `strides` in elements. What `torch._utils._rebuild_tensor`
    /// makes, except that a view beyond the end is an error: PyTorch grows the storage and leaves
    /// what it adds uninitialised.
    ///
    /// Strides of 0 (expanded) and views whose elements overlap are allowed. A view without elements
    /// may have any offset.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] with the bytes needed and held; [`Error::InvalidView`] for negative
    /// numbers, lists of different lengths, and products beyond 64 bits.
    pub fn strided(
        storage: Storage,
        dtype: DType,
        offset: i64,
        sizes: &[i64],
        strides: &[i64],
    ) -> Result<Tensor, Error> {
        let numel = geometry::check_view(dtype, storage.nbytes(), offset, sizes, strides)?;
        let (sizes, strides) = (Dims::from_slice(sizes), Dims::from_slice(strides));
        let body = Body::Strided(storage);
        Ok(Tensor { offset, ..Tensor::with_body(dtype, sizes, strides, numel, body) })
    }

    /// A row-major tensor from the start of `storage`.
    ///
    /// # Errors
    /// Those of [`Tensor::strided`].
    pub fn contiguous(storage: Storage, dtype: DType, sizes: &[i64]) -> Result<Tensor, Error> {
        geometry::numel(sizes)?;
        Tensor::strided(storage, dtype, 0, sizes, &contiguous_strides(sizes))
    }

    /// A row-major tensor that owns a copy of `elements`.
    ///
    /// # Errors
    /// [`Error::InvalidView`] where `sizes` do not hold exactly as many elements.
    pub fn from_vec<T: Element>(elements: Vec<T>, sizes: &[i64]) -> Result<Tensor, Error> {
        let numel = geometry::numel(sizes)?;
        if numel as u64 != elements.len() as u64 {
            return Err(Error::InvalidView(format!(
                "shape {sizes:?} is invalid for input of size {}",
                elements.len()
            )));
        }
        let storage = Storage::from_bytes(Bytes::from(T::bytes_of(&elements)), Device::CPU);
        Tensor::contiguous(storage, T::DTYPE, sizes)
    }

    /// [`Tensor::from_vec`] for elements that are lent: `torch.tensor(…)` of a table in Rust.
    ///
    /// # Errors
    /// As [`Tensor::from_vec`].
    ///
    /// ```
    /// let identity = sconce_tensor::Tensor::from_slice(&[1f32, 0.0, 0.0, 1.0], &[2, 2])?;
    /// assert_eq!(identity.strides(), [2, 1]);
    /// # Ok::<(), sconce_tensor::Error>(())
    /// ```
    pub fn from_slice<T: Element>(elements: &[T], sizes: &[i64]) -> Result<Tensor, Error> {
        Tensor::from_vec(elements.to_vec(), sizes)
    }

    /// A tensor on the device `meta`, without a storage: `torch._utils._rebuild_meta_tensor_no_storage`.
    ///
    /// # Errors
    /// [`Error::InvalidView`] as for [`Tensor::strided`]; there are no bounds to check.
    pub fn meta(dtype: DType, sizes: &[i64], strides: &[i64]) -> Result<Tensor, Error> {
        geometry::end_element(0, sizes, strides)?;
        let numel = geometry::numel(sizes)?;
        let (sizes, strides) = (Dims::from_slice(sizes), Dims::from_slice(strides));
        Ok(Tensor::with_body(dtype, sizes, strides, numel, Body::Meta).with_device(Device::META))
    }

    /// A wrapper subclass without data of its own: `torch._utils._rebuild_wrapper_subclass`.
    ///
    /// # Errors
    /// [`Error::InvalidView`] as for [`Tensor::strided`]; there are no bounds to check.
    pub fn wrapper(
        dtype: DType,
        sizes: &[i64],
        strides: &[i64],
        offset: i64,
        layout: Layout,
        device: Device,
    ) -> Result<Tensor, Error> {
        geometry::end_element(offset, sizes, strides)?;
        let numel = geometry::numel(sizes)?;
        let (sizes, strides) = (Dims::from_slice(sizes), Dims::from_slice(strides));
        let tensor = Tensor::with_body(dtype, sizes, strides, numel, Body::Wrapper(layout));
        Ok(Tensor { offset, ..tensor }.with_device(device))
    }

    /// The same tensor with this `requires_grad`. PyTorch refuses it for other dtypes than floating
    /// and complex ones; that is for the caller to check.
    pub fn with_requires_grad(self, requires_grad: bool) -> Tensor {
        Tensor { requires_grad, ..self }
    }

    /// The same tensor with the lazy conjugate bit set or cleared. It has no effect on real dtypes.
    pub fn with_conj(self, conj: bool) -> Tensor {
        Tensor { conj, ..self }
    }

    /// The same tensor with the lazy negative bit set or cleared.
    pub fn with_neg(self, neg: bool) -> Tensor {
        Tensor { neg, ..self }
    }

    /// The same tensor labelled with another device. The storage keeps its own label and identity.
    pub fn with_device(self, device: Device) -> Tensor {
        Tensor { device: Some(device), ..self }
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Sizes of the dimensions. For a nested tensor the number of components and then, dimension by
    /// dimension, the size that all components share or -1.
    pub fn sizes(&self) -> &[i64] {
        &self.sizes
    }

    /// [`Tensor::sizes`] by the name that it has in Python.
    pub fn shape(&self) -> &[i64] {
        self.sizes()
    }

    /// Steps between neighbours of each dimension, in elements. Empty for sparse and nested tensors.
    pub fn strides(&self) -> &[i64] {
        &self.strides
    }

    /// Where the view starts in its storage, in elements.
    pub fn storage_offset(&self) -> i64 {
        self.offset
    }

    /// Number of elements; for sparse tensors of the dense tensor they stand for.
    pub fn numel(&self) -> i64 {
        self.numel
    }

    /// Number of dimensions.
    pub fn ndim(&self) -> usize {
        self.sizes.len()
    }

    /// Whether gradients were being recorded.
    pub fn requires_grad(&self) -> bool {
        self.requires_grad
    }

    /// The lazy conjugate bit: the elements stand for their conjugates.
    pub fn is_conj(&self) -> bool {
        self.conj
    }

    /// The lazy negative bit: the elements stand for their negatives.
    pub fn is_neg(&self) -> bool {
        self.neg
    }

    /// How the elements are laid out.
    pub fn layout(&self) -> Layout {
        match &self.body {
            Body::Strided(_) | Body::Quantized(..) | Body::Meta => Layout::Strided,
            Body::Wrapper(layout) => *layout,
            Body::SparseCoo(_) => Layout::SparseCoo,
            Body::SparseCompressed(parts) => parts.layout,
            Body::Nested(_) => Layout::Nested,
        }
    }

    /// Where the tensor lived when it was saved.
    pub fn device(&self) -> &Device {
        if let Some(device) = &self.device {
            return device;
        }
        match &self.body {
            Body::Strided(storage) | Body::Quantized(storage, _) => storage.device(),
            Body::Meta => &Device::META,
            Body::Wrapper(_) => &Device::CPU,
            Body::SparseCoo(parts) => parts.values.device(),
            Body::SparseCompressed(parts) => parts.values.device(),
            Body::Nested(parts) => parts.buffer.device(),
        }
    }

    /// The storage of a strided or quantized tensor.
    pub fn storage(&self) -> Option<&Storage> {
        match &self.body {
            Body::Strided(storage) | Body::Quantized(storage, _) => Some(storage),
            _ => None,
        }
    }

    /// How the integers of a quantized tensor stand for real numbers.
    pub fn quantizer(&self) -> Option<&Quantizer> {
        match &self.body {
            Body::Quantized(_, quantizer) => Some(quantizer),
            _ => None,
        }
    }

    /// The parts of a tensor in layout [`Layout::SparseCoo`].
    pub fn sparse_coo_parts(&self) -> Option<&SparseCoo> {
        match &self.body {
            Body::SparseCoo(parts) => Some(parts),
            _ => None,
        }
    }

    /// The parts of a CSR, CSC, BSR or BSC tensor.
    pub fn sparse_compressed_parts(&self) -> Option<&SparseCompressed> {
        match &self.body {
            Body::SparseCompressed(parts) => Some(parts),
            _ => None,
        }
    }

    /// The parts of a nested tensor.
    pub fn nested_parts(&self) -> Option<&Nested> {
        match &self.body {
            Body::Nested(parts) => Some(parts),
            _ => None,
        }
    }

    /// Whether reading elements can give any: false for meta tensors and wrappers, and where a
    /// storage has none.
    pub fn has_data(&self) -> bool {
        match &self.body {
            Body::Strided(storage) | Body::Quantized(storage, _) => storage.has_data(),
            Body::Meta | Body::Wrapper(_) => false,
            Body::SparseCoo(parts) => parts.indices.has_data() && parts.values.has_data(),
            Body::SparseCompressed(parts) => {
                parts.compressed.has_data() && parts.plain.has_data() && parts.values.has_data()
            }
            Body::Nested(parts) => parts.buffer.has_data() && parts.sizes.has_data(),
        }
    }

    /// Whether the tensor consists of other tensors, as sparse and nested ones do. Such a tensor is
    /// never a part of another: chains of them would be as deep as a file is long.
    pub(crate) fn has_parts(&self) -> bool {
        matches!(self.body, Body::SparseCoo(_) | Body::SparseCompressed(_) | Body::Nested(_))
    }

    /// Whether the elements lie row-major and without gaps, as `torch.Tensor.is_contiguous` says.
    /// False for layouts other than strided.
    pub fn is_contiguous(&self) -> bool {
        matches!(self.body, Body::Strided(_) | Body::Quantized(..) | Body::Meta)
            && geometry::is_contiguous(&self.sizes, &self.strides)
    }

    /// Bytes of the elements: number times size, however they are laid out. For sparse and nested
    /// tensors the bytes of all parts.
    pub fn nbytes(&self) -> u64 {
        match &self.body {
            Body::SparseCoo(p) => p.indices.nbytes().saturating_add(p.values.nbytes()),
            Body::SparseCompressed(p) => p
                .compressed
                .nbytes()
                .saturating_add(p.plain.nbytes())
                .saturating_add(p.values.nbytes()),
            Body::Nested(p) => p.buffer.nbytes(),
            _ => u64::try_from(self.dtype.bytes_for(self.numel as u128)).unwrap_or(u64::MAX),
        }
    }

    /// The bytes of the storage from the first to the last element, or `None` for tensors without a
    /// storage. Empty for a view without elements.
    pub fn storage_range(&self) -> Option<Range<u64>> {
        self.storage()?;
        if self.numel == 0 {
            return Some(0..0);
        }
        let end = geometry::end_element(self.offset, &self.sizes, &self.strides).ok()?;
        let start = match self.dtype.elements_per_byte() {
            1 => self.offset as u128 * self.dtype.item_size() as u128,
            packed => self.offset as u128 / packed as u128,
        };
        // The constructor held both against the storage's size.
        Some(start as u64..self.dtype.bytes_for(end) as u64)
    }

    /// The storage and its bytes, or why there are none.
    pub(crate) fn strided_data(&self) -> Result<&[u8], Error> {
        match &self.body {
            Body::Strided(storage) | Body::Quantized(storage, _) => storage.data(),
            Body::Meta | Body::Wrapper(_) => Err(Error::NoData("tensor")),
            Body::SparseCoo(_) | Body::SparseCompressed(_) => Err(Error::Unsupported(format!(
                "a {} tensor has no row of elements: read its parts, or to_dense()",
                self.layout()
            ))),
            Body::Nested(_) => Err(Error::Unsupported(
                "a nested tensor has no row of elements: read its components".into(),
            )),
        }
    }

    /// Positions of the elements in the storage, row-major.
    pub(crate) fn positions(&self) -> Positions {
        Positions::new(self.offset, &self.sizes, &self.strides, self.numel)
    }
}

impl fmt::Debug for Tensor {
    /// What the tensor is, without its elements; [`Tensor::display`] prints those.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Tensor({}, sizes {:?}, strides {:?}, offset {}, {}, {})",
            self.dtype.name(),
            &self.sizes[..],
            &self.strides[..],
            self.offset,
            self.layout().name(),
            self.device()
        )
    }
}
