//! Panics are caught, and kept as text, before they reach C.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    /// How many guards are around what this thread does.
    static GUARDS: Cell<usize> = const { Cell::new(0) };
    /// What the last panic within a guard said, and where.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Does something that cannot fail; `otherwise` is what a panic gives.
pub(crate) fn quiet<R>(otherwise: R, work: impl FnOnce() -> R) -> R {
    caught(work).unwrap_or(otherwise)
}

/// What `work` gives, or what it said when it panicked. Nothing is printed.
pub(crate) fn caught<R>(work: impl FnOnce() -> R) -> Result<R, String> {
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
