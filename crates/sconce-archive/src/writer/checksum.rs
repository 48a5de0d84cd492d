//! CRC-32 of large data: in parallel, and while the data is on its way to the disk.

use std::io;

use crc32fast::Hasher;
#[cfg(feature = "parallel")]
use rayon::prelude::*;

/// What one thread hashes at a time.
#[cfg(any(feature = "parallel", test))]
const CHUNK: usize = 1 << 20;
/// Data shorter than this is hashed on the calling thread: another would take longer to wake up.
const SMALL: usize = 256 << 10;

/// How a record comes by its checksum.
#[derive(Debug)]
pub(super) enum Checksum {
    /// Checksums are off, or the record has no data of its own.
    Zero,
    /// The caller knows it.
    Known(u32),
    /// From the bytes.
    Computed(Hasher),
}

impl Checksum {
    /// Takes `data` in while `write` runs.
    pub(super) fn update_while<T>(
        &mut self,
        data: &[u8],
        write: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        let Checksum::Computed(hasher) = self else { return write() };
        if data.len() < SMALL {
            hasher.update(data);
            return write();
        }
        let mut part = Hasher::new();
        let written = beside(|| part = in_chunks(data), write);
        hasher.combine(&part);
        written
    }

    pub(super) fn finish(self) -> u32 {
        match self {
            Checksum::Zero => 0,
            Checksum::Known(crc) => crc,
            Checksum::Computed(hasher) => hasher.finalize(),
        }
    }
}

/// Runs `hash` on another thread, where there are others, while `write` runs on this one.
pub(super) fn beside<T>(hash: impl FnOnce() + Send, write: impl FnOnce() -> T) -> T {
    #[cfg(feature = "parallel")]
    if let Some(pool) = crate::process_pool() {
        return pool.in_place_scope(|scope| {
            scope.spawn(|_| hash());
            write()
        });
    }
    hash();
    write()
}

#[cfg(not(feature = "parallel"))]
fn in_chunks(data: &[u8]) -> Hasher {
    let mut hasher = Hasher::new();
    hasher.update(data);
    hasher
}

#[cfg(feature = "parallel")]
fn in_chunks(data: &[u8]) -> Hasher {
    // The caller is in a pool, or nobody is.
    if rayon::current_thread_index().is_none() {
        let mut hasher = Hasher::new();
        hasher.update(data);
        return hasher;
    }
    data.par_chunks(CHUNK)
        .map(|chunk| {
            let mut hasher = Hasher::new();
            hasher.update(chunk);
            hasher
        })
        .reduce(Hasher::new, |mut left, right| {
            left.combine(&right);
            left
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_to_the_checksum_of_the_whole() {
        let data: Vec<u8> = (0..5 * CHUNK + 17).map(|i| ((i * i) >> 7) as u8).collect();
        for cut in [0, 1, CHUNK, 2 * CHUNK, 3 * CHUNK + 5, data.len()] {
            let mut checksum = Checksum::Computed(Hasher::new());
            for part in [&data[..cut], &data[cut..]] {
                checksum.update_while(part, || Ok(())).unwrap();
            }
            assert_eq!(checksum.finish(), crc32fast::hash(&data), "cut at {cut}");
        }
    }
}
