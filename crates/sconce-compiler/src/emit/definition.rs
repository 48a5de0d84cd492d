//! Definitions: parameters, body, the value at the end.

use std::sync::Arc;

use sconce_ir::{BlockId, Prim, Schema, Type};
use sconce_syntax::Range;
use sconce_syntax::ast::{Decl, Def, Expr, ExprKind, Stmt};

use super::sugared::Sugared;
use super::{Emitter, LoopStatus, signature};
use crate::Error;
use crate::ssa::is_meaningful;

impl Emitter<'_> {
    /// Emits a function into the graph, given its declared signature (`self` included).
    pub(crate) fn define(&mut self, def: &Def, schema: &Schema) -> Result<(), Error> {
        self.begin(&def.decl, schema)?;
        for statement in &def.body {
            if !self.body_statement(statement)? {
                break;
            }
        }
        self.end(def.range, self.graph.root())
    }

    /// The same of a definition that is not needed afterwards: its statements are dropped one by one, so that
    /// the tree and the graph of a long function are never there whole at once.
    pub(crate) fn define_owned(&mut self, def: Def, schema: &Schema) -> Result<(), Error> {
        self.begin(&def.decl, schema)?;
        let mut statements = def.body;
        statements.reverse();
        while let Some(statement) = statements.pop() {
            if !self.body_statement(&statement)? {
                break;
            }
            if statements.len() < statements.capacity() / 2 {
                statements.shrink_to_fit();
            }
        }
        drop(statements);
        self.end(def.range, self.graph.root())
    }

    fn begin(&mut self, decl: &Decl, schema: &Schema) -> Result<(), Error> {
        self.begin_straight_line();
        self.parameters(decl, schema, self.graph.root())?;
        self.end_of_parameters();
        Ok(())
    }

    /// A statement of the function's own block. Says whether control goes on.
    fn body_statement(&mut self, statement: &Stmt) -> Result<bool, Error> {
        let root = self.graph.root();
        let before = self.graph.previous(self.graph.return_node(root));
        self.statements(std::slice::from_ref(statement))?;
        self.end_of_statement(before);
        Ok(!self.exits.contains(&root))
    }

    fn definition(&mut self, def: &Def, schema: &Schema, block: BlockId) -> Result<(), Error> {
        self.parameters(&def.decl, schema, block)?;
        self.statements(&def.body)?;
        self.end(def.range, block)
    }

    fn parameters(&mut self, decl: &Decl, schema: &Schema, block: BlockId) -> Result<(), Error> {
        let declared = schema.returns.first().map(|returned| returned.ty.clone());
        if let Some(returns) = self.returns.last_mut() {
            returns.declared = declared;
        }
        for (parameter, argument) in decl.params.iter().zip(&schema.arguments) {
            let name = &parameter.name.name;
            let value = self.graph.add_block_input(block, argument.ty.clone());
            if is_meaningful(name) {
                self.graph.set_name(value, name);
            }
            let value = self.module_or_value(value);
            self.set_sugared(parameter.name.range, name, value, None)?;
        }
        Ok(())
    }

    fn end(&mut self, at: Range, block: BlockId) -> Result<(), Error> {
        self.end_of_body(at, block)?;
        let returned = self.returns.last().and_then(|returns| returns.merged.clone());
        let placeholder = self.uninitialized(returned.unwrap_or(Type::None));
        self.graph.add_block_output(block, placeholder);
        Ok(())
    }

    /// Control that arrives at the end returns `None`.
    fn end_of_body(&mut self, at: Range, block: BlockId) -> Result<(), Error> {
        let Some(returns) = self.returns.last_mut() else { return Ok(()) };
        if self.exits.contains(&block) {
            // A function that only raises returns what it is declared to.
            if returns.merged.is_none() {
                returns.merged = Some(returns.declared.clone().unwrap_or(Type::None));
            }
            return Ok(());
        }
        if returns.declared.as_ref().is_some_and(|declared| *declared != Type::None) {
            return Err(self.error(
                at,
                "Function was not annotated as having type None, but does not return along all \
                 paths",
            ));
        }
        let none = Expr { kind: ExprKind::None, range: at };
        self.return_value(at, &none)
    }

    /// A definition inside a function, for `fork`.
    pub(super) fn nested_definition(&mut self, def: &Def) -> Result<(), Error> {
        let name = Arc::clone(&def.name.name);
        let source = Arc::clone(&self.source);
        let (unit, resolver) = (&mut *self.unit, &mut *self.resolver);
        let schema = signature::schema_of(
            unit,
            resolver,
            self.builtins,
            def,
            &source,
            None,
            Arc::clone(&name),
        )?;
        let closure = self.closure(|emitter, block| emitter.definition(def, &schema, block))?;
        self.set_sugared(def.name.range, &name, closure, None)
    }

    /// A `prim::Closure` with a block of its own.
    pub(super) fn closure(
        &mut self,
        body: impl FnOnce(&mut Self, BlockId) -> Result<(), Error>,
    ) -> Result<Sugared, Error> {
        let value = self.insert_with(Prim::Closure, &[], Type::None);
        let node = self.graph.value(value).node();
        let block = self.graph.add_block(node);
        let status = std::mem::replace(&mut self.loop_status, LoopStatus::Outside);
        self.push_definition(block);
        self.in_block(block, |emitter| body(emitter, block))?;
        self.pop_frame();
        self.returns.pop();
        self.loop_status = status;
        Ok(Sugared::Closure(value))
    }
}
