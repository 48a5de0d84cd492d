//! Element-wise operators that follow one another: one operator that goes over memory once.

use rustc_hash::FxHashMap;
use sconce_ir::{Constant, Kind, NodeId, Type, ValueId};
use sconce_kernels::{BinaryOp, DType, MAX_OPERANDS, PointwiseOp, Scalar, Tensor};

use crate::ops::{FUSED_STEPS, MAX_FUSED_STEPS, POINTWISE};
use crate::optimize::Optimization;

/// The fewest steps that are worth a chain.
const MIN_STEPS: usize = 2;

/// A node that may be a step of a chain.
struct Step {
    node: NodeId,
    /// Its place in [`FUSED_STEPS`].
    line: usize,
    operands: Vec<ValueId>,
}

impl Step {
    fn op(&self) -> PointwiseOp {
        FUSED_STEPS[self.line].fusion.op
    }
}

/// Makes one operator of element-wise operators that use each other's results.
pub(crate) fn fuse(optimization: &mut Optimization) {
    for node in optimization.nodes().into_iter().rev() {
        let _ = fuse_before(optimization, node);
    }
    optimization.refresh();
}

/// Makes a chain that ends with a node, as long as it can be.
fn fuse_before(o: &mut Optimization, last: NodeId) -> Option<()> {
    let mut steps = vec![step(o, last)?];
    if gives_bools(&steps[0]) {
        return None;
    }
    while let Some(next) = step_to_add(o, &steps) {
        steps.push(next);
    }
    if steps.len() < MIN_STEPS {
        return None;
    }
    steps.sort_by(|a, b| match o.graph.is_before(a.node, b.node) {
        true => std::cmp::Ordering::Less,
        false => std::cmp::Ordering::Greater,
    });
    replace(o, last, &steps)
}

/// A node whose result a chain takes and that may become a part of it.
fn step_to_add(o: &Optimization, steps: &[Step]) -> Option<Step> {
    if steps.len() >= MAX_FUSED_STEPS {
        return None;
    }
    let last = steps.first()?.node;
    let operands = steps.iter().flat_map(|step| &step.operands);
    let candidates = operands.map(|&operand| o.producer(operand));
    let mut candidates = candidates.filter(|&node| {
        let is_beside = o.graph.node(node).owner() == o.graph.node(last).owner();
        is_beside && steps.iter().all(|step| step.node != node)
    });
    candidates.find_map(|node| step(o, node).filter(|step| may_be_added(o, steps, last, step)))
}

/// Whether all that use a step's result are steps of the chain, or come after it.
fn may_be_added(o: &Optimization, steps: &[Step], last: NodeId, step: &Step) -> bool {
    let result = o.graph.node(step.node).output();
    let is_mask = gives_bools(step);
    o.graph.value(result).uses().iter().all(|used| {
        match steps.iter().find(|step| step.node == used.user) {
            // Bools are where something happens, and nothing else.
            Some(user) => {
                let line = &FUSED_STEPS[user.line];
                let place = line.fusion.operands.iter().position(|&at| at == used.index as usize);
                is_mask == (place.is_some() && place == user.op().condition())
            }
            None => !is_mask && o.graph.is_after(used.user, last),
        }
    })
}

fn gives_bools(step: &Step) -> bool {
    use BinaryOp::Eq;
    use BinaryOp::Ge;
    use BinaryOp::Gt;
    use BinaryOp::Le;
    use BinaryOp::Lt;
    use BinaryOp::Ne;
    matches!(step.op(), PointwiseOp::Binary(Eq | Ne | Lt | Le | Gt | Ge))
}

/// A node as a step, if it may be one: nothing changes what it takes and gives, and what is known of
/// its operands does not forbid it.
fn step(o: &Optimization, node: NodeId) -> Option<Step> {
    let kind = &o.graph.node(node).kind;
    let (symbol, overload) = match o.graph.operator(node) {
        Some(operator) => (&*operator.schema.name, &*operator.schema.overload),
        None if kind.is_private() => (kind.symbol(), ""),
        None => return None,
    };
    let overload = if overload.is_empty() { "-" } else { overload };
    let inputs = o.graph.node(node).inputs();
    let constant = |place: usize| o.constant(*inputs.get(place)?);
    let place = FUSED_STEPS.iter().position(|line| {
        line.symbol == symbol
            && line.overloads.split(' ').any(|one| one == overload)
            && match line.fusion.when {
                None => true,
                Some((place, None)) => constant(place) == Some(Constant::None),
                Some((place, Some(wanted))) => {
                    matches!(constant(place), Some(Constant::Str(found)) if &*found == wanted)
                }
            }
    })?;
    let line = &FUSED_STEPS[place];
    let operands = line.fusion.operands.iter().map(|&at| inputs.get(at).copied());
    let operands: Vec<ValueId> = operands.collect::<Option<_>>()?;
    let fits = |(place, &value): (usize, &ValueId)| match o.graph.ty(value) {
        Type::Int | Type::Float | Type::Number => true,
        Type::Tensor => {
            let is_condition = line.fusion.op.condition() == Some(place);
            let may_be = |dtype| match is_condition {
                true => dtype == DType::Bool,
                false => matches!(dtype, DType::Float32 | DType::Float64),
            };
            !o.is_written(value) && o.fact(value).is_none_or(|fact| may_be(fact.dtype))
        }
        _ => false,
    };
    let fits = operands.iter().enumerate().all(fits);
    let is_written = o.is_written(o.graph.node(node).output());
    (fits && !is_written).then_some(Step { node, line: place, operands })
}

/// Puts a chain in the place of its steps, which are in program order.
fn replace(o: &mut Optimization, last: NodeId, steps: &[Step]) -> Option<()> {
    let mut inputs: Vec<ValueId> = Vec::new();
    let made: FxHashMap<ValueId, usize> =
        steps.iter().enumerate().map(|(at, step)| (o.graph.node(step.node).output(), at)).collect();
    let mut places: Vec<Vec<ValueId>> = Vec::new();
    for step in steps {
        let mut operands = step.operands.clone();
        for (place, operand) in operands.iter_mut().enumerate() {
            if place == 1
                && let Some(number) = as_number(o, step, *operand)
            {
                *operand = o.insert_constant(&number, last);
            }
            if !made.contains_key(operand) && !inputs.contains(operand) {
                inputs.push(*operand);
            }
        }
        places.push(operands);
    }
    let place_of = |value: &ValueId| match made.get(value) {
        Some(&at) => Some(inputs.len() + at),
        None => inputs.iter().position(|input| input == value),
    };
    let mut program: Vec<i64> = Vec::new();
    let mut results: Vec<NodeId> = Vec::new();
    for (step, operands) in steps.iter().zip(&places) {
        let result = o.graph.node(step.node).output();
        let mut uses = o.graph.value(result).uses().iter();
        let is_result = uses.any(|used| steps.iter().all(|step| step.node != used.user));
        if is_result {
            results.push(step.node);
        }
        program.push(step.line as i64);
        for at in 0..MAX_OPERANDS {
            let place = operands.get(at).map_or(Some(0), place_of)?;
            program.push(place as i64);
        }
        program.push(i64::from(is_result));
    }
    let program = Tensor::from_slice(&program, &[program.len() as i64]).ok()?;
    inputs.insert(0, o.insert_tensor(program, last));
    let new = o.graph.new_node(Kind::Op(POINTWISE.into()), &inputs);
    o.insert_at(new, last);
    for node in results {
        let by = o.graph.add_output(new, Type::Tensor);
        o.graph.replace_all_uses(o.graph.node(node).output(), by);
    }
    // Those that use what others give go first.
    for step in steps.iter().rev() {
        o.graph.destroy(step.node);
    }
    Some(())
}

/// The number that a constant without dimensions stands for as the second operand of arithmetic: it
/// gives way in type promotion, as in the program as it is.
fn as_number(o: &Optimization, step: &Step, operand: ValueId) -> Option<Constant> {
    let is_arithmetic = ["aten::add", "aten::sub", "aten::mul", "aten::div"]
        .contains(&FUSED_STEPS[step.line].symbol);
    let tensor = o.constant_tensor(operand).filter(|tensor| is_arithmetic && tensor.dim() == 0)?;
    match tensor.item().ok()? {
        Scalar::Int(value) => Some(Constant::Int(value)),
        Scalar::Float(value) => Some(Constant::Float(value)),
        _ => None,
    }
}
