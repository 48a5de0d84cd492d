//! The C ABI of sconce, `libsconce`: what `include/sconce.h` declares.
//!
//! A file is a family of functions. [`errors`] is how everything fails, `guard.rs` what every function does at the
//! border: pointers are checked, results go out last, a panic becomes an error. Hosts read the guide "You write C, C++,
//! Fortran or Go" in the book.
//!
//! Values and tensors may go from thread to thread: they share no memory with a session. A session is its thread's
//! (`sconce::run::SessionHandle`).
#![allow(non_camel_case_types, reason = "names of C")]
#![allow(
    unsafe_code,
    reason = "the border to C is pointers; this crate is that border and nothing else"
)]

pub mod checkpoint;
pub mod errors;
mod guard;
pub mod module;
pub mod options;
mod panics;
pub mod session;
pub mod strings;
pub mod tensor;
pub mod threads;
pub mod value;

use std::ffi::c_char;

/// The major version of the library.
pub const SCONCE_VERSION_MAJOR: u32 = 0;
/// The minor version of the library.
pub const SCONCE_VERSION_MINOR: u32 = 1;
/// The patch version of the library.
pub const SCONCE_VERSION_PATCH: u32 = 0;

/// The version of this interface, that of the library's file name: 0 until the interface is stable, when functions are only
/// added.
#[unsafe(no_mangle)]
pub extern "C" fn sconce_abi_version() -> u32 {
    0
}

/// The version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn sconce_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

#[cfg(feature = "test-panics")]
pub use panics::panic_next;
