//! Setting values by their dotted names.

use super::entries::{Entry, named};
use super::{Change, ChangeKind, Draft, Value};
use crate::object::{Node, ObjectId};
use crate::{Error, ErrorKind};

/// Characters of a value in a report.
const SHOWN: usize = 60;

impl Draft {
    /// Sets an entry of a dict, an element of a list or tuple, or an attribute of an object:
    /// `checkpoint["config"]["lr"] = 1e-3` is `set("config.lr", …)`. A dict that has no such entry
    /// gets one, at its end. Elements may be written `layers.0` or `layers[0]`. What else holds the
    /// old value keeps it.
    ///
    /// ```
    /// use sconce_checkpoint::{Draft, Value};
    ///
    /// let mut draft = Draft::from(Value::parse("{'config': {'lr': 0.1}}")?);
    /// draft.set("config.lr", 1e-3)?;
    /// draft.set("epoch", 3)?;
    /// assert_eq!(draft.root().repr(80), "{'config': {'lr': 0.001}, 'epoch': 3}");
    /// # Ok::<(), sconce_checkpoint::Error>(())
    /// ```
    ///
    /// # Errors
    /// When nothing has that name and no dict is there to have it. A name with a dot is taken as a key
    /// of the root only where other keys have dots, as in state dicts.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) -> Result<Change, Error> {
        let entries = self.entries()?;
        if let Some(entry) = named(&entries, name) {
            let from = self.root().other(entry.value).repr(SHOWN);
            let value = value.into().push(&mut self.graph);
            self.put_element(entry, value);
            return Ok(self.was_set(entry.name.clone(), Some(from), value));
        }
        let (holder, key) = self.place(&entries, name)?;
        let value = value.into().push(&mut self.graph);
        let key = self.new_key(holder, key);
        if let Node::Dict(dict) = self.graph.node(holder) {
            let mut dict = dict.clone();
            dict.insert(&self.graph, key, value);
            self.graph.set(holder, Node::Dict(dict));
        }
        Ok(self.was_set(name.to_owned(), None, value))
    }

    fn was_set(&self, name: String, from: Option<String>, value: ObjectId) -> Change {
        let to = self.root().other(value).repr(SHOWN);
        Change { name, kind: ChangeKind::Set { from, to } }
    }

    pub(super) fn put_element(&mut self, entry: &Entry, value: ObjectId) {
        let node = match self.graph.node(entry.holder) {
            Node::Dict(dict) => {
                let mut pairs = dict.entries().to_vec();
                pairs[entry.at].1 = value;
                Node::Dict(Box::new(dict.with_entries(&self.graph, &pairs)))
            }
            Node::List(items) => Node::List(replaced(items, entry.at, value)),
            Node::Tuple(items) => Node::Tuple(replaced(items, entry.at, value)),
            _ => return,
        };
        self.graph.set(entry.holder, node);
    }

    /// The dict that a new name would stand in, and what it is called there.
    fn place<'n>(&self, entries: &[Entry], name: &'n str) -> Result<(ObjectId, &'n str), Error> {
        // Keys may hold dots: the longest name that is there is the dict's.
        for (dot, _) in name.rmatch_indices('.') {
            let (above, key) = (&name[..dot], &name[dot + 1..]);
            let Some(entry) = named(entries, above) else { continue };
            return match self.graph.node(entry.value) {
                Node::Dict(_) if !key.is_empty() => Ok((entry.value, key)),
                _ => Err(no_dict(name, above)),
            };
        }
        let Some(dict) = self.root().as_dict().filter(|_| !name.is_empty()) else {
            return Err(no_dict(name, "the root"));
        };
        // In a state dict keys have dots; elsewhere a dot is for what is inside something.
        let has_dots = |&(key, _): &(ObjectId, ObjectId)| match self.graph.node(key) {
            Node::Str(text) => text.contains('.'),
            _ => false,
        };
        match name.split_once('.') {
            Some((above, _)) if !dict.entries().iter().any(has_dots) => {
                let (name, above) = (name.escape_debug(), above.escape_debug());
                let message = format!("'{name}' cannot be set: nothing is called '{above}'");
                Err(Error::new(ErrorKind::Caller, message)
                    .with_help(format!("set {above} to a dict that has it")))
            }
            _ => Ok((self.root, name)),
        }
    }

    /// Among ints, text that is one is an int.
    fn new_key(&mut self, holder: ObjectId, text: &str) -> ObjectId {
        let is_int =
            |&(key, _): &(ObjectId, ObjectId)| matches!(self.graph.node(key), Node::Int(_));
        let ints = match self.graph.node(holder) {
            Node::Dict(dict) => !dict.is_empty() && dict.entries().iter().all(is_int),
            _ => false,
        };
        let node = match text.parse() {
            Ok(number) if ints => Node::Int(number),
            _ => Node::Str(text.into()),
        };
        self.graph.push(node)
    }
}

fn replaced(items: &[ObjectId], at: usize, value: ObjectId) -> Vec<ObjectId> {
    let mut items = items.to_vec();
    items[at] = value;
    items
}

fn no_dict(name: &str, above: &str) -> Error {
    let (name, above) = (name.escape_debug(), above.escape_debug());
    let message = format!("'{name}' cannot be set: {above} is not a dict, and has no such entry");
    Error::new(ErrorKind::Caller, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Checkpoint;

    fn draft(text: &str) -> Draft {
        Draft::from(Value::parse(text).unwrap())
    }

    #[test]
    fn entries_and_elements_are_set() {
        let cases = [
            ("{'a': 1}", "a", "{'a': 9}"),
            ("{'a': 1}", "b", "{'a': 1, 'b': 9}"),
            ("{'x.a': 1}", "b.c", "{'x.a': 1, 'b.c': 9}"),
            ("{'a': {'b.c': 1}}", "a.b.c", "{'a': {'b.c': 9}}"),
            ("{'a': {}}", "a.b.c", "{'a': {'b.c': 9}}"),
            ("{'a': [1, (2, 3)]}", "a.1.0", "{'a': [1, (9, 3)]}"),
            ("{'a': [1, (2, 3)]}", "a[1][0]", "{'a': [1, (9, 3)]}"),
            ("{'a': [{'x': 1}]}", "a[0].y", "{'a': [{'x': 1, 'y': 9}]}"),
            ("{'s': {0: 1}}", "s.0", "{'s': {0: 9}}"),
            ("{'s': {0: 1}}", "s.7", "{'s': {0: 1, 7: 9}}"),
        ];
        for (before, name, after) in cases {
            let mut draft = draft(before);
            let change = draft.set(name, 9).unwrap();
            assert_eq!(draft.root().repr(200), after, "{name}");
            let ChangeKind::Set { to, .. } = change.kind else { panic!("{change:?}") };
            assert_eq!(to, "9");
        }
        for (before, name) in [
            ("{'a': 1}", "a.b"),
            ("{'a': 1}", "b.c"),
            ("[1]", "1"),
            ("[1]", ""),
            ("{}", ""),
            ("{'a': [1]}", "a.5"),
        ] {
            assert_eq!(draft(before).set(name, 9).unwrap_err().kind(), ErrorKind::Caller, "{name}");
        }
    }

    #[test]
    fn attributes_of_modules_are_set() {
        let path =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/files/2.15/zip/module_net.pt");
        let checkpoint = Checkpoint::open(path).unwrap();
        let mut draft = Draft::new(checkpoint.root());
        let change = draft.set("training", true).unwrap();
        assert!(matches!(change.kind, ChangeKind::Set { from: Some(_), .. }), "{change:?}");
        assert_eq!(draft.root().get("training").unwrap().as_bool(), Some(true));
    }
}
