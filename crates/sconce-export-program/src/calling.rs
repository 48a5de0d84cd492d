//! How a program is called: how arguments and result are made of the values of its graph, and which arguments fit.

use rustc_hash::FxHashMap;

use crate::Error;
use crate::schema::{Argument, ConstantValue, ExportedProgram, InputSpec, SymInt, TensorMeta};
use crate::tree_spec::{Key, TreeSpec};

/// How a program is called.
#[derive(Debug, Clone)]
pub struct Calling {
    /// The structure of `(args, kwargs)`.
    pub in_spec: TreeSpec,
    /// The structure of the result.
    pub out_spec: TreeSpec,
    /// What the values of the arguments must be, in order.
    leaves: Vec<Leaf>,
    /// Where they stand: `*args[0]['a']`.
    paths: Vec<String>,
    /// Least and most of symbols, as texts of expressions.
    ranges: FxHashMap<String, (Option<i64>, Option<i64>)>,
}

/// What a value of the arguments must be.
#[derive(Debug, Clone, PartialEq)]
enum Leaf {
    /// A tensor of these sizes, where they are known.
    Tensor(Option<Vec<Size>>),
    /// A number that the graph takes.
    Number,
    /// A value that is no input of the graph, since it was this one when the program was exported.
    Constant(ConstantValue),
}

/// A size of a tensor.
#[derive(Debug, Clone, PartialEq)]
enum Size {
    Known(i64),
    Symbol(String),
    /// An expression of symbols, which is not solved.
    Expression,
}

/// A value of the arguments, as far as it is checked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Given<'a> {
    /// A tensor of these sizes.
    Tensor(&'a [i64]),
    /// `None`
    None,
    /// An int.
    Int(i64),
    /// A float.
    Float(f64),
    /// A bool.
    Bool(bool),
    /// A string.
    Str(&'a str),
    /// Something else, of a class of this name.
    Other(&'a str),
}

impl Calling {
    /// Reads how a program is called.
    ///
    /// # Errors
    /// When its tree specs cannot be read, or do not fit its signature.
    pub fn new(program: &ExportedProgram) -> Result<Self, Error> {
        let module = &program.graph_module;
        let graph = &module.graph;
        let mut leaves = Vec::new();
        for (input, spec) in graph.inputs.iter().zip(&module.signature.input_specs) {
            match spec {
                InputSpec::UserInput(_) => leaves.push(leaf(input, &graph.tensor_values)),
                InputSpec::ConstantInput(of) => leaves.push(Leaf::Constant(of.value.clone())),
                _ => {}
            }
        }
        let outputs = program.user_outputs();
        let root = module.module_call_graph.iter().find(|entry| entry.fqn.is_empty());
        let signature = root.and_then(|entry| entry.signature.as_ref());
        let named_tuples = |class: &str| {
            let found = module.treespec_namedtuple_fields.iter().find(|(name, _)| &**name == class);
            found.map(|(_, fields)| fields.field_names.clone())
        };
        let parse = |text: &str| TreeSpec::parse(text, &named_tuples).map_err(Error::malformed);
        let (in_spec, out_spec) = match signature {
            Some(signature) => (parse(&signature.in_spec)?, parse(&signature.out_spec)?),
            None => {
                let args = TreeSpec::Tuple(vec![TreeSpec::Leaf; leaves.len()]);
                let named = TreeSpec::Dict(crate::tree_spec::DictKind::Plain, Vec::new());
                let result = TreeSpec::Tuple(vec![TreeSpec::Leaf; outputs]);
                (TreeSpec::Tuple(vec![args, named]), result)
            }
        };
        let TreeSpec::Tuple(parts) = &in_spec else {
            return Err(Error::malformed("the structure of the arguments is no tuple"));
        };
        let [TreeSpec::Tuple(args), TreeSpec::Dict(_, named)] = parts.as_slice() else {
            return Err(Error::malformed("the structure of the arguments is no tuple of args and kwargs"));
        };
        let mut paths = Vec::new();
        for (index, item) in args.iter().enumerate() {
            paths_of(item, format!("*args[{index}]"), &mut paths);
        }
        for (key, item) in named {
            paths_of(item, key.repr(), &mut paths);
        }
        if paths.len() != leaves.len() {
            let (specs, inputs) = (paths.len(), leaves.len());
            return Err(Error::malformed(format!(
                "the structure of the arguments has {specs} values, the graph {inputs} inputs"
            )));
        }
        if out_spec.leaves() != outputs {
            return Err(Error::malformed(format!(
                "the structure of the result has {} values, the graph {outputs} outputs",
                out_spec.leaves()
            )));
        }
        let ranges = program.range_constraints.iter();
        let ranges =
            ranges.map(|(name, range)| (name.to_string(), (range.min_val, range.max_val))).collect();
        Ok(Calling { in_spec, out_spec, leaves, paths, ranges })
    }

    /// The positional arguments' structures.
    pub fn positional(&self) -> &[TreeSpec] {
        match &self.in_spec {
            TreeSpec::Tuple(parts) => match parts.as_slice() {
                [TreeSpec::Tuple(args), ..] => args,
                _ => &[],
            },
            _ => &[],
        }
    }

    /// The structures of arguments by name.
    pub fn named(&self) -> &[(Key, TreeSpec)] {
        match &self.in_spec {
            TreeSpec::Tuple(parts) => match parts.as_slice() {
                [_, TreeSpec::Dict(_, named)] => named,
                _ => &[],
            },
            _ => &[],
        }
    }

    /// Which of the values of the arguments the graph takes.
    pub fn taken(&self) -> impl Iterator<Item = bool> + '_ {
        self.leaves.iter().map(|leaf| !matches!(leaf, Leaf::Constant(_)))
    }

    /// Checks the values of the arguments: numbers of dimensions, sizes and constants.
    ///
    /// # Errors
    /// What does not fit, in PyTorch's words.
    pub fn check(&self, values: &[Given<'_>]) -> Result<(), String> {
        if values.len() != self.leaves.len() {
            let (expected, got) = (self.leaves.len(), values.len());
            return Err(format!("Unexpected number of inputs (expected {expected}, got {got})"));
        }
        let mut symbols: FxHashMap<&str, i64> = FxHashMap::default();
        for ((leaf, path), value) in self.leaves.iter().zip(&self.paths).zip(values) {
            match leaf {
                Leaf::Tensor(sizes) => {
                    let Given::Tensor(given) = value else {
                        let class = value.class();
                        return Err(format!(
                            "Expected input at {path} to be a tensor, but got <class '{class}'>"
                        ));
                    };
                    if let Some(sizes) = sizes {
                        self.check_sizes(sizes, given, path, &mut symbols)?;
                    }
                }
                Leaf::Number => {
                    if !matches!(value, Given::Int(_) | Given::Float(_) | Given::Bool(_)) {
                        let class = value.class();
                        return Err(format!(
                            "Expected input at {path} to be a number, but got <class '{class}'>"
                        ));
                    }
                }
                Leaf::Constant(constant) => check_constant(constant, value, path)?,
            }
        }
        Ok(())
    }

    fn check_sizes<'a>(
        &'a self,
        sizes: &'a [Size],
        given: &[i64],
        path: &str,
        symbols: &mut FxHashMap<&'a str, i64>,
    ) -> Result<(), String> {
        if sizes.len() != given.len() {
            let expected: Vec<String> = sizes.iter().map(Size::text).collect();
            return Err(format!(
                "Unexpected number of dimensions in input at {path}.shape (expected torch.Size([{}]), \
                 got torch.Size({given:?}))",
                expected.join(", ")
            ));
        }
        for (dim, (size, &got)) in sizes.iter().zip(given).enumerate() {
            match size {
                Size::Known(expected) if *expected != got => {
                    return Err(format!(
                        "Expected input at {path}.shape[{dim}] to be equal to {expected}, but got {got}. \
                         If you meant for this dimension to be dynamic, please re-export and specify \
                         dynamic_shapes (e.g. with Dim.DYNAMIC)"
                    ));
                }
                Size::Symbol(name) => {
                    match symbols.get(name.as_str()) {
                        Some(&known) if known != got => {
                            return Err(format!(
                                "Expected input at {path}.shape[{dim}] to be equal to {known}, but got {got}"
                            ));
                        }
                        Some(_) => continue,
                        None => symbols.insert(name, got),
                    };
                    let (least, most) = self.ranges.get(name).copied().unwrap_or_default();
                    // Sizes of 0 and 1 are let through where 2 is the least.
                    if let Some(least) = least.filter(|&least| least > 2 && got < least) {
                        return Err(format!(
                            "Expected input at {path}.shape[{dim}] to be >= {least}, but got {got}"
                        ));
                    }
                    if let Some(most) = most.filter(|&most| got > most) {
                        return Err(format!(
                            "Expected input at {path}.shape[{dim}] to be <= {most}, but got {got}"
                        ));
                    }
                }
                Size::Known(_) | Size::Expression => {}
            }
        }
        Ok(())
    }
}

impl Size {
    fn text(&self) -> String {
        match self {
            Size::Known(size) => size.to_string(),
            Size::Symbol(name) => name.clone(),
            Size::Expression => "?".to_owned(),
        }
    }
}

impl Given<'_> {
    /// The name of its class in Python.
    fn class(&self) -> &str {
        match self {
            Given::Tensor(_) => "torch.Tensor",
            Given::None => "NoneType",
            Given::Int(_) => "int",
            Given::Float(_) => "float",
            Given::Bool(_) => "bool",
            Given::Str(_) => "str",
            Given::Other(class) => class,
        }
    }

    fn text(&self) -> String {
        match self {
            Given::None => "None".to_owned(),
            Given::Int(value) => value.to_string(),
            Given::Float(value) => format!("{value:?}"),
            Given::Bool(value) => (if *value { "True" } else { "False" }).to_owned(),
            Given::Str(text) => (*text).to_owned(),
            Given::Tensor(sizes) => format!("a tensor of the sizes {sizes:?}"),
            Given::Other(class) => format!("a value of the class {class}"),
        }
    }
}

fn check_constant(constant: &ConstantValue, value: &Given<'_>, path: &str) -> Result<(), String> {
    let (fits, expected) = match (constant, value) {
        (ConstantValue::None(_), _) => return Ok(()),
        (ConstantValue::Int(want), Given::Int(got)) => (want == got, want.to_string()),
        (ConstantValue::Int(want), _) => (false, want.to_string()),
        (ConstantValue::Float(want), Given::Float(got)) => (want == got, format!("{want:?}")),
        (ConstantValue::Float(want), _) => (false, format!("{want:?}")),
        (ConstantValue::Bool(want), Given::Bool(got)) => (want == got, Given::Bool(*want).text()),
        (ConstantValue::Bool(want), _) => (false, Given::Bool(*want).text()),
        (ConstantValue::String(want), Given::Str(got)) => (want == got, want.clone()),
        (ConstantValue::String(want), _) => (false, want.clone()),
    };
    match fits {
        true => Ok(()),
        false => {
            let got = value.text();
            Err(format!("Expected input at {path} to be equal to {expected}, but got {got}"))
        }
    }
}

fn leaf(input: &Argument, tensors: &crate::schema::Map<TensorMeta>) -> Leaf {
    match input {
        Argument::Tensor(tensor) => {
            let meta = tensors.iter().find(|(name, _)| ***name == *tensor.name);
            Leaf::Tensor(meta.map(|(_, meta)| meta.sizes.iter().map(size).collect()))
        }
        _ => Leaf::Number,
    }
}

fn size(size: &SymInt) -> Size {
    match size {
        SymInt::Int(size) => Size::Known(*size),
        SymInt::Expr(expression) => symbol(&expression.expr_str).map_or(Size::Expression, Size::Symbol),
    }
}

/// The name of an expression that is a symbol alone: `Symbol('s77', positive=True, integer=True)`.
fn symbol(expression: &str) -> Option<String> {
    let inside = expression.strip_prefix("Symbol('")?.strip_suffix(')')?;
    let (name, assumptions) = inside.split_once('\'')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_assumption = |text: &str| text.ends_with("=True") && !text.contains(['(', ')', '\'']);
    let assumptions = assumptions.split(", ").filter(|text| !text.is_empty());
    let fits = !name.is_empty() && name.chars().all(plain) && { assumptions }.all(is_assumption);
    fits.then(|| name.to_owned())
}

/// The places of the values of an argument, in order.
fn paths_of(spec: &TreeSpec, at: String, out: &mut Vec<String>) {
    let items = |items: &[TreeSpec], out: &mut Vec<String>| {
        for (index, item) in items.iter().enumerate() {
            paths_of(item, format!("{at}[{index}]"), out);
        }
    };
    match spec {
        TreeSpec::Leaf => out.push(at),
        TreeSpec::Tuple(of)
        | TreeSpec::List(of)
        | TreeSpec::Deque(of)
        | TreeSpec::Size(of)
        | TreeSpec::Other(_, of) => items(of, out),
        TreeSpec::Dict(_, entries) => {
            for (key, item) in entries {
                paths_of(item, format!("{at}[{}]", key.repr()), out);
            }
        }
        TreeSpec::Fields { fields, .. } => {
            for (name, item) in fields {
                paths_of(item, format!("{at}.{name}"), out);
            }
        }
    }
}

impl ExportedProgram {
    /// How many values a call gives.
    fn user_outputs(&self) -> usize {
        use crate::schema::OutputSpec;
        let specs = self.graph_module.signature.output_specs.iter();
        let given = specs.filter(|spec| {
            matches!(
                spec,
                OutputSpec::UserOutput(_)
                    | OutputSpec::LossOutput(_)
                    | OutputSpec::GradientToParameter(_)
                    | OutputSpec::GradientToUserInput(_)
            )
        });
        given.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_symbol_alone_is_one() {
        let positive = "Symbol('s77', positive=True, integer=True)";
        assert_eq!(symbol(positive).as_deref(), Some("s77"));
        assert_eq!(symbol("Symbol('u0', integer=True)").as_deref(), Some("u0"));
        for text in ["Add(Symbol('s0'), Integer(1))", "Symbol('s0')*Symbol('s1')", "Symbol('')"] {
            assert_eq!(symbol(text), None, "{text}");
        }
    }
}
