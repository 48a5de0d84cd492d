//! A caching allocator: each thread keeps freed blocks for later requests of about the same size.
//!
//! The system allocator is slow for large, aligned memory, and the first touch of a new page costs more
//! than computing what goes into it. Each thread keeps up to 64 MiB, and as much more as the
//! largest [memory plan](super::memory_plan) needs.

use std::cell::RefCell;

use bytemuck::{Pod, Zeroable};
use rustc_hash::FxHashMap;

use super::counting_allocator;
use super::memory_plan::{self, Ticket};
use crate::{Error, Result};

/// The unit of allocation, so that every block starts at a multiple of 64 bytes.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct CacheLine([u8; 64]);

/// The bytes of a cache line.
pub(super) const LINE: usize = size_of::<CacheLine>();

/// The most bytes that a thread keeps without a plan.
const KEPT: usize = 64 << 20;

/// A block of memory of a whole number of cache lines.
pub struct Block {
    lines: Vec<CacheLine>,
    /// What a plan that is being made knows it by.
    ticket: Ticket,
}

/// What a block of memory holds when it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    Zeros,
    /// Anything: the caller overwrites it.
    Any,
}

#[derive(Default)]
struct Kept {
    bytes: usize,
    /// The bytes of each plan that may be followed. As many as the largest has are kept beside [`KEPT`].
    planned: Vec<usize>,
    by_lines: FxHashMap<usize, Vec<Vec<CacheLine>>>,
}

thread_local! {
    static KEPT_HERE: RefCell<Kept> = RefCell::default();
}

/// Every byte of poisoned memory: NaN in every floating dtype, -1 in signed integers, true as `bool`.
pub const POISON: u8 = 0xff;

/// Fills memory that is to be overwritten with [`POISON`], in debug builds and under a fuzzer.
pub fn poison(bytes: &mut [u8]) {
    if cfg!(any(debug_assertions, fuzzing)) {
        bytes.fill(POISON);
    }
}

impl AsRef<[u8]> for Block {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

impl Block {
    /// At least this many zeros.
    pub fn zeroed(nbytes: usize) -> Result<Block> {
        Block::new(lines_for(nbytes), nbytes, Ticket::NONE, Content::Zeros)
    }

    /// At least this many bytes of any content, which the caller overwrites. They are poisoned in debug builds and
    /// under a fuzzer: who reads one that nobody has written gets [`POISON`], not what an earlier call left.
    pub fn for_overwrite(nbytes: usize) -> Result<Block> {
        Block::new(lines_for(nbytes), nbytes, Ticket::NONE, Content::Any)
    }

    /// A block for a tensor, as the memory plan that this thread follows has it: [`Block::zeroed`] or
    /// [`Block::for_overwrite`] where there is none.
    pub(crate) fn of_tensor(nbytes: usize, content: Content) -> Result<Block> {
        let (lines, ticket) = memory_plan::place(lines_for(nbytes));
        Block::new(lines, nbytes, ticket, content)
    }

    fn new(count: usize, nbytes: usize, ticket: Ticket, content: Content) -> Result<Block> {
        let Some(lines) = take(count) else {
            let mut block = Block { lines: fresh(count, nbytes)?, ticket };
            if let Content::Any = content {
                poison(block.bytes_mut());
            }
            return Ok(block);
        };
        let mut block = Block { lines, ticket };
        match content {
            // What lies behind them nobody sees.
            Content::Zeros => block.bytes_mut()[..nbytes].fill(0),
            Content::Any => poison(block.bytes_mut()),
        }
        Ok(block)
    }

    /// All bytes, which may be more than were asked for.
    pub fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.lines)
    }

    /// As [`Block::bytes`], to write to.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.lines)
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.ticket.end();
        let lines = std::mem::take(&mut self.lines);
        let bytes = lines.len() * LINE;
        // Where the thread ends, memory goes back to the system.
        let _ = KEPT_HERE.try_with(|kept| {
            let mut kept = kept.borrow_mut();
            if kept.bytes + bytes <= kept.most() && counting_allocator::may_keep(kept.bytes + bytes)
            {
                kept.bytes += bytes;
                kept.by_lines.entry(lines.len()).or_default().push(lines);
            }
        });
    }
}

impl Kept {
    /// The most bytes that are kept.
    fn most(&self) -> usize {
        KEPT + self.planned.iter().max().copied().unwrap_or(0)
    }

    fn give_back(&mut self) {
        self.bytes = 0;
        self.by_lines.clear();
    }
}

/// Gives what this thread keeps back to the system.
pub(super) fn give_back() {
    // Where the thread ends, nothing is kept.
    let _ = KEPT_HERE.try_with(|kept| kept.borrow_mut().give_back());
}

/// There is a plan of so many bytes.
pub(super) fn plan_made(bytes: usize) {
    let _ = KEPT_HERE.try_with(|kept| kept.borrow_mut().planned.push(bytes));
}

/// One of the plans of so many bytes is gone.
pub(super) fn plan_gone(bytes: usize) {
    let _ = KEPT_HERE.try_with(|kept| {
        let mut kept = kept.borrow_mut();
        if let Some(at) = kept.planned.iter().position(|&planned| planned == bytes) {
            kept.planned.swap_remove(at);
        }
        if kept.bytes > kept.most() {
            kept.give_back();
        }
    });
}

/// How many bytes this thread keeps.
#[cfg(test)]
pub(super) fn kept() -> usize {
    KEPT_HERE.with_borrow(|kept| kept.bytes)
}

/// How many lines hold this many bytes, rounded up by less than an eighth so that blocks of about one
/// size can stand in for each other.
fn lines_for(nbytes: usize) -> usize {
    let lines = nbytes.div_ceil(LINE);
    let step = (lines.next_power_of_two() / 16).max(1);
    lines.div_ceil(step) * step
}

fn take(lines: usize) -> Option<Vec<CacheLine>> {
    let kept = KEPT_HERE.try_with(|kept| {
        let mut kept = kept.borrow_mut();
        let block = kept.by_lines.get_mut(&lines)?.pop()?;
        kept.bytes -= block.len() * LINE;
        Some(block)
    });
    kept.ok().flatten()
}

/// New memory, which is zero.
fn fresh(lines: usize, nbytes: usize) -> Result<Vec<CacheLine>> {
    bytemuck::allocation::try_zeroed_vec(lines).map_err(|()| {
        Error::runtime(format!(
            "DefaultCPUAllocator: can't allocate memory: you tried to allocate {nbytes} bytes."
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_with_is_used_again() {
        let mut first = Block::zeroed(1000).unwrap();
        first.bytes_mut()[3] = 9;
        let position = first.bytes().as_ptr();
        assert!((position as usize).is_multiple_of(64));
        drop(first);
        let second = Block::for_overwrite(990).unwrap();
        assert_eq!(second.bytes().as_ptr(), position);
        let expected = if cfg!(any(debug_assertions, fuzzing)) { POISON } else { 9 };
        assert_eq!(second.bytes()[3], expected);
        assert_ne!(Block::for_overwrite(1000).unwrap().bytes().as_ptr(), position);
    }

    #[test]
    fn sizes_are_rounded_up_a_little() {
        for nbytes in [1, 64, 65, 1000, 4097, 1 << 20, (1 << 20) + 1] {
            let lines = lines_for(nbytes);
            assert!(lines * 64 >= nbytes);
            assert!(lines * 64 <= nbytes + nbytes / 7 + 64, "{nbytes}");
        }
    }
}
