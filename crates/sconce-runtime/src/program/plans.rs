//! Plans: the optimised forms of `forward`, one for each kind of arguments that it has been called with.
//!
//! What is known of arguments is which of them are tensors, of which dtype and number of dimensions. A plan is register
//! code like any other. Whatever it cannot do is an error in it; then the ordinary code runs instead and gives the
//! result or says what is wrong. So a graph has plans only if it changes nothing that outlives the call.

use std::rc::Rc;

use sconce_ir::Graph;
use sconce_torchscript::Module;

use crate::bytecode::code::Code;
use crate::bytecode::interpreter::Machine;
use crate::optimize::{Fact, Signature, draws, is_contained, optimize};
use crate::value::IValue;

/// The method that is optimised.
const METHOD: &str = "forward";

/// How many kinds of arguments get plans of their own.
const MAX_PLANS: usize = 8;

/// The optimised forms of a module's `forward`.
#[derive(Default)]
pub(crate) struct Plans {
    frozen: Option<Graph>,
    /// Whether the frozen graph has been found to change nothing that outlives a call.
    checked: bool,
    /// Whether it has an operator that draws random numbers.
    draws: bool,
    plans: Vec<(Signature, Option<Rc<Code>>)>,
}

impl Plans {
    /// Freezes a module, if it can be; before its objects are made, so that the constants of the frozen graph are
    /// the tensors of these objects.
    pub(crate) fn new(module: &Module) -> Self {
        Plans { frozen: module.frozen_graph_to_run(METHOD).ok(), ..Plans::default() }
    }

    /// Whether this is the method that may have plans.
    pub(crate) fn covers(method: &str) -> bool {
        method == METHOD
    }

    /// Gives up all plans, because what was frozen may have changed.
    pub(crate) fn forget(&mut self) {
        *self = Plans::default();
    }

    /// Whether a plan may draw random numbers, which are not to be drawn again where it fails.
    pub(crate) fn draws(&self) -> bool {
        self.draws
    }

    /// The code for these arguments, the module itself among them, if there is a plan for them. Where the passes
    /// find nothing to do, what freezing made is still quicker: functions are inlined and attributes are constants.
    pub(crate) fn plan(&mut self, machine: &mut Machine, args: &[IValue]) -> Option<Rc<Code>> {
        if !self.checked {
            self.checked = true;
            self.frozen.take_if(|graph| !is_contained(graph));
            self.draws = self.frozen.as_ref().is_some_and(draws);
        }
        let graph = self.frozen.as_ref()?;
        let signature: Signature = args.iter().map(Fact::of_value).collect();
        if let Some((_, code)) = self.plans.iter().find(|(known, _)| *known == signature) {
            return code.clone();
        }
        if self.plans.len() >= MAX_PLANS || args.len() != graph.inputs().len() {
            return None;
        }
        let constants = machine.constants.clone();
        let (graph, constants) = optimize(graph.clone(), &signature, constants, machine);
        let code = machine.lower_graph(METHOD, &graph, &constants);
        self.plans.push((signature, code.clone()));
        code
    }
}
