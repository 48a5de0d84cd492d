//! The thread pool: helper threads that work on the job of one kernel call at a time.
//!
//! A kernel call takes some ten microseconds, less than it takes to wake a thread that sleeps. So helpers stay
//! awake for a moment after each job, and nobody waits for one that has not begun: the caller works too, and
//! withdraws its job when nothing is left to do.
//!
//! A process that forks has none of its parent's threads, and locks as they were at that moment. So a pool belongs to
//! a process, and a child makes its own.
#![allow(unsafe_code, reason = "helpers use what the caller borrows; see the safety comment")]

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use super::apart::Apart;

/// How long a helper looks for another job before it sleeps.
const AWAKE: Duration = Duration::from_micros(200);

/// What is to be done, by the worker of this number: 0 for the caller, and each helper always has the same.
type Job<'w> = &'w (dyn Fn(usize) + Sync);

/// The job that helpers may take, and what they say about it.
struct JobSlot {
    job: Option<Job<'static>>,
    /// How many more helpers may take it.
    openings: usize,
    /// Helpers that wait for `job_posted`.
    sleepers: usize,
    /// The panic of a helper while it worked on this job.
    panic: Option<Box<dyn Any + Send>>,
}

/// The helpers of one process. It is never given back: helpers live as long as the process.
struct Pool {
    process: u32,
    /// How many helpers there are; held by the caller whose job is worked on.
    helpers: Mutex<usize>,
    slot: Mutex<JobSlot>,
    /// The number of the last job.
    last_job: Apart<AtomicU64>,
    job_posted: Condvar,
    /// Helpers at work.
    working: Apart<AtomicUsize>,
}

/// The pool of the process that asked last: this one, or the one that it was forked from.
static POOL: AtomicPtr<Pool> = AtomicPtr::new(ptr::null_mut());

/// The pool of this process.
fn pool() -> &'static Pool {
    let process = std::process::id();
    let known = POOL.load(Ordering::Acquire);
    // SAFETY: the pointer is null or comes from `Box::leak` below, so that what it points to is there for good and
    // never changed but through its locks and atomics.
    if let Some(pool) = unsafe { known.as_ref() }
        && pool.process == process
    {
        return pool;
    }
    let made: &'static mut Pool = Box::leak(Box::new(Pool {
        process,
        helpers: Mutex::new(0),
        slot: Mutex::new(JobSlot { job: None, openings: 0, sleepers: 0, panic: None }),
        last_job: Apart(AtomicU64::new(0)),
        job_posted: Condvar::new(),
        working: Apart(AtomicUsize::new(0)),
    }));
    let made = ptr::from_mut(made);
    let chosen = match POOL.compare_exchange(known, made, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => made,
        // Another thread of this process was first.
        Err(other) => other,
    };
    // SAFETY: as above; `made` is not used as `&mut` any more.
    unsafe { &*chosen }
}

/// Calls `job` here and on up to this many other threads, each with its number, and returns when all calls have. Each
/// call does what the others have left to do. Where the helpers are at work for another caller, this thread works
/// alone.
///
/// A panic of any of the calls is the caller's.
pub fn run(helpers: usize, job: Job<'_>) {
    let pool = pool();
    let mut count = match pool.helpers.try_lock() {
        Ok(count) => count,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => return job(0),
    };
    while *count < helpers {
        let number = *count + 1;
        let helper = std::thread::Builder::new().name("sconce-helper".to_owned());
        let helper = helper.spawn(move || help(pool, number));
        if helper.is_err() {
            break;
        }
        *count += 1;
    }
    // SAFETY: the reference leaves this function only through the slot, from which helpers take it under its
    // lock, counting themselves in `working`. `JobGuard` is dropped before this function returns or unwinds: it
    // takes the reference out of the slot and waits until no helper is at work, so that none uses it after
    // `job` ends.
    let job_for_helpers = unsafe { std::mem::transmute::<Job<'_>, Job<'static>>(job) };
    let guard = JobGuard::post(pool, job_for_helpers, helpers);
    job(0);
    drop(guard);
    if let Some(panic) = pool.slot().panic.take() {
        resume_unwind(panic);
    }
}

/// A job in the slot, until it is dropped.
struct JobGuard(&'static Pool);

impl JobGuard {
    fn post(pool: &'static Pool, job: Job<'static>, openings: usize) -> JobGuard {
        let mut slot = pool.slot();
        // Where the caller itself panics, nobody takes the panic of a helper: it must not be the next caller's.
        let stale = slot.panic.take();
        (slot.job, slot.openings) = (Some(job), openings);
        pool.last_job.0.fetch_add(1, Ordering::Release);
        if slot.sleepers > 0 {
            pool.job_posted.notify_all();
        }
        drop(slot);
        // Code of the panic's payload runs without the lock. A second panic in it would leave the job in the
        // slot, but for the guard.
        let guard = JobGuard(pool);
        drop(stale);
        guard
    }
}

impl Drop for JobGuard {
    fn drop(&mut self) {
        self.0.slot().job = None;
        let mut turns = 0u32;
        while self.0.working.0.load(Ordering::Acquire) > 0 {
            turns += 1;
            match turns % 1024 {
                0 => std::thread::yield_now(),
                _ => std::hint::spin_loop(),
            }
        }
    }
}

/// The life of a helper.
fn help(pool: &Pool, number: usize) {
    let mut seen = 0;
    loop {
        seen = pool.next_job(seen);
        let taken = {
            let mut slot = pool.slot();
            let taken = slot.job.filter(|_| slot.openings > 0);
            if taken.is_some() {
                slot.openings -= 1;
                pool.working.0.fetch_add(1, Ordering::Relaxed);
            }
            taken
        };
        if let Some(job) = taken {
            let ended = catch_unwind(AssertUnwindSafe(|| job(number)));
            if let Err(panic) = ended {
                pool.slot().panic = Some(panic);
            }
            pool.working.0.fetch_sub(1, Ordering::Release);
        }
    }
}

impl Pool {
    /// Waits for a job after the one of this number.
    fn next_job(&self, seen: u64) -> u64 {
        let start = Instant::now();
        while start.elapsed() < AWAKE {
            for _ in 0..32 {
                let job = self.last_job.0.load(Ordering::Acquire);
                if job != seen {
                    return job;
                }
                std::hint::spin_loop();
            }
        }
        let mut slot = self.slot();
        slot.sleepers += 1;
        let none_new = |_: &mut JobSlot| self.last_job.0.load(Ordering::Acquire) == seen;
        let waited = self.job_posted.wait_while(slot, none_new);
        let mut slot = waited.unwrap_or_else(PoisonError::into_inner);
        slot.sleepers -= 1;
        self.last_job.0.load(Ordering::Acquire)
    }

    fn slot(&self) -> MutexGuard<'_, JobSlot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts to a thousand with others, by ones.
    fn count(helpers: usize) -> (usize, usize) {
        let (left, done, calls) =
            (AtomicUsize::new(1000), AtomicUsize::new(0), AtomicUsize::new(0));
        run(helpers, &|_| {
            calls.fetch_add(1, Ordering::Relaxed);
            let take = |left: usize| left.checked_sub(1);
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() {
                done.fetch_add(1, Ordering::Relaxed);
            }
        });
        (done.into_inner(), calls.into_inner())
    }

    /// Miri takes seconds for each.
    const ROUNDS: usize = if cfg!(miri) { 2 } else { 200 };

    #[test]
    fn all_work_is_done_once() {
        for helpers in [0, 1, 3, 7, 2] {
            for _ in 0..ROUNDS {
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
                scope.spawn(|| (0..ROUNDS).for_each(|_| assert_eq!(count(2).0, 1000)));
            }
        });
        // A job that posts a job.
        run(2, &|_| assert_eq!(count(2).0, 1000));
    }

    #[test]
    fn a_panic_of_any_thread_reaches_the_caller() {
        for at in [1, 2] {
            // On a busy machine a helper may come late, or serve another test.
            let begun = Instant::now();
            let tries = std::iter::repeat(()).take_while(|()| begun.elapsed().as_secs() < 60);
            let panicked = { tries }.any(|()| {
                let calls = AtomicUsize::new(0);
                let work = |_| {
                    let number = calls.fetch_add(1, Ordering::Relaxed) + 1;
                    assert_ne!(number, at, "as it should");
                    let start = Instant::now();
                    while calls.load(Ordering::Relaxed) < 2 && start.elapsed() < 100 * AWAKE {
                        std::thread::yield_now();
                    }
                };
                catch_unwind(AssertUnwindSafe(|| run(1, &work))).is_err()
            });
            assert!(panicked);
            assert_eq!(count(1).0, 1000, "it goes on");
        }
    }

    #[test]
    fn a_panic_is_not_the_next_caller_s() {
        // Where helper and caller panic both, the caller unwinds with its own panic.
        for _ in 0..ROUNDS.div_ceil(2) {
            let begun = AtomicUsize::new(0);
            let job = |_| {
                begun.fetch_add(1, Ordering::Relaxed);
                let start = Instant::now();
                while begun.load(Ordering::Relaxed) < 2 && start.elapsed() < 10 * AWAKE {
                    std::thread::yield_now();
                }
                panic!("as it should");
            };
            assert!(catch_unwind(AssertUnwindSafe(|| run(1, &job))).is_err());
            assert_eq!(count(1).0, 1000, "the next job is not affected");
        }
    }
}
