//! The globals (classes and functions) that a pickle names, known before anything is loaded.

use rustc_hash::FxHashMap;
use sconce_pickle::{Arena, Node, Value};
use sconce_source::Source;

use crate::allow_list::AllowList;
use crate::error::beginning;
use crate::{Error, LoadOptions};

/// A class or function that a file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobalUse {
    /// The module, with Python 2 names mapped to Python 3's.
    pub module: String,
    /// The name in the module.
    pub name: String,
    /// Where it is first named: offset in bytes, in `record`.
    pub offset: u64,
    /// The record (or part of a stream) that names it.
    pub record: String,
    /// How often it is called.
    pub count: usize,
    /// Whether PyTorch 2.15's `weights_only` unpickler admits it without being told.
    pub allowed: bool,
}

impl GlobalUse {
    /// `module.name`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.module, self.name)
    }
}

/// Longest name of a record that is kept whole, in bytes.
const MAX_RECORD: usize = 500;

/// The globals of a pickle, in order of first appearance.
pub(crate) fn globals_of(arena: &Arena<'_>, record: &str) -> Vec<GlobalUse> {
    // Every global names its record: a name of many kilobytes would be copied as often.
    let record = beginning(record, MAX_RECORD);
    let allowed = AllowList::default();
    let mut out: Vec<GlobalUse> = Vec::new();
    let mut place: FxHashMap<Value, usize> = FxHashMap::default();
    let mut by_name: std::collections::HashMap<(String, String), usize> = Default::default();
    for value in arena.values() {
        match arena.node(value) {
            Node::Global(global) => {
                let (module, name) = crate::python2_names::modern(&global.module, &global.name);
                let (module, name) = (module.into_owned(), name.into_owned());
                let at = *by_name.entry((module.clone(), name.clone())).or_insert_with(|| {
                    let full = format!("{module}.{name}");
                    out.push(GlobalUse {
                        allowed: allowed.contains(&full),
                        module,
                        name,
                        offset: arena.offset(value),
                        record: record.to_owned(),
                        count: 0,
                    });
                    out.len() - 1
                });
                place.insert(value, at);
            }
            Node::Call(call) => {
                if let Some(&at) = place.get(&call.callable) {
                    out[at].count += 1;
                }
            }
            _ => {}
        }
    }
    out
}

/// The globals of several pickles of one file.
#[derive(Debug, Default)]
pub(crate) struct Globals {
    all: Vec<GlobalUse>,
    by_name: std::collections::HashMap<(String, String), usize>,
}

impl Globals {
    /// Adds those of a pickle that begins at `offset` of its record.
    pub(crate) fn add(&mut self, more: Vec<GlobalUse>, offset: u64) {
        for mut global in more {
            let name = (global.module.clone(), global.name.clone());
            let at = *self.by_name.entry(name).or_insert(self.all.len());
            match self.all.get_mut(at) {
                Some(known) => known.count += global.count,
                None => {
                    global.offset += offset;
                    self.all.push(global);
                }
            }
        }
    }

    /// All of them, in order of first appearance.
    pub(crate) fn finish(self) -> Vec<GlobalUse> {
        self.all
    }
}

/// The names that `torch.load(weights_only=True)` would refuse in this file, as
/// `torch.serialization.get_unsafe_globals_in_checkpoint` lists them.
///
/// # Errors
/// When the file cannot be read as a checkpoint.
pub fn unsafe_globals(source: Source) -> Result<Vec<String>, Error> {
    let checkpoint = LoadOptions::new().keep_going(true).open_source(source)?;
    let refused = checkpoint.globals().iter().filter(|global| !global.allowed);
    Ok(refused.map(GlobalUse::full_name).collect())
}
