//! A pickle as Python that builds the same objects, for people to read.
//!
//! What is called, and what a persistent id stands for, gets a variable, in the order in which the pickle makes it;
//! so does a container that is used twice. All else stands where it is used. Nothing is left out: calls whose results
//! are dropped are there as well.

use std::fmt::{self, Write};

use crate::arena::{Arena, CallKind, Node, Updates, Value};
use crate::repr;

/// Containers within containers that stand in one expression; what is deeper gets a variable.
const MAX_DEPTH: u32 = 4;
/// Elements of a container in one expression that are not put on lines of their own.
const MAX_INLINE: usize = 8;

/// Writes Python that builds the value `root`, and makes every call that the pickle asks for on the way.
///
/// The text is for reading: it calls `persistent_load(pid)`, `extension(code)` and `buffer(index)` for what only the
/// process that loads the pickle can know. It is as long as the pickle, within a small factor.
///
/// ```
/// use sconce_pickle::{Limits, decompile, load};
///
/// let pickle = b"\x80\x02cos\nsystem\nX\x02\0\0\0ls\x85R}X\x01\0\0\0aK\x01s\x86.";
/// let loaded = load(pickle, &Limits::default())?;
/// let mut text = String::new();
/// decompile(&loaded.arena, loaded.root, &mut text)?;
/// assert_eq!(text, "import os\n\nv0 = os.system('ls')\nresult = (v0, {'a': 1})\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When `out` cannot be written to.
pub fn decompile(arena: &Arena<'_>, root: Value, out: &mut dyn Write) -> fmt::Result {
    let mut writer = Writer::new(arena, root, out);
    writer.imports()?;
    // Every call, in the order of the pickle, with what it needs first.
    for value in arena.values() {
        if matches!(arena.node(value), Node::Call(_)) {
            writer.define(value)?;
        }
    }
    writer.define(root)?;
    let mut text = String::from("result = ");
    writer.expression(root, 0, &mut text);
    writeln!(writer.out, "{text}")
}

/// How far a value is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// Not at all.
    Nothing,
    /// It waits for its parts.
    Begun,
    /// Its variable is there, without what is added to it later.
    Made,
}

/// What is to be done with a value.
#[derive(Clone, Copy)]
enum Stage {
    /// See what it needs.
    Look,
    /// Make it.
    Make,
    /// Add what is added to it after it was made.
    Add,
}

struct Writer<'w, 'a> {
    arena: &'w Arena<'a>,
    out: &'w mut dyn Write,
    /// How often each value is used, up to two.
    uses: Vec<u8>,
    progress: Vec<Progress>,
    /// The number of each variable.
    names: Vec<Option<u32>>,
    next_name: u32,
    /// Containers that hold themselves and are still empty.
    unfilled: Vec<Value>,
}

impl<'w, 'a> Writer<'w, 'a> {
    fn new(arena: &'w Arena<'a>, root: Value, out: &'w mut dyn Write) -> Self {
        let count = arena.len();
        let mut uses = vec![0u8; count];
        uses[root.index()] = 1;
        for value in arena.values() {
            each_part(arena, value, |part| {
                uses[part.index()] = uses[part.index()].saturating_add(1).min(2);
            });
        }
        name_what_is_deep(arena, &mut uses);
        Writer {
            arena,
            out,
            uses,
            progress: vec![Progress::Nothing; count],
            names: vec![None; count],
            next_name: 0,
            unfilled: Vec::new(),
        }
    }

    /// `import` for every module that is named.
    fn imports(&mut self) -> fmt::Result {
        let mut modules: Vec<&str> = self
            .arena
            .values()
            .filter_map(|value| self.arena.global(value))
            .map(|(module, _)| module)
            .filter(|module| repr::is_dotted_name(module))
            .collect();
        modules.sort_unstable();
        modules.dedup();
        for module in &modules {
            writeln!(self.out, "import {module}")?;
        }
        if modules.is_empty() { Ok(()) } else { writeln!(self.out) }
    }

    /// Whether a value gets a variable.
    fn is_named(&self, value: Value) -> bool {
        match self.arena.node(value) {
            Node::Call(_) | Node::PersistentId(_) | Node::Buffer { .. } => true,
            Node::Tuple(items) => !items.is_empty() && self.uses[value.index()] > 1,
            Node::FrozenSet(_) => self.uses[value.index()] > 1,
            Node::List(_) | Node::Dict(_) | Node::Set(_) | Node::ByteArray(_) => {
                self.uses[value.index()] > 1 || !self.updates(value).is_empty()
            }
            _ => !self.updates(value).is_empty(),
        }
    }

    fn updates(&self, value: Value) -> &'w Updates {
        static NONE: Updates =
            Updates { states: Vec::new(), items: Vec::new(), entries: Vec::new() };
        self.arena.updates(value).unwrap_or(&NONE)
    }

    /// Writes the variables that a value needs, and its own. Nothing recurses.
    fn define(&mut self, value: Value) -> fmt::Result {
        let mut pending = vec![(value, Stage::Look)];
        while let Some((value, stage)) = pending.pop() {
            match stage {
                Stage::Look if self.progress[value.index()] != Progress::Nothing => {}
                Stage::Look => {
                    self.progress[value.index()] = Progress::Begun;
                    // Last in, first out: what it is made of, itself, what is added later, the adding.
                    pending.push((value, Stage::Add));
                    let first = pending.len();
                    each_later_part(self.arena, value, |part| pending.push((part, Stage::Look)));
                    pending[first..].reverse();
                    pending.push((value, Stage::Make));
                    let first = pending.len();
                    each_own_part(self.arena, value, |part| pending.push((part, Stage::Look)));
                    pending[first..].reverse();
                }
                Stage::Make => self.statement(value)?,
                Stage::Add if self.is_named(value) => {
                    let name = self.name(value);
                    self.later(value, &name)?;
                }
                Stage::Add => {}
            }
        }
        // By now every variable is there.
        for value in std::mem::take(&mut self.unfilled) {
            let name = self.name(value);
            self.contents(value, &name)?;
        }
        Ok(())
    }

    /// The name of a variable, made when it is first needed.
    fn name(&mut self, value: Value) -> String {
        let next = &mut self.next_name;
        let number = *self.names[value.index()].get_or_insert_with(|| {
            *next += 1;
            *next - 1
        });
        format!("v{number}")
    }

    /// The statements that make a variable and add to it.
    fn statement(&mut self, value: Value) -> fmt::Result {
        if self.progress[value.index()] == Progress::Made || !self.is_named(value) {
            self.progress[value.index()] = Progress::Made;
            return Ok(());
        }
        // A container that holds itself is there empty before what is in it.
        let holds_itself = self.holds_what_waits(value);
        let name = self.name(value);
        let mut text = format!("{name} = ");
        match (self.arena.node(value), holds_itself) {
            (Node::List(_), true) => text.push_str("[]"),
            (Node::Dict(_), true) => text.push_str("{}"),
            (Node::Set(_), true) => text.push_str("set()"),
            _ => self.own_expression(value, 0, &mut text),
        }
        self.progress[value.index()] = Progress::Made;
        if holds_itself {
            self.unfilled.push(value);
        }
        writeln!(self.out, "{text}")
    }

    /// Whether a part of a container is still being made.
    fn holds_what_waits(&self, value: Value) -> bool {
        let mut waits = false;
        each_own_part(self.arena, value, |part| {
            waits |= self.is_named(part) && self.progress[part.index()] != Progress::Made;
        });
        waits
    }

    /// What a container holds, added to it piece by piece.
    fn contents(&mut self, value: Value, name: &str) -> fmt::Result {
        match self.arena.node(value) {
            Node::List(items) => self.each(items, |item| format!("{name}.append({item})")),
            Node::Set(items) => self.each(items, |item| format!("{name}.add({item})")),
            Node::Dict(entries) => self.entries(entries, name),
            _ => Ok(()),
        }
    }

    fn each(&mut self, items: &[Value], line: impl Fn(&str) -> String) -> fmt::Result {
        for &item in items {
            let mut text = String::new();
            self.expression(item, 0, &mut text);
            writeln!(self.out, "{}", line(&text))?;
        }
        Ok(())
    }

    fn entries(&mut self, entries: &[(Value, Value)], name: &str) -> fmt::Result {
        for &(key, value) in entries {
            let (mut left, mut right) = (String::new(), String::new());
            self.expression(key, 0, &mut left);
            self.expression(value, 0, &mut right);
            writeln!(self.out, "{name}[{left}] = {right}")?;
        }
        Ok(())
    }

    /// What is done to an object after it was made.
    fn later(&mut self, value: Value, name: &str) -> fmt::Result {
        let updates = self.updates(value);
        self.each(&updates.items, |item| format!("{name}.append({item})"))?;
        self.entries(&updates.entries, name)?;
        self.each(&updates.states, |state| format!("{name}.__setstate__({state})"))
    }

    /// The expression of a value where it is used: its variable if it has one.
    fn expression(&mut self, value: Value, depth: u32, text: &mut String) {
        if self.is_named(value) || depth > MAX_DEPTH + 1 {
            let name = self.name(value);
            text.push_str(&name);
        } else {
            self.own_expression(value, depth, text);
        }
    }

    fn own_expression(&mut self, value: Value, depth: u32, text: &mut String) {
        match self.arena.node(value) {
            Node::None => text.push_str("None"),
            Node::Bool(true) => text.push_str("True"),
            Node::Bool(false) => text.push_str("False"),
            Node::Int(number) => text.push_str(&number.to_string()),
            Node::BigInt(number) => {
                if !repr::write_bigint(text, number) {
                    text.push_str(&format!("int.from_bytes(…)  # {} bits", number.bits()));
                }
            }
            Node::Float(number) if number.is_finite() => repr::write_float(text, *number),
            Node::Float(number) => {
                text.push_str("float('");
                repr::write_float(text, *number);
                text.push_str("')");
            }
            Node::Str(string) => repr::write_str(text, string),
            Node::SurrogateStr(bytes) => repr::write_wtf8(text, bytes),
            Node::ByteStr(bytes) | Node::Bytes(bytes) => repr::write_bytes(text, bytes),
            Node::ByteArray(bytes) => repr::write_bytearray(text, bytes),
            Node::Tuple(items) => {
                let items = self.arena.items(*items);
                let close = if items.len() == 1 { ",)" } else { ")" };
                self.sequence("(", items, close, depth, text);
            }
            Node::List(items) => self.sequence("[", items, "]", depth, text),
            Node::Set(items) if items.is_empty() => text.push_str("set()"),
            Node::Set(items) => self.sequence("{", items, "}", depth, text),
            Node::FrozenSet(items) => {
                let items = self.arena.items(*items);
                self.sequence("frozenset({", items, "})", depth, text);
            }
            Node::Dict(entries) => self.dict(entries, depth, text),
            Node::Global(global) => global_text(&global.module, &global.name, text),
            Node::Extension(code) => text.push_str(&format!("extension({code})")),
            Node::PersistentId(pid) => {
                text.push_str("persistent_load(");
                self.expression(*pid, depth + 1, text);
                text.push(')');
            }
            Node::Buffer { index, readonly } => {
                let kind = if *readonly { "readonly_buffer" } else { "buffer" };
                text.push_str(&format!("{kind}({index})"));
            }
            Node::Call(call) => {
                self.expression(call.callable, depth + 1, text);
                let new = matches!(call.kind, CallKind::NewObj | CallKind::NewObjEx);
                text.push_str(if new { ".__new__(" } else { "(" });
                let mut comma = "";
                if new {
                    self.expression(call.callable, depth + 1, text);
                    comma = ", ";
                }
                match self.arena.tuple(call.args) {
                    Some(args) => {
                        for &arg in args {
                            text.push_str(comma);
                            self.expression(arg, depth + 1, text);
                            comma = ", ";
                        }
                    }
                    None => {
                        text.push_str(comma);
                        text.push('*');
                        self.expression(call.args, depth + 1, text);
                        comma = ", ";
                    }
                }
                if let Some(kwargs) = call.kwargs {
                    text.push_str(comma);
                    text.push_str("**");
                    self.expression(kwargs, depth + 1, text);
                }
                text.push(')');
            }
        }
    }

    fn sequence(
        &mut self,
        open: &str,
        items: &[Value],
        close: &str,
        depth: u32,
        text: &mut String,
    ) {
        text.push_str(open);
        let (before, between, after) = spacing(items.len(), depth);
        for (at, &item) in items.iter().enumerate() {
            text.push_str(if at == 0 { &before } else { &between });
            self.expression(item, depth + 1, text);
        }
        text.push_str(&after);
        text.push_str(close);
    }

    fn dict(&mut self, entries: &[(Value, Value)], depth: u32, text: &mut String) {
        text.push('{');
        let (before, between, after) = spacing(entries.len(), depth);
        for (at, &(key, value)) in entries.iter().enumerate() {
            text.push_str(if at == 0 { &before } else { &between });
            self.expression(key, depth + 1, text);
            text.push_str(": ");
            self.expression(value, depth + 1, text);
        }
        text.push_str(&after);
        text.push('}');
    }
}

/// Counts values as used twice, so that they get variables, where expressions would be too deep or hold themselves.
fn name_what_is_deep(arena: &Arena<'_>, uses: &mut [u8]) {
    /// How deep the expression of a value is.
    #[derive(Clone, Copy)]
    enum Depth {
        Unknown,
        Pending,
        Known(u32),
    }
    let mut depths = vec![Depth::Unknown; arena.len()];
    let mut pending = Vec::new();
    for value in arena.values() {
        pending.push((value, false));
        while let Some((value, parts_are_known)) = pending.pop() {
            if !parts_are_known {
                if !matches!(depths[value.index()], Depth::Unknown) {
                    continue;
                }
                depths[value.index()] = Depth::Pending;
                pending.push((value, true));
                each_own_part(arena, value, |part| match depths[part.index()] {
                    Depth::Unknown => pending.push((part, false)),
                    Depth::Pending => uses[part.index()] = 2,
                    Depth::Known(_) => {}
                });
                continue;
            }
            let mut deepest = None;
            each_own_part(arena, value, |part| {
                let depth = match depths[part.index()] {
                    Depth::Known(depth) if uses[part.index()] < 2 => depth,
                    _ => 0,
                };
                deepest = deepest.max(Some(depth));
            });
            let depth = deepest.map_or(0, |depth| depth + 1);
            let variable = matches!(
                arena.node(value),
                Node::Call(_) | Node::PersistentId(_) | Node::Buffer { .. }
            );
            if depth > MAX_DEPTH {
                uses[value.index()] = 2;
            }
            let starts_anew = variable || depth > MAX_DEPTH;
            depths[value.index()] = Depth::Known(if starts_anew { 0 } else { depth });
        }
    }
}

/// What stands before, between and after the elements of a container: long ones have a line for each.
fn spacing(count: usize, depth: u32) -> (String, String, String) {
    if count <= MAX_INLINE {
        return (String::new(), ", ".to_owned(), String::new());
    }
    let indent = "    ".repeat(depth as usize + 1);
    let outer = "    ".repeat(depth as usize);
    (format!("\n{indent}"), format!(",\n{indent}"), format!(",\n{outer}"))
}

/// A class or function as an expression; `getattr` for what is not a name of Python's.
fn global_text(module: &str, name: &str, text: &mut String) {
    if repr::is_dotted_name(module) && repr::is_dotted_name(name) {
        text.push_str(module);
        text.push('.');
        text.push_str(name);
        return;
    }
    text.push_str("find_class(");
    repr::write_str(text, module);
    text.push_str(", ");
    repr::write_str(text, name);
    text.push(')');
}

/// The values that a value has to do with.
fn each_part(arena: &Arena<'_>, value: Value, mut take: impl FnMut(Value)) {
    each_own_part(arena, value, &mut take);
    each_later_part(arena, value, take);
}

/// The values that a value is made of, in order.
fn each_own_part(arena: &Arena<'_>, value: Value, mut take: impl FnMut(Value)) {
    match arena.node(value) {
        Node::Tuple(items) | Node::FrozenSet(items) => {
            arena.items(*items).iter().copied().for_each(&mut take);
        }
        Node::List(items) | Node::Set(items) => items.iter().copied().for_each(&mut take),
        Node::Dict(entries) => entries.iter().for_each(|&(key, value)| {
            take(key);
            take(value);
        }),
        Node::PersistentId(pid) => take(*pid),
        Node::Call(call) => {
            take(call.callable);
            // The tuple of arguments is part of the call.
            match arena.tuple(call.args) {
                Some(args) => args.iter().copied().for_each(&mut take),
                None => take(call.args),
            }
            call.kwargs.into_iter().for_each(&mut take);
        }
        _ => {}
    }
}

/// The values that are added to a value after it was made.
fn each_later_part(arena: &Arena<'_>, value: Value, mut take: impl FnMut(Value)) {
    if let Some(updates) = arena.updates(value) {
        updates.items.iter().copied().for_each(&mut take);
        for &(key, value) in &updates.entries {
            take(key);
            take(value);
        }
        updates.states.iter().copied().for_each(&mut take);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, load};

    fn text(pickle: &[u8]) -> String {
        let loaded = load(pickle, &Limits::default()).unwrap();
        let mut out = String::new();
        decompile(&loaded.arena, loaded.root, &mut out).unwrap();
        out
    }

    #[test]
    fn values_stand_where_they_are_used() {
        assert_eq!(text(b"\x80\x02]q\0(K\x01X\x01\0\0\0ae."), "result = [1, 'a']\n");
    }

    #[test]
    fn what_is_shared_is_one_variable() {
        // l = [1]; (l, l)
        assert_eq!(text(b"\x80\x02]q\0K\x01ah\0\x86."), "v0 = [1]\nresult = (v0, v0)\n");
    }

    #[test]
    fn what_holds_itself_is_filled_later() {
        assert_eq!(text(b"\x80\x02]q\0h\0a."), "v0 = []\nv0.append(v0)\nresult = v0\n");
    }

    #[test]
    fn calls_whose_results_are_dropped_are_there() {
        let dropped = text(b"\x80\x02cos\nsystem\nX\x02\0\0\0ls\x85R0K\x01.");
        assert_eq!(dropped, "import os\n\nv0 = os.system('ls')\nresult = 1\n");
    }

    #[test]
    fn names_that_are_no_python_are_quoted() {
        let odd = text(b"\x80\x02cm\na b\n)R.");
        assert!(odd.contains("find_class('m', 'a b')()"), "{odd}");
    }

    #[test]
    fn depth_takes_no_stack() {
        let mut pickle = b"\x80\x02".to_vec();
        pickle.extend(std::iter::repeat_n(b']', 100_000));
        pickle.extend(std::iter::repeat_n(b'a', 99_999));
        pickle.push(b'.');
        let deep = text(&pickle);
        assert!(deep.ends_with("]\n") || deep.lines().count() > 1000);
    }
}
