//! Scratch memory that each thread keeps between calls.

use std::cell::Cell;

use sconce_kernel_core::alloc::counting_allocator;

thread_local! {
    static BUFFER: Cell<Vec<f32>> = const { Cell::new(Vec::new()) };
}

/// How many numbers a thread keeps.
const MAX_KEPT: usize = 1 << 24;

/// Works with this many numbers, whatever they are. A call inside of a call gets memory of its own.
pub(super) fn with<R>(len: usize, work: impl FnOnce(&mut [f32]) -> R) -> R {
    let mut buffer = BUFFER.take();
    if buffer.len() < len {
        buffer.resize(len, 0.0);
    }
    let result = work(&mut buffer[..len]);
    if buffer.len() <= MAX_KEPT && counting_allocator::may_keep(size_of_val(&*buffer)) {
        BUFFER.set(buffer);
    }
    result
}
