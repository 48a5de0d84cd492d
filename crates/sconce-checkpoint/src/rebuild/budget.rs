use std::cell::Cell;
use std::rc::Rc;

use crate::{Error, ErrorKind};

/// What any file may spend, in bytes.
const BASE: u64 = 16 << 20;
/// What it may spend for each byte of its pickle. Writers name each part once, so real files spend
/// less than ten.
const PER_BYTE: u64 = 64;

/// What copies of a pickle's parts may take.
///
/// Unpickling shares what is named twice; the objects here own their sizes, bytes and names. A
/// pickle of a few kilobytes could name one long part a thousand times, so whatever is copied from a
/// part that can be shared is paid for here. Pickles inside pickles draw on the same budget. Once
/// something was refused, so is the rest.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    left: Rc<Cell<Option<u64>>>,
}

impl Budget {
    /// For a pickle of `len` bytes, which may hold so many more, and no more than `most`.
    pub(crate) fn new(len: usize, most: u64) -> Self {
        let left = (len as u64).saturating_mul(PER_BYTE).saturating_add(BASE);
        Budget { left: Rc::new(Cell::new(Some(left.min(most)))) }
    }

    /// Takes `bytes`, or says that there are no more.
    pub(crate) fn take(&self, bytes: usize) -> Result<(), Error> {
        self.left.set(self.left.get().and_then(|left| left.checked_sub(bytes as u64)));
        match self.left.get() {
            Some(_) => Ok(()),
            None => {
                let message = "the pickle names the same parts so often that their copies would \
                               take far more memory than the file";
                let help = "--max-pickle-memory (Limits::max_pickle_memory) raises the limit";
                Err(Error::new(ErrorKind::Limit, message).with_help(help))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_paid_for_once_and_together() {
        let budget = Budget::new(1, u64::MAX);
        let inner = budget.clone();
        assert!(inner.take(BASE as usize).is_ok());
        assert!(budget.take(PER_BYTE as usize + 1).is_err_and(|e| e.kind() == ErrorKind::Limit));
        assert!(inner.take(0).is_err());
        assert!(Budget::new(1 << 20, 9).take(10).is_err());
    }
}
