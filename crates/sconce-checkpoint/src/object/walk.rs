//! Dotted names: every path from the root to a tensor.

use std::fmt::Write;

use sconce_tensor::Tensor;

use super::module::Table;
use super::name_budget::NameBudget;
use super::{Array, Graph, Module, Node, Object, ObjectId, repr};

/// Objects nested deeper than this are not named; no real checkpoint comes near it.
pub(crate) const MAX_DEPTH: usize = 1000;
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
    /// Elements that may still be looked at inside containers that were already walked.
    repeats: usize,
    /// Elements that may be looked at inside others: as many as the graph's containers have. Only
    /// objects that share their states or arguments can come to more.
    firsts: usize,
    names: NameBudget,
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
    Entries(std::iter::Enumerate<std::slice::Iter<'c, (ObjectId, ObjectId)>>),
    Named(std::vec::IntoIter<(String, ObjectId)>),
}

impl Children<'_> {
    fn len(&self) -> usize {
        match self {
            Children::Items(items) => items.len(),
            Children::Entries(entries) => entries.len(),
            Children::Named(named) => named.len(),
        }
    }
}

impl<'c> Walk<'c> {
    pub(crate) fn new(graph: &'c Graph) -> Self {
        let flags = vec![false; graph.len()];
        Walk {
            graph,
            name: String::new(),
            open: flags.clone(),
            seen: flags,
            repeats: REPEAT_BUDGET,
            firsts: graph.edges(),
            names: NameBudget::new(graph),
            cut: false,
        }
    }

    /// Calls `leaf` for every path to an object that is no container, in depth-first order.
    pub(crate) fn run(&mut self, root: ObjectId, mut leaf: impl FnMut(&str, Object<'c>)) {
        let mut frames: Vec<Frame<'c>> = Vec::new();
        self.enter(root, &mut frames, &mut leaf);
        while let Some(frame) = frames.last_mut() {
            self.name.truncate(frame.prefix);
            let prefix = frame.prefix;
            let child = match &mut frame.children {
                Children::Items(items) => items.next().map(|(at, &id)| {
                    join(&mut self.name, prefix, format_args!("{at}"));
                    id
                }),
                Children::Entries(entries) => entries.next().map(|(at, &(key, value))| {
                    push_key(&mut self.name, prefix, Object::new(self.graph, key), at);
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
            if self.name.len() > MAX_NAME || !self.names.take(self.name.len()) {
                self.cut = true;
                continue;
            }
            self.enter(child, &mut frames, &mut leaf);
        }
    }

    fn enter(
        &mut self,
        id: ObjectId,
        frames: &mut Vec<Frame<'c>>,
        leaf: &mut impl FnMut(&str, Object<'c>),
    ) {
        let object = Object::new(self.graph, id);
        if !has_children(object) {
            leaf(&self.name, object);
            return;
        }
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
        let budget = if repeat { &mut self.repeats } else { &mut self.firsts };
        if *budget == 0 {
            self.cut = true;
            return;
        }
        let children = children(object);
        let Some(left) = budget.checked_sub(children.len()) else {
            *budget = 0;
            self.cut = true;
            return;
        };
        *budget = left;
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

fn has_children(object: Object<'_>) -> bool {
    match object.data() {
        Node::List(_) | Node::Tuple(_) | Node::Set(_) | Node::FrozenSet(_) => true,
        Node::Dict(_) => true,
        // A date or a path is one value, whatever it is made of.
        Node::Instance(_) => super::python::text(object).is_none(),
        Node::Tensor(found) => found.state.is_some(),
        _ => false,
    }
}

fn children(object: Object<'_>) -> Children<'_> {
    let named = |children: Vec<(String, ObjectId)>| Children::Named(children.into_iter());
    match object.data() {
        Node::List(items) | Node::Tuple(items) | Node::Set(items) | Node::FrozenSet(items) => {
            Children::Items(items.iter().enumerate())
        }
        Node::Dict(dict) if dict.state.is_none() => {
            Children::Entries(dict.entries().iter().enumerate())
        }
        Node::Dict(dict) => {
            named(named_entries(object, dict.entries()).chain(attributes(object)).collect())
        }
        Node::Instance(_) => named(instance_children(object)),
        _ => named(attributes(object).collect()),
    }
}

/// Appends a dict key to a name. `at` is the key's place in the dict.
pub(crate) fn push_key(name: &mut String, prefix: usize, key: Object<'_>, at: usize) {
    match key.data() {
        Node::Str(text) => join(name, prefix, format_args!("{text}")),
        Node::SurrogateStr(bytes) => {
            join(name, prefix, format_args!("{}", without_surrogates(bytes)));
        }
        Node::Int(number) => join(name, prefix, format_args!("{number}")),
        // Optimizers key their state by parameter: its text would not tell one from another.
        Node::Tensor(_) => join(name, prefix, format_args!("<tensor {at}>")),
        _ => join(name, prefix, format_args!("{}", repr::repr(key, 200))),
    }
}

fn named_entries<'c>(
    object: Object<'c>,
    entries: &'c [(ObjectId, ObjectId)],
) -> impl Iterator<Item = (String, ObjectId)> + 'c {
    entries.iter().enumerate().map(move |(at, &(key, value))| {
        let mut name = String::new();
        push_key(&mut name, 0, object.other(key), at);
        (name, value)
    })
}

/// Text whose lone surrogates (three bytes each) show as U+FFFD.
fn without_surrogates(bytes: &[u8]) -> String {
    let mut out = String::new();
    let mut rest = bytes;
    loop {
        match std::str::from_utf8(rest) {
            Ok(text) => return out + text,
            Err(error) => {
                let (good, bad) = rest.split_at(error.valid_up_to());
                out.push_str(&String::from_utf8_lossy(good));
                out.push(char::REPLACEMENT_CHARACTER);
                rest = &bad[bad.len().min(3)..];
            }
        }
    }
}

fn attributes<'c>(object: Object<'c>) -> impl Iterator<Item = (String, ObjectId)> + 'c {
    object.attributes().into_iter().enumerate().map(|(at, (key, value))| {
        let mut name = String::new();
        push_key(&mut name, 0, key, at);
        (name, value.id())
    })
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
    out.extend(named_entries(object, &instance.entries));
    out.extend(attributes(object));
    // A state that is neither a dict nor a pair of dicts is still part of the object.
    let no_attributes = object.attributes().is_empty();
    for &state in instance.states.iter().filter(|_| no_attributes) {
        let is_plain = matches!(
            object.other(state).data(),
            Node::List(_) | Node::Tuple(_) | Node::Tensor(_) | Node::Array(_) | Node::Instance(_)
        );
        if is_plain {
            out.push(("__state__".to_owned(), state));
        }
    }
    if let Some(kwargs) = instance.kwargs
        && let Node::Dict(dict) = object.other(kwargs).data()
    {
        out.extend(named_entries(object, dict.entries()));
    }
    out
}
