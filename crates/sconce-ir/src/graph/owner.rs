//! The block that a node is in, if any, in four bytes.

use std::num::NonZeroU32;

use super::BlockId;

/// The block that a node is in: its id and one, so that there is a number for no block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Owner(Option<NonZeroU32>);

impl Owner {
    pub(super) fn of(block: Option<BlockId>) -> Self {
        Owner(block.and_then(|BlockId(id)| NonZeroU32::new(id.wrapping_add(1))))
    }

    pub(super) fn block(self) -> Option<BlockId> {
        self.0.map(|id| BlockId(id.get() - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_comes_back() {
        for block in [None, Some(BlockId(0)), Some(BlockId(7))] {
            assert_eq!(Owner::of(block).block(), block);
        }
    }
}
