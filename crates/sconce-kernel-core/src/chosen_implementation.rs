//! Which of its implementations a kernel took, for profiles.
//!
//! A kernel that chooses between algorithms says so by [`chose`]. Whoever measures an operator forgets what was
//! said before, runs it, and asks [`take_choice`]. What an outer kernel says counts, not what it builds on: an
//! im2col convolution also runs a matrix product. Each thread has a choice of its own; kernels choose on the
//! thread that calls them.

use std::cell::Cell;

thread_local! {
    static CHOICE: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Says which implementation is about to run, in a few words.
#[inline]
pub fn chose(implementation: &'static str) {
    CHOICE.with(|choice| {
        if choice.get().is_none() {
            choice.set(Some(implementation));
        }
    });
}

/// The first implementation that was chosen on this thread since the last call, if any.
///
/// ```
/// use sconce_kernel_core::chosen_implementation::{chose, take_choice};
///
/// chose("im2col and GEMM");
/// chose("GEMM");
/// assert_eq!(take_choice(), Some("im2col and GEMM"));
/// assert_eq!(take_choice(), None);
/// ```
pub fn take_choice() -> Option<&'static str> {
    CHOICE.take()
}
