//! How far a save has come.

use std::fmt;
use std::sync::Arc;

use super::Lowered;

/// Who is told the bytes of tensor data that are written and that there are in all.
#[derive(Clone)]
pub(super) struct Listener(Arc<dyn Fn(u64, u64) + Send + Sync>);

impl Listener {
    pub(super) fn new(tell: impl Fn(u64, u64) + Send + Sync + 'static) -> Listener {
        Listener(Arc::new(tell))
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

/// Counts what is written of one file.
pub(super) struct Progress<'o> {
    listener: Option<&'o Listener>,
    done: u64,
    total: u64,
}

impl<'o> Progress<'o> {
    pub(super) fn new(listener: Option<&'o Listener>, lowered: &Lowered<'_>) -> Progress<'o> {
        Progress { listener, done: 0, total: lowered.data_len() }
    }

    pub(super) fn advance(&mut self, bytes: usize) {
        self.done += bytes as u64;
        if let Some(Listener(tell)) = self.listener {
            tell(self.done, self.total);
        }
    }
}
