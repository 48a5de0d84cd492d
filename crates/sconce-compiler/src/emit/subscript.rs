//! `x[…]`: elements, slices and tensor indexing, and assignments to them.

use std::sync::Arc;

use sconce_ir::{Constant, Prim, Type, ValueId};
use sconce_syntax::Range;
use sconce_syntax::ast::{Expr, ExprKind};

use super::Emitter;
use super::sugared::{SliceObject, Sugared};
use crate::Error;
use crate::emit::matching::{ArgumentValue, Arguments, Keyword, convertible_to_list};

/// The parts of `start:stop:step`.
struct Slice {
    start: Option<ValueId>,
    stop: Option<ValueId>,
    step: Option<ValueId>,
}

/// What has been found out about one index of several.
#[derive(Clone, Copy)]
struct Index {
    dim: i64,
    value: Option<ValueId>,
    /// The slice that it is, where that has a name.
    object: Option<SliceObject>,
}

impl From<SliceObject> for Slice {
    fn from(object: SliceObject) -> Self {
        let SliceObject { start, stop, step } = object;
        Self { start: Some(start), stop: Some(stop), step: Some(step) }
    }
}

impl Emitter<'_> {
    /// `container[indices]`
    pub(super) fn subscript(
        &mut self,
        at: Range,
        container: &Expr,
        indices: &[Expr],
        hint: Option<&Type>,
    ) -> Result<Sugared, Error> {
        let sugared = self.sugared(container, None)?;
        let [index] = indices else {
            let value = self.as_value(sugared, container.range)?;
            return self.index_tensor(at, value, indices).map(Sugared::Simple);
        };
        if let ExprKind::Slice { .. } = index.kind {
            let value = match sugared {
                Sugared::Module(module) => {
                    let modules = self.module_tuple(module, container.range)?;
                    self.as_value(Sugared::Tuple(modules.into()), container.range)?
                }
                other => self.as_value(other, container.range)?,
            };
            let dim = self.is_tensor(value).then(|| self.int(0, at));
            let slice = self.slice_parts(index)?;
            return self.slice(at, value, dim, slice).map(Sugared::Simple);
        }
        let value = self.as_value(sugared.clone(), container.range)?;
        let index = self.sugared(index, None)?;
        if let Sugared::Slice(object) = index {
            let at = container.range;
            let dim = self.is_tensor(value).then(|| self.int(0, at));
            return self.slice(at, value, dim, object.into()).map(Sugared::Simple);
        }
        let index = self.as_value(index, container.range)?;
        if matches!(self.graph.ty(value), Type::Tuple(_)) {
            return self.index_tuple(at, value, index).map(Sugared::Simple);
        }
        if self.is_tensor(value) {
            return self.index_tensor(at, value, indices).map(Sugared::Simple);
        }
        self.element(&sugared, at, index, hint)
    }

    fn slice_parts(&mut self, slice: &Expr) -> Result<Slice, Error> {
        let ExprKind::Slice { start, stop, step } = &slice.kind else {
            return Ok(Slice { start: None, stop: None, step: None });
        };
        let mut part = |part: &Option<Box<Expr>>| match part {
            Some(part) => self.expression(part, None).map(Some),
            None => Ok(None),
        };
        Ok(Slice { start: part(start)?, stop: part(stop)?, step: part(step)? })
    }

    /// A slice of a tensor (along `dim`), tuple, list or string.
    fn slice(
        &mut self,
        at: Range,
        value: ValueId,
        dim: Option<ValueId>,
        slice: Slice,
    ) -> Result<ValueId, Error> {
        if let Type::Tuple(tuple) = self.graph.ty(value) {
            let types = tuple.elements.clone();
            return self.slice_tuple(at, value, &types, &slice);
        }
        let step = match slice.step {
            Some(step) => step,
            None => self.int(1, at),
        };
        let part = |value: Option<ValueId>| {
            value.map_or(ArgumentValue::Default(Constant::None), ArgumentValue::Value)
        };
        let mut passed = vec![ArgumentValue::Value(value)];
        passed.extend(dim.map(ArgumentValue::Value));
        passed.extend([part(slice.start), part(slice.stop), ArgumentValue::Value(step)]);
        self.call_operator(Some(at), "aten::slice", Arguments::positional(&passed))
    }

    // --- tuples --------------------------------------------------------------------------------

    fn index_tuple(&mut self, at: Range, tuple: ValueId, index: ValueId) -> Result<ValueId, Error> {
        let ty = self.graph.ty(tuple).clone();
        let Type::Tuple(elements) = &ty else { return Ok(tuple) };
        let elements = &elements.elements;
        if *self.graph.ty(index) != Type::Int {
            return Err(self.error(at, "tuple index must be an integer"));
        }
        let element = match self.graph.constant(index) {
            Some(Constant::Int(known)) => {
                let count = elements.len();
                let adjusted = if known < 0 { known.saturating_add(count as i64) } else { known };
                let found = usize::try_from(adjusted).ok().and_then(|index| elements.get(index));
                found.ok_or_else(|| {
                    let message = format!(
                        "Tuple index out of range. Tuple is length {count} and index is {known}"
                    );
                    self.error(at, message)
                })?
            }
            _ => match elements.first() {
                Some(first) if convertible_to_list(&ty, &Type::list(first.clone()), self.unit) => {
                    first
                }
                _ => {
                    let message = format!(
                        "Cannot index into a {} with a non-integer literal because we cannot \
                         resolve the output type",
                        ty.message_text()
                    );
                    return Err(self.error(at, message));
                }
            },
        };
        Ok(self.insert_with(Prim::TupleIndex, &[tuple, index], element.clone()))
    }

    fn slice_tuple(
        &mut self,
        at: Range,
        tuple: ValueId,
        types: &[Type],
        slice: &Slice,
    ) -> Result<ValueId, Error> {
        let step = slice.step.map(|step| self.slice_bound(at, step)).transpose()?;
        let start = slice.start.map(|start| self.slice_bound(at, start)).transpose()?;
        let stop = slice.stop.map(|stop| self.slice_bound(at, stop)).transpose()?;
        let step = step.unwrap_or(1);
        if step == 0 {
            return Err(self.error(at, "List index out of range"));
        }
        let mut taken = Vec::new();
        for index in slice_indices(types.len() as i64, start, stop, step) {
            let Some(ty) = usize::try_from(index).ok().and_then(|index| types.get(index)) else {
                break;
            };
            let index = self.constant(&Constant::Int(index), None);
            taken.push(self.insert_with(Prim::TupleIndex, &[tuple, index], ty.clone()));
        }
        self.tuple(at, &taken)
    }

    fn slice_bound(&self, at: Range, bound: ValueId) -> Result<i64, Error> {
        match self.graph.constant(bound) {
            Some(Constant::Int(bound)) => Ok(bound),
            _ => Err(self.error(at, "tuple slice indices must be integer constants")),
        }
    }

    // --- tensors -------------------------------------------------------------------------------

    /// A tensor at several indices: ints and slices first, then tensors together.
    pub(super) fn index_tensor(
        &mut self,
        at: Range,
        tensor: ValueId,
        indices: &[Expr],
    ) -> Result<ValueId, Error> {
        if !self.is_tensor(tensor) {
            let message = "Unsupported operation: attempted to use multidimensional indexing on a \
                           non-tensor type";
            return Err(self.error(at, message));
        }
        let (sliced, tensors) = self.apply_indices(at, tensor, indices)?;
        if tensors.is_empty() {
            return Ok(sliced);
        }
        let indices = self.list(Type::optional(Type::Tensor), &tensors);
        self.operator(Some(at), "aten::index", &[sliced, indices])
    }

    /// A tensor with ints, slices and `None` applied, and the tensors that index what is left:
    /// `emitIntAndSliceIndexing`.
    pub(super) fn apply_indices(
        &mut self,
        at: Range,
        tensor: ValueId,
        indices: &[Expr],
    ) -> Result<(ValueId, Vec<ValueId>), Error> {
        let mut found = vec![Index { dim: 0, value: None, object: None }; indices.len()];
        let is_dots = |index: &Expr| matches!(index.kind, ExprKind::Dots);
        let dots = indices.iter().position(is_dots).unwrap_or(indices.len());
        let mut dim = 0;
        for (index, slot) in indices[..dots].iter().zip(&mut found) {
            *slot = self.look_at_index(at, index, dim)?;
            dim += self.forward_step(at, slot.value)?;
        }
        // Those after `...` are counted from the last dimension.
        let mut dim = -1;
        for position in (dots + 1..indices.len()).rev() {
            if is_dots(&indices[position]) {
                return Err(self.error(at, "An index can only have a single ellipsis ('...')"));
            }
            found[position] = self.look_at_index(at, &indices[position], dim)?;
            dim -= self.backward_step(at, found[position].value)?;
        }
        let mut sliced = tensor;
        let mut tensors: Vec<Option<ValueId>> = Vec::new();
        for (expression, index) in indices.iter().zip(&found) {
            sliced = self.apply_index(at, sliced, expression, *index, &mut tensors)?;
        }
        let tensors = tensors.into_iter().map(|tensor| tensor.unwrap_or_else(|| self.none()));
        Ok((sliced, tensors.collect()))
    }

    fn look_at_index(&mut self, at: Range, index: &Expr, dim: i64) -> Result<Index, Error> {
        if let ExprKind::Slice { .. } = index.kind {
            return Ok(Index { dim, value: None, object: None });
        }
        // PyTorch emits it twice: to see whether it is a slice object, and for its value.
        if let Sugared::Slice(object) = self.sugared(index, None)? {
            return Ok(Index { dim, value: None, object: Some(object) });
        }
        let mut value = self.expression(index, None)?;
        if matches!(self.graph.ty(value), Type::List(_)) {
            const LONG: i64 = 4;
            let dtype = ArgumentValue::Default(Constant::Int(LONG));
            let keywords = [Keyword { name: "dtype".into(), value: dtype }];
            let positional = [ArgumentValue::Value(value)];
            let arguments =
                Arguments { positional: &positional, keywords: &keywords, receiver: None };
            value = self.call_operator(None, "aten::tensor", arguments)?;
        }
        let ty = self.graph.ty(value);
        let is_index =
            *ty == Type::Int || ty.is_subtype_of(&Type::optional(Type::Tensor), self.unit);
        if !is_index {
            let message = format!(
                "Unsupported operation: indexing tensor with unsupported index type '{}'. Only \
                 ints, slices, lists and tensors are supported",
                ty.message_text()
            );
            return Err(self.error(at, message));
        }
        Ok(Index { dim, value: Some(value), object: None })
    }

    /// How far an index moves the dimension that the next one applies to.
    fn forward_step(&self, _at: Range, value: Option<ValueId>) -> Result<i64, Error> {
        Ok(match value {
            Some(value) if *self.graph.ty(value) == Type::Int => 0,
            _ => 1,
        })
    }

    fn backward_step(&self, at: Range, value: Option<ValueId>) -> Result<i64, Error> {
        match value.map(|value| self.graph.ty(value)) {
            None | Some(Type::Int) => Ok(1),
            Some(Type::None) => Ok(0),
            Some(_) => {
                Err(self
                    .error(at, "Ellipses followed by tensor indexing is currently not supported"))
            }
        }
    }

    fn apply_index(
        &mut self,
        at: Range,
        sliced: ValueId,
        expression: &Expr,
        index: Index,
        tensors: &mut Vec<Option<ValueId>>,
    ) -> Result<ValueId, Error> {
        let Some(value) = index.value else {
            if let Some(object) = index.object {
                let dim = self.int(index.dim, at);
                return self.slice(at, sliced, Some(dim), object.into());
            }
            if let ExprKind::Slice { .. } = expression.kind {
                let dim = self.int(index.dim, at);
                let slice = self.slice_parts(expression)?;
                return self.slice(at, sliced, Some(dim), slice);
            }
            return Ok(sliced);
        };
        match self.graph.ty(value) {
            Type::None => {
                let dim = self.int(index.dim, at);
                self.operator(Some(at), "aten::unsqueeze", &[sliced, dim])
            }
            Type::Int => {
                let dim = self.int(index.dim, at);
                self.operator(Some(at), "aten::select", &[sliced, dim, value])
            }
            _ => {
                let dim = usize::try_from(index.dim).unwrap_or(0);
                if tensors.len() <= dim {
                    tensors.resize(dim + 1, None);
                }
                tensors[dim] = Some(value);
                Ok(sliced)
            }
        }
    }

    // --- assignment ----------------------------------------------------------------------------

    /// `container[indices] = value`
    pub(super) fn assign_subscript(
        &mut self,
        at: Range,
        target: Range,
        container: &Expr,
        indices: &[Expr],
        value: ValueId,
    ) -> Result<(), Error> {
        let container_at = container.range;
        let container = self.expression(container, None)?;
        if self.is_tensor(container) {
            return self.assign_tensor(at, target, container, indices, value);
        }
        let index = match indices {
            [index] if !matches!(index.kind, ExprKind::Slice { .. }) => index,
            _ => {
                // From the bracket to the last index.
                let end = indices.last().map_or(target.end, |index| index.range.end);
                let at = Range::new(container_at.end, end);
                let message = "Sliced expression not yet supported for subscripted assignment. \
                               File a bug if you want this";
                return Err(self.error(at, message));
            }
        };
        if self.is_subtype(container, &Type::AnyTuple) {
            let message =
                format!("{} does not support subscripted assignment", self.type_text(container));
            return Err(self.error(target, message));
        }
        let index = self.expression(index, None)?;
        let passed = [container, index, value].map(ArgumentValue::Value);
        let base = Sugared::Builtin(Arc::from("aten::_set_item"), None);
        self.call_magic("__setitem__", base, at, &passed, &[]).map(drop)
    }

    fn assign_tensor(
        &mut self,
        at: Range,
        target: Range,
        tensor: ValueId,
        indices: &[Expr],
        value: ValueId,
    ) -> Result<(), Error> {
        let (sliced, tensors) = self.apply_indices(target, tensor, indices)?;
        let value = self.scalar_to_tensor(value, sliced)?;
        if tensors.is_empty() {
            self.operator(Some(at), "aten::copy_", &[sliced, value])?;
        } else {
            let indices = self.list(Type::optional(Type::Tensor), &tensors);
            self.operator(Some(at), "aten::index_put_", &[sliced, indices, value])?;
        }
        Ok(())
    }

    /// A scalar as a tensor of another's dtype, on its device.
    fn scalar_to_tensor(&mut self, value: ValueId, like: ValueId) -> Result<ValueId, Error> {
        let ty = self.graph.ty(value);
        if !matches!(ty, Type::Number | Type::Int | Type::Bool | Type::Float) {
            return Ok(value);
        }
        let dtype = self.operator(None, "prim::dtype", &[like])?;
        let device = self.operator(None, "prim::device", &[like])?;
        let keywords = [
            Keyword { name: "dtype".into(), value: ArgumentValue::Value(dtype) },
            Keyword { name: "device".into(), value: ArgumentValue::Value(device) },
        ];
        let positional = [ArgumentValue::Value(value)];
        let arguments = Arguments { positional: &positional, keywords: &keywords, receiver: None };
        self.call_operator(None, "aten::tensor", arguments)
    }
}

/// The indices that a slice of a sequence takes, as Python has it.
fn slice_indices(
    length: i64,
    start: Option<i64>,
    stop: Option<i64>,
    step: i64,
) -> impl Iterator<Item = i64> {
    let (low, high) = if step < 0 { (-1, length - 1) } else { (0, length) };
    let bound = |bound: i64| {
        let bound = if bound < 0 { bound.saturating_add(length) } else { bound };
        bound.clamp(low, high)
    };
    let first = start.map_or(if step < 0 { high } else { low }, bound);
    let end = stop.map_or(if step < 0 { low } else { high }, bound);
    let goes_on = move |index: &i64| if step < 0 { *index > end } else { *index < end };
    std::iter::successors(Some(first), move |index| index.checked_add(step)).take_while(goes_on)
}

#[cfg(test)]
mod tests {
    use super::slice_indices;

    #[test]
    fn slices_are_pythons() {
        let cases = [
            ((None, None, 1), vec![0, 1, 2, 3]),
            ((Some(1), None, 1), vec![1, 2, 3]),
            ((Some(-2), Some(10), 1), vec![2, 3]),
            ((None, None, -1), vec![3, 2, 1, 0]),
            ((None, None, 3), vec![0, 3]),
            ((Some(3), Some(1), -1), vec![3, 2]),
            ((Some(2), Some(1), 1), vec![]),
        ];
        for ((start, stop, step), expected) in cases {
            let found: Vec<i64> = slice_indices(4, start, stop, step).collect();
            assert_eq!(found, expected, "{start:?}:{stop:?}:{step}");
        }
    }
}
