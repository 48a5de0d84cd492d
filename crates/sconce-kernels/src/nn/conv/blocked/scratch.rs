//! Scratch memory that each thread keeps between calls.

use std::cell::RefCell;

use sconce_kernel_core::alloc::counting_allocator;

thread_local! {
    static BUFFERS: RefCell<Vec<Vec<f32>>> = const { RefCell::new(Vec::new()) };
}

/// How many numbers a thread keeps in each of its buffers.
const MAX_KEPT: usize = 1 << 24;

/// Numbers in a cache line, of which a buffer begins at a multiple.
const LINE: usize = 16;

/// Works with this many numbers, whatever they are. A call inside of a call gets memory of its own.
pub(super) fn with<R>(len: usize, work: impl FnOnce(&mut [f32]) -> R) -> R {
    let mut buffer = BUFFERS.with_borrow_mut(Vec::pop).unwrap_or_default();
    let room = len + LINE;
    if buffer.len() < room {
        // What it held is not wanted: another one need not be filled with it.
        buffer = vec![0.0; room];
    }
    let skipped = buffer.as_ptr().align_offset(LINE * size_of::<f32>()).min(LINE);
    let result = work(&mut buffer[skipped..skipped + len]);
    if buffer.len() <= MAX_KEPT && counting_allocator::may_keep(size_of_val(&*buffer)) {
        BUFFERS.with_borrow_mut(|buffers| buffers.push(buffer));
    }
    result
}
