//! The attributes of a node: nothing for most, shared among nodes that have the same.

use std::sync::Arc;

use smallvec::SmallVec;

use super::Attribute;

/// The name of an attribute; those the compiler sets cost no allocation.
#[derive(Clone, Debug)]
pub(super) enum AttributeName {
    Known(&'static str),
    Other(Arc<str>),
}

/// Named attributes in the order they were set. Copies share one list until one of them is changed, so that
/// a million loads of one variable have one.
#[derive(Clone, Debug, Default)]
pub struct Attributes(Option<Arc<List>>);

type List = SmallVec<[(AttributeName, Attribute); 1]>;

impl Attributes {
    /// One attribute of a name the compiler knows.
    pub fn one(name: &'static str, value: Attribute) -> Self {
        let mut attributes = Self::default();
        attributes.set(AttributeName::Known(name), value);
        attributes
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Attribute)> {
        self.0.iter().flat_map(|list| list.iter()).map(|(name, value)| (name.as_str(), value))
    }

    pub(super) fn get(&self, name: &str) -> Option<&Attribute> {
        self.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    pub(super) fn set(&mut self, name: AttributeName, value: Attribute) {
        let list = Arc::make_mut(self.0.get_or_insert_default());
        match list.iter_mut().find(|(key, _)| key.as_str() == name.as_str()) {
            Some((_, old)) => *old = value,
            None => list.push((name, value)),
        }
    }

    pub(super) fn remove(&mut self, name: &str) {
        if self.get(name).is_none() {
            return;
        }
        if let Some(list) = &mut self.0 {
            Arc::make_mut(list).retain(|(key, _)| key.as_str() != name);
        }
    }

    /// The graphs among the attributes, to change them.
    pub(super) fn graphs_mut(&mut self) -> impl Iterator<Item = &mut Attribute> {
        let has_graph = self.iter().any(|(_, value)| matches!(value, Attribute::Graph(_)));
        let list = self.0.as_mut().filter(|_| has_graph).map(Arc::make_mut);
        let values = list.into_iter().flat_map(|list| list.iter_mut().map(|(_, value)| value));
        values.filter(|value| matches!(value, Attribute::Graph(_)))
    }
}

impl AttributeName {
    fn as_str(&self) -> &str {
        match self {
            Self::Known(name) => name,
            Self::Other(name) => name,
        }
    }
}
