//! The blocks of a node, which most nodes have none of, in as little room as can be.

use std::ops::Deref;

use super::BlockId;

/// The blocks of a node.
#[derive(Clone, Debug, Default)]
#[expect(
    clippy::box_collection,
    reason = "a Vec in place would take three times the room of a pointer"
)]
pub(super) struct BlockList(Option<Box<Vec<BlockId>>>);

impl BlockList {
    pub(super) fn push(&mut self, block: BlockId) {
        self.0.get_or_insert_default().push(block);
    }

    /// # Panics
    /// When there are not so many.
    pub(super) fn remove(&mut self, index: usize) -> BlockId {
        let block = self[index];
        if let Some(blocks) = &mut self.0 {
            blocks.remove(index);
        }
        if self.is_empty() {
            self.0 = None;
        }
        block
    }

    /// Gives back the room that is kept for more.
    pub(super) fn shrink(&mut self) {
        if let Some(blocks) = &mut self.0 {
            blocks.shrink_to_fit();
        }
    }
}

impl Deref for BlockList {
    type Target = [BlockId];

    fn deref(&self) -> &[BlockId] {
        self.0.as_deref().map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Node;
    use super::*;

    #[test]
    fn blocks_are_kept_in_order() {
        let mut list = BlockList::default();
        assert!(list.is_empty());
        (0..3).for_each(|id| list.push(BlockId(id)));
        assert_eq!(list.remove(1), BlockId(1));
        assert_eq!(*list, [BlockId(0), BlockId(2)]);
        list.shrink();
        assert_eq!([list.remove(0), list.remove(0)], [BlockId(0), BlockId(2)]);
        assert!(list.is_empty());
    }

    #[test]
    fn a_node_takes_two_cache_lines() {
        assert!(size_of::<Node>() <= 128, "{}", size_of::<Node>());
    }
}
