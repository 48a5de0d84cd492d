//! A value as one short Python-like expression, for people.
//!
//! The cost is bounded by the length asked for, however shared, deep or cyclic the value is.

use crate::arena::{Arena, CallKind, Node, Updates, Value};
use crate::repr;

/// Levels of containers within containers that are shown.
const MAX_DEPTH: usize = 3;

/// Most elements of one container that are shown.
const MAX_ITEMS: usize = 8;

/// Most characters of one string, or bytes of one bytes object, that are shown.
const MAX_TEXT: usize = 48;

/// Integers of more bits than this are described, not shown.
const MAX_BITS: u64 = 256;

/// The value as an expression of about `max_len` characters at most: what is left out is `…`.
///
/// Control characters come out escaped, so the text is safe for a terminal.
///
/// ```
/// use sconce_pickle::{Limits, load, render};
///
/// let loaded = load(b"cm\nf\n(X\x01\0\0\0aK\x01]tR\x85.", &Limits::default())?;
/// assert_eq!(render(&loaded.arena, loaded.root, 80), "(m.f(…),)");
/// # Ok::<(), sconce_pickle::Error>(())
/// ```
pub fn render(arena: &Arena<'_>, value: Value, max_len: usize) -> String {
    let mut renderer = Renderer { arena, out: String::new(), max_len };
    renderer.value(value, 0);
    renderer.out
}

struct Renderer<'r, 'a> {
    arena: &'r Arena<'a>,
    out: String,
    max_len: usize,
}

impl Renderer<'_, '_> {
    fn full(&self) -> bool {
        self.out.len() >= self.max_len
    }

    fn value(&mut self, value: Value, depth: usize) {
        if self.full() {
            return self.out.push('…');
        }
        match self.arena.node(value) {
            Node::None => self.out.push_str("None"),
            Node::Bool(true) => self.out.push_str("True"),
            Node::Bool(false) => self.out.push_str("False"),
            Node::Int(number) => self.out.push_str(&number.to_string()),
            Node::BigInt(number) => {
                if number.bits() > MAX_BITS || !repr::write_bigint(&mut self.out, number) {
                    self.out.push_str(&format!("<int of {} bits>", number.bits()));
                }
            }
            Node::Float(number) => repr::write_float(&mut self.out, *number),
            Node::Str(text) => self.text(text.as_bytes()),
            Node::SurrogateStr(bytes) => self.text(bytes),
            Node::ByteStr(bytes) | Node::Bytes(bytes) => self.bytes(bytes),
            Node::ByteArray(bytes) => {
                self.out.push_str("bytearray(");
                self.bytes(bytes);
                self.out.push(')');
            }
            Node::Tuple(items) => {
                let items = self.arena.items(*items);
                self.sequence("(", items, if items.len() == 1 { ",)" } else { ")" }, depth);
            }
            Node::List(items) => self.sequence("[", items, "]", depth),
            Node::Set(items) if items.is_empty() => self.out.push_str("set()"),
            Node::Set(items) => self.sequence("{", items, "}", depth),
            Node::FrozenSet(items) => {
                let items = self.arena.items(*items);
                self.sequence("frozenset({", items, "})", depth);
            }
            Node::Dict(entries) => self.dict(entries, depth),
            Node::Global(global) => {
                self.name(&global.module);
                self.out.push('.');
                self.name(&global.name);
            }
            Node::Extension(code) => self.out.push_str(&format!("extension({code})")),
            Node::PersistentId(pid) => {
                self.out.push_str("persistent_load(");
                self.argument(*pid, depth);
                self.out.push(')');
            }
            Node::Buffer { index, readonly } => {
                let kind = if *readonly { "readonly_buffer" } else { "buffer" };
                self.out.push_str(&format!("{kind}({index})"));
            }
            Node::Call(call) => {
                // What is called may itself be a call, and so on: one level is enough.
                match self.arena.node(call.callable) {
                    Node::Call(_) => self.out.push('…'),
                    _ => self.value(call.callable, depth),
                }
                if matches!(call.kind, CallKind::NewObj | CallKind::NewObjEx) {
                    self.out.push_str(".__new__");
                }
                self.out.push('(');
                match self.arena.tuple(call.args) {
                    Some(&[]) => {}
                    Some(&[only]) => self.argument(only, depth),
                    Some(_) => self.out.push('…'),
                    None => {
                        self.out.push('*');
                        self.argument(call.args, depth);
                    }
                }
                self.out.push(')');
            }
        }
        if let Some(updates) = self.arena.updates(value) {
            self.updates(updates);
        }
    }

    /// A lone argument of a call: shown if it is plain.
    fn argument(&mut self, value: Value, depth: usize) {
        match self.arena.node(value) {
            Node::Tuple(_)
            | Node::List(_)
            | Node::Dict(_)
            | Node::Set(_)
            | Node::FrozenSet(_)
            | Node::Call(_)
            | Node::PersistentId(_) => self.out.push('…'),
            _ => self.value(value, depth),
        }
    }

    fn updates(&mut self, updates: &Updates) {
        let counts = [
            (updates.states.len(), "state", "states"),
            (updates.items.len(), "item", "items"),
            (updates.entries.len(), "entry", "entries"),
        ];
        for (count, one, many) in counts {
            match count {
                0 => {}
                1 => self.out.push_str(&format!(" + 1 {one}")),
                _ => self.out.push_str(&format!(" + {count} {many}")),
            }
        }
    }

    fn sequence(&mut self, open: &str, items: &[Value], close: &str, depth: usize) {
        self.out.push_str(open);
        self.elements(items.len(), depth, |renderer, place| {
            renderer.value(items[place], depth + 1);
        });
        self.out.push_str(close);
    }

    fn dict(&mut self, entries: &[(Value, Value)], depth: usize) {
        self.out.push('{');
        self.elements(entries.len(), depth, |renderer, place| {
            let (key, value) = entries[place];
            renderer.value(key, depth + 1);
            renderer.out.push_str(": ");
            renderer.value(value, depth + 1);
        });
        self.out.push('}');
    }

    fn elements(&mut self, count: usize, depth: usize, mut each: impl FnMut(&mut Self, usize)) {
        if count > 0 && depth >= MAX_DEPTH {
            return self.out.push('…');
        }
        for place in 0..count {
            if place > 0 {
                self.out.push_str(", ");
            }
            if place == MAX_ITEMS || self.full() {
                self.out.push_str(&format!("… {} more", count - place));
                return;
            }
            each(self, place);
        }
    }

    fn text(&mut self, bytes: &[u8]) {
        match cut_text(bytes, MAX_TEXT) {
            Some(start) => {
                repr::write_wtf8(&mut self.out, start);
                self.out.push('…');
            }
            None => repr::write_wtf8(&mut self.out, bytes),
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        repr::write_bytes(&mut self.out, &bytes[..bytes.len().min(MAX_TEXT)]);
        if bytes.len() > MAX_TEXT {
            self.out.push('…');
        }
    }

    /// A module's or class's name: bare if it can be shown so.
    fn name(&mut self, name: &str) {
        write_name(&mut self.out, name);
    }
}

/// Appends a name, escaped like a str's `repr` but without the quotes, and cut if it is long.
pub(crate) fn write_name(out: &mut String, name: &str) {
    let start = cut_text(name.as_bytes(), 2 * MAX_TEXT);
    let mut quoted = String::new();
    repr::write_wtf8(&mut quoted, start.unwrap_or(name.as_bytes()));
    out.push_str(&quoted[1..quoted.len() - 1]);
    if start.is_some() {
        out.push('…');
    }
}

/// The first `max` bytes of a text, up to a character's boundary; `None` if it is no longer.
fn cut_text(bytes: &[u8], max: usize) -> Option<&[u8]> {
    if bytes.len() <= max {
        return None;
    }
    let end = (0..=max).rev().find(|&end| bytes[end] & 0xc0 != 0x80).unwrap_or(max);
    Some(&bytes[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, load};

    fn shown(bytes: &[u8], max_len: usize) -> String {
        let loaded = load(bytes, &Limits::default()).expect("valid");
        render(&loaded.arena, loaded.root, max_len)
    }

    #[test]
    fn short_values_are_python() {
        let cases: &[(&[u8], &str)] = &[
            (b"N.", "None"),
            (b"K\x07.", "7"),
            (b"X\x02\0\0\0a\n.", "'a\\n'"),
            (b"K\x01\x85.", "(1,)"),
            (b").", "()"),
            (b"](K\x01C\x01be.", "[1, b'b']"),
            (b"}X\x01\0\0\0aNs.", "{'a': None}"),
            (b"\x8f.", "set()"),
            (b"\x8f(K\x01\x90.", "{1}"),
            (b"(K\x01\x91.", "frozenset({1})"),
            (b"ctorch\nFloatStorage\n.", "torch.FloatStorage"),
            (b"c\x1b[2J\nx\n.", "\\x1b[2J.x"),
            (b"\x82\x05.", "extension(5)"),
            (b"K\x01Q.", "persistent_load(1)"),
            (b"K\x01\x85Q.", "persistent_load(…)"),
            (b"\x97\x98.", "readonly_buffer(0)"),
            (b"ccollections\nOrderedDict\n)R.", "collections.OrderedDict()"),
            (b"ctorch\ndevice\nX\x03\0\0\0cpu\x85R.", "torch.device('cpu')"),
            (b"cm\nC\n)\x81}b.", "m.C.__new__() + 1 state"),
            (b"cm\nC\n)R(K\x01K\x02K\x03K\x04u.", "m.C() + 2 entries"),
            (b"cm\nE\nK\x05R.", "m.E(*5)"),
            (b"cm\nf\n)R)R.", "…()"),
            (b"\x8a\x28aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.", "<int of 319 bits>"),
        ];
        for &(bytes, want) in cases {
            assert_eq!(shown(bytes, 200), want, "{bytes:?}");
        }
    }

    #[test]
    fn long_deep_shared_and_cyclic_values_stay_short() {
        let many = [b"](".as_slice(), &b"K\x01".repeat(1000), b"e."].concat();
        assert_eq!(shown(&many, 200), "[1, 1, 1, 1, 1, 1, 1, 1, … 992 more]");
        assert_eq!(shown(&many, 8), "[1, 1, 1, … 997 more]");
        assert_eq!(shown(b"]q\0h\0a.", 200), "[[[[…]]]]");
        let deep = [b")".as_slice(), &b"\x85".repeat(100_000), b"."].concat();
        assert_eq!(shown(&deep, 200), "((((…,),),),)");
        // Each level holds the one below eight times.
        let mut laughs = b")".to_vec();
        for _ in 0..40 {
            laughs.extend(b"q\0(h\0h\0h\0h\0h\0h\0h\0h\0t");
        }
        laughs.push(b'.');
        assert!(shown(&laughs, 100).len() < 200);
        let text = ["X\u{a0}", ""].concat();
        assert_eq!(cut_text(text.as_bytes(), 2), Some(b"X".as_slice()));
    }
}
