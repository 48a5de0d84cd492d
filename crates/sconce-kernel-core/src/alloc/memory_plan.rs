//! Memory plans: which tensors of a call lie in the same block of memory, by when each is made and dropped.
//!
//! The sizes of the tensors between the layers of a network are known only when it runs. So one call is [recorded](record):
//! each block that a tensor gets, and when it is given back. Then the largest tensors get blocks of their own, and every
//! smaller one shares a block with tensors that are gone before it is made or made after it is gone: so what is written
//! next is often in a cache already. A later call
//! [follows](follow) the plan: its tensors come in the same order, and each is given a block of the planned size, which the
//! caching allocator has kept. Without a plan a tensor waits for a block of its own size, and all sizes are kept.
//!
//! A plan only chooses sizes. A call that goes another way than the one that was recorded gets blocks that nobody holds,
//! as ever, and goes on without the plan.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

use rustc_hash::FxHashMap;

use super::caching_allocator::{self, LINE};

/// The most blocks that a call is recorded with.
const MOST_BLOCKS: usize = 1 << 14;

/// Blocks of fewer lines are not planned: all of them together are little.
const LEAST_LINES: usize = 4096 / LINE;

/// The bytes that a plan has to save.
const LEAST_SAVED: usize = 64 << 10;

thread_local! {
    static ACTIVE: RefCell<Active> = RefCell::default();
}

/// What a thread does about plans.
#[derive(Default)]
enum Active {
    #[default]
    Nothing,
    Recording(Lifetimes),
    Following(Rc<MemoryPlan>, usize),
    /// A call that has gone another way than its plan.
    Astray,
}

/// The block that a recorded call knows by a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticket {
    /// Which call; 0 is none.
    recording: u32,
    at: u32,
}

impl Ticket {
    /// A block that nobody records.
    pub(super) const NONE: Ticket = Ticket { recording: 0, at: 0 };

    /// The block is given back.
    #[inline]
    pub(super) fn end(self) {
        if self != Ticket::NONE {
            // Where the thread ends, nothing is recorded.
            let _ = ACTIVE.try_with(|active| {
                if let Active::Recording(lifetimes) = &mut *active.borrow_mut()
                    && lifetimes.recording == self.recording
                {
                    lifetimes.events.push(Event::End(self.at));
                }
            });
        }
    }
}

/// How many lines the block of a tensor gets that needs this many, and what it is known by.
#[inline]
pub(super) fn place(lines: usize) -> (usize, Ticket) {
    let placed = ACTIVE.try_with(|active| active.borrow_mut().place(lines));
    // Where the thread ends, there is no plan.
    placed.unwrap_or((lines, Ticket::NONE))
}

impl Active {
    fn place(&mut self, lines: usize) -> (usize, Ticket) {
        match self {
            Active::Nothing | Active::Astray => {}
            Active::Recording(lifetimes) => return (lines, lifetimes.begin(lines)),
            Active::Following(plan, next) => match plan.steps.get(*next) {
                Some(step) if step.asked == lines => {
                    *next += 1;
                    return (step.given, Ticket::NONE);
                }
                _ => *self = Active::Astray,
            },
        }
        (lines, Ticket::NONE)
    }
}

/// What has been recorded of a call.
#[derive(Debug, Default)]
struct Lifetimes {
    recording: u32,
    /// The lines of each block, in the order in which they were asked for.
    lines: Vec<usize>,
    events: Vec<Event>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    /// The next block is given.
    Begin,
    /// This one is given back.
    End(u32),
}

impl Lifetimes {
    fn begin(&mut self, lines: usize) -> Ticket {
        self.lines.push(lines);
        if self.lines.len() > MOST_BLOCKS {
            return Ticket::NONE;
        }
        self.events.push(Event::Begin);
        Ticket { recording: self.recording, at: self.lines.len() as u32 - 1 }
    }

    /// The plan, if it saves enough.
    fn plan(&self) -> Option<MemoryPlan> {
        if self.lines.len() > MOST_BLOCKS {
            return None;
        }
        let mut given = self.lines.clone();
        let (alive, unplanned) = self.alive();
        let mut order: Vec<usize> = (0..given.len())
            .filter(|&at| given[at] >= LEAST_LINES && alive[at].1 != usize::MAX)
            .collect();
        order.sort_by_key(|&at| std::cmp::Reverse(given[at]));
        let mut blocks: Vec<SharedBlock> = Vec::new();
        for at in order {
            // Of those that are free, the one that was done with last, which a cache may hold.
            let free = blocks.iter_mut().filter(|block| block.is_free(alive[at]));
            let block = match free.max_by_key(|block| block.done_before(alive[at].0)) {
                Some(block) => block,
                None => {
                    blocks.push(SharedBlock { lines: given[at], taken: BTreeMap::new() });
                    blocks.last_mut()?
                }
            };
            block.taken.insert(alive[at].0, alive[at].1);
            given[at] = block.lines;
        }
        let planned = blocks.iter().map(|block| block.lines).sum::<usize>() * LINE;
        let steps = self.lines.iter().zip(&given).map(|(&asked, &given)| Step { asked, given });
        (unplanned >= planned + LEAST_SAVED)
            .then(|| MemoryPlan { steps: steps.collect(), bytes: planned })
    }

    /// When each block is given and given back, by the number of the event (`usize::MAX` of one that outlives the
    /// call); and the bytes that are held when each block of a planned size is kept for others of its own size.
    fn alive(&self) -> (Vec<(usize, usize)>, usize) {
        let mut alive = Vec::with_capacity(self.lines.len());
        for (now, event) in self.events.iter().enumerate() {
            match event {
                Event::Begin => alive.push((now, usize::MAX)),
                Event::End(at) => alive[*at as usize].1 = now,
            }
        }
        let mut of_size: FxHashMap<usize, (usize, usize)> = FxHashMap::default();
        let mut next = 0;
        for event in &self.events {
            let at = match event {
                Event::Begin => {
                    next += 1;
                    next - 1
                }
                Event::End(at) => *at as usize,
            };
            if self.lines[at] < LEAST_LINES || alive[at].1 == usize::MAX {
                continue;
            }
            let (now, most) = of_size.entry(self.lines[at]).or_default();
            match event {
                Event::Begin => *now += 1,
                Event::End(_) => *now -= 1,
            }
            *most = (*most).max(*now);
        }
        let bytes = of_size.iter().map(|(lines, (_, most))| lines * most * LINE).sum();
        (alive, bytes)
    }
}

/// A block, and when tensors lie in it: from one event to another.
struct SharedBlock {
    lines: usize,
    taken: BTreeMap<usize, usize>,
}

impl SharedBlock {
    fn is_free(&self, (from, until): (usize, usize)) -> bool {
        // What lies in it never overlaps, so the last one that begins before the end also ends last.
        self.taken.range(..until).next_back().is_none_or(|(_, &end)| end < from)
    }

    /// When what lay in it before an event was given back.
    fn done_before(&self, from: usize) -> Option<usize> {
        self.taken.range(..from).next_back().map(|(_, &end)| end)
    }
}

/// Which tensors of a call share a block.
#[derive(Debug)]
pub struct MemoryPlan {
    /// For each block that a tensor asks for.
    steps: Box<[Step]>,
    /// Those of all blocks that are planned.
    bytes: usize,
}

/// Lines that a tensor needs, and those of the block that it shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    asked: usize,
    given: usize,
}

impl Drop for MemoryPlan {
    fn drop(&mut self) {
        caching_allocator::plan_gone(self.bytes);
    }
}

/// Records the tensors that this thread makes until what this gives is finished or dropped.
pub fn record() -> Recording {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let recording = NEXT.fetch_add(1, Ordering::Relaxed).max(1);
    Recording(enter(Active::Recording(Lifetimes { recording, ..Lifetimes::default() })))
}

/// A call that is recorded.
#[must_use]
pub struct Recording(#[allow(dead_code, reason = "ends when dropped")] Entered);

impl Recording {
    /// Ends it. Gives the plan; `None` where it would save too little, or there are too many tensors. What was kept in
    /// other sizes goes back to the system.
    pub fn finish(self) -> Option<MemoryPlan> {
        let active = ACTIVE.with(RefCell::take);
        let Active::Recording(lifetimes) = active else { return None };
        let plan = lifetimes.plan()?;
        caching_allocator::give_back();
        caching_allocator::plan_made(plan.bytes);
        Some(plan)
    }
}

/// Gives the tensors that this thread makes the blocks of a plan, until what this gives is dropped.
pub fn follow(plan: &Rc<MemoryPlan>) -> Following {
    Following(enter(Active::Following(Rc::clone(plan), 0)))
}

/// A call that follows a plan.
#[must_use]
pub struct Following(#[allow(dead_code, reason = "ends when dropped")] Entered);

impl Following {
    /// Whether its tensors have come in the order and sizes of the plan.
    pub fn is_on_plan(&self) -> bool {
        ACTIVE.with(|active| !matches!(*active.borrow(), Active::Astray))
    }
}

/// Ends what a thread does about plans; what it did before goes on.
struct Entered(Option<Active>);

fn enter(active: Active) -> Entered {
    Entered(Some(ACTIVE.with(|here| here.replace(active))))
}

impl Drop for Entered {
    fn drop(&mut self) {
        let before = self.0.take().unwrap_or_default();
        // Where the thread ends, there is nothing to go on with.
        let _ = ACTIVE.try_with(|active| active.replace(before));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alloc::caching_allocator::{Block, Content};

    /// What sizes are counted in; Miri takes minutes for a megabyte.
    const UNIT: usize = if cfg!(miri) { 16 << 10 } else { 1 << 20 };

    const SIZES: [usize; 5] = [8, 4, 2, 1, 6];

    fn block(units: usize) -> Block {
        Block::of_tensor(units * UNIT, Content::Any).unwrap()
    }

    /// A chain in which each tensor is made of the one before it.
    fn chain() -> (Vec<*const u8>, Block) {
        let mut last = block(SIZES[0]);
        let mut places = vec![last.bytes().as_ptr()];
        for &size in &SIZES[1..] {
            // The one before goes after it has been read.
            last = block(size);
            places.push(last.bytes().as_ptr());
        }
        (places, last)
    }

    fn planned() -> Rc<MemoryPlan> {
        let recording = record();
        drop(block(3));
        let (_, last) = chain();
        let plan = recording.finish().unwrap();
        drop(last);
        Rc::new(plan)
    }

    #[test]
    fn tensors_that_are_not_there_at_once_share_blocks() {
        let plan = planned();
        // The last outlives the call: it is not planned. The others take turns in two blocks.
        assert_eq!(plan.bytes, 12 * UNIT);
        for _ in 0..2 {
            let following = follow(&plan);
            drop(block(3));
            let (places, last) = chain();
            assert!(following.is_on_plan());
            assert_eq!(places[0], places[2]);
            assert_eq!(places[1], places[3]);
            assert_ne!(places[0], places[1]);
            assert!(last.bytes().len() >= 6 * UNIT);
        }
    }

    #[test]
    fn what_a_plan_needs_is_kept_as_long_as_there_is_the_plan() {
        let sizes = if cfg!(miri) { [3, 2] } else { [60, 52] };
        let both = || {
            let (first, second) = (block(sizes[0]), block(sizes[1]));
            [first.bytes().as_ptr(), second.bytes().as_ptr()]
        };
        // More than is kept without a plan.
        let recording = record();
        let plan = {
            both();
            drop(block(sizes[0] / 2));
            Rc::new(recording.finish().unwrap())
        };
        assert_eq!(plan.bytes, (sizes[0] + sizes[1]) * UNIT);
        let follow = || {
            let _following = follow(&plan);
            both()
        };
        let places = follow();
        assert_eq!(follow(), places);
        drop(plan);
        assert_eq!(caching_allocator::kept(), if cfg!(miri) { 5 * UNIT } else { 0 });
    }

    #[test]
    fn a_call_that_goes_another_way_goes_on_without_the_plan() {
        let plan = planned();
        let following = follow(&plan);
        let (first, second) = (block(3), block(5));
        assert!(!following.is_on_plan());
        assert_ne!(first.bytes().as_ptr(), second.bytes().as_ptr());
        assert!(second.bytes().len() < 6 * UNIT);
        // One that has more tensors than the plan, too.
        drop((following, first, second));
        let following = follow(&plan);
        drop(block(3));
        let kept = (chain(), block(8));
        assert!(!following.is_on_plan());
        assert_ne!(kept.0.1.bytes().as_ptr(), kept.1.bytes().as_ptr());
    }

    #[test]
    fn what_is_held_longer_than_in_the_plan_is_not_given_twice() {
        let plan = planned();
        let following = follow(&plan);
        drop(block(3));
        let all: Vec<Block> = SIZES.iter().map(|&size| block(size)).collect();
        assert!(following.is_on_plan());
        let mut places: Vec<_> = all.iter().map(|block| block.bytes().as_ptr()).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), all.len());
    }

    #[test]
    fn little_and_too_much_are_not_planned() {
        let recording = record();
        drop((block(1), block(1)));
        drop(Block::of_tensor(700, Content::Zeros));
        assert!(recording.finish().is_none());
        let recording = record();
        for at in 0..=MOST_BLOCKS {
            drop(Block::of_tensor(64 + at, Content::Any));
        }
        assert!(recording.finish().is_none());
    }

    #[test]
    fn blocks_of_an_earlier_recording_are_not_taken_for_those_of_this_one() {
        let first = record();
        let (early, other) = (block(4), block(2));
        drop(first);
        let second = record();
        let (late, more) = (block(4), block(3));
        drop((early, other));
        // Had they ended the new ones, all of these would share a block.
        let plan = second.finish();
        assert!(plan.is_none());
        drop((late, more));
    }
}
