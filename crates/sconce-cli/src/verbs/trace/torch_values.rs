//! What the values of a checkpoint's pickle stand for: storages by their persistent ids, tensors by the calls
//! that rebuild them.

use std::collections::HashMap;

use sconce::checkpoint::{Checkpoint, StorageRecord};
use sconce::pickle::{Arena, Node, Value, render};

use crate::output::grouped;

/// The storages of one checkpoint, by key.
pub struct TorchValues<'c> {
    storages: HashMap<&'c str, &'c StorageRecord>,
}

impl<'c> TorchValues<'c> {
    /// The values of a checkpoint.
    pub fn new(checkpoint: &'c Checkpoint) -> TorchValues<'c> {
        let storages = checkpoint.storages().iter().map(|record| (&*record.key, record)).collect();
        TorchValues { storages }
    }

    /// The value in about `max` characters: a tensor as its dtype and shape, a storage as its key, anything else as
    /// Python would write it.
    pub fn show(&self, arena: &Arena<'_>, value: Value, max: usize) -> String {
        match arena.node(value) {
            Node::PersistentId(pid) => match StorageId::read(arena, *pid) {
                Some(id) => format!("storage '{}'", id.key),
                None => render(arena, value, max),
            },
            Node::Tuple(items) => {
                let items = arena.items(*items);
                let parts: Vec<String> = items
                    .iter()
                    .take(MAX_ITEMS)
                    .map(|&item| match arena.node(item) {
                        Node::Tuple(_) => render(arena, item, max),
                        _ => self.show(arena, item, max),
                    })
                    .collect();
                let mut text = parts.join(", ");
                if items.len() > MAX_ITEMS {
                    text.push_str(", …");
                } else if items.len() == 1 {
                    text.push(',');
                }
                format!("({text})")
            }
            Node::Call(_) => self.tensor(arena, value).unwrap_or_else(|| render(arena, value, max)),
            Node::Dict(entries) => format!("dict of {}", entries.len()),
            Node::List(items) => format!("list of {}", items.len()),
            _ => render(arena, value, max),
        }
    }

    /// A persistent id decoded, with the place of its bytes in the file where that is known.
    pub fn storage(&self, arena: &Arena<'_>, value: Value) -> Option<String> {
        let Node::PersistentId(pid) = arena.node(value) else { return None };
        let id = StorageId::read(arena, *pid)?;
        let mut text = format!("storage: {}, key '{}', {}", id.class, id.key, id.location);
        if let Some(elements) = id.elements {
            text.push_str(&format!(", {} elements", grouped(elements)));
        }
        if let Some(record) = self.storages.get(id.key) {
            match (record.record_name(), record.file_offset()) {
                (Some(name), Some(offset)) => {
                    text.push_str(&format!(" → record {name} at byte {offset:#x}"));
                }
                (Some(name), None) => text.push_str(&format!(" → record {name}")),
                (None, Some(offset)) => text.push_str(&format!(" → byte {offset:#x} of the file")),
                (None, None) => {}
            }
        }
        Some(text)
    }

    /// A call of one of PyTorch's rebuild functions, as the tensor it makes.
    pub fn tensor(&self, arena: &Arena<'_>, value: Value) -> Option<String> {
        let Node::Call(call) = arena.node(value) else { return None };
        let (module, name) = arena.global(call.callable)?;
        let args = arena.tuple(call.args)?;
        match (module, name) {
            ("torch._utils", "_rebuild_tensor_v2" | "_rebuild_tensor" | "_rebuild_tensor_v3") => {
                let &Node::PersistentId(pid) = arena.node(*args.first()?) else { return None };
                let id = StorageId::read(arena, pid)?;
                let dtype = match args.get(6) {
                    Some(&dtype) if name == "_rebuild_tensor_v3" => {
                        arena.global(dtype).map(|(_, name)| name.to_owned())
                    }
                    _ => self
                        .storages
                        .get(id.key)
                        .and_then(|record| Some(record.dtype?.name().to_owned())),
                };
                let dtype = dtype.unwrap_or_else(|| id.class.to_owned());
                Some(format!("{dtype} {}", shape(arena, *args.get(2)?)?))
            }
            ("torch._utils", "_rebuild_parameter" | "_rebuild_parameter_with_state") => {
                Some(format!("Parameter of {}", self.show(arena, *args.first()?, 60)))
            }
            _ => None,
        }
    }
}

/// Most elements of a tuple that are shown.
const MAX_ITEMS: usize = 8;

fn shape(arena: &Arena<'_>, sizes: Value) -> Option<String> {
    let sizes: Option<Vec<i64>> = arena.tuple(sizes)?.iter().map(|&size| arena.int(size)).collect();
    Some(format!("{:?}", sizes?))
}

/// A persistent id of `torch.save`: `('storage', class, key, location, elements, …)`.
struct StorageId<'a> {
    class: &'a str,
    key: &'a str,
    location: &'a str,
    elements: Option<i64>,
}

impl<'a> StorageId<'a> {
    fn read(arena: &'a Arena<'_>, pid: Value) -> Option<StorageId<'a>> {
        let &[kind, class, key, location, ref rest @ ..] = arena.tuple(pid)? else { return None };
        if arena.str(kind)? != "storage" {
            return None;
        }
        Some(StorageId {
            class: arena.global(class)?.1,
            key: arena.str(key)?,
            location: arena.str(location)?,
            elements: rest.first().and_then(|&elements| arena.int(elements)),
        })
    }
}
