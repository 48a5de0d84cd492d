//! The values of a graph by id, without those that are gone once the graph was compacted.

use std::ops::{Index, IndexMut};

use smallvec::SmallVec;

use super::{NodeId, Value, ValueId};
use crate::Type;

/// Values by id. An id is never used again, and the number of a value in print is its id; so what is gone
/// leaves gaps.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    values: Vec<Value>,
    /// Where the value of each id is, once there are gaps: at [`GONE`] for what is gone.
    places: Option<Vec<u32>>,
}

/// Where a value without uses and name stands for all that are gone.
const GONE: u32 = 0;

/// For how many more values there is room in a large graph that was compacted: passes that add a few are not to
/// double it. A small one may double.
const ROOM: usize = 8;

impl Values {
    /// How many ids there are.
    pub(super) fn len(&self) -> usize {
        self.places.as_ref().map_or(self.values.len(), Vec::len)
    }

    pub(super) fn push(&mut self, value: Value) -> ValueId {
        let id = ValueId(self.len() as u32);
        if let Some(places) = &mut self.places {
            places.push(self.values.len() as u32);
        }
        self.values.push(value);
        id
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.values.iter_mut()
    }

    /// Drops the values that do not hold this, and gives back memory that is kept for more.
    pub(super) fn retain(&mut self, holds: impl Fn(ValueId, &Value) -> bool) {
        let values = &mut self.values;
        let places = self.places.get_or_insert_with(|| {
            values.reserve_exact(1);
            values.insert(GONE as usize, Value::gone());
            (GONE + 1..values.len() as u32).collect()
        });
        // Places grow with ids.
        let mut is_kept = Vec::with_capacity(values.len());
        is_kept.push(true);
        let mut next = GONE + 1;
        for (id, place) in places.iter_mut().enumerate().filter(|(_, place)| **place != GONE) {
            let kept = holds(ValueId(id as u32), &values[*place as usize]);
            is_kept.push(kept);
            *place = if kept { next } else { GONE };
            next += u32::from(kept);
        }
        let mut is_kept = is_kept.into_iter();
        values.retain(|_| is_kept.next() == Some(true));
        let room = |len: usize| len + ROOM.min(len / 8);
        values.shrink_to(room(values.len()));
        places.shrink_to(room(places.len()));
    }

    fn place(&self, id: ValueId) -> usize {
        match &self.places {
            Some(places) => places[id.0 as usize] as usize,
            None => id.0 as usize,
        }
    }
}

impl Value {
    /// What is left of a value that nothing makes: the graph's parameters are said to.
    fn gone() -> Self {
        Self { ty: Type::None, name: None, node: NodeId(0), index: u32::MAX, uses: SmallVec::new() }
    }
}

impl Index<ValueId> for Values {
    type Output = Value;

    fn index(&self, id: ValueId) -> &Value {
        &self.values[self.place(id)]
    }
}

impl IndexMut<ValueId> for Values {
    fn index_mut(&mut self, id: ValueId) -> &mut Value {
        let place = self.place(id);
        &mut self.values[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_stay_when_values_go() {
        let value = |index| Value { index, ..Value::gone() };
        let mut values = Values::default();
        for index in 0..6 {
            assert_eq!(values.push(value(index)), ValueId(index));
        }
        values.retain(|id, _| id.0 % 2 == 1);
        assert_eq!(values.push(value(6)), ValueId(6));
        values.retain(|_, value| value.index != 3);
        assert_eq!(values.push(value(7)), ValueId(7));
        let indexes: Vec<u32> = (0..8).map(|id| values[ValueId(id)].index).collect();
        const X: u32 = u32::MAX;
        assert_eq!(indexes, [X, 1, X, X, X, 5, 6, 7]);
        assert_eq!((values.len(), values.iter_mut().count()), (8, 5));
    }
}
