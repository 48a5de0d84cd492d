//! The number of threads, and the partition of work among them.
//!
//! One thread computes each element, in one order. Results do not depend on the number of threads.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::Result;
use crate::parallel::apart::Apart;
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

/// Calls `f` for each item, on several threads. The first of them begins at the first item, the others at later ones,
/// and each goes on to the next: so that of a picture that one kernel makes and the next one reads each thread has
/// about the same part in its own cache. Who has nothing left takes from the end of what another has.
pub fn for_each<I: Iterator<Item: Send>>(items: I, f: impl Fn(I::Item) + Sync) {
    for_each_of(items, &f);
}

/// [`for_each`], compiled once for a kind of items.
fn for_each_of<I: Iterator<Item: Send>>(items: I, f: &(dyn Fn(I::Item) + Sync)) {
    if num_threads() == 1 {
        return items.for_each(f);
    }
    let items: Vec<Mutex<Option<I::Item>>> = items.map(|item| Mutex::new(Some(item))).collect();
    for_each_index(items.len(), &|index| {
        let item = items[index].lock().unwrap_or_else(PoisonError::into_inner).take();
        item.into_iter().for_each(f);
    });
}

/// [`for_each`] of the numbers below `count`.
fn for_each_index(count: usize, f: &(dyn Fn(usize) + Sync)) {
    let threads = num_threads().min(count);
    if threads < 2 {
        return (0..count).for_each(f);
    }
    let parts = (0..threads).map(|part| part * count / threads..(part + 1) * count / threads);
    let parts: Vec<Apart<Mutex<Range<usize>>>> =
        parts.map(|part| Apart(Mutex::new(part))).collect();
    let part = |at: usize| parts[at].0.lock().unwrap_or_else(PoisonError::into_inner);
    let next = |own: usize| {
        let index = part(own).next();
        index.or_else(|| (1..threads).find_map(|on| part((own + on) % threads).next_back()))
    };
    thread_pool::run(threads - 1, &|worker| {
        // Of more helpers than are asked for any may come.
        let own = if worker == 0 { 0 } else { 1 + (worker - 1) % (threads - 1) };
        while let Some(index) = next(own) {
            f(index);
        }
    });
}

/// [`for_each`] with what can fail: one of the errors, if there are any.
pub fn try_for_each<I: Iterator<Item: Send>>(
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

    #[test]
    fn each_item_is_taken_once() {
        for count in [0usize, 1, 2, 3, 7, 100] {
            let taken: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
            for_each(taken.iter(), |item| {
                item.fetch_add(1, Ordering::Relaxed);
            });
            assert!(taken.iter().all(|item| item.load(Ordering::Relaxed) == 1), "{count}");
        }
    }
}
