//! Pools in blocks.

use sconce_ir::{Constant, NodeId};

use super::blocked::{Blocked, Layout};

impl Layout<'_> {
    /// A pool with windows of one size.
    pub(super) fn pool(&mut self, node: NodeId, input: Blocked) -> Option<()> {
        let at = self.o.graph.node(node);
        let is_average = at.kind.symbol() == "aten::avg_pool2d";
        let &[_, kernel, stride, padding, third, fourth, ..] = at.inputs() else { return None };
        let last = at.inputs().get(6).copied();
        let kernel = self.pair(kernel)?;
        let stride = match self.o.ints(stride)?.as_slice() {
            [] => kernel,
            _ => self.pair(stride)?,
        };
        let dilation = if is_average { [1, 1] } else { self.pair(third)? };
        let lists = [kernel, stride, self.pair(padding)?, dilation];
        let numbers = self.ints_constant(&lists.concat(), node);
        let value = match (is_average, last) {
            (true, Some(divisor)) => {
                let inputs = [input.value, numbers, third, fourth, divisor];
                self.make("sconce::avg_pool2d_blocked", &inputs, node)
            }
            (false, None) => {
                self.make("sconce::max_pool2d_blocked", &[input.value, numbers, fourth], node)
            }
            _ => return None,
        };
        self.enter(node, Blocked { value, is_pixel: false, ..input })
    }

    /// A pool whose windows divide the picture.
    pub(super) fn adaptive_pool(&mut self, node: NodeId, input: Blocked) -> Option<()> {
        let &[_, sizes] = self.o.graph.node(node).inputs() else { return None };
        let sizes = self.pair(sizes)?;
        let is_pixel = sizes == [1, 1];
        let value = if is_pixel {
            self.make("sconce::mean_blocked", &[input.value], node)
        } else {
            let sizes = self.ints_constant(&sizes, node);
            self.make("sconce::adaptive_avg_pool2d_blocked", &[input.value, sizes], node)
        };
        self.enter(node, Blocked { value, is_pixel, ..input })
    }

    /// The mean over height and width.
    pub(super) fn mean(&mut self, node: NodeId, input: Blocked) -> Option<()> {
        let &[_, dims, keeps, dtype] = self.o.graph.node(node).inputs() else { return None };
        let mut dims = self.o.ints(dims)?;
        dims.iter_mut().for_each(|dim| *dim += if *dim < 0 { 4 } else { 0 });
        dims.sort_unstable();
        if dims != [2, 3] || self.o.constant(dtype) != Some(Constant::None) {
            return None;
        }
        let Constant::Bool(keeps) = self.o.constant(keeps)? else { return None };
        let value = self.make("sconce::mean_blocked", &[input.value], node);
        if keeps {
            return self.enter(node, Blocked { value, is_pixel: true, ..input });
        }
        let channels = self.o.insert_constant(&Constant::Int(input.channels), node);
        let means = self.make("sconce::channels_of_pixel", &[value, channels], node);
        let output = self.o.graph.node(node).output();
        self.o.graph.replace_all_uses(output, means);
        Some(())
    }

    /// The Euclidean norm over height and width, which are kept.
    pub(super) fn norm(&mut self, node: NodeId, input: Blocked) -> Option<()> {
        let &[_, order, dims, keeps, ref dtype @ ..] = self.o.graph.node(node).inputs() else {
            return None;
        };
        let is_euclidean = match self.o.constant(order)? {
            Constant::Int(order) => order == 2,
            Constant::Float(order) => order == 2.0,
            _ => false,
        };
        let mut dims = self.o.ints(dims)?;
        dims.iter_mut().for_each(|dim| *dim += if *dim < 0 { 4 } else { 0 });
        dims.sort_unstable();
        let keeps = self.o.constant(keeps) == Some(Constant::Bool(true));
        let is_own = dtype.iter().all(|&dtype| self.o.constant(dtype) == Some(Constant::None));
        (is_euclidean && dims == [2, 3] && keeps && is_own).then_some(())?;
        let value = self.make("sconce::norm_blocked", &[input.value], node);
        self.enter(node, Blocked { value, is_pixel: true, ..input })
    }
}
