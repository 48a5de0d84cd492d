//! The graph: nodes in blocks, values between them, in typed arenas.
//!
//! The same shape as PyTorch's `torch::jit::Graph`: a graph has one block; a block has a `Param` node
//! whose outputs are its inputs, nodes in order, and a `Return` node whose inputs are its outputs; a
//! node may have blocks of its own (`prim::If`, `prim::Loop`). Ids are never reused, so a
//! [`ValueId`] is the number that PyTorch prints for a value without a name.

mod attributes;
mod block_list;
mod compact;
mod construction;
mod copy;
mod duplicate;
mod id_list;
mod insertion;
mod names;
mod owner;
mod preorder;
mod program_order;
mod uses;
mod values;

use std::sync::Arc;

use sconce_syntax::SourceRange;
use smallvec::SmallVec;

use crate::{Constant, Kind, OperatorId, Prim, TensorConstant, Type};
use attributes::AttributeName;
pub use attributes::Attributes;
use block_list::BlockList;
use compact::Retired;
use id_list::IdList;
use names::Names;
use owner::Owner;
pub use preorder::Preorder;
use values::Values;

/// How deep blocks may nest. Passes recurse over blocks, so whoever makes a graph from input keeps
/// to it; [`Graph::parse`] refuses deeper text.
pub const MAX_BLOCK_DEPTH: usize = 256;

/// A node of a [`Graph`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// A value of a [`Graph`]; also its number in print when it has no name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

/// A block of a [`Graph`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
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

/// A node: what it does to which values.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it does.
    pub kind: Kind,
    /// The operator whose schema was matched; `None` for instructions, and when it is not known.
    pub operator: Option<OperatorId>,
    /// Where it comes from.
    pub range: Option<SourceRange>,
    inputs: IdList<ValueId>,
    /// For each input, where its use stands among the value's uses.
    slots: IdList<u32>,
    outputs: IdList<ValueId>,
    blocks: BlockList,
    attributes: Attributes,
    owner: Owner,
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

/// A graph: nodes in blocks, and values between them. It has one block; a block has a `Param` node
/// whose outputs are its inputs, nodes in order, and a `Return` node whose inputs are its outputs.
#[derive(Clone, Debug)]
pub struct Graph {
    nodes: Vec<Node>,
    values: Values,
    blocks: Vec<Block>,
    names: Names,
    /// What was retired, until it is released.
    retired: Option<Box<Retired>>,
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
            values: Values::default(),
            blocks: Vec::new(),
            names: Names::default(),
            retired: None,
            op_version: None,
        };
        graph.new_block(None);
        graph
    }

    /// The graph's own block.
    pub fn root(&self) -> BlockId {
        BlockId(0)
    }

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
        &self.values[id]
    }

    /// A value's type.
    pub fn ty(&self, id: ValueId) -> &Type {
        &self.value(id).ty
    }

    /// Changes a value's type.
    pub fn set_type(&mut self, id: ValueId, ty: Type) {
        self.values[id].ty = ty;
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
        match self.node(node).owner() {
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

    /// Names a value. When the name is taken, the value that had it is renamed to `base.N`, as
    /// PyTorch's `Value::setDebugName` does: the newest keeps the plain name.
    pub fn set_name(&mut self, value: ValueId, name: &str) {
        self.names.set(&mut self.values, value, name);
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
        self.owner.block()
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
        self.attributes.get(name)
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
        self.attributes.iter()
    }

    /// Sets an attribute of a name the compiler knows.
    pub fn set_attribute(&mut self, name: &'static str, value: Attribute) {
        self.attributes.set(AttributeName::Known(name), value);
    }

    /// Sets an attribute of any name (when a graph is parsed).
    pub fn set_named_attribute(&mut self, name: Arc<str>, value: Attribute) {
        self.attributes.set(AttributeName::Other(name), value);
    }

    /// Gives it attributes that may be shared with other nodes, in the place of its own.
    pub fn set_attributes(&mut self, attributes: Attributes) {
        self.attributes = attributes;
    }

    /// Takes an attribute away.
    pub fn remove_attribute(&mut self, name: &str) {
        self.attributes.remove(name);
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
