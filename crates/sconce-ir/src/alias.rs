//! Which values may share memory, and what nodes write to.
//!
//! The model is that of PyTorch's `AliasDb`: a value points to the values it may be a view of, or
//! has memory of its own; what comes from outside, goes into a container or comes out of one shares
//! one *wildcard* per type. As there, what a loop's body gives is not carried back to what it takes.
//! [`AliasAnalyser::precise`] knows more than PyTorch: what goes into a container may come out of any,
//! as may what came from outside, but does not become the latter.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::{
    Alias, AliasAnalysis, BlockId, Constant, Graph, Kind, NodeId, Operator, Prim, Type, ValueId,
};

/// Operators that may give their operand or a view of it, of which their schemas say nothing.
const GIVE_OPERANDS: &[&str] = &[
    "aten::_cast_Double",
    "aten::_cast_Float",
    "aten::_cast_Half",
    "aten::_cast_Int",
    "aten::_cast_Long",
    "aten::alpha_dropout",
    "aten::atleast_1d",
    "aten::atleast_2d",
    "aten::atleast_3d",
    "aten::broadcast_tensors",
    "aten::cartesian_prod",
    "aten::conj_physical",
    "aten::dropout",
    "aten::einsum",
    "aten::feature_alpha_dropout",
    "aten::feature_dropout",
    "aten::flatten_dense_tensors",
    "aten::meshgrid",
    "aten::sum_to_size",
    "aten::type_as",
    "aten::unflatten_dense_tensors",
    "aten::unsafe_chunk",
    "aten::unsafe_split",
    "aten::unsafe_split_with_sizes",
];

/// A piece of memory, or what points to several.
type Element = u32;

/// No element: an immutable value.
const NOTHING: Element = u32::MAX;

/// What may share memory in a graph.
#[derive(Debug)]
pub struct AliasAnalyser<'a> {
    graph: &'a Graph,
    /// The element of each value.
    elements: Vec<Element>,
    points_to: Vec<SmallVec<[Element; 1]>>,
    /// For each element, the one that says the same of memory: of a chain, its end. Once all are
    /// known.
    same: Vec<Element>,
    contains: Vec<SmallVec<[Element; 1]>>,
    wildcards: FxHashMap<Type, Element>,
    is_wildcard: Vec<bool>,
    /// What may come out of containers, where the analysis is precise: it points to the wildcard of its
    /// type and to all that goes into containers.
    from_containers: FxHashMap<Type, Element>,
    writes: FxHashMap<NodeId, Writes>,
    /// Whether it is more exact than PyTorch's.
    precise: bool,
}

/// What one node writes to.
#[derive(Debug, Default)]
struct Writes {
    values: SmallVec<[ValueId; 1]>,
    /// Any memory from outside.
    everything: bool,
}

/// Whether values of a type can be changed in place, or hold what can (`AliasDb::isMutableType`).
pub fn is_mutable(ty: &Type) -> bool {
    match ty {
        Type::Tensor
        | Type::TensorOf(_)
        | Type::List(_)
        | Type::Dict(_)
        | Type::Class(_)
        | Type::Any
        | Type::AnyList
        | Type::AnyClass => true,
        Type::Optional(of) | Type::Future(of) | Type::Await(of) => is_mutable(of),
        Type::Tuple(of) => of.elements.iter().any(is_mutable),
        Type::Union(members) => members.iter().any(is_mutable),
        _ => false,
    }
}

impl<'a> AliasAnalyser<'a> {
    /// Analyses a graph as PyTorch does.
    pub fn new(graph: &'a Graph) -> Self {
        Self::analyse(graph, false)
    }

    /// Analyses a graph more exactly than PyTorch does: a value with memory of its own that is put into
    /// a container still has memory of its own.
    pub fn precise(graph: &'a Graph) -> Self {
        Self::analyse(graph, true)
    }

    fn analyse(graph: &'a Graph, precise: bool) -> Self {
        let mut analyser = Self {
            graph,
            elements: vec![NOTHING; graph.value_count()],
            points_to: Vec::new(),
            same: Vec::new(),
            contains: Vec::new(),
            wildcards: FxHashMap::default(),
            is_wildcard: Vec::new(),
            from_containers: FxHashMap::default(),
            writes: FxHashMap::default(),
            precise,
        };
        for &input in graph.inputs() {
            analyser.set_wildcard(input);
        }
        analyser.block(graph.root());
        analyser.collapse_chains();
        analyser
    }

    /// Takes chains of elements, each of which points to one other, as one element. What points
    /// elsewhere points to wildcards and to what was made before it; what comes out of containers, which
    /// may be anything, comes last.
    fn collapse_chains(&mut self) {
        let mut last: Vec<Element> = self.from_containers.values().copied().collect();
        last.sort_unstable();
        let is_last = |element: &Element| last.binary_search(element).is_ok();
        self.same = (0..self.points_to.len() as Element).collect();
        let first = (0..self.points_to.len() as Element).filter(|element| !is_last(element));
        for element in first.chain(last.iter().copied()) {
            let targets = &mut self.points_to[element as usize];
            for target in targets.iter_mut() {
                *target = self.same[*target as usize];
            }
            targets.sort_unstable();
            targets.dedup();
            if let [only] = targets[..]
                && !is_last(&element)
            {
                self.same[element as usize] = only;
            }
        }
    }

    /// The memory a value may be in; nothing for an immutable one. The numbers mean nothing outside
    /// of this analysis.
    pub fn locations(&self, value: ValueId) -> Vec<u32> {
        let mut locations = Vec::new();
        let mut reached = FxHashSet::default();
        let mut open: Vec<Element> = self.element(value).into_iter().collect();
        while let Some(element) = open.pop() {
            let element = self.same[element as usize];
            if reached.insert(element) {
                let targets = &self.points_to[element as usize];
                if targets.is_empty() {
                    locations.push(element);
                }
                open.extend_from_slice(targets);
            }
        }
        locations
    }

    /// Marks the memory a value may be in. What is marked already is not looked at again, so that
    /// marking value after value takes no longer than the analysis did.
    pub fn mark_locations(&self, value: ValueId, marks: &mut [bool]) {
        self.mark(self.element(value).into_iter().collect(), marks);
    }

    /// The same of whatever may come out of containers, or comes from outside.
    pub fn mark_wildcards(&self, marks: &mut [bool]) {
        let wildcards = self.wildcards.values().chain(self.from_containers.values());
        self.mark(wildcards.copied().collect(), marks);
    }

    fn mark(&self, mut open: SmallVec<[Element; 8]>, marks: &mut [bool]) {
        while let Some(element) = open.pop() {
            let element = self.same[element as usize];
            if !std::mem::replace(&mut marks[element as usize], true) {
                open.extend_from_slice(&self.points_to[element as usize]);
            }
        }
    }

    /// One more than the greatest of [`Self::locations`].
    pub fn location_count(&self) -> usize {
        self.points_to.len()
    }

    /// Whether two values may share memory.
    pub fn may_alias(&self, a: ValueId, b: ValueId) -> bool {
        let b = self.locations(b);
        self.locations(a).iter().any(|at| b.contains(at))
    }

    /// Whether something holds of any memory that a node itself writes to, its blocks not considered.
    pub fn writes_to(&self, node: NodeId, mut holds: impl FnMut(u32) -> bool) -> bool {
        let Some(writes) = self.writes.get(&node) else { return false };
        let mut reached = FxHashSet::default();
        let written = writes.values.iter().filter_map(|&value| self.element(value));
        let mut open: Vec<Element> = written.collect();
        while let Some(element) = open.pop() {
            let element = self.same[element as usize];
            if !reached.insert(element) {
                continue;
            }
            let targets = &self.points_to[element as usize];
            if targets.is_empty() {
                if holds(element) {
                    return true;
                }
                open.extend_from_slice(&self.contains[element as usize]);
            }
            open.extend_from_slice(targets);
        }
        let mut outside = (0..self.location_count() as u32).filter(|&at| self.escapes(at));
        writes.everything && outside.any(holds)
    }

    fn element(&self, value: ValueId) -> Option<Element> {
        self.elements.get(value.0 as usize).copied().filter(|&element| element != NOTHING)
    }

    /// Whether a location is memory that something outside of the graph may see.
    pub fn escapes(&self, location: u32) -> bool {
        self.is_wildcard[location as usize]
    }

    /// For each location, whether any node may write to it.
    pub fn all_written(&self) -> Vec<bool> {
        let mut all = vec![false; self.location_count()];
        for node in self.graph.preorder(self.graph.root()) {
            self.writes_to(node, |location| {
                all[location as usize] = true;
                false
            });
        }
        all
    }

    /// For each value, whether any node may write to memory that it may be in.
    pub fn written_values(&self) -> Vec<bool> {
        let mut written = self.all_written();
        let mut pointed_from = vec![Vec::new(); self.points_to.len()];
        for (element, targets) in self.points_to.iter().enumerate() {
            for &target in targets {
                pointed_from[target as usize].push(element);
            }
        }
        let mut open: Vec<usize> = (0..written.len()).filter(|&at| written[at]).collect();
        while let Some(element) = open.pop() {
            for &from in &pointed_from[element] {
                if !std::mem::replace(&mut written[from], true) {
                    open.push(from);
                }
            }
        }
        let of_value = |value: u32| {
            let element = self.element(ValueId(value));
            element.is_some_and(|element| written[self.same[element as usize] as usize])
        };
        (0..self.elements.len() as u32).map(of_value).collect()
    }

    // --- building ------------------------------------------------------------------------------

    fn block(&mut self, block: BlockId) {
        let graph = self.graph;
        for node in graph.block_nodes(block) {
            self.node(node);
        }
    }

    fn node(&mut self, id: NodeId) {
        let node = self.graph.node(id);
        if let Kind::Prim(prim) = node.kind {
            match prim {
                Prim::If => return self.branches(id),
                Prim::Loop => return self.loop_node(id),
                Prim::Fork | Prim::ForkClosure | Prim::Awaitable | Prim::AwaitableClosure => {
                    self.forget(node.inputs());
                    return self.create(id);
                }
                Prim::ListConstruct | Prim::DictConstruct | Prim::TupleConstruct => {
                    return self.container(id);
                }
                Prim::TupleUnpack | Prim::TupleIndex | Prim::TupleSlice | Prim::ListUnpack => {
                    return node.outputs().iter().for_each(|&output| self.leave_container(output));
                }
                Prim::GetAttr | Prim::PythonOp | Prim::Load => return self.forget(node.outputs()),
                Prim::UncheckedCast | Prim::UncheckedUnwrapOptional => {
                    return self.point(node.outputs(), node.inputs());
                }
                Prim::SetAttr => {
                    self.write(id, node.inputs()[0]);
                    return self.forget(&node.inputs()[1..]);
                }
                Prim::Constant
                | Prim::CreateObject
                | Prim::EmptyListLiteral
                | Prim::Uninitialized
                | Prim::Isinstance
                | Prim::HasAttr
                | Prim::Print
                | Prim::RaiseException
                | Prim::ToList
                | Prim::EnumName
                | Prim::Closure => return self.create(id),
                _ => {}
            }
        }
        if node.kind.is_private() {
            return self.create(id);
        }
        match self.graph.operator(id) {
            Some(operator) if operator.alias_analysis == AliasAnalysis::FromSchema => {
                self.schema(id, operator);
            }
            _ => self.unknown(id),
        }
    }

    fn branches(&mut self, id: NodeId) {
        let node = self.graph.node(id);
        for &block in node.blocks() {
            self.block(block);
        }
        for &block in node.blocks() {
            self.point(node.outputs(), self.graph.block_outputs(block));
        }
    }

    fn loop_node(&mut self, id: NodeId) {
        let node = self.graph.node(id);
        let Some(&body) = node.blocks().first() else { return };
        let inputs = self.graph.block_inputs(body).get(1..).unwrap_or_default();
        self.point(inputs, node.inputs().get(2..).unwrap_or_default());
        self.block(body);
        self.point(node.outputs(), self.graph.block_outputs(body).get(1..).unwrap_or_default());
    }

    /// A container is fresh. What is put in stays known only where nothing but one operator that
    /// gives none of it back uses the container; else it may come out anywhere.
    fn container(&mut self, id: NodeId) {
        let node = self.graph.node(id);
        self.create(id);
        let Some(&container) = node.outputs().first() else { return };
        if self.elements[container.0 as usize] == NOTHING {
            return;
        }
        if !self.stays_inside(container) {
            return node.inputs().iter().for_each(|&input| self.enter_container(input));
        }
        for &input in node.inputs() {
            let element = self.elements[input.0 as usize];
            if element != NOTHING {
                self.contains[self.elements[container.0 as usize] as usize].push(element);
            }
        }
    }

    /// Whether a container is used once, by an operator that neither changes nor returns it.
    fn stays_inside(&self, container: ValueId) -> bool {
        let [only] = self.graph.value(container).uses() else { return false };
        let user = self.graph.node(only.user);
        if user.is(Prim::Return) {
            return false;
        }
        let Kind::Op(_) = user.kind else { return false };
        let Some(operator) = self.graph.operator(only.user) else { return false };
        let argument = operator.schema.arguments.get(only.index as usize);
        !self.gives_operands(only.user)
            && operator.alias_analysis == AliasAnalysis::FromSchema
            && argument.is_some_and(|argument| argument.alias.is_none())
    }

    fn schema(&mut self, id: NodeId, operator: &Operator) {
        let node = self.graph.node(id);
        if self.is_norm(id) {
            return;
        }
        if matches!(node.kind.symbol(), "aten::wait") {
            self.forget(node.outputs());
            self.writes.entry(id).or_default().everything = true;
            return;
        }
        let mut bound: SmallVec<[(&str, ValueId); 2]> = SmallVec::new();
        for (argument, &input) in operator.schema.arguments.iter().zip(node.inputs()) {
            let Some(alias) = argument.alias.as_deref() else { continue };
            if !is_mutable(self.graph.ty(input)) {
                continue;
            }
            let whole = alias;
            let alias = innermost(whole);
            let Some(set) = alias.before.first() else { continue };
            if bound.iter().any(|(name, _)| *name == &**set) {
                continue;
            }
            bound.push((set, input));
            if alias.is_write {
                self.write(id, input);
                // The elements of a list may be anything that went into it.
                if self.precise && !std::ptr::eq(whole, alias) {
                    self.writes.entry(id).or_default().everything = true;
                }
            }
            if is_wildcard(&alias.after) {
                self.enter_container(input);
            }
        }
        if self.gives_operands(id) {
            return self.given_operands(id);
        }
        let returns = operator.schema.returns.iter();
        for (index, &output) in node.outputs().iter().enumerate() {
            if !is_mutable(self.graph.ty(output)) {
                continue;
            }
            let alias = returns.clone().nth(index).and_then(|value| value.alias.as_deref());
            let Some(alias) = alias.map(innermost) else {
                self.fresh(output);
                continue;
            };
            if is_wildcard(&alias.before) || is_wildcard(&alias.after) {
                self.leave_container(output);
                continue;
            }
            self.fresh(output);
            for (_, input) in
                bound.iter().filter(|(name, _)| alias.before.iter().any(|set| &**set == *name))
            {
                self.point(&[output], &[*input]);
            }
            if alias.is_write {
                self.write(id, output);
            }
        }
    }

    /// Whether a node may give what it takes without its schema's saying so, which PyTorch's analysis
    /// takes no notice of.
    fn gives_operands(&self, id: NodeId) -> bool {
        self.precise && GIVE_OPERANDS.contains(&self.graph.node(id).kind.symbol())
    }

    /// The results of such a node: its operands, or what is in its operands.
    fn given_operands(&mut self, id: NodeId) {
        let node = self.graph.node(id);
        for &output in node.outputs() {
            self.fresh(output);
            for &input in node.inputs() {
                match self.graph.ty(input) {
                    Type::List(_) => self.leave_container(output),
                    _ => self.point(&[output], &[input]),
                }
            }
        }
    }

    /// Batch and instance norm write to their running statistics when they train, which their
    /// schemas do not say.
    fn is_norm(&mut self, id: NodeId) -> bool {
        let node = self.graph.node(id);
        if !matches!(node.kind.symbol(), "aten::batch_norm" | "aten::instance_norm") {
            return false;
        }
        self.create(id);
        let [_, _, _, mean, variance, trains, ..] = *node.inputs() else { return true };
        if self.graph.constant(trains) != Some(Constant::Bool(false)) {
            self.write(id, mean);
            self.write(id, variance);
        }
        true
    }

    /// A node of which nothing is known.
    fn unknown(&mut self, id: NodeId) {
        let node = self.graph.node(id);
        for &block in node.blocks() {
            let inputs = self.graph.block_inputs(block);
            self.forget(inputs);
            self.block(block);
        }
        for &input in node.inputs() {
            self.write(id, input);
        }
        self.forget(node.inputs());
        self.forget(node.outputs());
    }

    fn create(&mut self, id: NodeId) {
        for &output in self.graph.node(id).outputs() {
            self.fresh(output);
        }
    }

    fn fresh(&mut self, value: ValueId) {
        if is_mutable(self.graph.ty(value)) && self.elements[value.0 as usize] == NOTHING {
            self.elements[value.0 as usize] = self.add();
        }
    }

    fn add(&mut self) -> Element {
        self.points_to.push(SmallVec::new());
        self.contains.push(SmallVec::new());
        self.is_wildcard.push(false);
        (self.points_to.len() - 1) as Element
    }

    /// Says that each value may be the one of the same index.
    fn point(&mut self, values: &[ValueId], to: &[ValueId]) {
        for (&value, &to) in values.iter().zip(to) {
            if !is_mutable(self.graph.ty(value)) {
                continue;
            }
            self.fresh(value);
            let (from, to) = (self.elements[value.0 as usize], self.elements[to.0 as usize]);
            if to != NOTHING && from != to {
                self.points_to[from as usize].push(to);
            }
        }
    }

    fn write(&mut self, node: NodeId, value: ValueId) {
        if is_mutable(self.graph.ty(value)) {
            self.fresh(value);
            self.writes.entry(node).or_default().values.push(value);
        }
    }

    fn forget(&mut self, values: &[ValueId]) {
        for &value in values {
            self.set_wildcard(value);
        }
    }

    /// Says that a value goes into a container, from which it may come out anywhere.
    fn enter_container(&mut self, value: ValueId) {
        self.pass(value, |all, element| (all, element));
    }

    /// Says that a value comes out of a container.
    fn leave_container(&mut self, value: ValueId) {
        self.pass(value, |all, element| (element, all));
    }

    /// Makes one of what containers hold and a value point to the other.
    fn pass(&mut self, value: ValueId, which: fn(Element, Element) -> (Element, Element)) {
        let ty = self.graph.ty(value);
        if !self.precise || !is_mutable(ty) {
            return self.set_wildcard(value);
        }
        self.fresh(value);
        let (all, element) = (self.all_in_containers(ty), self.elements[value.0 as usize]);
        let (from, to) = which(all, element);
        if from != to {
            self.points_to[from as usize].push(to);
        }
    }

    /// What stands for all values of a type that may come out of containers.
    fn all_in_containers(&mut self, ty: &Type) -> Element {
        let key = wildcard_type(ty);
        if let Some(&element) = self.from_containers.get(&key) {
            return element;
        }
        let (outside, element) = (self.wildcard(ty), self.add());
        self.points_to[element as usize].push(outside);
        // What comes out as `Any` may be of any type.
        if key != Type::Any {
            let any = self.all_in_containers(&Type::Any);
            self.points_to[any as usize].push(element);
        }
        self.from_containers.insert(key, element);
        element
    }

    fn set_wildcard(&mut self, value: ValueId) {
        let ty = self.graph.ty(value);
        if !is_mutable(ty) {
            return;
        }
        let wildcard = self.wildcard(ty);
        match self.elements[value.0 as usize] {
            NOTHING => self.elements[value.0 as usize] = wildcard,
            element if element != wildcard => self.points_to[element as usize].push(wildcard),
            _ => {}
        }
    }

    /// The wildcard of a type.
    fn wildcard(&mut self, ty: &Type) -> Element {
        let key = wildcard_type(ty);
        if let Some(&wildcard) = self.wildcards.get(&key) {
            return wildcard;
        }
        let wildcard = self.add();
        self.is_wildcard[wildcard as usize] = true;
        self.wildcards.insert(key, wildcard);
        let parts = ty.contained();
        for part in parts {
            if is_mutable(part) {
                let part = self.wildcard(part);
                self.contains[wildcard as usize].push(part);
            }
        }
        wildcard
    }
}

/// The type whose wildcard values of a type share: there is one for all tensors, and one for whatever
/// else is not a list or dict.
fn wildcard_type(ty: &Type) -> Type {
    match ty {
        Type::Tensor | Type::TensorOf(_) => Type::Tensor,
        Type::Optional(of) => wildcard_type(of),
        Type::List(of) => Type::List(of.clone()),
        Type::Dict(of) => Type::Dict(of.clone()),
        _ => Type::Any,
    }
}

/// `Tensor(a!)[]` says something of its elements alone.
fn innermost(alias: &Alias) -> &Alias {
    match &alias.contained[..] {
        [inner] if alias.before.is_empty() => inner,
        _ => alias,
    }
}

fn is_wildcard(sets: &[std::sync::Arc<str>]) -> bool {
    sets.iter().any(|set| &**set == "*")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_operators_give_may_be_what_they_take() {
        // Whether PyTorch's analysis says so, and whether it may be so.
        for (call, known, possible) in [
            ("aten::type_as(%x, %y)", false, true),
            ("aten::dropout(%x, %p, %b)", false, true),
            ("aten::alias(%x)", true, true),
            ("aten::add(%x, %y, %n)", false, false),
        ] {
            let text = format!(
                "graph(%x : Tensor, %y : Tensor, %p : float, %b : bool, %n : int):
  %z : Tensor = {call}
  return (%z)"
            );
            let graph = Graph::parse(&text).unwrap();
            let (input, output) =
                (graph.block_inputs(graph.root())[0], graph.block_outputs(graph.root())[0]);
            let [plain, precise] = [AliasAnalyser::new(&graph), AliasAnalyser::precise(&graph)]
                .map(|analyser| analyser.may_alias(input, output));
            assert_eq!((plain, precise), (known, possible), "{call}");
        }
    }

    #[test]
    fn what_is_in_a_list_comes_out_of_operators_that_give_what_they_take() {
        let text = "graph(%x : Tensor, %y : Tensor):
  %l : Tensor[] = prim::ListConstruct(%x, %y)
  %m : Tensor[] = aten::broadcast_tensors(%l)
  %a : Tensor, %b : Tensor = prim::ListUnpack(%m)
  return (%b)";
        let graph = Graph::parse(text).unwrap();
        let (input, output) =
            (graph.block_inputs(graph.root())[0], graph.block_outputs(graph.root())[0]);
        assert!(AliasAnalyser::precise(&graph).may_alias(input, output));
    }
}
