//! Dropping, keeping and renaming the entries of dicts.

use std::collections::{BTreeMap, HashMap};

use super::{Change, ChangeKind, Draft, dotted};
use crate::object::{Graph, MAX_DEPTH, Module, NameBudget, Node, Object, ObjectId, push_key};
use crate::{Error, ErrorKind};

/// An element of a dict, list or tuple, or an attribute of an object, depth first. The members of a
/// module are elements of the dicts that it keeps them in.
pub(super) struct Entry {
    pub(super) holder: ObjectId,
    /// Its place in the holder.
    pub(super) at: usize,
    pub(super) kind: Kind,
    /// Place of the entry of what it is in, `None` for the root.
    pub(super) parent: Option<usize>,
    pub(super) name: String,
    pub(super) value: ObjectId,
}

/// What an entry is to what it is in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An entry of a dict.
    Key,
    /// A parameter, buffer or submodule of a module.
    Member,
    /// An attribute of an object. Its name is the class's, so it is never renamed.
    Attribute,
    /// An element of a list or tuple. It cannot be taken out or renamed, that would move the others.
    Item,
}

impl Draft {
    /// Takes entries of dicts out, with all below them.
    ///
    /// # Errors
    /// When an element of a list or tuple is wanted out; the draft is unchanged then.
    pub fn drop_entries(&mut self, wanted: impl Fn(&str) -> bool) -> Result<Vec<Change>, Error> {
        let entries = self.entries()?;
        let mut dropped: Vec<bool> = Vec::with_capacity(entries.len());
        for entry in &entries {
            let above = entry.parent.is_some_and(|parent| dropped[parent]);
            let here = !above && wanted(&entry.name);
            if here && entry.kind == Kind::Item {
                let name = entry.name.escape_debug();
                let message = format!("'{name}' is an element of a list, which cannot be dropped");
                let help = "drop the list, or an entry of a dict";
                return Err(Error::new(ErrorKind::Caller, message).with_help(help));
            }
            dropped.push(above || here);
        }
        Ok(self.remove(&entries, &dropped))
    }

    /// Takes every entry of a dict out that is not wanted, nor below or above one that is. Elements
    /// of lists stay where their list stays, attributes of objects where those stay: of a module, only
    /// parameters and buffers go.
    ///
    /// # Errors
    /// When nothing is wanted; the draft is unchanged then.
    pub fn keep_entries(&mut self, wanted: impl Fn(&str) -> bool) -> Result<Vec<Change>, Error> {
        let entries = self.entries()?;
        let mut kept: Vec<bool> = Vec::with_capacity(entries.len());
        for entry in &entries {
            let above = entry.parent.is_some_and(|parent| kept[parent]);
            kept.push(above || wanted(&entry.name));
        }
        if !kept.contains(&true) {
            return Err(Error::new(ErrorKind::Caller, "nothing would be kept"));
        }
        let mut in_attribute: Vec<bool> = Vec::with_capacity(entries.len());
        for (at, entry) in entries.iter().enumerate() {
            let above = entry.parent.is_some_and(|parent| in_attribute[parent]);
            in_attribute.push(above || entry.kind == Kind::Attribute);
            kept[at] |= in_attribute[at];
        }
        for at in (0..entries.len()).rev() {
            if let (true, Some(parent)) = (kept[at], entries[at].parent) {
                kept[parent] = true;
            }
        }
        let dropped: Vec<bool> = kept.iter().map(|kept| !kept).collect();
        Ok(self.remove(&entries, &dropped))
    }

    /// Gives entries of dicts other names. `renamed` gets every dotted name, of containers too, and
    /// gives the new one or `None`. Entries stay in their dicts: the name may change only behind
    /// that of the dict, old or new. The version numbers that a module's state dict carries
    /// (`_metadata`) follow.
    ///
    /// # Errors
    /// When two entries would have one name (both are named), or a name would leave its dict; the
    /// draft is unchanged then.
    pub fn rename(
        &mut self,
        renamed: impl Fn(&str) -> Option<String>,
    ) -> Result<Vec<Change>, Error> {
        let entries = self.entries()?;
        let mut names: Vec<String> = Vec::with_capacity(entries.len());
        let mut keys: BTreeMap<ObjectId, Vec<(usize, String)>> = BTreeMap::new();
        let mut changes = Vec::new();
        for entry in &entries {
            let old = entry.parent.map_or("", |parent| &entries[parent].name);
            let new = entry.parent.map_or("", |parent| &names[parent]);
            let own = below(&entry.name, old).unwrap_or(&entry.name);
            let key = match renamed(&entry.name) {
                Some(name) if entry.is_named(&self.graph) && name != entry.name => {
                    let inside = below(&name, new).or_else(|| below(&name, old));
                    let key = inside.ok_or_else(|| moved(&entry.name, &name))?;
                    entry.check_key(key)?;
                    key.to_owned()
                }
                _ => own.to_owned(),
            };
            let name = join(new, &key);
            if key != own {
                keys.entry(entry.holder).or_default().push((entry.at, key));
                let kind = ChangeKind::Renamed { to: name.clone() };
                changes.push(Change { name: entry.name.clone(), kind });
            }
            names.push(name);
        }
        self.check_clashes(&entries, &names)?;
        let mut held: HashMap<ObjectId, (&str, &str)> = HashMap::new();
        for entry in &entries {
            held.entry(entry.holder).or_insert_with(|| match entry.parent {
                Some(parent) => (&entries[parent].name, &names[parent]),
                None => ("", ""),
            });
        }
        for (holder, keys) in keys {
            let (old, new) = held.get(&holder).copied().unwrap_or_default();
            self.rename_metadata(holder, old, new, &renamed);
            let Node::Dict(dict) = self.graph.node(holder) else { continue };
            let dict = dict.clone();
            let mut pairs = dict.entries().to_vec();
            for (at, key) in keys {
                pairs[at].0 = self.graph.push(Node::Str(key.into()));
            }
            let dict = dict.with_entries(&self.graph, &pairs);
            self.graph.set(holder, Node::Dict(Box::new(dict)));
        }
        Ok(changes)
    }

    /// Entries of one dict or module that have one name now, where at least one got it anew.
    fn check_clashes(&self, entries: &[Entry], names: &[String]) -> Result<(), Error> {
        let mut first: HashMap<(Option<usize>, &str), usize> = HashMap::new();
        for (at, (entry, name)) in entries.iter().zip(names).enumerate() {
            if !entry.is_named(&self.graph) {
                continue;
            }
            let Some(other) = first.insert((entry.parent, name), at) else { continue };
            if entries[other].name == entry.name {
                continue;
            }
            let message = format!(
                "'{}' and '{}' would both be called '{}'",
                entries[other].name.escape_debug(),
                entry.name.escape_debug(),
                name.escape_debug()
            );
            return Err(Error::new(ErrorKind::Caller, message));
        }
        Ok(())
    }

    /// `_metadata` has an entry for each module, whose name is the beginning of its tensors' names.
    fn rename_metadata(
        &mut self,
        holder: ObjectId,
        old: &str,
        new: &str,
        renamed: &impl Fn(&str) -> Option<String>,
    ) {
        let found = self.root().other(holder).metadata();
        let Some((id, dict)) = found.and_then(|object| Some((object.id(), object.as_dict()?)))
        else {
            return;
        };
        let dict = dict.clone();
        let mut pairs: Vec<(ObjectId, ObjectId)> = Vec::with_capacity(dict.len());
        let mut places: HashMap<String, usize> = HashMap::new();
        for &(key, value) in dict.entries() {
            let Node::Str(text) = self.graph.node(key) else {
                pairs.push((key, value));
                continue;
            };
            let text = text.to_string();
            let wanted = match text.is_empty() {
                true => None,
                false => renamed(&(join(old, &text) + ".")),
            };
            // Nothing behind the dict's name is the module that the dict is of.
            let wanted = wanted.as_deref();
            let inside = wanted.and_then(|name| behind(name, new).or_else(|| behind(name, old)));
            let to = inside.map(|name| name.strip_suffix('.').unwrap_or(name).to_owned());
            let moved = to.as_ref().is_some_and(|to| *to != text);
            let key = match &to {
                Some(to) if moved => self.graph.push(Node::Str(to.as_str().into())),
                _ => key,
            };
            match places.get(to.as_ref().unwrap_or(&text)) {
                // A wrapper gives way to the module that was inside it.
                Some(&at) if moved => pairs[at].1 = value,
                Some(_) => {}
                None => {
                    places.insert(to.unwrap_or(text), pairs.len());
                    pairs.push((key, value));
                }
            }
        }
        let dict = dict.with_entries(&self.graph, &pairs);
        self.graph.set(id, Node::Dict(Box::new(dict)));
    }

    fn remove(&mut self, entries: &[Entry], dropped: &[bool]) -> Vec<Change> {
        let mut changes = Vec::new();
        let mut gone: BTreeMap<ObjectId, Vec<usize>> = BTreeMap::new();
        for (at, entry) in entries.iter().enumerate() {
            let above = entry.parent.is_some_and(|parent| dropped[parent]);
            if dropped[at] && !above && entry.kind != Kind::Item {
                changes.push(Change { name: entry.name.clone(), kind: ChangeKind::Dropped });
                gone.entry(entry.holder).or_default().push(entry.at);
            }
        }
        for (holder, places) in gone {
            let Node::Dict(dict) = self.graph.node(holder) else { continue };
            let stays = |at: &usize| places.binary_search(at).is_err();
            let pairs: Vec<(ObjectId, ObjectId)> =
                (0..dict.len()).filter(stays).map(|at| dict.entries()[at]).collect();
            let dict = dict.with_entries(&self.graph, &pairs);
            self.graph.set(holder, Node::Dict(Box::new(dict)));
        }
        changes
    }

    /// Every element of dicts, lists and tuples and every attribute of objects, each container
    /// entered once.
    pub(super) fn entries(&self) -> Result<Vec<Entry>, Error> {
        let deep = || {
            let message = "objects are nested too deeply to be changed by their names";
            Error::new(ErrorKind::Limit, message)
        };
        let mut seen = vec![false; self.graph.len()];
        let mut budget = NameBudget::new(&self.graph);
        let mut out: Vec<Entry> = Vec::new();
        let mut open: Vec<(Entry, usize)> = Vec::new();
        let mut enter = |id: ObjectId,
                         parent: Option<usize>,
                         prefix: &str,
                         depth: usize,
                         open: &mut Vec<(Entry, usize)>| {
            if std::mem::replace(&mut seen[id.index()], true) {
                return Ok(());
            }
            if depth > MAX_DEPTH {
                return Err(deep());
            }
            let from = open.len();
            let mut add = |(holder, kind), at: usize, key: Option<Object<'_>>, value: ObjectId| {
                let mut name = prefix.to_owned();
                match key {
                    Some(key) => push_key(&mut name, prefix.len(), key, at),
                    None => name = join(prefix, &at.to_string()),
                }
                if !budget.take(name.len()) {
                    return Err(deep());
                }
                open.push((Entry { holder, at, kind, parent, name, value }, depth));
                Ok(())
            };
            match self.graph.node(id) {
                Node::List(items) | Node::Tuple(items) => {
                    for (at, &value) in items.iter().enumerate() {
                        add((id, Kind::Item), at, None, value)?;
                    }
                }
                _ => {
                    let object = Object::new(&self.graph, id);
                    let tables = object.as_module().map(Module::tables).unwrap_or_default();
                    for holder in object.member_dicts() {
                        // A dict that two objects have as their attributes belongs to the first.
                        if holder != id && std::mem::replace(&mut seen[holder.index()], true) {
                            continue;
                        }
                        let kind = match tables.contains(&holder) {
                            _ if holder == id => Kind::Key,
                            true => Kind::Member,
                            false => Kind::Attribute,
                        };
                        let entries = object.other(holder).entries().enumerate();
                        for (at, (key, value)) in entries {
                            // The tables themselves are no attributes to be named.
                            if kind != Kind::Attribute || !tables.contains(&value.id()) {
                                add((holder, kind), at, Some(key), value.id())?;
                            }
                        }
                    }
                }
            }
            open[from..].reverse();
            Ok(())
        };
        enter(self.root, None, "", 0, &mut open)?;
        while let Some((entry, depth)) = open.pop() {
            enter(entry.value, Some(out.len()), &entry.name, depth + 1, &mut open)?;
            out.push(entry);
        }
        Ok(out)
    }
}

impl Entry {
    /// Refuses a name that PyTorch refuses for members of modules.
    pub(super) fn check_key(&self, key: &str) -> Result<(), Error> {
        if self.kind != Kind::Member || !key.contains('.') {
            return Ok(());
        }
        let (name, key) = (self.name.escape_debug(), key.escape_debug());
        let message = format!("'{name}' cannot become '{key}': names in a module have no dots");
        Err(Error::new(ErrorKind::Caller, message)
            .with_note("members stay in their module; a state dict has names of any kind"))
    }

    /// Whether it has a name that may change: its key is text, and no class asks for it.
    fn is_named(&self, graph: &Graph) -> bool {
        if self.kind == Kind::Attribute {
            return false;
        }
        let Node::Dict(dict) = graph.node(self.holder) else { return false };
        let key = dict.entries().get(self.at).map(|&(key, _)| graph.node(key));
        matches!(key, Some(Node::Str(_)))
    }
}

/// The entry of a name, whose indexes may stand in brackets.
pub(super) fn named<'e>(entries: &'e [Entry], name: &str) -> Option<&'e Entry> {
    let find = |name: &str| entries.iter().find(|entry| entry.name == name);
    find(name).or_else(|| find(&dotted(name)))
}

pub(super) fn moved(from: &str, to: &str) -> Error {
    let message = format!(
        "'{}' cannot become '{}': that is outside the dict that it is in",
        from.escape_debug(),
        to.escape_debug()
    );
    Error::new(ErrorKind::Caller, message)
        .with_note("names are whole paths from the root, which take can make shorter")
}

/// What is behind a prefix and its dot, if anything.
pub(super) fn below<'n>(name: &'n str, prefix: &str) -> Option<&'n str> {
    behind(name, prefix).filter(|rest| !rest.is_empty())
}

/// What is behind a prefix and its dot.
fn behind<'n>(name: &'n str, prefix: &str) -> Option<&'n str> {
    if prefix.is_empty() { Some(name) } else { name.strip_prefix(prefix)?.strip_prefix('.') }
}

fn join(prefix: &str, key: &str) -> String {
    if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") }
}

#[cfg(test)]
pub(super) mod tests {
    use sconce_tensor::Tensor;

    use super::*;
    use crate::Checkpoint;
    use crate::object::{Dict, DictKind, TensorClass, TensorObject};

    fn dict(graph: &mut Graph, entries: &[(&str, ObjectId)]) -> Dict {
        let mut dict = Dict::new(DictKind::OrderedDict);
        for &(key, value) in entries {
            let key = graph.push(Node::Str(key.into()));
            dict.insert(graph, key, value);
        }
        dict
    }

    fn push(graph: &mut Graph, entries: &[(&str, ObjectId)]) -> ObjectId {
        let dict = dict(graph, entries);
        graph.push(Node::Dict(Box::new(dict)))
    }

    /// `{"model": {"m.a.w": …, "m.b": …}, "optimizers": [{"lr": 0.5, "m.x": 3}], "epoch": 3}`, with
    /// the metadata of a wrapped module.
    pub(crate) fn training() -> Draft {
        let mut graph = Graph::default();
        let tensor = Tensor::from_vec(vec![1.0f32, 2.0], &[2]).unwrap();
        let object = TensorObject { tensor, class: TensorClass::Tensor, state: None };
        let tensor = graph.push(Node::Tensor(Box::new(object)));
        let epoch = graph.push(Node::Int(3));
        let metadata = [("", epoch), ("m", tensor), ("m.a", tensor)];
        let metadata = push(&mut graph, &metadata);
        let state = push(&mut graph, &[("_metadata", metadata)]);
        let mut model = dict(&mut graph, &[("m.a.w", tensor), ("m.b", tensor)]);
        model.state = Some(state);
        let model = graph.push(Node::Dict(Box::new(model)));
        let rate = graph.push(Node::Float(0.5));
        let optimizer = push(&mut graph, &[("lr", rate), ("m.x", epoch)]);
        let list = graph.push(Node::List(vec![optimizer]));
        let root = push(&mut graph, &[("model", model), ("optimizers", list), ("epoch", epoch)]);
        Draft { graph, root }
    }

    fn names(draft: &Draft) -> Vec<String> {
        draft.entries().unwrap().into_iter().map(|entry| entry.name).collect()
    }

    fn changed(changes: Result<Vec<Change>, Error>) -> Vec<String> {
        changes.unwrap().into_iter().map(|change| change.name).collect()
    }

    #[test]
    fn entries_are_dropped_and_kept() {
        let all = ["model", "model.m.a.w", "model.m.b", "optimizers", "optimizers.0"];
        let mut draft = training();
        assert_eq!(names(&draft)[..5], all);
        assert_eq!(names(&draft)[5..], ["optimizers.0.lr", "optimizers.0.m.x", "epoch"]);
        let changes = draft.drop_entries(|name| name.ends_with(".x") || name == "model.m.b");
        assert_eq!(changed(changes), ["model.m.b", "optimizers.0.m.x"]);
        assert_eq!(changed(draft.drop_entries(|name| name.starts_with("opt"))), ["optimizers"]);
        assert_eq!(names(&draft), ["model", "model.m.a.w", "epoch"]);

        let mut draft = training();
        let error = draft.drop_entries(|name| name == "optimizers.0").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Caller);
        let changes = draft.keep_entries(|name| name.ends_with("lr") || name == "model");
        assert_eq!(changed(changes), ["optimizers.0.m.x", "epoch"]);
        assert!(draft.keep_entries(|_| false).is_err());
        assert_eq!(names(&draft)[..5], all);
    }

    #[test]
    fn names_change_behind_their_dict() {
        let mut draft = training();
        let changes = draft.rename(|name| Some(name.replace("m.", "").replace("model", "net")));
        assert_eq!(
            changed(changes),
            ["model", "model.m.a.w", "model.m.b", "optimizers.0.m.x"],
            "names before"
        );
        assert_eq!(names(&draft)[..3], ["net", "net.a.w", "net.b"]);
        let metadata = draft.root().get("net").unwrap().metadata().unwrap();
        let keys: Vec<_> = metadata.entries().map(|(key, _)| key.as_str().unwrap()).collect();
        assert_eq!(keys, ["", "a"]);
        assert!(metadata.get("").unwrap().as_tensor().is_some(), "the inner module's");
    }

    #[test]
    fn a_rename_that_loses_entries_is_refused() {
        let mut draft = training();
        let before = names(&draft);
        let clash = draft.rename(|name| Some(name.replace("m.a.w", "m.b"))).unwrap_err();
        assert_eq!(
            clash.message(),
            "'model.m.a.w' and 'model.m.b' would both be called 'model.m.b'"
        );
        let moved = |name: &str| (name == "model.m.b").then(|| "other.b".to_owned());
        assert!(draft.rename(moved).unwrap_err().message().contains("outside the dict"));
        let empty = |name: &str| (name == "epoch").then(String::new);
        assert!(draft.rename(empty).is_err());
        assert_eq!(names(&draft), before);
        // Swapping is no clash.
        let swap = |name: &str| match name {
            "model.m.b" => Some("model.m.a.w".to_owned()),
            "model.m.a.w" => Some("model.m.b".to_owned()),
            _ => None,
        };
        assert_eq!(draft.rename(swap).unwrap().len(), 2);
        assert_eq!(names(&draft)[1..3], ["model.m.b", "model.m.a.w"]);
    }

    #[test]
    fn members_of_modules_are_entries_and_attributes_stay() {
        let path =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/files/2.15/zip/module_net.pt");
        let checkpoint = Checkpoint::open(path).unwrap();
        let tensors = |draft: &Draft| {
            let mut names = Vec::new();
            draft.visit(|name, object| names.extend(object.as_tensor().map(|_| name.to_owned())));
            names
        };
        let attributes = |draft: &Draft| {
            let all = names(draft);
            all.into_iter().filter(|name| name.ends_with("training")).count()
        };
        let whole = Draft::new(checkpoint.root());

        let mut draft = whole.clone();
        draft.keep_entries(|name| name.starts_with("heads.0.")).unwrap();
        assert_eq!(tensors(&draft), ["heads.0.weight", "heads.0.bias", "loose"]);
        assert_eq!(attributes(&draft), attributes(&whole), "modules stay whole");

        let mut draft = whole.clone();
        let changes =
            draft.rename(|name| Some(name.replace("weight", "w").replace("training", "t")));
        assert!(changed(changes).iter().all(|name| name.ends_with("weight")));
        assert_eq!(attributes(&draft), attributes(&whole));
        assert!(tensors(&draft).contains(&"heads.0.w".to_owned()));
        assert!(
            draft
                .root()
                .as_module()
                .unwrap()
                .state_dict()
                .iter()
                .any(|(name, _)| name == "heads.0.w")
        );

        let mut draft = whole.clone();
        let error = draft.rename(|name| Some(format!("net.{name}"))).unwrap_err();
        assert!(error.message().contains("names in a module have no dots"), "{error}");
        let clash = |name: &str| (name == "heads.0.weight").then(|| "heads.0.bias".to_owned());
        let error = draft.rename(clash).unwrap_err();
        assert!(
            error.message().contains("'heads.0.weight' and 'heads.0.bias' would both"),
            "{error}"
        );
    }

    #[test]
    fn cycles_end() {
        let mut graph = Graph::default();
        let list = graph.push(Node::None);
        graph.set(list, Node::List(vec![list, list]));
        let mut draft = Draft { graph, root: list };
        assert_eq!(names(&draft), ["0", "1"]);
        assert!(draft.rename(|_| Some("x".to_owned())).unwrap().is_empty());
    }
}
