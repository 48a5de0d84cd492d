//! Threads that help with the work of one kernel call.
//!
//! A call of a kernel takes some ten microseconds, less than it takes to wake a thread that sleeps. So
//! helpers stay awake for a moment after each piece of work, and nobody waits for one that has not begun:
//! the caller works too, and takes its offer back when nothing is left to do.
#![allow(unsafe_code, reason = "helpers use what the caller borrows; see the safety comment")]

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// How long a helper looks for more work before it sleeps.
const AWAKE: Duration = Duration::from_micros(200);

type Work<'w> = &'w (dyn Fn() + Sync);

/// What the caller offers, and who waits for it.
struct Board {
    work: Option<Work<'static>>,
    /// How many more may take it.
    places: usize,
    sleepers: usize,
    panic: Option<Box<dyn Any + Send>>,
}

/// How many helpers there are; held by the caller whose work is shared.
static TURN: Mutex<usize> = Mutex::new(0);
static BOARD: Mutex<Board> = Mutex::new(Board { work: None, places: 0, sleepers: 0, panic: None });
/// The number of the last offer.
static OFFERS: AtomicU64 = AtomicU64::new(0);
static OFFERED: Condvar = Condvar::new();
/// Helpers at work.
static WORKING: AtomicUsize = AtomicUsize::new(0);

/// Calls `work` here and on up to so many other threads, and returns when all calls have. Each call does
/// what the others have left to do. Where the helpers are at work for somebody else, it is this
/// thread alone.
pub fn share(helpers: usize, work: Work<'_>) {
    let mut there = match TURN.try_lock() {
        Ok(there) => there,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => return work(),
    };
    while *there < helpers {
        let helper = std::thread::Builder::new().name("sconce-helper".to_owned()).spawn(help);
        if helper.is_err() {
            break;
        }
        *there += 1;
    }
    // SAFETY: the reference leaves this function only by the board, from which helpers take it under its
    // lock, counting themselves in WORKING. `Offer` is dropped before this function returns or unwinds: it
    // takes the reference from the board and waits until no helper is at work, so that none uses it
    // after `work` ends.
    let work_for_helpers = unsafe { std::mem::transmute::<Work<'_>, Work<'static>>(work) };
    let offer = Offer::make(work_for_helpers, helpers);
    work();
    drop(offer);
    if let Some(panic) = board().panic.take() {
        resume_unwind(panic);
    }
}

/// Work that is on the board, until it is dropped.
struct Offer;

impl Offer {
    fn make(work: Work<'static>, places: usize) -> Offer {
        let mut board = board();
        (board.work, board.places) = (Some(work), places);
        OFFERS.fetch_add(1, Ordering::Release);
        if board.sleepers > 0 {
            OFFERED.notify_all();
        }
        Offer
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        board().work = None;
        let mut turns = 0u32;
        while WORKING.load(Ordering::Acquire) > 0 {
            turns += 1;
            match turns % 1024 {
                0 => std::thread::yield_now(),
                _ => std::hint::spin_loop(),
            }
        }
    }
}

/// The life of a helper.
fn help() {
    let mut seen = 0;
    loop {
        seen = next_offer(seen);
        let taken = {
            let mut board = board();
            let taken = board.work.filter(|_| board.places > 0);
            if taken.is_some() {
                board.places -= 1;
                WORKING.fetch_add(1, Ordering::Relaxed);
            }
            taken
        };
        if let Some(work) = taken {
            let ended = catch_unwind(AssertUnwindSafe(work));
            if let Err(panic) = ended {
                board().panic = Some(panic);
            }
            WORKING.fetch_sub(1, Ordering::Release);
        }
    }
}

/// Waits for an offer after the one of this number.
fn next_offer(seen: u64) -> u64 {
    let start = Instant::now();
    while start.elapsed() < AWAKE {
        for _ in 0..32 {
            let offer = OFFERS.load(Ordering::Acquire);
            if offer != seen {
                return offer;
            }
            std::hint::spin_loop();
        }
    }
    let mut board = board();
    board.sleepers += 1;
    let none_new = |_: &mut Board| OFFERS.load(Ordering::Acquire) == seen;
    let mut board = OFFERED.wait_while(board, none_new).unwrap_or_else(PoisonError::into_inner);
    board.sleepers -= 1;
    OFFERS.load(Ordering::Acquire)
}

fn board() -> MutexGuard<'static, Board> {
    BOARD.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts to a thousand with others, by ones.
    fn count(helpers: usize) -> (usize, usize) {
        let (left, done, calls) =
            (AtomicUsize::new(1000), AtomicUsize::new(0), AtomicUsize::new(0));
        share(helpers, &|| {
            calls.fetch_add(1, Ordering::Relaxed);
            let take = |left: usize| left.checked_sub(1);
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() {
                done.fetch_add(1, Ordering::Relaxed);
            }
        });
        (done.into_inner(), calls.into_inner())
    }

    #[test]
    fn everything_is_done_once_by_some() {
        for helpers in [0, 1, 3, 7, 2] {
            for _ in 0..200 {
                let (done, calls) = count(helpers);
                assert_eq!(done, 1000);
                assert!((1..=helpers + 1).contains(&calls));
            }
            std::thread::sleep(2 * AWAKE);
        }
    }

    #[test]
    fn several_callers_do_not_wait_for_each_other() {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..200).for_each(|_| assert_eq!(count(2).0, 1000)));
            }
        });
        // Work that shares work.
        share(2, &|| assert_eq!(count(2).0, 1000));
    }

    #[test]
    fn a_panic_of_any_thread_is_the_caller_s() {
        for at in [1, 2] {
            let panicked = (0..100).any(|_| {
                let calls = AtomicUsize::new(0);
                let work = || {
                    let number = calls.fetch_add(1, Ordering::Relaxed) + 1;
                    assert_ne!(number, at, "as it should");
                    let start = Instant::now();
                    while calls.load(Ordering::Relaxed) < 2 && start.elapsed() < 10 * AWAKE {
                        std::thread::yield_now();
                    }
                };
                catch_unwind(AssertUnwindSafe(|| share(1, &work))).is_err()
            });
            assert!(panicked);
            assert_eq!(count(1).0, 1000, "it goes on");
        }
    }
}
