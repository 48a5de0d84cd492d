//! From the tree to a graph of loads and stores: PyTorch's `ir_emitter`.
//!
//! The order in which values are made, dead ones included, is PyTorch's, so that the numbers and
//! suffixes in print are too. What comes out is what [`crate::ssa`] takes.

mod assign;
mod attributes;
mod augmented_assignment;
mod call;
mod conditions;
mod containers;
mod control_flow;
mod definition;
mod environment;
mod expressions;
mod iteration;
pub(crate) mod matching;
mod modules;
mod refinement;
pub(crate) mod signature;
mod special_forms;
mod straight_line;
mod subscript;
mod sugared;
mod type_hints;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use sconce_ir::{
    Attribute, Attributes, BlockId, ClassId, Constant, Graph, Kind, NamedRef, NodeId, Prim, Type,
    Unit, ValueId,
};
use sconce_syntax::{Range, Source, SourceRange};

use crate::annotations::{MAX_TYPE_SIZE, too_large};
use crate::builtins::Builtins;
use crate::{Error, Resolver};
use environment::Environment;
use straight_line::StraightLine;

/// How many expressions are emitted at most for a function, and for each byte of its source beyond
/// that. As in PyTorch, an index is emitted three times and a loop over a tuple once for each
/// element, so a short program can become a long graph.
const EXPRESSIONS: usize = 1 << 18;
const EXPRESSIONS_PER_BYTE: usize = 8;

/// Of how many numbers the attributes of their constants are kept.
const KEPT_CONSTANTS: usize = 8;

/// Whether a `break` or `continue` may stand here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LoopStatus {
    Outside,
    Inside,
    Unrolled,
}

/// What is known of the return type of a definition that is being emitted.
#[derive(Default)]
struct Returns {
    declared: Option<Type>,
    merged: Option<Type>,
}

/// A literal that is made once for each function, at the front of the graph.
#[derive(PartialEq, Eq, Hash)]
enum Literal {
    Int(i64),
    Float(u64),
    Complex(u64),
}

/// What is emitted into one graph.
pub(crate) struct Emitter<'a> {
    pub(crate) unit: &'a mut Unit,
    pub(crate) resolver: &'a mut dyn Resolver,
    /// Functions written in TorchScript that stand beside the operators; none while they are
    /// themselves compiled.
    pub(crate) builtins: Option<&'static Builtins>,
    pub(crate) graph: Graph,
    /// The qualified name of the function.
    name: &'a str,
    op_version: u32,
    source: Arc<Source>,
    /// New nodes go before this one.
    insertion_point: NodeId,
    environment: Environment,
    straight_line: StraightLine,
    /// Whether loads and stores are left as they are.
    pub(crate) keeps_variables: bool,
    literals: FxHashMap<Literal, ValueId>,
    /// Attributes of constants that were made, by the number's lowest bits.
    kept_constants: [Option<(i64, Attributes)>; KEPT_CONSTANTS],
    /// Blocks at whose end control never arrives.
    exits: FxHashSet<BlockId>,
    returns: Vec<Returns>,
    loop_status: LoopStatus,
    temporaries: usize,
    /// Nodes of an old operator version, with the index of the upgrader that replaces each.
    pub(crate) outdated: FxHashMap<NodeId, usize>,
    /// For names of operators that are put together.
    scratch: String,
    /// How many more expressions may be emitted: some are emitted more than once.
    budget: usize,
}

impl<'a> Emitter<'a> {
    pub(crate) fn new(
        unit: &'a mut Unit,
        resolver: &'a mut dyn Resolver,
        builtins: Option<&'static Builtins>,
        name: &'a str,
        source: Arc<Source>,
        op_version: u32,
    ) -> Self {
        let budget = EXPRESSIONS + EXPRESSIONS_PER_BYTE * source.text().len();
        let graph = Graph::new();
        let root = graph.root();
        let insertion_point = graph.return_node(root);
        let mut emitter = Self {
            unit,
            resolver,
            builtins,
            graph,
            name,
            op_version,
            source,
            insertion_point,
            environment: Environment::default(),
            straight_line: StraightLine::default(),
            keeps_variables: false,
            literals: FxHashMap::default(),
            kept_constants: Default::default(),
            exits: FxHashSet::default(),
            returns: Vec::new(),
            loop_status: LoopStatus::Outside,
            temporaries: 0,
            outdated: FxHashMap::default(),
            scratch: String::new(),
            budget,
        };
        emitter.push_definition(root);
        emitter
    }

    // --- making nodes --------------------------------------------------------------------------

    pub(crate) fn source_range(&self, at: Range) -> SourceRange {
        SourceRange::new(Arc::clone(&self.source), at)
    }

    /// An error at a place, if it has one.
    pub(crate) fn error(&self, at: impl Into<Option<Range>>, message: impl Into<String>) -> Error {
        match at.into() {
            Some(at) => Error::new(message, self.source_range(at)),
            None => Error::without_range(message),
        }
    }

    /// Says where a node comes from, if that is known.
    pub(crate) fn set_known_range(&mut self, node: NodeId, at: Option<Range>) {
        if let Some(at) = at {
            self.set_range(node, at);
        }
    }

    pub(crate) fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// The node before which new ones go.
    pub(crate) fn insertion_point(&self) -> NodeId {
        self.insertion_point
    }

    /// The operator version of the source.
    pub(crate) fn op_version(&self) -> u32 {
        self.op_version
    }

    /// Puts a new node at the insertion point.
    pub(crate) fn insert(&mut self, kind: impl Into<Kind>, inputs: &[ValueId]) -> NodeId {
        let node = self.graph.new_node(kind, inputs);
        self.graph.insert_before(node, self.insertion_point)
    }

    /// Puts a new node with one output at the insertion point.
    pub(crate) fn insert_with(
        &mut self,
        kind: impl Into<Kind>,
        inputs: &[ValueId],
        ty: Type,
    ) -> ValueId {
        let node = self.insert(kind, inputs);
        self.graph.add_output(node, ty)
    }

    /// The same, with its place.
    pub(crate) fn insert_at(
        &mut self,
        kind: impl Into<Kind>,
        inputs: &[ValueId],
        ty: Type,
        at: Range,
    ) -> ValueId {
        let node = self.insert(kind, inputs);
        self.set_range(node, at);
        self.graph.add_output(node, ty)
    }

    fn set_range(&mut self, node: NodeId, at: Range) {
        let range = self.source_range(at);
        self.graph.node_mut(node).range = Some(range);
    }

    /// A constant, with its place if it has one.
    pub(crate) fn constant(&mut self, value: &Constant, at: Option<Range>) -> ValueId {
        let number = match value {
            Constant::Int(number) => Some(*number),
            Constant::Bool(bool) => Some(i64::from(*bool)),
            _ => None,
        };
        let node = match number {
            // Defaults of operators are a constant at each call: those of one number share their attributes.
            Some(number) => {
                let attributes = self.int_attributes(number);
                let node = self.graph.new_node_with(Prim::Constant, &[], value.ty());
                self.graph.node_mut(node).set_attributes(attributes);
                node
            }
            None => self.graph.new_constant(value),
        };
        self.graph.insert_before(node, self.insertion_point);
        if let Some(at) = at {
            self.set_range(node, at);
        }
        self.graph.node(node).output()
    }

    /// The attributes of a constant that is a number: those that were made last are kept.
    fn int_attributes(&mut self, number: i64) -> Attributes {
        let kept = &mut self.kept_constants[(number & (KEPT_CONSTANTS as i64 - 1)) as usize];
        match kept {
            Some((kept, attributes)) if *kept == number => attributes.clone(),
            _ => {
                let attributes = Attributes::one("value", Attribute::Int(number));
                *kept = Some((number, attributes.clone()));
                attributes
            }
        }
    }

    fn int(&mut self, value: i64, at: Range) -> ValueId {
        self.constant(&Constant::Int(value), Some(at))
    }

    fn none(&mut self) -> ValueId {
        self.constant(&Constant::None, None)
    }

    /// A literal at the front of the graph; the same one each time.
    fn literal(&mut self, literal: Literal, value: &Constant, at: Range) -> ValueId {
        if let Some(&known) = self.literals.get(&literal) {
            return known;
        }
        let front = self.graph.next(self.graph.param_node(self.graph.root()));
        let made = self.with_insertion_point(front, |emitter| emitter.constant(value, Some(at)));
        self.literals.insert(literal, made);
        made
    }

    fn int_literal(&mut self, value: i64, at: Range) -> ValueId {
        self.literal(Literal::Int(value), &Constant::Int(value), at)
    }

    /// Emits with the insertion point before `node`.
    fn with_insertion_point<T>(&mut self, node: NodeId, step: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.insertion_point, node);
        let result = step(self);
        self.insertion_point = before;
        result
    }

    /// Emits at the end of a block.
    fn in_block<T>(&mut self, block: BlockId, step: impl FnOnce(&mut Self) -> T) -> T {
        self.with_insertion_point(self.graph.return_node(block), step)
    }

    fn unchecked_cast(&mut self, value: ValueId, ty: Type) -> ValueId {
        self.insert_with(Prim::UncheckedCast, &[value], ty)
    }

    /// A tuple of values. Its type holds theirs, so that it can double with each statement.
    pub(crate) fn tuple(
        &mut self,
        at: impl Into<Option<Range>>,
        values: &[ValueId],
    ) -> Result<ValueId, Error> {
        let types = values.iter().map(|&value| self.graph.ty(value).clone()).collect();
        let ty = Type::tuple(types);
        if !ty.is_within(MAX_TYPE_SIZE) {
            return Err(self.error(at, too_large()));
        }
        Ok(self.insert_with(Prim::TupleConstruct, values, ty))
    }

    pub(crate) fn list(&mut self, element: Type, values: &[ValueId]) -> ValueId {
        self.insert_with(Prim::ListConstruct, values, Type::list(element))
    }

    /// The elements of a tuple; those of one just put together are what it was put together from.
    pub(crate) fn unpack_tuple(&mut self, tuple: ValueId) -> Vec<ValueId> {
        let maker = self.graph.node(self.graph.value(tuple).node());
        if maker.is(Prim::TupleConstruct) {
            return maker.inputs().to_vec();
        }
        let Type::Tuple(ty) = self.graph.ty(tuple).clone() else { return Vec::new() };
        let node = self.insert(Prim::TupleUnpack, &[tuple]);
        ty.elements.iter().map(|element| self.graph.add_output(node, element.clone())).collect()
    }

    fn uninitialized(&mut self, ty: Type) -> ValueId {
        self.insert_with(Prim::Uninitialized, &[], ty)
    }

    /// A node with a `name` attribute and one output.
    fn insert_named(
        &mut self,
        prim: Prim,
        inputs: &[ValueId],
        name: &Arc<str>,
        ty: Type,
    ) -> ValueId {
        let value = self.insert_with(prim, inputs, ty);
        self.set_name_attribute(self.graph.value(value).node(), name);
        value
    }

    fn set_name_attribute(&mut self, node: NodeId, name: &Arc<str>) {
        self.graph.node_mut(node).set_attribute("name", Attribute::Str(Arc::clone(name)));
    }

    /// The class that a type names. One from an operator's schema is known by its name alone.
    pub(super) fn class_of(&mut self, class: &NamedRef) -> Result<ClassId, Error> {
        if class.id != NamedRef::NOWHERE {
            return Ok(ClassId(class.id));
        }
        let mut ty = self.unit.find_type(&class.name).cloned();
        if ty.is_none() {
            ty = self.resolver.ty(self.unit, &class.name)?;
        }
        match ty {
            Some(Type::Class(known)) if known.id != NamedRef::NOWHERE => Ok(ClassId(known.id)),
            _ => Err(Error::without_range(format!("Unknown type name '{}'", class.name))),
        }
    }

    // --- asking --------------------------------------------------------------------------------

    fn is_made_by(&self, value: ValueId, prim: Prim) -> bool {
        self.graph.node(self.graph.value(value).node()).is(prim)
    }

    pub(crate) fn is_subtype(&self, value: ValueId, ty: &Type) -> bool {
        self.graph.ty(value).is_subtype_of(ty, self.unit)
    }

    fn is_tensor(&self, value: ValueId) -> bool {
        self.graph.ty(value).is_tensor()
    }

    /// A value's type as errors name it.
    fn type_text(&self, value: ValueId) -> String {
        self.graph.ty(value).message_text()
    }

    /// A name that no variable of the program can have.
    fn temporary(&mut self, prefix: &str) -> Arc<str> {
        let name = format!("{prefix}{}", self.temporaries);
        self.temporaries += 1;
        name.into()
    }
}
