//! Pickles of joblib: the numbers of an array stand in the file behind the object that describes it, and joblib's
//! unpickler reads them itself, between two opcodes.

use sconce_pickle::{AllowAll, Arena, Machine, Node, Value};

use crate::pickle::{Ran, limits};

const BUILD: u8 = b'b';
const WRAPPER: (&str, &str) = ("joblib.numpy_pickle", "NumpyArrayWrapper");
/// Fields within fields of a dtype that are followed.
const MOST_LEVELS: usize = 8;

/// A pickle that was read as joblib reads it.
pub(crate) struct Followed<'b> {
    pub(crate) ran: Ran<'b>,
    /// The pickles that arrays of objects are, with their places.
    pub(crate) nested: Vec<(u64, Vec<u8>)>,
}

/// Whether a pickle names the class that describes arrays.
pub(crate) fn has_arrays(arena: &Arena<'_>) -> bool {
    arena.values().any(|value| arena.global(value) == Some(WRAPPER))
}

/// Reads a pickle as `joblib.load` does. `None` where it has no arrays, or breaks off all the same.
pub(crate) fn follow(bytes: &[u8]) -> Option<Followed<'_>> {
    let mut machine = Machine::new(bytes, &limits());
    let (mut arrays, mut nested) = (0usize, Vec::new());
    loop {
        let opcode = bytes.get(machine.position()).copied();
        if machine.step(&mut AllowAll).ok()?.is_some() {
            break;
        }
        if opcode != Some(BUILD) {
            continue;
        }
        let (arena, top) = (machine.arena(), *machine.stack().last()?);
        let Some(array) = Array::of(arena, top) else { continue };
        let at = machine.position();
        let rest = bytes.get(at..)?;
        let len = match array.objects {
            true => {
                let inner = Ran::new(rest);
                let len = inner.error.is_none().then(|| inner.machine.position())?;
                nested.push((at as u64, rest.get(..len)?.to_vec()));
                len
            }
            false => array.padding(rest)?.checked_add(array.bytes)?,
        };
        machine.skip(len).ok()?;
        arrays += 1;
    }
    (arrays > 0).then_some(Followed { ran: Ran { machine, error: None }, nested })
}

/// What an array's description says of the bytes behind it.
struct Array {
    /// Whether these are a pickle.
    objects: bool,
    bytes: usize,
    /// Whether a byte says how many more stand before the numbers, for their alignment.
    aligned: bool,
}

impl Array {
    fn of(arena: &Arena<'_>, value: Value) -> Option<Array> {
        let Node::Call(call) = arena.node(value) else { return None };
        if arena.global(call.callable)? != WRAPPER {
            return None;
        }
        let Node::Dict(state) = arena.node(*call.updates().states.last()?) else { return None };
        let get = |name: &str| {
            let entry = state.iter().rev().find(|(key, _)| arena.str(*key) == Some(name))?;
            Some(entry.1)
        };
        let dtype = get("dtype")?;
        let mut bytes = item_size(arena, dtype)?;
        for &size in arena.tuple(get("shape")?)? {
            bytes = bytes.checked_mul(usize::try_from(arena.int(size)?).ok()?)?;
        }
        let alignment = get("numpy_array_alignment_bytes").map(|value| arena.node(value));
        let aligned = alignment.is_some_and(|node| !matches!(node, Node::None));
        Some(Array { objects: has_objects(arena, dtype, 0)?, bytes, aligned })
    }

    /// How many bytes stand before the numbers.
    fn padding(&self, rest: &[u8]) -> Option<usize> {
        match self.aligned {
            true => Some(1 + usize::from(*rest.first()?)),
            false => Some(0),
        }
    }
}

/// The text that a dtype is made of: `f8`.
fn code<'a>(arena: &'a Arena<'_>, dtype: Value) -> Option<&'a str> {
    let Node::Call(call) = arena.node(dtype) else { return None };
    if arena.global(call.callable)? != ("numpy", "dtype") {
        return None;
    }
    arena.str(*arena.tuple(call.args)?.first()?)
}

fn item_size(arena: &Arena<'_>, dtype: Value) -> Option<usize> {
    let code = code(arena, dtype)?.trim_start_matches(['<', '>', '|', '=']);
    let (kind, digits) = code.split_at_checked(1)?;
    let size: usize = digits.parse().ok()?;
    match kind {
        "U" => size.checked_mul(4),
        "b" | "i" | "u" | "f" | "c" | "S" | "V" | "m" | "M" | "O" => Some(size),
        _ => None,
    }
}

/// Whether elements, or fields of them, are objects.
fn has_objects(arena: &Arena<'_>, dtype: Value, level: usize) -> Option<bool> {
    let code = code(arena, dtype)?.trim_start_matches(['<', '>', '|', '=']);
    if !code.starts_with('V') {
        return Some(code.starts_with('O'));
    }
    let Node::Call(call) = arena.node(dtype) else { return None };
    // Version, byte order, the dtype of a subarray and its shape, names, fields, and sizes.
    let state = arena.tuple(*call.updates().states.last()?)?;
    let mut inner = Vec::new();
    if let Some(subarray) = state.get(2).and_then(|&value| arena.tuple(value)) {
        inner.extend(subarray.first().copied());
    }
    if let Some(Node::Dict(fields)) = state.get(4).map(|&value| arena.node(value)) {
        for (_, field) in fields {
            inner.push(*arena.tuple(*field)?.first()?);
        }
    }
    if level >= MOST_LEVELS {
        return None;
    }
    let mut found = false;
    for dtype in inner {
        found |= has_objects(arena, dtype, level + 1)?;
    }
    Some(found)
}
