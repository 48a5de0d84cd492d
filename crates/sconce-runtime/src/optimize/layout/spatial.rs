//! What changes height and width, in blocks, and questions about them: upsampling, padding, sizes.

use sconce_ir::{Constant, Kind, NodeId, Prim, Type, ValueId, operators};

use super::blocked::{Blocked, Layout};

impl Layout<'_> {
    /// Upsampling by either overload.
    pub(super) fn upsample(&mut self, node: NodeId, input: Blocked) -> Option<()> {
        let at = self.o.graph.node(node);
        let (symbol, mut inputs) = (at.kind.symbol().to_owned(), at.inputs().to_vec());
        inputs[0] = input.value;
        let symbol = format!("sconce::{}_blocked", symbol.strip_prefix("aten::")?);
        let value = self.make(&symbol, &inputs, node);
        self.enter(node, Blocked { value, is_pixel: false, ..input })
    }

    /// Padding of columns and rows: the lanes of a block are one more dimension, which stays as it is.
    pub(super) fn pad(&mut self, node: NodeId, input: Blocked) -> Option<()> {
        let at = self.o.graph.node(node);
        let (symbol, &[_, padding, ref rest @ ..]) = (at.kind.symbol(), at.inputs()) else {
            return None;
        };
        let (mode, number) = match (symbol, rest) {
            ("aten::constant_pad_nd", &[number]) => ("constant".to_owned(), Some(number)),
            ("aten::reflection_pad2d", []) => ("reflect".to_owned(), None),
            ("aten::replication_pad2d", []) => ("replicate".to_owned(), None),
            ("aten::pad", &[mode, number]) => match self.o.constant(mode)? {
                Constant::Str(mode) => (mode.to_string(), Some(number)),
                _ => return None,
            },
            _ => return None,
        };
        let is_constant = mode == "constant";
        let padding = self.padding_of_blocks(padding, is_constant, node)?;
        let number = match number.filter(|_| is_constant) {
            Some(number) => match self.o.constant(number)? {
                // Lanes without a channel stay finite.
                Constant::Float(float) if !(float as f32).is_finite() => return None,
                Constant::Int(_) | Constant::Float(_) | Constant::None => number,
                _ => return None,
            },
            None => self.o.insert_constant(&Constant::None, node),
        };
        let mode = self.o.insert_constant(&Constant::Str(mode.into()), node);
        let value = self.make("aten::pad", &[input.value, padding, mode, number], node);
        let made = self.o.producer(value);
        self.o.graph.node_mut(made).operator = Some(operators::find("aten::pad", "")?.id);
        self.enter(node, Blocked { value, is_pixel: false, ..input })
    }

    /// The numbers to pad with, before them those of the lanes. They may be known only when the program runs.
    fn padding_of_blocks(
        &mut self,
        padding: ValueId,
        may_be_of_rows: bool,
        before: NodeId,
    ) -> Option<ValueId> {
        let fits = |count: usize| count == 4 || (may_be_of_rows && count == 2);
        if let Some(numbers) = self.o.ints(padding) {
            return fits(numbers.len())
                .then(|| self.ints_constant(&[vec![0, 0], numbers].concat(), before));
        }
        let list = self.o.graph.node(self.o.producer(padding));
        if !list.is(Prim::ListConstruct) || self.o.is_written(padding) || !fits(list.inputs().len())
        {
            return None;
        }
        let numbers = list.inputs().to_vec();
        let zero = self.o.insert_constant(&Constant::Int(0), before);
        let all = [vec![zero, zero], numbers].concat();
        let list = self.o.graph.new_node_with(Prim::ListConstruct, &all, Type::list(Type::Int));
        self.o.graph.insert_before(list, before);
        Some(self.o.graph.node(list).output())
    }

    /// Asks values in blocks for the sizes that the program asks for, so that none is put back in order for them.
    pub(super) fn sizes(&mut self) {
        let nodes: Vec<NodeId> = self.o.graph.block_nodes(self.o.graph.root()).collect();
        for node in nodes {
            let at = self.o.graph.node(node);
            let of = at.inputs().first().filter(|_| self.o.is_op(node, "aten::size"));
            if let Some(&input) = of.and_then(|of| self.blocked.get(of)) {
                let _ = self.size(node, input);
            }
        }
    }

    /// A size, or all of them; that of the channels is known.
    fn size(&mut self, node: NodeId, input: Blocked) -> Option<()> {
        let output = self.o.graph.node(node).output();
        let sizes = match *self.o.graph.node(node).inputs() {
            [_, dim] => match self.o.constant(dim)? {
                Constant::Int(dim @ 0..4) => self.one_size(input, dim, node)?,
                Constant::Int(dim @ -4..0) => self.one_size(input, dim + 4, node)?,
                _ => return None,
            },
            [_] => {
                let all = (0..4).map(|dim| self.one_size(input, dim, node));
                let all: Vec<ValueId> = all.collect::<Option<_>>()?;
                let ty = Type::list(Type::Int);
                let list = self.o.graph.new_node_with(Prim::ListConstruct, &all, ty);
                self.o.graph.insert_before(list, node);
                self.o.graph.node(list).output()
            }
            _ => return None,
        };
        self.o.graph.replace_all_uses(output, sizes);
        Some(())
    }

    fn one_size(&mut self, input: Blocked, dim: i64, before: NodeId) -> Option<ValueId> {
        if dim == 1 {
            return Some(self.o.insert_constant(&Constant::Int(input.channels), before));
        }
        let operator = operators::find("aten::size", "int")?.id;
        let range = self.o.graph.node(before).range.clone();
        let dim = self.o.insert_constant(&Constant::Int(dim), before);
        let kind = Kind::from_symbol("aten::size");
        let size = self.o.graph.new_node_with(kind, &[input.value, dim], Type::Int);
        let made = self.o.graph.node_mut(size);
        (made.operator, made.range) = (Some(operator), range);
        self.o.graph.insert_before(size, before);
        Some(self.o.graph.node(size).output())
    }
}
