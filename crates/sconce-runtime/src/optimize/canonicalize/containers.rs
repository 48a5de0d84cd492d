//! Tuples and lists whose items are known where they are read: features that an encoder collects and a
//! decoder takes out, branches that are joined.

use rustc_hash::FxHashMap;
use sconce_ir::{BlockId, Constant, Kind, NodeId, Prim, Type, Use, ValueId, passes};

use crate::optimize::Optimization;

/// Puts items in the place of what is taken out of tuples and lists, and makes a list anew for whoever
/// reads one that was put together piece by piece.
pub(crate) fn resolve(optimization: &mut Optimization) {
    passes::lower_simple_tuples(&mut optimization.graph);
    let nodes = optimization.nodes();
    let mut lists = Lists { o: optimization, items: FxHashMap::default() };
    for node in nodes {
        lists.node(node);
    }
    passes::eliminate_dead_code(&mut optimization.graph);
    optimization.refresh();
}

/// The most items and uses of a list that is looked at: each use may get a copy of it.
const MOST: usize = 256;

struct Lists<'a> {
    o: &'a mut Optimization,
    /// The items that lists have at the node that is looked at.
    items: FxHashMap<ValueId, Vec<ValueId>>,
}

impl Lists<'_> {
    fn node(&mut self, node: NodeId) {
        let at = self.o.graph.node(node);
        if at.is(Prim::ListConstruct) {
            let (items, list) = (at.inputs().to_vec(), at.output());
            self.keep(list, items);
            return;
        }
        let lists =
            at.inputs().iter().enumerate().filter(|(_, input)| self.items.contains_key(*input));
        for (index, list) in lists.map(|(index, &list)| (index, list)).collect::<Vec<_>>() {
            if self.read(node, list).is_none() && self.o.graph.node(node).is_alive() {
                let items = self.items[&list].clone();
                let ty = self.o.graph.ty(list).clone();
                let made = self.make(&items, ty, node);
                self.o.graph.replace_node_input(node, index, made);
            }
        }
    }

    /// Whether all uses of a list are such that its items are known at each.
    fn is_known(&self, list: ValueId) -> bool {
        let owner = self.o.graph.node(self.o.producer(list)).owner();
        self.o.graph.value(list).uses().iter().all(|only| self.is_simple(only, owner))
    }

    /// Whether a use reads a list and keeps nothing of it, or changes it in the block that it is made in, so
    /// that all items are known in program order.
    fn is_simple(&self, only: &Use, owner: Option<BlockId>) -> bool {
        let user = self.o.graph.node(only.user);
        if user.is(Prim::ListUnpack) {
            return true;
        }
        let Kind::Op(_) = user.kind else { return false };
        match (user.kind.symbol(), only.index) {
            ("aten::append", 0) => {
                user.owner() == owner && self.o.graph.value(user.output()).uses().is_empty()
            }
            ("aten::_set_item", 0) => {
                let index = user.inputs().get(1).and_then(|&index| self.o.constant(index));
                let alone = self.o.graph.value(user.output()).uses().is_empty();
                user.owner() == owner && alone && matches!(index, Some(Constant::Int(_)))
            }
            ("aten::__getitem__", 0) => true,
            _ => {
                let operator = self.o.graph.operator(only.user);
                let argument = operator
                    .and_then(|operator| operator.schema.arguments.get(only.index as usize));
                argument.is_some_and(|argument| argument.alias.is_none())
            }
        }
    }

    /// Does what a node does to a list, if that is known beforehand; `None` for what needs the list.
    fn read(&mut self, node: NodeId, list: ValueId) -> Option<()> {
        let at = self.o.graph.node(node);
        let items = self.items.get(&list)?;
        match (at.kind.symbol(), at.inputs()) {
            ("aten::append", &[_, item]) => {
                self.items.get_mut(&list)?.push(item);
                self.o.graph.destroy(node);
            }
            ("aten::_set_item", &[_, index, item]) => {
                let place = self.place(index, items.len()).filter(|&place| place < items.len())?;
                self.items.get_mut(&list)?[place] = item;
                self.o.graph.destroy(node);
            }
            ("prim::ListUnpack", _) => {
                let (outputs, items) = (at.outputs().to_vec(), items.clone());
                (outputs.len() == items.len()).then_some(())?;
                for (output, item) in outputs.into_iter().zip(items) {
                    self.o.graph.replace_all_uses(output, item);
                }
                self.o.graph.destroy(node);
            }
            ("aten::__getitem__", &[_, index]) => {
                let item = *items.get(self.place(index, items.len())?)?;
                (self.o.graph.ty(item) == self.o.graph.ty(at.output())).then_some(())?;
                self.o.replace(node, item);
            }
            ("aten::slice", &[_, start, end, step]) => {
                let place = |value: ValueId, default: usize| match self.o.constant(value)? {
                    Constant::None => Some(default),
                    Constant::Int(at) if at < 0 => {
                        Some(usize::try_from(at + items.len() as i64).unwrap_or(0))
                    }
                    Constant::Int(at) => Some(usize::try_from(at).ok()?.min(items.len())),
                    _ => None,
                };
                let none = |value: ValueId| self.o.constant(value) == Some(Constant::None);
                let part: Vec<ValueId> = match self.o.constant(step)? {
                    Constant::Int(1) => {
                        let (start, end) = (place(start, 0)?, place(end, items.len())?);
                        items.get(start..end.max(start))?.to_vec()
                    }
                    Constant::Int(-1) if none(start) && none(end) => {
                        items.iter().rev().copied().collect()
                    }
                    _ => return None,
                };
                self.put(node, part);
            }
            ("aten::add", &[first, second]) => {
                let both =
                    [self.items.get(&first)?.clone(), self.items.get(&second)?.clone()].concat();
                (both.len() <= MOST).then_some(())?;
                self.put(node, both);
            }
            _ => return None,
        }
        Some(())
    }

    /// The place of an item, counted from the end where it is negative.
    fn place(&self, index: ValueId, len: usize) -> Option<usize> {
        let Constant::Int(index) = self.o.constant(index)? else { return None };
        usize::try_from(if index < 0 { index + len as i64 } else { index }).ok()
    }

    /// Puts a list of these items in the place of what a node gives.
    fn put(&mut self, node: NodeId, items: Vec<ValueId>) {
        let ty = self.o.graph.ty(self.o.graph.node(node).output()).clone();
        let list = self.make(&items, ty, node);
        self.o.replace(node, list);
        self.keep(list, items);
    }

    /// Remembers the items of a list, if they stay known.
    fn keep(&mut self, list: ValueId, items: Vec<ValueId>) {
        let uses = self.o.graph.value(list).uses();
        if items.len() + uses.len() <= MOST && self.is_known(list) {
            self.items.insert(list, items);
        }
    }

    fn make(&mut self, items: &[ValueId], ty: Type, before: NodeId) -> ValueId {
        let node = self.o.graph.new_node_with(Prim::ListConstruct, items, ty);
        self.o.insert_at(node, before);
        self.o.graph.node(node).output()
    }
}
