//! What every function does at the border to C.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char};
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::slice;
use std::sync::Once;

use crate::errors::{Failure, sconce_error};

/// What a function does within the guard.
pub(crate) type Result<T = ()> = std::result::Result<T, Failure>;

thread_local! {
    /// How many guards are around what this thread does.
    static GUARDS: Cell<usize> = const { Cell::new(0) };
    /// What the last panic within a guard said, and where.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Does something that may fail, and makes an error of a panic.
pub(crate) fn guarded(work: impl FnOnce() -> Result) -> *mut sconce_error {
    match caught(work) {
        Ok(Ok(())) => ptr::null_mut(),
        Ok(Err(failure)) => failure.into_raw(),
        Err(panic) => Failure::panicked(&panic).into_raw(),
    }
}

/// Does something that cannot fail; `otherwise` is what a panic gives.
pub(crate) fn quiet<R>(otherwise: R, work: impl FnOnce() -> R) -> R {
    caught(work).unwrap_or(otherwise)
}

/// What `work` gives, or what it said when it panicked. Nothing is printed.
fn caught<R>(work: impl FnOnce() -> R) -> std::result::Result<R, String> {
    silence_panics();
    GUARDS.set(GUARDS.get() + 1);
    let done = catch_unwind(AssertUnwindSafe(|| {
        #[cfg(feature = "test-panics")]
        if PANIC_NEXT.replace(false) {
            panic!("a panic on purpose");
        }
        work()
    }));
    GUARDS.set(GUARDS.get() - 1);
    done.map_err(|payload| PANIC.take().unwrap_or_else(|| text_of(&*payload)))
}

fn text_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default()
}

/// Panics within a guard are not printed but kept; others go to who listened before.
fn silence_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if GUARDS.get() == 0 {
                return before(info);
            }
            let place = info.location().map(|at| format!(" ({}:{})", at.file(), at.line()));
            let text = text_of(info.payload()) + &place.unwrap_or_default();
            PANIC.set(Some(text));
        }));
    });
}

#[cfg(feature = "test-panics")]
thread_local! {
    static PANIC_NEXT: Cell<bool> = const { Cell::new(false) };
}

/// Makes the next function that this thread calls panic.
#[cfg(feature = "test-panics")]
pub fn panic_next() {
    PANIC_NEXT.set(true);
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

/// Frees an object that this library gave, if it is one.
///
/// # Safety
/// It is null, or comes from `Box::into_raw` and is freed here, once.
pub(crate) unsafe fn delete<T>(pointer: *mut T) {
    if !pointer.is_null() {
        // SAFETY: as the caller says.
        quiet((), || drop(unsafe { Box::from_raw(pointer) }));
    }
}
