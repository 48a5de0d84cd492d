//! Plans: the optimised forms of `forward`, one for each kind of arguments that it has been called with.
//!
//! What is known of arguments is which of them are tensors, of which dtype and number of dimensions. A plan is register
//! code like any other. Whatever it cannot do is an error in it; then the ordinary code runs instead and gives the
//! result or says what is wrong. So a graph has plans only if it changes nothing that outlives the call.
//!
//! Sessions of one [`Model`](crate::Model) share what plans are made of ([`SharedPlans`]): graphs, and the constants
//! that the passes made, packed weights above all. Each session lowers them to code of its own.

use std::rc::Rc;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use sconce_ir::Graph;
use sconce_kernels::Precision;
use sconce_torchscript::Module;

use crate::Tensor;
use crate::bytecode::code::Code;
use crate::bytecode::interpreter::Machine;
use crate::optimize::{Fact, Signature, draws, is_contained, optimize};
use crate::value::IValue;

/// The method that is optimised.
const METHOD: &str = "forward";

/// How many kinds of arguments get plans of their own.
const MAX_PLANS: usize = 8;

/// A frozen graph that changes nothing that outlives a call.
#[derive(Debug)]
struct Frozen {
    graph: Graph,
    /// Whether it has an operator that draws random numbers.
    draws: bool,
}

impl Frozen {
    fn new(graph: Graph) -> Option<Self> {
        is_contained(&graph).then(|| Frozen { draws: draws(&graph), graph })
    }
}

/// What an optimised graph is for: arguments of which so much is known, and a session's precision.
type Kind = (Signature, Precision);

/// What the sessions of a model make plans of.
#[derive(Debug, Default)]
pub(crate) struct SharedPlans {
    /// The frozen graph, once it has been asked for; `None` of a module that cannot be frozen.
    graph: OnceLock<Option<Graph>>,
    frozen: OnceLock<Option<Frozen>>,
    optimized: Mutex<Vec<(Kind, Option<Arc<Optimized>>)>>,
}

/// An optimised graph whose constants belong to no session.
#[derive(Debug)]
struct Optimized {
    graph: Graph,
    /// How many constants of the module it was made of.
    of_module: usize,
    /// The constants that passes added behind those.
    added: Vec<sconce_tensor::Tensor>,
}

impl SharedPlans {
    /// Freezes a module, if it can be and has not been; before its objects are made, so that the constants of the
    /// frozen graph are the tensors of these objects.
    fn freeze(&self, module: &Module) {
        self.graph.get_or_init(|| module.frozen_graph_to_run(METHOD).ok());
    }

    fn frozen(&self) -> Option<&Frozen> {
        let frozen = || Frozen::new(self.graph.get()?.as_ref()?.clone());
        self.frozen.get_or_init(frozen).as_ref()
    }

    /// The optimised graph for arguments of which so much is known, made now where no session has made it.
    fn optimized(&self, signature: &Signature, machine: &mut Machine) -> Option<Arc<Optimized>> {
        let frozen = self.frozen()?;
        // Sessions that come for the same wait for it: each would need the memory to make it.
        let mut all = self.optimized.lock().unwrap_or_else(PoisonError::into_inner);
        let precision = machine.precision;
        let is_it = |(kind, _): &&(Kind, _)| kind.0 == *signature && kind.1 == precision;
        if let Some((_, known)) = all.iter().find(is_it) {
            return known.clone();
        }
        let of_precision = all.iter().filter(|(kind, _)| kind.1 == precision).count();
        if of_precision >= MAX_PLANS || signature.len() != frozen.graph.inputs().len() {
            return None;
        }
        let constants = machine.constants.clone();
        let of_module = constants.len();
        let (graph, mut constants) = optimize(frozen.graph.clone(), signature, constants, machine);
        let added = constants.split_off(of_module).into_iter().map(|constant| match constant {
            IValue::Tensor(tensor) => tensor.into_file().ok(),
            _ => None,
        });
        let added: Option<Vec<_>> = added.collect();
        let made = added.map(|added| Arc::new(Optimized { graph, of_module, added }));
        all.push(((signature.clone(), precision), made.clone()));
        made
    }
}

/// Where the plans of a session come from.
enum Origin {
    /// There are none.
    Nothing,
    /// The session's own frozen graph, if it has been found to change nothing that outlives a call.
    Own(Option<Frozen>),
    Shared(Arc<SharedPlans>),
}

/// The optimised forms of a module's `forward`.
pub(crate) struct Plans {
    origin: Origin,
    /// What [`Origin::Own`] is made of, until it is asked for.
    unchecked: Option<Graph>,
    plans: Vec<(Signature, Option<Rc<Code>>)>,
}

impl Plans {
    /// No plans.
    pub(crate) fn none() -> Self {
        Plans { origin: Origin::Nothing, unchecked: None, plans: Vec::new() }
    }

    /// Freezes a module, if it can be; before its objects are made, so that the constants of the frozen graph are
    /// the tensors of these objects. Sessions of one model share plans.
    pub(crate) fn new(module: &Module, shared: Option<&Arc<SharedPlans>>) -> Self {
        match shared {
            Some(shared) => {
                shared.freeze(module);
                Plans { origin: Origin::Shared(Arc::clone(shared)), ..Plans::none() }
            }
            None => {
                let unchecked = module.frozen_graph_to_run(METHOD).ok();
                Plans { origin: Origin::Own(None), unchecked, plans: Vec::new() }
            }
        }
    }

    /// Whether this is the method that may have plans.
    pub(crate) fn covers(method: &str) -> bool {
        method == METHOD
    }

    /// Gives up all plans, because what was frozen may have changed.
    pub(crate) fn forget(&mut self) {
        *self = Plans::none();
    }

    /// Whether a plan may draw random numbers, which are not to be drawn again where it fails.
    pub(crate) fn draws(&self) -> bool {
        let frozen = match &self.origin {
            Origin::Nothing => None,
            Origin::Own(frozen) => frozen.as_ref(),
            Origin::Shared(shared) => shared.frozen(),
        };
        frozen.is_some_and(|frozen| frozen.draws)
    }

    /// The code for these arguments, the module itself among them, if there is a plan for them. Where the passes
    /// find nothing to do, what freezing made is still quicker: functions are inlined and attributes are constants.
    pub(crate) fn plan(&mut self, machine: &mut Machine, args: &[IValue]) -> Option<Rc<Code>> {
        if let (Origin::Own(frozen), Some(graph)) = (&mut self.origin, self.unchecked.take()) {
            *frozen = Frozen::new(graph);
        }
        if matches!(self.origin, Origin::Nothing | Origin::Own(None)) {
            return None;
        }
        let signature: Signature = args.iter().map(Fact::of_value).collect();
        if let Some((_, code)) = self.plans.iter().find(|(known, _)| *known == signature) {
            return code.clone();
        }
        if self.plans.len() >= MAX_PLANS {
            return None;
        }
        let code = match &self.origin {
            Origin::Nothing => None,
            Origin::Own(frozen) => {
                let frozen =
                    frozen.as_ref().filter(|own| args.len() == own.graph.inputs().len())?;
                let constants = machine.constants.clone();
                let graph = frozen.graph.clone();
                let (graph, constants) = optimize(graph, &signature, constants, machine);
                machine.lower_graph(METHOD, &graph, &constants)
            }
            Origin::Shared(shared) => {
                let shared = Arc::clone(shared);
                let optimized = shared.optimized(&signature, machine);
                optimized.and_then(|optimized| lower(machine, &optimized))
            }
        };
        self.plans.push((signature, code.clone()));
        code
    }
}

/// The code of a shared graph, with the session's own tensors as the constants that come from the module.
fn lower(machine: &mut Machine, optimized: &Optimized) -> Option<Rc<Code>> {
    let mut constants = machine.constants.get(..optimized.of_module)?.to_vec();
    for tensor in &optimized.added {
        constants.push(IValue::Tensor(Tensor::from_file(tensor).ok()?));
    }
    machine.lower_graph(METHOD, &optimized.graph, &constants)
}
