//! The class `Tensor`.
#![allow(unsafe_code, reason = "the interpreter's buffers are passed on to `buffer.rs`")]

use std::ffi::c_int;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use sconce::tensor::PrintOptions;
use sconce::{DType, Device, Storage, Tensor};

use super::dtype::{PyDType, dtype_of};
use super::{array, buffer, capsule, index, lists};
use crate::boundary::{detached, guarded};
use crate::error;
use crate::python_classes::python_class;

/// A tensor: elements in memory or in a mapped file, which cannot be changed. ``numpy.asarray(tensor)`` and
/// ``tensor.torch()`` are views of the same memory.
#[pyclass(frozen, weakref, module = "sconce", name = "Tensor")]
pub struct PyTensor {
    pub tensor: Tensor,
}

impl PyTensor {
    pub fn new(tensor: Tensor) -> Self {
        PyTensor { tensor }
    }
}

/// What an error of a tensor names in the place of a file.
const TENSOR: &str = "<tensor>";

/// The tensor with its elements row by row.
pub fn row_major(py: Python<'_>, tensor: &Tensor) -> PyResult<Tensor> {
    let made = detached(py, || {
        let bytes = tensor.contiguous_bytes_with_limit(u64::MAX)?.into_owned();
        let storage = Storage::from_bytes(bytes.into(), Device::CPU);
        Tensor::contiguous(storage, tensor.dtype(), tensor.sizes())
    })?;
    let made = made.map_err(|error| error::of_library(py, error, TENSOR))?;
    Ok(made.with_requires_grad(tensor.requires_grad()))
}

#[pymethods]
impl PyTensor {
    /// Sizes of the dimensions.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let sizes = PyTuple::new(py, self.tensor.sizes())?;
        python_class(py, "Size")?.call1((sizes,))
    }

    /// :attr:`shape`, or the size of one dimension.
    #[pyo3(signature = (dim=None))]
    fn size<'py>(&self, py: Python<'py>, dim: Option<i64>) -> PyResult<Bound<'py, PyAny>> {
        let Some(dim) = dim else { return self.shape(py) };
        self.shape(py)?.get_item(dim)
    }

    /// The type of the elements.
    #[getter]
    fn dtype(&self) -> PyDType {
        PyDType(self.tensor.dtype())
    }

    /// Number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.tensor.ndim()
    }

    /// Number of dimensions.
    fn dim(&self) -> usize {
        self.tensor.ndim()
    }

    /// Bytes of the elements.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.tensor.nbytes()
    }

    /// Bytes of an element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.tensor.dtype().item_size()
    }

    /// Bytes of an element.
    fn element_size(&self) -> usize {
        self.tensor.dtype().item_size()
    }

    /// Number of elements.
    fn numel(&self) -> i64 {
        self.tensor.numel()
    }

    /// Steps between neighbours of each dimension, in elements, or those of one dimension.
    #[pyo3(signature = (dim=None))]
    fn stride<'py>(&self, py: Python<'py>, dim: Option<i64>) -> PyResult<Bound<'py, PyAny>> {
        let strides = PyTuple::new(py, self.tensor.strides())?;
        match dim {
            Some(dim) => strides.as_any().get_item(dim),
            None => Ok(strides.into_any()),
        }
    }

    /// Where the tensor begins in its storage, in elements.
    fn storage_offset(&self) -> i64 {
        self.tensor.storage_offset()
    }

    /// Whether the elements lie row by row.
    fn is_contiguous(&self) -> bool {
        self.tensor.is_contiguous()
    }

    /// Whether it is a sparse tensor in coordinates.
    #[getter]
    fn is_sparse(&self) -> bool {
        self.tensor.sparse_coo_parts().is_some()
    }

    /// Whether its integers stand for real numbers.
    #[getter]
    fn is_quantized(&self) -> bool {
        self.tensor.quantizer().is_some()
    }

    /// How the elements are laid out, as ``torch.layout`` prints.
    #[getter]
    fn layout<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        python_class(py, "layout")?.call1((self.tensor.layout().to_string(),))
    }

    /// Where the tensor was when it was saved. Its elements are in the CPU's memory here.
    #[getter]
    fn device<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        python_class(py, "device")?.call1((self.tensor.device().to_string(),))
    }

    /// Whether gradients were being recorded.
    #[getter]
    fn requires_grad(&self) -> bool {
        self.tensor.requires_grad()
    }

    /// The only element as a Python number.
    fn item<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        guarded(py, || {
            let count = self.tensor.numel();
            if count != 1 {
                let message =
                    format!("a Tensor with {count} elements cannot be converted to Scalar");
                return Err(error::plain(py, "TensorError", message));
            }
            let values = self.tensor.values();
            let mut values = values.map_err(|error| error::of_library(py, error, TENSOR))?;
            match values.next() {
                Some(value) => lists::number(py, value),
                None => Err(error::unsupported(py, "a tensor without data")),
            }
        })
    }

    /// The elements as lists in lists.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        guarded(py, || lists::to_lists(py, &self.tensor))
    }

    /// The tensor itself if its elements lie row by row, or else a copy in which they do.
    fn contiguous(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        if slf.get().tensor.is_contiguous() {
            return Ok(slf);
        }
        let py = slf.py();
        guarded(py, || Bound::new(py, PyTensor::new(row_major(py, &slf.get().tensor)?)))
    }

    /// The tensor with elements of another dtype.
    #[pyo3(signature = (dtype))]
    fn to<'py>(slf: Bound<'py, Self>, dtype: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Self>> {
        let (py, dtype) = (slf.py(), dtype_of(dtype)?);
        if dtype == slf.get().tensor.dtype() {
            return Ok(slf);
        }
        guarded(py, || {
            let cast = {
                let tensor = &slf.get().tensor;
                detached(py, || tensor.to_dtype(dtype))?
            };
            let cast = cast.map_err(|error| error::of_library(py, error, TENSOR))?;
            Bound::new(py, PyTensor::new(cast))
        })
    }

    /// The tensor without a record of gradients.
    fn detach(&self) -> PyTensor {
        PyTensor::new(self.tensor.clone().with_requires_grad(false))
    }

    /// An array over the same memory, which cannot be written to. ``copy=True`` copies; ``copy=False`` never does.
    #[pyo3(signature = (copy=None))]
    fn numpy<'py>(&self, py: Python<'py>, copy: Option<bool>) -> PyResult<Bound<'py, PyAny>> {
        guarded(py, || array::array(py, &self.tensor, None, copy))
    }

    /// A tensor of PyTorch over the same memory. What is written to it stays in this process.
    fn torch<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("torch")?.call_method1("from_dlpack", (slf,))
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        guarded(py, || array::array(py, &self.tensor, dtype.as_ref(), copy))
    }

    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        guarded(py, || array::interface(py, &self.tensor))?.ok_or_else(|| {
            let dtype = self.tensor.dtype();
            let message = format!("the array interface has no {dtype}");
            pyo3::exceptions::PyAttributeError::new_err(message)
        })
    }

    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if stream.is_some_and(|stream| !stream.is_none()) {
            return Err(capsule::refused("memory of the CPU has no streams: stream must be None"));
        }
        if dl_device.is_some_and(|device| device != (1, 0)) {
            return Err(capsule::refused("the tensor is in the memory of the CPU, (1, 0)"));
        }
        guarded(py, || {
            let copied;
            let lazily = self.tensor.is_conj() || self.tensor.is_neg();
            if lazily && copy == Some(false) {
                return Err(capsule::refused(
                    "a lazily conjugated tensor cannot be had without a copy",
                ));
            }
            let tensor = match copy == Some(true) || lazily {
                true => {
                    copied = row_major(py, &self.tensor)?;
                    &copied
                }
                false => &self.tensor,
            };
            capsule::export(py, tensor, max_version.is_some_and(|(major, _)| major >= 1))
        })
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        (1, 0)
    }

    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        // SAFETY: the interpreter calls this with a view to fill for this object.
        unsafe { buffer::fill(slf.as_any(), &slf.get().tensor, view, flags) }
    }

    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: the interpreter releases each view once that `__getbuffer__` has filled.
        unsafe {
            buffer::release(view);
        }
    }

    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<PyTensor> {
        guarded(py, || index::index(&self.tensor, key).map(PyTensor::new))
    }

    fn __len__(&self) -> PyResult<usize> {
        match self.tensor.sizes().first() {
            Some(&size) => Ok(usize::try_from(size).unwrap_or(0)),
            None => Err(PyTypeError::new_err("len() of a 0-d tensor")),
        }
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        match self.tensor.numel() {
            1 => self.item(py)?.is_truthy(),
            _ => {
                let message = "Boolean value of Tensor with more than one value is ambiguous";
                Err(PyValueError::new_err(message))
            }
        }
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        self.item(py)?.extract()
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.get_type::<pyo3::types::PyInt>().call1((self.item(py)?,))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        guarded(py, || detached(py, || self.tensor.display(&PrintOptions::default()).to_string()))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, tensor) = (slf.py(), &slf.get().tensor);
        let rebuild = py.import("sconce._sconce")?.getattr("_rebuild_tensor")?;
        if tensor.quantizer().is_some() {
            return Err(error::unsupported(
                py,
                "a quantized tensor cannot be pickled: sconce.save writes it",
            ));
        }
        let bytes = guarded(py, || {
            let bytes = detached(py, || tensor.contiguous_bytes_with_limit(u64::MAX))?;
            bytes.map_err(|error| error::of_library(py, error, TENSOR))
        })?;
        let bytes = PyBytes::new(py, &bytes);
        let (name, sizes) = (tensor.dtype().name(), tensor.sizes().to_vec());
        let fields = (bytes, name, sizes, tensor.requires_grad());
        Ok((rebuild, fields).into_pyobject(py)?.into_any())
    }
}

/// A tensor that was pickled: its elements, row by row and little-endian.
#[pyfunction]
pub fn _rebuild_tensor(
    py: Python<'_>,
    data: &[u8],
    dtype: &str,
    shape: Vec<i64>,
    requires_grad: bool,
) -> PyResult<PyTensor> {
    guarded(py, || {
        let dtype: DType = dtype.parse().map_err(|error| error::of_library(py, error, TENSOR))?;
        let order = sconce::ByteOrder::Little;
        let bytes = data.to_vec().into();
        let storage = Storage::with_byte_order(bytes, order, dtype.swap_size(), Device::CPU);
        let tensor = Tensor::contiguous(storage, dtype, &shape);
        let tensor = tensor.map_err(|error| error::of_library(py, error, TENSOR))?;
        Ok(PyTensor::new(tensor.with_requires_grad(requires_grad)))
    })
}
