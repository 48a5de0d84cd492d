//! Threads of rayon that belong to this process.
//!
//! A process that forks has none of its parent's threads: work that is given to a pool of the parent is never done. So
//! rayon's global pool is not used; a child makes a pool of its own.

use std::sync::OnceLock;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// A pool, and the one that a child of its process made.
struct Entry {
    process: u32,
    pool: ThreadPool,
    next: Next,
}

type Next = OnceLock<Box<Entry>>;

/// The pool of the first process that asked, and behind it those of its children's children.
static FIRST: Next = OnceLock::new();

/// The pool of this process, of as many threads as rayon takes; `None` where the system has no threads to give.
pub fn process_pool() -> Option<&'static ThreadPool> {
    let process = std::process::id();
    let mut at = &FIRST;
    loop {
        while let Some(entry) = at.get() {
            if entry.process == process {
                return Some(&entry.pool);
            }
            at = &entry.next;
        }
        let pool = ThreadPoolBuilder::new().build().ok()?;
        // Where another thread was first, its entry is found in the next round.
        drop(at.set(Box::new(Entry { process, pool, next: OnceLock::new() })));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_one_pool() {
        let first = process_pool().map(std::ptr::from_ref);
        assert!(first.is_some());
        assert_eq!(process_pool().map(std::ptr::from_ref), first);
    }
}
