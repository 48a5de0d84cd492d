//! What a PyTorch file would do when it is loaded, without loading it.
//!
//! [`scan`] says one of four words of a file ([`Verdict`]) and lists what the word rests on ([`Finding`]).
//! It reads what the loader reads, by the same container code and the same pickle machine: a [`Scanner`] is
//! told of every pickle that [`LoadOptions`] reads while it opens the file. Beside those it looks at what
//! other loaders, and people, would unpickle: every member of an archive whose content is a pickle, whatever
//! its name; pickles within pickles that unpickling would reach; what follows a pickle's end; object arrays
//! of numpy; the operators that TorchScript code names. Nothing is called, imported or written.
//!
//! ```
//! use sconce_scan::{Verdict, scan};
//! use sconce_source::{Limits, Source};
//!
//! let file = b"\x80\x02cos\nsystem\nX\x02\0\0\0ls\x85R.".to_vec();
//! let report = scan(&Source::from_vec("model.pkl", file), &Limits::default());
//! assert_eq!(report.verdict, Verdict::Dangerous);
//! let finding = &report.findings[0];
//! assert_eq!(finding.call.as_deref(), Some("os.system('ls')"));
//! assert_eq!((finding.opcode, finding.offset), (Some("REDUCE"), Some(21)));
//! ```
//!
//! *Clean* is a proof as far as it goes: every part that was to be read was read, and every class and
//! function that is named is on the list of those that PyTorch allows every checkpoint to name (within
//! TorchScript, of the archive's own program). What is on no list is *unknown*, however harmless it may be.
//! The table of what is *dangerous* ([`Rule::DangerousCall`]) can only make a verdict worse.
//!
//! Architecture invariant: a verdict is never better than what was looked at. No part is skipped without a
//! finding ([`Rule::NotRead`]), and no finding leaves a file clean but the remark that code names operators
//! of a library that is not in the file ([`Rule::CustomOperator`]): PyTorch alone refuses such a program.
//!
//! [`LoadOptions`]: sconce_checkpoint::LoadOptions

mod callables;
mod joblib;
mod packed;
mod pickle;
mod policy;
mod program;
mod report;
mod scanner;

pub use policy::{Policy, PolicyError};
pub use report::{Finding, Report, Rule, Verdict};
pub use scanner::{Scanner, scan};

use sconce_checkpoint::python3_name;

/// Why a class or function is dangerous to call, by the name that a pickle gives it; `None` for one that is
/// not known to be.
pub fn why_dangerous(module: &str, name: &str) -> Option<&'static str> {
    let (module, name) = python3_name(module, name);
    let allowed = sconce_checkpoint::AllowList::contains_by_default(&format!("{module}.{name}"));
    if allowed { None } else { callables::danger(&module, &name, true) }
}

/// What begins where nothing should: a pickle and what it would do, or an archive. `None` for other bytes.
///
/// ```
/// let hidden = sconce_scan::what_begins(b"\x80\x02cos\nsystem\nX\x02\0\0\0ls\x85R.").unwrap();
/// assert_eq!(hidden.0, "a pickle that calls os.system('ls')");
/// assert!(sconce_scan::what_begins(b"\0\0\0\0").is_none());
/// ```
pub fn what_begins(bytes: &[u8]) -> Option<(String, Verdict)> {
    scanner::what_begins(bytes)
}
