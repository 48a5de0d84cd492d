//! The functions as a host calls them: by pointers.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unsafe_code, reason = "what is tested are functions that take pointers")]
#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "pointers are the tests' own, for the length of a call"
)]

mod calls;
mod checkpoints;
mod limits;
mod modules;
mod nulls;
mod symbols;
mod tensors;
mod threads;
mod values;

use std::ffi::{CStr, CString, c_char};
use std::ptr;

use sconce_c_api::errors::*;
use sconce_c_api::module::*;
use sconce_c_api::options::*;
use sconce_c_api::session::*;
use sconce_c_api::strings::*;
use sconce_c_api::tensor::*;
use sconce_c_api::value::*;

fn c(text: &str) -> CString {
    CString::new(text).unwrap()
}

/// A file of the repository.
fn file(path: &str) -> CString {
    c(&format!("{}/{path}", env!("CARGO_MANIFEST_DIR")))
}

fn text(pointer: *const c_char) -> String {
    unsafe { CStr::from_ptr(pointer) }.to_str().unwrap().to_owned()
}

/// An error that is there: its code and message, and it is deleted.
fn failed(error: *mut sconce_error) -> (sconce_code, String) {
    assert!(!error.is_null(), "no error");
    let found = unsafe { (sconce_error_code(error), text(sconce_error_message(error))) };
    unsafe { sconce_error_delete(error) };
    assert!(!found.1.is_empty());
    found
}

#[track_caller]
fn ok(error: *mut sconce_error) {
    if !error.is_null() {
        panic!("{:?}", failed(error));
    }
}

fn owned(mut string: sconce_string) -> String {
    let bytes = unsafe { std::slice::from_raw_parts(string.data.cast::<u8>(), string.size + 1) };
    assert_eq!(bytes[string.size], 0);
    let out = String::from_utf8(bytes[..string.size].to_vec()).unwrap();
    unsafe { sconce_string_delete(&mut string) };
    assert!(string.data.is_null() && string.owner.is_null() && string.size == 0);
    out
}

fn no_string() -> sconce_string {
    sconce_string { data: ptr::null(), size: 0, owner: ptr::null_mut() }
}

/// A module, deleted at the end.
struct Loaded(*mut sconce_module);

// What the interface says.
unsafe impl Send for Loaded {}
unsafe impl Sync for Loaded {}

impl Loaded {
    fn new(path: &str) -> Loaded {
        let mut module = ptr::null_mut();
        ok(unsafe { sconce_module_load(file(path).as_ptr(), &mut module) });
        Loaded(module)
    }

    fn host() -> Loaded {
        Loaded::new("tests/host.pt")
    }

    fn session(&self) -> Opened {
        self.session_with(ptr::null())
    }

    fn session_with(&self, options: *const sconce_options) -> Opened {
        let mut session = ptr::null_mut();
        ok(unsafe { sconce_session_new(self.0, options, &mut session) });
        Opened(session)
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        unsafe { sconce_module_delete(self.0) };
    }
}

struct Opened(*mut sconce_session);

unsafe impl Send for Opened {}
unsafe impl Sync for Opened {}

impl Drop for Opened {
    fn drop(&mut self) {
        unsafe { sconce_session_delete(self.0) };
    }
}

/// A value, deleted at the end.
struct Value(*mut sconce_value);

impl Drop for Value {
    fn drop(&mut self) {
        unsafe { sconce_value_delete(self.0) };
    }
}

impl Value {
    fn tensor<T: sconce::tensor::Element>(data: &[T], dtype: sconce_dtype, sizes: &[i64]) -> Value {
        Value(unsafe { sconce_value_tensor(blob(data, dtype, sizes)) })
    }

    fn int(value: i64) -> Value {
        Value(sconce_value_int(value))
    }

    fn string(value: &str) -> Value {
        let mut out = ptr::null_mut();
        ok(unsafe { sconce_value_string(value.as_ptr().cast(), value.len(), &mut out) });
        Value(out)
    }

    fn floats(&self) -> Vec<f32> {
        floats(unsafe { sconce_value_as_tensor(self.0) })
    }

    fn text(&self) -> String {
        text_of(self.0)
    }
}

fn text_of(value: *const sconce_value) -> String {
    let (mut data, mut size) = (ptr::null(), 0);
    assert!(unsafe { sconce_value_as_string(value, &mut data, &mut size) });
    let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), size) };
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A tensor over memory that outlives it.
fn blob<T>(data: &[T], dtype: sconce_dtype, sizes: &[i64]) -> *mut sconce_tensor {
    let mut out = ptr::null_mut();
    ok(unsafe {
        sconce_tensor_from_blob(
            data.as_ptr().cast_mut().cast(),
            dtype,
            sizes.as_ptr(),
            ptr::null(),
            sizes.len(),
            None,
            ptr::null_mut(),
            &mut out,
        )
    });
    out
}

fn floats(tensor: *const sconce_tensor) -> Vec<f32> {
    let count: i64 = sizes(tensor).iter().product();
    let mut out = vec![0f32; count as usize];
    let bytes = size_of_val(&*out);
    ok(unsafe { sconce_tensor_copy_to(tensor, out.as_mut_ptr().cast(), bytes, SCONCE_FLOAT32) });
    out
}

fn sizes(tensor: *const sconce_tensor) -> Vec<i64> {
    assert!(!tensor.is_null(), "no tensor");
    let (first, ndim) = unsafe { (sconce_tensor_sizes(tensor), sconce_tensor_ndim(tensor)) };
    unsafe { std::slice::from_raw_parts(first, ndim) }.to_vec()
}

impl Opened {
    fn try_call(&self, method: &str, args: &[&Value]) -> Result<Value, *mut sconce_error> {
        let args: Vec<*const sconce_value> =
            args.iter().map(|value| value.0.cast_const()).collect();
        let mut out = ptr::null_mut();
        let (method, args, n) = (c(method), args.as_ptr(), args.len());
        let error =
            unsafe { sconce_session_call(self.0, method.as_ptr(), args, n, ptr::null(), &mut out) };
        assert_eq!(error.is_null(), !out.is_null());
        if error.is_null() { Ok(Value(out)) } else { Err(error) }
    }

    #[track_caller]
    fn call(&self, method: &str, args: &[&Value]) -> Value {
        self.try_call(method, args).unwrap_or_else(|error| panic!("{:?}", failed(error)))
    }

    #[track_caller]
    fn fails(&self, method: &str, args: &[&Value]) -> (sconce_code, String) {
        match self.try_call(method, args) {
            Ok(_) => panic!("{method} did not fail"),
            Err(error) => failed(error),
        }
    }
}
