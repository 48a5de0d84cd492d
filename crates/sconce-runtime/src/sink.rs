//! What programs print and warn.

/// Where a program's output goes.
pub trait Sink {
    /// What `print` prints, with its line break. Text of more than 64 KiB comes in several pieces.
    fn print(&mut self, text: &str);
    /// The message of `warnings.warn`.
    fn warn(&mut self, message: &str);
}

/// A sink that drops what it is given.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Sink for Silent {
    fn print(&mut self, _: &str) {}
    fn warn(&mut self, _: &str) {}
}
