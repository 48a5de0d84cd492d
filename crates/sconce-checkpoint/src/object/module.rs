use std::collections::HashSet;

use sconce_tensor::Tensor;

use super::name_budget::NameBudget;
use super::{Node, Object, ObjectId};

/// Depth to which submodules are followed; PyTorch models stay far below it.
const MAX_DEPTH: usize = 200;

/// A pickled `nn.Module`, walked without its class.
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/files/2.15/zip/module_net.pt");
/// let checkpoint = sconce_checkpoint::Checkpoint::open(path)?;
/// let module = checkpoint.root().as_module().expect("a whole module was saved");
/// for (name, tensor) in module.state_dict() {
///     println!("{name} {:?}", tensor.sizes());
/// }
/// # Ok::<(), sconce_checkpoint::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Module<'c> {
    object: Object<'c>,
}

/// Which of a module's three tables a member stands in.
#[derive(Clone, Copy)]
pub(crate) enum Table {
    Parameters,
    Buffers,
    Modules,
}

impl Table {
    pub(crate) const ALL: [Table; 3] = [Table::Parameters, Table::Buffers, Table::Modules];

    pub(crate) fn attribute(self) -> &'static str {
        match self {
            Table::Parameters => "_parameters",
            Table::Buffers => "_buffers",
            Table::Modules => "_modules",
        }
    }
}

impl<'c> Module<'c> {
    pub(crate) fn of(object: Object<'c>) -> Option<Self> {
        object.as_instance()?;
        let is_dict = |table: Table| {
            object.attribute(table.attribute()).is_some_and(|found| found.as_dict().is_some())
        };
        Table::ALL.into_iter().all(is_dict).then_some(Module { object })
    }

    /// The dicts of its parameters, buffers and submodules.
    pub(crate) fn tables(self) -> Vec<ObjectId> {
        let table = |table: Table| Some(self.object.attribute(table.attribute())?.id());
        Table::ALL.into_iter().filter_map(table).collect()
    }

    /// The object underneath.
    pub fn object(self) -> Object<'c> {
        self.object
    }

    /// `module.Class`.
    pub fn class_name(self) -> String {
        self.object.class_name()
    }

    pub(crate) fn table(self, table: Table) -> impl Iterator<Item = (&'c str, Object<'c>)> {
        let entries = self.object.attribute(table.attribute());
        entries
            .into_iter()
            .flat_map(|dict| dict.entries())
            .filter_map(|(key, value)| Some((key.as_str()?, value)))
    }

    /// Direct submodules by name.
    pub fn children(self) -> impl Iterator<Item = (&'c str, Module<'c>)> {
        self.table(Table::Modules).filter_map(|(name, object)| Some((name, Module::of(object)?)))
    }

    /// A direct parameter, buffer or submodule.
    pub fn member(self, name: &str) -> Option<Object<'c>> {
        Table::ALL.into_iter().find_map(|table| {
            self.table(table).find(|(key, _)| *key == name).map(|(_, value)| value)
        })
    }

    /// This module (named "") and all below it, depth first; a module reached twice is named once,
    /// as `nn.Module.named_modules` does.
    pub fn named_modules(self) -> Vec<(String, Module<'c>)> {
        self.visit(true)
    }

    /// Every path to a module, repeated ones too, cycles cut.
    fn all_paths(self) -> Vec<(String, Module<'c>)> {
        self.visit(false)
    }

    fn visit(self, once: bool) -> Vec<(String, Module<'c>)> {
        let mut out = Vec::new();
        let mut seen = HashSet::new();
        // Paths repeat for shared modules; a hostile file could share without end.
        let mut budget = 100_000usize;
        let mut names = NameBudget::new(self.object.graph());
        let mut stack = vec![(String::new(), self, 0)];
        while let Some((name, module, depth)) = stack.pop() {
            let first = seen.insert(module.object.id());
            if (once && !first) || depth > MAX_DEPTH || budget == 0 {
                continue;
            }
            budget -= 1;
            let mut children = Vec::new();
            for (child, found) in module.children() {
                if !names.take(name.len() + child.len()) {
                    budget = 0;
                    break;
                }
                children.push((join(&name, child), found, depth + 1));
            }
            children.reverse();
            out.push((name, module));
            stack.extend(children);
        }
        out
    }

    fn named(self, table: Table) -> Vec<(String, &'c Tensor)> {
        let mut seen = HashSet::new();
        let mut names = NameBudget::new(self.object.graph());
        let mut out = Vec::new();
        for (prefix, module) in self.named_modules() {
            for (name, object) in module.table(table) {
                if !names.take(prefix.len() + name.len()) {
                    return out;
                }
                if let Node::Tensor(found) = object.data()
                    && seen.insert(object.id())
                {
                    out.push((join(&prefix, name), &found.tensor));
                }
            }
        }
        out
    }

    /// Parameters of this module and all below it, each once, as `nn.Module.named_parameters`.
    pub fn named_parameters(self) -> Vec<(String, &'c Tensor)> {
        self.named(Table::Parameters)
    }

    /// Buffers of this module and all below it, each once, as `nn.Module.named_buffers`.
    pub fn named_buffers(self) -> Vec<(String, &'c Tensor)> {
        self.named(Table::Buffers)
    }

    /// What `nn.Module.state_dict()` would give: parameters, then persistent buffers, of every
    /// module, shared ones under each of their names.
    pub fn state_dict(self) -> Vec<(String, &'c Tensor)> {
        let mut names = NameBudget::new(self.object.graph());
        let mut out = Vec::new();
        for (prefix, module) in self.all_paths() {
            let transient = module.object.attribute("_non_persistent_buffers_set");
            let transient: HashSet<&str> =
                transient.into_iter().flat_map(Object::iter).filter_map(Object::as_str).collect();
            let parameters = module.table(Table::Parameters);
            let buffers =
                module.table(Table::Buffers).filter(|(name, _)| !transient.contains(name));
            for (name, object) in parameters.chain(buffers) {
                if !names.take(prefix.len() + name.len()) {
                    return out;
                }
                if let Some(tensor) = object.as_tensor() {
                    out.push((join(&prefix, name), tensor));
                }
            }
        }
        out
    }
}

fn join(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") }
}
