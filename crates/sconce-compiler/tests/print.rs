//! Graphs to code, compared with what PyTorch printed for the same graphs (`golden/print.py`).

use std::sync::Arc;

use sconce_compiler::print::{self, ConstantTable, Dependencies, Printer, Session};
use sconce_ir::{Argument, Class, Function, FunctionId, Graph, Schema, Unit};

/// A block of the golden file.
#[derive(Default)]
struct Case {
    name: String,
    is_method: bool,
    schema: String,
    tuple: Option<Arc<str>>,
    graph: String,
    code: String,
}

#[test]
fn code_is_pytorch_s() {
    let path = std::env::var("SCONCE_PRINT_GOLDEN")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/print.txt").into());
    let text = std::fs::read_to_string(&path).unwrap();
    let cases = cases(&text);
    let mut failed = Vec::new();
    for case in &cases {
        match printed(case) {
            Ok(code) if code == case.code => {}
            Ok(code) => failed.push(format!("{}\n{}", case.name, difference(&case.code, &code))),
            Err(error) => failed.push(format!("{}: {error}\n", case.name)),
        }
    }
    let (bad, all) = (failed.len(), cases.len());
    assert!(all >= 40, "only {all} cases");
    assert!(failed.is_empty(), "{bad} of {all} differ:\n{}", failed.join("\n"));
}

fn cases(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("case ") {
            cases.push(Case { name: name.into(), ..Case::default() });
            continue;
        }
        let Some(case) = cases.last_mut() else { panic!("{line}") };
        if let Some(kind) = line.strip_prefix("kind ") {
            case.is_method = kind == "method";
        } else if let Some(schema) = line.strip_prefix("schema ") {
            case.schema = schema.into();
        } else if let Some(name) = line.strip_prefix("tuple ") {
            case.tuple = Some(name.into());
        } else if let Some(line) = line.strip_prefix('|') {
            case.graph.push_str(line);
            case.graph.push('\n');
        } else if let Some(line) = line.strip_prefix('>') {
            case.code.push_str(line);
            case.code.push('\n');
        } else {
            assert!(line.is_empty(), "{line}");
        }
    }
    cases
}

/// The code of a case's graph.
fn printed(case: &Case) -> Result<String, String> {
    let graph = Graph::parse(&case.graph).map_err(|error| format!("graph: {error}"))?;
    let mut unit = Unit::new();
    let class = case.is_method.then(|| unit.add_class(Class::new("__torch__.M")).0);
    let schema = schema(case, &graph)?;
    let function = unit.add_function(Function {
        qualified_name: format!("__torch__.{}", schema.name).into(),
        class,
        schema: Arc::new(schema),
        graph: Some(Arc::new(graph)),
    });
    match &case.tuple {
        None => print::code(&unit, function).map_err(|error| error.to_string()),
        Some(tuple) => with_tuple(&unit, function, tuple),
    }
}

/// The code of a function, with a name for the NamedTuple that a graph's text does not name.
fn with_tuple(unit: &Unit, function: FunctionId, tuple: &Arc<str>) -> Result<String, String> {
    let mut session = Session {
        unit,
        rename: &|name| (name == "NamedTuple").then(|| Arc::clone(tuple)),
        constants: &mut ConstantTable::new(),
        dependencies: &mut Dependencies::new(),
        importable: false,
    };
    let mut printer = Printer::new();
    let printed = match unit.function(function).class {
        Some(_) => printer.print_method(&mut session, function),
        None => printer.print_function(&mut session, function),
    };
    printed.map_err(|error| error.to_string())?;
    Ok(printer.finish().text)
}

/// The signature. Types of arguments, which schemas do not write in full, are those of the graph's
/// inputs, and the type of the result that of its output.
fn schema(case: &Case, graph: &Graph) -> Result<Schema, String> {
    let (name, rest) = case.schema.split_once('(').ok_or("no arguments")?;
    let (arguments, returned) = rest.rsplit_once(") -> ").ok_or("no result")?;
    let text = format!("{name}({}) -> {returned}", readable(arguments));
    let text = match Schema::parse(&text) {
        Ok(_) => text,
        Err(_) => format!("{name}({}) -> Tensor", readable(arguments)),
    };
    let mut schema = Schema::parse(&text).map_err(|error| format!("{text}: {error}"))?;
    for (argument, &input) in schema.arguments.iter_mut().zip(graph.inputs()) {
        argument.ty = graph.ty(input).clone();
    }
    if let (Some(returned), Some(&output)) = (schema.returns.first_mut(), graph.outputs().first()) {
        let declared = case.code.split_once(") -> ").and_then(|(_, rest)| rest.split_once(":\n"));
        if declared.is_some_and(|(declared, _)| declared != returned.ty.annotation()) {
            returned.ty = graph.ty(output).clone();
        }
    }
    Ok(schema)
}

/// Arguments with classes and the like replaced by a type that schemas can write.
fn readable(arguments: &str) -> String {
    let parts = arguments.split(", ").map(|part| match part.split_once(' ') {
        Some((ty, name)) if ty.contains("__torch__") || ty.contains('<') => format!("Any {name}"),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn difference(expected: &str, found: &str) -> String {
    let at = expected.lines().zip(found.lines()).take_while(|(a, b)| a == b).count();
    let part = |text: &str| text.lines().skip(at).take(4).collect::<Vec<_>>().join("\n  ");
    format!("  line {}\n  PyTorch:\n  {}\n  here:\n  {}\n", at + 1, part(expected), part(found))
}

/// The code of a graph's text, as of a function that takes the graph's inputs.
fn code_of(text: &str) -> Result<String, String> {
    let graph = Graph::parse(text).map_err(|error| error.to_string())?;
    let mut schema = Schema::parse("f() -> Tensor").map_err(|error| error.to_string())?;
    for &input in graph.inputs() {
        let name = graph.value(input).base_name().unwrap_or_default();
        schema.arguments.push(Argument::new(name, graph.ty(input).clone()));
    }
    let mut unit = Unit::new();
    let function = unit.add_function(Function {
        qualified_name: "__torch__.f".into(),
        class: None,
        schema: Arc::new(schema),
        graph: Some(Arc::new(graph)),
    });
    print::code(&unit, function).map_err(|error| error.to_string())
}

#[test]
fn chains_of_any_length_and_blocks_of_any_allowed_depth_are_printed() {
    let mut chain = String::from("graph(%x : Tensor):\n  %0 : Tensor = aten::relu(%x)\n");
    for index in 1..20_000 {
        chain.push_str(&format!("  %{index} : Tensor = aten::relu(%{})\n", index - 1));
    }
    chain.push_str("  return (%19999)\n");
    let code = code_of(&chain).unwrap();
    assert_eq!(code.matches("torch.relu").count(), 20_000);

    let depth = 250;
    let mut nest = String::from("graph(%c : bool, %x : Tensor):\n");
    for level in 0..depth {
        let pad = "  ".repeat(2 * level + 1);
        nest.push_str(&format!("{pad} = prim::If(%c)\n{pad}  block0():\n"));
    }
    for level in (0..depth).rev() {
        let pad = "  ".repeat(2 * level + 1);
        nest.push_str(&format!("{pad}    -> ()\n{pad}  block1():\n{pad}    -> ()\n"));
    }
    nest.push_str("  return (%x)\n");
    assert_eq!(code_of(&nest).unwrap().matches("else:").count(), depth);
}

#[test]
fn with_blocks_nest_up_to_a_limit() {
    let nested = |depth: usize| {
        let enters: String =
            (0..depth).map(|at| format!("  %e{at} : Tensor = prim::Enter(%x)\n")).collect();
        let exits: String =
            (0..depth).map(|at| format!("  %z{at} : Tensor = prim::Exit(%x)\n")).collect();
        code_of(&format!("graph(%x : Tensor):\n{enters}{exits}  return (%x)\n"))
    };
    assert_eq!(nested(200).unwrap().matches("with x:").count(), 200);
    assert_eq!(nested(300).unwrap_err(), "statements are nested more than 256 deep");
}

#[test]
fn what_code_cannot_say_is_an_error() {
    for (body, message) in [
        ("%y : Tensor = aten::nothing(%x)", "aten::nothing is not an operator"),
        ("%y : Tensor = aten::relu(%x, %x, %x)", "aten::relu is not an operator"),
        ("%y : Tensor = prim::GetAttr(%x)", "prim::GetAttr is not what it should be"),
        ("%y : Tensor = prim::CallMethod[name=\"m\"](%x)", "prim::CallMethod is not what"),
        ("%y : Tensor = prim::TupleIndex(%x)", "prim::TupleIndex is not what it should be"),
        ("%y : Tensor = prim::PythonOp(%x)", "Could not export Python function call"),
        (
            "%t : bool = prim::Constant[value=1]()\n  %n : int = prim::Constant[value=3]()\n  %f : \
             bool = aten::is_floating_point(%x)\n  %y : Tensor = prim::Loop(%n, %f, %x)\n    \
             block0(%i : int, %z : Tensor):\n      -> (%f, %z)",
            "loop cannot be printed as python",
        ),
    ] {
        let error = code_of(&format!("graph(%x : Tensor):\n  {body}\n  return (%y)\n"));
        let error = error.expect_err(body);
        assert!(error.contains(message), "{error}");
    }
}
