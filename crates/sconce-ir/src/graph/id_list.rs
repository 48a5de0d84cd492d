//! Lists of ids, short ones in place: most nodes have few inputs and one output, and a graph has many nodes.

use std::ops::{Deref, DerefMut};

/// How many ids are kept in place: as many as fit where the pointer to more is.
const IN_PLACE: usize = 3;

/// A list of ids.
#[derive(Clone, Debug)]
pub(super) enum IdList<T> {
    InPlace(u8, [T; IN_PLACE]),
    /// Two pointers away, so that the list itself takes one.
    #[expect(clippy::box_collection, reason = "a Vec in place would double the list's size")]
    Boxed(Box<Vec<T>>),
}

impl<T: Copy + Default> IdList<T> {
    pub(super) fn new() -> Self {
        Self::InPlace(0, [T::default(); IN_PLACE])
    }

    pub(super) fn insert(&mut self, index: usize, id: T) {
        match self {
            Self::InPlace(len, ids) if usize::from(*len) < IN_PLACE => {
                ids.copy_within(index..usize::from(*len), index + 1);
                ids[index] = id;
                *len += 1;
            }
            Self::InPlace(_, ids) => {
                let mut all = Vec::with_capacity(2 * IN_PLACE);
                all.extend_from_slice(ids);
                all.insert(index, id);
                *self = Self::Boxed(Box::new(all));
            }
            Self::Boxed(ids) => ids.insert(index, id),
        }
    }

    pub(super) fn remove(&mut self, index: usize) -> T {
        let id = self[index];
        match self {
            Self::InPlace(len, ids) => {
                ids.copy_within(index + 1..usize::from(*len), index);
                *len -= 1;
            }
            Self::Boxed(ids) => drop(ids.remove(index)),
        }
        id
    }

    /// Gives back the room that is kept for more.
    pub(super) fn shrink(&mut self) {
        if let Self::Boxed(ids) = self {
            ids.shrink_to_fit();
        }
    }
}

impl<T> Deref for IdList<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::InPlace(len, ids) => &ids[..usize::from(*len)],
            Self::Boxed(ids) => ids,
        }
    }
}

impl<T> DerefMut for IdList<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::InPlace(len, ids) => &mut ids[..usize::from(*len)],
            Self::Boxed(ids) => ids,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_in_place_and_boxed_are_like_vectors() {
        let (mut list, mut vector) = (IdList::new(), Vec::new());
        let mut random = 1_u64;
        for id in 0..2000_u32 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (random >> 33) as usize;
            if at % 5 < 2 && !vector.is_empty() {
                let at = at % vector.len();
                assert_eq!(list.remove(at), vector.remove(at));
            } else {
                let at = at % (vector.len() + 1);
                list.insert(at, id);
                vector.insert(at, id);
            }
            if vector.len() > 8 {
                while vector.len() > 2 {
                    assert_eq!(list.remove(1), vector.remove(1));
                }
                list.shrink();
            }
            assert_eq!(*list, *vector);
        }
    }

    #[test]
    fn a_list_takes_no_more_than_two_pointers() {
        assert!(size_of::<IdList<u32>>() <= 16);
    }
}
