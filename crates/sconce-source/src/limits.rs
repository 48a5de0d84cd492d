/// What a pickle may inflate to, whatever its length in the file.
const FREE_PICKLE_BYTES: u64 = 16 << 20;
/// What else a pickle may inflate to, for each byte that it takes in the file.
const PICKLE_BYTES_PER_BYTE: u64 = 64;
/// The longest pickle.
const MOST_PICKLE_BYTES: u64 = 1 << 30;
/// Values that any pickle may make.
const FREE_PICKLE_VALUES: u64 = 1 << 18;
/// What else it may make, for each byte that it takes in the file.
const PICKLE_VALUES_PER_BYTE: u64 = 64;
/// Most values of a pickle of any length.
const MOST_PICKLE_VALUES: u64 = 100_000_000;
/// Memory that the copies of any pickle's parts may take.
const FREE_PICKLE_MEMORY: u64 = 16 << 20;
/// What else they may take, for each byte that it takes in the file.
const PICKLE_MEMORY_PER_BYTE: u64 = 4 << 10;

/// Ceilings on what an untrusted file may make a reader spend.
///
/// Sizes are in bytes. The defaults admit every checkpoint seen in practice and keep a hostile
/// file of a few kilobytes harmless; readers check a length against what is left of the input
/// *before* they allocate, so most lies never reach these numbers. What a pickle may spend grows
/// with the bytes that it takes in the file, since a deflated one can claim a thousand times as many.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// Longest stream (standard input) that is kept in memory.
    pub max_stream_bytes: u64,
    /// Longest pickle that is read: [`Limits::pickle_bytes`] where this is `None`.
    pub max_pickle_bytes: Option<u64>,
    /// Most values that one pickle may build: [`Limits::pickle_values`] where this is `None`.
    pub max_pickle_values: Option<usize>,
    /// Most memory for copies of a pickle's parts, such as a name that many objects share:
    /// [`Limits::pickle_memory`] where this is `None`.
    pub max_pickle_memory: Option<u64>,
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
            max_pickle_bytes: None,
            max_pickle_values: None,
            max_pickle_memory: None,
            max_entries: 10_000_000,
            max_inflated_bytes: 4 << 30,
            max_inflate_ratio: 1100,
            max_tensor_bytes: 64 << 30,
        }
    }
}

impl Limits {
    /// The longest pickle that is read where it takes `stored` bytes in the file: by default at most
    /// 1 GiB, and of a deflated one 16 MiB or 64 bytes for each byte in the file.
    pub fn pickle_bytes(&self, stored: u64) -> u64 {
        self.max_pickle_bytes.unwrap_or_else(|| {
            let grown = stored.saturating_mul(PICKLE_BYTES_PER_BYTE);
            grown.clamp(FREE_PICKLE_BYTES, MOST_PICKLE_BYTES)
        })
    }

    /// The most values of a pickle that takes `stored` bytes in the file: by default 262,144, or 64
    /// for each byte, and at most a hundred million.
    pub fn pickle_values(&self, stored: u64) -> usize {
        self.max_pickle_values.unwrap_or_else(|| {
            let grown = stored.saturating_mul(PICKLE_VALUES_PER_BYTE);
            usize::try_from(grown.clamp(FREE_PICKLE_VALUES, MOST_PICKLE_VALUES))
                .unwrap_or(usize::MAX)
        })
    }

    /// The most memory that copies of a pickle's parts may take where it takes `stored` bytes in the
    /// file: by default 16 MiB, or 4 KiB for each byte.
    pub fn pickle_memory(&self, stored: u64) -> u64 {
        self.max_pickle_memory.unwrap_or_else(|| {
            stored.saturating_mul(PICKLE_MEMORY_PER_BYTE).max(FREE_PICKLE_MEMORY)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_pickle_may_spend_grows_with_the_file() {
        let limits = Limits::default();
        let of = |stored| {
            (
                limits.pickle_bytes(stored),
                limits.pickle_values(stored),
                limits.pickle_memory(stored),
            )
        };
        assert_eq!(of(0), (16 << 20, 1 << 18, 16 << 20));
        assert_eq!(of(261 << 10), (261 << 16, 17_104_896, 1_069_056 << 10));
        assert_eq!(of(8 << 20), (512 << 20, 100_000_000, 32 << 30));
        assert_eq!(of(u64::MAX), (1 << 30, 100_000_000, u64::MAX));
    }

    #[test]
    fn what_the_caller_says_counts_for_every_length() {
        let limits = Limits {
            max_pickle_bytes: Some(1),
            max_pickle_values: Some(2),
            max_pickle_memory: Some(3),
            ..Limits::default()
        };
        for stored in [0, u64::MAX] {
            let found = (
                limits.pickle_bytes(stored),
                limits.pickle_values(stored),
                limits.pickle_memory(stored),
            );
            assert_eq!(found, (1, 2, 3));
        }
    }
}
