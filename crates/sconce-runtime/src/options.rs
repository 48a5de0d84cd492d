//! How a session is made.

use sconce_kernels::Precision;

use crate::error::Error;
use crate::limits::Limits;
use crate::program::prepare::Missing;
use crate::sink::Sink;

/// How a session is made.
pub struct Options {
    /// What a call may spend.
    pub limits: Limits,
    /// What becomes of programs that need what is not here.
    pub missing: Missing,
    /// Where output goes; dropped when `None`.
    pub sink: Option<Box<dyn Sink>>,
    /// How many bytes the values that the session makes may hold at once: tensors, strings, lists, dicts,
    /// tuples and objects. When `None`, what the machine and the control groups of the process have
    /// left, less a reserve ([`memory_left`](crate::memory_left)). What would be too much is an error before it is made. The
    /// archive's weights count once they are written to.
    ///
    /// What a kernel needs during a call counts where the program has installed
    /// [`CountingAllocator`](crate::CountingAllocator): the limit then is one on all that the process
    /// allocates from when the session is made, so that it also counts what others do beside it.
    pub memory: Option<usize>,
    /// Whether to measure how long each instruction takes: [`Session::profile`](crate::Session::profile).
    pub profile: bool,
    /// Whether `forward` is frozen and optimised, as
    /// `torch.jit.freeze` does: its results may then differ by what another order of sums makes.
    /// Attributes must then be changed by methods alone, not through [`Session::root`](crate::Session::root).
    pub optimize: bool,
    /// Whether convolutions compute every product as it stands, in optimised code, too. Otherwise those of 3x3 may save
    /// multiplications by Winograd's algorithm: their results are rounded otherwise, by less than 1e-5 of their root mean
    /// square where inputs and weights are alike in size.
    pub exact: bool,
    /// How exact products with constant weights are in optimised code. Another precision than [`Precision::Full`] goes
    /// neither with [`exact`](Self::exact) nor without [`optimize`](Self::optimize): making a session then is an error.
    pub precision: Precision,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            limits: Limits::default(),
            missing: Missing::default(),
            sink: None,
            memory: None,
            profile: false,
            optimize: true,
            exact: false,
            precision: Precision::Full,
        }
    }
}

impl Options {
    /// Refuses options that contradict each other, as making a session does.
    ///
    /// # Errors
    /// For [`precision`](Self::precision) with what it does not go with.
    pub fn check(&self) -> Result<(), Error> {
        let Options { optimize, exact, precision, .. } = self;
        let reason = match precision {
            Precision::Full => return Ok(()),
            _ if *exact => {
                "not with exact: one saves time by rounding, the other spends it to round less"
            }
            _ if !optimize => "only in optimised code, which alone packs weights",
            _ => return Ok(()),
        };
        Err(Error::Arguments(format!("precision {precision} goes {reason}")))
    }
}
