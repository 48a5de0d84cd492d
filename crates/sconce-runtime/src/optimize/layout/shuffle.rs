//! Channel shuffles in blocks: the channels seen as groups, groups and places in them exchanged, and all seen as
//! channels again.

use sconce_ir::{Constant, NodeId, Prim, ValueId};

use super::blocked::{Blocked, Layout};

/// A size that a picture is looked at with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    Number(i64),
    /// The size of this dimension of the picture itself.
    Own(usize),
}

/// What is left over, as sizes of views say it.
const REST: Extent = Extent::Number(-1);

impl Layout<'_> {
    /// A view that makes channels of exchanged groups.
    pub(super) fn shuffle(&mut self, node: NodeId, exchanged: ValueId) -> Option<()> {
        let copied = self.operand_of(exchanged, &["aten::contiguous", "aten::clone"]);
        let is_view = self.o.is_op(node, "aten::view");
        let transposed = match copied {
            Some(transposed) if self.is_in_order(exchanged) => transposed,
            // What is not copied is no view, and a copy may keep the strides.
            _ if is_view || copied.is_some() => return None,
            _ => exchanged,
        };
        let groups = self.operand_of(transposed, &["aten::transpose"])?;
        let dims = &self.o.graph.node(self.o.producer(transposed)).inputs()[1..];
        let dims: Vec<Constant> =
            dims.iter().map(|&dim| self.o.constant(dim)).collect::<Option<_>>()?;
        let is_exchange = matches!(
            dims.as_slice(),
            [Constant::Int(1 | -4), Constant::Int(2 | -3)]
                | [Constant::Int(2 | -3), Constant::Int(1 | -4)]
        );
        let picture = self.operand_of(groups, &["aten::view", "aten::reshape"])?;
        let input = *self.blocked.get(&picture).filter(|_| is_exchange)?;
        let sizes = |node: NodeId| self.extents(*self.o.graph.node(node).inputs().get(1)?, picture);
        let &[n, count, per_group, height, width] = sizes(self.o.producer(groups))?.as_slice()
        else {
            return None;
        };
        let &[n_after, channels, height_after, width_after] = sizes(node)?.as_slice() else {
            return None;
        };
        let Extent::Number(count) = count else { return None };
        let per = input.channels.checked_div(count).filter(|per| per * count == input.channels)?;
        let fits = [(per_group, per), (channels, input.channels)];
        if count <= 0
            || fits.iter().any(|&(found, size)| found != Extent::Number(size) && found != REST)
        {
            return None;
        }
        // Sizes that are numbers are compared with those of the picture when there is one.
        let mut wanted = [-1; 3];
        let others = [(0, [n, n_after]), (2, [height, height_after]), (3, [width, width_after])];
        for (wanted, (dim, extents)) in wanted.iter_mut().zip(others) {
            for extent in extents.into_iter().filter(|&extent| extent != REST) {
                match extent {
                    Extent::Own(own) if own == dim => {}
                    Extent::Number(number) if *wanted < 0 || *wanted == number => *wanted = number,
                    _ => return None,
                }
            }
        }
        let order: Vec<i64> =
            (0..per).flat_map(|at| (0..count).map(move |group| group * per + at)).collect();
        let value = self.select(input, &order, wanted, node);
        self.enter(node, Blocked { value, ..input })
    }

    /// The first operand of the operator that gives a value which nothing writes to, if it is one of these.
    fn operand_of(&self, value: ValueId, symbols: &[&str]) -> Option<ValueId> {
        let node = self.o.graph.node(self.o.producer(value));
        let is_one = symbols.contains(&node.kind.symbol()) && !self.o.is_written(value);
        node.inputs().first().copied().filter(|_| is_one)
    }

    /// Whether a copy is made in the order of dimensions.
    fn is_in_order(&self, copy: ValueId) -> bool {
        let format = self.o.graph.node(self.o.producer(copy)).inputs().get(1);
        format.and_then(|&format| self.o.constant(format)) == Some(Constant::Int(0))
    }

    /// The sizes of a list, of which each is a number or a size of a picture in blocks.
    fn extents(&self, list: ValueId, picture: ValueId) -> Option<Vec<Extent>> {
        if let Some(ints) = self.o.ints(list) {
            return Some(ints.into_iter().map(Extent::Number).collect());
        }
        let node = self.o.graph.node(self.o.producer(list));
        if !node.is(Prim::ListConstruct) || self.o.is_written(list) {
            return None;
        }
        node.inputs().iter().map(|&int| self.extent(int, picture)).collect()
    }

    fn extent(&self, int: ValueId, picture: ValueId) -> Option<Extent> {
        let size = |dim: usize| match dim {
            1 => Some(Extent::Number(self.blocked.get(&picture)?.channels)),
            _ => Some(Extent::Own(dim)),
        };
        match self.o.constant(int) {
            Some(Constant::Int(int)) => return Some(Extent::Number(int)),
            Some(_) => return None,
            None => {}
        }
        let node = self.o.graph.node(self.o.producer(int));
        let number = |at: usize| match self.extent(*node.inputs().get(at)?, picture)? {
            Extent::Number(number) if number > 0 => Some(number),
            _ => None,
        };
        match (node.kind.symbol(), node.inputs()) {
            ("prim::ListUnpack", &[list]) => {
                let sizes = self.o.graph.node(self.o.producer(list));
                let is_own = sizes.kind.symbol() == "aten::size" && sizes.inputs() == [picture];
                let dim = node.outputs().iter().position(|&output| output == int)?;
                size(dim).filter(|_| is_own && !self.o.is_written(list))
            }
            ("aten::size", &[of, dim]) if of == picture => match self.o.constant(dim)? {
                Constant::Int(dim @ 0..4) => size(dim as usize),
                Constant::Int(dim @ -4..0) => size((dim + 4) as usize),
                _ => None,
            },
            ("aten::floordiv", &[_, _]) => Some(Extent::Number(number(0)? / number(1)?)),
            ("aten::mul", &[_, _]) => number(0)?.checked_mul(number(1)?).map(Extent::Number),
            _ => None,
        }
    }

    /// Channels of a picture in an order of their own. Where it is itself made of others, they are taken from those.
    pub(super) fn select(
        &mut self,
        picture: Blocked,
        order: &[i64],
        sizes: [i64; 3],
        before: NodeId,
    ) -> ValueId {
        let of = |channel: i64| match self.sources.get(&picture.value) {
            Some(sources) => sources[channel as usize],
            None => (picture.value, channel),
        };
        let channels: Vec<(ValueId, i64)> = order.iter().map(|&channel| of(channel)).collect();
        let mut values: Vec<ValueId> = Vec::new();
        let mut numbers = Vec::with_capacity(2 * channels.len());
        for &(value, channel) in &channels {
            let place = values.iter().position(|&one| one == value).unwrap_or_else(|| {
                values.push(value);
                values.len() - 1
            });
            numbers.extend([place as i64, channel]);
        }
        let list = self.list(&values, before);
        let numbers = self.ints_constant(&numbers, before);
        let sizes = self.ints_constant(&sizes, before);
        let value = self.make("sconce::select_blocked", &[list, numbers, sizes], before);
        self.sources.insert(value, channels);
        value
    }
}
