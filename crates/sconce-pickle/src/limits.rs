//! How much a pickle may make the machine hold.

/// Bounds on what reading one pickle may keep in memory.
///
/// The machine's own cost is linear in the bytes read whatever they say (about 40 bytes for each
/// opcode that makes a value; lengths are checked against the bytes left before anything is
/// allocated), so these only matter for pickles of many megabytes.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Most values (nodes of the arena) that a pickle may make.
    pub max_values: usize,
    /// Most slots of the memo that may be in use.
    pub max_memo: usize,
}

impl Default for Limits {
    /// 64 Mi values and 64 Mi memo slots.
    fn default() -> Self {
        Limits { max_values: 1 << 26, max_memo: 1 << 26 }
    }
}

impl Limits {
    /// The same limits with another [`Limits::max_values`].
    pub fn with_max_values(mut self, max_values: usize) -> Self {
        self.max_values = max_values;
        self
    }

    /// The same limits with another [`Limits::max_memo`].
    pub fn with_max_memo(mut self, max_memo: usize) -> Self {
        self.max_memo = max_memo;
        self
    }
}
