//! DLPack's capsules: tensors handed to other libraries and taken from them.
#![allow(unsafe_code, reason = "capsules hold pointers")]

use std::ffi::CStr;
use std::ptr::NonNull;

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use sconce::Tensor;
use sconce_dlpack::{DLManagedTensor, DLManagedTensorVersioned, Error};

use crate::error;

const VERSIONED: &CStr = c"dltensor_versioned";
const UNVERSIONED: &CStr = c"dltensor";
const USED_VERSIONED: &CStr = c"used_dltensor_versioned";
const USED_UNVERSIONED: &CStr = c"used_dltensor";

/// A capsule over a tensor: of DLPack 1 for who says that it knows that, else of the old kind.
pub fn export<'py>(
    py: Python<'py>,
    tensor: &Tensor,
    versioned: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let failed = |failed: Error| match failed {
        Error::Tensor(error) => error::of_library(py, error, "<tensor>"),
        other => error::unsupported(py, other.to_string()),
    };
    let (pointer, name, destructor): (*mut _, _, ffi::PyCapsule_Destructor) = match versioned {
        true => {
            let lent = sconce_dlpack::export(tensor).map_err(failed)?;
            (lent.as_ptr().cast(), VERSIONED, destroy_versioned)
        }
        false => {
            let lent = sconce_dlpack::export_unversioned(tensor).map_err(failed)?;
            (lent.as_ptr().cast(), UNVERSIONED, destroy_unversioned)
        }
    };
    // SAFETY: the pointer is not null, the name is static, and the destructor frees it where nobody has taken it.
    let capsule = unsafe { ffi::PyCapsule_New(pointer, name.as_ptr(), Some(destructor)) };
    // SAFETY: it is a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }
}

unsafe extern "C" fn destroy_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: the interpreter passes the capsule whose destructor this is; who takes the tensor changes its name.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) == 1 {
            let pointer = ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr());
            let managed = pointer.cast::<DLManagedTensorVersioned>();
            if let Some(deleter) = (*managed).deleter {
                deleter(managed);
            }
        }
    }
}

unsafe extern "C" fn destroy_unversioned(capsule: *mut ffi::PyObject) {
    // SAFETY: as for the capsule with a version.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, UNVERSIONED.as_ptr()) == 1 {
            let pointer = ffi::PyCapsule_GetPointer(capsule, UNVERSIONED.as_ptr());
            let managed = pointer.cast::<DLManagedTensor>();
            if let Some(deleter) = (*managed).deleter {
                deleter(managed);
            }
        }
    }
}

/// The tensor in a capsule, which is used up.
pub fn import(capsule: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let py = capsule.py();
    let object = capsule.as_ptr();
    // SAFETY: these may be asked of any object.
    let is = |name: &CStr| unsafe { ffi::PyCapsule_IsValid(object, name.as_ptr()) == 1 };
    let (name, used) = if is(VERSIONED) {
        (VERSIONED, USED_VERSIONED)
    } else if is(UNVERSIONED) {
        (UNVERSIONED, USED_UNVERSIONED)
    } else {
        let what = "__dlpack__() gave no capsule of DLPack that has not been used";
        return Err(error::argument(py, what));
    };
    // SAFETY: the capsule has this name, so that there is a pointer.
    let pointer = unsafe { ffi::PyCapsule_GetPointer(object, name.as_ptr()) };
    let pointer = NonNull::new(pointer).ok_or_else(|| PyErr::fetch(py))?;
    // SAFETY: the name is static. From here on the tensor is ours: the capsule's destructor looks at its name.
    if unsafe { ffi::PyCapsule_SetName(object, used.as_ptr()) } != 0 {
        return Err(PyErr::fetch(py));
    }
    // SAFETY: by its name the capsule holds this structure, which we have taken. That the memory is there is the word
    // of the object that gave it; its lender keeps it until the deleter is called.
    let taken = unsafe {
        match name == VERSIONED {
            true => sconce_dlpack::import(pointer.as_ptr().cast()),
            false => sconce_dlpack::import_unversioned(pointer.as_ptr().cast()),
        }
    };
    taken.map_err(|failed| match failed {
        Error::Unsupported(what) => error::unsupported(py, what),
        other => error::argument(py, other.to_string()),
    })
}

/// What `__dlpack__` is asked for and cannot do.
pub fn refused(what: &str) -> PyErr {
    PyBufferError::new_err(what.to_owned())
}
