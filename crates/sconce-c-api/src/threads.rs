//! How many threads operators use: the only thing that all modules and sessions of a process share.

use sconce::run;

use crate::panics::quiet;

/// Sets how many threads one operator may use, for the whole process; 0 is as many as the machine has processors.
#[unsafe(no_mangle)]
pub extern "C" fn sconce_set_num_threads(count: usize) {
    quiet((), || run::set_num_threads(count));
}

/// How many threads one operator may use.
#[unsafe(no_mangle)]
pub extern "C" fn sconce_num_threads() -> usize {
    quiet(1, run::num_threads)
}
