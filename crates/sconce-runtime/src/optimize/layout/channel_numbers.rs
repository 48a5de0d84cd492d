//! Numbers for each channel of a picture in blocks, `[N, C, 1, 1]`, that are not in blocks themselves: constants, and
//! what is computed of means and norms.

use sconce_ir::{Constant, NodeId, Prim, Type, ValueId};
use sconce_kernels::{DType, Tensor};

use super::blocked::{Blocked, LANES, Layout, POINTWISE};

/// Of numbers that are only known to be of one pixel, instead of how many there are.
const NOT_KNOWN: i64 = -1;

/// Operators on two such numbers.
const ARITHMETIC: &[&str] = &["aten::add", "aten::sub", "aten::mul", "aten::div"];

impl Layout<'_> {
    /// Follows numbers through a node that gives some of others: how many it gives, one for each channel or one for all.
    pub(super) fn follow_numbers(&mut self, node: NodeId) -> Option<()> {
        let at = self.o.graph.node(node);
        let (symbol, &[output], &[first, ref rest @ ..]) =
            (at.kind.symbol(), at.outputs(), at.inputs())
        else {
            return None;
        };
        let count = match symbol {
            "aten::mean" => {
                let &[dims, keeps, dtype] = rest else { return None };
                let of_channels = matches!(*self.o.ints(dims)?.as_slice(), [1 | -3]);
                let keeps = self.o.constant(keeps) == Some(Constant::Bool(true));
                let fits = of_channels && keeps && self.o.constant(dtype) == Some(Constant::None);
                self.numbers_of(first).filter(|_| fits).map(|_| 1)?
            }
            _ if ARITHMETIC.contains(&symbol) => {
                let &second = rest.first()?;
                let of_second = if self.is_number(second) { 1 } else { self.numbers_of(second)? };
                match (self.numbers_of(first)?, of_second) {
                    (one, other) if one == other || other == 1 => one,
                    (1, other) => other,
                    _ => return None,
                }
            }
            _ if POINTWISE.contains(&symbol) => self.numbers_of(first)?,
            "aten::view" | "aten::reshape" => self.numbers_of_sizes(first, *rest.first()?)?,
            // As many pixels as the picture has that they are for, all alike.
            "aten::expand_as" => {
                let &like = rest.first()?;
                let channels = self.blocked.get(&like)?.channels;
                let fits = self.is_for(self.numbers_of(first)?, channels);
                self.expanded.insert(output, (first, like));
                fits.then_some(channels)?
            }
            _ => return None,
        };
        self.numbers.insert(output, count);
        None
    }

    /// How many numbers a tensor of these sizes is, of which the last two are 1.
    fn numbers_of_sizes(&self, input: ValueId, sizes: ValueId) -> Option<i64> {
        self.o.fact(input).filter(|fact| fact.dtype == DType::Float32)?;
        let list = self.o.graph.node(self.o.producer(sizes));
        let sizes: Vec<Option<i64>> = match self.o.ints(sizes) {
            Some(sizes) => sizes.into_iter().map(Some).collect(),
            None if list.is(Prim::ListConstruct) && !self.o.is_written(sizes) => {
                let int = |&item: &ValueId| match self.o.constant(item) {
                    Some(Constant::Int(int)) => Some(int),
                    _ => None,
                };
                list.inputs().iter().map(int).collect()
            }
            None => return None,
        };
        match *sizes.as_slice() {
            [_, Some(channels @ 1..), Some(1), Some(1)] => Some(channels),
            [_, _, Some(1), Some(1)] => Some(NOT_KNOWN),
            _ => None,
        }
    }

    /// Whether so many numbers may be those for so many channels. What is not known is seen when the program runs.
    fn is_for(&self, count: i64, channels: i64) -> bool {
        count == channels || count == NOT_KNOWN
    }

    /// How many numbers a value is, be it in blocks or not.
    fn numbers_of(&self, value: ValueId) -> Option<i64> {
        let of_blocked = self.blocked.get(&value).filter(|blocked| blocked.is_pixel);
        let known = self.numbers.get(&value).copied();
        known.or(of_blocked.map(|blocked| blocked.channels))
    }

    /// What arithmetic gives of a picture in blocks and numbers for its channels, in the order of the node's operands.
    pub(super) fn with_numbers(
        &mut self,
        node: NodeId,
        picture: ValueId,
        numbers: ValueId,
    ) -> Option<()> {
        let blocked = *self.blocked.get(&picture)?;
        // The result lies in memory as the picture does, which is not known of one behind its numbers whose channels
        // lie last.
        let fact = |value| self.o.fact(value).filter(|fact| fact.dtype == DType::Float32);
        let (of_picture, of_result) = (fact(picture)?, fact(self.o.graph.node(node).output())?);
        (of_picture.is_last == of_result.is_last && of_result.rank == 4).then_some(())?;
        let (value, channels) = (self.numbers_for(picture, numbers), blocked.channels);
        let numbers = if let Some(constant) = self.constant_in_blocks(value, channels) {
            self.o.insert_tensor(constant, node)
        } else {
            let count = *self.numbers.get(&value)?;
            (self.is_for(count, channels) && !self.o.is_written(value)).then_some(())?;
            let channels = self.o.insert_constant(&Constant::Int(channels), node);
            self.make("sconce::to_blocked", &[value, channels], node)
        };
        let at = self.o.graph.node(node);
        // A product alone is one operator; what else is computed with it becomes a chain.
        if at.kind.symbol().ends_with("mul")
            && !self.expanded.contains_key(&value)
            && !self.is_in_chain(node)
        {
            let value = self.make("sconce::gate_blocked", &[blocked.value, numbers], node);
            return self.enter(node, Blocked { value, ..blocked });
        }
        let is_first = at.inputs().first() == Some(&picture);
        let numbers = Blocked { value: numbers, ..blocked };
        let operands = if is_first { [blocked, numbers] } else { [numbers, blocked] };
        let is_pixel = blocked.is_pixel && !self.expanded.contains_key(&value);
        self.again(node, &operands, Blocked { is_pixel, ..blocked })
    }

    /// Numbers as they were before they were expanded to the sizes of this very picture.
    fn numbers_for(&self, picture: ValueId, numbers: ValueId) -> ValueId {
        match self.expanded.get(&numbers) {
            Some(&(of, like)) if like == picture => of,
            _ => numbers,
        }
    }

    /// A constant for each channel as a picture of one pixel in blocks.
    pub(super) fn constant_in_blocks(&self, value: ValueId, channels: i64) -> Option<Tensor> {
        let constant = self.o.constant_tensor(value)?;
        let is_one_each = match *constant.sizes() {
            [count, 1, 1] | [1, count, 1, 1] => count == channels,
            _ => false,
        };
        if !is_one_each || constant.dtype() != DType::Float32 {
            return None;
        }
        let lanes = usize::try_from(channels).ok()?.next_multiple_of(LANES as usize);
        let mut numbers = constant.to_vec::<f32>().ok()?;
        numbers.resize(lanes, 0.0);
        Tensor::from_slice(&numbers, &[1, lanes as i64 / LANES, 1, 1, LANES]).ok()
    }

    /// A sum and a product, of which some operands are pictures in blocks and the others constants for each channel.
    pub(super) fn addcmul(&mut self, node: NodeId) -> Option<()> {
        let &[a, b, c, by] = self.o.graph.node(node).inputs() else { return None };
        let pictures: Vec<Blocked> =
            [a, b, c].iter().filter_map(|value| self.blocked.get(value).copied()).collect();
        let like = *pictures.first()?;
        let is_number = matches!(self.o.graph.ty(by), Type::Int | Type::Float);
        let output = self.o.graph.node(node).output();
        let is_known = self.o.fact(output).is_some_and(|fact| fact.dtype == DType::Float32);
        if !is_number || !is_known || pictures.iter().any(|of| of.channels != like.channels) {
            return None;
        }
        let operands = [a, b, c].map(|value| match self.blocked.get(&value) {
            Some(of) => Some((of.value, None)),
            None => self.constant_in_blocks(value, like.channels).map(|made| (value, Some(made))),
        });
        let [Some(a), Some(b), Some(c)] = operands else { return None };
        let operands = [a, b, c].map(|(value, constant)| {
            let value = match constant {
                Some(constant) => self.o.insert_tensor(constant, node),
                None => value,
            };
            Blocked { value, ..like }
        });
        let is_pixel = pictures.iter().all(|of| of.is_pixel);
        self.again(node, &operands, Blocked { is_pixel, ..like })
    }
}
