//! What can be iterated over: lengths and elements of values, `range`, `zip`, `enumerate`, tuples.

use std::sync::Arc;

use sconce_ir::{Constant, Prim, Type, ValueId};
use sconce_syntax::Range;

use super::Emitter;
use super::sugared::{Counter, Sugared, Tree};
use crate::Error;
use crate::emit::matching::{ArgumentValue, Arguments};

impl Sugared {
    /// The number of elements, if the loop over it is unrolled.
    pub(super) fn unrolled_length(&self) -> Option<usize> {
        match self {
            Self::Tuple(elements) => Some(elements.len()),
            Self::Range(counter) => counter.fixed,
            Self::Tree(tree) => tree.fixed,
            _ => None,
        }
    }
}

impl Emitter<'_> {
    /// What a loop over it goes over.
    pub(super) fn iterable(&mut self, sugared: Sugared, at: Range) -> Result<Sugared, Error> {
        let value = match sugared {
            Sugared::Simple(value) => value,
            Sugared::Module(module) => return self.module_iterable(module, at),
            Sugared::Range(_) | Sugared::Tree(_) | Sugared::Tuple(_) => return Ok(sugared),
            Sugared::Enum(ty) => return Ok(self.enum_members(&ty, at)),
            other => {
                return Err(
                    self.error(at, format!("{} cannot be used as an iterable", other.kind()))
                );
            }
        };
        match self.graph.ty(value) {
            Type::List(_) | Type::Str | Type::Tensor | Type::TensorOf(_) => {
                Ok(Sugared::Simple(value))
            }
            Type::Dict(_) => {
                Ok(Sugared::Simple(self.operator(Some(at), "aten::keys", &[value])?))
            }
            Type::Tuple(_) => Ok(Sugared::Tuple(
                self.unpack_tuple(value).into_iter().map(Sugared::Simple).collect(),
            )),
            other => {
                let message = format!("'{}' object is not iterable", other.message_text());
                Err(self.error(at, message))
            }
        }
    }

    fn enum_members(&mut self, ty: &Type, at: Range) -> Sugared {
        let count = match ty {
            Type::Enum(of) => of.members.len() as u32,
            _ => 0,
        };
        let members = (0..count).map(|index| Constant::Enum(ty.clone(), index)).collect();
        let list = Constant::List(ty.clone(), members);
        Sugared::Simple(self.constant(&list, Some(at)))
    }

    /// How many turns a loop over an iterable takes.
    pub(super) fn length(&mut self, iterable: &Sugared, at: Range) -> Result<ValueId, Error> {
        match iterable {
            Sugared::Simple(value) => match self.graph.ty(*value) {
                Type::List(_) | Type::Str | Type::Tensor | Type::TensorOf(_) => {
                    self.operator(Some(at), "aten::len", &[*value])
                }
                other => {
                    let message = format!("'{}' object is not iterable", other.message_text());
                    Err(self.error(at, message))
                }
            },
            Sugared::Range(counter) => match counter.fixed {
                Some(length) => Ok(self.int(length as i64, at)),
                None if counter.only_end => Ok(counter.end),
                None => {
                    let inputs = [counter.start, counter.end, counter.step];
                    self.operator(Some(at), "aten::__range_length", &inputs)
                }
            },
            Sugared::Tree(tree) => {
                let mut lengths = Vec::new();
                self.leaf_lengths(tree, at, &mut lengths)?;
                let list = self.list(Type::Int, &lengths);
                self.operator(Some(at), "prim::min", &[list])
            }
            other => Err(self.error(at, format!("{} has no length", other.kind()))),
        }
    }

    fn leaf_lengths(
        &mut self,
        tree: &Tree,
        at: Range,
        lengths: &mut Vec<ValueId>,
    ) -> Result<(), Error> {
        for child in &tree.children {
            match child {
                Sugared::Tree(inner) => self.leaf_lengths(inner, at, lengths)?,
                leaf => lengths.push(self.length(leaf, at)?),
            }
        }
        Ok(())
    }

    /// An element of an iterable or a container.
    pub(super) fn element(
        &mut self,
        of: &Sugared,
        at: Range,
        index: ValueId,
        hint: Option<&Type>,
    ) -> Result<Sugared, Error> {
        match of {
            Sugared::Simple(value) => self.value_element(*value, at, index, hint),
            Sugared::Module(module) => self.module_element(*module, at, index, hint),
            Sugared::Range(counter) if counter.only_end => Ok(Sugared::Simple(index)),
            Sugared::Range(counter) => {
                let inputs = [index, counter.start, counter.step];
                let element = self.operator(Some(at), "aten::__derive_index", &inputs)?;
                Ok(Sugared::Simple(element))
            }
            Sugared::Tree(tree) => {
                let tree = Arc::clone(tree);
                let children = tree.children.iter();
                let elements: Result<Arc<[Sugared]>, Error> =
                    children.map(|child| self.element(child, at, index, None)).collect();
                elements.map(Sugared::Tuple)
            }
            Sugared::Tuple(elements) => match self.graph.constant(index) {
                Some(Constant::Int(index)) => {
                    let count = elements.len() as i64;
                    let adjusted = if index < 0 { index + count } else { index };
                    let element = usize::try_from(adjusted).ok().and_then(|at| elements.get(at));
                    element.cloned().ok_or_else(|| {
                        let message = format!("Index {index} out of range of length {count}");
                        self.error(at, message)
                    })
                }
                _ => Err(self.error(
                    at,
                    "Expected integer literal for index but got a variable or non-integer. \
                     ModuleList/Sequential indexing is only supported with integer literals. For \
                     example, 'i = 4; self.layers[i](x)' will fail because i is not a literal. \
                     Enumeration is supported, e.g. 'for index, v in enumerate(self): out = \
                     v(inp)'",
                )),
            },
            other => {
                let message = format!("'{}' object is not subscriptable", other.kind());
                Err(self.error(at, message))
            }
        }
    }

    fn value_element(
        &mut self,
        value: ValueId,
        at: Range,
        index: ValueId,
        hint: Option<&Type>,
    ) -> Result<Sugared, Error> {
        match self.graph.ty(value).clone() {
            Type::List(_) | Type::Str | Type::Dict(_) => {
                let element = self.operator(Some(at), "aten::__getitem__", &[value, index])?;
                Ok(Sugared::Simple(element))
            }
            Type::Tensor | Type::TensorOf(_) => {
                let inputs = [
                    ArgumentValue::Value(value),
                    ArgumentValue::Default(Constant::Int(0)),
                    ArgumentValue::Value(index),
                ];
                let arguments = Arguments::positional(&inputs);
                self.call_operator(Some(at), "aten::select", arguments).map(Sugared::Simple)
            }
            Type::Class(class) => {
                let id = self.class_of(&class)?;
                let is_module = self.unit.class(id).is_module;
                if let Some(hint) = hint.filter(|_| is_module) {
                    let inputs = &[value, index];
                    let element =
                        self.insert_at(Prim::ModuleContainerIndex, inputs, hint.clone(), at);
                    return Ok(Sugared::Simple(element));
                }
                let getter =
                    self.attribute(Sugared::Simple(value), at, &Arc::from("__getitem__"))?;
                self.call(getter, at, &[ArgumentValue::Value(index)], &[])
            }
            other => {
                let message = format!("'{}' object is not subscriptable", other.message_text());
                Err(self.error(at, message))
            }
        }
    }

    /// `range(…)`
    pub(super) fn counter(
        &mut self,
        at: Range,
        inputs: &[ValueId],
        fixed: Option<usize>,
    ) -> Result<Counter, Error> {
        for (index, &input) in inputs.iter().enumerate() {
            if *self.graph.ty(input) != Type::Int {
                let message = format!(
                    "all inputs of range must be ints, found {} in argument {index}",
                    self.type_text(input)
                );
                return Err(self.error(at, message));
            }
        }
        match *inputs {
            [] => Err(self.error(at, "range expected at least 1 arguments, got 0")),
            [end] => {
                let start = self.int(0, at);
                let step = self.int(1, at);
                Ok(Counter { start, end, step, only_end: true, fixed })
            }
            [start, end] => {
                let step = self.int(1, at);
                Ok(Counter { start, end, step, only_end: false, fixed })
            }
            [start, end, step] => Ok(Counter { start, end, step, only_end: false, fixed }),
            _ => {
                let message = format!("range expected at most 3 arguments, got {}", inputs.len());
                Err(self.error(at, message))
            }
        }
    }

    /// Iterables side by side; as long as the shortest.
    pub(super) fn tree(&mut self, at: Range, children: Vec<Sugared>) -> Result<Sugared, Error> {
        let mut fixed = None;
        for (index, child) in children.iter().enumerate() {
            let length = child.unrolled_length();
            fixed = match (index, fixed, length) {
                (0, ..) => length,
                (_, Some(a), Some(b)) => Some(a.min(b)),
                (_, None, None) => None,
                _ => {
                    return Err(self.error(
                        at,
                        "Can not iterate over a module list or tuple with a value that does not \
                         have a statically determinable length\n",
                    ));
                }
            };
        }
        Ok(Sugared::Tree(Arc::new(Tree { children, fixed })))
    }
}
