//! Variables by name, in nested blocks.

use std::collections::BTreeMap;
use std::sync::Arc;

/// The variables set in one block, in order of their names.
pub(super) type Frame<T> = BTreeMap<Arc<str>, T>;

/// The frames of the blocks around a place, innermost last: PyTorch's `MiniEnvironment`.
pub(super) struct Frames<T>(Vec<Frame<T>>);

impl<T> Frames<T> {
    /// No frames.
    pub(super) fn new() -> Self {
        Self(Vec::new())
    }

    /// Enters a block.
    pub(super) fn push(&mut self) {
        self.0.push(Frame::new());
    }

    /// Leaves a block, and gives what was set in it.
    pub(super) fn pop(&mut self) -> Frame<T> {
        self.0.pop().unwrap_or_default()
    }

    /// Sets a variable in the innermost block.
    pub(super) fn set(&mut self, name: Arc<str>, value: T) {
        if let Some(frame) = self.0.last_mut() {
            frame.insert(name, value);
        }
    }

    /// What a variable was last set to, in the innermost block that sets it.
    pub(super) fn find(&self, name: &str) -> Option<&T> {
        self.0.iter().rev().find_map(|frame| frame.get(name))
    }
}
