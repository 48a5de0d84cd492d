//! A function's tree with its text.

use std::sync::Arc;

use sconce_ir::operators::CURRENT_VERSION;
use sconce_syntax::Source;
use sconce_syntax::ast::Def;

/// A definition with the text it was parsed from.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The tree.
    pub def: Arc<Def>,
    /// The text that its ranges refer to.
    pub source: Arc<Source>,
    /// The operator version it was written for: an archive's version, or the current one.
    pub op_version: u32,
}

impl Definition {
    /// A definition written for the operators of today.
    pub fn new(def: Arc<Def>, source: Arc<Source>) -> Self {
        Self { def, source, op_version: CURRENT_VERSION }
    }
}
