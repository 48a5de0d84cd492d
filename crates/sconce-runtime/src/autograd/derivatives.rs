//! The derivatives of operators: the table, and what its expressions are compiled to.
//!
//! `derivatives.txt` has a line for one or more operators, such as `mul.Tensor`, and below it, indented,
//! what is known of them:
//!
//! * `self: EXPRESSION` is the gradient of an argument, or `self other: EXPRESSION`, a tuple of those of
//!   several. It reads `grad`, the gradient of the result (`grad0`, `grad1` … of several, `grads` of a
//!   list of tensors), the arguments of the schema by name, and `result` (`result0` …, `results`).
//!   `none` in its place says that the argument gets no gradient.
//! * `as: EXPRESSION` is what is computed in place of the operator, by operators that are recorded. So are
//!   operators computed that nothing else here computes, whether anything is recorded or not: those of
//!   backward passes.
//! * `zero`: all gradients are. `none`: results never require any.
//!
//! Operators in place (`add_.Tensor`) have the rules of the others (`add.Tensor`). One that has lines of its
//! own (`copy_`) gives its first operand no gradient unless they say so.
//!
//! Functions that expressions call are in the folder `functions`.

use std::sync::{Arc, LazyLock};

use rustc_hash::FxHashMap;
use sconce_compiler::define;
use sconce_ir::{Argument, Graph, NodeId, Schema, Type, Unit, ValueId, passes};
use sconce_syntax::Source;

use crate::op_context::OpContext;
use crate::op_context::formula::{Formula, From, Input, Rule};

const DERIVATIVES: &str = include_str!("derivatives.txt");
/// Functions that expressions call, by what they are about.
const FUNCTIONS: &[&str] = &[
    include_str!("functions/numbers.py"),
    include_str!("functions/pointwise.py"),
    include_str!("functions/reductions.py"),
    include_str!("functions/shapes.py"),
    include_str!("functions/indexing.py"),
    include_str!("functions/products.py"),
    include_str!("functions/layers.py"),
    include_str!("functions/losses.py"),
    include_str!("functions/pictures.py"),
    include_str!("functions/sequences.py"),
    include_str!("functions/fourier.py"),
    include_str!("functions/linalg.py"),
];

/// Operators that tell nothing of the elements of a tensor.
const OF_LOOKS: &[&str] = &[
    "aten::size",
    "aten::dim",
    "aten::numel",
    "aten::is_floating_point",
    "aten::is_complex",
    "aten::new_zeros",
    "prim::dtype",
    "prim::device",
];

/// The lines of an operator.
type Lines = &'static [(&'static str, &'static str)];

/// For each operator, its lines: what stands before and after the colon.
static TABLE: LazyLock<FxHashMap<&'static str, Lines>> = LazyLock::new(|| {
    let mut table = FxHashMap::default();
    let mut names: Vec<&str> = Vec::new();
    let mut lines: Vec<(&str, &str)> = Vec::new();
    let mut close = |names: &mut Vec<&'static str>, lines: &mut Vec<_>| {
        let shared: Lines = std::mem::take(lines).leak();
        for name in names.drain(..) {
            table.insert(name, shared);
        }
    };
    for line in DERIVATIVES.lines() {
        let line = line.split_once('#').map_or(line, |(line, _)| line).trim_end();
        if line.is_empty() {
            continue;
        }
        if line.starts_with(' ') {
            let (left, right) = line.split_once(':').unwrap_or((line, ""));
            lines.push((left.trim(), right.trim()));
        } else {
            if !lines.is_empty() {
                close(&mut names, &mut lines);
            }
            names.extend(line.split(' ').filter(|name| !name.is_empty()));
        }
    }
    close(&mut names, &mut lines);
    table
});

/// The functions by name, with their text.
static LIBRARY: LazyLock<FxHashMap<&'static str, &'static str>> = LazyLock::new(|| {
    let functions = FUNCTIONS.iter().flat_map(|file| {
        let starts = file.match_indices("\ndef ").map(|(at, _)| at + 1);
        let ends: Vec<usize> = starts.chain([file.len()]).collect();
        let texts: Vec<&str> = ends.windows(2).filter_map(|at| file.get(at[0]..at[1])).collect();
        texts
    });
    functions.filter_map(|text| Some((words(text.get(4..)?).next()?, text))).collect()
});

/// The names in an expression that are no attributes.
fn words(text: &'static str) -> impl Iterator<Item = &'static str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let parts = text.split(move |c: char| !is_part(c)).filter(|word| !word.is_empty());
    parts.filter(move |word| {
        // A part of the text, so its place in it is known.
        let at = word.as_ptr().addr() - text.as_ptr().addr();
        !text[..at].ends_with('.') && !word.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// The functions that a text calls and those that they call, as text.
fn library_for(text: &'static str) -> String {
    let mut taken: Vec<&str> = Vec::new();
    let mut pending = vec![text];
    while let Some(text) = pending.pop() {
        for (name, text) in words(text).filter_map(|word| LIBRARY.get_key_value(word)) {
            if !taken.contains(name) {
                taken.push(name);
                pending.push(text);
            }
        }
    }
    taken.iter().filter_map(|name| LIBRARY.get(name).copied()).collect()
}

/// Whether the table says by which expression an operator is computed.
pub(crate) fn is_expression(full_name: &str) -> bool {
    let lines = full_name.strip_prefix("aten::").and_then(|name| TABLE.get(name));
    lines.is_some_and(|lines| matches!(lines, [("as", _)]))
}

/// The rule of an operator: its own lines, or for one in place those of the operator that it is otherwise.
/// `None` where there are none; an error says what is wrong with the table.
pub(crate) fn find(context: &mut dyn OpContext, schema: &Schema) -> Result<Option<Rule>, String> {
    let full = schema.full_name();
    let name = full.strip_prefix("aten::").unwrap_or(&full);
    let own = TABLE.get(name).copied();
    let lines = own.or_else(|| {
        let (name, overload) = name.split_once('.').unwrap_or((name, ""));
        let plain = name.strip_suffix('_')?;
        let dot = if overload.is_empty() { "" } else { "." };
        TABLE.get(&*format!("{plain}{dot}{overload}")).copied()
    });
    let mut rule = lines.map(|lines| rule(context, schema, lines)).transpose()?;
    // What an operator in place has lines of its own for is the new value, which comes from what they name.
    if let (Some(Rule::Formulas(formulas)), Some(_)) = (&mut rule, own)
        && name.split('.').next().is_some_and(|name| name.ends_with('_'))
        && !formulas.iter().any(|formula| formula.arguments.contains(&0))
    {
        formulas.push(Formula { arguments: vec![0], inputs: Vec::new(), code: None });
    }
    Ok(rule)
}

fn rule(context: &mut dyn OpContext, schema: &Schema, lines: Lines) -> Result<Rule, String> {
    match *lines {
        [("none", "")] => return Ok(Rule::None),
        [("zero", "")] => return Ok(Rule::Zero),
        [("as", text)] => return formula(context, schema, Vec::new(), text).map(Rule::As),
        _ => {}
    }
    // What is said of several operators need not be of arguments that all of them have.
    let applies = |&&(name, text): &&(&str, &str)| {
        text != "none" || schema.arguments.iter().any(|argument| &*argument.name == name)
    };
    let formulas = lines.iter().filter(applies).map(|&(names, text)| {
        let arguments = names.split(' ').map(|name| {
            let index = schema.arguments.iter().position(|argument| &*argument.name == name);
            index.ok_or_else(|| format!("{} has no argument {name}", schema.full_name()))
        });
        formula(context, schema, arguments.collect::<Result<_, _>>()?, text)
    });
    formulas.collect::<Result<_, _>>().map(Rule::Formulas)
}

/// What a name in an expression means, with its type.
fn meaning(schema: &Schema, word: &str) -> Option<(From, Type)> {
    let operand = schema.arguments.iter().position(|argument| &*argument.name == word);
    if let Some((index, argument)) = operand.and_then(|at| Some((at, schema.arguments.get(at)?))) {
        return Some((From::Operand(index), argument.ty.clone()));
    }
    let returned = |index: usize| schema.returns.get(index).map(|of: &Argument| of.ty.clone());
    let numbered = |prefix: &str| word.strip_prefix(prefix)?.parse::<usize>().ok();
    match word {
        "grad" => Some((From::Gradient(0), Type::Tensor)),
        "grads" => Some((From::Gradients, Type::list(Type::Tensor))),
        "result" | "results" => Some((From::Result(0), returned(0)?)),
        _ => match (numbered("grad"), numbered("result")) {
            (Some(index), _) => Some((From::Gradient(index), Type::Tensor)),
            (_, Some(index)) => Some((From::Result(index), returned(index)?)),
            _ => None,
        },
    }
}

fn formula(
    context: &mut dyn OpContext,
    schema: &Schema,
    arguments: Vec<usize>,
    text: &'static str,
) -> Result<Formula, String> {
    if text == "none" {
        return Ok(Formula { arguments, inputs: Vec::new(), code: None });
    }
    let mut names: Vec<&str> = Vec::new();
    words(text).for_each(|word| {
        if !names.contains(&word) && meaning(schema, word).is_some() {
            names.push(word);
        }
    });
    let inputs: Vec<(From, Type)> = names.iter().filter_map(|name| meaning(schema, name)).collect();
    let parameters: Vec<String> = names
        .iter()
        .zip(&inputs)
        .map(|(name, (_, ty))| format!("{name}: {}", ty.annotation()))
        .collect();
    let source = format!(
        "{}\ndef derivative({}):\n    return {text}\n",
        library_for(text),
        parameters.join(", ")
    );
    let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", schema.full_name());
    let graph = compile(source).map_err(|error| wrong(&error))?;
    let reads = |value: &ValueId| {
        let uses = graph.value(*value).uses().iter();
        let of_looks = |node: NodeId| OF_LOOKS.contains(&graph.node(node).kind.symbol());
        !uses.map(|of| of.user).all(of_looks)
    };
    let inputs: Vec<Input> = inputs
        .iter()
        .zip(graph.inputs())
        .map(|(&(from, _), value)| Input { from, reads_elements: reads(value) })
        .collect();
    let code = context.compile("derivative", &graph, &[]);
    let code = code.map_err(|why| wrong(&format!("the derivative {why}")))?;
    Ok(Formula { arguments, inputs, code: Some(code) })
}

/// Compiles the last function of a text, with the others in the place of their calls.
fn compile(text: String) -> Result<Graph, String> {
    let mut unit = Unit::new();
    let source = Arc::new(Source::new(text).with_filename("derivatives.txt"));
    let functions = define(&mut unit, &source).map_err(|error| error.to_string())?;
    let last = functions.last().and_then(|&function| unit.function(function).graph.clone());
    let mut graph = last.map(|graph| (*graph).clone()).ok_or("no function")?;
    passes::inline(&mut graph, &unit).map_err(|error| error.to_string())?;
    // The names of what was called, which nothing calls any more.
    passes::eliminate_dead_code(&mut graph);
    Ok(graph)
}

#[cfg(test)]
mod tests {
    use sconce_ir::operators;

    use super::*;
    use crate::Silent;
    use crate::bytecode::interpreter::Machine;

    #[test]
    fn every_line_names_an_operator_and_compiles() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/loops/model.pt");
        let module = sconce_torchscript::load(path).unwrap();
        let mut machine = Machine::new(&module, Box::new(Silent), false);
        let mut wrong = Vec::new();
        for name in TABLE.keys().filter(|name| !name.starts_with("sconce::")) {
            let full = format!("aten::{name}");
            match operators::find_full(&full) {
                None => wrong.push(format!("{full} is not an operator")),
                Some(operator) => wrong.extend(find(&mut machine, &operator.schema).err()),
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
