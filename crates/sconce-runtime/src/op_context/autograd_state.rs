//! What a session knows of gradients.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::op_context::formula::Known;

/// What a session knows of gradients.
#[derive(Default)]
pub(crate) struct AutogradState {
    /// Whether operators are recorded: the method that runs asks for gradients.
    pub(crate) recording: bool,
    /// `torch.is_grad_enabled()`.
    pub(crate) enabled: bool,
    /// Whether a run that is not recorded has asked for recording all the same: what tells of it is
    /// refused from then on.
    pub(crate) wanted: bool,
    /// How many nodes there have been.
    pub(crate) nodes: u64,
    /// What has been looked up of operators, by their full names.
    pub(crate) known: FxHashMap<Rc<str>, Option<Rc<Known>>>,
}

impl AutogradState {
    /// Begins a run.
    pub(crate) fn begin(&mut self, recording: bool) {
        (self.recording, self.enabled, self.wanted) = (recording, recording, false);
    }
}
