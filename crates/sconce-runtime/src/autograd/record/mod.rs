//! Runs operators so that what they compute with tensors that require a gradient is remembered.

pub(crate) mod views;

use std::cell::RefCell;
use std::rc::Rc;

use sconce_ir::{Schema, Type, operators};
use sconce_kernels as kernels;
use sconce_kernels::{DType, Scalar, Tensor};

use crate::autograd::derivatives;
use crate::autograd::graph::{self, Edge, Node, Origin, Saved, each_tensor, is_differentiable};
use crate::error::{Error, Raise, kernel};
use crate::op_context::formula::{Effect, Formula, From, Input, Known, Rule};
use crate::op_context::{Compute, OpContext, Operands};
use crate::value::IValue;

type Result<T = IValue> = std::result::Result<T, Raise>;

/// Operators that deal with gradients themselves, or give what no gradient goes through.
const OF_GRADIENTS: &[&str] = &[
    "aten::grad",
    "aten::backward",
    "aten::backward.TensorList",
    "aten::requires_grad_",
    "aten::retain_grad",
    "aten::retains_grad",
    "aten::is_leaf",
    "aten::detach",
    "aten::detach_",
    "aten::data",
    "aten::_no_grad_uniform_",
    "aten::_no_grad_normal_",
    "aten::_no_grad_fill_",
    "aten::_no_grad_zero_",
    "aten::_no_grad_embedding_renorm_",
];

/// Calls an operator, and records it where one of its operands requires a gradient.
pub(crate) fn run(
    context: &mut dyn OpContext,
    name: &Rc<str>,
    compute: Compute<'_>,
    mut args: Operands,
) -> Result {
    let has_tensors = |value: &IValue| matches!(value, IValue::Tensor(_) | IValue::List(_));
    let known = if args.iter().any(has_tensors) { known(context, name)? } else { None };
    let Some(known) = known else { return compute(context, &mut args) };
    let is_recorded = context.autograd().enabled && args.iter().any(requires_grad);
    if is_recorded && args.iter().any(IValue::is_sparse) {
        return Err(Raise::unsupported("gradients of operators on sparse tensors"));
    }
    match known.effect {
        Effect::InPlace => return change(context, &known, compute, args, is_recorded),
        Effect::Out if is_recorded => {
            let name = name.strip_prefix("aten::").unwrap_or(name);
            let name = name.split('.').next().unwrap_or(name);
            return Err(Raise::message(format!(
                "{name}(): functions with out=... arguments don't support automatic differentiation, \
                 but one of the arguments requires grad."
            )));
        }
        Effect::Out | Effect::Views | Effect::None => {}
    }
    if is_recorded && let Some(Rule::As(formula)) = known.rule.as_deref() {
        return evaluate_instead(context, formula, &args);
    }
    // What is held here is not taken for the result.
    let operands = args.clone();
    let result = compute(context, &mut args)?;
    if known.effect == Effect::Views
        && let Some(IValue::Tensor(of)) = operands.first()
    {
        each_tensor(&result, &mut |_, tensor| views::record_view(tensor, of));
    }
    if is_recorded && matches!(result, IValue::Sparse(_)) {
        return Err(Raise::unsupported("gradients of operators on sparse tensors"));
    }
    if is_recorded {
        remember(context, &known, operands, &result)?;
    }
    Ok(result)
}

fn known(context: &mut dyn OpContext, name: &Rc<str>) -> Result<Option<Rc<Known>>> {
    if let Some(known) = context.autograd().known.get(name) {
        return Ok(known.clone());
    }
    let is_plain = name.starts_with("aten::") && !OF_GRADIENTS.contains(&&**name);
    let operator = operators::find_full(name).filter(|_| is_plain);
    let known = match operator {
        None => None,
        Some(operator) => Some(Rc::new(look_up(context, &operator.schema)?)),
    };
    context.autograd_mut().known.insert(Rc::clone(name), known.clone());
    Ok(known)
}

fn look_up(context: &mut dyn OpContext, schema: &'static Schema) -> Result<Known> {
    let rule = derivatives::find(context, schema).map_err(malformed)?.map(Rc::new);
    Ok(Known { name: schema.full_name().into(), schema, rule, effect: effect(schema) })
}

/// The same for an operator that is in no other table than that of derivatives.
pub(crate) fn known_here(
    context: &mut dyn OpContext,
    schema: Option<&'static Schema>,
) -> Result<Rc<Known>> {
    let schema = schema.ok_or_else(|| malformed("a schema of the derivatives'"))?;
    if let Some(Some(known)) = context.autograd().known.get(&*schema.name) {
        return Ok(Rc::clone(known));
    }
    let known = Rc::new(look_up(context, schema)?);
    context.autograd_mut().known.insert(Rc::clone(&known.name), Some(Rc::clone(&known)));
    Ok(known)
}

fn malformed(what: impl Into<String>) -> Raise {
    Raise::Error(Error::Malformed(what.into()))
}

fn effect(schema: &Schema) -> Effect {
    let is_written = |at: Option<&sconce_ir::Argument>| {
        at.is_some_and(|argument| argument.alias.as_ref().is_some_and(|alias| alias.is_write))
    };
    if is_written(schema.arguments.first()) {
        Effect::InPlace
    } else if is_written(schema.arguments.last()) {
        Effect::Out
    } else if schema.returns.iter().any(|returned| returned.alias.is_some()) {
        Effect::Views
    } else {
        Effect::None
    }
}

fn requires_grad(value: &IValue) -> bool {
    let mut found = false;
    each_tensor(value, &mut |_, tensor| found |= views::requires_grad(tensor));
    found
}

/// Runs a formula with its inputs.
pub(crate) fn evaluate(
    context: &mut dyn OpContext,
    formula: &Formula,
    mut value: impl FnMut(From) -> IValue,
) -> Result {
    let Some(code) = &formula.code else { return Ok(IValue::None) };
    let args = formula.inputs.iter().map(|input| value(input.from)).collect();
    context.run_compiled(code, args)
}

/// Runs what is computed instead of an operator with its operands.
fn evaluate_instead(context: &mut dyn OpContext, formula: &Formula, operands: &[IValue]) -> Result {
    evaluate(context, formula, |from| match from {
        From::Operand(index) => operands.get(index).cloned().unwrap_or(IValue::None),
        _ => IValue::None,
    })
}

/// Computes an operator that is an expression ([`derivatives::is_expression`]).
pub(crate) fn evaluate_operator(
    context: &mut dyn OpContext,
    name: &Rc<str>,
    operands: &[IValue],
) -> Result {
    match known(context, name)?.as_ref().and_then(|known| known.rule.as_deref()) {
        Some(Rule::As(formula)) => evaluate_instead(context, formula, operands),
        _ => Err(malformed(format!("{name} is not an expression"))),
    }
}

/// The sum of two gradients.
pub(crate) fn add(context: &mut dyn OpContext, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if !context.autograd().enabled {
        return kernels::add(a.into(), b.into(), 1.into()).map_err(kernel);
    }
    let args = [IValue::Tensor(a.clone()), IValue::Tensor(b.clone()), IValue::Int(1)];
    tensor(context.apply("aten::add.Tensor", args.into_iter().collect())?)
}

pub(crate) fn tensor(value: IValue) -> Result<Tensor> {
    match value {
        IValue::Tensor(tensor) => Ok(tensor),
        _ => Err(malformed("a gradient that is not a tensor")),
    }
}

/// Records at the results of a call that it made them.
fn remember(
    context: &mut dyn OpContext,
    known: &Known,
    operands: Operands,
    result: &IValue,
) -> Result<()> {
    if let Some(Rule::None) = known.rule.as_deref() {
        return Ok(());
    }
    let mut made: Vec<(usize, Tensor)> = Vec::new();
    each_tensor(result, &mut |output, tensor| {
        // What gives its operand back has made nothing.
        let is_operand = operands.iter().any(|operand| {
            let mut same = false;
            each_tensor(operand, &mut |_, operand| same |= operand.is(tensor));
            same
        });
        if is_differentiable(tensor.dtype()) && !is_operand {
            made.push((output, tensor.clone()));
        }
    });
    if made.is_empty() {
        return Ok(());
    }
    let edges = edges(context, known, &operands)?;
    let node = Rc::new(node(context, known, edges, operands, result));
    for (output, tensor) in made {
        *graph::meta_of(&tensor).origin.borrow_mut() =
            Some(Origin { node: Rc::clone(&node), output });
    }
    Ok(())
}

/// Where the gradients of the operands go.
fn edges(context: &mut dyn OpContext, known: &Known, operands: &[IValue]) -> Result<Vec<Edge>> {
    edges_of(context, operands, |argument| match known.rule.as_deref() {
        Some(Rule::Formulas(formulas)) => !formulas
            .iter()
            .any(|formula| formula.code.is_none() && formula.arguments.contains(&argument)),
        _ => true,
    })
}

fn edges_of(
    context: &mut dyn OpContext,
    operands: &[IValue],
    gets: impl Fn(usize) -> bool,
) -> Result<Vec<Edge>> {
    let mut edges = Vec::new();
    for (argument, operand) in operands.iter().enumerate().filter(|(argument, _)| gets(*argument)) {
        let mut tensors = Vec::new();
        each_tensor(operand, &mut |item, tensor| tensors.push((item, tensor.clone())));
        for (item, tensor) in tensors {
            edges.extend(views::edge(context, &tensor, argument, item)?);
        }
    }
    Ok(edges)
}

/// A node for a call: saves what its derivative reads.
pub(crate) fn node(
    context: &mut dyn OpContext,
    known: &Known,
    edges: Vec<Edge>,
    operands: Operands,
    result: &IValue,
) -> Node {
    let mut outputs = Vec::new();
    each_tensor(result, &mut |output, tensor| {
        outputs.resize(output + 1, (Default::default(), DType::Float32));
        outputs[output] = (tensor.sizes().into(), tensor.dtype());
    });
    let results: Vec<IValue> = match result {
        IValue::Tuple(tuple) => tuple.items.to_vec(),
        one => vec![one.clone()],
    };
    let mut saved = Saved::default();
    saved.operands.resize(operands.len(), IValue::None);
    saved.results.resize(results.len(), IValue::None);
    let formulas = match known.rule.as_deref() {
        Some(Rule::Formulas(formulas)) => formulas.as_slice(),
        _ => &[],
    };
    let is_needed =
        |formula: &&Formula| edges.iter().any(|edge| formula.arguments.contains(&edge.argument));
    let inputs = formulas.iter().filter(is_needed).flat_map(|formula| &formula.inputs);
    let (elements, looks): (Vec<&Input>, Vec<_>) = inputs.partition(|input| input.reads_elements);
    // What one formula reads the elements of is saved whole.
    for input in elements.into_iter().chain(looks) {
        let (place, value) = match input.from {
            From::Operand(index) => (saved.operands.get_mut(index), operands.get(index)),
            From::Result(index) => (saved.results.get_mut(index), results.get(index)),
            From::Gradient(_) | From::Gradients => continue,
        };
        let (Some(place), Some(value)) = (place, value) else { continue };
        if !place.is_none() {
            continue;
        }
        let is_tensor = match input.from {
            From::Operand(index) => known.schema.arguments.get(index).map(|of| &of.ty),
            _ => None,
        };
        *place = match (value, input.from) {
            (IValue::Tensor(tensor), From::Operand(_)) if !input.reads_elements => {
                IValue::Tensor(stand_in(tensor))
            }
            // A result that remembers this node would keep it for ever.
            (IValue::Tensor(tensor), From::Result(_)) => IValue::Tensor(tensor.alias()),
            (IValue::List(list), From::Result(_)) => {
                let list = list.read();
                let items = list.items.iter().map(|item| match item {
                    IValue::Tensor(tensor) => IValue::Tensor(tensor.alias()),
                    other => other.clone(),
                });
                IValue::list(list.element.clone(), items.collect())
            }
            // Lists may change.
            (IValue::List(list), _) => {
                let list = list.read();
                IValue::list(list.element.clone(), list.items.clone())
            }
            (number, _) if is_tensor.is_some_and(Type::is_tensor) => as_tensor(number),
            (other, _) => other.clone(),
        };
        if input.reads_elements {
            let kept = place.clone();
            saved.guard(&kept);
        }
    }
    context.autograd_mut().nodes += 1;
    Node {
        number: context.autograd().nodes,
        operator: Rc::clone(&known.name),
        rule: known.rule.clone(),
        edges,
        outputs,
        saved: RefCell::new(Some(saved)),
        retained: RefCell::default(),
    }
}

/// The same elements as a tensor that comes from these operands, though none changes it a little.
pub(crate) fn constant(
    context: &mut dyn OpContext,
    operator: &Rc<str>,
    operands: &[IValue],
    tensor: &Tensor,
) -> Result<Tensor> {
    let edges = edges_of(context, operands, |_| true)?;
    let made = tensor.alias();
    if edges.is_empty() || !is_differentiable(tensor.dtype()) {
        return Ok(made);
    }
    context.autograd_mut().nodes += 1;
    let node = Rc::new(Node {
        number: context.autograd().nodes,
        operator: Rc::clone(operator),
        rule: Some(Rc::new(Rule::Zero)),
        edges,
        outputs: vec![(tensor.sizes().into(), tensor.dtype())],
        saved: RefCell::new(Some(Saved::default())),
        retained: RefCell::default(),
    });
    *graph::meta_of(&made).origin.borrow_mut() = Some(Origin { node, output: 0 });
    Ok(made)
}

/// A tensor of the same sizes and dtype that holds a single element.
fn stand_in(tensor: &Tensor) -> Tensor {
    let strides = vec![0; tensor.dim()];
    let one = Tensor::zeros(&[1], tensor.dtype());
    let spread = one.and_then(|one| one.as_strided(tensor.sizes(), &strides, Some(0)));
    spread.unwrap_or_else(|_| tensor.alias())
}

/// Lowering puts a number in the place of a constant tensor without dimensions.
fn as_tensor(value: &IValue) -> IValue {
    let tensor = match *value {
        IValue::Int(int) => Tensor::scalar(int.into(), DType::Int64),
        IValue::Float(float) => Tensor::scalar(float.into(), DType::Float64),
        IValue::Complex(re, im) => {
            Tensor::scalar(Scalar::Complex(num_complex::Complex::new(re, im)), DType::Complex128)
        }
        _ => return value.clone(),
    };
    tensor.map_or_else(|_| value.clone(), IValue::Tensor)
}

/// Calls an operator that changes its first operand.
fn change(
    context: &mut dyn OpContext,
    known: &Known,
    compute: Compute<'_>,
    mut args: Operands,
    is_recorded: bool,
) -> Result {
    let target = match args.first() {
        Some(IValue::Tensor(target)) if is_recorded => target.clone(),
        _ => return compute(context, &mut args),
    };
    views::check_may_change(&target)?;
    if let Some(Rule::None) = known.rule.as_deref() {
        // What it is now depends on nothing.
        let result = compute(context, &mut args)?;
        return views::change_origin(context, &target, None).map(|()| result);
    }
    let mut operands = args.clone();
    let before = before(context, known, &target)?;
    if let Some(first) = operands.first_mut() {
        *first = IValue::Tensor(before);
    }
    if let Some(Rule::As(formula)) = known.rule.as_deref() {
        let result = tensor(evaluate_instead(context, formula, &operands)?)?;
        kernels::store(&target, &result).map_err(kernel)?;
        let origin = graph::meta(&result).and_then(|meta| meta.origin.borrow().clone());
        return views::change_origin(context, &target, origin).map(|()| IValue::Tensor(target));
    }
    let edges = edges(context, known, &operands)?;
    let result = compute(context, &mut args)?;
    let node = Rc::new(node(context, known, edges, operands, &result));
    views::change_origin(context, &target, Some(Origin { node, output: 0 }))?;
    Ok(result)
}

/// What a tensor is before it is changed: a copy where the derivative reads its elements.
fn before(context: &mut dyn OpContext, known: &Known, target: &Tensor) -> Result<Tensor> {
    let reads = match known.rule.as_deref() {
        Some(Rule::As(_)) => true,
        Some(Rule::Formulas(formulas)) => formulas
            .iter()
            .flat_map(|formula| &formula.inputs)
            .any(|input| input.from == From::Operand(0) && input.reads_elements),
        _ => false,
    };
    let before = if reads { target.copy().map_err(kernel)? } else { target.alias() };
    if let Some(of_target) = graph::meta(target) {
        views::refresh(context, target, &of_target)?;
        let origin = of_target.origin.borrow().clone();
        *graph::meta_of(&before).origin.borrow_mut() = origin;
    }
    Ok(before)
}
