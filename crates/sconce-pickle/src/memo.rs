//! The memo: values by number.

use rustc_hash::FxHashMap;

use crate::arena::Value;

/// How far a slot may lie beyond the number of opcodes read and still be kept in the vector.
const SLACK: u64 = 256;

/// Memo slots: a vector while the numbers are as low as an honest pickler's, and a map for the
/// others, so that a huge number costs no more than any other.
#[derive(Default, Debug)]
pub(crate) struct Memo {
    dense: Vec<Option<Value>>,
    sparse: FxHashMap<u64, Value>,
    len: usize,
}

impl Memo {
    /// Number of slots in use.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn get(&self, index: u64) -> Option<Value> {
        let dense = usize::try_from(index).ok().and_then(|index| self.dense.get(index));
        match dense {
            Some(Some(value)) => Some(*value),
            _ if self.sparse.is_empty() => None,
            _ => self.sparse.get(&index).copied(),
        }
    }

    /// Puts a value into a slot; `steps` is the number of opcodes read so far.
    #[inline]
    pub(crate) fn put(&mut self, index: u64, value: Value, steps: u64) {
        // Honest picklers put into the next slot.
        if index == self.dense.len() as u64 && self.sparse.is_empty() {
            self.dense.push(Some(value));
            self.len += 1;
        } else {
            self.put_anywhere(index, value, steps);
        }
    }

    fn put_anywhere(&mut self, index: u64, value: Value, steps: u64) {
        let before = if index < steps + SLACK && !self.sparse.contains_key(&index) {
            // No more than the number of opcodes, so it fits.
            let index = index as usize;
            if index >= self.dense.len() {
                self.dense.resize(index + 1, None);
            }
            self.dense[index].replace(value)
        } else {
            self.sparse.insert(index, value)
        };
        self.len += usize::from(before.is_none());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::{Arena, Node};

    #[test]
    fn slots_near_and_far() {
        let mut arena = Arena::default();
        let [a, b, c] = [0, 1, 2].map(|n| arena.push(Node::Int(n), 0));
        let mut memo = Memo::default();
        memo.put(u64::MAX, a, 1);
        memo.put(300, b, 2);
        memo.put(5, c, 3);
        assert_eq!((memo.get(u64::MAX), memo.get(300), memo.get(5)), (Some(a), Some(b), Some(c)));
        assert_eq!((memo.len(), memo.get(4), memo.get(301)), (3, None, None));
        assert!(memo.dense.len() < 10);
        // The same slot stays where it is, and is no second one.
        memo.put(300, a, 1000);
        memo.put(5, a, 1000);
        assert_eq!((memo.len(), memo.get(300), memo.get(5)), (3, Some(a), Some(a)));
        memo.put(0, c, 1000);
        assert_eq!((memo.len(), memo.get(0)), (4, Some(c)));
    }
}
