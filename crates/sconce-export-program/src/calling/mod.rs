//! How a program is called: how arguments and result are made of the values of its graph, and which arguments fit.

pub(crate) mod guard_check;

use rustc_hash::FxHashMap;

use crate::Error;
use crate::calling::guard_check::Guards;
use crate::expression::{self, Expr};
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
    /// Conditions that must hold.
    guards: Guards,
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
    /// An expression, its text, and the symbol in it where there is one only.
    Symbolic(Expr, String, Option<String>),
}

/// A value of the arguments, as far as it is checked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Given<'a> {
    /// A tensor: its sizes, its strides, and where it begins in its storage.
    Tensor(&'a [i64], &'a [i64], i64),
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
                InputSpec::UserInput(_) => leaves.push(leaf(input, &graph.tensor_values)?),
                InputSpec::ConstantInput(of) => leaves.push(Leaf::Constant(of.value.clone())),
                _ => {}
            }
        }
        let outputs = program.result_values();
        let root = module.module_call_graph.iter().find(|entry| entry.fqn.is_empty());
        let signature = root.and_then(|entry| entry.signature.as_ref());
        let named_tuples = |class: &str| {
            module.treespec_namedtuple_fields.get(class).map(|of| of.field_names.clone())
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
            return Err(Error::malformed("the structure of the arguments is not a tuple"));
        };
        let [TreeSpec::Tuple(args), TreeSpec::Dict(_, named)] = parts.as_slice() else {
            return Err(Error::malformed(
                "the structure of the arguments is not a tuple of args and kwargs",
            ));
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
        let ranges = ranges
            .map(|(name, range)| (name.to_string(), (range.min_val, range.max_val)))
            .collect();
        let names = signature.and_then(|signature| signature.forward_arg_names.clone());
        let guards = Guards::new(&program.guards_code, names.unwrap_or_default());
        Ok(Calling { in_spec, out_spec, leaves, paths, ranges, guards })
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
                    let Given::Tensor(given, ..) = value else {
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
        self.guards.check(self.positional(), self.named(), values)
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
                Size::Symbolic(expression, text, Some(symbol)) => {
                    match symbols.get(symbol.as_str()) {
                        Some(&known) => {
                            // What cannot be computed is not checked.
                            let expected = value_of(expression, known).unwrap_or(i128::from(got));
                            if expected != i128::from(got) {
                                return Err(format!(
                                    "Expected input at {path}.shape[{dim}] to be equal to {expected}, \
                                     but got {got}"
                                ));
                            }
                            continue;
                        }
                        None => match solved(expression, got) {
                            Solution::Number(number) => symbols.insert(symbol, number),
                            Solution::None => {
                                return Err(format!(
                                    "Expected input {path}.shape[{dim}] = {got} to be of the form {text}, \
                                     where {symbol} is an integer"
                                ));
                            }
                            Solution::Unknown => continue,
                        },
                    };
                    let (least, most) = self.ranges.get(text).copied().unwrap_or_default();
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
                // Those of several symbols are not checked.
                Size::Known(_) | Size::Symbolic(_, _, None) => {}
            }
        }
        Ok(())
    }
}

impl Size {
    fn text(&self) -> String {
        match self {
            Size::Known(size) => size.to_string(),
            Size::Symbolic(_, text, _) => text.clone(),
        }
    }
}

/// The value of a symbol for which an expression of it is a number.
enum Solution {
    Number(i64),
    /// There is none.
    None,
    /// It is not known how to find it.
    Unknown,
}

/// Solves an expression of one symbol, if it is a multiple of that and something more.
fn solved(expression: &Expr, got: i64) -> Solution {
    let at = |symbol: i64| value_of(expression, symbol);
    let (Some(zero), Some(one), Some(two)) = (at(0), at(1), at(2)) else {
        return Solution::Unknown;
    };
    let slope = one - zero;
    if slope == 0 || two - one != slope {
        return Solution::Unknown;
    }
    let rest = i128::from(got) - zero;
    match (rest % slope, i64::try_from(rest / slope)) {
        (0, Ok(number)) => Solution::Number(number),
        (0, Err(_)) => Solution::Unknown,
        _ => Solution::None,
    }
}

/// The value of an expression of one symbol. Expressions nest no deeper than their parser allows.
fn value_of(expression: &Expr, symbol: i64) -> Option<i128> {
    match expression {
        Expr::Symbol(_) => Some(i128::from(symbol)),
        Expr::Integer(value) => Some(*value),
        Expr::Call(head, arguments) => {
            let mut values = Vec::with_capacity(arguments.len());
            for argument in arguments {
                values.push(value_of(argument, symbol)?);
            }
            let mut rest = values.iter().skip(1);
            let (&first, second) = (values.first()?, values.get(1).copied());
            match &**head {
                "Add" => rest.try_fold(first, |sum, &value| sum.checked_add(value)),
                "Mul" => rest.try_fold(first, |product, &value| product.checked_mul(value)),
                "Max" => values.into_iter().max(),
                "Min" => values.into_iter().min(),
                "Pow" | "PowByNatural" => first.checked_pow(u32::try_from(second?).ok()?),
                "FloorDiv" => floor_div(first, second?),
                "Mod" | "PythonMod" => floor_div(first, second?)?
                    .checked_mul(second?)
                    .and_then(|whole| first.checked_sub(whole)),
                _ => None,
            }
        }
        _ => None,
    }
}

fn floor_div(a: i128, b: i128) -> Option<i128> {
    let quotient = a.checked_div(b)?;
    Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
}

impl Given<'_> {
    /// The name of its class in Python.
    fn class(&self) -> &str {
        match self {
            Given::Tensor(..) => "torch.Tensor",
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
            Given::Tensor(sizes, ..) => format!("a tensor of the sizes {sizes:?}"),
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

fn leaf(input: &Argument, tensors: &crate::schema::Map<TensorMeta>) -> Result<Leaf, Error> {
    let Argument::Tensor(tensor) = input else { return Ok(Leaf::Number) };
    let Some(meta) = tensors.get(&tensor.name) else { return Ok(Leaf::Tensor(None)) };
    let sizes = meta.sizes.iter().map(size).collect::<Result<Vec<Size>, Error>>()?;
    Ok(Leaf::Tensor(Some(sizes)))
}

fn size(size: &SymInt) -> Result<Size, Error> {
    let SymInt::Expr(written) = size else {
        return Ok(Size::Known(size.as_int().unwrap_or_default()));
    };
    let expression = expression::parse(&written.expr_str)?;
    let mut symbols = std::collections::BTreeSet::new();
    expression.visit(&mut |part| {
        if let Expr::Symbol(name) = part {
            symbols.insert(name.to_string());
        }
    });
    let only = if symbols.len() == 1 { symbols.pop_first() } else { None };
    let text = expression.to_string();
    Ok(Size::Symbolic(expression, text, only))
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
        | TreeSpec::Deque(_, of)
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
    fn result_values(&self) -> usize {
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

    fn symbolic(text: &str) -> Size {
        let written =
            crate::schema::SymExpr { expr_str: text.to_owned(), hint: None, extra: Vec::new() };
        size(&SymInt::Expr(written)).unwrap()
    }

    fn calling(leaves: Vec<Leaf>) -> Calling {
        let paths = (0..leaves.len()).map(|index| format!("*args[{index}]")).collect();
        let ranges = [("s77".to_owned(), (Some(4), Some(64)))].into_iter().collect();
        let guards = Guards::new(&[], Vec::new());
        Calling { in_spec: TreeSpec::Leaf, out_spec: TreeSpec::Leaf, leaves, paths, ranges, guards }
    }

    #[test]
    fn sizes_are_checked_in_pytorchs_words() {
        let symbol = "Symbol('s77', positive=True, integer=True)";
        let twice = format!("Mul(Integer(2), {symbol})");
        let tensor =
            |sizes: &[&str]| Leaf::Tensor(Some(sizes.iter().map(|text| symbolic(text)).collect()));
        let one = calling(vec![tensor(&[symbol]), tensor(&[&twice])]);
        let other = calling(vec![tensor(&[&twice]), tensor(&[symbol])]);
        let check = |calling: &Calling, a: &[i64], b: &[i64]| {
            calling
                .check(&[Given::Tensor(a, &[1], 0), Given::Tensor(b, &[1], 0)])
                .err()
                .unwrap_or_default()
        };
        for (found, want) in [
            (check(&one, &[5], &[10]), ""),
            (
                check(&one, &[5], &[9]),
                "Expected input at *args[1].shape[0] to be equal to 10, but got 9",
            ),
            (check(&one, &[3], &[6]), "Expected input at *args[0].shape[0] to be >= 4, but got 3"),
            (
                check(&one, &[65], &[130]),
                "Expected input at *args[0].shape[0] to be <= 64, but got 65",
            ),
            (
                check(&one, &[5], &[10, 3]),
                "Unexpected number of dimensions in input at *args[1].shape (expected torch.Size([2*s77]), \
                 got torch.Size([10, 3]))",
            ),
            (
                check(&other, &[9], &[5]),
                "Expected input *args[0].shape[0] = 9 to be of the form 2*s77, where s77 is an integer",
            ),
            (
                check(&other, &[12], &[5]),
                "Expected input at *args[1].shape[0] to be equal to 6, but got 5",
            ),
        ] {
            assert_eq!(found, want);
        }
        let constant = calling(vec![Leaf::Constant(ConstantValue::Float(3.5))]);
        let said = constant.check(&[Given::Int(3)]).unwrap_err();
        assert_eq!(said, "Expected input at *args[0] to be equal to 3.5, but got 3");
        assert_eq!(constant.check(&[Given::Float(3.5)]), Ok(()));
    }
}
