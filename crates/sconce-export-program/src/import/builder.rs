//! A graph of `sconce-ir` while it is made of a program's.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use sconce_ir::{
    Attribute, BlockId, Constant, Graph, Kind, NodeId, Operator, Prim, Type, ValueId, operators,
};

use crate::Error;
use crate::error::ErrorKind;
use crate::schema::{self, Argument, Node};

/// How deep graphs may hold graphs.
const MAX_DEPTH: usize = 32;

/// What is imported, as far as it is.
pub(super) struct Builder {
    pub(super) graph: Graph,
    /// Where nodes go.
    pub(super) block: BlockId,
    /// The values of the graph that is being imported, and of those around it; each sees its own alone.
    scopes: Vec<FxHashMap<String, ValueId>>,
    /// The dtype to which the region around casts operands, as a program has it.
    pub(super) autocast: Option<i64>,
    /// Operators that nobody knows.
    pub(super) unknown: Vec<String>,
    /// How many more nodes may be imported: the conditions of loops are there twice, and hold loops.
    left: usize,
}

pub(super) type Result<T> = std::result::Result<T, Error>;

/// What a program has that cannot be run.
pub(super) fn unsupported(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unsupported, message)
}

impl Builder {
    /// For a program whose graphs have so many nodes in all.
    pub(super) fn new(nodes: usize) -> Self {
        let mut graph = Graph::new();
        graph.op_version = Some(operators::CURRENT_VERSION);
        let block = graph.root();
        Builder {
            graph,
            block,
            scopes: vec![FxHashMap::default()],
            autocast: None,
            unknown: Vec::new(),
            left: nodes.saturating_mul(8).saturating_add(64),
        }
    }

    /// Makes a value known by a name in the graph that is being imported.
    pub(super) fn define(&mut self, name: &str, value: ValueId) -> Result<()> {
        let Some(scope) = self.scopes.last_mut() else { return Ok(()) };
        if scope.insert(name.to_owned(), value).is_some() {
            return Err(Error::malformed(format!("the value '{name}' is defined twice")));
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if starts && name.chars().all(plain) && self.graph.value(value).name().is_none() {
            self.graph.set_name(value, name);
        }
        Ok(())
    }

    /// The value of a name.
    pub(super) fn named(&self, name: &str) -> Result<ValueId> {
        let found = self.scopes.last().and_then(|scope| scope.get(name)).copied();
        found.ok_or_else(|| {
            Error::malformed(format!("the value '{name}' is used before it is defined"))
        })
    }

    pub(super) fn ty(&self, value: ValueId) -> &Type {
        self.graph.ty(value)
    }

    /// Adds a node.
    pub(super) fn node(
        &mut self,
        kind: impl Into<Kind>,
        inputs: &[ValueId],
        outputs: &[Type],
    ) -> NodeId {
        self.graph.append_node(self.block, kind, inputs, outputs)
    }

    /// Adds a node with one output, and gives that.
    pub(super) fn value(
        &mut self,
        kind: impl Into<Kind>,
        inputs: &[ValueId],
        output: Type,
    ) -> ValueId {
        let node = self.node(kind, inputs, &[output]);
        self.graph.node(node).output()
    }

    pub(super) fn constant(&mut self, constant: &Constant) -> ValueId {
        let node = self.graph.new_constant(constant);
        self.graph.append(self.block, node);
        self.graph.node(node).output()
    }

    pub(super) fn int(&mut self, value: i64) -> ValueId {
        self.constant(&Constant::Int(value))
    }

    pub(super) fn none(&mut self) -> ValueId {
        self.constant(&Constant::None)
    }

    /// Adds a call of an operator with all its arguments.
    pub(super) fn call(&mut self, operator: &Operator, inputs: &[ValueId]) -> NodeId {
        let schema = &operator.schema;
        let outputs: Vec<Type> = schema.returns.iter().map(|of| of.ty.clone()).collect();
        let node = self.node(Kind::from_symbol(&schema.name), inputs, &outputs);
        self.graph.node_mut(node).operator = Some(operator.id);
        node
    }

    /// Adds a call of the operator of a full name, such as `aten::add.int`, that has one result.
    pub(super) fn known(&mut self, full_name: &str, inputs: &[ValueId]) -> Result<ValueId> {
        let operator = operators::find_full(full_name)
            .ok_or_else(|| unsupported(format!("the operator {full_name} is not known")))?;
        let node = self.call(operator, inputs);
        Ok(self.graph.node(node).output())
    }

    /// A list of values.
    pub(super) fn list(&mut self, element: Type, items: &[ValueId]) -> ValueId {
        self.value(Prim::ListConstruct, items, Type::list(element))
    }

    /// Reads an attribute of the module.
    pub(super) fn attribute(&mut self, this: ValueId, name: &str, ty: Type) -> ValueId {
        let node = self.node(Prim::GetAttr, &[this], &[ty]);
        self.graph.node_mut(node).set_attribute("name", Attribute::Str(Arc::from(name)));
        self.graph.node(node).output()
    }

    /// The value as one that an operator takes where it wants this type.
    pub(super) fn converted(&mut self, value: ValueId, want: &Type) -> Result<ValueId> {
        let have = self.ty(value).clone();
        let want = match want {
            Type::Optional(_) if have == Type::None => return Ok(value),
            Type::Optional(of) => (**of).clone(),
            want => want.clone(),
        };
        let cast = match (&want, &have) {
            (want, have) if want == have => return Ok(value),
            (Type::Number, Type::Int | Type::Float | Type::Bool | Type::Complex) => {
                return Ok(value);
            }
            (Type::Any | Type::Var(_), _) => return Ok(value),
            (Type::Float, Type::Int) => "aten::Float.int",
            (Type::Float, Type::Bool) => "aten::Float.bool",
            (Type::Int, Type::Bool) => "aten::Int.bool",
            (Type::Bool, Type::Int) => "aten::Bool.int",
            (Type::Bool, Type::Tensor) => "aten::Bool.Tensor",
            (Type::Int, Type::Tensor) => "aten::Int.Tensor",
            (Type::Float, Type::Tensor) => "aten::Float.Tensor",
            (want, Type::Optional(of)) if *want == **of => {
                return Ok(self.value(Prim::UncheckedUnwrapOptional, &[value], want.clone()));
            }
            _ => {
                let message =
                    format!("a value of the type {have} stands where one of {want} belongs");
                return Err(Error::malformed(message));
            }
        };
        self.known(cast, &[value])
    }

    /// Imports the nodes of a graph for the values that it is given, and gives what it gives.
    pub(super) fn inline(
        &mut self,
        graph: &schema::Graph,
        operands: &[ValueId],
    ) -> Result<Vec<ValueId>> {
        if self.scopes.len() > MAX_DEPTH {
            return Err(Error::malformed(format!(
                "graphs are nested deeper than {MAX_DEPTH} levels"
            )));
        }
        if graph.inputs.len() != operands.len() {
            let (takes, given) = (graph.inputs.len(), operands.len());
            return Err(Error::malformed(format!(
                "a graph of {takes} inputs is given {given} values"
            )));
        }
        self.scopes.push(FxHashMap::default());
        for (input, &operand) in graph.inputs.iter().zip(operands) {
            if let Some(name) = input.name() {
                self.define(name, operand)?;
            }
        }
        self.nodes(graph)?;
        let outputs = graph.outputs.iter().map(|output| self.plain(output));
        let outputs = outputs.collect::<Result<Vec<_>>>()?;
        self.scopes.pop();
        Ok(outputs)
    }

    /// Imports a graph as a block of a node.
    pub(super) fn block_of(
        &mut self,
        node: NodeId,
        graph: &schema::Graph,
        operands: &[ValueId],
    ) -> Result<(BlockId, Vec<ValueId>)> {
        let block = self.graph.add_block(node);
        let around = std::mem::replace(&mut self.block, block);
        let outputs = self.inline(graph, operands)?;
        self.block = around;
        Ok((block, outputs))
    }

    /// Imports the nodes of a graph, whose inputs are known.
    pub(super) fn nodes(&mut self, graph: &schema::Graph) -> Result<()> {
        self.left = self.left.checked_sub(graph.nodes.len()).ok_or_else(|| {
            unsupported("loops in the conditions of loops would make the program too large")
        })?;
        for node in &graph.nodes {
            self.import(node).map_err(|error| error.at_path(place(node)))?;
        }
        Ok(())
    }

    /// What an argument stands for, whatever takes it.
    pub(super) fn plain(&mut self, argument: &Argument) -> Result<ValueId> {
        if let Some(name) = argument.name() {
            return self.named(name);
        }
        let constant = super::arguments::number(argument).or_else(|| match argument {
            Argument::None(_) => Some(Constant::None),
            Argument::String(text) => Some(Constant::Str(text.as_str().into())),
            _ => None,
        });
        match constant {
            Some(constant) => Ok(self.constant(&constant)),
            None => Err(unsupported(format!("{} is not a value of a graph", argument.tag()))),
        }
    }
}

/// Where an error is: the node and what it calls.
fn place(node: &Node) -> String {
    let name = node.name.as_deref().or_else(|| node.outputs.iter().find_map(Argument::name));
    match name {
        Some(name) => format!("node {name} = {}", node.target),
        None => format!("node {}", node.target),
    }
}

/// How many nodes a graph and the graphs in it have.
pub(super) fn count_nodes(graph: &schema::Graph) -> usize {
    let (mut count, mut open) = (0usize, vec![graph]);
    while let Some(graph) = open.pop() {
        count = count.saturating_add(graph.nodes.len());
        let arguments = graph.nodes.iter().flat_map(|node| &node.inputs);
        open.extend(arguments.filter_map(|input| match &input.arg {
            Argument::Graph(inner) => Some(&*inner.graph),
            _ => None,
        }));
    }
    count
}
