//! An allocator that counts what each thread holds, so that a test can assert on memory and work
//! instead of time.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static METER: Cell<Meter> = const { Cell::new(Meter { held: 0, peak: 0, taken: 0, calls: 0 }) };
}

/// What a thread allocated so far, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Meter {
    held: i64,
    /// Most that was held at one time.
    pub(crate) peak: i64,
    /// All that was ever taken, whether given back or not.
    pub(crate) taken: i64,
    /// How often memory was asked for.
    pub(crate) calls: u64,
}

impl Meter {
    /// This thread's meter.
    pub(crate) fn read() -> Meter {
        METER.get()
    }
}

fn count(more: usize, less: usize) {
    // A thread that is ending may have no meter any more.
    let _ = METER.try_with(|meter| {
        let mut now = meter.get();
        now.held += more as i64 - less as i64;
        now.peak = now.peak.max(now.held);
        now.taken += more as i64;
        now.calls += u64::from(more > 0);
        meter.set(now);
    });
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call is passed on to the system's allocator with the arguments it came with; the
// counting beside it touches a thread-local cell that needs no allocation and no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, layout.size());
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
