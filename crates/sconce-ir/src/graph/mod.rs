//! The graph: nodes in blocks, values between them, in typed arenas.
//!
//! The same shape as PyTorch's `torch::jit::Graph`: a graph has one block; a block has a `Param` node
//! whose outputs are its inputs, nodes in order, and a `Return` node whose inputs are its outputs; a
//! node may have blocks of its own (`prim::If`, `prim::Loop`). Ids are never reused, so a
//! [`ValueId`] is the number that PyTorch prints for a value without a name.

mod duplicate;
mod names;
mod order;
mod walk;

use std::sync::Arc;

use rustc_hash::FxHashMap;
use sconce_syntax::SourceRange;
use smallvec::SmallVec;

use crate::{Constant, Kind, OperatorId, Prim, TensorConstant, Type};
use names::Names;
pub use walk::Walk;

/// How deep blocks may nest. Passes recurse over blocks, so whoever makes a graph from input keeps
/// to it; [`Graph::parse`] refuses deeper text.
pub const MAX_BLOCK_DEPTH: usize = 256;

/// A node of a [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// A value of a [`Graph`]; also its number in print when it has no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

/// A block of a [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

/// A place where a value is used: the node and which of its inputs it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Use {
    /// The node.
    pub user: NodeId,
    /// The index among the node's inputs.
    pub index: u32,
}

/// A value with its type, where it is made and where it is used.
#[derive(Clone, Debug)]
pub struct Value {
    /// Its type.
    pub ty: Type,
    name: Option<Arc<str>>,
    node: NodeId,
    index: u32,
    uses: SmallVec<[Use; 2]>,
}

/// A named attribute's value.
#[derive(Clone, Debug)]
pub enum Attribute {
    /// An int; also a bool constant's value (0 or 1).
    Int(i64),
    /// A float.
    Float(f64),
    /// Real and imaginary part.
    Complex(f64, f64),
    /// A string; also a device constant's value.
    Str(Arc<str>),
    /// A tensor.
    Tensor(TensorConstant),
    /// Ints.
    Ints(Vec<i64>),
    /// Floats.
    Floats(Vec<f64>),
    /// Strings.
    Strs(Vec<Arc<str>>),
    /// A list, dict, tuple, enum, object, function or generator: PyTorch's `ival`.
    Value(Constant),
    /// A type.
    Type(Type),
    /// Types.
    Types(Vec<Type>),
    /// A graph (of `prim::fork`).
    Graph(Arc<Graph>),
}

/// The name of an attribute; those the compiler sets cost no allocation.
#[derive(Clone, Debug)]
enum AttributeName {
    Known(&'static str),
    Other(Arc<str>),
}

/// A node: what it does to which values.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it does.
    pub kind: Kind,
    /// The operator whose schema was matched; `None` for instructions, and when it is not known.
    pub operator: Option<OperatorId>,
    /// Where it comes from.
    pub range: Option<SourceRange>,
    inputs: SmallVec<[ValueId; 3]>,
    /// For each input, where its use stands among the value's uses.
    slots: SmallVec<[u32; 3]>,
    outputs: SmallVec<[ValueId; 1]>,
    blocks: SmallVec<[BlockId; 2]>,
    attributes: SmallVec<[(AttributeName, Attribute); 1]>,
    owner: Option<BlockId>,
    previous: NodeId,
    next: NodeId,
    position: u64,
    alive: bool,
}

/// A block: its parameters, its nodes, what it returns.
#[derive(Clone, Debug)]
struct Block {
    param: NodeId,
    ret: NodeId,
    owner: Option<NodeId>,
    alive: bool,
}

/// A graph; see the [module](self).
#[derive(Clone, Debug)]
pub struct Graph {
    nodes: Vec<Node>,
    values: Vec<Value>,
    blocks: Vec<Block>,
    names: Names,
    /// Of which operator version the nodes are (10 once upgraders have been applied).
    pub op_version: Option<u32>,
}

impl Default for Graph {
    fn default() -> Self {
        Self::new()
    }
}

impl Graph {
    /// A graph without inputs, nodes and outputs.
    pub fn new() -> Self {
        let mut graph = Self {
            nodes: Vec::new(),
            values: Vec::new(),
            blocks: Vec::new(),
            names: Names::default(),
            op_version: None,
        };
        graph.new_block(None);
        graph
    }

    /// The graph's own block.
    pub fn root(&self) -> BlockId {
        BlockId(0)
    }

    // --- reading -------------------------------------------------------------------------------

    /// A node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// A node, to change its kind, operator or range.
    pub fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.0 as usize]
    }

    /// A value.
    pub fn value(&self, id: ValueId) -> &Value {
        &self.values[id.0 as usize]
    }

    /// A value's type.
    pub fn ty(&self, id: ValueId) -> &Type {
        &self.value(id).ty
    }

    /// Changes a value's type.
    pub fn set_type(&mut self, id: ValueId, ty: Type) {
        self.values[id.0 as usize].ty = ty;
    }

    /// The inputs of the graph.
    pub fn inputs(&self) -> &[ValueId] {
        self.block_inputs(self.root())
    }

    /// The outputs of the graph.
    pub fn outputs(&self) -> &[ValueId] {
        self.block_outputs(self.root())
    }

    /// The parameters of a block.
    pub fn block_inputs(&self, block: BlockId) -> &[ValueId] {
        self.node(self.param_node(block)).outputs()
    }

    /// What a block gives.
    pub fn block_outputs(&self, block: BlockId) -> &[ValueId] {
        self.node(self.return_node(block)).inputs()
    }

    /// The node whose outputs are the block's parameters.
    pub fn param_node(&self, block: BlockId) -> NodeId {
        self.blocks[block.0 as usize].param
    }

    /// The node whose inputs are the block's results; new nodes go before it.
    pub fn return_node(&self, block: BlockId) -> NodeId {
        self.blocks[block.0 as usize].ret
    }

    /// The node that a block belongs to; `None` for the graph's own.
    pub fn block_owner(&self, block: BlockId) -> Option<NodeId> {
        self.blocks[block.0 as usize].owner
    }

    /// The nodes of a block in order, `Param` and `Return` not among them. To change the graph
    /// meanwhile, collect them or go by [`Self::next`].
    pub fn block_nodes(&self, block: BlockId) -> BlockNodes<'_> {
        BlockNodes {
            graph: self,
            front: self.next(self.param_node(block)),
            back: self.previous(self.return_node(block)),
            done: self.next(self.param_node(block)) == self.return_node(block),
        }
    }

    /// The node after this one in its block; after the last comes the block's `Return`.
    pub fn next(&self, node: NodeId) -> NodeId {
        self.node(node).next
    }

    /// The node before this one in its block; before the first comes the block's `Param`.
    pub fn previous(&self, node: NodeId) -> NodeId {
        self.node(node).previous
    }

    /// The block a node is in.
    ///
    /// # Panics
    /// When the node is in no block.
    pub fn owning_block(&self, node: NodeId) -> BlockId {
        match self.node(node).owner {
            Some(block) => block,
            None => panic!("node {} is in no block", node.0),
        }
    }

    /// Whether the value that is a node's input knows of that use.
    pub(crate) fn has_use(&self, node: NodeId, index: usize) -> bool {
        let at = self.node(node);
        let slot = at.slots.get(index).map_or(usize::MAX, |&slot| slot as usize);
        let found = at.inputs.get(index).and_then(|&input| self.value(input).uses.get(slot));
        found == Some(&Use { user: node, index: index as u32 })
    }

    /// How many values were ever made; every [`ValueId`] is below it.
    pub fn value_count(&self) -> usize {
        self.values.len()
    }

    /// How many nodes were ever made; every [`NodeId`] is below it.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// How many blocks were ever made; every [`BlockId`] is below it.
    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// The compile-time value behind a value that a `prim::Constant` makes.
    pub fn constant(&self, value: ValueId) -> Option<Constant> {
        let node = self.node(self.value(value).node);
        if node.kind != Kind::Prim(Prim::Constant) {
            return None;
        }
        let ty = self.ty(value);
        Some(match node.attribute("value") {
            None => match ty {
                Type::Function(function) => Constant::Function(function.clone()),
                _ => Constant::None,
            },
            Some(Attribute::Int(int)) if *ty == Type::Bool => Constant::Bool(*int != 0),
            Some(Attribute::Int(int)) => Constant::Int(*int),
            Some(Attribute::Float(float)) => Constant::Float(*float),
            Some(Attribute::Complex(re, im)) => Constant::Complex(*re, *im),
            Some(Attribute::Str(text)) if *ty == Type::Device => Constant::Device(Arc::clone(text)),
            Some(Attribute::Str(text)) => Constant::Str(Arc::clone(text)),
            Some(Attribute::Tensor(tensor)) => Constant::Tensor(tensor.clone()),
            Some(Attribute::Value(value)) => value.clone(),
            Some(_) => return None,
        })
    }

    // --- making --------------------------------------------------------------------------------

    /// Makes a node without outputs that is in no block yet.
    pub fn new_node(&mut self, kind: impl Into<Kind>, inputs: &[ValueId]) -> NodeId {
        let id = self.push_node(kind.into());
        for &input in inputs {
            self.add_node_input(id, input);
        }
        id
    }

    /// Makes a node with one output of a type; it is in no block yet.
    pub fn new_node_with(
        &mut self,
        kind: impl Into<Kind>,
        inputs: &[ValueId],
        output: Type,
    ) -> NodeId {
        let id = self.new_node(kind, inputs);
        self.add_output(id, output);
        id
    }

    /// Makes a `prim::Constant` of a value, typed after it; it is in no block yet.
    pub fn new_constant(&mut self, constant: &Constant) -> NodeId {
        let id = self.new_node_with(Prim::Constant, &[], constant.ty());
        let attribute = match constant {
            Constant::None | Constant::Function(_) => return id,
            Constant::Bool(value) => Attribute::Int(i64::from(*value)),
            Constant::Int(value) => Attribute::Int(*value),
            Constant::Float(value) => Attribute::Float(*value),
            Constant::Complex(re, im) => Attribute::Complex(*re, *im),
            Constant::Str(text) | Constant::Device(text) => Attribute::Str(Arc::clone(text)),
            Constant::Tensor(tensor) => Attribute::Tensor(tensor.clone()),
            other => Attribute::Value(other.clone()),
        };
        self.node_mut(id).set_attribute("value", attribute);
        id
    }

    /// Adds an output to a node.
    pub fn add_output(&mut self, node: NodeId, ty: Type) -> ValueId {
        let index = self.node(node).outputs.len();
        self.insert_output(node, index, ty)
    }

    /// Adds an output to a node, before the one at `index`.
    pub fn insert_output(&mut self, node: NodeId, index: usize, ty: Type) -> ValueId {
        let id = ValueId(self.values.len() as u32);
        self.values.push(Value {
            ty,
            name: None,
            node,
            index: index as u32,
            uses: SmallVec::new(),
        });
        self.node_mut(node).outputs.insert(index, id);
        self.renumber_outputs(node, index);
        id
    }

    /// Takes an output from a node.
    ///
    /// # Panics
    /// When it is still used.
    pub fn erase_output(&mut self, node: NodeId, index: usize) {
        let id = self.node(node).outputs[index];
        assert!(self.value(id).uses.is_empty(), "value {} is in use", id.0);
        self.names.forget(&mut self.values, id);
        self.node_mut(node).outputs.remove(index);
        self.renumber_outputs(node, index);
    }

    fn renumber_outputs(&mut self, node: NodeId, from: usize) {
        for index in from..self.node(node).outputs.len() {
            let id = self.node(node).outputs[index];
            self.values[id.0 as usize].index = index as u32;
        }
    }

    /// Adds an input to the graph.
    pub fn add_input(&mut self, ty: Type) -> ValueId {
        self.add_block_input(self.root(), ty)
    }

    /// Adds a parameter to a block.
    pub fn add_block_input(&mut self, block: BlockId, ty: Type) -> ValueId {
        self.add_output(self.param_node(block), ty)
    }

    /// Adds a parameter to a block, before the one at `index`.
    pub fn insert_block_input(&mut self, block: BlockId, index: usize, ty: Type) -> ValueId {
        self.insert_output(self.param_node(block), index, ty)
    }

    /// Takes a parameter from a block.
    ///
    /// # Panics
    /// When it is still used.
    pub fn erase_block_input(&mut self, block: BlockId, index: usize) {
        self.erase_output(self.param_node(block), index);
    }

    /// Adds a result to a block.
    pub fn add_block_output(&mut self, block: BlockId, value: ValueId) {
        self.add_node_input(self.return_node(block), value);
    }

    /// Adds a result to a block, before the one at `index`.
    pub fn insert_block_output(&mut self, block: BlockId, index: usize, value: ValueId) {
        self.insert_node_input(self.return_node(block), index, value);
    }

    /// Takes a result from a block.
    pub fn erase_block_output(&mut self, block: BlockId, index: usize) {
        self.remove_node_input(self.return_node(block), index);
    }

    /// Adds an empty block to a node.
    pub fn add_block(&mut self, node: NodeId) -> BlockId {
        let id = self.new_block(Some(node));
        self.node_mut(node).blocks.push(id);
        id
    }

    /// Destroys a block of a node with all that is in it.
    pub fn erase_block(&mut self, node: NodeId, index: usize) {
        let block = self.node_mut(node).blocks.remove(index);
        self.destroy_block(block);
    }

    /// Gives a block of one node to another, as its last; its nodes stay in it.
    pub fn move_block(&mut self, from: NodeId, index: usize, to: NodeId) {
        let block = self.node_mut(from).blocks.remove(index);
        self.node_mut(to).blocks.push(block);
        self.blocks[block.0 as usize].owner = Some(to);
    }

    fn new_block(&mut self, owner: Option<NodeId>) -> BlockId {
        let id = BlockId(self.blocks.len() as u32);
        let param = self.push_node(Kind::Prim(Prim::Param));
        let ret = self.push_node(Kind::Prim(Prim::Return));
        for node in [param, ret] {
            self.node_mut(node).owner = Some(id);
        }
        self.link(param, ret);
        self.link(ret, param);
        self.nodes[param.0 as usize].position = order::FIRST;
        self.nodes[ret.0 as usize].position = order::LAST;
        self.blocks.push(Block { param, ret, owner, alive: true });
        id
    }

    fn push_node(&mut self, kind: Kind) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(Node {
            kind,
            operator: None,
            range: None,
            inputs: SmallVec::new(),
            slots: SmallVec::new(),
            outputs: SmallVec::new(),
            blocks: SmallVec::new(),
            attributes: SmallVec::new(),
            owner: None,
            previous: id,
            next: id,
            position: 0,
            alive: true,
        });
        id
    }

    // --- inputs and uses -----------------------------------------------------------------------

    /// Adds an input to a node.
    pub fn add_node_input(&mut self, node: NodeId, value: ValueId) {
        self.insert_node_input(node, self.node(node).inputs.len(), value);
    }

    /// Adds an input to a node, before the one at `index`.
    pub fn insert_node_input(&mut self, node: NodeId, index: usize, value: ValueId) {
        let slot = self.add_use(value, Use { user: node, index: index as u32 });
        let at = self.node_mut(node);
        at.inputs.insert(index, value);
        at.slots.insert(index, slot);
        self.renumber_inputs(node, index + 1);
    }

    /// Changes an input of a node, and gives the one that was there.
    pub fn replace_node_input(&mut self, node: NodeId, index: usize, value: ValueId) -> ValueId {
        let old = self.node(node).inputs[index];
        self.drop_use(old, self.node(node).slots[index]);
        let slot = self.add_use(value, Use { user: node, index: index as u32 });
        let at = self.node_mut(node);
        at.inputs[index] = value;
        at.slots[index] = slot;
        old
    }

    /// Replaces an input of a node wherever it stands among its inputs.
    pub fn replace_node_input_with(&mut self, node: NodeId, from: ValueId, to: ValueId) {
        for index in 0..self.node(node).inputs.len() {
            if self.node(node).inputs[index] == from {
                self.replace_node_input(node, index, to);
            }
        }
    }

    /// Takes an input from a node.
    pub fn remove_node_input(&mut self, node: NodeId, index: usize) {
        self.drop_use(self.node(node).inputs[index], self.node(node).slots[index]);
        let at = self.node_mut(node);
        at.inputs.remove(index);
        at.slots.remove(index);
        self.renumber_inputs(node, index);
    }

    /// Takes all inputs from a node.
    pub fn remove_all_inputs(&mut self, node: NodeId) {
        for index in (0..self.node(node).inputs.len()).rev() {
            self.remove_node_input(node, index);
        }
    }

    /// Puts a node's inputs from `from` on in another order: the one at `from + order[i]` comes to
    /// `from + i`. `order` names each of them once.
    pub(crate) fn permute_inputs(&mut self, node: NodeId, from: usize, order: &[usize]) {
        let at = self.node_mut(node);
        let (inputs, slots) = (at.inputs.clone(), at.slots.clone());
        for (index, &old) in order.iter().enumerate() {
            at.inputs[from + index] = inputs[from + old];
            at.slots[from + index] = slots[from + old];
        }
        self.renumber_inputs(node, from);
    }

    /// The same for a node's outputs.
    pub(crate) fn permute_outputs(&mut self, node: NodeId, from: usize, order: &[usize]) {
        let at = self.node_mut(node);
        let outputs = at.outputs.clone();
        for (index, &old) in order.iter().enumerate() {
            at.outputs[from + index] = outputs[from + old];
        }
        self.renumber_outputs(node, from);
    }

    /// Puts one value in the place of another everywhere. Names and types stay as they are.
    pub fn replace_all_uses(&mut self, from: ValueId, to: ValueId) {
        if from == to {
            return;
        }
        for at in std::mem::take(&mut self.values[from.0 as usize].uses) {
            let slot = self.add_use(to, at);
            let node = self.node_mut(at.user);
            node.inputs[at.index as usize] = to;
            node.slots[at.index as usize] = slot;
        }
    }

    /// Puts one value in the place of another in every use after `node` in program order, `node`
    /// itself excluded.
    pub fn replace_uses_after(&mut self, node: NodeId, from: ValueId, to: ValueId) {
        let uses: Vec<Use> = self.value(from).uses.to_vec();
        for at in uses {
            if at.user != node && self.is_after(at.user, node) {
                self.replace_node_input(at.user, at.index as usize, to);
            }
        }
    }

    /// Enters a use, and gives its place among the value's uses.
    fn add_use(&mut self, value: ValueId, at: Use) -> u32 {
        let uses = &mut self.values[value.0 as usize].uses;
        uses.push(at);
        (uses.len() - 1) as u32
    }

    /// Takes the use at a place away; the last one moves there.
    fn drop_use(&mut self, value: ValueId, slot: u32) {
        let uses = &mut self.values[value.0 as usize].uses;
        uses.swap_remove(slot as usize);
        if let Some(&moved) = uses.get(slot as usize) {
            self.node_mut(moved.user).slots[moved.index as usize] = slot;
        }
    }

    /// Tells the uses of a node's inputs from `from` on their index.
    fn renumber_inputs(&mut self, node: NodeId, from: usize) {
        let Self { nodes, values, .. } = self;
        let node = &nodes[node.0 as usize];
        for index in from..node.inputs.len() {
            let value = &mut values[node.inputs[index].0 as usize];
            value.uses[node.slots[index] as usize].index = index as u32;
        }
    }

    // --- placing -------------------------------------------------------------------------------

    /// Puts a node that is in no block at the end of one.
    pub fn append(&mut self, block: BlockId, node: NodeId) -> NodeId {
        self.insert_before(node, self.return_node(block))
    }

    /// Puts a node that is in no block at the start of one.
    pub fn prepend(&mut self, block: BlockId, node: NodeId) -> NodeId {
        self.insert_after(node, self.param_node(block))
    }

    /// Puts a node that is in no block before another.
    pub fn insert_before(&mut self, node: NodeId, before: NodeId) -> NodeId {
        self.insert_after(node, self.previous(before))
    }

    /// Puts a node that is in no block after another.
    ///
    /// # Panics
    /// When it is in a block already.
    pub fn insert_after(&mut self, node: NodeId, after: NodeId) -> NodeId {
        assert!(self.node(node).owner.is_none(), "node {} is in a block", node.0);
        let next = self.next(after);
        let owner = self.node(after).owner;
        self.link(after, node);
        self.link(node, next);
        self.node_mut(node).owner = owner;
        self.assign_position(node);
        node
    }

    /// Moves a node before another.
    pub fn move_before(&mut self, node: NodeId, before: NodeId) {
        if node == before {
            return;
        }
        self.unlink(node);
        self.insert_before(node, before);
    }

    /// Moves a node after another.
    pub fn move_after(&mut self, node: NodeId, after: NodeId) {
        if node == after {
            return;
        }
        self.unlink(node);
        self.insert_after(node, after);
    }

    /// Whether `a` comes before `b` in program order, blocks within nodes considered.
    pub fn is_before(&self, a: NodeId, b: NodeId) -> bool {
        self.compare(a, b) == std::cmp::Ordering::Less
    }

    /// Whether `a` comes after `b` in program order, blocks within nodes considered.
    pub fn is_after(&self, a: NodeId, b: NodeId) -> bool {
        self.compare(a, b) == std::cmp::Ordering::Greater
    }

    /// Destroys a node with its blocks.
    ///
    /// # Panics
    /// When one of its outputs is still used.
    pub fn destroy(&mut self, node: NodeId) {
        while !self.node(node).outputs.is_empty() {
            self.erase_output(node, self.node(node).outputs.len() - 1);
        }
        while !self.node(node).blocks.is_empty() {
            self.erase_block(node, 0);
        }
        self.remove_all_inputs(node);
        if self.node(node).owner.is_some() {
            self.unlink(node);
        }
        self.node_mut(node).alive = false;
    }

    fn destroy_block(&mut self, block: BlockId) {
        self.remove_all_inputs(self.return_node(block));
        let mut node = self.previous(self.return_node(block));
        while node != self.param_node(block) {
            let previous = self.previous(node);
            self.destroy(node);
            node = previous;
        }
        let (param, ret) = (self.param_node(block), self.return_node(block));
        while !self.node(param).outputs.is_empty() {
            self.erase_output(param, self.node(param).outputs.len() - 1);
        }
        self.node_mut(param).alive = false;
        self.node_mut(ret).alive = false;
        self.blocks[block.0 as usize].alive = false;
    }

    fn link(&mut self, a: NodeId, b: NodeId) {
        self.node_mut(a).next = b;
        self.node_mut(b).previous = a;
    }

    fn unlink(&mut self, node: NodeId) {
        let (previous, next) = (self.previous(node), self.next(node));
        self.link(previous, next);
        let node = self.node_mut(node);
        node.owner = None;
    }

    // --- copying -------------------------------------------------------------------------------

    /// Copies the nodes of a block of another graph to before `before`, and what the block gives,
    /// in this graph's values. `map` says what the other graph's values are here; the block's
    /// parameters must be in it.
    pub fn insert_copy(
        &mut self,
        other: &Self,
        block: BlockId,
        before: NodeId,
        map: &mut FxHashMap<ValueId, ValueId>,
    ) -> Vec<ValueId> {
        let nodes: Vec<NodeId> = other.block_nodes(block).collect();
        for node in nodes {
            let copy = self.copy_node(other, node, map);
            self.insert_before(copy, before);
        }
        let results = other.block_outputs(block);
        results.iter().map(|value| map[value]).collect()
    }

    /// Copies a node of another graph with its blocks; the copy is in no block yet. Its outputs
    /// are entered in `map`; its inputs are looked up there.
    pub fn copy_node(
        &mut self,
        other: &Self,
        node: NodeId,
        map: &mut FxHashMap<ValueId, ValueId>,
    ) -> NodeId {
        let from = other.node(node);
        let inputs: SmallVec<[ValueId; 4]> = from.inputs.iter().map(|input| map[input]).collect();
        let copy = self.new_node(from.kind.clone(), &inputs);
        let to = self.node_mut(copy);
        to.operator = from.operator;
        to.range = from.range.clone();
        to.attributes = from.attributes.clone();
        for &output in &from.outputs {
            let id = self.add_output(copy, other.ty(output).clone());
            self.copy_name(other, output, id);
            map.insert(output, id);
        }
        for &block in &from.blocks {
            let target = self.add_block(copy);
            self.copy_block_into(other, block, target, map);
        }
        copy
    }

    /// Copies parameters, nodes and results of a block of another graph into an empty block.
    pub fn copy_block_into(
        &mut self,
        other: &Self,
        block: BlockId,
        target: BlockId,
        map: &mut FxHashMap<ValueId, ValueId>,
    ) {
        for &input in other.block_inputs(block) {
            let id = self.add_block_input(target, other.ty(input).clone());
            self.copy_name(other, input, id);
            map.insert(input, id);
        }
        let results = self.insert_copy(other, block, self.return_node(target), map);
        for result in results {
            self.add_block_output(target, result);
        }
    }

    fn copy_name(&mut self, other: &Self, from: ValueId, to: ValueId) {
        if let Some(name) = &other.value(from).name {
            self.names.set(&mut self.values, to, Arc::clone(name));
        }
    }

    // --- names ---------------------------------------------------------------------------------

    /// Names a value. When the name is taken, the value that had it is renamed to `base.N`, as
    /// PyTorch's `Value::setDebugName` does: the newest keeps the plain name.
    pub fn set_name(&mut self, value: ValueId, name: &str) {
        self.names.set(&mut self.values, value, Arc::from(name));
    }
}

impl Value {
    /// The name, if it has one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The name before a trailing `.N`, as code is printed with.
    pub fn base_name(&self) -> Option<&str> {
        self.name.as_deref().map(names::base)
    }

    /// The node that makes it; a block's `Param` for a parameter.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// Which of its node's outputs it is.
    pub fn index(&self) -> usize {
        self.index as usize
    }

    /// Where it is used, in no particular order.
    pub fn uses(&self) -> &[Use] {
        &self.uses
    }
}

impl Node {
    /// What it works on.
    pub fn inputs(&self) -> &[ValueId] {
        &self.inputs
    }

    /// What it makes.
    pub fn outputs(&self) -> &[ValueId] {
        &self.outputs
    }

    /// Its only output.
    ///
    /// # Panics
    /// When it has none.
    pub fn output(&self) -> ValueId {
        self.outputs[0]
    }

    /// Its blocks.
    pub fn blocks(&self) -> &[BlockId] {
        &self.blocks
    }

    /// The block it is in, if any.
    pub fn owner(&self) -> Option<BlockId> {
        self.owner
    }

    /// Whether it has not been destroyed.
    pub fn is_alive(&self) -> bool {
        self.alive
    }

    /// Whether it is this instruction.
    pub fn is(&self, prim: Prim) -> bool {
        self.kind == Kind::Prim(prim)
    }

    /// An attribute by name.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|(key, _)| key.as_str() == name).map(|(_, value)| value)
    }

    /// A string attribute by name, such as `name` of `prim::GetAttr`.
    pub fn str_attribute(&self, name: &str) -> Option<&Arc<str>> {
        match self.attribute(name)? {
            Attribute::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The attributes in the order they were set.
    pub fn attributes(&self) -> impl Iterator<Item = (&str, &Attribute)> {
        self.attributes.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Sets an attribute of a name the compiler knows.
    pub fn set_attribute(&mut self, name: &'static str, value: Attribute) {
        self.put_attribute(AttributeName::Known(name), value);
    }

    /// Sets an attribute of any name (when a graph is parsed).
    pub fn set_named_attribute(&mut self, name: Arc<str>, value: Attribute) {
        self.put_attribute(AttributeName::Other(name), value);
    }

    fn put_attribute(&mut self, name: AttributeName, value: Attribute) {
        match self.attributes.iter_mut().find(|(key, _)| key.as_str() == name.as_str()) {
            Some((_, old)) => *old = value,
            None => self.attributes.push((name, value)),
        }
    }

    /// Takes an attribute away.
    pub fn remove_attribute(&mut self, name: &str) {
        self.attributes.retain(|(key, _)| key.as_str() != name);
    }
}

impl AttributeName {
    fn as_str(&self) -> &str {
        match self {
            Self::Known(name) => name,
            Self::Other(name) => name,
        }
    }
}

/// The nodes of a block in order; see [`Graph::block_nodes`].
#[derive(Clone, Debug)]
pub struct BlockNodes<'a> {
    graph: &'a Graph,
    front: NodeId,
    back: NodeId,
    done: bool,
}

impl Iterator for BlockNodes<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        if self.done {
            return None;
        }
        let node = self.front;
        self.done = node == self.back;
        self.front = self.graph.next(node);
        Some(node)
    }
}

impl DoubleEndedIterator for BlockNodes<'_> {
    fn next_back(&mut self) -> Option<NodeId> {
        if self.done {
            return None;
        }
        let node = self.back;
        self.done = node == self.front;
        self.back = self.graph.previous(node);
        Some(node)
    }
}
