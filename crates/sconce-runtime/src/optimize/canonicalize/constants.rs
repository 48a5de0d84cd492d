//! What operators make of constants: scaled weights, tables that are looked up in another order, ranges.

use rustc_hash::{FxHashMap, FxHashSet};
use sconce_ir::alias::AliasAnalyser;
use sconce_ir::{AliasAnalysis, Graph, Kind, NodeId, Prim, Type, ValueId};
use sconce_kernels::Tensor;

use crate::op_context::OpContext;
use crate::optimize::{Optimization, given_memory};
use crate::value::IValue;

/// How many times the bytes of what they are made of new constants may have.
const MOST: usize = 4;

/// Bytes that they may have beside.
const FREE: usize = 1 << 20;

/// Operators that make tensors of numbers alone.
const CREATORS: &[&str] = &[
    "aten::arange",
    "aten::eye",
    "aten::full",
    "aten::linspace",
    "aten::logspace",
    "aten::ones",
    "aten::scalar_tensor",
    "aten::zeros",
];

/// Computes once what depends on constants alone, where nobody writes to it or gets it. What is made of
/// numbers comes last, since it may be too large, which would leave all of it as it is.
pub(crate) fn fold(optimization: &mut Optimization, context: &mut dyn OpContext) {
    for creators in [&[], CREATORS] {
        let (nodes, wanted) = foldable(optimization, creators);
        if wanted.is_empty() {
            continue;
        }
        let Some(tensors) = compute(optimization, &nodes, &wanted, context) else { continue };
        for (value, tensor) in wanted.into_iter().zip(tensors) {
            let node = optimization.producer(value);
            let constant = optimization.insert_tensor(tensor, node);
            optimization.replace(node, constant);
        }
        optimization.simplify();
    }
}

/// The nodes that depend on nothing but constants, in order, and those of their results that others use.
fn foldable(o: &Optimization, creators: &[&str]) -> (Vec<NodeId>, Vec<ValueId>) {
    let aliases = AliasAnalyser::precise(&o.graph);
    let given = given_memory(&o.graph, &aliases);
    let is_given = |value: ValueId| {
        aliases.locations(value).into_iter().any(|location| given[location as usize])
    };
    let mut known: FxHashSet<ValueId> = FxHashSet::default();
    let mut nodes = Vec::new();
    for node in o.graph.block_nodes(o.graph.root()) {
        let at = o.graph.node(node);
        let &[output] = at.outputs() else { continue };
        let all =
            |known: &FxHashSet<ValueId>| at.inputs().iter().all(|input| known.contains(input));
        let folds = if at.is(Prim::Constant) {
            !o.is_written(output)
        } else if at.is(Prim::ListConstruct) {
            !o.is_written(output) && all(&known)
        } else {
            let on_tensors = at.inputs().iter().any(|&input| *o.graph.ty(input) == Type::Tensor);
            let makes = on_tensors || creators.iter().any(|name| o.is_op(node, name));
            makes && is_pure(o, node) && all(&known) && !is_given(output)
        };
        if folds {
            known.insert(output);
            nodes.push(node);
        }
    }
    let folded: FxHashSet<NodeId> = nodes.iter().copied().collect();
    let is_wanted = |&value: &ValueId| {
        let Kind::Op(_) = o.graph.node(o.producer(value)).kind else { return false };
        o.graph.value(value).uses().iter().any(|only| !folded.contains(&only.user))
    };
    let outputs = nodes.iter().map(|&node| o.graph.node(node).output());
    let wanted = outputs.filter(is_wanted).collect();
    (nodes, wanted)
}

/// Whether a node always gives the same tensor for the same operands, and changes nothing.
fn is_pure(o: &Optimization, node: NodeId) -> bool {
    let at = o.graph.node(node);
    let Some(operator) = o.graph.operator(node) else { return false };
    let writes = |argument: &sconce_ir::Argument| {
        argument.alias.as_deref().is_some_and(|alias| {
            alias.is_write || alias.contained.iter().any(|inner| inner.is_write)
        })
    };
    operator.alias_analysis == AliasAnalysis::FromSchema
        && !operator.is_nondeterministic
        && !operator.schema.arguments.iter().any(writes)
        && *o.graph.ty(at.output()) == Type::Tensor
        && !o.is_written(at.output())
}

/// The tensors that nodes give; `None` where one of them raises, or they take much more memory than what
/// they are made of.
fn compute(
    o: &Optimization,
    nodes: &[NodeId],
    wanted: &[ValueId],
    context: &mut dyn OpContext,
) -> Option<Vec<Tensor>> {
    let mut graph = Graph::new();
    let root = graph.root();
    let mut map: FxHashMap<ValueId, ValueId> = FxHashMap::default();
    let mut used = 0;
    for &node in needed(o, nodes, wanted).iter() {
        let copy = graph.copy_node(&o.graph, node, &mut map);
        graph.append(root, copy);
        used += o.constant_tensor(o.graph.node(node).output()).map_or(0, bytes);
    }
    let items: Vec<ValueId> = wanted.iter().map(|value| map[value]).collect();
    let list = graph.new_node_with(Prim::ListConstruct, &items, Type::list(Type::Tensor));
    graph.append(root, list);
    let list = graph.node(list).output();
    graph.add_block_output(root, list);
    let code = context.compile("constants", &graph, &o.constants).ok()?;
    let IValue::List(list) = context.run_compiled(&code, Vec::new().into()).ok()? else {
        return None;
    };
    let tensor = |item: &IValue| match item {
        IValue::Tensor(tensor) => Some(tensor.clone()),
        _ => None,
    };
    let tensors: Vec<Tensor> = list.read().items.iter().map(tensor).collect::<Option<_>>()?;
    (tensors.iter().map(bytes).sum::<usize>() <= MOST * used + FREE).then_some(tensors)
}

/// Those of the nodes that the wanted values are made by.
fn needed(o: &Optimization, nodes: &[NodeId], wanted: &[ValueId]) -> Vec<NodeId> {
    let mut values: FxHashSet<ValueId> = wanted.iter().copied().collect();
    let mut needed: Vec<NodeId> = Vec::new();
    for &node in nodes.iter().rev() {
        let at = o.graph.node(node);
        if values.contains(&at.output()) {
            values.extend(at.inputs());
            needed.push(node);
        }
    }
    needed.reverse();
    needed
}

fn bytes(tensor: &Tensor) -> usize {
    tensor.numel() as usize * tensor.dtype().item_size()
}
