//! What inputs and outputs are for, and the ranges of symbols, as PyTorch prints them.

use std::collections::HashMap;

use super::symbols::{HasExpr, find_shown};
use crate::expression::parse;
use crate::schema::{
    Argument, Graph, GraphSignature, InputSpec, OutputSpec, SymExpr, SymFloatArgument,
    SymIntArgument,
};
use crate::{Error, ExportedProgram};

/// The signature, beginning with a line's end.
pub(crate) fn text(signature: &GraphSignature) -> String {
    let mut inputs = Vec::with_capacity(signature.input_specs.len());
    inputs.extend(signature.input_specs.iter().map(input));
    let mut outputs = Vec::with_capacity(signature.output_specs.len());
    outputs.extend(signature.output_specs.iter().map(output));
    format!("\n# inputs\n{}\n\n# outputs\n{}\n", inputs.join("\n"), outputs.join("\n"))
}

/// The name of a value that the caller passes or is given; constants have none.
pub(crate) fn user_name(value: &Argument) -> &str {
    match value {
        Argument::Tensor(tensor) => &tensor.name,
        Argument::CustomObj(object) => &object.name,
        Argument::SymInt(SymIntArgument::Name(name))
        | Argument::SymFloat(SymFloatArgument::Name(name)) => name,
        _ => "",
    }
}

fn input(spec: &InputSpec) -> String {
    match spec {
        InputSpec::UserInput(spec) => format!("{}: USER_INPUT", user_name(&spec.arg)),
        InputSpec::ConstantInput(spec) => format!("{}: USER_INPUT", spec.name),
        InputSpec::Parameter(spec) => {
            format!("{}: PARAMETER target='{}'", spec.arg.name, spec.parameter_name)
        }
        InputSpec::Buffer(spec) => format!(
            "{}: BUFFER target='{}' persistent={}",
            spec.arg.name,
            spec.buffer_name,
            super::value::boolean(spec.persistent)
        ),
        InputSpec::TensorConstant(spec) => {
            format!("{}: CONSTANT_TENSOR target='{}'", spec.arg.name, spec.tensor_constant_name)
        }
        InputSpec::CustomObj(spec) => {
            format!("{}: CUSTOM_OBJ target='{}'", spec.arg.name, spec.custom_obj_name)
        }
        InputSpec::Token(spec) => format!("{}: TOKEN", spec.arg.name),
    }
}

fn output(spec: &OutputSpec) -> String {
    let (name, kind, target) = match spec {
        OutputSpec::UserOutput(spec) => (user_name(&spec.arg), "USER_OUTPUT", None),
        OutputSpec::LossOutput(spec) => (&*spec.arg.name, "LOSS_OUTPUT", None),
        OutputSpec::BufferMutation(spec) => {
            (&*spec.arg.name, "BUFFER_MUTATION", Some(&spec.buffer_name))
        }
        OutputSpec::ParameterMutation(spec) => {
            (&*spec.arg.name, "PARAMETER_MUTATION", Some(&spec.parameter_name))
        }
        OutputSpec::GradientToParameter(spec) => {
            (&*spec.arg.name, "GRADIENT_TO_PARAMETER", Some(&spec.parameter_name))
        }
        OutputSpec::GradientToUserInput(spec) => {
            (&*spec.arg.name, "GRADIENT_TO_USER_INPUT", Some(&spec.user_input_name))
        }
        OutputSpec::UserInputMutation(spec) => {
            (&*spec.arg.name, "USER_INPUT_MUTATION", Some(&spec.user_input_name))
        }
        OutputSpec::Token(spec) => (&*spec.arg.name, "TOKEN", None),
    };
    match target {
        Some(target) => format!("{name}: {kind} target='{target}'"),
        None => format!("{name}: {kind}"),
    }
}

/// `s77: VR[2, 16], u0: VR[0, int_oo]`: the ranges of what occurs in the graphs.
pub(crate) fn ranges(program: &ExportedProgram) -> Result<String, Error> {
    let constraints = &program.range_constraints;
    let mut wanted: HashMap<&str, bool> =
        constraints.keys().map(|key| (key.as_str(), false)).collect();
    if wanted.is_empty() {
        return Ok(String::new());
    }
    let longest = constraints.keys().map(String::len).max().unwrap_or(0);
    let mut seen = std::collections::HashSet::new();
    let mut exprs = Vec::new();
    expressions(&program.graph_module.graph, &mut exprs);
    for expr in exprs {
        if seen.insert(&*expr.expr_str) {
            find_shown(&parse(&expr.expr_str)?, &mut wanted, longest);
        }
    }
    let ranges: Vec<String> = constraints
        .iter()
        .filter(|(key, _)| wanted[key.as_str()])
        .map(|(key, range)| {
            let min = range.min_val.map_or("-int_oo".to_owned(), |min| min.to_string());
            let max = range.max_val.map_or("int_oo".to_owned(), |max| max.to_string());
            format!("{key}: VR[{min}, {max}]")
        })
        .collect();
    Ok(ranges.join(", "))
}

/// The expressions of a graph and of the graphs in it.
fn expressions<'p>(graph: &'p Graph, out: &mut Vec<&'p SymExpr>) {
    for meta in graph.tensor_values.values() {
        let offset = std::iter::once(&meta.storage_offset);
        out.extend(meta.sizes.iter().chain(&meta.strides).chain(offset).filter_map(HasExpr::expr));
    }
    out.extend(graph.sym_int_values.values().filter_map(HasExpr::expr));
    out.extend(graph.sym_bool_values.values().filter_map(HasExpr::expr));
    out.extend(graph.sym_float_values.values().filter_map(HasExpr::expr));
    for node in &graph.nodes {
        for input in &node.inputs {
            inner(&input.arg, out);
        }
    }
}

fn inner<'p>(argument: &'p Argument, out: &mut Vec<&'p SymExpr>) {
    match argument {
        Argument::Graph(argument) => expressions(&argument.graph, out),
        Argument::StringToArgument(entries) => entries.values().for_each(|value| inner(value, out)),
        _ => {}
    }
}
