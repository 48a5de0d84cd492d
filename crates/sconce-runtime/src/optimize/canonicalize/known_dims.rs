//! What the known numbers of dimensions decide: layers check `input.dim()`, functions compare the
//! lengths of sizes, optional lists are asked whether they are `None`, and lists whether they are tensors; and what
//! constants in lists, and branches that agree, decide.

use sconce_ir::{Attribute, Constant, NodeId, Prim, Type, ValueId};

use crate::optimize::Optimization;
use crate::optimize::canonicalize::tensor_attributes;

/// How often what one round decides may let another decide more: a layer of a deep network may wait for the one before.
const MAX_ROUNDS: usize = 64;

/// Puts constants in the place of what depends on nothing but numbers of dimensions, and removes the
/// branches that are not taken any more.
pub(crate) fn fold_known_ranks(optimization: &mut Optimization) {
    for _ in 0..MAX_ROUNDS {
        let mut any = false;
        for node in optimization.nodes() {
            any |= fold(optimization, node);
        }
        if !any {
            return;
        }
        optimization.simplify();
    }
}

fn fold(o: &mut Optimization, node: NodeId) -> bool {
    if let Some(constant) = known(o, node) {
        let value = o.insert_constant(&constant, node);
        o.replace(node, value);
        return true;
    }
    let at = o.graph.node(node);
    if at.is(Prim::If) {
        return agree(o, node);
    }
    // What is known not to be None is itself.
    if !at.is(Prim::UncheckedCast) && !at.is(Prim::UncheckedUnwrapOptional) {
        return false;
    }
    let (&[from], to) = (at.inputs(), at.output()) else { return false };
    let same = o.graph.ty(from) == o.graph.ty(to);
    if same {
        o.replace(node, from);
    }
    same
}

/// Puts a constant in the place of what both branches give alike.
fn agree(o: &mut Optimization, node: NodeId) -> bool {
    let at = o.graph.node(node);
    let &[first, second] = at.blocks() else { return false };
    let branches = o.graph.block_outputs(first).iter().zip(o.graph.block_outputs(second));
    let constant = |(&output, (&first, &second)): (&ValueId, (&ValueId, &ValueId))| {
        let constant = o.constant(first).filter(is_plain)?;
        let alike = !o.graph.value(output).uses().is_empty() && o.constant(second)? == constant;
        alike.then_some((output, constant))
    };
    let alike: Vec<_> = at.outputs().iter().zip(branches).filter_map(constant).collect();
    for (output, constant) in &alike {
        let value = o.insert_constant(constant, node);
        o.graph.replace_all_uses(*output, value);
    }
    !alike.is_empty()
}

/// Whether a constant is the same wherever it is.
fn is_plain(constant: &Constant) -> bool {
    matches!(constant, Constant::Bool(_) | Constant::Int(_) | Constant::Str(_))
}

fn known(o: &Optimization, node: NodeId) -> Option<Constant> {
    let at = o.graph.node(node);
    if let (Some(Attribute::Types(types)), true) = (at.attribute("types"), at.is(Prim::Isinstance))
    {
        let &[value] = at.inputs() else { return None };
        return is_of(o.graph.ty(value), types).map(Constant::Bool);
    }
    match (at.kind.symbol(), at.inputs()) {
        ("aten::dim", &[tensor]) => o.fact(tensor).map(|fact| Constant::Int(fact.rank as i64)),
        ("aten::len", &[list]) => length(o, list).map(Constant::Int),
        ("aten::__is__", &[value, none]) => is_none(o, value, none).map(Constant::Bool),
        ("aten::__isnot__", &[value, none]) => {
            is_none(o, value, none).map(|is_none| Constant::Bool(!is_none))
        }
        ("aten::__contains__", &[list, item]) => contains(o, list, item).map(Constant::Bool),
        // Graphs that enter a region of autocast are not optimised.
        ("aten::is_autocast_enabled", []) => Some(Constant::Bool(false)),
        ("aten::any", &[list]) => Some(Constant::Bool(truths(o, list)?.contains(&true))),
        ("aten::all", &[list]) => Some(Constant::Bool(!truths(o, list)?.contains(&false))),
        _ => tensor_attributes::known(o, node),
    }
}

fn length(o: &Optimization, list: ValueId) -> Option<i64> {
    let node = o.graph.node(o.producer(list));
    match (node.kind.symbol(), node.inputs()) {
        _ if o.is_written(list) => None,
        ("aten::size", &[tensor]) => o.fact(tensor).map(|fact| fact.rank as i64),
        ("prim::ListConstruct", items) => Some(items.len() as i64),
        // Of keys, some may be the same.
        ("prim::DictConstruct", []) => Some(0),
        _ => None,
    }
}

/// Whether a value of a type is of one of some types, where that is plain.
fn is_of(ty: &Type, types: &[Type]) -> Option<bool> {
    fn is_plain(ty: &Type) -> bool {
        match ty {
            Type::Tensor | Type::Int | Type::Float | Type::Bool | Type::Str => true,
            Type::List(of) => is_plain(of),
            _ => false,
        }
    }
    (is_plain(ty) && types.iter().all(is_plain)).then(|| types.contains(ty))
}

/// Whether a value is `None`, which its type may say.
fn is_none(o: &Optimization, value: ValueId, none: ValueId) -> Option<bool> {
    if o.constant(none) != Some(Constant::None) {
        return None;
    }
    match o.graph.ty(value) {
        Type::None => Some(true),
        Type::List(_) | Type::Tensor | Type::Int | Type::Float | Type::Bool | Type::Str => {
            Some(o.constant(value) == Some(Constant::None))
        }
        _ => None,
    }
}

/// Which items of a list of constants are true.
fn truths(o: &Optimization, list: ValueId) -> Option<Vec<bool>> {
    let node = o.graph.node(o.producer(list));
    let truth = |&item: &ValueId| match o.constant(item)? {
        Constant::Bool(truth) => Some(truth),
        Constant::Int(number) => Some(number != 0),
        _ => None,
    };
    let is_known = node.is(Prim::ListConstruct) && !o.is_written(list);
    is_known.then(|| node.inputs().iter().map(truth).collect())?
}

/// Whether a string is in a list of strings.
fn contains(o: &Optimization, list: ValueId, item: ValueId) -> Option<bool> {
    let Some(item @ Constant::Str(_)) = o.constant(item) else { return None };
    let node = o.graph.node(o.producer(list));
    if o.is_written(list) || !node.is(Prim::ListConstruct) {
        return None;
    }
    let items: Option<Vec<Constant>> = node.inputs().iter().map(|&item| o.constant(item)).collect();
    Some(items?.contains(&item))
}
