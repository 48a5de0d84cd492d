//! Making nodes, outputs and blocks.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{
    Attribute, Attributes, Block, BlockId, BlockList, Graph, IdList, Node, NodeId, Owner, Value,
    ValueId, program_order,
};
use crate::{Constant, Kind, Prim, Type};

impl Graph {
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
        let id = self.values.push(Value {
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

    pub(super) fn renumber_outputs(&mut self, node: NodeId, from: usize) {
        for index in from..self.node(node).outputs.len() {
            let id = self.node(node).outputs[index];
            self.values[id].index = index as u32;
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

    pub(super) fn new_block(&mut self, owner: Option<NodeId>) -> BlockId {
        let id = BlockId(self.blocks.len() as u32);
        let param = self.push_node(Kind::Prim(Prim::Param));
        let ret = self.push_node(Kind::Prim(Prim::Return));
        for node in [param, ret] {
            self.node_mut(node).owner = Owner::of(Some(id));
        }
        self.link(param, ret);
        self.link(ret, param);
        self.nodes[param.0 as usize].position = program_order::FIRST;
        self.nodes[ret.0 as usize].position = program_order::LAST;
        self.blocks.push(Block { param, ret, owner, alive: true });
        id
    }

    pub(super) fn push_node(&mut self, kind: Kind) -> NodeId {
        let free = self.retired.as_mut().and_then(|retired| retired.nodes.pop());
        let id = free.unwrap_or(NodeId(self.nodes.len() as u32));
        let node = Node {
            kind,
            operator: None,
            range: None,
            inputs: IdList::new(),
            slots: IdList::new(),
            outputs: IdList::new(),
            blocks: BlockList::default(),
            attributes: Attributes::default(),
            owner: Owner::default(),
            previous: id,
            next: id,
            position: 0,
            alive: true,
        };
        match self.nodes.get_mut(id.0 as usize) {
            Some(retired) => *retired = node,
            None => self.nodes.push(node),
        }
        id
    }
}
