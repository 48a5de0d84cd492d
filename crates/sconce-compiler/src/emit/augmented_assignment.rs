//! `target op= value`

use std::sync::Arc;

use sconce_ir::{Type, ValueId};
use sconce_syntax::Range;
use sconce_syntax::ast::{BinaryOp, Expr, ExprKind};

use super::Emitter;
use crate::Error;
use crate::emit::matching::{ArgumentValue, Arguments};

/// An operator before `=`: for tensors and lists, for all others, and the methods of objects.
struct Augmented {
    op: BinaryOp,
    in_place: &'static str,
    plain: &'static str,
    methods: Option<(&'static str, &'static str)>,
}

const fn augmented(
    op: BinaryOp,
    in_place: &'static str,
    plain: &'static str,
    methods: Option<(&'static str, &'static str)>,
) -> Augmented {
    Augmented { op, in_place, plain, methods }
}

const AUGMENTED: &[Augmented] = &[
    augmented(BinaryOp::Add, "aten::add_", "aten::add", Some(("__iadd__", "__add__"))),
    augmented(BinaryOp::Sub, "aten::sub_", "aten::sub", Some(("__isub__", "__sub__"))),
    augmented(BinaryOp::Div, "aten::div_", "aten::div", Some(("__itruediv__", "__truediv__"))),
    augmented(BinaryOp::Mul, "aten::mul_", "aten::mul", Some(("__imul__", "__mul__"))),
    augmented(BinaryOp::Mod, "aten::fmod_", "aten::fmod", Some(("__imod__", "__mod__"))),
    augmented(BinaryOp::BitOr, "aten::bitwise_or", "aten::__or__", None),
    augmented(BinaryOp::BitAnd, "aten::bitwise_and", "aten::__and__", None),
    augmented(BinaryOp::BitXor, "aten::bitwise_xor", "aten::__xor__", None),
    augmented(BinaryOp::LShift, "aten::__ilshift__", "aten::__lshift__", None),
    augmented(BinaryOp::RShift, "aten::__irshift__", "aten::__rshift__", None),
    augmented(BinaryOp::Pow, "aten::pow", "aten::pow", None),
];

impl Emitter<'_> {
    /// `target op= value`
    pub(super) fn augment(
        &mut self,
        at: Range,
        target: &Expr,
        op: BinaryOp,
        value: &Expr,
    ) -> Result<(), Error> {
        let Some(op) = AUGMENTED.iter().find(|augmented| augmented.op == op) else {
            return Err(self.error(at, "Unknown augmented assignment"));
        };
        match &target.kind {
            ExprKind::Name(name) => {
                let before = self.expression(target, None)?;
                let after = self.augmented_value(at, op, before, value)?;
                self.set_variable(target.range, &name.name, after)
            }
            ExprKind::Attribute { value: object, name } => {
                let object = self.sugared(object, None)?;
                let before = self.attribute(object.clone(), target.range, &name.name)?;
                let before = self.as_value(before, target.range)?;
                let after = self.augmented_value(at, op, before, value)?;
                self.set_attribute(&object, at, &name.name, after)
            }
            ExprKind::Subscript { value: container, indices } => {
                self.augment_subscript(at, op, target, container, indices, value)
            }
            _ => {
                let message = "unexpected expression on left-hand side of augmented assignment";
                Err(self.error(target.range, message))
            }
        }
    }

    fn operator_for(&self, op: &Augmented, ty: &Type) -> &'static str {
        if ty.is_tensor() || matches!(ty, Type::List(_)) { op.in_place } else { op.plain }
    }

    fn augmented_value(
        &mut self,
        at: Range,
        op: &Augmented,
        before: ValueId,
        value: &Expr,
    ) -> Result<ValueId, Error> {
        let Type::Class(class) = self.graph.ty(before).clone() else {
            let value = self.expression(value, None)?;
            let symbol = self.operator_for(op, self.graph.ty(before));
            return self.operator(Some(at), symbol, &[before, value]);
        };
        let Some((in_place, plain)) = op.methods else {
            return Err(self.error(at, "Unknown augmented assignment"));
        };
        let value = self.expression(value, None)?;
        let id = self.class_of(&class)?;
        let methods = [in_place, plain];
        let method = methods.iter().find(|name| self.unit.find_method(id, name).is_some());
        let Some(method) = method else {
            let message = format!(
                "Cannot emit inplace op on {} since it does not define an {in_place} or {plain} \
                 method",
                self.type_text(before)
            );
            return Err(self.error(at, message));
        };
        let passed = [ArgumentValue::Value(value)];
        let result = self.call_method(before, &Arc::from(*method), Some(at), &passed, &[])?;
        self.as_value(result, at)
    }

    fn augment_subscript(
        &mut self,
        at: Range,
        op: &Augmented,
        target: &Expr,
        container: &Expr,
        indices: &[Expr],
        value: &Expr,
    ) -> Result<(), Error> {
        let container = self.expression(container, None)?;
        if !self.is_tensor(container) {
            return self.augment_item(at, op, target, container, indices, value);
        }
        let (sliced, tensors) = self.apply_indices(target.range, container, indices)?;
        let value = self.expression(value, None)?;
        let symbol = self.operator_for(op, self.graph.ty(container));
        let passed = [ArgumentValue::Value(value)];
        if tensors.is_empty() {
            let sliced = ArgumentValue::Value(sliced);
            let arguments =
                Arguments { positional: &passed, keywords: &[], receiver: Some(&sliced) };
            self.call_operator(Some(at), symbol, arguments)?;
            return Ok(());
        }
        let indices = self.list(Type::optional(Type::Tensor), &tensors);
        let indexed = self.operator(Some(at), "aten::index", &[sliced, indices])?;
        let indexed = ArgumentValue::Value(indexed);
        let arguments = Arguments { positional: &passed, keywords: &[], receiver: Some(&indexed) };
        let result = self.call_operator(Some(at), symbol, arguments)?;
        self.operator(Some(at), "aten::index_put_", &[sliced, indices, result])?;
        Ok(())
    }

    fn augment_item(
        &mut self,
        at: Range,
        op: &Augmented,
        target: &Expr,
        container: ValueId,
        indices: &[Expr],
        value: &Expr,
    ) -> Result<(), Error> {
        let ty = self.graph.ty(container).clone();
        let [index] = indices else {
            let message = format!(
                "Sliced expression not yet supported for {} augmented assignment. File a bug if \
                 you want this",
                ty.message_text()
            );
            return Err(self.error(target.range, message));
        };
        let element = match &ty {
            Type::List(element) => (**element).clone(),
            // The key's type, as in PyTorch.
            Type::Dict(of) => of.0.clone(),
            _ => {
                let message =
                    format!("{} does not support augmented assignment.", ty.message_text());
                return Err(self.error(target.range, message));
            }
        };
        let index = self.expression(index, None)?;
        let value = self.expression(value, None)?;
        let at = Some(at);
        let item = self.operator(at, "aten::__getitem__", &[container, index])?;
        let symbol = self.operator_for(op, &element);
        let item = self.operator(at, symbol, &[item, value])?;
        self.operator(at, "aten::_set_item", &[container, index, item])?;
        Ok(())
    }
}
