//! What a call may spend.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use sconce_kernels::Memory;

use crate::Error;

/// What a call of a program may spend.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Instructions.
    pub steps: u64,
    /// How deep calls may nest.
    pub call_depth: usize,
    /// Elements of one list, dict or string (bytes).
    pub elements: usize,
    /// How long a call may take; no limit when `None`. Looked at between instructions.
    pub time: Option<Duration>,
    /// Set from elsewhere to stop the program between two instructions.
    pub interrupt: Option<Arc<AtomicBool>>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            steps: u64::MAX,
            call_depth: 10_000,
            elements: 1 << 28,
            time: None,
            interrupt: None,
        }
    }
}

/// How many bytes of memory this machine has, its swap space included, where the system says so: nobody
/// can hold more, and asking for it ends the process.
pub(crate) fn memory_of_machine() -> Option<usize> {
    static BYTES: LazyLock<Option<usize>> = LazyLock::new(|| {
        let said = std::fs::read_to_string("/proc/meminfo").ok()?;
        let kilobytes = |name: &str| -> Option<usize> {
            let line = said.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim_end_matches("kB").trim().parse().ok()
        };
        Some((kilobytes("MemTotal:")? + kilobytes("SwapTotal:").unwrap_or(0)).saturating_mul(1024))
    });
    *BYTES
}

/// How many instructions pass between two looks at the clock and the flag.
const INTERVAL: u64 = 1024;

/// What is left of the limits during a call.
#[derive(Debug)]
pub(crate) struct Budget {
    limits: Limits,
    spent: u64,
    next_look: u64,
    deadline: Option<Instant>,
    memory: Memory,
}

impl Budget {
    pub(crate) fn new(limits: &Limits, memory: &Memory) -> Self {
        Budget {
            deadline: limits.time.and_then(|time| Instant::now().checked_add(time)),
            spent: 0,
            next_look: 0,
            limits: limits.clone(),
            memory: memory.clone(),
        }
    }

    /// Counts an instruction; says whether [`Budget::look`] is due before it runs.
    #[inline]
    pub(crate) fn step(&mut self) -> bool {
        self.spent += 1;
        self.spent >= self.next_look
    }

    /// Whether the program may go on.
    #[cold]
    pub(crate) fn look(&mut self) -> Result<(), Error> {
        self.next_look = (self.spent + INTERVAL).min(self.limits.steps.saturating_add(1));
        if self.spent > self.limits.steps {
            return Err(Error::Limit(format!("the program took over {} steps", self.limits.steps)));
        }
        if self.deadline.is_some_and(|deadline| Instant::now() > deadline) {
            return Err(Error::Limit("the program took longer than it may".to_owned()));
        }
        self.check_memory()?;
        match &self.limits.interrupt {
            Some(flag) if flag.load(Ordering::Relaxed) => Err(Error::Interrupted),
            _ => Ok(()),
        }
    }

    /// Whether lists have grown beyond what may be held.
    fn check_memory(&self) -> Result<(), Error> {
        match self.memory.is_exceeded() {
            false => Ok(()),
            true => Err(Error::Limit(format!(
                "the program holds {} bytes, more than it may",
                self.memory.used()
            ))),
        }
    }

    pub(crate) fn check_depth(&self, depth: usize) -> Result<(), Error> {
        if depth < self.limits.call_depth {
            return Ok(());
        }
        Err(Error::Limit(format!("calls nest deeper than {}", self.limits.call_depth)))
    }

    /// Whether a value of so many elements may be made.
    pub(crate) fn check_elements(&self, elements: usize) -> Result<(), Error> {
        if elements <= self.limits.elements {
            return self.check_memory();
        }
        Err(Error::Limit(format!("a value of over {} elements", self.limits.elements)))
    }

    /// Whether a tensor of these sizes may be made.
    pub(crate) fn check_sizes(&self, sizes: &[i64]) -> Result<(), Error> {
        let sizes = sizes.iter().map(|&size| usize::try_from(size).unwrap_or(0));
        self.check_elements(sizes.fold(1, usize::saturating_mul))
    }
}
