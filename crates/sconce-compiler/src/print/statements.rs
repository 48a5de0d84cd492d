//! Statements.

use std::rc::Rc;

use sconce_ir::{
    Attribute, BlockId, Constant, Graph, Kind, MAX_BLOCK_DEPTH, Node, NodeId, Prim, Type, ValueId,
};

use super::names::is_identifier;
use super::scope::Scope;
use crate::{Error, nesting};

/// How a loop can be written.
enum LoopForm {
    For,
    While,
}

/// The functions that the graphs of `fork` and `awaitable` become.
const FORK: (&str, &str) = ("__forked_function", "fork");
const AWAITABLE: (&str, &str) = ("__awaitable_function", "awaitable");

impl Scope<'_, '_, '_> {
    /// Prints a node as a statement, or keeps its expression for where it is used.
    pub(super) fn statement(&mut self, id: NodeId) -> Result<(), Error> {
        let node = self.graph.node(id);
        let prim = match &node.kind {
            Kind::Prim(prim) => Some(*prim),
            Kind::Op(_) => None,
        };
        match prim {
            Some(Prim::Return) => self.print_return(node),
            Some(Prim::If) => self.print_if(node),
            Some(Prim::Loop) => self.print_loop(node),
            Some(Prim::TupleUnpack | Prim::ListUnpack) => self.print_unpack(node),
            Some(Prim::SetAttr) => self.print_set_attribute(node),
            Some(Prim::Fork) => self.print_fork(id, FORK),
            Some(Prim::Awaitable) => self.print_fork(id, AWAITABLE),
            Some(Prim::Enter) => self.print_enter(id),
            Some(Prim::Exit) => {
                self.print_exit(id);
                Ok(())
            }
            Some(Prim::Closure) => self.print_closure(node),
            Some(Prim::ModuleContainerIndex) => self.print_container_index(node),
            _ => {
                let text = self.expression(id)?;
                self.define_or_inline(id, text)
            }
        }
    }

    fn print_return(&mut self, node: &Node) -> Result<(), Error> {
        if self.session.importable && node.inputs().len() != 1 {
            let message = "Exportable methods must have a single return value. Normal use of \
                           ScriptMethods should enforce this";
            return Err(Error::at_node(node, message));
        }
        if node.inputs().is_empty() {
            return Ok(());
        }
        self.printer.indent();
        self.printer.put("return ");
        self.put_values(node.inputs())?;
        self.printer.put("\n");
        Ok(())
    }

    fn print_if(&mut self, node: &Node) -> Result<(), Error> {
        let (&[condition], &[on_true, on_false]) = (node.inputs(), node.blocks()) else {
            return Err(self.malformed(node));
        };
        self.name_values(node.outputs());
        self.printer.indent();
        self.printer.put("if ");
        self.put_value(condition)?;
        self.printer.put(":\n");
        self.print_branch(on_true, node.outputs())?;
        self.printer.indent();
        self.printer.put("else:\n");
        self.print_branch(on_false, node.outputs())
    }

    fn print_branch(&mut self, block: BlockId, outputs: &[ValueId]) -> Result<(), Error> {
        self.printer.level += 1;
        self.print_block(block, !outputs.is_empty())?;
        self.assign(outputs, self.graph.block_outputs(block))?;
        self.printer.level -= 1;
        Ok(())
    }

    fn print_loop(&mut self, node: &Node) -> Result<(), Error> {
        let (&[trips, condition, ref initial @ ..], &[body]) = (node.inputs(), node.blocks())
        else {
            return Err(self.malformed(node));
        };
        let (&[trip, ref carried @ ..], &[next, ref last @ ..]) =
            (self.graph.block_inputs(body), self.graph.block_outputs(body))
        else {
            return Err(self.malformed(node));
        };
        let outputs = node.outputs();
        if [initial.len(), carried.len(), last.len()] != [outputs.len(); 3] {
            return Err(self.malformed(node));
        }
        let form = loop_form(self.graph, trips, condition, next, trip).ok_or_else(|| {
            let message = "loop cannot be printed as python because it has gone through an \
                           optimization that combined while and for loops. File a bug";
            Error::at_node(node, message)
        })?;
        // What is carried is assigned to the loop's outputs before it and at the end of its body.
        self.name_values(outputs);
        for (&inside, &outside) in carried.iter().zip(outputs) {
            let text = self.use_of(outside)?;
            self.alias(inside, text);
        }
        for (&variable, &value) in outputs.iter().zip(initial) {
            self.initialize(variable, value)?;
        }
        self.name_value(trip);
        let (inside, last) = match form {
            LoopForm::For => {
                self.printer.indent();
                self.printer.put("for ");
                self.put_value(trip)?;
                self.printer.put(" in range(");
                self.put_value(trips)?;
                self.printer.put("):\n");
                (carried, last)
            }
            LoopForm::While => {
                // The number of the trip is not used, so its name serves the condition.
                self.assign(&[trip], &[condition])?;
                self.printer.indent();
                self.printer.put("while ");
                self.put_value(trip)?;
                self.printer.put(":\n");
                (self.graph.block_inputs(body), self.graph.block_outputs(body))
            }
        };
        self.printer.level += 1;
        self.print_block(body, !inside.is_empty())?;
        self.assign(inside, last)?;
        self.printer.level -= 1;
        Ok(())
    }

    /// `a, b = x, y`. A single variable that may be of several types says which, once.
    fn assign(&mut self, variables: &[ValueId], values: &[ValueId]) -> Result<(), Error> {
        if variables.is_empty() {
            return Ok(());
        }
        self.printer.indent();
        self.put_values(variables)?;
        if let &[variable] = variables {
            let ty = self.graph.ty(variable);
            if is_one_of_several(ty)
                && !self.is_expression(variable)
                && self.needs_annotation(variable)
            {
                self.printer.put(&format!(" : {}", ty.annotation()));
            }
        }
        self.printer.put(" = ");
        self.put_values(values)?;
        self.printer.put("\n");
        Ok(())
    }

    /// `a: T = x`, with the type where `x` does not tell.
    fn initialize(&mut self, variable: ValueId, value: ValueId) -> Result<(), Error> {
        self.printer.indent();
        self.put_value(variable)?;
        let (ty, given) = (self.graph.ty(variable), self.graph.ty(value));
        let annotated =
            if is_one_of_several(ty) { self.needs_annotation(variable) } else { ty != given };
        if annotated {
            let annotation = self.annotation(ty);
            self.printer.put(&format!(": {annotation}"));
        }
        self.printer.put(" = ");
        self.put_value(value)?;
        self.printer.put("\n");
        Ok(())
    }

    fn print_unpack(&mut self, node: &Node) -> Result<(), Error> {
        let &[packed] = node.inputs() else { return Err(self.malformed(node)) };
        self.name_values(node.outputs());
        self.printer.indent();
        if !node.outputs().is_empty() {
            self.put_values(node.outputs())?;
            // The last comma makes it an unpacking even of one element.
            self.printer.put(", = ");
        }
        self.put_value(packed)?;
        self.printer.put("\n");
        Ok(())
    }

    fn print_set_attribute(&mut self, node: &Node) -> Result<(), Error> {
        let (&[object, value], Some(name)) = (node.inputs(), node.str_attribute("name")) else {
            return Err(self.malformed(node));
        };
        if self.session.importable && !is_identifier(name) {
            let message = format!(
                "the attribute '{name}' has no name that source can set: modules of bytecode do not \
                 keep the names of such a class's attributes, and cannot be saved as source"
            );
            return Err(Error::at_node(node, message));
        }
        self.printer.indent();
        self.put_value(object)?;
        self.printer.put(&format!(".{name} = "));
        self.put_value(value)?;
        self.printer.put("\n");
        Ok(())
    }

    /// A graph that is run later, as a function without arguments: it sees the variables outside.
    fn print_fork(&mut self, id: NodeId, (function, call): (&str, &str)) -> Result<(), Error> {
        let node = self.graph.node(id);
        let Some(Attribute::Graph(graph)) = node.attribute("Subgraph") else {
            return Err(self.malformed(node));
        };
        if graph.inputs().len() != node.inputs().len() {
            return Err(self.malformed(node));
        }
        let name = self.printer.names.unique(function);
        self.printer.indent();
        self.printer.put(&format!("def {name}():\n"));
        let captured = node.inputs().iter().map(|&value| self.use_of(value));
        let captured = captured.collect::<Result<Vec<Rc<_>>, _>>()?;
        let mut inner = Scope::new(self.printer, self.session, graph)?;
        for (&input, text) in graph.inputs().iter().zip(captured) {
            inner.alias(input, text);
        }
        inner.print_body()?;
        let mut text = self.start();
        text.push_str(&format!("{call}({name})"));
        self.define(id, &text)
    }

    fn print_enter(&mut self, id: NodeId) -> Result<(), Error> {
        let node = self.graph.node(id);
        let (&[manager], &[target]) = (node.inputs(), node.outputs()) else {
            return Err(self.malformed(node));
        };
        self.printer.indent();
        self.printer.put("with ");
        self.put_value(manager)?;
        if !self.graph.value(target).uses().is_empty() {
            self.name_value(target);
            self.printer.put(" as ");
            self.put_value(target)?;
        }
        self.printer.put(":\n");
        // No block holds what follows, so no limit on blocks bounds how deep this goes.
        if self.printer.level >= MAX_BLOCK_DEPTH {
            return Err(nesting::too_deep(self.graph, id));
        }
        self.printer.level += 1;
        Ok(())
    }

    fn print_exit(&mut self, id: NodeId) {
        if self.graph.node(self.graph.previous(id)).is(Prim::Enter) {
            self.printer.indent();
            self.printer.put("pass\n");
        }
        self.printer.level = self.printer.level.saturating_sub(1);
    }

    fn print_closure(&mut self, node: &Node) -> Result<(), Error> {
        if self.session.importable {
            return Err(Error::at_node(node, "closures are not exportable"));
        }
        let (Some(Attribute::Graph(graph)), &[closure]) =
            (node.attribute("Subgraph"), node.outputs())
        else {
            return Err(self.malformed(node));
        };
        self.name_value(closure);
        let name = self.use_of(closure)?;
        self.printer.indent();
        self.printer.put(&format!("def {}(", name.as_str()));
        let mut inner = Scope::new(self.printer, self.session, graph)?;
        inner.name_values(graph.inputs());
        for (index, &input) in graph.inputs().iter().enumerate() {
            inner.printer.put(if index == 0 { "" } else { ", " });
            inner.put_value(input)?;
            let annotation = inner.annotation(graph.ty(input));
            inner.printer.put(&format!(": {annotation}"));
        }
        inner.printer.put("):\n");
        inner.print_body()
    }

    fn print_container_index(&mut self, node: &Node) -> Result<(), Error> {
        let (&[container, key], &[element]) = (node.inputs(), node.outputs()) else {
            return Err(self.malformed(node));
        };
        self.name_value(element);
        self.printer.indent();
        self.put_value(element)?;
        self.printer.put(&format!(" : {} = ", self.graph.ty(element).annotation()));
        self.put_value(container)?;
        self.printer.put("[");
        self.put_value(key)?;
        self.printer.put("]\n");
        Ok(())
    }

    /// A node that has not the inputs, outputs, blocks or attributes its kind has.
    pub(super) fn malformed(&self, node: &Node) -> Error {
        Error::at_node(node, format!("{} is not what it should be, so it has no code", node.kind))
    }
}

/// How a loop was written, from its trip count, condition and next condition, and the number of the
/// trip in its body. `None` for one with both a trip count and a condition. PyTorch's
/// `LoopView::loopType`.
fn loop_form(
    graph: &Graph,
    trips: ValueId,
    condition: ValueId,
    next: ValueId,
    trip: ValueId,
) -> Option<LoopForm> {
    let is_true = |value| matches!(graph.constant(value), Some(Constant::Bool(true)));
    let unbounded = matches!(graph.constant(trips), Some(Constant::Int(i64::MAX)))
        && graph.value(trip).uses().is_empty();
    match (is_true(condition) && is_true(next), unbounded) {
        (true, false) => Some(LoopForm::For),
        (_, true) => Some(LoopForm::While),
        (false, false) => None,
    }
}

/// Whether values of a type are of one of several types.
fn is_one_of_several(ty: &Type) -> bool {
    matches!(ty, Type::Union(_) | Type::Optional(_))
}
