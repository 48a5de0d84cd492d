//! The number of threads, and the partition of work among them.
//!
//! One thread computes each element, in one order. Results do not depend on the number of threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::Result;
use crate::parallel::thread_pool;

/// The most chunks for each thread.
const CHUNKS_PER_THREAD: usize = 4;

/// 0 until somebody sets it.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Sets how many threads kernels of this process may use, as `torch.set_num_threads`: 1 keeps all
/// work on the calling thread. 0 stands for as many as there are in the current rayon pool.
pub fn set_num_threads(count: usize) {
    COUNT.store(count, Ordering::Relaxed);
}

/// How many threads kernels may use now, `torch.get_num_threads`. At least 1.
pub fn num_threads() -> usize {
    match COUNT.load(Ordering::Relaxed) {
        0 => rayon::current_num_threads(),
        set => set,
    }
}

/// Calls `f(start, piece)` for chunks of `out` that begin at multiples of `unit`, on several threads
/// where `out` is longer than `serial`, and in one piece otherwise.
pub fn for_each_chunk<T: Send>(
    out: &mut [T],
    unit: usize,
    serial: usize,
    f: impl Fn(usize, &mut [T]) + Sync,
) {
    for_each_chunk_of(out, unit, serial, &f);
}

/// [`for_each_chunk`], compiled once for a type: what takes the function itself would hold three copies of it.
#[inline(never)]
fn for_each_chunk_of<T: Send>(
    out: &mut [T],
    unit: usize,
    serial: usize,
    f: &(dyn Fn(usize, &mut [T]) + Sync),
) {
    let len = chunk_len(out.len(), unit, serial);
    if len >= out.len() {
        return f(0, out);
    }
    for_each_of(out.chunks_mut(len).enumerate(), &|(i, piece)| f(i * len, piece));
}

/// How long the chunks are that [`for_each_chunk`] makes of this many elements.
pub fn chunk_len(len: usize, unit: usize, serial: usize) -> usize {
    let threads = if len <= serial { 1 } else { num_threads() };
    if threads == 1 || unit == 0 {
        return len;
    }
    // A few chunks for each thread: those that come late have less to do. None is too short to be
    // worth it.
    let count = (len / (serial / 2).max(1)).clamp(threads, CHUNKS_PER_THREAD * threads);
    len.div_ceil(unit).div_ceil(count) * unit
}

/// Calls `f` for each item, on several threads: whoever is free takes the next one.
pub fn for_each<I: Iterator + Send>(items: I, f: impl Fn(I::Item) + Sync) {
    for_each_of(items, &f);
}

/// [`for_each`], compiled once for a kind of items.
fn for_each_of<I: Iterator + Send>(items: I, f: &(dyn Fn(I::Item) + Sync)) {
    let helpers = num_threads() - 1;
    if helpers == 0 {
        return items.for_each(f);
    }
    let items = Mutex::new(items);
    let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    thread_pool::run(helpers, &|| {
        while let Some(item) = next() {
            f(item);
        }
    });
}

/// [`for_each`] with what can fail: one of the errors, if there are any.
pub fn try_for_each<I: Iterator + Send>(
    items: I,
    f: impl Fn(I::Item) -> Result<()> + Sync,
) -> Result<()> {
    let failed = OnceLock::new();
    for_each_of(items, &|item| {
        if let Err(error) = f(item) {
            // The first to come is the one that is told.
            let _ = failed.set(error);
        }
    });
    failed.into_inner().map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_everything_once() {
        for (len, unit, serial) in [(0, 1, 0), (10, 3, 0), (1001, 7, 100), (64, 64, 0), (5, 8, 0)] {
            let mut seen = vec![0usize; len];
            for_each_chunk(&mut seen, unit, serial, |start, piece| {
                assert!(unit == 0 || start % unit == 0);
                piece.iter_mut().enumerate().for_each(|(i, x)| *x += start + i + 1);
            });
            assert!(seen.iter().enumerate().all(|(i, &x)| x == i + 1));
        }
    }
}
