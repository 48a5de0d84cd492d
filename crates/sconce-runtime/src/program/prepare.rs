//! Getting a function ready before it is called: all that it calls is lowered, and what must not run is refused.

use sconce_ir::FunctionId;

use crate::Error;
use crate::bytecode::interpreter::{Machine, Prepared};
use crate::bytecode::need::Need;

/// What becomes of a program that has an operator that is not here. One that would touch files,
/// processes or the network is refused in any case ([`Need::refused`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missing {
    /// It runs, and stops with an error that names the operator if it comes to it.
    #[default]
    WhenReached,
    /// It is refused before it runs, also where it would never come to the operator.
    Refuse,
}

/// Lowers a function and all it calls, and refuses it for what it must not have.
pub(crate) fn ready(
    machine: &mut Machine,
    function: FunctionId,
    missing: Missing,
) -> Result<Prepared, Error> {
    let prepared = machine.prepare(function)?;
    let mut needed = prepared.missing.iter();
    match needed.find(|need| missing == Missing::Refuse || need.refused().is_some()) {
        Some(Need { what, range }) => {
            Err(Error::Unsupported { what: what.clone(), range: range.clone() })
        }
        None => Ok(prepared),
    }
}
