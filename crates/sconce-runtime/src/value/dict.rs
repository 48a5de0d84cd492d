//! Dicts: in order of insertion, with the keys TorchScript allows.

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use sconce_ir::Type;
use sconce_kernels::{Charge, Memory};

use crate::value::{IValue, SHARED};

/// A dict in order of insertion, and the types of its keys and values.
pub struct Dict {
    /// The type of the keys.
    pub key: Type,
    /// The type of the values.
    pub value: Type,
    /// Entries in order; `None` where one was taken away.
    entries: Vec<Option<Entry>>,
    places: FxHashMap<Key, usize>,
    charge: Charge,
}

/// A key and its value.
pub(crate) type Entry = (IValue, IValue);

/// A key as it is looked up.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Bool(bool),
    Int(i64),
    /// By bits; both zeros are one.
    Float(u64),
    Complex(u64, u64),
    Str(Arc<str>),
    Device(Arc<str>),
    Enum(Arc<str>, u32),
    /// By identity: the entry keeps the tensor, so no other has its place.
    Tensor(usize),
}

/// What a table of places takes that has room for so many: an eighth of it stays empty, and each has a byte
/// beside it.
fn places_bytes(capacity: usize) -> usize {
    capacity.saturating_mul(8) / 7 * (size_of::<(Key, usize)>() + 1)
}

impl Key {
    fn new(value: &IValue) -> Option<Self> {
        let bits = |float: f64| if float == 0.0 { 0 } else { float.to_bits() };
        Some(match value {
            IValue::Bool(value) => Key::Bool(*value),
            IValue::Int(value) => Key::Int(*value),
            IValue::Float(value) => Key::Float(bits(*value)),
            IValue::Complex(re, im) => Key::Complex(bits(*re), bits(*im)),
            IValue::Str(text) => Key::Str(Arc::clone(text.shared())),
            IValue::Device(text) => Key::Device(Arc::clone(text)),
            IValue::Enum(of, index) => Key::Enum(Arc::clone(&of.name), *index),
            IValue::Tensor(tensor) => Key::Tensor(tensor.id()),
            _ => return None,
        })
    }
}

impl Dict {
    /// A dict without entries.
    pub fn new(key: Type, value: Type) -> Self {
        let charge = Memory::charge_value(size_of::<Self>() + SHARED);
        Dict { key, value, entries: Vec::new(), places: FxHashMap::default(), charge }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The value of a key.
    pub fn get(&self, key: &IValue) -> Option<&IValue> {
        let place = *self.places.get(&Key::new(key)?)?;
        Some(&self.entries.get(place)?.as_ref()?.1)
    }

    /// Whether a value can be a key.
    pub fn is_key(value: &IValue) -> bool {
        Key::new(value).is_some()
    }

    /// Enters a value; a key that is there keeps its place. Gives whether the key can be one.
    #[must_use]
    pub fn insert(&mut self, key: IValue, value: IValue) -> bool {
        let Some(lookup) = Key::new(&key) else { return false };
        match self.places.get(&lookup) {
            Some(&place) => {
                if let Some(Some(entry)) = self.entries.get_mut(place) {
                    entry.1 = value;
                }
            }
            None => {
                let had = (self.entries.capacity(), self.places.capacity());
                self.places.insert(lookup, self.entries.len());
                self.entries.push(Some((key, value)));
                if (self.entries.capacity(), self.places.capacity()) != had {
                    self.recharge();
                }
            }
        }
        true
    }

    /// Takes an entry away.
    pub fn remove(&mut self, key: &IValue) -> Option<(IValue, IValue)> {
        let place = self.places.remove(&Key::new(key)?)?;
        let taken = self.entries.get_mut(place)?.take();
        while matches!(self.entries.last(), Some(None)) {
            self.entries.pop();
        }
        if self.entries.len() > 2 * self.places.len() + 8 {
            self.compact();
        }
        taken
    }

    /// Takes all entries away.
    pub fn clear(&mut self) {
        self.entries = Vec::new();
        self.places = FxHashMap::default();
        self.recharge();
    }

    /// Keys and values in order.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = (&IValue, &IValue)> {
        self.entries.iter().flatten().map(|(key, value)| (key, value))
    }

    /// The entry of a place; an inner `None` where one was taken away, an outer one behind the last.
    pub(crate) fn entry(&self, place: usize) -> Option<Option<(&IValue, &IValue)>> {
        let entry = self.entries.get(place)?;
        Some(entry.as_ref().map(|(key, value)| (key, value)))
    }

    /// All entries, taken away.
    pub(crate) fn take_entries(&mut self) -> Vec<Option<Entry>> {
        self.places.clear();
        std::mem::take(&mut self.entries)
    }

    /// How many bytes the next entry may take, with what grows for it: the entries double where they are, the
    /// table of places is made anew.
    pub(crate) fn growth(&self) -> usize {
        let (entries, places) = (self.entries.capacity(), self.places.capacity());
        let of_entries = entries.max(4) * size_of::<Option<Entry>>();
        let of_places = 2 * places_bytes(places.max(3));
        (if self.entries.len() == entries { of_entries } else { 0 })
            + (if self.places.len() == places { of_places } else { 0 })
    }

    /// Charges what it has grown by.
    fn recharge(&mut self) {
        let entries = self.entries.capacity() * size_of::<Option<Entry>>();
        let bytes = size_of::<Self>() + SHARED + entries + places_bytes(self.places.capacity());
        self.charge.resize(bytes);
    }

    fn compact(&mut self) {
        self.entries.retain(Option::is_some);
        for (place, entry) in self.entries.iter().enumerate() {
            if let Some(key) = entry.as_ref().and_then(|(key, _)| Key::new(key)) {
                self.places.insert(key, place);
            }
        }
    }
}

impl fmt::Debug for Dict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.entries()).finish()
    }
}
