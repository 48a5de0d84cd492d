//! What every function does at the border to C.

use std::ffi::{CStr, c_char};
use std::ptr;
use std::slice;

use crate::errors::{Failure, sconce_error};
use crate::panics::caught;

/// What a function does within the guard.
pub(crate) type Result<T = ()> = std::result::Result<T, Failure>;

/// Does something that may fail, and makes an error of a panic.
pub(crate) fn guarded(work: impl FnOnce() -> Result) -> *mut sconce_error {
    match caught(work) {
        Ok(Ok(())) => ptr::null_mut(),
        Ok(Err(failure)) => failure.into_raw(),
        Err(panic) => Failure::panicked(&panic).into_raw(),
    }
}

/// What a pointer of the caller's points to.
///
/// # Safety
/// Unless it is null, it points to a `T` that nobody changes or frees during the call.
pub(crate) unsafe fn reference<'a, T>(pointer: *const T, name: &str) -> Result<&'a T> {
    // SAFETY: as the caller says.
    unsafe { pointer.as_ref() }.ok_or_else(|| Failure::null(name))
}

/// The text of a string that ends with a NUL.
///
/// # Safety
/// Unless it is null, it points to such a string, which nobody changes or frees during the call.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<&'a str> {
    if pointer.is_null() {
        return Err(Failure::null(name));
    }
    // SAFETY: as the caller says.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| Failure::argument(format!("{name} is not UTF-8")))
}

/// An array of the caller's. A null pointer is good enough for none.
///
/// # Safety
/// Unless it is null or `len` is 0, it points to so many `T` that nobody changes or frees during the call.
pub(crate) unsafe fn array<'a, T>(pointer: *const T, len: usize, name: &str) -> Result<&'a [T]> {
    if len == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(Failure::null(name));
    }
    if len > isize::MAX as usize / size_of::<T>().max(1) {
        return Err(Failure::argument(format!("{name} cannot have {len} elements")));
    }
    // SAFETY: as the caller says; the length is one that a slice may have.
    Ok(unsafe { slice::from_raw_parts(pointer, len) })
}

/// Where a result goes: it is written last, and until then what says that there is none.
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// # Safety
    /// Unless it is null, it points to memory for a `T` that is the caller's alone during the call.
    pub(crate) unsafe fn new(pointer: *mut T, none: T, name: &str) -> Result<Self> {
        if pointer.is_null() {
            return Err(Failure::null(name));
        }
        // SAFETY: as the caller says.
        unsafe { pointer.write(none) };
        Ok(Out(pointer))
    }

    pub(crate) fn set(self, value: T) {
        // SAFETY: who called `new` vouched for the pointer until the end of the call.
        unsafe { self.0.write(value) };
    }
}

/// A result of a pointer's kind.
impl<T> Out<*mut T> {
    /// # Safety
    /// As [`Out::new`].
    pub(crate) unsafe fn pointer(pointer: *mut *mut T, name: &str) -> Result<Self> {
        // SAFETY: as the caller says.
        unsafe { Out::new(pointer, ptr::null_mut(), name) }
    }

    pub(crate) fn give(self, value: T) {
        self.set(Box::into_raw(Box::new(value)));
    }
}
