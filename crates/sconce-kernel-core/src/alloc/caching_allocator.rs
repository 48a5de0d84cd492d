//! A caching allocator: each thread keeps freed blocks for later requests of about the same size.
//!
//! The system allocator is slow for large, aligned memory, and the first touch of a new page costs more
//! than computing what goes into it. Each thread keeps up to 64 MiB.

use std::cell::RefCell;

use bytemuck::{Pod, Zeroable};
use rustc_hash::FxHashMap;

use super::counting_allocator;
use crate::{Error, Result};

/// The unit of allocation, so that every block starts at a multiple of 64 bytes.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct CacheLine([u8; 64]);

/// The most bytes that a thread keeps.
const KEPT: usize = 64 << 20;

/// A block of memory of a whole number of cache lines.
pub struct Block(Vec<CacheLine>);

#[derive(Default)]
struct Kept {
    bytes: usize,
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
        let lines = lines_for(nbytes);
        match take(lines) {
            Some(mut kept) => {
                kept.fill(CacheLine::zeroed());
                Ok(Block(kept))
            }
            None => fresh(lines, nbytes),
        }
    }

    /// At least this many bytes of any content, which the caller overwrites. They are poisoned in debug builds and
    /// under a fuzzer: who reads one that nobody has written gets [`POISON`], not what an earlier call left.
    pub fn for_overwrite(nbytes: usize) -> Result<Block> {
        let lines = lines_for(nbytes);
        let mut block = take(lines).map(Block).map_or_else(|| fresh(lines, nbytes), Ok)?;
        poison(block.bytes_mut());
        Ok(block)
    }

    /// All bytes, which may be more than were asked for.
    pub fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }

    /// As [`Block::bytes`], to write to.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.0)
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let lines = std::mem::take(&mut self.0);
        let bytes = lines.len() * size_of::<CacheLine>();
        // Where the thread ends, memory goes back to the system.
        let _ = KEPT_HERE.try_with(|kept| {
            let mut kept = kept.borrow_mut();
            if kept.bytes + bytes <= KEPT && counting_allocator::may_keep(kept.bytes + bytes) {
                kept.bytes += bytes;
                kept.by_lines.entry(lines.len()).or_default().push(lines);
            }
        });
    }
}

/// Gives what this thread keeps back to the system.
pub(super) fn give_back() {
    // Where the thread ends, nothing is kept.
    let _ = KEPT_HERE.try_with(|kept| kept.take());
}

/// How many lines hold this many bytes, rounded up by less than an eighth so that blocks of about one
/// size can stand in for each other.
fn lines_for(nbytes: usize) -> usize {
    let lines = nbytes.div_ceil(size_of::<CacheLine>());
    let step = (lines.next_power_of_two() / 16).max(1);
    lines.div_ceil(step) * step
}

fn take(lines: usize) -> Option<Vec<CacheLine>> {
    let kept = KEPT_HERE.try_with(|kept| {
        let mut kept = kept.borrow_mut();
        let block = kept.by_lines.get_mut(&lines)?.pop()?;
        kept.bytes -= block.len() * size_of::<CacheLine>();
        Some(block)
    });
    kept.ok().flatten()
}

fn fresh(lines: usize, nbytes: usize) -> Result<Block> {
    let lines = bytemuck::allocation::try_zeroed_vec(lines).map_err(|()| {
        Error::runtime(format!(
            "DefaultCPUAllocator: can't allocate memory: you tried to allocate {nbytes} bytes."
        ))
    })?;
    Ok(Block(lines))
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
