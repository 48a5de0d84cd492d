//! What the known numbers of dimensions decide: layers check `input.dim()`, functions compare the
//! lengths of sizes, optional lists are asked whether they are `None`, and lists whether they are tensors.

use sconce_ir::{Attribute, Constant, NodeId, Prim, Type, ValueId};

use crate::optimize::Optimization;

/// How often what one round decides may let another decide more.
const MAX_ROUNDS: usize = 8;

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
    // What is known not to be None is itself.
    let at = o.graph.node(node);
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
        _ => None,
    }
}

fn length(o: &Optimization, list: ValueId) -> Option<i64> {
    let node = o.graph.node(o.producer(list));
    match (node.kind.symbol(), node.inputs()) {
        _ if o.is_written(list) => None,
        ("aten::size", &[tensor]) => o.fact(tensor).map(|fact| fact.rank as i64),
        ("prim::ListConstruct", items) => Some(items.len() as i64),
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
