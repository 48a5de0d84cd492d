//! What a call may spend.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sconce_kernels::Memory;

use crate::Error;
use crate::value::IValue;

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
    /// Asked now and then, on the thread of the call, whether the program is to go on.
    pub poll: Option<Poll>,
}

/// A question that a running program asks, some 20 times a second where its operators take no longer than that:
/// [`Limits::poll`]. For a host that hears of an interruption only on its own thread, as Python does.
///
/// ```
/// use sconce_runtime::{Error, IValue, Limits, Options, Poll, Session};
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/loops/model.pt");
/// let limits = Limits { poll: Some(Poll::new(|| false)), ..Limits::default() };
/// let module = sconce_torchscript::load(path)?;
/// let mut session = Session::new(&module, Options { limits, ..Options::default() }).unwrap();
/// // Whoever ends before the first question is not asked.
/// let ended = session.call("forward", &[IValue::Int(100_000_000)]);
/// assert!(matches!(ended, Err(Error::Interrupted)));
/// # Ok::<(), sconce_torchscript::Error>(())
/// ```
#[derive(Clone)]
pub struct Poll(Arc<dyn Fn() -> bool + Send + Sync>);

impl Poll {
    /// How long a program runs before it asks again.
    const INTERVAL: Duration = Duration::from_millis(50);

    /// Goes on for as long as the answer is true.
    pub fn new(goes_on: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Poll(Arc::new(goes_on))
    }
}

impl std::fmt::Debug for Poll {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Poll(..)")
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            steps: u64::MAX,
            call_depth: 10_000,
            elements: 1 << 28,
            time: None,
            interrupt: None,
            poll: None,
        }
    }
}

/// How many instructions pass between two looks at the clock and the flag, where they are quick.
const INTERVAL: u64 = 1024;
/// Looks that are further apart than this come more often, and those that are closer less often: an instruction may
/// be a convolution.
const LONG: Duration = Duration::from_millis(2);

/// What is left of the limits during a call.
#[derive(Debug)]
pub(crate) struct Budget {
    limits: Limits,
    spent: u64,
    next_look: u64,
    interval: u64,
    /// When the last look was, where one of the limits needs a clock.
    last_look: Option<Instant>,
    next_poll: Option<Instant>,
    deadline: Option<Instant>,
    memory: Memory,
}

impl Budget {
    pub(crate) fn new(limits: &Limits, memory: &Memory) -> Self {
        let clocked = limits.time.is_some() || limits.interrupt.is_some() || limits.poll.is_some();
        let now = clocked.then(Instant::now);
        let after = |time: Option<Duration>| now?.checked_add(time?);
        Budget {
            deadline: after(limits.time),
            spent: 0,
            next_look: 0,
            interval: if clocked { 1 } else { INTERVAL },
            last_look: now,
            next_poll: after(limits.poll.as_ref().map(|_| Poll::INTERVAL)),
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
        let now = self.last_look.map(|_| Instant::now());
        if let (Some(now), Some(last)) = (now, std::mem::replace(&mut self.last_look, now)) {
            self.interval = match now - last > LONG {
                true => (self.interval / 8).max(1),
                false => (self.interval * 2).min(INTERVAL),
            };
        }
        self.next_look = (self.spent + self.interval).min(self.limits.steps.saturating_add(1));
        if self.spent > self.limits.steps {
            return Err(Error::Limit(format!("step limit of {} exceeded", self.limits.steps)));
        }
        if let (Some(deadline), Some(time), Some(now)) = (self.deadline, self.limits.time, now)
            && now > deadline
        {
            return Err(Error::Limit(time_exceeded(time)));
        }
        self.check_bytes(0)?;
        if let (Some(poll), Some(due), Some(now)) = (&self.limits.poll, self.next_poll, now)
            && now > due
        {
            self.next_poll = now.checked_add(Poll::INTERVAL);
            if !(poll.0)() {
                return Err(Error::Interrupted);
            }
        }
        match &self.limits.interrupt {
            Some(flag) if flag.load(Ordering::Relaxed) => Err(Error::Interrupted),
            _ => Ok(()),
        }
    }

    /// Whether so many bytes more may be held.
    pub(crate) fn check_bytes(&self, bytes: usize) -> Result<(), Error> {
        self.memory.ask(bytes).map_err(|error| Error::Limit(error.message().to_owned()))
    }

    pub(crate) fn check_depth(&self, depth: usize) -> Result<(), Error> {
        if depth < self.limits.call_depth {
            return Ok(());
        }
        Err(Error::Limit(format!("limit of {} nested calls exceeded", self.limits.call_depth)))
    }

    /// Whether a string of so many bytes may be made.
    pub(crate) fn check_text(&self, bytes: usize) -> Result<(), Error> {
        self.check_elements(bytes)?;
        self.check_bytes(bytes)
    }

    /// Whether a list of so many items may be made.
    pub(crate) fn check_items(&self, items: usize) -> Result<(), Error> {
        self.check_elements(items)?;
        self.check_bytes(items.saturating_mul(size_of::<IValue>()))
    }

    /// Whether a list may grow to so many items. It grows by more than what is added to it, but not each
    /// time.
    pub(crate) fn check_growth(&self, list: &Vec<IValue>, items: usize) -> Result<(), Error> {
        self.check_elements(items)?;
        let grown = items.max(list.capacity().saturating_mul(2));
        match items > list.capacity() {
            true => self.check_bytes((grown - list.capacity()).saturating_mul(size_of::<IValue>())),
            false => Ok(()),
        }
    }

    /// Whether a tensor of these sizes may be made. Its bytes are charged when it is.
    pub(crate) fn check_sizes(&self, sizes: &[i64]) -> Result<(), Error> {
        let sizes = sizes.iter().map(|&size| usize::try_from(size).unwrap_or(0));
        self.check_elements(sizes.fold(1, usize::saturating_mul))
    }

    /// Whether a value may have so many elements.
    pub(crate) fn check_elements(&self, elements: usize) -> Result<(), Error> {
        match elements <= self.limits.elements {
            true => Ok(()),
            false => {
                let most = self.limits.elements;
                Err(Error::Limit(format!("limit of {most} elements of one value exceeded")))
            }
        }
    }
}

/// What is said where a call took longer than it may.
fn time_exceeded(most: Duration) -> String {
    format!("time limit of {} s exceeded", most.as_secs_f64())
}
