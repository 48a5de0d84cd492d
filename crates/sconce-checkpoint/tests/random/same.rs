//! Whether two graphs of objects are the same: kinds, values, order, and what is shared with what.

use std::collections::HashMap;

use sconce_checkpoint::{ArrayData, Node, Object, ObjectId};
use sconce_tensor::{Quantizer, Tensor};

/// Says where two objects differ.
pub(crate) fn difference(one: Object<'_>, other: Object<'_>) -> Option<String> {
    let (mut partners, mut taken) = (HashMap::new(), HashMap::new());
    let mut storages = Storages::default();
    let mut work = vec![(one.id(), other.id())];
    while let Some((first, second)) = work.pop() {
        let (first, second) = (one.other(first), other.other(second));
        if !is_value(first.data()) {
            let before = (partners.get(&first.id()), taken.get(&second.id()));
            match before {
                (None, None) => {}
                (Some(partner), Some(_)) if *partner == second.id() => continue,
                _ => return Some(format!("what is shared with what: {}", said(first.data()))),
            }
            partners.insert(first.id(), second.id());
            taken.insert(second.id(), first.id());
        }
        let mut said = [first, second].map(|object| said(object.data()));
        if let (Node::Tensor(first), Node::Tensor(second)) = (first.data(), second.data()) {
            said[0].push_str(&storages.tensor(0, &first.tensor));
            said[1].push_str(&storages.tensor(1, &second.tensor));
        }
        if said[0] != said[1] {
            return Some(format!("{} and {}", said[0], said[1]));
        }
        let (first, second) = (children(first.data()), children(second.data()));
        if first.len() != second.len() {
            return Some(format!("{}: {} parts and {}", said[0], first.len(), second.len()));
        }
        work.extend(first.into_iter().zip(second));
    }
    None
}

/// Whether nobody can tell two of it from one.
fn is_value(node: &Node) -> bool {
    match node {
        Node::Tuple(items) => items.is_empty(),
        Node::None
        | Node::Bool(_)
        | Node::Int(_)
        | Node::BigInt(_)
        | Node::Float(_)
        | Node::Complex(..)
        | Node::Str(_)
        | Node::SurrogateStr(_)
        | Node::Bytes(_)
        | Node::DType(_)
        | Node::QScheme(_)
        | Node::Size(_)
        | Node::Device(_)
        | Node::Layout(_)
        | Node::Class(_) => true,
        _ => false,
    }
}

/// All of an object but what it holds.
fn said(node: &Node) -> String {
    match node {
        Node::Float(number) => format!("float {:x}", number.to_bits()),
        Node::Complex(re, im) => format!("complex {:x} {:x}", re.to_bits(), im.to_bits()),
        Node::List(_) => "list".to_owned(),
        Node::Tuple(_) => "tuple".to_owned(),
        Node::Set(_) => "set".to_owned(),
        Node::FrozenSet(_) => "frozenset".to_owned(),
        Node::Dict(dict) => format!("{:?} {} {}", dict.kind, dict.len(), dict.state.is_some()),
        Node::Tensor(found) => format!("{:?} {}", found.class, found.state.is_some()),
        Node::Storage(found) => {
            format!("storage {} {:?}", found.dtype, found.storage.data().expect("data"))
        }
        Node::Array(array) | Node::Scalar(array) => {
            let data = match &array.data {
                ArrayData::Tensor(tensor) => {
                    format!("{:?}", tensor.contiguous_bytes().expect("data"))
                }
                ArrayData::Raw { bytes, fortran } => format!("{bytes:?} {fortran}"),
                ArrayData::Objects { fortran, .. } => format!("objects {fortran}"),
            };
            let (name, shape) = (array.dtype.name(), &array.shape);
            format!("array {name} {shape:?} {data}")
        }
        Node::Instance(instance) => format!(
            "instance {:?} {} {} {} {}",
            instance.construction,
            instance.kwargs.is_some(),
            instance.states.len(),
            instance.items.len(),
            instance.entries.len()
        ),
        leaf => format!("{leaf:?}"),
    }
}

fn children(node: &Node) -> Vec<ObjectId> {
    let flat = |entries: &[(ObjectId, ObjectId)]| {
        entries.iter().flat_map(|&(key, value)| [key, value]).collect::<Vec<_>>()
    };
    match node {
        Node::List(items) | Node::Tuple(items) | Node::Set(items) | Node::FrozenSet(items) => {
            items.clone()
        }
        Node::Dict(dict) => {
            let mut out = flat(dict.entries());
            out.extend(dict.state);
            out.extend(dict.factory);
            out
        }
        Node::Tensor(found) => found.state.into_iter().collect(),
        Node::Instance(instance) => {
            let mut out = vec![instance.callable, instance.args];
            out.extend(instance.kwargs);
            out.extend(&instance.states);
            out.extend(&instance.items);
            out.extend(flat(&instance.entries));
            out
        }
        Node::Array(array) | Node::Scalar(array) => match array.data {
            ArrayData::Objects { items, .. } => vec![items],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// Storages of both sides, by first appearance.
#[derive(Default)]
struct Storages([HashMap<usize, usize>; 2]);

impl Storages {
    fn tensor(&mut self, side: usize, tensor: &Tensor) -> String {
        let mut out = format!(
            " {} {:?} {:?} of {:?} at {} on {} {} {} {}",
            tensor.dtype(),
            tensor.layout(),
            tensor.sizes(),
            tensor.strides(),
            tensor.storage_offset(),
            tensor.device(),
            tensor.requires_grad(),
            tensor.is_conj(),
            tensor.is_neg()
        );
        if let Some(storage) = tensor.storage() {
            let count = self.0[side].len();
            let number = *self.0[side].entry(storage.id()).or_insert(count);
            let data = storage.has_data().then(|| storage.data().expect("data"));
            out.push_str(&format!(" over {number} {data:?}"));
        }
        let parts: Vec<&Tensor> = match (tensor.quantizer(), tensor.sparse_coo_parts()) {
            (Some(Quantizer::PerTensorAffine { scale, zero_point }), _) => {
                out.push_str(&format!(" {scale} {zero_point}"));
                Vec::new()
            }
            (Some(Quantizer::PerChannel { scales, zero_points, axis, scheme }), _) => {
                out.push_str(&format!(" {axis} {scheme:?}"));
                vec![scales, zero_points]
            }
            (_, Some(parts)) => vec![&parts.indices, &parts.values],
            _ => match (tensor.sparse_compressed_parts(), tensor.nested_parts()) {
                (Some(parts), _) => vec![&parts.compressed, &parts.plain, &parts.values],
                (_, Some(parts)) => {
                    vec![&parts.buffer, &parts.sizes, &parts.strides, &parts.offsets]
                }
                _ => Vec::new(),
            },
        };
        for part in parts {
            out.push_str(&self.tensor(side, part));
        }
        out
    }
}
