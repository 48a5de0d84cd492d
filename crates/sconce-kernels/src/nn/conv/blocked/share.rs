//! Work on a blocked image divided among threads.

use sconce_kernel_core::parallel::partition;

/// Elements below which other threads cost more than they bring.
const PARALLEL: usize = 1 << 15;

/// Calls `f` for each item, on several threads where there are many elements.
pub(super) fn each<I: Iterator<Item: Send>>(elements: usize, items: I, f: impl Fn(I::Item) + Sync) {
    match elements < PARALLEL {
        true => items.for_each(f),
        false => partition::for_each(items, f),
    }
}
