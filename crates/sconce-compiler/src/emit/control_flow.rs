//! `if`, `for`, `while`, `with`, `raise`, `assert`, `return`, `break` and `continue`.

use std::collections::BTreeSet;
use std::sync::Arc;

use sconce_ir::{BlockId, Constant, Prim, Type, ValueId};
use sconce_syntax::Range;
use sconce_syntax::ast::{Expr, ExprKind, Ident, Stmt, StmtKind, WithItem};

use super::environment::Frame;
use super::refinement::{Condition, Refinement};
use super::sugared::Sugared;
use super::{Emitter, LoopStatus};
use crate::Error;
use crate::emit::matching::{ArgumentValue, Arguments};

impl Emitter<'_> {
    /// Statements in order, until control does not go on.
    pub(super) fn statements(&mut self, statements: &[Stmt]) -> Result<(), Error> {
        for statement in statements {
            crate::nesting::with_stack(|| self.statement(statement))?;
            if self.exits.contains(&self.block()) {
                break;
            }
        }
        Ok(())
    }

    fn statement(&mut self, statement: &Stmt) -> Result<(), Error> {
        let at = statement.range;
        match &statement.kind {
            StmtKind::If { condition, then, otherwise } => {
                let condition = self.condition(condition)?;
                self.if_statement(at, &condition, then, otherwise)
            }
            StmtKind::While { condition, body } => {
                self.loop_over(at, None, &[], Some(condition), &mut |emitter| {
                    emitter.statements(body)
                })
            }
            StmtKind::For { targets, iterables, body } => {
                self.for_loop(at, targets, iterables, &mut |emitter| emitter.statements(body))
            }
            StmtKind::Assign { targets, value, annotation } => {
                self.assign(at, targets, value.as_ref(), annotation.as_ref())
            }
            StmtKind::AugAssign { target, op, value } => self.augment(at, target, *op, value),
            StmtKind::Expr(expression) => self.sugared(expression, None).map(drop),
            StmtKind::Raise(exception) => self.raise(at, exception),
            StmtKind::Assert { condition, message } => self.assert(at, condition, message.as_ref()),
            StmtKind::Return(value) => self.return_value(at, value),
            StmtKind::Break => self.leave(at, "break", Prim::BreakStmt),
            StmtKind::Continue => self.leave(at, "continue", Prim::ContinueStmt),
            StmtKind::Pass => Ok(()),
            StmtKind::Def(def) => self.nested_definition(def),
            StmtKind::Delete(targets) => self.delete(at, targets),
            StmtKind::With { items, body } => self.with(items, body),
            StmtKind::Global(_) => Err(self.error(at, "Unrecognized statement kind global")),
        }
    }

    // --- if ------------------------------------------------------------------------------------

    fn if_statement(
        &mut self,
        at: Range,
        condition: &Condition,
        then: &[Stmt],
        otherwise: &[Stmt],
    ) -> Result<(), Error> {
        let refinements = &condition.refinements;
        match condition.known {
            Some(true) => {
                self.refine(at, &refinements.when_true)?;
                return self.statements(then);
            }
            Some(false) => {
                self.refine(at, &refinements.when_false)?;
                return self.statements(otherwise);
            }
            None => {}
        }
        let node = self.insert(Prim::If, &[condition.value]);
        self.set_range(node, at);
        let blocks = [self.graph.add_block(node), self.graph.add_block(node)];
        let then_frame = self.branch(at, blocks[0], then, &refinements.when_true)?;
        let else_frame = self.branch(at, blocks[1], otherwise, &refinements.when_false)?;
        let branches = [
            Branch { block: blocks[0], frame: then_frame, exits: self.exits.contains(&blocks[0]) },
            Branch { block: blocks[1], frame: else_frame, exits: self.exits.contains(&blocks[1]) },
        ];
        if branches[0].exits && branches[1].exits {
            self.exits.insert(self.graph.owning_block(node));
        }
        let mut assigned = BTreeSet::new();
        self.visible_after(at, &branches[0], &branches[1], "false", &mut assigned);
        self.visible_after(at, &branches[1], &branches[0], "true", &mut assigned);
        for name in assigned {
            self.merge_variable(at, &name, &branches)?;
        }
        Ok(())
    }

    fn branch(
        &mut self,
        at: Range,
        block: BlockId,
        statements: &[Stmt],
        refinements: &[Refinement],
    ) -> Result<Frame, Error> {
        self.push_frame(block);
        self.in_block(block, |emitter| {
            emitter.refine(at, refinements)?;
            emitter.statements(statements)
        })?;
        Ok(self.pop_frame())
    }

    /// The variables assigned in one branch that can be used afterwards: those the other has too.
    fn visible_after(
        &mut self,
        at: Range,
        branch: &Branch,
        other: &Branch,
        other_name: &str,
        assigned: &mut BTreeSet<Arc<str>>,
    ) {
        for name in branch.frame.stored() {
            let found = self
                .in_block(other.block, |emitter| emitter.find_from(&other.frame, &name))
                .is_some();
            if found || other.exits {
                assigned.insert(name);
            } else {
                let message = format!("{name} is not defined in the {other_name} branch");
                let error = self.error(at, message);
                self.set_variable_error(&name, error);
            }
        }
    }

    fn branch_value(
        &mut self,
        at: Range,
        branch: &Branch,
        name: &Arc<str>,
    ) -> Result<Option<ValueId>, Error> {
        if branch.exits {
            return Ok(None);
        }
        self.in_block(branch.block, |emitter| {
            let value = match emitter.find_from(&branch.frame, name) {
                Some(value) => value,
                None => emitter.named(name, at)?,
            };
            emitter.as_value(value, at).map(Some)
        })
    }

    fn merge_variable(
        &mut self,
        at: Range,
        name: &Arc<str>,
        branches: &[Branch; 2],
    ) -> Result<(), Error> {
        let then = self.branch_value(at, &branches[0], name)?;
        let otherwise = self.branch_value(at, &branches[1], name)?;
        let (then, otherwise) = match (then, otherwise) {
            (Some(then), Some(otherwise)) => (then, otherwise),
            (Some(then), None) => (then, self.placeholder(branches[1].block, name, then)),
            (None, Some(otherwise)) => {
                (self.placeholder(branches[0].block, name, otherwise), otherwise)
            }
            (None, None) => return Ok(()),
        };
        let before = self.find_in_any_frame(name).and_then(|value| value.simple());
        let to_union = before.is_some_and(|value| {
            matches!(self.graph.ty(value), Type::Union(_) | Type::Optional(_) | Type::Number)
        });
        let (then, otherwise) = (self.graph.ty(then).clone(), self.graph.ty(otherwise).clone());
        if let Some(unified) = Type::unify(&then, &otherwise, to_union, None, self.unit) {
            self.set_type(name, unified);
            return Ok(());
        }
        let message = format!(
            "Type mismatch: {name} is set to type {} in the true branch and type {} in the false \
             branch",
            then.message_text(),
            otherwise.message_text()
        );
        let error = self.error(at, message);
        if self.find_in_any_frame(name).is_some() {
            return Err(error);
        }
        self.set_variable_error(name, error);
        Ok(())
    }

    /// What a branch that never ends stores, so that the other's variable outlives the `if`.
    fn placeholder(&mut self, block: BlockId, name: &Arc<str>, like: ValueId) -> ValueId {
        let ty = self.graph.ty(like).clone();
        self.in_block(block, |emitter| {
            let value = emitter.uninitialized(ty);
            emitter.insert_store(name, None, value);
            value
        })
    }

    // --- loops ---------------------------------------------------------------------------------

    pub(super) fn for_loop(
        &mut self,
        at: Range,
        targets: &[Expr],
        iterables: &[Expr],
        body: &mut dyn FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let [iterable] = iterables else {
            return Err(self.error(at, "List of iterables is not supported currently"));
        };
        let iterable = self.sugared(iterable, None)?;
        let iterable = self.iterable(iterable, at)?;
        match iterable.unrolled_length() {
            None => self.loop_over(at, Some(&iterable), targets, None, body),
            Some(length) => self.unrolled(at, &iterable, length, targets, body),
        }
    }

    fn loop_over(
        &mut self,
        at: Range,
        iterable: Option<&Sugared>,
        targets: &[Expr],
        condition: Option<&Expr>,
        body: &mut dyn FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let trips = match iterable {
            Some(iterable) => self.length(iterable, at)?,
            None => self.int_literal(i64::MAX, at),
        };
        let node = self.insert(Prim::Loop, &[]);
        self.set_range(node, at);
        let body_block = self.graph.add_block(node);
        let condition_block = self.graph.add_block(node);
        self.push_frame(condition_block);
        let goes_on = match condition {
            Some(condition) => self.in_block(condition_block, |emitter| {
                let value = emitter.expression(condition, None)?;
                emitter.truth(condition.range, value)
            })?,
            None => {
                let yes = Constant::Bool(true);
                self.with_insertion_point(node, |emitter| emitter.constant(&yes, Some(at)))
            }
        };
        self.graph.add_block_output(condition_block, goes_on);
        self.pop_frame();
        self.graph.add_node_input(node, trips);

        let status = std::mem::replace(&mut self.loop_status, LoopStatus::Inside);
        let trip = self.graph.add_block_input(body_block, Type::Int);
        self.push_frame(body_block);
        self.in_block(body_block, |emitter| {
            if let Some(iterable) = iterable {
                let element = emitter.element(iterable, at, trip, None)?;
                let element = emitter.as_value(element, at)?;
                emitter.assign_loop_targets(at, targets, Sugared::Simple(element))?;
            }
            body(emitter)
        })?;
        self.pop_frame();
        self.loop_status = status;
        Ok(())
    }

    /// A loop over a tuple: the body once for each element, in the same frame.
    fn unrolled(
        &mut self,
        at: Range,
        iterable: &Sugared,
        length: usize,
        targets: &[Expr],
        body: &mut dyn FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let status = std::mem::replace(&mut self.loop_status, LoopStatus::Unrolled);
        let targets_at = targets.iter().map(|target| target.range).reduce(Range::merge);
        for index in 0..length {
            let index = self.int_literal(index as i64, at);
            let element = self.element(iterable, at, index, None)?;
            self.assign_each(targets, &[element], targets_at.unwrap_or(at), 1)?;
            body(self)?;
        }
        self.loop_status = status;
        Ok(())
    }

    fn leave(&mut self, at: Range, word: &str, prim: Prim) -> Result<(), Error> {
        match self.loop_status {
            LoopStatus::Inside => {
                let node = self.insert(prim, &[]);
                self.set_range(node, at);
                Ok(())
            }
            LoopStatus::Outside => {
                Err(self.error(at, format!("SyntaxError: '{word}' outside loop")))
            }
            LoopStatus::Unrolled => Err(self.error(
                at,
                "Because we emit iteration over modulelists or tuples as unrolled loops, we do \
                 not support break or continue inside the body of these loops",
            )),
        }
    }

    // --- leaving -------------------------------------------------------------------------------

    /// `return value`
    pub(super) fn return_value(&mut self, at: Range, value: &Expr) -> Result<(), Error> {
        let declared = self.returns.last().and_then(|returns| returns.declared.clone());
        let mut result = self.expression(value, declared.as_ref())?;
        let ty = match declared {
            Some(declared) => {
                // Else a forgotten value would be converted to a tensor.
                if !(self.is_tensor(result) && self.is_subtype(result, &Type::None)) {
                    result = self.convert(Some(at), &declared, result, true)?;
                }
                if !self.is_subtype(result, &declared) {
                    let message = format!(
                        "Return value was annotated as having type {} but is actually of type {}",
                        declared.message_text(),
                        self.type_text(result)
                    );
                    return Err(self.error(at, message));
                }
                declared
            }
            None => self.merged_return(at, result)?,
        };
        if let Some(returns) = self.returns.last_mut() {
            returns.merged = Some(ty.clone());
        }
        if ty == Type::Any && *self.graph.ty(result) != Type::Any {
            result = self.unchecked_cast(result, Type::Any);
        }
        self.insert(Prim::ReturnStmt, &[result]);
        self.exits.insert(self.block());
        Ok(())
    }

    /// The type of all values returned so far.
    fn merged_return(&self, at: Range, result: ValueId) -> Result<Type, Error> {
        let ty = self.graph.ty(result);
        let before = self.returns.last().and_then(|returns| returns.merged.as_ref());
        let Some(before) = before else { return Ok(ty.clone()) };
        Type::unify(before, ty, false, None, self.unit).ok_or_else(|| {
            let message = format!(
                "Previous return statement returned a value of type {} but this return statement \
                 returns a value of type {}",
                before.message_text(),
                ty.message_text()
            );
            self.error(at, message)
        })
    }

    fn raise(&mut self, at: Range, exception: &Expr) -> Result<(), Error> {
        let exception = self.sugared(exception, None)?;
        self.raise_sugared(at, exception)
    }

    fn raise_sugared(&mut self, at: Range, exception: Sugared) -> Result<(), Error> {
        let (mut message, class) = match exception {
            Sugared::ExceptionMessage(message, class) => (message, class),
            Sugared::Exception(_) => (self.constant(&Constant::Str("".into()), Some(at)), None),
            _ => return Err(self.error(at, "exceptions must derive from BaseException")),
        };
        if !self.is_subtype(message, &Type::Str) {
            message = self.operator(None, "aten::str", &[message])?;
        }
        let class = class.map_or(ArgumentValue::Default(Constant::None), ArgumentValue::Value);
        let passed = [ArgumentValue::Value(message), class];
        self.call_operator(Some(at), "prim::RaiseException", Arguments::positional(&passed))?;
        self.exits.insert(self.block());
        Ok(())
    }

    /// `assert condition, message`: an `if` whose other branch raises `AssertionError(message)`.
    fn assert(&mut self, at: Range, condition: &Expr, message: Option<&Expr>) -> Result<(), Error> {
        let condition = self.condition(condition)?;
        let expression = |kind| Expr { kind, range: at };
        let callee = expression(ExprKind::Name(Ident { name: "AssertionError".into(), range: at }));
        let message = message.cloned().unwrap_or_else(|| expression(ExprKind::Str("".into())));
        let exception = expression(ExprKind::Call {
            callee: Box::new(callee),
            args: vec![message],
            kwargs: Vec::new(),
        });
        let raise = Stmt { kind: StmtKind::Raise(exception), range: at };
        self.if_statement(at, &condition, &[], &[raise])
    }

    // --- with ----------------------------------------------------------------------------------

    fn with(&mut self, items: &[WithItem], body: &[Stmt]) -> Result<(), Error> {
        let mut entered = Vec::with_capacity(items.len());
        for item in items {
            entered.push(self.enter(item)?);
        }
        self.statements(body)?;
        for object in entered.into_iter().rev() {
            // PyTorch gives the node an output that nothing uses.
            self.insert_with(Prim::Exit, &[object], Type::Tensor);
        }
        Ok(())
    }

    fn enter(&mut self, item: &WithItem) -> Result<ValueId, Error> {
        let at = item.context.range;
        let object = self.expression(&item.context, None)?;
        let output = self.insert_with(Prim::Enter, &[object], Type::Tensor);
        let Type::Class(class) = self.graph.ty(object).clone() else {
            return Err(self.error(at, "With item expression must return an object"));
        };
        let id = self.class_of(&class)?;
        let methods =
            (self.unit.find_method(id, "__enter__"), self.unit.find_method(id, "__exit__"));
        let (Some(enter), Some(exit)) = methods else {
            return Err(self.error(
                at,
                "Object returned by with item expression does not define __enter__ and __exit__ \
                 methods",
            ));
        };
        self.ensure_schema(enter, Some(at))?;
        self.ensure_schema(exit, Some(at))?;
        let enter = Arc::clone(&self.unit.function(enter).schema);
        let exit = Arc::clone(&self.unit.function(exit).schema);
        if enter.arguments.len() != 1 {
            let message = "__enter__ must have only one argument and one return value";
            return Err(self.error(at, message));
        }
        if exit.arguments.len() != 4 {
            return Err(self.error(at, "__exit__ must have four arguments"));
        }
        let typed = exit.arguments.iter().skip(1).position(|argument| argument.ty != Type::Any);
        if let Some(index) = typed {
            let message = format!(
                "argument {} of __exit__ must have Any type; TorchScript does not currently \
                 support passing exception type, value, or traceback to the __exit__ function.",
                index + 1
            );
            return Err(self.error(at, message));
        }
        if let Some(returned) = enter.returns.first() {
            self.graph.set_type(output, returned.ty.clone());
        }
        if let Some(Expr { kind: ExprKind::Name(name), range }) = &item.target {
            self.set_variable(*range, &name.name, output)?;
        }
        Ok(object)
    }
}

/// A branch of an `if` that has been emitted.
struct Branch {
    block: BlockId,
    frame: Frame,
    exits: bool,
}
