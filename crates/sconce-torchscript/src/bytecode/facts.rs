//! What is known of types: bytecode does not say those of attributes, nor of what loops and branches give.
//!
//! They follow from the values of the file and from what is stored, which may depend on them in turn. So a program is
//! translated until nothing new comes out, and each time what was found before is the start.

use rustc_hash::FxHashMap;
use sconce_ir::{ClassId, Type, Unit};

/// After so many rounds, what is of two types is of any.
const WIDENING: u32 = 6;

/// How many parts a type may have, and how deep they may lie in each other.
const MAX_PARTS: usize = 4096;
const MAX_DEPTH: usize = 64;

/// What was found so far.
#[derive(Default)]
pub(super) struct Facts {
    attributes: FxHashMap<(ClassId, usize), Type>,
    /// What loops carry, by function and instruction.
    loops: FxHashMap<(usize, usize), Vec<Option<Type>>>,
    round: u32,
    changed: bool,
}

impl Facts {
    /// Begins a round; `false` where the last one found nothing new.
    pub(super) fn next_round(&mut self) -> bool {
        let first = self.round == 0;
        self.round += 1;
        std::mem::take(&mut self.changed) || first
    }

    /// How many rounds have begun.
    pub(super) fn rounds(&self) -> u32 {
        self.round
    }

    /// The type of which values of both are.
    pub(super) fn joined(&self, a: &Type, b: &Type, unit: &Unit) -> Type {
        if a == b {
            return a.clone();
        }
        let unified = match self.round > WIDENING {
            true => None,
            false => Type::unify(a, b, false, None, unit),
        };
        unified.filter(is_small).unwrap_or(Type::Any)
    }

    /// The type of an attribute; `None` where nothing was stored in it.
    pub(super) fn attribute(&self, class: ClassId, slot: usize) -> Option<&Type> {
        self.attributes.get(&(class, slot))
    }

    /// Notes that an attribute holds a value of a type.
    pub(super) fn store(&mut self, class: ClassId, slot: usize, ty: &Type, unit: &Unit) {
        let known = self.attributes.get(&(class, slot));
        let joined = known.map_or_else(|| ty.clone(), |known| self.joined(known, ty, unit));
        if known != Some(&joined) {
            self.attributes.insert((class, slot), joined);
            self.changed = true;
        }
    }

    /// What a loop was found to carry; `None` for a value of which nothing is known.
    pub(super) fn carried(&self, function: usize, at: usize) -> &[Option<Type>] {
        self.loops.get(&(function, at)).map_or(&[], Vec::as_slice)
    }

    /// Notes what a loop carries.
    pub(super) fn carry(&mut self, function: usize, at: usize, types: Vec<Option<Type>>) {
        let known = self.loops.get(&(function, at));
        if known != Some(&types) {
            self.loops.insert((function, at), types);
            self.changed = true;
        }
    }
}

/// Whether a type is of a size that types of programs have. Parts are shared in memory, so that few instructions may
/// make a type of very many.
pub(super) fn is_small(ty: &Type) -> bool {
    let mut left = MAX_PARTS;
    let mut open = vec![(ty, 0)];
    while let Some((ty, depth)) = open.pop() {
        left = match left.checked_sub(1) {
            Some(left) if depth <= MAX_DEPTH => left,
            _ => return false,
        };
        open.extend(ty.contained().into_iter().map(|part| (part, depth + 1)));
        if open.len() > MAX_PARTS {
            return false;
        }
    }
    true
}
