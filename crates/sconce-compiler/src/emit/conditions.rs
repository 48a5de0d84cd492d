//! Conditions: `and`, `or`, `not`, `is None`, `isinstance`, and what they say about types.

use std::sync::Arc;

use sconce_ir::{Attribute, BlockId, Constant, Prim, Type, ValueId};
use sconce_syntax::Range;
use sconce_syntax::ast::{BinaryOp, Expr, ExprKind, UnaryOp};

use super::Emitter;
use super::refinement::{Condition, Refinement, Refinements};
use super::sugared::{SpecialForm, Sugared};
use crate::Error;
use crate::emit::matching::ArgumentValue;

/// Whether a value is `None`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OptionalState {
    Always,
    Maybe,
    Never,
}

impl Emitter<'_> {
    fn known_condition(&mut self, at: Range, known: bool, refinements: Refinements) -> Condition {
        let value = self.constant(&Constant::Bool(known), Some(at));
        Condition { value, refinements, known: Some(known) }
    }

    /// A condition: `emitCondExpr`.
    pub(super) fn condition(&mut self, expression: &Expr) -> Result<Condition, Error> {
        crate::nesting::with_stack(|| self.condition_here(expression))
    }

    fn condition_here(&mut self, expression: &Expr) -> Result<Condition, Error> {
        match &expression.kind {
            ExprKind::Binary { op: op @ (BinaryOp::And | BinaryOp::Or), left, right } => {
                self.short_circuit(expression.range, left, right, *op == BinaryOp::Or)
            }
            ExprKind::Unary { op: UnaryOp::Not, operand } => {
                let inner = self.condition(operand)?;
                let at = Some(expression.range);
                let value = self.operator(at, "aten::__not__", &[inner.value])?;
                Ok(Condition {
                    value,
                    refinements: inner.refinements.not(),
                    known: inner.known.map(|known| !known),
                })
            }
            ExprKind::Binary { op: op @ (BinaryOp::Is | BinaryOp::IsNot), left, right } => {
                self.identity(expression.range, left, right, *op == BinaryOp::Is)
            }
            ExprKind::Call { callee, args, kwargs } => {
                if let ExprKind::Name(name) = &callee.kind {
                    let form = match &*name.name {
                        "isinstance" => Some(SpecialForm::Isinstance),
                        "hasattr" => Some(SpecialForm::HasAttr),
                        _ => None,
                    };
                    if let Some(form) = form {
                        self.check_count(expression, callee, args, kwargs, 2..=2)?;
                        return match form {
                            SpecialForm::HasAttr => {
                                self.has_attribute_condition(&args[0], &args[1])
                            }
                            _ => self.isinstance(&args[0], &args[1]),
                        };
                    }
                }
                // PyTorch looks at the callee here and emits it once more below.
                let callee_value = self.sugared(callee, None)?;
                if let Sugared::SpecialForm(SpecialForm::Isinstance) = callee_value {
                    self.check_count(expression, callee, args, kwargs, 2..=2)?;
                    return self.isinstance(&args[0], &args[1]);
                }
                self.plain_condition(expression)
            }
            _ => self.plain_condition(expression),
        }
    }

    fn plain_condition(&mut self, expression: &Expr) -> Result<Condition, Error> {
        let value = self.expression(expression, None)?;
        let value = self.truth(expression.range, value)?;
        let maker = self.graph.node(self.graph.value(value).node());
        let known = match maker.kind.symbol() {
            "aten::is_scripting" => Some(true),
            "aten::has_torch_function" => Some(false),
            _ => match self.graph.constant(value) {
                Some(Constant::Bool(known)) => Some(known),
                _ => None,
            },
        };
        Ok(Condition { value, refinements: Refinements::default(), known })
    }

    /// `bool(value)`
    pub(super) fn truth(&mut self, at: Range, value: ValueId) -> Result<ValueId, Error> {
        let cast = self
            .named(&Arc::from("bool"), at)
            .and_then(|cast| self.call(cast, at, &[ArgumentValue::Value(value)], &[]))
            .ok()
            .and_then(|cast| cast.simple());
        let Some(cast) = cast else {
            let message = format!("Could not cast value of type {} to bool", self.type_text(value));
            return Err(self.error(at, message));
        };
        if self.is_subtype(cast, &Type::Bool) {
            return Ok(cast);
        }
        let message =
            format!("expected a bool expression for condition but found {}", self.type_text(cast));
        Err(self.error(at, message))
    }

    fn noneness(&self, value: ValueId) -> OptionalState {
        let ty = self.graph.ty(value);
        let node = self.graph.node(self.graph.value(value).node());
        let is_bare = node.is(Prim::Constant) && node.attributes().next().is_none();
        let is_alone = node.outputs().len() == 1 && *ty == Type::None;
        match ty {
            _ if is_alone => OptionalState::Always,
            Type::Optional(_) if is_bare => OptionalState::Always,
            Type::Optional(_) => OptionalState::Maybe,
            Type::Union(members) if members.contains(&Type::None) => OptionalState::Maybe,
            _ => OptionalState::Never,
        }
    }

    /// `left is right`, `left is not right`
    fn identity(
        &mut self,
        at: Range,
        left: &Expr,
        right: &Expr,
        is: bool,
    ) -> Result<Condition, Error> {
        let left_value = self.expression(left, None)?;
        let right_value = self.expression(right, None)?;
        match (self.noneness(left_value), self.noneness(right_value)) {
            (OptionalState::Always, OptionalState::Always) => {
                Ok(self.known_condition(at, is, Refinements::default()))
            }
            (OptionalState::Always, OptionalState::Never)
            | (OptionalState::Never, OptionalState::Always) => {
                Ok(self.known_condition(at, !is, Refinements::default()))
            }
            _ => {
                let symbol = if is { "aten::__is__" } else { "aten::__isnot__" };
                let value = self.operator(Some(at), symbol, &[left_value, right_value])?;
                let present = match (&left.kind, &right.kind) {
                    (ExprKind::Name(name), ExprKind::None) => self.present(&name.name, left_value),
                    (ExprKind::None, ExprKind::Name(name)) => self.present(&name.name, right_value),
                    _ => Vec::new(),
                };
                let refinements = Refinements { when_true: present, when_false: Vec::new() };
                let refinements = if is { refinements.not() } else { refinements };
                Ok(Condition { value, refinements, known: None })
            }
        }
    }

    /// What is known of a variable that is not `None`.
    fn present(&self, name: &Arc<str>, value: ValueId) -> Vec<Refinement> {
        let ty = match self.graph.ty(value) {
            Type::Optional(of) => (**of).clone(),
            union @ Type::Union(_) => match union.subtract(&[Type::None], self.unit) {
                Some(ty) => ty,
                None => return Vec::new(),
            },
            _ => return Vec::new(),
        };
        vec![Refinement { name: Arc::clone(name), ty }]
    }

    fn short_circuit(
        &mut self,
        at: Range,
        first: &Expr,
        second: &Expr,
        is_or: bool,
    ) -> Result<Condition, Error> {
        let left = self.condition(first)?;
        let mut right = None;
        let mut shortcut =
            |emitter: &mut Self| Ok(emitter.constant(&Constant::Bool(is_or), Some(at)));
        let mut go_on = |emitter: &mut Self| {
            let condition = emitter.condition(second)?;
            let value = condition.value;
            right = Some(condition);
            Ok(value)
        };
        let value = if is_or {
            self.if_expression(at, &left, &mut shortcut, &mut go_on)?
        } else {
            self.if_expression(at, &left, &mut go_on, &mut shortcut)?
        };
        let Some(right) = right else { return Err(self.error(at, "condition without a value")) };
        let refinements = if is_or {
            left.refinements.or(&right.refinements)
        } else {
            left.refinements.and(&right.refinements)
        };
        let known = match (left.known, right.known) {
            (Some(known), _) | (_, Some(known)) if known == is_or => Some(is_or),
            (_, Some(known)) if known == is_or => Some(is_or),
            (Some(_), Some(_)) => Some(!is_or),
            _ => None,
        };
        Ok(Condition { value, refinements, known })
    }

    /// `prim::If` with one output: ternaries, `and`, `or`.
    pub(super) fn if_expression(
        &mut self,
        at: Range,
        condition: &Condition,
        then: &mut dyn FnMut(&mut Self) -> Result<ValueId, Error>,
        otherwise: &mut dyn FnMut(&mut Self) -> Result<ValueId, Error>,
    ) -> Result<ValueId, Error> {
        let node = self.insert(Prim::If, &[condition.value]);
        self.set_range(node, at);
        let blocks = [self.graph.add_block(node), self.graph.add_block(node)];
        let refinements = &condition.refinements;
        let then = self.if_branch(at, blocks[0], &refinements.when_true, then)?;
        let otherwise = self.if_branch(at, blocks[1], &refinements.when_false, otherwise)?;
        let (then, otherwise) = (self.graph.ty(then).clone(), self.graph.ty(otherwise).clone());
        match Type::unify(&then, &otherwise, false, None, self.unit) {
            Some(unified) => Ok(self.graph.add_output(node, unified)),
            None => {
                let message = format!(
                    "if-expression's true branch has type {} but false branch has type {}",
                    then.message_text(),
                    otherwise.message_text()
                );
                Err(self.error(at, message))
            }
        }
    }

    fn if_branch(
        &mut self,
        at: Range,
        block: BlockId,
        refinements: &[Refinement],
        value: &mut dyn FnMut(&mut Self) -> Result<ValueId, Error>,
    ) -> Result<ValueId, Error> {
        self.push_frame(block);
        let value = self.in_block(block, |emitter| {
            emitter.refine(at, refinements)?;
            value(emitter)
        })?;
        self.graph.add_block_output(block, value);
        self.pop_frame();
        Ok(value)
    }

    /// Stores variables anew under the types they are now known to have.
    pub(super) fn refine(&mut self, at: Range, refinements: &[Refinement]) -> Result<(), Error> {
        for refinement in refinements {
            let value = self.variable_value(&refinement.name, at)?;
            let refined = self.unchecked_cast(value, refinement.ty.clone());
            self.set_variable(at, &refinement.name, refined)?;
        }
        Ok(())
    }

    pub(super) fn has_attribute_condition(
        &mut self,
        object: &Expr,
        name: &Expr,
    ) -> Result<Condition, Error> {
        let value = self.sugared(object, None)?;
        let ExprKind::Str(name) = &name.kind else {
            let message = "hasattr's second argument must be a string literal";
            return Err(self.error(name.range, message));
        };
        let known = self.has_attribute(&value, object.range, name)?;
        Ok(self.known_condition(object.range, known, Refinements::default()))
    }

    /// `isinstance(object, types)`
    pub(super) fn isinstance(&mut self, object: &Expr, types: &Expr) -> Result<Condition, Error> {
        let value = self.expression(object, None)?;
        let mut asked = Vec::new();
        self.gather_types(types, &mut asked)?;
        let asked = Type::union(&asked, self.unit).members();
        let ty = self.graph.ty(value).clone();
        let members = Type::union(std::slice::from_ref(&ty), self.unit).members();

        let (mut yes, mut no) = (Vec::new(), Vec::new());
        let mut always = true;
        for member in members {
            if member == Type::Any {
                yes.extend_from_slice(&asked);
                no.push(Type::Any);
                always &= yes == [Type::Any];
                break;
            }
            match self.narrowed(&member, &asked) {
                Some(found) => yes.push(found),
                None => {
                    no.push(member);
                    always = false;
                }
            }
        }
        let refinements = match &object.kind {
            ExprKind::Name(name) => Refinements {
                when_true: self.one_of(&name.name, &yes),
                when_false: self.one_of(&name.name, &no),
            },
            _ => Refinements::default(),
        };
        if always {
            return Ok(self.known_condition(object.range, true, refinements));
        }
        if yes.is_empty() {
            return Ok(self.known_condition(object.range, false, refinements));
        }
        let value = self.insert_with(Prim::Isinstance, &[value], Type::Bool);
        let node = self.graph.value(value).node();
        self.graph.node_mut(node).set_attribute("types", Attribute::Types(asked));
        Ok(Condition { value, refinements, known: None })
    }

    fn gather_types(&mut self, types: &Expr, into: &mut Vec<Type>) -> Result<(), Error> {
        if let ExprKind::Tuple(elements) = &types.kind {
            return elements.iter().try_for_each(|element| self.gather_types(element, into));
        }
        into.push(self.annotation(types)?);
        Ok(())
    }

    /// The narrowest type of a value of `member` that is of one of the types asked for.
    fn narrowed(&self, member: &Type, asked: &[Type]) -> Option<Type> {
        let mut found: Option<Type> = None;
        for ty in asked {
            if member.is_subtype_of(ty, self.unit) {
                found = Some(member.clone());
            } else if ty.is_subtype_of(member, self.unit) {
                let before = found.take();
                found = before
                    .and_then(|before| Type::unify(&before, ty, false, None, self.unit))
                    .or_else(|| Some(ty.clone()));
            }
        }
        found
    }

    fn one_of(&self, name: &Arc<str>, types: &[Type]) -> Vec<Refinement> {
        let unified = Type::unify_all(types, true, None, self.unit).ok();
        let refinement = unified.map(|ty| Refinement { name: Arc::clone(name), ty });
        refinement.into_iter().collect()
    }
}
