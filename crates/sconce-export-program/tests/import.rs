//! Programs that become graphs, and those that must not: names, arguments and graphs that do not fit.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;

use sconce_export_program::schema::{Argument, Node, SymIntArgument, TensorArgument};
use sconce_export_program::{Archive, ExportedProgram, Program};
use sconce_tensor::Tensor;

fn open(name: &str) -> (Archive, ExportedProgram) {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/pt2"));
    let archive = Archive::open(folder.join(format!("run_{name}.pt2"))).unwrap();
    let program = archive.program("model").unwrap();
    (archive, program)
}

/// Imports a program with tensors that are nothing.
fn import(program: &ExportedProgram) -> Result<Program, String> {
    let mut tensors = |_, _: &str| Ok(Tensor::from_slice(&[0f32], &[1]).unwrap());
    Program::new(program, &mut tensors).map_err(|error| error.to_string())
}

/// What is said of a program after a change.
fn changed(name: &str, change: impl FnOnce(&mut ExportedProgram)) -> String {
    let (_, mut program) = open(name);
    change(&mut program);
    import(&program).err().unwrap_or_else(|| "imported".to_owned())
}

fn nodes(program: &mut ExportedProgram) -> &mut Vec<Node> {
    &mut program.graph_module.graph.nodes
}

#[test]
fn a_program_becomes_a_module() {
    let (archive, _) = open("mlp");
    let program = Program::of_archive(&archive, "model").unwrap();
    let module = program.module();
    let names: Vec<String> =
        module.named_parameters().unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["0.weight", "0.bias", "2.weight", "2.bias"]);
    let graph = module.graph("forward").unwrap().to_string();
    assert!(graph.contains("%linear : Tensor = aten::linear("), "{graph}");
    assert!(program.unknown_operators().is_empty());
    assert_eq!(program.calling().positional().len(), 1);
}

#[test]
fn what_does_not_hold_together_is_refused_with_its_place() {
    let tensor =
        |name: &str| Argument::Tensor(TensorArgument { name: name.to_owned(), extra: Vec::new() });
    let cases = [
        (
            changed("mlp", |program| nodes(program)[0].inputs[0].arg = tensor("later")),
            "the value 'later' is used before it is defined",
        ),
        (
            changed("mlp", |program| nodes(program)[1].outputs[0] = tensor("linear")),
            "the value 'linear' is defined twice",
        ),
        (
            changed("mlp", |program| nodes(program)[0].inputs[1].name = "weights".to_owned()),
            "aten::linear takes no argument 'weights'",
        ),
        (
            changed("mlp", |program| {
                let input = nodes(program)[0].inputs[0].clone();
                nodes(program)[0].inputs.push(input);
            }),
            "the argument 'input' is given twice",
        ),
        (
            changed("mlp", |program| drop(nodes(program)[0].inputs.remove(0))),
            "aten::linear is missing value for argument 'input'",
        ),
        (
            changed("mlp", |program| nodes(program)[0].outputs.push(tensor("more"))),
            "2 results are named, and there are 1",
        ),
        (
            changed("mlp", |program| drop(program.graph_module.graph.inputs.pop())),
            "the structure of the arguments has 1 values, the graph 0 inputs",
        ),
        (
            changed("mlp", |program| {
                let call = &mut program.graph_module.module_call_graph[0];
                call.signature.as_mut().unwrap().in_spec = "[1, 3]".to_owned();
            }),
            "a node of a tree spec is no object",
        ),
        (
            changed("dynamic_min_max", |program| {
                nodes(program)[0].inputs[1].arg =
                    Argument::SymInt(SymIntArgument::Name("x".into()));
                nodes(program)[0].target = "torch.ops.aten.relu.default".to_owned();
            }),
            "aten::relu takes no argument 'dim'",
        ),
        (
            changed("cond_nested", |program| {
                let call =
                    nodes(program).iter_mut().find(|node| node.target.ends_with(".cond")).unwrap();
                let Argument::Graph(then) = &mut call.inputs[1].arg else { unreachable!() };
                then.graph.outputs.clear();
            }),
            "the branches of cond give 0 and 1 values",
        ),
        (
            changed("while_loop", |program| {
                let call = &mut nodes(program)[0];
                call.inputs.swap(0, 2);
            }),
            "argument 0 of torch.ops.higher_order.while_loop is no graph",
        ),
    ];
    for (said, want) in cases {
        assert!(said.contains(want), "{said}\n  instead of: {want}");
    }
}

#[test]
fn operators_that_nobody_knows_are_named() {
    let (_, mut program) = open("mlp");
    nodes(&mut program)[1].target = "torch.ops.mine.twice.default".to_owned();
    let program = import(&program).unwrap();
    assert_eq!(program.unknown_operators(), ["mine::twice"]);
    let graph = program.module().graph("forward").unwrap().to_string();
    assert!(graph.contains("mine::twice("), "{graph}");
}

#[test]
fn loops_in_conditions_of_loops_do_not_grow_without_end() {
    let (_, program) = open("while_loop");
    let inner = program.graph_module.graph.nodes[0].clone();
    let deep = (0..28).fold(inner, |inner, _| {
        let mut outer = program.graph_module.graph.nodes[0].clone();
        let Argument::Graph(condition) = &mut outer.inputs[0].arg else { unreachable!() };
        let names: Vec<Argument> = condition.graph.inputs.clone();
        let mut inner = inner;
        let tensors: Vec<TensorArgument> = names
            .iter()
            .map(|input| TensorArgument {
                name: input.name().unwrap().to_owned(),
                extra: Vec::new(),
            })
            .collect();
        inner.inputs[2].arg = Argument::Tensors(tensors);
        condition.graph.nodes.insert(0, inner);
        outer
    });
    let mut program = program;
    program.graph_module.graph.nodes[0] = deep;
    let said = import(&program).err().unwrap_or_else(|| "imported".to_owned());
    assert!(said.contains("too large") || said.contains("nested deeper"), "{said}");
}
