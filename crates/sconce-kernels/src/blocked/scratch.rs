//! Memory that a thread keeps between calls.

use std::cell::RefCell;

thread_local! {
    static BUFFER: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

/// How many numbers a thread keeps.
const MAX_KEPT: usize = 1 << 24;

/// Works with so many numbers, whatever they are. A call inside of a call gets memory of its own.
pub(super) fn with<R>(len: usize, work: impl FnOnce(&mut [f32]) -> R) -> R {
    let mut buffer =
        BUFFER.with(|kept| kept.try_borrow_mut().map(|mut kept| std::mem::take(&mut *kept)));
    let mut buffer = buffer.as_mut().map(std::mem::take).unwrap_or_default();
    if buffer.len() < len {
        buffer.resize(len, 0.0);
    }
    let result = work(&mut buffer[..len]);
    if buffer.len() <= MAX_KEPT {
        BUFFER.with(|kept| {
            if let Ok(mut kept) = kept.try_borrow_mut() {
                *kept = buffer;
            }
        });
    }
    result
}
