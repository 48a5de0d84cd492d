//! Numbers that a cast made infinite: an error unless it is said that they may be.

use sconce::checkpoint::{CastOverflow, Change, ChangeKind};
use sconce::tensor::DType;

use crate::error::Failure;
use crate::output::count;

/// Tensors named in an error.
const NAMED: usize = 10;

/// Tensors that share their memory, whose numbers were counted together.
struct Lost<'c> {
    overflow: &'c CastOverflow,
    numbers: u64,
    to: DType,
    names: Vec<&'c str>,
}

/// Refuses casts that lost numbers. The casts are counted when their tensors were written; asking
/// before that converts them once more.
pub fn refuse(changes: &[Change]) -> Result<(), Failure> {
    let mut lost: Vec<Lost<'_>> = Vec::new();
    for Change { name, kind } in changes {
        let ChangeKind::Cast { overflow, to, .. } = kind else { continue };
        match lost.last_mut().filter(|last| last.overflow.is_shared_with(overflow)) {
            Some(last) => last.names.push(name),
            None => {
                let (numbers, names) = (overflow.count()?, vec![name.as_str()]);
                lost.push(Lost { overflow, numbers, to: *to, names });
            }
        }
    }
    lost.retain(|lost| lost.numbers > 0);
    if lost.is_empty() {
        return Ok(());
    }
    let tensors = count(lost.iter().map(|lost| lost.names.len()).sum(), "tensor");
    let mut failure = Failure::usage(format!("{tensors} would overflow"));
    for Lost { numbers, to, names, .. } in lost.iter().take(NAMED) {
        let numbers = count(usize::try_from(*numbers).unwrap_or(usize::MAX), "number");
        let names = match names[..] {
            [one] => format!("'{one}'"),
            _ => format!("'{}', which share memory", names.join("', '")),
        };
        failure = failure.note(format!("{names}: {numbers} too large for {}", to.name()));
    }
    if lost.len() > NAMED {
        failure = failure.note(format!("and {} more", lost.len() - NAMED));
    }
    Err(failure.help("--allow-overflow writes infinity or NaN, as PyTorch does"))
}
