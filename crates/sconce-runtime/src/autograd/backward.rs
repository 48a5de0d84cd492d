//! Goes over what was recorded from the results to the operands, and collects gradients.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use sconce_ir::Type;
use sconce_kernels::{DType, Tensor};

use crate::autograd::graph::{Edge, Node, Source};
use crate::autograd::record::{self, add, evaluate, tensor, views};
use crate::error::{Error, Raise, kernel};
use crate::op_context::OpContext;
use crate::op_context::formula::{Formula, From, Rule};
use crate::value::IValue;

type Result<T> = std::result::Result<T, Raise>;

/// What is asked of a run.
pub(crate) struct Backward<'a> {
    /// The tensors that are derived, and the gradients of each; `None` stands for 1.
    pub(crate) outputs: &'a [Tensor],
    pub(crate) gradients: &'a [Option<Tensor>],
    /// The tensors whose gradients are wanted; `None` for all leaves, which then keep theirs.
    pub(crate) inputs: Option<&'a [Tensor]>,
    /// Whether what was recorded is kept for another run.
    pub(crate) keeps: bool,
    /// Whether gradients are recorded.
    pub(crate) is_recorded: bool,
}

/// Computes gradients: those of `inputs`, `None` for each that nothing depends on.
///
/// # Errors
/// What PyTorch's engine raises, and derivatives that are not here.
pub(crate) fn run_backward(
    context: &mut dyn OpContext,
    asked: &Backward<'_>,
) -> Result<Vec<Option<Tensor>>> {
    let gradients = context.autograd_mut();
    let (enabled, recording) = (gradients.enabled, gradients.recording);
    // Derivatives that nobody derives run as any other code.
    (gradients.enabled, gradients.recording) = (asked.is_recorded, asked.is_recorded);
    let result = Run::default().all(context, asked);
    let state = context.autograd_mut();
    (state.enabled, state.recording) = (enabled, recording);
    result
}

/// The gradients of the results of a node, as far as they have come.
type Buffer = Vec<Option<Tensor>>;

/// A place that a gradient is wanted of: a result of a node, or a leaf.
#[derive(PartialEq, Eq, Hash, Clone, Copy)]
enum Place {
    Result(u64, usize),
    Leaf(usize),
}

#[derive(Default)]
struct Run {
    /// Nodes that gradients have come to, with those.
    buffers: FxHashMap<u64, Buffer>,
    wanted: FxHashSet<Place>,
    found: FxHashMap<Place, Tensor>,
    /// Nodes that lead to a wanted place; all where every leaf is.
    leading: Option<FxHashSet<u64>>,
}

impl Run {
    fn all(
        mut self,
        context: &mut dyn OpContext,
        asked: &Backward<'_>,
    ) -> Result<Vec<Option<Tensor>>> {
        let (outputs, gradients) = (asked.outputs.len(), asked.gradients.len());
        if gradients > 0 && gradients != outputs {
            let message = format!("got {outputs} tensors and {gradients} gradients");
            return Err(Raise::message(message));
        }
        let mut roots = Vec::new();
        for (index, output) in asked.outputs.iter().enumerate() {
            let Some(edge) = views::edge(context, output, 0, 0)? else {
                return Err(Raise::message(format!(
                    "element {index} of tensors does not require grad and does not have a grad_fn"
                )));
            };
            let given = asked.gradients.get(index).cloned().flatten();
            let gradient = first_gradient(output, given, index)?;
            let gradient = fitted(context, &edge, gradient)?;
            roots.push((edge, gradient));
        }
        let mut places = Vec::new();
        for (index, input) in asked.inputs.unwrap_or_default().iter().enumerate() {
            let Some(edge) = views::edge(context, input, 0, 0)? else {
                let message = format!("element {index} of the input tensors does not require grad");
                return Err(Raise::message(message));
            };
            places.push(place(&edge.source));
        }
        self.wanted.extend(&places);
        let nodes = reached(&roots);
        if asked.inputs.is_some() {
            self.leading = Some(self.leading_of(&nodes));
        }
        for (edge, gradient) in roots {
            self.give(context, &edge, gradient)?;
        }
        for node in nodes.into_values().rev() {
            if let Some(buffer) = self.buffers.remove(&node.number) {
                self.visit(context, &node, buffer, asked)?;
            }
        }
        Ok(places.iter().map(|place| self.found.get(place).cloned()).collect())
    }

    /// The nodes that lead to what is wanted.
    fn leading_of(&self, nodes: &BTreeMap<u64, Rc<Node>>) -> FxHashSet<u64> {
        let mut leading = FxHashSet::default();
        // Earlier ones first: edges go to nodes with smaller numbers.
        for (number, node) in nodes {
            let leads = node.edges.iter().any(|edge| {
                self.wanted.contains(&place(&edge.source))
                    || matches!(&edge.source, Source::Node(to, _) if leading.contains(&to.number))
            });
            if leads {
                leading.insert(*number);
            }
        }
        leading
    }

    /// Whether a gradient along an edge is of use.
    fn is_needed(&self, edge: &Edge) -> bool {
        let Some(leading) = &self.leading else { return true };
        self.wanted.contains(&place(&edge.source))
            || matches!(&edge.source, Source::Node(to, _) if leading.contains(&to.number))
    }

    /// Adds a gradient to what has come along other edges.
    fn give(&mut self, context: &mut dyn OpContext, edge: &Edge, gradient: Tensor) -> Result<()> {
        match &edge.source {
            Source::Node(node, output) => {
                let buffer = self
                    .buffers
                    .entry(node.number)
                    .or_insert_with(|| vec![None; node.outputs.len().max(output + 1)]);
                if let Some(slot) = buffer.get_mut(*output) {
                    *slot = Some(match slot.take() {
                        None => gradient,
                        Some(before) => add(context, &before, &gradient)?,
                    });
                }
            }
            Source::Leaf(leaf) if self.leading.is_none() => {
                let is_recorded = context.autograd().enabled;
                leaf.accumulate(context, &gradient, is_recorded)?;
            }
            Source::Leaf(_) => {
                let place = place(&edge.source);
                if self.wanted.contains(&place) {
                    let sum = match self.found.remove(&place) {
                        None => gradient,
                        Some(before) => add(context, &before, &gradient)?,
                    };
                    self.found.insert(place, sum);
                }
            }
        }
        Ok(())
    }

    /// Sends the gradients of a node's results on to its operands.
    fn visit(
        &mut self,
        context: &mut dyn OpContext,
        node: &Rc<Node>,
        buffer: Buffer,
        asked: &Backward<'_>,
    ) -> Result<()> {
        for (output, gradient) in buffer.iter().enumerate() {
            let place = Place::Result(node.number, output);
            if let (Some(gradient), true) = (gradient, self.wanted.contains(&place)) {
                self.found.insert(place, gradient.clone());
            }
        }
        if asked.inputs.is_none() {
            for (output, retaining) in node.retained.borrow().iter() {
                let gradient = buffer.get(*output).cloned().flatten();
                if let (Some(retaining), Some(gradient)) = (retaining.upgrade(), gradient) {
                    retaining.accumulate(context, &gradient, asked.is_recorded)?;
                }
            }
        }
        if !node.edges.iter().any(|edge| self.is_needed(edge)) {
            return Ok(());
        }
        let gradients = self.derive(context, node, buffer)?;
        if !asked.keeps {
            // What nobody saved anything for can be gone over again.
            node.saved.borrow_mut().take_if(|saved| saved.holds_elements());
        }
        for (index, gradient) in gradients {
            let Some(edge) = node.edges.get(index) else { continue };
            let gradient = fitted(context, edge, gradient)?;
            self.give(context, edge, gradient)?;
        }
        Ok(())
    }

    /// The gradients of a node's operands, each with the number of its edge.
    fn derive(
        &self,
        context: &mut dyn OpContext,
        node: &Rc<Node>,
        buffer: Buffer,
    ) -> Result<Vec<(usize, Tensor)>> {
        let formulas: &[Formula] = match node.rule.as_deref() {
            Some(Rule::Formulas(formulas)) => formulas,
            Some(Rule::Zero) => &[],
            _ => return Err(missing(node)),
        };
        let mut found = Vec::new();
        let needed = node.edges.iter().enumerate().filter(|(_, edge)| self.is_needed(edge));
        if let Some(Rule::Zero) = node.rule.as_deref() {
            for (index, edge) in needed {
                let zeros = Tensor::zeros(&edge.sizes, edge.dtype).map_err(kernel)?;
                found.push((index, zeros));
            }
            return Ok(found);
        }
        let needed: Vec<usize> = needed.map(|(index, _)| index).collect();
        let argument = |index: &usize| node.edges.get(*index).map(|edge| edge.argument);
        for formula in formulas {
            let has = |index: &usize| {
                argument(index).is_some_and(|argument| formula.arguments.contains(&argument))
            };
            if !needed.iter().any(has) {
                continue;
            }
            let value = run(context, node, formula, &buffer)?;
            for &index in needed.iter().filter(|index| has(index)) {
                let Some(edge) = node.edges.get(index) else { continue };
                let place = formula.arguments.iter().position(|&at| at == edge.argument);
                let of_argument = match (&value, formula.arguments.len(), place) {
                    (IValue::Tuple(tuple), 2.., Some(place)) => tuple.items.get(place).cloned(),
                    (value, 1, _) => Some(value.clone()),
                    _ => None,
                };
                let of_edge = match of_argument {
                    Some(IValue::List(list)) => list.read().items.get(edge.item).cloned(),
                    other => other,
                };
                found.push((index, tensor(of_edge.unwrap_or(IValue::None))?));
            }
        }
        if needed.iter().any(|index| !found.iter().any(|(has, _)| has == index)) {
            return Err(missing(node));
        }
        Ok(found)
    }
}

/// Evaluates a formula of a node.
fn run(
    context: &mut dyn OpContext,
    node: &Rc<Node>,
    formula: &Formula,
    buffer: &[Option<Tensor>],
) -> Result<IValue> {
    let (operands, results) = {
        let saved = node.saved.borrow();
        let Some(saved) = &*saved else { return Err(freed()) };
        saved.check()?;
        (saved.operands.clone(), node.results(saved))
    };
    let gradient = |output: usize| match buffer.get(output).cloned().flatten() {
        Some(gradient) => Ok(gradient),
        None => match node.outputs.get(output) {
            Some((sizes, dtype)) => Tensor::zeros(sizes, *dtype),
            None => Tensor::zeros(&[], DType::Float32),
        },
    };
    let mut inputs = Vec::new();
    for input in &formula.inputs {
        inputs.push(match input.from {
            From::Gradient(output) => IValue::Tensor(gradient(output).map_err(kernel)?),
            From::Gradients => {
                let all = (0..node.outputs.len()).map(gradient);
                let all = all.map(|gradient| gradient.map(IValue::Tensor).map_err(kernel));
                IValue::list(Type::Tensor, all.collect::<Result<_>>()?)
            }
            From::Operand(index) => operands.get(index).cloned().unwrap_or(IValue::None),
            From::Result(index) => results.get(index).cloned().unwrap_or(IValue::None),
        });
    }
    let mut given = inputs.iter().cloned();
    let value = evaluate(context, formula, |_| given.next().unwrap_or(IValue::None))?;
    if context.autograd().enabled { connected(context, node, &inputs, value) } else { Ok(value) }
}

/// What depends on its inputs through masks and signs alone comes from them all the same, as in PyTorch:
/// its gradients are zero.
fn connected(
    context: &mut dyn OpContext,
    node: &Rc<Node>,
    inputs: &[IValue],
    value: IValue,
) -> Result<IValue> {
    let mut connect = |value: &IValue| match value {
        IValue::Tensor(tensor) if !views::requires_grad(tensor) => {
            Ok(IValue::Tensor(record::constant(context, &node.operator, inputs, tensor)?))
        }
        other => Ok(other.clone()),
    };
    Ok(match &value {
        IValue::List(list) => {
            let list = list.read();
            let items = list.items.iter().map(connect).collect::<Result<_>>()?;
            IValue::list(list.element.clone(), items)
        }
        IValue::Tuple(tuple) => {
            IValue::tuple(tuple.items.iter().map(connect).collect::<Result<_>>()?)
        }
        one => connect(one)?,
    })
}

/// The gradient that a run begins with.
fn first_gradient(output: &Tensor, given: Option<Tensor>, index: usize) -> Result<Tensor> {
    match given {
        Some(given) if is_broadcast_to(output.sizes(), given.sizes()) => Ok(given),
        Some(given) => Err(Raise::message(format!(
            "invalid gradient at index {index} - got {:?} but expected shape compatible with {:?}",
            given.sizes(),
            output.sizes()
        ))),
        None if output.numel() == 1 => {
            Tensor::full(output.sizes(), 1.into(), output.dtype()).map_err(kernel)
        }
        None => Err(Raise::message("grad can be implicitly created only for scalar outputs")),
    }
}

/// Whether what has the first sizes can be expanded to the others.
fn is_broadcast_to(sizes: &[i64], wider: &[i64]) -> bool {
    let mut last = sizes.iter().rev().zip(wider.iter().rev());
    sizes.len() <= wider.len() && last.all(|(&size, &wide)| size == wide || size == 1)
}

/// The nodes that gradients may come to, by their numbers.
fn reached(roots: &[(Edge, Tensor)]) -> BTreeMap<u64, Rc<Node>> {
    let node = |edge: &Edge| match &edge.source {
        Source::Node(node, _) => Some(Rc::clone(node)),
        Source::Leaf(_) => None,
    };
    let mut reached = BTreeMap::new();
    let mut pending: Vec<Rc<Node>> = roots.iter().filter_map(|(edge, _)| node(edge)).collect();
    while let Some(next) = pending.pop() {
        if let Entry::Vacant(place) = reached.entry(next.number) {
            pending.extend(next.edges.iter().filter_map(node));
            place.insert(next);
        }
    }
    reached
}

fn place(source: &Source) -> Place {
    match source {
        Source::Node(node, output) => Place::Result(node.number, *output),
        Source::Leaf(leaf) => Place::Leaf(Rc::as_ptr(leaf).addr()),
    }
}

/// Makes a gradient one of its operand: of its size, though the operand was spread, and of its dtype.
fn fitted(context: &mut dyn OpContext, edge: &Edge, mut gradient: Tensor) -> Result<Tensor> {
    let mut convert = |name: &str, gradient: Tensor, more: Vec<IValue>| {
        let args = std::iter::once(IValue::Tensor(gradient)).chain(more).collect();
        tensor(context.apply(name, args)?)
    };
    if *gradient.sizes() != *edge.sizes {
        let sizes = edge.sizes.iter().map(|&size| IValue::Int(size)).collect();
        gradient = convert("aten::sum_to_size", gradient, vec![IValue::list(Type::Int, sizes)])?;
    }
    if gradient.dtype().is_complex() && !edge.dtype.is_complex() {
        gradient = convert("aten::real", gradient, Vec::new())?;
    }
    if gradient.dtype() != edge.dtype {
        let dtype = IValue::Int(edge.dtype.scalar_type_number().into());
        let more = vec![dtype, IValue::Bool(false), IValue::Bool(false), IValue::None];
        gradient = convert("aten::to.dtype", gradient, more)?;
    }
    Ok(gradient)
}

fn missing(node: &Node) -> Raise {
    Raise::Error(Error::Unsupported {
        what: format!("the derivative of {}", node.operator),
        range: None,
    })
}

fn freed() -> Raise {
    Raise::message(
        "Trying to backward through the graph a second time (or directly access saved tensors after \
         they have already been freed). Saved intermediate values of the graph are freed when you call \
         .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the \
         graph a second time or if you need to access saved tensors after calling backward.",
    )
}
