//! SHA-256 on a thread of its own.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use sha2::{Digest, Sha256};

/// Parts that wait to be hashed.
const WAITING: usize = 32;

enum Step {
    Data(Vec<u8>),
    Restart,
}

/// Hashes what it is given while the next part comes.
pub(crate) struct Hasher {
    steps: SyncSender<Step>,
    thread: JoinHandle<String>,
}

impl Hasher {
    pub(crate) fn start() -> Hasher {
        let (steps, received) = sync_channel(WAITING);
        let thread = std::thread::spawn(move || {
            let mut hash = Sha256::new();
            for step in received {
                match step {
                    Step::Data(data) => hash.update(&data),
                    Step::Restart => hash = Sha256::new(),
                }
            }
            hex(&hash.finalize())
        });
        Hasher { steps, thread }
    }

    pub(crate) fn update(&self, data: &[u8]) {
        // The thread ends only with this.
        let _ = self.steps.send(Step::Data(data.to_vec()));
    }

    pub(crate) fn restart(&self) {
        let _ = self.steps.send(Step::Restart);
    }

    /// 64 hexadecimal digits; `None` where the thread could not go on.
    pub(crate) fn finish(self) -> Option<String> {
        drop(self.steps);
        self.thread.join().ok()
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The hash of a text.
pub(crate) fn of(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}
