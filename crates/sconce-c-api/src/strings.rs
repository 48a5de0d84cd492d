//! Text and bytes that are made for the caller.

use std::ffi::{c_char, c_void};
use std::ptr;

use crate::guard::{Out, Result};
use crate::panics::quiet;

/// Text or bytes that the caller owns: `size` bytes at `data`, with a NUL behind them that is not counted. Deleted by
/// `sconce_string_delete`.
#[repr(C)]
pub struct sconce_string {
    /// The bytes; NULL where there are none.
    pub data: *const c_char,
    /// How many there are.
    pub size: usize,
    /// The library's.
    pub owner: *mut c_void,
}

impl sconce_string {
    const NONE: sconce_string =
        sconce_string { data: ptr::null(), size: 0, owner: ptr::null_mut() };

    /// # Safety
    /// As [`Out::new`].
    pub(crate) unsafe fn out(pointer: *mut sconce_string) -> Result<Out<sconce_string>> {
        // SAFETY: as the caller says.
        unsafe { Out::new(pointer, Self::NONE, "out") }
    }
}

impl From<Vec<u8>> for sconce_string {
    fn from(mut bytes: Vec<u8>) -> Self {
        let size = bytes.len();
        bytes.push(0);
        let owned = Box::new(bytes);
        let data = owned.as_ptr().cast();
        sconce_string { data, size, owner: Box::into_raw(owned).cast() }
    }
}

impl From<String> for sconce_string {
    fn from(text: String) -> Self {
        text.into_bytes().into()
    }
}

/// Frees the bytes, and leaves none. The structure itself is the caller's; the pointer may be NULL.
///
/// # Safety
/// `string` is NULL or points to what this library filled in, or to zeros.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_string_delete(string: *mut sconce_string) {
    quiet((), || {
        // SAFETY: as the caller says.
        let Some(string) = (unsafe { string.as_mut() }) else { return };
        let owner = std::mem::replace(string, sconce_string::NONE).owner;
        if !owner.is_null() {
            // SAFETY: the owner comes from `Box::into_raw` in this file, and was taken out of the structure.
            drop(unsafe { Box::from_raw(owner.cast::<Vec<u8>>()) });
        }
    });
}
