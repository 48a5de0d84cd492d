/// Ceilings on what an untrusted file may make a reader spend.
///
/// Sizes are in bytes. The defaults admit every checkpoint seen in practice and keep a hostile
/// file of a few kilobytes harmless; readers check a length against what is left of the input
/// *before* they allocate, so most lies never reach these numbers.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// Longest stream (standard input) that is kept in memory.
    pub max_stream_bytes: u64,
    /// Longest pickle that is read.
    pub max_pickle_bytes: u64,
    /// Most values that one pickle may build.
    pub max_pickle_values: usize,
    /// Most entries in one archive.
    pub max_entries: usize,
    /// Most bytes that one compressed record may inflate to.
    pub max_inflated_bytes: u64,
    /// Inflation beyond 64 MiB must stay under this ratio of output to input.
    pub max_inflate_ratio: u64,
    /// Most bytes that one tensor may take when it is copied out of its storage. An expanded view
    /// (stride 0) can be far larger than the file it came from.
    pub max_tensor_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_stream_bytes: 64 << 30,
            max_pickle_bytes: 1 << 30,
            max_pickle_values: 100_000_000,
            max_entries: 10_000_000,
            max_inflated_bytes: 4 << 30,
            max_inflate_ratio: 1100,
            max_tensor_bytes: 64 << 30,
        }
    }
}
