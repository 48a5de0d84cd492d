//! Source code of modules' classes, which legacy streams carry.

use sconce_pickle::Value;

use super::lower::Lower;
use crate::object::ClassRef;

impl<'c> Lower<'c> {
    /// A module's class where it is used: with its source the first time, by name after that. Other
    /// classes, and those of files that hold no sources, go by name.
    pub(super) fn module_class(&mut self, class: &'c ClassRef, global: Value) -> Value {
        let Some(source) = &class.source else { return global };
        if !self.sources.written.insert(global) {
            return global;
        }
        let (file, text) = &**source;
        let kind = self.constant("module");
        let file = match file {
            Some(file) => {
                let values = &mut self.values;
                *self.sources.files.entry(file).or_insert_with(|| values.str(file.as_str()))
            }
            None => self.values.none(),
        };
        let text = match text {
            Some(text) => self.values.str(text.as_str()),
            None => self.values.none(),
        };
        let pid = self.values.tuple(&[kind, global, file, text]);
        self.values.persistent_id(pid)
    }
}
