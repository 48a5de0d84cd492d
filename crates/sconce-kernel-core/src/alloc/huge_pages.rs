//! Large blocks of tensors straight from the system, in huge pages where it has them.
//!
//! The first touch of each page of 4 KiB costs more than what is computed with it, and half of what a network's first
//! call took: weights are packed into memory that nobody has touched. A huge page is 512 of those.
#![allow(unsafe_code, reason = "the system gives memory as addresses")]

use std::alloc::Layout;

/// Smaller pieces are as well off with the system's allocator, which fills with zeros what is aligned so.
const LEAST: usize = 1 << 20;

/// How blocks of tensors are aligned, and little else.
const ALIGNMENT: usize = 64;

/// Whether memory of this layout is taken from [`map`], and given back to [`unmap`].
#[inline]
pub(super) fn is_one(layout: Layout) -> bool {
    cfg!(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64"),
        target_pointer_width = "64",
        not(miri)
    )) && layout.align() == ALIGNMENT
        && layout.size() >= LEAST
}

#[cfg(target_os = "linux")]
unsafe extern "C" {
    fn mmap(at: *mut u8, len: usize, prot: i32, flags: i32, file: i32, offset: i64) -> *mut u8;
    fn munmap(at: *mut u8, len: usize) -> i32;
    fn madvise(at: *mut u8, len: usize, advice: i32) -> i32;
}

/// New zeros, page by page; null where the system has not that many.
#[cfg(target_os = "linux")]
pub(super) fn map(len: usize) -> *mut u8 {
    const READ_AND_WRITE: i32 = 1 | 2;
    const PRIVATE_AND_ANONYMOUS: i32 = 0x2 | 0x20;
    const HUGE_PAGE: i32 = 14;
    // SAFETY: the system chooses where, so nothing that is in use is mapped over; no file is named.
    let at =
        unsafe { mmap(std::ptr::null_mut(), len, READ_AND_WRITE, PRIVATE_AND_ANONYMOUS, -1, 0) };
    if at.addr() == usize::MAX {
        return std::ptr::null_mut();
    }
    // SAFETY: the pages have just been mapped; the advice leaves what is in them. It may be refused: small pages do.
    let _ = unsafe { madvise(at, len, HUGE_PAGE) };
    at
}

/// Gives memory back.
///
/// # Safety
/// It is from [`map`], of this length, and nobody uses it any more.
#[cfg(target_os = "linux")]
pub(super) unsafe fn unmap(at: *mut u8, len: usize) {
    // SAFETY: the caller's promise is what the system needs.
    let _ = unsafe { munmap(at, len) };
}

/// There are none on this system: [`is_one`] says so.
#[cfg(not(target_os = "linux"))]
pub(super) fn map(_: usize) -> *mut u8 {
    std::ptr::null_mut()
}

/// As [`map`].
///
/// # Safety
/// It is never called.
#[cfg(not(target_os = "linux"))]
pub(super) unsafe fn unmap(_: *mut u8, _: usize) {}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn only_large_blocks_of_tensors_are_mapped() {
        let layout = |size, align| Layout::from_size_align(size, align).unwrap();
        assert!(!is_one(layout(LEAST, 16)) && !is_one(layout(LEAST - 64, ALIGNMENT)));
        if !is_one(layout(LEAST, ALIGNMENT)) {
            return;
        }
        let at = map(LEAST);
        assert!(!at.is_null() && at.addr().is_multiple_of(4096));
        // SAFETY: so many bytes have been mapped, and nobody else knows of them.
        unsafe {
            let bytes = std::slice::from_raw_parts_mut(at, LEAST);
            assert!(bytes.iter().all(|&byte| byte == 0));
            bytes.fill(7);
            unmap(at, LEAST);
        }
        assert!(map(1 << 60).is_null());
    }
}
