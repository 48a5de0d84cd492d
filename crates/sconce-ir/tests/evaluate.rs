//! Constant propagation of operators on scalars, strings and devices beside real PyTorch 2.15:
//! `evaluate.tsv` is made by `evaluate.py`.

#![allow(clippy::unwrap_used)] // helpers of tests are outside of what clippy sees as tests

use std::collections::BTreeSet;

use sconce_ir::{Graph, passes};

/// Operators that PyTorch computes at compile time and sconce leaves for the interpreter.
const LEFT_ALONE: &[&str] = &[
    "aten::acos.complex",
    "aten::acosh.complex",
    "aten::acosh.float",
    "aten::acosh.int",
    "aten::angle.float",
    "aten::angle.int",
    "aten::asin.complex",
    "aten::asinh.complex",
    "aten::asinh.float",
    "aten::asinh.int",
    "aten::atan.complex",
    "aten::atanh.complex",
    "aten::atanh.float",
    "aten::atanh.int",
    "aten::cos.complex",
    "aten::cosh.complex",
    "aten::count",
    "aten::endswith",
    "aten::erf.float",
    "aten::erf.int",
    "aten::erfc.float",
    "aten::erfc.int",
    "aten::find",
    "aten::frexp",
    "aten::gamma.float",
    "aten::gamma.int",
    "aten::lgamma.float",
    "aten::lgamma.int",
    "aten::log.complex_complex",
    "aten::log.complex_float",
    "aten::log.complex_int",
    "aten::log.float_complex",
    "aten::log.int_complex",
    "aten::log10.complex",
    "aten::mathremainder.float",
    "aten::mathremainder.float_int",
    "aten::mathremainder.int",
    "aten::mathremainder.int_float",
    "aten::partition",
    "aten::pow.complex_float",
    "aten::pow.float_complex",
    "aten::rfind",
    "aten::rpartition",
    "aten::sin.complex",
    "aten::sinh.complex",
    "aten::startswith",
    "aten::tan.complex",
    "aten::tanh.complex",
];

#[test]
fn as_pytorch_computes() {
    let mut failures = Vec::new();
    let mut left_alone = BTreeSet::new();
    let mut cases = 0;
    for line in include_str!("evaluate.tsv").lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let arrow = fields.iter().position(|&field| field == "=>").unwrap();
        let (operator, arguments, want) = (fields[0], &fields[1..arrow], &fields[arrow + 1..]);
        cases += 1;
        let got = evaluate(operator, arguments);
        let raises = want == ["raises"];
        match got {
            None if raises => {}
            None => drop(left_alone.insert(operator)),
            Some(got) if got == want => {}
            Some(got) => failures.push(format!("{operator} {arguments:?}: {got:?}, not {want:?}")),
        }
    }
    assert!(cases > 1000);
    assert!(failures.is_empty(), "{} of {cases}:\n{}", failures.len(), failures.join("\n"));
    assert_eq!(left_alone, LEFT_ALONE.iter().copied().collect());
}

/// What constant propagation makes of an operator: each output as `type value`, or nothing when the
/// operator is still there.
fn evaluate(operator: &str, arguments: &[&str]) -> Option<Vec<String>> {
    let symbol = operator.split('.').next().unwrap();
    let mut text = String::from("graph():\n");
    for (index, argument) in arguments.iter().enumerate() {
        let (ty, value) = argument.split_once(' ').unwrap();
        text += &format!("  %{index} : {ty} = prim::Constant[value={value}]()\n");
    }
    let inputs: Vec<String> = (0..arguments.len()).map(|index| format!("%{index}")).collect();
    let overload = sconce_ir::operators::find_full(operator).unwrap();
    let outputs: Vec<String> = overload
        .schema
        .returns
        .iter()
        .enumerate()
        .map(|(index, value)| format!("%{} : {}", 10 + index, value.ty))
        .collect();
    let names: Vec<String> = (0..outputs.len()).map(|index| format!("%{}", 10 + index)).collect();
    text += &format!(
        "  {} = {symbol}({})\n  return ({})\n",
        outputs.join(", "),
        inputs.join(", "),
        names.join(", ")
    );
    let mut graph = Graph::parse(&text).unwrap();
    let root = graph.root();
    let call = graph.block_nodes(root).next_back().unwrap();
    graph.node_mut(call).operator = Some(overload.id);
    passes::constant_propagation_immutable_types(&mut graph);
    let outputs = graph.outputs().iter().map(|&output| {
        graph.constant(output)?;
        let text = graph.to_string();
        let name = format!("%{} : ", output.0);
        let line = text.lines().find_map(|line| line.trim().strip_prefix(&name))?;
        let (ty, value) = line.split_once(" = prim::Constant[value=")?;
        Some(format!("{ty} {}", value.strip_suffix("]()")?))
    });
    outputs.collect()
}
