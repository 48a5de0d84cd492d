//! Compresses the records of code on other threads, while what comes after them is still made.
//!
//! Compression that gives PyTorch's very bytes takes longer than all else in the saving of a large program. Within
//! a record each byte depends on what came before, so records are all that can be shared out.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use sconce_archive::Deflated;

/// Shorter data is compressed at once: it takes less time than a thread takes to start.
const LARGE: usize = 256 << 10;

/// Gives data to threads, as many as there are processors.
pub(crate) struct Deflater {
    free: usize,
}

/// Data that is being compressed.
pub(crate) enum Deflating {
    Done(Deflated),
    Running(JoinHandle<Deflated>),
}

impl Deflater {
    pub(crate) fn new() -> Self {
        Deflater { free: thread::available_parallelism().map_or(0, usize::from) }
    }

    /// Compresses data, which is dropped when that is done.
    pub(crate) fn deflate(&mut self, data: Vec<u8>) -> Deflating {
        if data.len() < LARGE || self.free == 0 {
            return Deflating::Done(Deflated::new(&data));
        }
        let data = Arc::new(data);
        let theirs = Arc::clone(&data);
        // Where no thread can be had, this one does it.
        match thread::Builder::new().spawn(move || Deflated::new(&theirs)) {
            Ok(running) => {
                self.free -= 1;
                Deflating::Running(running)
            }
            Err(_) => Deflating::Done(Deflated::new(&data)),
        }
    }
}

impl Deflating {
    pub(crate) fn finish(self) -> Deflated {
        match self {
            Deflating::Done(record) => record,
            Deflating::Running(running) => match running.join() {
                Ok(record) => record,
                Err(panic) => std::panic::resume_unwind(panic),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use sconce_archive::{ArchiveWriter, WriterOptions};

    use super::*;

    #[test]
    fn records_are_the_same_wherever_they_are_compressed() {
        let data = "x = torch.add(x, y)\n".repeat(20_000).into_bytes();
        let mut beside = Deflater::new();
        let mut here = Deflater { free: 0 };
        let archive = |deflater: &mut Deflater| {
            let mut writer =
                ArchiveWriter::new(Vec::new(), "archive", WriterOptions::new()).unwrap();
            for len in [0, 200, 201, data.len()] {
                let record = deflater.deflate(data[..len].to_vec()).finish();
                writer.write_deflated(&format!("code/{len}.py"), &record).unwrap();
            }
            writer.finish().unwrap()
        };
        let mut whole = ArchiveWriter::new(Vec::new(), "archive", WriterOptions::new()).unwrap();
        for len in [0, 200, 201, data.len()] {
            whole.write_compressed(&format!("code/{len}.py"), &data[..len]).unwrap();
        }
        let whole = whole.finish().unwrap();
        assert!(archive(&mut beside) == whole && archive(&mut here) == whole);
    }
}
