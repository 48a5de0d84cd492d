//! The buffer protocol: tensors and storages as read-only memory.
#![allow(unsafe_code, reason = "Python's structure for buffers is filled by hand")]

use std::ffi::{CStr, c_int, c_void};
use std::ptr;

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use sconce::source::Bytes;
use sconce::{DType, Layout, Tensor};

/// The bytes of a storage, as NumPy's arrays hold on to them.
#[pyclass(frozen, module = "sconce._sconce", name = "_StorageBytes")]
pub struct StorageBytes(pub Bytes);

#[pymethods]
impl StorageBytes {
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let bytes = &slf.get().0;
        // SAFETY: the interpreter gives a view to fill; the bytes are there for as long as the object that the view
        // holds a reference to, and are handed on as read-only.
        let failed = unsafe {
            ffi::PyBuffer_FillInfo(
                view,
                slf.as_ptr(),
                bytes.as_ptr().cast_mut().cast::<c_void>(),
                bytes.len() as isize,
                1,
                flags,
            )
        };
        if failed == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}

/// The letter that the module `struct` has for a dtype, and NumPy's two for complex numbers.
fn format(dtype: DType) -> Option<&'static CStr> {
    Some(match dtype {
        DType::Bool => c"?",
        DType::UInt8 => c"B",
        DType::Int8 => c"b",
        DType::UInt16 => c"H",
        DType::Int16 => c"h",
        DType::UInt32 => c"I",
        DType::Int32 => c"i",
        DType::UInt64 => c"Q",
        DType::Int64 => c"q",
        DType::Float16 => c"e",
        DType::Float32 => c"f",
        DType::Float64 => c"d",
        DType::Complex64 => c"Zf",
        DType::Complex128 => c"Zd",
        _ => return None,
    })
}

/// What a view of a tensor points into.
struct Lent {
    _bytes: Bytes,
    shape: Vec<isize>,
    strides: Vec<isize>,
}

/// Fills a view of a tensor.
///
/// # Safety
/// `view` is one that the interpreter gave to fill for `owner`.
pub unsafe fn fill(
    owner: &Bound<'_, PyAny>,
    tensor: &Tensor,
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> PyResult<()> {
    // SAFETY: the caller vouches for the view. Without an object in it nobody releases it.
    unsafe { (*view).obj = ptr::null_mut() };
    let refused = |what: &str| Err(PyBufferError::new_err(what.to_owned()));
    if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE {
        return refused("a sconce.Tensor is read-only: numpy.array(tensor) copies it");
    }
    let Some(letter) = format(tensor.dtype()) else {
        let dtype = tensor.dtype();
        return refused(&format!("the buffer protocol has no {dtype}: use numpy.asarray(tensor)"));
    };
    let plain = tensor.layout() == Layout::Strided && !tensor.is_conj() && !tensor.is_neg();
    let (true, Some(storage)) = (plain, tensor.storage()) else {
        let layout = tensor.layout().name();
        return refused(&format!("the buffer protocol has no {layout} tensors of this kind"));
    };
    let bytes = match storage.bytes() {
        Ok(bytes) => bytes,
        Err(error) => return refused(&error.to_string()),
    };
    let strided = flags & ffi::PyBUF_STRIDES == ffi::PyBUF_STRIDES;
    let row_major = flags & ffi::PyBUF_C_CONTIGUOUS == ffi::PyBUF_C_CONTIGUOUS;
    if (row_major || !strided) && !tensor.is_contiguous() {
        return refused("the tensor is not contiguous: use tensor.contiguous()");
    }
    let item = tensor.dtype().item_size() as isize;
    let lent = Box::new(Lent {
        shape: tensor.sizes().iter().map(|&size| size as isize).collect(),
        strides: tensor.strides().iter().map(|&stride| stride as isize * item).collect(),
        _bytes: bytes.clone(),
    });
    let start = match tensor.numel() {
        0 => 0,
        _ => tensor.storage_offset() as usize * item as usize,
    };
    let first = bytes.get(start..).unwrap_or_default().as_ptr();
    let asked = |flag: c_int| flags & flag == flag;
    // SAFETY: the caller vouches for the view. Shape and strides lie in `lent`, which `release` frees; the memory is
    // held by it as well, and all elements lie in it, as the constructor of the tensor made sure.
    unsafe {
        (*view).buf = first.cast_mut().cast();
        (*view).len = tensor.numel() as isize * item;
        (*view).readonly = 1;
        (*view).itemsize = item;
        (*view).format = match asked(ffi::PyBUF_FORMAT) {
            true => letter.as_ptr().cast_mut(),
            false => ptr::null_mut(),
        };
        (*view).ndim = tensor.ndim() as c_int;
        (*view).shape = match asked(ffi::PyBUF_ND) {
            true => lent.shape.as_ptr().cast_mut(),
            false => ptr::null_mut(),
        };
        (*view).strides = match asked(ffi::PyBUF_STRIDES) {
            true => lent.strides.as_ptr().cast_mut(),
            false => ptr::null_mut(),
        };
        (*view).suboffsets = ptr::null_mut();
        (*view).internal = Box::into_raw(lent).cast();
        (*view).obj = owner.clone().into_ptr();
    }
    Ok(())
}

/// Frees what a view points into.
///
/// # Safety
/// `view` was filled by [`fill`], and is released once.
pub unsafe fn release(view: *mut ffi::Py_buffer) {
    // SAFETY: the pointer comes from `Box::into_raw` in `fill`.
    drop(unsafe { Box::from_raw((*view).internal.cast::<Lent>()) });
}
