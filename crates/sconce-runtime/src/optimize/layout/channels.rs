//! What goes along the channels, in blocks: pictures that are joined and taken apart, and batch
//! normalisation.

use sconce_ir::{Constant, NodeId, Prim, ValueId};
use sconce_kernels::{DType, Tensor};

use super::blocked::{Blocked, LANES, Layout};
use crate::optimize::Optimization;
use crate::optimize::fuse::batch_norm;

impl Layout<'_> {
    /// Pictures joined along the channels.
    pub(super) fn join(&mut self, node: NodeId, list: ValueId) -> Option<()> {
        let &[_, dim] = self.o.graph.node(node).inputs() else { return None };
        let construct = self.o.producer(list);
        let items = self.o.graph.node(construct).inputs().to_vec();
        let is_list = self.o.graph.node(construct).is(Prim::ListConstruct);
        let along_channels = matches!(self.o.constant(dim)?, Constant::Int(1 | -3));
        if !is_list || !along_channels || self.o.is_written(list) {
            return None;
        }
        let parts: Option<Vec<Blocked>> =
            items.iter().map(|item| self.blocked.get(item).copied()).collect();
        let parts = parts?;
        let channels = parts.iter().map(|part| part.channels).sum();
        let runs: Vec<(ValueId, i64, i64)> =
            parts.iter().map(|part| (part.value, 0, part.channels)).collect();
        let value = self.runs(&runs, node);
        if parts.split_last()?.1.iter().all(|part| part.channels % LANES == 0) {
            // What they are joined of may itself be joined.
            let of = |part: &Blocked| match self.joined.get(&part.value) {
                Some(of) => of.clone(),
                None => vec![part.value],
            };
            self.joined.insert(value, parts.iter().flat_map(of).collect());
        }
        let of = |part: &Blocked| {
            let value = part.value;
            (0..part.channels).map(move |channel| (value, channel))
        };
        self.sources.insert(value, parts.iter().flat_map(of).collect());
        let is_pixel = parts.iter().all(|part| part.is_pixel);
        self.enter(node, Blocked { value, channels, is_pixel })
    }

    /// Runs of channels one after the other: a value, the first channel and how many.
    fn runs(&mut self, runs: &[(ValueId, i64, i64)], before: NodeId) -> ValueId {
        let values: Vec<ValueId> = runs.iter().map(|run| run.0).collect();
        let numbers: Vec<i64> = runs.iter().flat_map(|run| [run.1, run.2]).collect();
        let list = self.list(&values, before);
        let numbers = self.ints_constant(&numbers, before);
        self.make("sconce::cat_blocked", &[list, numbers], before)
    }

    /// This many channels from one on.
    fn part(&mut self, picture: Blocked, first: i64, count: i64, before: NodeId) -> ValueId {
        let maker = self.o.graph.node(self.o.producer(picture.value));
        if maker.kind.symbol() == "sconce::select_blocked" {
            // From where the channels were before they were shuffled.
            let sizes = maker.inputs().get(2).and_then(|&sizes| self.o.ints(sizes));
            let sizes = sizes.and_then(|sizes| sizes.try_into().ok()).unwrap_or([-1; 3]);
            let order: Vec<i64> = (first..first + count).collect();
            return self.select(picture, &order, sizes, before);
        }
        self.runs(&[(picture.value, first, count)], before)
    }

    /// A part of the channels as an operator gives it.
    pub(super) fn slice(&mut self, node: NodeId, input: Blocked) -> Option<()> {
        let at = self.o.graph.node(node);
        let is_narrow = at.kind.symbol() == "aten::narrow";
        let &[_, dim, start, end, ..] = at.inputs() else { return None };
        let step = at.inputs().get(4).copied();
        let int = |value: ValueId, default: i64| match self.o.constant(value)? {
            Constant::Int(int) => Some(int),
            Constant::None => Some(default),
            _ => None,
        };
        let whole = input.channels;
        let within = |at: i64| if at < 0 { at + whole } else { at }.clamp(0, whole);
        let (dim, start, end) = (int(dim, 0)?, int(start, 0)?, int(end, i64::MAX)?);
        let steps = step.map_or(Some(1), |step| int(step, 1))?;
        // All of a dimension, whichever it is: `picture[:, 3:19]` begins with all of the batch.
        if !is_narrow && (start, end, steps) == (0, i64::MAX, 1) {
            self.views.insert(self.o.graph.node(node).output());
            return self.enter(node, input);
        }
        let first = within(start);
        let last = if is_narrow { first.checked_add(end)? } else { within(end) };
        let fits = (1, 1) == (if dim < 0 { dim + 4 } else { dim }, steps);
        if !fits || last <= first || last > whole || (is_narrow && step.is_some()) {
            return None;
        }
        if (first, last) == (0, whole) {
            self.views.insert(self.o.graph.node(node).output());
            return self.enter(node, input);
        }
        let value = self.part(input, first, last - first, node);
        self.views.insert(self.o.graph.node(node).output());
        self.enter(node, Blocked { value, channels: last - first, ..input })
    }

    /// The parts that a picture is divided into along its channels.
    pub(super) fn parts(&mut self, unpack: NodeId) -> Option<()> {
        let &[list] = self.o.graph.node(unpack).inputs() else { return None };
        let divide = self.o.graph.node(self.o.producer(list));
        let (symbol, &[picture, how, dim]) = (divide.kind.symbol(), divide.inputs()) else {
            return None;
        };
        let input = *self.blocked.get(&picture)?;
        if self.o.is_written(list) || !matches!(self.o.constant(dim)?, Constant::Int(1 | -3)) {
            return None;
        }
        let outputs = self.o.graph.node(unpack).outputs().to_vec();
        if outputs.iter().any(|&output| self.o.is_written(output)) {
            return None;
        }
        let number = match self.o.constant(how) {
            Some(Constant::Int(number)) if number > 0 => Some(number),
            _ => None,
        };
        let parts_of = |size: i64| (input.channels + size - 1) / size;
        let even = |size: i64| {
            (0..parts_of(size)).map(|at| size.min(input.channels - at * size)).collect()
        };
        let counts: Vec<i64> = match symbol {
            "aten::chunk" => even(parts_of(number?)),
            "aten::split" if number.is_some() => even(number?),
            "aten::split" | "aten::split_with_sizes" => self.o.ints(how)?,
            _ => return None,
        };
        let fits = counts.len() == outputs.len() && counts.iter().all(|&count| count > 0);
        if !fits || counts.iter().sum::<i64>() != input.channels {
            return None;
        }
        let mut first = 0;
        for (output, count) in outputs.into_iter().zip(counts) {
            let value = self.part(input, first, count, unpack);
            self.blocked.insert(output, Blocked { value, channels: count, ..input });
            self.views.insert(output);
            first += count;
        }
        Some(())
    }

    /// Batch normalisation in evaluation, with the activation after it. Pictures that are joined only
    /// for it are read where they are.
    pub(super) fn batch_norm(&mut self, node: NodeId, input: Blocked) -> Option<()> {
        let channels = usize::try_from(input.channels).ok()?;
        let (mut scale, mut shift) =
            batch_norm::scale_and_shift(self.o, node, DType::Float32, channels)?;
        let lanes = channels.next_multiple_of(LANES as usize);
        scale.resize(lanes, 0.0);
        shift.resize(lanes, 0.0);
        let tensor = |numbers: &[f64]| {
            let tensor = Tensor::from_slice(numbers, &[lanes as i64]).ok()?;
            tensor.to_dtype(DType::Float32).ok()
        };
        let (scale, shift) = (tensor(&scale)?, tensor(&shift)?);
        let (last, activation) = match self.activation(node) {
            Some((last, activation)) => (last, activation),
            None => (node, ("none", 0.0, 0.0)),
        };
        let parts = self.joined.get(&input.value).cloned().unwrap_or_else(|| vec![input.value]);
        let mut inputs = vec![
            self.list(&parts, last),
            self.o.insert_tensor(scale, last),
            self.o.insert_tensor(shift, last),
        ];
        inputs.extend(self.activation_constants(activation, last));
        let value = self.make("sconce::affine_blocked", &inputs, last);
        self.enter(last, Blocked { value, ..input })
    }

    /// Normalisation of groups that have whole blocks.
    pub(super) fn group_norm(&mut self, node: NodeId, input: Blocked) -> Option<()> {
        let &[_, groups, weight, bias, eps, _] = self.o.graph.node(node).inputs() else {
            return None;
        };
        let Constant::Int(count) = self.o.constant(groups)? else { return None };
        let is_whole = count > 0 && input.channels % (count * LANES) == 0;
        let is_known = |value: ValueId| match self.o.constant_tensor(value) {
            Some(tensor) => tensor.dtype() == DType::Float32 && tensor.sizes() == [input.channels],
            None => self.o.constant(value) == Some(Constant::None),
        };
        (is_whole && is_known(weight) && is_known(bias)).then_some(())?;
        let inputs = [input.value, groups, weight, bias, eps];
        let value = self.make("sconce::group_norm_blocked", &inputs, node);
        self.enter(node, Blocked { value, ..input })
    }

    /// Normalisation of the channels of each pixel, which are put last for it and back.
    pub(super) fn layer_norm(&mut self, node: NodeId) -> Option<()> {
        let ordered = |o: &Optimization, permute: NodeId, order: [i64; 4]| {
            let &[of, dims] = o.graph.node(permute).inputs() else { return None };
            let dims = o.ints(dims).filter(|_| o.is_op(permute, "aten::permute"))?;
            dims.iter().map(|dim| dim.rem_euclid(4)).eq(order).then_some(of)
        };
        let normalised = ordered(self.o, node, [0, 3, 1, 2])?;
        let norm = self.o.producer(normalised);
        let &[rows, shape, weight, bias, eps, _] = self.o.graph.node(norm).inputs() else {
            return None;
        };
        let fits = self.o.is_op(norm, "aten::layer_norm") && self.o.is_used_once(normalised);
        let picture = ordered(self.o, self.o.producer(rows), [0, 2, 3, 1])?;
        let input = *self.blocked.get(&picture)?;
        let is_known = |value: ValueId| match self.o.constant_tensor(value) {
            Some(tensor) => tensor.dtype() == DType::Float32 && tensor.sizes() == [input.channels],
            None => self.o.constant(value) == Some(Constant::None),
        };
        let fits = fits
            && self.o.ints(shape)? == [input.channels]
            && is_known(weight)
            && is_known(bias)
            && ![rows, normalised].iter().any(|&value| self.o.is_written(value));
        fits.then_some(())?;
        let channels = self.o.insert_constant(&Constant::Int(input.channels), node);
        let inputs = [input.value, channels, weight, bias, eps];
        let value = self.make("sconce::layer_norm_blocked", &inputs, node);
        self.enter(node, Blocked { value, ..input })
    }
}
