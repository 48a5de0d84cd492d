//! Early exits as conditions.
//!
//! After a statement that might exit (a `return`, `break` or `continue` within it), the rest of its
//! block runs only if it did not. PyTorch's `ExitTransformer`, run for loops and then for returns.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use sconce_ir::{BlockId, Constant, Graph, MAX_BLOCK_DEPTH, NodeId, Prim, Type, Unit, ValueId};

use super::{error_at, first_in_block, next_in_block, unify};
use crate::{Error, nesting};

/// Turns `prim::LoopContinuation`, then `prim::ReturnStmt` into results of blocks.
pub(super) fn transform(unit: &Unit, graph: &mut Graph) -> Result<(), Error> {
    for kind in [Prim::LoopContinuation, Prim::ReturnStmt] {
        let mut pass = Pass::new(unit, graph, kind);
        let root = pass.graph.root();
        pass.block(root, 0)?;
    }
    Ok(())
}

/// Whether a node or block leaves for the target.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    /// It always does.
    Will,
    /// It may; a value says whether it did.
    Might,
    /// It never does.
    Wont,
    /// It always raises, so what follows does not matter.
    Throws,
}

/// Whether an exit was taken, and with which values.
struct Exit {
    /// A bool. One of [`Pass::yes`], [`Pass::no`], [`Pass::thrown`] where it is known.
    taken: ValueId,
    /// What goes to the target.
    values: Vec<ValueId>,
}

struct Pass<'a> {
    unit: &'a Unit,
    graph: &'a mut Graph,
    /// The exits to transform.
    kind: Prim,
    /// The block they leave for.
    target: Option<BlockId>,
    yes: ValueId,
    no: ValueId,
    /// Stands for "exited" where an exception was raised; never read.
    thrown: ValueId,
    uninitialized: FxHashMap<TypeObject, ValueId>,
}

impl<'a> Pass<'a> {
    fn new(unit: &'a Unit, graph: &'a mut Graph, kind: Prim) -> Self {
        let yes = graph.new_constant(&Constant::Bool(true));
        let no = graph.new_constant(&Constant::Bool(false));
        let root = graph.root();
        graph.prepend(root, no);
        graph.prepend(root, yes);
        let (yes, no) = (graph.node(yes).output(), graph.node(no).output());
        let uninitialized = FxHashMap::default();
        let mut pass = Self { unit, graph, kind, target: None, yes, no, thrown: no, uninitialized };
        pass.thrown = pass.uninitialized(&Type::Bool);
        pass
    }

    /// A value of a type that is never read; one for each type.
    fn uninitialized(&mut self, ty: &Type) -> ValueId {
        let graph = &mut *self.graph;
        *self.uninitialized.entry(TypeObject::of(ty)).or_insert_with(|| {
            let node = graph.new_node_with(Prim::Uninitialized, &[], ty.clone());
            let root = graph.root();
            graph.prepend(root, node);
            graph.node(node).output()
        })
    }

    fn uninitialized_like(&mut self, values: &[ValueId]) -> Vec<ValueId> {
        let types: Vec<Type> = values.iter().map(|&value| self.graph.ty(value).clone()).collect();
        types.iter().map(|ty| self.uninitialized(ty)).collect()
    }

    fn wont(&self) -> Exit {
        Exit { taken: self.no, values: Vec::new() }
    }

    fn throws(&self) -> Exit {
        Exit { taken: self.thrown, values: Vec::new() }
    }

    fn status(&self, exit: &Exit) -> Status {
        match exit.taken {
            taken if taken == self.yes => Status::Will,
            taken if taken == self.no => Status::Wont,
            taken if taken == self.thrown => Status::Throws,
            _ => Status::Might,
        }
    }

    /// Transforms a block, and says whether and with what it exits for a block around it.
    fn block(&mut self, block: BlockId, depth: usize) -> Result<Exit, Error> {
        if depth > MAX_BLOCK_DEPTH {
            return Err(nesting::too_deep(self.graph, self.graph.param_node(block)));
        }
        let outer_target = self.target;
        if self.is_target(block) {
            self.target = Some(block);
        }
        let exit = self.statements(block, depth)?;
        let is_target = self.target == Some(block);
        self.target = outer_target;
        if !is_target {
            return Ok(exit);
        }
        self.arrive(block, &exit)?;
        Ok(self.wont())
    }

    /// Whether exits in a block leave for it.
    fn is_target(&self, block: BlockId) -> bool {
        let owner = self.graph.block_owner(block).map(|owner| self.graph.node(owner));
        match self.kind {
            Prim::LoopContinuation => owner.is_some_and(|owner| owner.is(Prim::Loop)),
            _ => owner.is_none_or(|owner| owner.is(Prim::Closure)),
        }
    }

    fn statements(&mut self, block: BlockId, depth: usize) -> Result<Exit, Error> {
        let mut at = first_in_block(self.graph, block);
        while let Some(node) = at {
            at = next_in_block(self.graph, node);
            let Some(exit) = self.node(node, depth)? else { continue };
            match (self.status(&exit), at) {
                (Status::Wont, _) => {}
                (Status::Will | Status::Throws, rest) => {
                    self.delete_from(block, rest);
                    return Ok(exit);
                }
                (Status::Might, Some(rest)) => return self.guard(block, exit, rest, depth),
                (Status::Might, None) => return Ok(exit),
            }
        }
        Ok(self.wont())
    }

    /// Transforms a node; `None` when it has nothing to do with exits.
    fn node(&mut self, id: NodeId, depth: usize) -> Result<Option<Exit>, Error> {
        let node = self.graph.node(id);
        Ok(Some(if node.is(Prim::RaiseException) {
            self.throws()
        } else if node.is(self.kind) {
            let exit = Exit { taken: self.yes, values: node.inputs().to_vec() };
            self.graph.destroy(id);
            exit
        } else if node.is(Prim::If) {
            self.branches(id, depth)?
        } else if node.is(Prim::Loop) {
            self.iteration(id, depth)?
        } else if node.is(Prim::With) {
            self.block(node.blocks()[0], depth + 1)?
        } else if node.is(Prim::Closure) {
            if let Some(&body) = node.blocks().first() {
                self.block(body, depth + 1)?;
            }
            return Ok(None);
        } else {
            return Ok(None);
        }))
    }

    fn branches(&mut self, node: NodeId, depth: usize) -> Result<Exit, Error> {
        let &[on_true, on_false] = self.graph.node(node).blocks() else {
            return Err(error_at(self.graph, node, "prim::If without two blocks"));
        };
        let mut true_exit = self.block(on_true, depth + 1)?;
        let mut false_exit = self.block(on_false, depth + 1)?;
        let (true_status, false_status) = (self.status(&true_exit), self.status(&false_exit));
        let status = either(true_status, false_status);
        match status {
            Status::Throws => return Ok(self.throws()),
            Status::Wont => return Ok(self.wont()),
            Status::Will | Status::Might => {}
        }
        // The values of a branch that does not exit are never read.
        if matches!(true_status, Status::Wont | Status::Throws) {
            true_exit.values = self.uninitialized_like(&false_exit.values);
        } else if matches!(false_status, Status::Wont | Status::Throws) {
            false_exit.values = self.uninitialized_like(&true_exit.values);
        }
        let taken = if status == Status::Will {
            self.yes
        } else {
            self.add_outputs(node, &[true_exit.taken], &[false_exit.taken])?[0]
        };
        let values = self.add_outputs(node, &true_exit.values, &false_exit.values)?;
        Ok(Exit { taken, values })
    }

    /// A loop that may be left for somewhere further out stops then, and gives what it was left with.
    fn iteration(&mut self, node: NodeId, depth: usize) -> Result<Exit, Error> {
        let Some(&body) = self.graph.node(node).blocks().first() else {
            return Err(error_at(self.graph, node, "prim::Loop without a body"));
        };
        let exit = self.block(body, depth + 1)?;
        if matches!(self.status(&exit), Status::Wont | Status::Throws) {
            return Ok(self.wont());
        }
        let Some(&next) = self.graph.block_outputs(body).first() else {
            return Err(error_at(self.graph, node, "prim::Loop without a condition"));
        };
        let graph = &mut *self.graph;
        let choice = graph.new_node(Prim::If, &[]);
        graph.append(body, choice);
        graph.add_node_input(choice, exit.taken);
        for condition in [self.no, next] {
            let block = graph.add_block(choice);
            graph.add_block_output(block, condition);
        }
        let condition = graph.add_output(choice, Type::Bool);
        graph.erase_block_output(body, 0);
        graph.insert_block_output(body, 0, condition);
        graph.add_node_input(node, self.no);
        graph.add_block_input(body, Type::Bool);
        graph.add_block_output(body, exit.taken);
        let taken = graph.add_output(node, Type::Bool);
        let mut values = Vec::with_capacity(exit.values.len());
        for value in exit.values {
            let ty = self.graph.ty(value).clone();
            let before = self.uninitialized(&ty);
            self.graph.add_node_input(node, before);
            values.push(self.graph.add_output(node, ty.clone()));
            self.graph.add_block_input(body, ty);
            self.graph.add_block_output(body, value);
        }
        Ok(Exit { taken, values })
    }

    /// Makes the rest of a block, from `rest` on, run only if the exit was not taken.
    fn guard(
        &mut self,
        block: BlockId,
        exit: Exit,
        rest: NodeId,
        depth: usize,
    ) -> Result<Exit, Error> {
        let graph = &mut *self.graph;
        let node = graph.new_node(Prim::If, &[]);
        graph.insert_before(node, rest);
        graph.add_node_input(node, exit.taken);
        let exited = graph.add_block(node);
        let guarded = graph.add_block(node);
        let end = graph.return_node(guarded);
        while let Some(moved) = next_in_block(graph, node) {
            graph.move_before(moved, end);
        }
        self.check_contained(block, guarded)?;
        let outputs = self.graph.block_outputs(block).to_vec();
        let unread = self.uninitialized_like(&outputs);
        let graph = &mut *self.graph;
        let mut results = Vec::with_capacity(outputs.len());
        for (&output, unread) in outputs.iter().zip(unread) {
            graph.add_block_output(exited, unread);
            graph.add_block_output(guarded, output);
            results.push(graph.add_output(node, graph.ty(output).clone()));
        }
        self.replace_results(block, &results);
        let again = self.graph.new_node(self.kind, &exit.values);
        self.graph.append(exited, again);
        self.branches(node, depth)
    }

    /// The statements of a `with` set variables of the block around it, which are not outputs of
    /// anything. So none that is read after the `with` may be set only if no exit was taken. PyTorch
    /// fails there with an internal assertion.
    fn check_contained(&self, block: BlockId, guarded: BlockId) -> Result<(), Error> {
        let graph = &*self.graph;
        let is_with =
            |block| graph.block_owner(block).is_some_and(|id| graph.node(id).is(Prim::With));
        if !is_with(block) {
            return Ok(());
        }
        for node in graph.preorder(guarded) {
            for &output in graph.node(node).outputs() {
                if !graph.value(output).uses().iter().all(|at| is_within(graph, at.user, guarded)) {
                    let message = "a variable set in a `with` block, after a statement that may \
                                   leave it, cannot be read after the block";
                    return Err(error_at(graph, node, message));
                }
            }
        }
        Ok(())
    }

    /// Removes what stands after a certain exit. Values that are results of the block are never
    /// read.
    fn delete_from(&mut self, block: BlockId, first: Option<NodeId>) {
        let Some(first) = first else { return };
        let mut at = self.graph.previous(self.graph.return_node(block));
        loop {
            let previous = self.graph.previous(at);
            self.delete(at);
            if at == first {
                return;
            }
            at = previous;
        }
    }

    fn delete(&mut self, node: NodeId) {
        // The statements of a `with` are of the block around it.
        for index in (0..self.graph.node(node).blocks().len()).rev() {
            let block = self.graph.node(node).blocks()[index];
            if self.graph.node(node).is(Prim::With) {
                self.delete_from(block, first_in_block(self.graph, block));
            }
        }
        for index in 0..self.graph.node(node).outputs().len() {
            let output = self.graph.node(node).outputs()[index];
            if !self.graph.value(output).uses().is_empty() {
                let ty = self.graph.ty(output).clone();
                let unread = self.uninitialized(&ty);
                self.graph.replace_all_uses(output, unread);
            }
        }
        self.graph.destroy(node);
    }

    /// Makes the values of an exit the results of the block it leaves for.
    fn arrive(&mut self, block: BlockId, exit: &Exit) -> Result<(), Error> {
        match self.status(exit) {
            Status::Wont | Status::Throws => {}
            Status::Will => self.replace_results(block, &exit.values),
            Status::Might => {
                let node = self.graph.new_node(Prim::If, &[]);
                self.graph.append(block, node);
                self.graph.add_block(node);
                self.graph.add_block(node);
                self.graph.add_node_input(node, exit.taken);
                let otherwise = self.graph.block_outputs(block).to_vec();
                let results = self.add_outputs(node, &exit.values, &otherwise)?;
                self.replace_results(block, &results);
            }
        }
        Ok(())
    }

    fn replace_results(&mut self, block: BlockId, results: &[ValueId]) {
        let end = self.graph.return_node(block);
        self.graph.remove_all_inputs(end);
        for &result in results {
            self.graph.add_block_output(block, result);
        }
    }

    /// Adds outputs to an `if`, with their values in its two branches.
    fn add_outputs(
        &mut self,
        node: NodeId,
        on_true: &[ValueId],
        on_false: &[ValueId],
    ) -> Result<Vec<ValueId>, Error> {
        if on_true.len() != on_false.len() {
            let message = "exits from one block with different numbers of values";
            return Err(error_at(self.graph, node, message));
        }
        for (index, values) in [on_true, on_false].into_iter().enumerate() {
            let block = self.graph.node(node).blocks()[index];
            for &value in values {
                self.graph.add_block_output(block, value);
            }
        }
        let pairs = on_true.iter().zip(on_false);
        let outputs = pairs.map(|(&a, &b)| {
            let ty = unify(self.unit, self.graph.ty(a), self.graph.ty(b));
            self.graph.add_output(node, ty)
        });
        Ok(outputs.collect())
    }
}

/// Whether a node is in a block or in a block within.
fn is_within(graph: &Graph, node: NodeId, block: BlockId) -> bool {
    let mut at = graph.node(node).owner();
    while let Some(inner) = at.filter(|&inner| inner != block) {
        at = graph.block_owner(inner).and_then(|owner| graph.node(owner).owner());
    }
    at.is_some()
}

/// Whether an `if` exits, from whether its branches do. One that raises does not count.
fn either(on_true: Status, on_false: Status) -> Status {
    match (on_true, on_false) {
        (Status::Throws, other) | (other, Status::Throws) => other,
        (a, b) if a == b => a,
        _ => Status::Might,
    }
}

/// A type by identity: PyTorch keeps an uninitialized value for each type *object*, so two list
/// types made apart have one each.
#[derive(PartialEq, Eq, Hash)]
pub(crate) enum TypeObject {
    Shared(usize),
    Plain(Type),
    /// The tensor of an argument without annotation: an object of its own in PyTorch.
    InferredTensor,
}

impl TypeObject {
    pub(crate) fn of(ty: &Type) -> Self {
        Self::Shared(match ty {
            inferred if inferred.is_inferred_tensor() => return Self::InferredTensor,
            Type::TensorOf(shared) => Arc::as_ptr(shared).addr(),
            Type::Optional(shared)
            | Type::List(shared)
            | Type::Future(shared)
            | Type::RRef(shared)
            | Type::Await(shared) => Arc::as_ptr(shared).addr(),
            Type::Dict(shared) => Arc::as_ptr(shared).addr(),
            Type::Tuple(shared) => Arc::as_ptr(shared).addr(),
            Type::Union(shared) => Arc::as_ptr(shared).addr(),
            Type::Enum(shared) => Arc::as_ptr(shared).addr(),
            plain => return Self::Plain(plain.clone()),
        })
    }
}
