//! Classes and functions that a checkpoint names, as the verbs that write another one carry them along.

use std::collections::HashMap;

use sconce::checkpoint::{
    AllowList, ArrayData, ClassRef, Construction, Draft, Node, Object, ObjectId, StateDict,
    TensorClass,
};
use sconce::scan::why_dangerous;

use crate::error::Failure;
use crate::output;
use crate::read::open::Say;

/// Names that a warning shows.
const MOST_SHOWN: usize = 3;
/// Longest path that is made, in bytes.
const LONGEST_PATH: usize = 200;

/// A callable that is not on PyTorch's list, and where it is first held.
struct Carried {
    name: String,
    path: String,
    times: usize,
    danger: Option<&'static str>,
}

/// What of `draft` is written: all of it, with a warning where that names classes or functions that are not
/// on PyTorch's list, or its tensors alone.
///
/// # Errors
/// When only tensors are wanted and there are none, or two of one name.
pub fn checked(draft: Draft, tensors_only: bool, say: Say) -> Result<Draft, Failure> {
    if tensors_only {
        return self::tensors_only(&draft);
    }
    if !say.quiet {
        warn(draft.root(), say);
    }
    Ok(draft)
}

/// Warns of the callables below `root`.
pub fn warn(root: Object<'_>, say: Say) {
    let carried = carried(root);
    let show = |some: &[&Carried]| {
        let one = |carried: &&Carried| {
            let place = if carried.path.is_empty() { "the root" } else { &carried.path };
            let more = match carried.times {
                1 => String::new(),
                times => format!(" and {} more places", times - 1),
            };
            format!("{} at {place}{more}", carried.name)
        };
        let mut text = some.iter().take(MOST_SHOWN).map(one).collect::<Vec<_>>().join(", ");
        if some.len() > MOST_SHOWN {
            text.push_str(&format!(", … {} more", some.len() - MOST_SHOWN));
        }
        text
    };
    let (dangerous, opaque): (Vec<&Carried>, Vec<&Carried>) =
        carried.iter().partition(|carried| carried.danger.is_some());
    if let Some(first) = dangerous.first() {
        let reason = first.danger.unwrap_or_default();
        let text = format!(
            "what is written would run when it is unpickled: {} ({reason})",
            show(&dangerous)
        );
        output::warn(say.color, &text);
    }
    if !opaque.is_empty() {
        let text =
            format!("what is written names what is on no list of PyTorch's: {}", show(&opaque));
        output::warn(say.color, &text);
    }
    if !carried.is_empty() {
        output::remark(
            say.color,
            &crate::output::Line::new().dim("  --tensors-only leaves all of it out"),
        );
    }
}

/// The tensors alone, by their dotted names; those of an `nn.Module` as its `state_dict` names them.
///
/// # Errors
/// When there are none, or two of one name.
pub fn tensors_only(draft: &Draft) -> Result<Draft, Failure> {
    let mut state = StateDict::new();
    if let Some(module) = draft.root().as_module() {
        for (name, tensor) in module.state_dict() {
            state.insert(name, tensor.clone());
        }
    } else {
        let mut twice = None;
        draft.visit(|name, object| {
            let Some(tensor) = object.as_tensor() else { return };
            if state.get(name).is_some() {
                twice.get_or_insert_with(|| name.to_owned());
            }
            state.insert(name, tensor.clone());
        });
        if let Some(name) = twice {
            return Err(Failure::usage(format!("two tensors are called '{name}'"))
                .note("different keys, such as 1 and '1', can come to one name"));
        }
    }
    if state.is_empty() {
        return Err(Failure::unreadable("there are no tensors in the file"));
    }
    Ok(state.finish())
}

/// Goes over everything that the root reaches, each object once.
fn carried(root: Object<'_>) -> Vec<Carried> {
    let mut walk =
        Walk { found: Vec::new(), by_name: HashMap::new(), queue: Vec::new(), seen: Vec::new() };
    walk.reach(root.id(), "", "");
    while let Some((id, path)) = walk.queue.pop() {
        walk.object(root.other(id), &path);
    }
    walk.found.sort_by(|a, b| a.path.cmp(&b.path).then_with(|| a.name.cmp(&b.name)));
    walk.found
}

struct Walk {
    found: Vec<Carried>,
    by_name: HashMap<String, usize>,
    queue: Vec<(ObjectId, String)>,
    seen: Vec<bool>,
}

impl Walk {
    /// Queues an object that was not seen yet.
    fn reach(&mut self, id: ObjectId, path: &str, part: &str) {
        if self.seen.len() <= id.index() {
            self.seen.resize(id.index() + 1, false);
        }
        if std::mem::replace(&mut self.seen[id.index()], true) {
            return;
        }
        let path = match (path, part) {
            (path, "") => path.to_owned(),
            ("", part) => part.to_owned(),
            // A path is for people: what is deep enough keeps the one above it.
            (path, _) if path.len() > LONGEST_PATH => path.to_owned(),
            (path, part) => format!("{path}.{part}"),
        };
        self.queue.push((id, path));
    }

    fn object(&mut self, object: Object<'_>, path: &str) {
        match object.data() {
            Node::List(items) | Node::Tuple(items) | Node::Set(items) | Node::FrozenSet(items) => {
                for (at, id) in items.iter().enumerate() {
                    self.reach(*id, path, &at.to_string());
                }
            }
            Node::Dict(dict) => {
                for &(key, value) in dict.entries() {
                    let name = key_name(object.other(key));
                    self.reach(key, path, &name);
                    self.reach(value, path, &name);
                }
                for id in [dict.state, dict.factory].into_iter().flatten() {
                    self.reach(id, path, "");
                }
            }
            Node::Class(class) => self.class(class, path),
            Node::Tensor(tensor) => {
                if let TensorClass::Subclass(class) = &tensor.class {
                    self.class(class, path);
                }
                if let Some(state) = tensor.state {
                    self.reach(state, path, "");
                }
            }
            Node::Array(array) | Node::Scalar(array) => {
                if let ArrayData::Objects { items, .. } = &array.data {
                    self.reach(*items, path, "");
                }
            }
            Node::Instance(instance) => {
                if instance.construction == Construction::External {
                    self.found("an object of another process".to_owned(), path, None);
                }
                let parts = [instance.callable, instance.args];
                let rest = instance.kwargs.iter().chain(&instance.states).chain(&instance.items);
                for id in parts.iter().chain(rest) {
                    self.reach(*id, path, "");
                }
                for &(key, value) in &instance.entries {
                    let name = key_name(object.other(key));
                    self.reach(key, path, &name);
                    self.reach(value, path, &name);
                }
            }
            _ => {}
        }
    }

    fn class(&mut self, class: &ClassRef, path: &str) {
        let name = class.full_name();
        if !AllowList::contains_by_default(&name) {
            self.found(name, path, why_dangerous(&class.module, &class.name));
        }
    }

    fn found(&mut self, name: String, path: &str, danger: Option<&'static str>) {
        match self.by_name.get(&name) {
            Some(&at) => self.found[at].times += 1,
            None => {
                self.by_name.insert(name.clone(), self.found.len());
                self.found.push(Carried { name, path: path.to_owned(), times: 1, danger });
            }
        }
    }
}

fn key_name(key: Object<'_>) -> String {
    key.as_str().map_or_else(|| key.repr(30), |text| text.chars().take(LONGEST_PATH).collect())
}

#[cfg(test)]
mod tests {
    use sconce::Tensor;
    use sconce::checkpoint::Value;

    use super::*;

    #[test]
    fn every_tensor_has_its_name() {
        let tensor = Value::from(Tensor::from_slice(&[1i64], &[1]).unwrap());
        let value = Value::dict([("a", Value::list([tensor.clone()])), ("b", tensor)]);
        let state = tensors_only(&Draft::from(value)).unwrap();
        let names: Vec<&str> = state.root().entries().filter_map(|(key, _)| key.as_str()).collect();
        assert_eq!(names, ["a.0", "b"]);
        assert_eq!(tensors_only(&Draft::from(Value::from(1))).unwrap_err().code(), 2);
    }
}
