//! The graph that PyTorch's loader makes of one in a file.

use indexmap::IndexMap;

use super::names::Names;
use super::symbols::Symbols;
use super::value;
use crate::Error;
use crate::schema::{
    Argument, Graph, InputSpec, Map, Node as FileNode, OptionalTensorArgument, SymBool,
    SymBoolArgument, SymFloat, SymFloatArgument, SymInt, SymIntArgument, TensorMeta,
};

/// What a node takes.
pub(crate) enum Value {
    /// A value of the graph, by name.
    Ref(String),
    /// Anything else, as it is shown.
    Shown(String),
    List(Vec<Value>),
    Tuple(Vec<Value>),
    Dict(Vec<(String, Value)>),
}

pub(crate) enum Kind {
    Placeholder,
    GetAttr,
    Call,
    Output,
}

/// A node of `torch.fx`.
pub(crate) struct Node<'p> {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) target: String,
    pub(crate) args: Vec<Value>,
    pub(crate) kwargs: Vec<(String, Value)>,
    /// What is known of its result, as it stands behind its name.
    pub(crate) note: String,
    pub(crate) metadata: Option<&'p Map<String>>,
}

pub(crate) struct FxGraph<'p> {
    pub(crate) nodes: Vec<Node<'p>>,
    /// The graphs that its nodes name, by name.
    pub(crate) graphs: IndexMap<String, FxGraph<'p>>,
    /// The names of the file's nodes once they are loaded; those of the graphs that a node names come before its own.
    pub(crate) call_names: Vec<String>,
}

struct Builder<'p, 's> {
    graph: &'p Graph,
    symbols: &'s mut Symbols<'p>,
    names: Names,
    out: FxGraph<'p>,
}

const GETITEM: &str = "_operator.getitem";

impl<'p> FxGraph<'p> {
    pub(crate) fn new(
        graph: &'p Graph,
        specs: Option<&'p [InputSpec]>,
        symbols: &mut Symbols<'p>,
    ) -> Result<FxGraph<'p>, Error> {
        let out = FxGraph { nodes: Vec::new(), graphs: IndexMap::new(), call_names: Vec::new() };
        let mut builder = Builder { graph, symbols, names: Names::new(), out };
        for (at, input) in graph.inputs.iter().enumerate() {
            builder.placeholder(at, input, specs.and_then(|specs| specs.get(at)))?;
        }
        for node in &graph.nodes {
            let at = builder.node(node)?;
            let name = builder.out.nodes[at].name.clone();
            builder.out.call_names.push(name);
        }
        let mut outputs = Vec::with_capacity(graph.outputs.len());
        for output in &graph.outputs {
            outputs.push(builder.value(output, None)?);
        }
        let result = match graph.is_single_tensor_return && !outputs.is_empty() {
            true => outputs.swap_remove(0),
            false => Value::Tuple(outputs),
        };
        let node =
            Node { args: vec![result], ..Node::new("output".into(), Kind::Output, "output") };
        builder.out.nodes.push(node);
        Ok(builder.out)
    }
}

impl Node<'_> {
    fn new(name: String, kind: Kind, target: &str) -> Self {
        Node {
            name,
            kind,
            target: target.to_owned(),
            args: Vec::new(),
            kwargs: Vec::new(),
            note: String::new(),
            metadata: None,
        }
    }
}

impl<'p> Builder<'p, '_> {
    fn placeholder(
        &mut self,
        at: usize,
        input: &'p Argument,
        spec: Option<&'p InputSpec>,
    ) -> Result<(), Error> {
        let name = match (input.name(), spec) {
            (Some(name), _) => name.to_owned(),
            (None, Some(InputSpec::ConstantInput(constant))) if !constant.name.is_empty() => {
                constant.name.clone()
            }
            _ => format!("arg{at}"),
        };
        self.names.create(&name);
        let note = self.note(input)?;
        let mut node = Node::new(name.clone(), Kind::Placeholder, &name);
        node.note = note;
        self.out.nodes.push(node);
        Ok(())
    }

    /// What is known of a value: `: "f32[2, s77]"`, `: "Sym(u0)"`.
    fn note(&mut self, value: &Argument) -> Result<String, Error> {
        let graph = self.graph;
        let expr = match value {
            Argument::Tensor(tensor) => {
                let Some(meta) = graph.tensor_values.get(&tensor.name) else {
                    return Ok(String::new());
                };
                return self.tensor(meta);
            }
            Argument::SymInt(SymIntArgument::Name(name)) => match graph.sym_int_values.get(name) {
                Some(SymInt::Expr(expr)) => expr,
                _ => return Ok(String::new()),
            },
            Argument::SymBool(SymBoolArgument::Name(name)) => {
                match graph.sym_bool_values.get(name) {
                    Some(SymBool::Expr(expr)) => expr,
                    _ => return Ok(String::new()),
                }
            }
            Argument::SymFloat(SymFloatArgument::Name(name)) => {
                match graph.sym_float_values.get(name) {
                    Some(SymFloat::Expr(expr)) => expr,
                    _ => return Ok(String::new()),
                }
            }
            _ => return Ok(String::new()),
        };
        Ok(format!(": \"Sym({})\"", self.symbols.expr(expr)?))
    }

    fn tensor(&mut self, meta: &'p TensorMeta) -> Result<String, Error> {
        Ok(format!(": \"{}\"", self.symbols.tensor(meta)?))
    }

    fn value(
        &mut self,
        argument: &'p Argument,
        metadata: Option<&'p Map<String>>,
    ) -> Result<Value, Error> {
        if let Some(shown) = value::constant(argument) {
            return Ok(Value::Shown(shown));
        }
        let reference = |name: &String| Value::Ref(name.clone());
        let none = || Value::Shown("None".to_owned());
        let sym_int = |value: &SymIntArgument| match value {
            SymIntArgument::Name(name) => Value::Ref(name.clone()),
            SymIntArgument::Int(value) => Value::Shown(value.to_string()),
        };
        let sym_float = |value: &SymFloatArgument| match value {
            SymFloatArgument::Name(name) => Value::Ref(name.clone()),
            SymFloatArgument::Float(value) => Value::Shown(value::float(*value)),
        };
        let sym_bool = |value: &SymBoolArgument| match value {
            SymBoolArgument::Name(name) => Value::Ref(name.clone()),
            SymBoolArgument::Bool(value) => Value::Shown(value::boolean(*value).to_owned()),
        };
        let optional = |value: &OptionalTensorArgument| match value {
            OptionalTensorArgument::Tensor(tensor) => Value::Ref(tensor.name.clone()),
            OptionalTensorArgument::None(_) => none(),
        };
        Ok(match argument {
            Argument::Tensor(tensor) => reference(&tensor.name),
            Argument::CustomObj(object) => reference(&object.name),
            Argument::SymInt(value) => sym_int(value),
            Argument::SymFloat(value) => sym_float(value),
            Argument::SymBool(value) => sym_bool(value),
            Argument::SymInts(items) => Value::List(items.iter().map(sym_int).collect()),
            Argument::SymFloats(items) => Value::List(items.iter().map(sym_float).collect()),
            Argument::SymBools(items) => Value::List(items.iter().map(sym_bool).collect()),
            Argument::OptionalTensor(value) => optional(value),
            Argument::OptionalTensors(items) => Value::List(items.iter().map(optional).collect()),
            Argument::Tensors(items) => {
                Value::List(items.iter().map(|tensor| reference(&tensor.name)).collect())
            }
            Argument::NestedTensors(lists) => {
                let list = |items: &Vec<crate::schema::TensorArgument>| {
                    Value::List(items.iter().map(|tensor| reference(&tensor.name)).collect())
                };
                Value::List(lists.iter().map(list).collect())
            }
            Argument::StringToArgument(entries) => {
                let mut shown = Vec::with_capacity(entries.len());
                for (key, value) in entries {
                    shown.push((key.clone(), self.value(value, metadata)?));
                }
                Value::Dict(shown)
            }
            Argument::Graph(argument) => {
                let mut graph = FxGraph::new(&argument.graph, None, self.symbols)?;
                self.out.call_names.append(&mut graph.call_names);
                self.out.graphs.insert(argument.name.clone(), graph);
                let name = self.names.create(&argument.name);
                let mut node = Node::new(name.clone(), Kind::GetAttr, &argument.name);
                node.metadata = metadata;
                self.out.nodes.push(node);
                Value::Ref(name)
            }
            _ => none(),
        })
    }

    /// Adds a call, and what takes its results apart; gives the call's place.
    fn node(&mut self, node: &'p FileNode) -> Result<usize, Error> {
        let metadata = Some(&node.metadata);
        let (mut args, mut kwargs) = (Vec::new(), Vec::new());
        for input in &node.inputs {
            let value = self.value(&input.arg, metadata)?;
            let by_place = input.kind == Some(crate::schema::ArgumentKind::Positional);
            match by_place || input.name.is_empty() {
                true => args.push(value),
                false => kwargs.push((input.name.clone(), value)),
            }
        }
        let given = node.name.as_deref().filter(|name| !name.is_empty());
        let name = self.names.create(given.unwrap_or("unnamed"));
        let at = self.out.nodes.len();
        let mut made = Node::new(name.clone(), Kind::Call, &node.target);
        (made.args, made.kwargs, made.metadata) = (args, kwargs, metadata);
        self.out.nodes.push(made);
        let [only] = &node.outputs[..] else {
            for (index, output) in node.outputs.iter().enumerate() {
                self.item(&name, index, output, metadata)?;
            }
            return Ok(at);
        };
        // A higher-order operator's tuple of one.
        if node.target.contains("torch.ops.higher_order")
            && node.is_hop_single_tensor_return == Some(false)
            && !matches!(only, Argument::None(_))
        {
            self.item(&name, 0, only, metadata)?;
            return Ok(at);
        }
        match only {
            Argument::None(_) => {
                self.out.nodes[at].name =
                    self.names.create(&format!("{}_unused", last_part(&node.target)));
            }
            Argument::Tensors(items) => {
                for (index, tensor) in items.iter().enumerate() {
                    self.named_item(&name, index, &tensor.name, metadata)?;
                }
            }
            Argument::SymInts(items) => {
                for (index, item) in items.iter().enumerate() {
                    if let SymIntArgument::Name(value) = item {
                        self.named_item(&name, index, value, metadata)?;
                    }
                }
            }
            output => {
                if let Some(value) = output.name() {
                    self.names.take(value);
                    let note = self.note(output)?;
                    let made = &mut self.out.nodes[at];
                    (made.name, made.note) = (value.to_owned(), note);
                }
            }
        }
        Ok(at)
    }

    /// One of a call's results.
    fn item(
        &mut self,
        of: &str,
        index: usize,
        output: &'p Argument,
        metadata: Option<&'p Map<String>>,
    ) -> Result<(), Error> {
        let name = match output {
            Argument::None(_) => self.names.create("as_none"),
            Argument::Tensors(_) | Argument::SymInts(_) => self.names.create("getitem"),
            output => {
                let name = output.name().unwrap_or_default().to_owned();
                self.names.create(&name);
                name
            }
        };
        let note = self.note(output)?;
        self.getitem(of, index, name.clone(), note, metadata);
        match output {
            Argument::Tensors(items) => {
                for (index, tensor) in items.iter().enumerate() {
                    self.named_item(&name, index, &tensor.name, metadata)?;
                }
            }
            Argument::SymInts(items) => {
                for (index, item) in items.iter().enumerate() {
                    if let SymIntArgument::Name(value) = item {
                        self.named_item(&name, index, value, metadata)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// An item of a list of results: a tensor, or a symbolic integer.
    fn named_item(
        &mut self,
        of: &str,
        index: usize,
        name: &'p str,
        metadata: Option<&'p Map<String>>,
    ) -> Result<(), Error> {
        self.names.create(name);
        let graph = self.graph;
        let note = match (graph.tensor_values.get(name), graph.sym_int_values.get(name)) {
            (Some(meta), _) => self.tensor(meta)?,
            (None, Some(SymInt::Expr(expr))) => {
                format!(": \"Sym({})\"", self.symbols.expr(expr)?)
            }
            _ => String::new(),
        };
        self.getitem(of, index, name.to_owned(), note, metadata);
        Ok(())
    }

    fn getitem(
        &mut self,
        of: &str,
        index: usize,
        name: String,
        note: String,
        metadata: Option<&'p Map<String>>,
    ) {
        let mut node = Node::new(name, Kind::Call, GETITEM);
        node.args = vec![Value::Ref(of.to_owned()), Value::Shown(index.to_string())];
        (node.note, node.metadata) = (note, metadata);
        self.out.nodes.push(node);
    }
}

/// The name of an operator without its overload, or of a function without its module.
fn last_part(target: &str) -> &str {
    let mut parts = target.rsplit('.');
    let last = parts.next().unwrap_or(target);
    match target.starts_with("torch.ops.aten") {
        true => parts.next().unwrap_or(last),
        false => last,
    }
}
