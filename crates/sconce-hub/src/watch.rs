/// Who is told what a download does. The library prints nothing itself.
pub trait Watch {
    /// A sentence of PyTorch's for the user, such as `Downloading: "…" to …`.
    fn say(&self, message: &str) {
        let _ = message;
    }

    /// A warning.
    fn warn(&self, message: &str) {
        let _ = message;
    }

    /// A file begins to come: its length, where the server says it, and how much of it is there from before.
    fn begin(&self, total: Option<u64>, there: u64) {
        let _ = (total, there);
    }

    /// As many bytes came.
    fn advance(&self, bytes: u64) {
        let _ = bytes;
    }

    /// The file is there, or will not come.
    fn end(&self) {}
}

/// Nobody is told.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Watch for Silent {}
