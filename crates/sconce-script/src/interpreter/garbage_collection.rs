//! Frees the tensors that constructors have dropped.
//!
//! Cells of the arena stay where they are, so what refers to them needs no care; but tensors are large. What
//! is freed is looked for where it is plain what can still be named: at the end of a call, of a statement of
//! a function and of a round of a loop. Whatever runs around these began before them, and knows no cell that
//! was made since. So a cell made since then is in use if an older cell leads to it, or a name of a file, an
//! exception that is being handled, or what the call gives.

use sconce_kernels::Storage;

use super::Interpreter;
use super::value::{Arena, Attributes, Cell, Id, Value};

/// Where something began that runs: the end of the arena then, and the bytes of tensors made so far, or when
/// what was made since was last searched.
pub(super) struct Mark {
    at: usize,
    made: usize,
}

/// A search goes over all cells. It is worth it for so many bytes of new tensors a cell.
const WORTH: usize = 256;

impl Interpreter<'_> {
    /// What begins now.
    pub(super) fn mark(&self) -> Mark {
        Mark { at: self.arena.len(), made: self.made_tensor_bytes }
    }

    /// Frees what has been made since a mark and is not in use, if much has been made. `given` is what
    /// the caller still holds of that.
    pub(super) fn collect(&mut self, since: &mut Mark, given: Option<&Value>) {
        let made = self.made_tensor_bytes.saturating_sub(since.made);
        if made == 0 || made < self.arena.len().saturating_mul(WORTH) {
            return;
        }
        let mark = since.at;
        let mut search =
            Search { mark, seen: vec![false; self.arena.len() - mark], open: Vec::new() };
        given.into_iter().for_each(|value| search.value(value));
        self.globals.values().for_each(|value| search.value(value));
        self.definitions.values().for_each(|value| search.value(value));
        self.handled.iter().for_each(|value| search.value(value));
        self.metadata_of_dicts.values().for_each(|value| search.value(value));
        self.pending_classes.iter().for_each(|id| search.id(*id));
        if let Some(execution) = &self.execution {
            execution.roots().for_each(|id| search.id(id));
        }
        for at in 0..mark {
            search.cell(self.arena.at(at));
        }
        while let Some(at) = search.open.pop() {
            search.cell(self.arena.at(at));
        }
        for (at, is_used) in search.seen.into_iter().enumerate() {
            if !is_used {
                self.arena.clear(mark + at);
            }
        }
        self.tensor_bytes = bytes_of_tensors(&self.arena);
        since.made = self.made_tensor_bytes;
    }
}

/// The bytes of all storages, each once.
fn bytes_of_tensors(arena: &Arena) -> usize {
    let mut families = rustc_hash::FxHashSet::default();
    let tensors = (0..arena.len()).filter_map(|at| match arena.at(at) {
        Cell::Tensor(tensor) => Some(tensor),
        _ => None,
    });
    tensors
        .filter(|tensor| families.insert(tensor.family))
        .map(|tensor| Storage::nbytes(tensor.tensor.storage()))
        .fold(0, usize::saturating_add)
}

/// A search for the cells from a mark on that are in use.
struct Search {
    mark: usize,
    seen: Vec<bool>,
    /// Cells that are in use and have not been looked into.
    open: Vec<usize>,
}

impl Search {
    fn id(&mut self, id: Id) {
        let at = id.index();
        if let Some(seen) = at.checked_sub(self.mark).and_then(|at| self.seen.get_mut(at))
            && !std::mem::replace(seen, true)
        {
            self.open.push(at);
        }
    }

    fn value(&mut self, value: &Value) {
        if let Value::Ref(id) = value {
            self.id(*id);
        }
    }

    fn values<'v>(&mut self, values: impl IntoIterator<Item = &'v Value>) {
        values.into_iter().for_each(|value| self.value(value));
    }

    fn attributes(&mut self, attributes: &Attributes) {
        self.values(attributes.values());
    }

    fn ids(&mut self, ids: impl IntoIterator<Item = Option<Id>>) {
        ids.into_iter().flatten().for_each(|id| self.id(id));
    }

    /// What a cell refers to.
    fn cell(&mut self, cell: &Cell) {
        match cell {
            Cell::List(items) => self.values(items),
            Cell::Tuple(tuple) => {
                self.values(&tuple.items);
                self.ids([tuple.class]);
            }
            Cell::Dict(entries) | Cell::Set(entries) => {
                for (key, value) in entries.values() {
                    self.values([key, value]);
                }
            }
            Cell::Tensor(tensor) => self.attributes(&tensor.attributes),
            Cell::Instance(instance) => {
                self.id(instance.class);
                self.attributes(&instance.attributes);
            }
            Cell::Class(class) => {
                self.values(&class.order);
                self.attributes(&class.members);
                self.ids([class.metaclass]);
            }
            Cell::Function(function) => {
                self.values(function.defaults.iter().map(|(_, value)| value));
                self.ids([function.scope, function.owner]);
                self.attributes(&function.attributes);
            }
            Cell::Method(function, object) => self.values([function, object]),
            Cell::BuiltinMethod(value, _)
            | Cell::StaticMethod(value)
            | Cell::ClassMethod(value) => self.value(value),
            Cell::Scope(scope) => {
                self.values(scope.variables.values());
                self.values(&scope.receiver);
                self.values(&scope.yielded);
                self.ids([scope.parent, scope.owner, scope.body_of]);
            }
            Cell::Iterator(iterator) => self.values(&iterator.items),
            Cell::Slice(start, stop, step) => self.values([start, stop, step]),
            Cell::Super(class, object) => {
                self.id(*class);
                self.value(object);
            }
            Cell::Property(property) => {
                self.value(&property.getter);
                self.values(&property.setter);
            }
            Cell::Partial(partial) => {
                self.value(&partial.function);
                self.values(&partial.args);
                self.values(partial.keywords.iter().map(|(_, value)| value));
                self.attributes(&partial.attributes);
            }
            Cell::Exception(exception) => {
                self.value(&exception.class);
                self.values(&exception.args);
            }
            Cell::Range(..)
            | Cell::Plain
            | Cell::Unknown(_)
            | Cell::File(_)
            | Cell::Path(_)
            | Cell::Saved(_)
            | Cell::Pattern(_)
            | Cell::Match(_)
            | Cell::Archive(_) => {}
        }
    }
}
