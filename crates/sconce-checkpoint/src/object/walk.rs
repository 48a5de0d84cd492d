//! Dotted names: every path from the root to a tensor.

use std::fmt::Write;

use sconce_tensor::Tensor;

use super::module::Table;
use super::{Array, Graph, Module, Node, Object, ObjectId, repr};

/// Objects nested deeper than this are not named; no real checkpoint comes near it.
const MAX_DEPTH: usize = 1000;
/// Names longer than this are not made.
const MAX_NAME: usize = 1 << 16;
/// How many elements are looked at inside containers that were already walked under another name.
/// Sharing that doubles at every level would otherwise take forever.
const REPEAT_BUDGET: usize = 100_000;

/// A tensor with one of its dotted names.
#[derive(Debug, Clone)]
pub struct NamedTensor<'c> {
    /// The path from the root, joined with dots; the root itself is "".
    pub name: String,
    /// The tensor.
    pub tensor: &'c Tensor,
    /// The object that holds it: its class, attributes and identity.
    pub object: Object<'c>,
}

/// A numpy array (or scalar) with one of its dotted names.
#[derive(Debug, Clone)]
pub struct NamedArray<'c> {
    /// The path from the root, joined with dots.
    pub name: String,
    /// The array.
    pub array: &'c Array,
    /// The object that holds it.
    pub object: Object<'c>,
}

/// Walks a graph depth first and calls back with each leaf's name.
pub(crate) struct Walk<'c> {
    graph: &'c Graph,
    name: String,
    open: Vec<bool>,
    seen: Vec<bool>,
    budget: usize,
    /// Whether something was left unnamed because a limit was reached.
    pub(crate) cut: bool,
}

/// A container being walked.
struct Frame<'c> {
    id: ObjectId,
    /// Length of the name before this container's children are added.
    prefix: usize,
    children: Children<'c>,
    repeat: bool,
}

enum Children<'c> {
    Items(std::iter::Enumerate<std::slice::Iter<'c, ObjectId>>),
    Entries(std::slice::Iter<'c, (ObjectId, ObjectId)>),
    Named(std::vec::IntoIter<(String, ObjectId)>),
}

impl<'c> Walk<'c> {
    pub(crate) fn new(graph: &'c Graph) -> Self {
        let flags = vec![false; graph.len()];
        Walk {
            graph,
            name: String::new(),
            open: flags.clone(),
            seen: flags,
            budget: REPEAT_BUDGET,
            cut: false,
        }
    }

    /// Calls `leaf` for every path to an object that is no container, in depth-first order.
    pub(crate) fn run(&mut self, root: ObjectId, mut leaf: impl FnMut(&str, Object<'c>)) {
        let mut frames: Vec<Frame<'c>> = Vec::new();
        self.enter(root, &mut frames, &mut leaf);
        while let Some(frame) = frames.last_mut() {
            self.name.truncate(frame.prefix);
            let (prefix, repeat) = (frame.prefix, frame.repeat);
            let child = match &mut frame.children {
                Children::Items(items) => items.next().map(|(at, &id)| {
                    join(&mut self.name, prefix, format_args!("{at}"));
                    id
                }),
                Children::Entries(entries) => entries.next().map(|&(key, value)| {
                    self.push_key(prefix, key);
                    value
                }),
                Children::Named(named) => named.next().map(|(name, id)| {
                    join(&mut self.name, prefix, format_args!("{name}"));
                    id
                }),
            };
            let Some(child) = child else {
                self.open[frame.id.index()] = false;
                frames.pop();
                continue;
            };
            if repeat {
                if self.budget == 0 {
                    self.cut = true;
                    continue;
                }
                self.budget -= 1;
            }
            if self.name.len() > MAX_NAME {
                self.cut = true;
                continue;
            }
            self.enter(child, &mut frames, &mut leaf);
        }
    }

    fn push_key(&mut self, prefix: usize, key: ObjectId) {
        match self.graph.node(key) {
            Node::Str(text) => join(&mut self.name, prefix, format_args!("{text}")),
            Node::Int(number) => join(&mut self.name, prefix, format_args!("{number}")),
            _ => {
                let text = repr::repr(Object::new(self.graph, key), 200);
                join(&mut self.name, prefix, format_args!("{text}"));
            }
        }
    }

    fn enter(
        &mut self,
        id: ObjectId,
        frames: &mut Vec<Frame<'c>>,
        leaf: &mut impl FnMut(&str, Object<'c>),
    ) {
        let object = Object::new(self.graph, id);
        let Some(children) = children(object) else {
            leaf(&self.name, object);
            return;
        };
        if self.open[id.index()] {
            return;
        }
        if frames.len() >= MAX_DEPTH {
            self.cut = true;
            return;
        }
        if let Node::Tensor(_) | Node::Array(_) = object.data() {
            leaf(&self.name, object);
        }
        let inherited = frames.last().is_some_and(|frame| frame.repeat);
        let repeat = inherited || std::mem::replace(&mut self.seen[id.index()], true);
        self.open[id.index()] = true;
        frames.push(Frame { id, prefix: self.name.len(), children, repeat });
    }
}

fn join(name: &mut String, prefix: usize, part: std::fmt::Arguments<'_>) {
    if prefix > 0 {
        name.push('.');
    }
    // Writing to a String cannot fail.
    let _ = name.write_fmt(part);
}

fn children(object: Object<'_>) -> Option<Children<'_>> {
    match object.data() {
        Node::List(items) | Node::Tuple(items) | Node::Set(items) | Node::FrozenSet(items) => {
            Some(Children::Items(items.iter().enumerate()))
        }
        Node::Dict(dict) => match dict.state {
            None => Some(Children::Entries(dict.entries().iter())),
            Some(_) => {
                let entries =
                    dict.entries().iter().map(|&(key, value)| (key_text(object, key), value));
                Some(Children::Named(
                    entries.chain(attributes(object)).collect::<Vec<_>>().into_iter(),
                ))
            }
        },
        Node::Instance(_) => Some(Children::Named(instance_children(object).into_iter())),
        Node::Tensor(found) if found.state.is_some() => {
            Some(Children::Named(attributes(object).collect::<Vec<_>>().into_iter()))
        }
        _ => None,
    }
}

fn key_text(object: Object<'_>, key: ObjectId) -> String {
    match object.other(key).data() {
        Node::Str(text) => text.to_string(),
        Node::Int(number) => number.to_string(),
        _ => repr::repr(object.other(key), 200),
    }
}

fn attributes<'c>(object: Object<'c>) -> impl Iterator<Item = (String, ObjectId)> + 'c {
    let pairs = object.attributes().into_iter();
    pairs.map(move |(key, value)| (key_text(object, key.id()), value.id()))
}

fn instance_children(object: Object<'_>) -> Vec<(String, ObjectId)> {
    let Node::Instance(instance) = object.data() else { return Vec::new() };
    let mut out: Vec<(String, ObjectId)> = Vec::new();
    let tables = Table::ALL.map(Table::attribute);
    if let Some(module) = Module::of(object) {
        for table in Table::ALL {
            out.extend(module.table(table).map(|(name, value)| (name.to_owned(), value.id())));
        }
        let rest = attributes(object).filter(|(name, _)| !tables.contains(&name.as_str()));
        out.extend(rest);
        return out;
    }
    out.extend(object.iter().enumerate().map(|(at, item)| (at.to_string(), item.id())));
    out.extend(instance.entries.iter().map(|&(key, value)| (key_text(object, key), value)));
    out.extend(attributes(object));
    // A state that is neither a dict nor a pair of dicts is still part of the object.
    for &state in &instance.states {
        let is_plain = matches!(
            object.other(state).data(),
            Node::List(_) | Node::Tuple(_) | Node::Tensor(_) | Node::Array(_) | Node::Instance(_)
        );
        if is_plain && object.attributes().is_empty() {
            out.push(("__state__".to_owned(), state));
        }
    }
    if let Some(kwargs) = instance.kwargs {
        let entries = object.other(kwargs).entries();
        out.extend(entries.map(|(key, value)| (key_text(object, key.id()), value.id())));
    }
    out
}
