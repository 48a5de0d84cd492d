//! What compiling Python source may spend where it runs constructors.

use std::time::Duration;

/// What the constructors that make a module may spend, as [`sconce_runtime::Limits`] says it of a program's
/// calls.
#[derive(Debug, Clone)]
pub struct ScriptLimits {
    /// Expressions and statements; no limit by default.
    pub steps: u64,
    /// Bytes that tensors and objects may hold at once; by default what the machine has left, less a reserve.
    pub memory: Option<usize>,
    /// How long they may take; no limit when `None`.
    pub time: Option<Duration>,
}

impl Default for ScriptLimits {
    fn default() -> Self {
        // Fuzzers have little time.
        match cfg!(fuzzing) {
            true => ScriptLimits { steps: 1 << 14, memory: Some(1 << 24), time: None },
            false => ScriptLimits { steps: u64::MAX, memory: None, time: None },
        }
    }
}

impl ScriptLimits {
    /// The same, with what is left of the machine's memory where it says nothing.
    pub(crate) fn or_what_is_left(&self) -> Self {
        let memory = self.memory.or_else(sconce_runtime::memory_left);
        ScriptLimits { memory, ..self.clone() }
    }
}
