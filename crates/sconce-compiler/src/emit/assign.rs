//! Assignments, and `del`.

use std::sync::Arc;

use sconce_ir::{Kind, Type};
use sconce_syntax::Range;
use sconce_syntax::ast::{Expr, ExprKind, Ident};

use super::Emitter;
use super::sugared::Sugared;
use crate::Error;
use crate::emit::matching::ArgumentValue;

impl Emitter<'_> {
    /// `a = value`, `a: T = value`, `a = b = value`
    pub(super) fn assign(
        &mut self,
        at: Range,
        targets: &[Expr],
        value: Option<&Expr>,
        annotation: Option<&Expr>,
    ) -> Result<(), Error> {
        let Some(value) = value else {
            let message = "For an assignment, expected an expression on the right-hand side";
            return Err(self.error(at, message));
        };
        if let [target] = targets {
            return self.assign_one(at, target, value, annotation);
        }
        // Evaluated once, then assigned from left to right.
        let temporary = self.temporary("$tmp_assign_");
        let sugared = self.sugared(value, None)?;
        self.set_sugared(value.range, &temporary, sugared, None)?;
        let name = ExprKind::Name(Ident { name: temporary, range: value.range });
        let value = Expr { kind: name, range: value.range };
        targets.iter().try_for_each(|target| self.assign_one(at, target, &value, None))
    }

    fn assign_one(
        &mut self,
        at: Range,
        target: &Expr,
        value: &Expr,
        annotation: Option<&Expr>,
    ) -> Result<(), Error> {
        match &target.kind {
            ExprKind::Name(name) => {
                let ty = annotation.map(|annotation| self.annotation(annotation)).transpose()?;
                let sugared = self.sugared(value, ty.as_ref())?;
                let sugared = self.with_legacy_packing(sugared)?;
                self.set_sugared(target.range, &name.name, sugared, ty)
            }
            ExprKind::Tuple(targets) => {
                let (starred, count) = self.check_targets(targets, target.range)?;
                let sugared = self.sugared(value, None)?;
                self.assign_tuple(target.range, targets, &sugared, value.range, count, starred)
            }
            ExprKind::Attribute { value: object, name } => {
                let hint = annotation.map(|annotation| self.annotation(annotation)).transpose()?;
                let object = self.sugared(object, None)?;
                let sugared = self.sugared(value, hint.as_ref())?;
                let value = self.as_value(sugared, value.range)?;
                self.set_attribute(&object, at, &name.name, value)
            }
            ExprKind::Subscript { value: container, indices } => {
                let value = self.expression(value, None)?;
                self.assign_subscript(at, target.range, container, indices, value)
            }
            _ => {
                Err(self
                    .error(target.range, "unexpected expression on left-hand side of assignment"))
            }
        }
    }

    /// Old quantized RNNs keep packed weights as tensors: their prepack operator has another name
    /// now.
    fn with_legacy_packing(&mut self, sugared: Sugared) -> Result<Sugared, Error> {
        const OWNER: &str =
            "__torch__.torch.nn.quantized.dynamic.modules.rnn.PackedParameter.__setstate__";
        if self.name != OWNER {
            return Ok(sugared);
        }
        let Some(value) = sugared.simple() else { return Ok(sugared) };
        let node = self.graph.node(self.graph.value(value).node());
        if node.kind.symbol() != "quantized::linear_prepack" {
            return Ok(sugared);
        }
        let inputs = node.inputs().to_vec();
        let range = node.range.clone();
        let value = self.operator(None, "quantized::linear_prepack_legacy", &inputs)?;
        let made = self.graph.value(value).node();
        self.graph.node_mut(made).range = range;
        Ok(Sugared::Simple(value))
    }

    /// Whether one of the targets is starred, and how many are not.
    fn check_targets(&self, targets: &[Expr], at: Range) -> Result<(bool, usize), Error> {
        let (mut plain, mut starred) = (0, 0);
        for target in targets {
            match target.kind {
                ExprKind::Name(_)
                | ExprKind::Subscript { .. }
                | ExprKind::Tuple(_)
                | ExprKind::Attribute { .. } => plain += 1,
                ExprKind::Starred(_) => starred += 1,
                _ => {
                    let message =
                        "lhs of assignment must be a variable, subscript, or starred expression";
                    return Err(self.error(target.range, message));
                }
            }
        }
        if starred > 1 {
            return Err(self.error(at, "Only one starred expression is allowed on the lhs"));
        }
        if starred > 0 && plain == 0 {
            return Err(self.error(
                at,
                "A Starred expression may only appear on the lhs within the presence of another \
                 non-starred expression",
            ));
        }
        Ok((starred > 0, plain))
    }

    /// The targets of a `for`, more than one as a tuple.
    pub(super) fn assign_loop_targets(
        &mut self,
        at: Range,
        targets: &[Expr],
        element: Sugared,
    ) -> Result<(), Error> {
        let (starred, count) = self.check_targets(targets, at)?;
        if targets.len() > 1 {
            return self.assign_tuple(at, targets, &element, at, count, starred);
        }
        self.assign_each(targets, &[element], at, 1)
    }

    fn assign_tuple(
        &mut self,
        at: Range,
        targets: &[Expr],
        value: &Sugared,
        value_at: Range,
        count: usize,
        starred: bool,
    ) -> Result<(), Error> {
        let values = self.as_tuple(value, value_at, (!starred).then_some(count))?;
        let found = values.len();
        if found < count {
            let least = if starred { "at least " } else { "" };
            let message = format!("need {least}{count} values to unpack but found only {found}");
            return Err(self.error(at, message));
        }
        if found > count && !starred {
            let message = format!("too many values to unpack: need {count} but found {found}");
            return Err(self.error(at, message));
        }
        self.assign_each(targets, &values, value_at, count)
    }

    /// Each target one of the values, a starred one those that are left.
    pub(super) fn assign_each(
        &mut self,
        targets: &[Expr],
        values: &[Sugared],
        at: Range,
        count: usize,
    ) -> Result<(), Error> {
        let mut rest = values;
        for target in targets {
            if let ExprKind::Starred(variable) = &target.kind {
                let (taken, left) = rest.split_at((values.len() - count).min(rest.len()));
                rest = left;
                self.assign_starred(target.range, variable, taken)?;
                continue;
            }
            let Some((value, left)) = rest.split_first() else {
                return Err(self.error(target.range, "unexpected expression on the left-hand side"));
            };
            rest = left;
            self.assign_target(target, value.clone(), at)?;
        }
        Ok(())
    }

    fn assign_starred(
        &mut self,
        at: Range,
        variable: &Expr,
        values: &[Sugared],
    ) -> Result<(), Error> {
        let ExprKind::Name(name) = &variable.kind else {
            return Err(self.error(variable.range, "Cannot pack a tuple into a non-variable"));
        };
        let mut packed = Vec::with_capacity(values.len());
        for value in values {
            packed.push(self.as_value(value.clone(), at)?);
        }
        let tuple = self.tuple(at, &packed)?;
        self.set_variable(variable.range, &name.name, tuple)
    }

    fn assign_target(&mut self, target: &Expr, value: Sugared, at: Range) -> Result<(), Error> {
        match &target.kind {
            ExprKind::Name(name) => self.set_sugared(target.range, &name.name, value, None),
            ExprKind::Subscript { value: container, indices } => {
                let value = self.as_value(value, at)?;
                self.assign_subscript(at, target.range, container, indices, value)
            }
            ExprKind::Tuple(targets) => {
                let (starred, count) = self.check_targets(targets, target.range)?;
                self.assign_tuple(target.range, targets, &value, at, count, starred)
            }
            ExprKind::Attribute { value: object, name } => {
                let object = self.sugared(object, None)?;
                let value = self.as_value(value, at)?;
                self.set_attribute(&object, at, &name.name, value)
            }
            _ => Err(self.error(target.range, "unexpected expression on the left-hand side")),
        }
    }

    /// `del targets`
    pub(super) fn delete(&mut self, at: Range, targets: &[Expr]) -> Result<(), Error> {
        for target in targets {
            match &target.kind {
                ExprKind::Name(name) => self.remove_variable(name)?,
                ExprKind::Subscript { value, indices } => {
                    self.delete_item(at, target.range, value, indices)?;
                }
                _ => {
                    let message = "del statements are only supported for deleting list and dict \
                                   items and variables";
                    return Err(self.error(target.range, message));
                }
            }
        }
        Ok(())
    }

    fn delete_item(
        &mut self,
        at: Range,
        target: Range,
        container: &Expr,
        indices: &[Expr],
    ) -> Result<(), Error> {
        let index = match indices.first() {
            Some(index) if !matches!(index.kind, ExprKind::Slice { .. }) => index,
            _ => {
                let message = "del statements only support deletion at a single index, slicing is \
                               not supported (see https://github.com/pytorch/pytorch/issues/31430)";
                return Err(self.error(target, message));
            }
        };
        let sugared = self.sugared(container, None)?;
        let index = self.expression(index, None)?;
        let value = self.as_value(sugared, container.range)?;
        let Type::Class(class) = self.graph.ty(value).clone() else {
            let node = self.insert(Kind::Op("aten::Delete".into()), &[value, index]);
            self.set_range(node, target);
            return Ok(());
        };
        let id = self.class_of(&class)?;
        if self.unit.find_method(id, "__delitem__").is_none() {
            return Err(self.error(target, "Class does not define __delitem__"));
        }
        let index = [ArgumentValue::Value(index)];
        self.call_method(value, &Arc::from("__delitem__"), Some(at), &index, &[]).map(drop)
    }
}
