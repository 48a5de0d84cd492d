//! What types are to each other: subtypes, unification, type variables. Classes and interfaces are looked up in a
//! [`Unit`](crate::Unit).

mod subtype;
mod unify;
mod variables;

pub(crate) use unify::MAX_UNION;
pub use variables::TypeVariables;

use std::sync::Arc;

use crate::{TupleType, Type, Unit};

impl Type {
    /// The same type made of other parts, one for each of [`Self::contained`]. A union or an optional
    /// type is made anew, so what comes of it may be neither. A NamedTuple keeps its names.
    pub fn with_contained(&self, mut parts: Vec<Self>, unit: &Unit) -> Self {
        debug_assert_eq!(parts.len(), self.contained().len(), "one part for each");
        if let Self::Tuple(tuple) = self {
            let named = tuple.named.clone();
            return Self::Tuple(Arc::new(TupleType { elements: parts, named }));
        }
        if let Self::Union(_) = self {
            return Self::union(&parts, unit);
        }
        let (Some(last), first) = (parts.pop(), parts.pop()) else { return self.clone() };
        match self {
            Self::Optional(_) => Self::optional(last),
            Self::List(_) => Self::list(last),
            Self::Future(_) => Self::future(last),
            Self::RRef(_) => Self::RRef(Arc::new(last)),
            Self::Await(_) => Self::Await(Arc::new(last)),
            Self::Dict(_) => Self::dict(first.unwrap_or_else(|| last.clone()), last),
            _ => self.clone(),
        }
    }
}
