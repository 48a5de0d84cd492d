//! The end of the process before its verb is done.

use std::process;

use super::interrupt;
use crate::error::Failure;
use crate::output::ColorChoice;

/// Ends the process for a reason, from whichever thread it is in.
pub fn end(failure: &Failure, color: ColorChoice) -> ! {
    interrupt::remove_half_written();
    failure.print(color);
    #[allow(clippy::exit, reason = "the threads that are busy cannot be stopped otherwise")]
    process::exit(failure.code().into())
}
