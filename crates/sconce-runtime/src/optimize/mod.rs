//! Optimisation: a copy of the frozen graph of `forward`, changed for one kind of arguments.
//!
//! [`optimize`] takes a graph and gives one; it neither lowers nor runs it. What becomes of graphs, and which kinds of
//! arguments there are, is the business of `program/plans.rs`.

pub(crate) mod canonicalize;
pub(crate) mod fuse;
pub(crate) mod layout;
pub(crate) mod prepack;
pub(crate) mod tensor_facts;

use sconce_ir::alias::{AliasAnalyser, is_mutable};
use sconce_ir::{Constant, Graph, NodeId, Prim, TensorConstant, ValueId, passes, verify_after};
use sconce_kernels::{DType, Precision, Tensor};

use crate::op_context::OpContext;
use crate::ops;

pub(crate) use crate::optimize::tensor_facts::Fact;
use crate::optimize::tensor_facts::{Facts, constant_ints};
use crate::value::IValue;

/// A pass: its name, and what it does.
type Pass = (&'static str, fn(&mut Optimization));

/// The passes that find out what there is to optimise, in order. After them constants are folded.
const FIRST_PASSES: &[Pass] = &[
    ("name decomposed layers", canonicalize::decomposed::name_layers),
    ("canonicalize containers", canonicalize::containers::resolve),
    ("name traced convolutions", canonicalize::traced_convolution::name_convolutions),
    ("fold known dimensions", canonicalize::known_dims::fold_known_ranks),
    // What has been decided may have been all that kept lists from being known.
    ("canonicalize containers", canonicalize::containers::resolve),
    ("name traced convolutions", canonicalize::traced_convolution::name_convolutions),
    ("fold known dimensions", canonicalize::known_dims::fold_known_ranks),
    ("name decomposed layers", canonicalize::decomposed::name_layers),
    ("name unrolled recurrent layers", canonicalize::unrolled_recurrent::name_layers),
    ("remove assertions that hold", canonicalize::assertions::remove_known),
    ("remove dropout", canonicalize::dropout::remove),
    ("fuse quantized layers", fuse::quantized::fuse),
];

/// The passes after those, in order.
const PASSES: &[Pass] = &[
    // What constants have been folded to may have been all that was not known before a convolution.
    ("name traced convolutions", canonicalize::traced_convolution::name_convolutions),
    ("make activations functional", canonicalize::in_place::make_functional),
    ("remove sums with zero", canonicalize::zero_sums::remove),
    ("fold batch normalization", fuse::batch_norm::fold),
    ("remove reshapes back", canonicalize::reshapes_back::remove),
    ("merge branches", fuse::branches::merge),
    ("choose the blocked layout", layout::blocked::choose_layout),
    ("prepack convolutions of volumes", prepack::convolution3d::pack),
    ("prepack linear layers", prepack::linear::pack),
    ("prepack encoder layers", prepack::encoder_layer::pack),
    ("prepack recurrent layers", prepack::recurrent::pack),
    ("gather linear layers", fuse::linear_layers::gather),
    ("fuse element-wise operators", fuse::pointwise::fuse),
];

/// For each argument, what is known of it if it is a tensor.
pub(crate) type Signature = Vec<Option<Fact>>;

/// Runs the passes over a copy of a frozen graph, for arguments of which so much is known. Gives the graph and the
/// table that its constants are in. Operators on constants are computed in a context.
pub(crate) fn optimize(
    graph: Graph,
    signature: &Signature,
    constants: Vec<IValue>,
    context: &mut dyn OpContext,
) -> (Graph, Vec<IValue>) {
    let mut optimization =
        Optimization::new(graph, signature.clone(), constants, context.precision());
    optimization.run(FIRST_PASSES);
    canonicalize::constants::fold(&mut optimization, context);
    verify_after("fold constants", &optimization.graph);
    optimization.run(PASSES);
    optimization.drop_unused_constants();
    (optimization.graph, optimization.constants)
}

/// Whether a graph changes nothing that outlives a call: it may then run twice, and its constants stay
/// what they are while it runs.
pub(crate) fn is_contained(graph: &Graph) -> bool {
    let aliases = AliasAnalyser::precise(graph);
    let leaves = |node: NodeId| {
        let at = graph.node(node);
        let kept = [
            Prim::SetAttr,
            Prim::Print,
            Prim::CallFunction,
            Prim::CallMethod,
            Prim::Enter,
            Prim::Exit,
            Prim::Fork,
        ];
        kept.iter().any(|&prim| at.is(prim))
            // What is found out about tensors holds from where they are made.
            || graph.operator(node).is_some_and(|operator| ops::changes_looks(&operator.schema))
            || aliases.writes_to(node, |location| aliases.escapes(location))
    };
    // What a generator of the program's own gives next depends on what it gave before.
    let draws = |node: NodeId| {
        let outputs = graph.node(node).outputs();
        outputs.iter().any(|&value| *graph.ty(value) == sconce_ir::Type::Generator)
    };
    !graph.preorder(graph.root()).any(|node| leaves(node) || draws(node))
}

/// Whether a graph has an operator that draws random numbers.
pub(crate) fn draws(graph: &Graph) -> bool {
    let operators = graph.preorder(graph.root()).filter_map(|node| graph.operator(node));
    operators.into_iter().any(|operator| operator.is_nondeterministic)
}

/// The constants that a graph gives, and those that share memory with them: whoever gets one may write
/// to it between calls.
fn given_constants(graph: &Graph, aliases: &AliasAnalyser<'_>, table: &[IValue]) -> Vec<ValueId> {
    let constants: Vec<ValueId> = graph
        .preorder(graph.root())
        .filter(|&node| graph.node(node).is(Prim::Constant))
        .map(|node| graph.node(node).output())
        .filter(|&constant| is_mutable(graph.ty(constant)))
        .collect();
    let given_memory = given_memory(graph, aliases);
    let is_given = |&constant: &ValueId| {
        aliases.locations(constant).into_iter().any(|at| given_memory[at as usize])
    };
    let (mut found, others): (Vec<_>, Vec<_>) = constants.into_iter().partition(is_given);
    let held = found.iter().map(|&constant| held_tensors(graph, constant, table));
    // What cannot be looked into may hold anything.
    let held: Option<Vec<Tensor>> = held.collect::<Option<Vec<_>>>().map(|held| held.concat());
    let shares = |constant: &ValueId| match (&held, held_tensors(graph, *constant, table)) {
        (Some(held), Some(own)) => {
            own.iter().any(|own| held.iter().any(|held| held.storage().ptr_eq(own.storage())))
        }
        _ => !found.is_empty(),
    };
    let shared: Vec<ValueId> = others.into_iter().filter(shares).collect();
    found.extend(shared);
    found
}

/// The memory that the caller may get.
fn given_memory(graph: &Graph, aliases: &AliasAnalyser<'_>) -> Vec<bool> {
    let mut given_memory = vec![false; aliases.location_count()];
    let written = aliases.written_values();
    for value in given(graph) {
        aliases.mark_locations(value, &mut given_memory);
        // What was put into a container after it was made is not seen at its maker.
        if written[value.0 as usize] && !matches!(graph.ty(value), sconce_ir::Type::Tensor) {
            aliases.mark_wildcards(&mut given_memory);
        }
    }
    given_memory
}

/// The tensors that a constant is or holds; `None` for what is neither a tensor nor a list of some.
fn held_tensors(graph: &Graph, constant: ValueId, table: &[IValue]) -> Option<Vec<Tensor>> {
    let tensor = |constant: &Constant| match constant {
        Constant::Tensor(tensor) => match table.get(tensor.index as usize) {
            Some(IValue::Tensor(tensor)) => Some(tensor.clone()),
            _ => None,
        },
        _ => None,
    };
    match graph.constant(constant)? {
        Constant::List(sconce_ir::Type::Tensor, items) => items.iter().map(tensor).collect(),
        Constant::List(of, _) if !is_mutable(&of) => Some(Vec::new()),
        constant => tensor(&constant).map(|tensor| vec![tensor]),
    }
}

/// The values that a graph gives, those in tuples, lists and dicts among them.
fn given(graph: &Graph) -> Vec<ValueId> {
    let mut given = graph.outputs().to_vec();
    let mut seen: rustc_hash::FxHashSet<ValueId> = given.iter().copied().collect();
    let mut at = 0;
    while let Some(&value) = given.get(at) {
        at += 1;
        let node = graph.node(graph.value(value).node());
        let holds = [Prim::TupleConstruct, Prim::ListConstruct, Prim::DictConstruct];
        let held = if holds.iter().any(|&prim| node.is(prim)) { node.inputs() } else { &[] };
        let results = node.blocks().iter().flat_map(|&block| graph.block_outputs(block));
        let new = held.iter().chain(results).copied().filter(|&value| seen.insert(value));
        given.extend(new.collect::<Vec<_>>());
    }
    given
}

/// A graph being optimised, with what passes share.
pub(crate) struct Optimization {
    /// The graph.
    pub(crate) graph: Graph,
    /// The table that the graph's constants are in; passes add to it.
    pub(crate) constants: Vec<IValue>,
    /// How many of them are the module's own. Those behind them passes have made.
    of_module: usize,
    /// How exact products with constant weights are to be.
    pub(crate) precision: Precision,
    /// What is known of values.
    facts: Facts,
    /// What is known of the arguments.
    signature: Signature,
    /// For each value that was there at the start, whether something writes to its memory, or somebody
    /// may who gets it.
    written: Vec<bool>,
}

impl Optimization {
    pub(crate) fn new(
        graph: Graph,
        signature: Signature,
        constants: Vec<IValue>,
        precision: Precision,
    ) -> Self {
        let mut new = Optimization {
            graph,
            of_module: constants.len(),
            constants,
            precision,
            facts: Facts::default(),
            signature,
            written: Vec::new(),
        };
        new.refresh();
        new
    }

    /// Runs passes in order.
    fn run(&mut self, passes: &[Pass]) {
        for (name, pass) in passes {
            pass(self);
            verify_after(name, &self.graph);
        }
    }

    /// Looks at the graph anew: what is known of values, and which of them are written.
    pub(crate) fn refresh(&mut self) {
        let aliases = AliasAnalyser::precise(&self.graph);
        self.written = aliases.written_values();
        for constant in given_constants(&self.graph, &aliases, &self.constants) {
            if let Some(written) = self.written.get_mut(constant.0 as usize) {
                *written = true;
            }
        }
        self.facts = Facts::find(&self.graph, &self.signature, &self.constants, &self.written);
    }

    /// Folds constants and removes what nothing needs, and looks at the graph anew.
    pub(crate) fn simplify(&mut self) {
        passes::constant_propagation_immutable_types(&mut self.graph);
        passes::eliminate_dead_code(&mut self.graph);
        self.refresh();
    }

    /// The dtype and the number of dimensions of a tensor, where they are known.
    pub(crate) fn fact(&self, value: ValueId) -> Option<Fact> {
        self.facts.get(value)
    }

    /// Whether something may write to the memory of a value.
    pub(crate) fn is_written(&self, value: ValueId) -> bool {
        self.written.get(value.0 as usize).copied().unwrap_or(false)
    }

    /// The nodes of all blocks in program order.
    pub(crate) fn nodes(&self) -> Vec<NodeId> {
        self.graph.preorder(self.graph.root()).collect()
    }

    /// Whether a node is a call of this operator.
    pub(crate) fn is_op(&self, node: NodeId, symbol: &str) -> bool {
        let at = self.graph.node(node);
        at.is_alive() && at.kind.symbol() == symbol
    }

    /// The node that makes a value.
    pub(crate) fn producer(&self, value: ValueId) -> NodeId {
        self.graph.value(value).node()
    }

    /// Whether a value is used once, in the block it is made in.
    pub(crate) fn is_used_once(&self, value: ValueId) -> bool {
        let [only] = self.graph.value(value).uses() else { return false };
        self.graph.node(only.user).owner() == self.graph.node(self.producer(value)).owner()
    }

    /// The constant that a value is.
    pub(crate) fn constant(&self, value: ValueId) -> Option<Constant> {
        self.graph.constant(value)
    }

    /// The tensor that a value is, if it is a constant that nothing writes to.
    pub(crate) fn constant_tensor(&self, value: ValueId) -> Option<&Tensor> {
        let Some(Constant::Tensor(tensor)) = self.constant(value) else { return None };
        self.tensor(&tensor).filter(|_| !self.is_written(value))
    }

    fn tensor(&self, constant: &TensorConstant) -> Option<&Tensor> {
        match self.constants.get(constant.index as usize) {
            Some(IValue::Tensor(tensor)) => Some(tensor),
            _ => None,
        }
    }

    /// The tensors of a list of constants, if nothing changes it or them.
    pub(crate) fn tensors(&self, value: ValueId) -> Option<Vec<Tensor>> {
        if self.is_written(value) {
            return None;
        }
        if let Some(Constant::List(_, items)) = self.constant(value) {
            let tensor = |item: &Constant| match item {
                Constant::Tensor(tensor) => self.tensor(tensor).cloned(),
                _ => None,
            };
            return items.iter().map(tensor).collect();
        }
        let node = self.graph.node(self.producer(value));
        if !node.is(Prim::ListConstruct) {
            return None;
        }
        node.inputs().iter().map(|&item| self.constant_tensor(item).cloned()).collect()
    }

    /// The ints that a value is, if they are known and nothing changes them.
    pub(crate) fn ints(&self, value: ValueId) -> Option<Vec<i64>> {
        constant_ints(&self.graph, value).filter(|_| !self.is_written(value))
    }

    /// Puts a constant before a node.
    pub(crate) fn insert_constant(&mut self, constant: &Constant, before: NodeId) -> ValueId {
        let node = self.graph.new_constant(constant);
        self.graph.insert_before(node, before);
        self.graph.node(node).output()
    }

    /// Puts a tensor as a constant before a node.
    pub(crate) fn insert_tensor(&mut self, tensor: Tensor, before: NodeId) -> ValueId {
        let index = self.constants.len() as u32;
        self.constants.push(IValue::Tensor(tensor));
        let constant = TensorConstant { index, text: "<Tensor>".into() };
        self.insert_constant(&Constant::Tensor(constant), before)
    }

    /// Inserts a node before the one whose work it takes over, at that one's place in the source.
    pub(crate) fn insert_at(&mut self, new: NodeId, node: NodeId) {
        self.graph.insert_before(new, node);
        let range = self.graph.node(node).range.clone();
        self.graph.node_mut(new).range = range;
    }

    /// Lets go of the file's pages of a weight that something else has been made of.
    pub(crate) fn release(&self, weight: ValueId) {
        if let Some(Constant::Tensor(tensor)) = self.constant(weight)
            && let Some(tensor) = self.tensor(&tensor)
        {
            tensor.storage().release();
        }
    }

    /// Gives up a tensor that something else has been made of: while large weights are packed, few are there twice. One
    /// that a pass has made goes, if nothing but a node that is about to go uses it.
    pub(crate) fn give_up(&mut self, value: ValueId) {
        self.release(value);
        let Some(Constant::Tensor(tensor)) = self.constant(value) else { return };
        let index = tensor.index as usize;
        let is_used_once = self.graph.value(value).uses().len() == 1;
        let nothing = Tensor::zeros(&[0], DType::Float32);
        if index >= self.of_module
            && is_used_once
            && let (Some(place), Ok(nothing)) = (self.constants.get_mut(index), nothing)
        {
            *place = IValue::Tensor(nothing);
        }
    }

    /// Gives up the tensors that passes added, behind those of the module, and other passes have made something else of:
    /// weights with a normalization folded in, before they were packed. Others keep their places. Pages of the file
    /// that the module's own tensors were read from are let go: most have been packed, and what is read again is mapped
    /// again.
    fn drop_unused_constants(&mut self) {
        let mut used = vec![false; self.constants.len()];
        let mut held: Vec<Constant> = self
            .nodes()
            .into_iter()
            .filter(|&node| self.graph.node(node).is(Prim::Constant))
            .filter_map(|node| self.graph.constant(self.graph.node(node).output()))
            .collect();
        while let Some(constant) = held.pop() {
            match constant {
                Constant::List(_, items) | Constant::Tuple(items, _) => {
                    held.extend(items.iter().cloned());
                }
                Constant::Dict(_, _, pairs) => {
                    held.extend(pairs.iter().flat_map(|(key, value)| [key.clone(), value.clone()]));
                }
                Constant::Tensor(TensorConstant { index, .. }) | Constant::Object(_, index) => {
                    if let Some(used) = used.get_mut(index as usize) {
                        *used = true;
                    }
                }
                _ => {}
            }
        }
        let Ok(nothing) = Tensor::zeros(&[0], DType::Float32) else { return };
        for (index, (constant, used)) in self.constants.iter_mut().zip(used).enumerate() {
            match constant {
                IValue::Tensor(tensor) if index < self.of_module => tensor.storage().release(),
                IValue::Tensor(_) if !used => *constant = IValue::Tensor(nothing.clone()),
                _ => {}
            }
        }
    }

    /// Puts a value in the place of what a node gives, and destroys the node.
    pub(crate) fn replace(&mut self, node: NodeId, by: ValueId) {
        let old = self.graph.node(node).output();
        self.graph.replace_all_uses(old, by);
        self.graph.destroy(node);
    }
}
