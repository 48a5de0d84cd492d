//! A global allocator that counts what the process holds.
//!
//! A running program holds strings, lists, dicts and tensors, and operators hold scratch memory beside
//! them. Only the allocator sees all of it. So a binary that runs programs of strangers installs
//! [`CountingAllocator`]; every [`Memory`](crate::Memory) then binds what the whole process has
//! allocated since it was made, on top of what it counts itself.
//!
//! Each thread counts for itself and adds to the common count in steps of 64 KiB: counting costs an
//! addition.
#![allow(
    unsafe_code,
    reason = "a global allocator is unsafe to write; it forwards to the system's"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering};

use super::huge_pages;

/// The system's allocator, and a count of the bytes that it has given.
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: sconce_kernel_core::CountingAllocator = sconce_kernel_core::CountingAllocator;
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct CountingAllocator;

/// What a thread counts before it tells the others. A single piece of this size is told at once.
const STEP: isize = 64 << 10;

/// Bytes that the process holds, but for what threads have not told yet.
static COUNTED: AtomicIsize = AtomicIsize::new(0);
/// Whether anything is counted.
static IS_COUNTING: AtomicBool = AtomicBool::new(false);
/// The count that no allocation may pass.
static CEILING: AtomicUsize = AtomicUsize::new(usize::MAX);
/// What ends the process instead.
static AT_CEILING: OnceLock<fn()> = OnceLock::new();

thread_local! {
    /// What this thread has not told yet. It needs no destructor, so it may be used within the allocator.
    static UNTOLD: Cell<isize> = const { Cell::new(0) };
}

/// Bytes that the process holds; `None` where [`CountingAllocator`] is not installed.
pub(crate) fn counted() -> Option<usize> {
    static IS_INSTALLED: OnceLock<bool> = OnceLock::new();
    let is_installed = *IS_INSTALLED.get_or_init(|| {
        // A piece that is told at once.
        drop(std::hint::black_box(Vec::<u8>::with_capacity(2 * STEP as usize)));
        IS_COUNTING.load(Ordering::Relaxed)
    });
    is_installed.then(|| {
        let untold = UNTOLD.try_with(Cell::get).unwrap_or(0);
        usize::try_from(COUNTED.load(Ordering::Relaxed) + untold).unwrap_or(0)
    })
}

/// Sets how many bytes more than now the process may hold. The allocation that would be too much is not
/// made: `end` is called in its place, from whichever thread it is in, and must end the process. It may
/// allocate. The setting is of no effect where [`CountingAllocator`] is not installed, and of the last
/// call where there are several.
///
/// [`Memory`](crate::Memory) refuses with an error what it knows of before; this is for what it does not.
pub fn set_ceiling(bytes: usize, end: fn()) {
    let Some(counted) = counted() else { return };
    AT_CEILING.get_or_init(|| end);
    keep_little(bytes);
    CEILING.store(counted.saturating_add(bytes), Ordering::Relaxed);
}

/// Takes the ceiling away.
pub fn lift_ceiling() {
    CEILING.store(usize::MAX, Ordering::Relaxed);
}

/// Whether a thread may keep so much memory that it is done with: little of what there is room for.
pub fn may_keep(bytes: usize) -> bool {
    match CEILING.load(Ordering::Relaxed) {
        usize::MAX => true,
        ceiling => {
            let room = ceiling.saturating_sub(counted().unwrap_or(0));
            bytes <= room / 8
        }
    }
}

/// Adds to the count; negative numbers where memory is given back.
#[inline]
fn count(bytes: isize) {
    // A thread that ends may still free memory: it is told at once then.
    let step = UNTOLD.try_with(|untold| {
        let sum = untold.get() + bytes;
        let is_small = sum.unsigned_abs() < STEP as usize;
        untold.set(if is_small { sum } else { 0 });
        if is_small { 0 } else { sum }
    });
    match step {
        Ok(0) => {}
        Ok(sum) => tell(sum),
        Err(_) => tell(bytes),
    }
}

#[cold]
fn tell(bytes: isize) {
    let all = COUNTED.fetch_add(bytes, Ordering::Relaxed) + bytes;
    IS_COUNTING.store(true, Ordering::Relaxed);
    if bytes > 0 && usize::try_from(all).is_ok_and(|all| all > CEILING.load(Ordering::Relaxed)) {
        // What ends the process allocates too.
        lift_ceiling();
        if let Some(end) = AT_CEILING.get() {
            end();
        }
    }
}

/// What an allocation takes of the system's memory: glibc puts its size before it and rounds up.
#[inline]
fn footprint(size: usize) -> isize {
    // No allocation is larger than an isize.
    ((size.saturating_add(8 + 15) & !15).max(32)) as isize
}

// SAFETY: every method gives the system's allocator the layout, the pointer and the size that it was
// given, so the caller's promises are the ones that the system's allocator needs, and its promises
// about what it returns hold here. The layout alone decides which memory is mapped instead, whole pages
// of zeros that are aligned more than it asks, so what was mapped is what is unmapped. Counting neither
// allocates nor unwinds, but for the function that ends the process.
unsafe impl GlobalAlloc for CountingAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(footprint(layout.size()));
        if huge_pages::is_one(layout) {
            return huge_pages::map(layout.size());
        }
        // SAFETY: see above.
        unsafe { System.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(footprint(layout.size()));
        if huge_pages::is_one(layout) {
            return huge_pages::map(layout.size());
        }
        // SAFETY: see above.
        unsafe { System.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-footprint(layout.size()));
        if huge_pages::is_one(layout) {
            // SAFETY: this layout was mapped, and the caller is done with it.
            return unsafe { huge_pages::unmap(pointer, layout.size()) };
        }
        // SAFETY: see above.
        unsafe { System.dealloc(pointer, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises a size that is a layout's.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if huge_pages::is_one(layout) || huge_pages::is_one(new) {
            // SAFETY: the new memory holds `size` bytes, and what is copied lies within both; the old memory is
            // given back as its layout has it.
            return unsafe {
                let to = self.alloc(new);
                if !to.is_null() {
                    std::ptr::copy_nonoverlapping(pointer, to, layout.size().min(size));
                    self.dealloc(pointer, layout);
                }
                to
            };
        }
        count(footprint(size) - footprint(layout.size()));
        // SAFETY: see above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Makes glibc give freed memory back to the system sooner where little may be held: it keeps pieces of
/// up to 32 MiB for later, which would be held on top of what is counted.
fn keep_little(limit: usize) {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            fn mallopt(parameter: i32, value: i32) -> i32;
        }
        const M_MMAP_THRESHOLD: i32 = -3;
        const LEAST: usize = 128 << 10;
        const MOST: usize = 32 << 20;
        let threshold = limit / 64;
        if threshold < MOST {
            // SAFETY: the function only sets a number, under a lock of its own.
            unsafe { mallopt(M_MMAP_THRESHOLD, threshold.max(LEAST) as i32) };
        }
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = limit;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_a_piece_is_rounded_as_the_system_does() {
        for (size, expected) in [(1, 32), (24, 32), (25, 48), (40, 48), (41, 64), (1000, 1008)] {
            assert_eq!(footprint(size), expected, "{size}");
        }
    }
}
