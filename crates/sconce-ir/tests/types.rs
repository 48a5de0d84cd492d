//! Types against what PyTorch says of them: `golden/types.tsv`, written by `golden/make_types.py`.

use std::sync::Arc;

use sconce_ir::{
    Argument, Class, EnumType, Function, Graph, Interface, NamedTuple, Schema, TupleType, Type,
    Unit,
};

const GOLDEN: &str = include_str!("golden/types.tsv");

/// The named types of `golden/make_types.py`.
fn unit() -> Unit {
    let mut unit = Unit::new();
    for (name, first) in [("P", "a"), ("Q", "a"), ("R", "x")] {
        let name: Arc<str> = format!("__torch__.{name}").into();
        let named = NamedTuple {
            name: Arc::clone(&name),
            fields: vec![first.into(), "b".into()],
            defaults: Vec::new(),
        };
        let elements = vec![Type::Int, Type::Tensor];
        unit.add_type(name, Type::Tuple(Arc::new(TupleType { elements, named: Some(named) })));
    }
    let color = EnumType { name: "__torch__.Color".into(), value: Type::Int, members: Vec::new() };
    unit.add_type("__torch__.Color".into(), Type::Enum(Arc::new(color)));
    let f = ("f", Type::Tensor, Type::Tensor);
    let g = ("g", Type::Int, Type::Int);
    let forward = ("forward", Type::Tensor, Type::Tensor);
    interface(&mut unit, "I", false, &[&f]);
    interface(&mut unit, "J", false, &[&f, &g]);
    interface(&mut unit, "MI", true, &[&forward]);
    class(&mut unit, "K", false, &[&f]);
    class(&mut unit, "L", false, &[&f, &g]);
    class(&mut unit, "W", false, &[&("f", Type::Int, Type::Tensor)]);
    class(&mut unit, "F", false, &[&forward]);
    class(&mut unit, "M", true, &[&forward]);
    unit
}

type Method = (&'static str, Type, Type);

fn schema((name, takes, gives): &Method, of: Type) -> Arc<Schema> {
    Arc::new(Schema {
        name: (*name).into(),
        overload: "".into(),
        arguments: vec![Argument::new("self", of), Argument::new("x", takes.clone())],
        returns: vec![Argument::new("", gives.clone())],
        is_vararg: false,
        is_varret: false,
    })
}

fn interface(unit: &mut Unit, name: &str, is_module: bool, methods: &[&Method]) {
    let name: Arc<str> = format!("__torch__.{name}").into();
    let methods = methods.iter().map(|method| schema(method, Type::Any)).collect();
    unit.add_interface(Interface { name, is_module, methods });
}

fn class(unit: &mut Unit, name: &str, is_module: bool, methods: &[&Method]) {
    let (id, ty) = unit.add_class(Class::new(format!("__torch__.{name}")));
    unit.class_mut(id).is_module = is_module;
    for method in methods {
        let function = unit.add_function(Function {
            qualified_name: format!("__torch__.{name}.{}", method.0).into(),
            class: Some(id),
            schema: schema(method, ty.clone()),
            graph: None,
        });
        unit.class_mut(id).methods.push(function);
    }
}

/// A type as graphs write it, unions in canonical order.
fn read(text: &str, unit: &Unit) -> Type {
    let graph = format!("graph(%x : {text}):\n  return (%x)\n");
    match Graph::parse_in(&graph, unit) {
        Ok(graph) => canonical(graph.ty(graph.inputs()[0]), unit),
        Err(error) => panic!("{text}: {error}"),
    }
}

fn canonical(ty: &Type, unit: &Unit) -> Type {
    let parts = ty.contained().into_iter().map(|part| canonical(part, unit)).collect();
    ty.with_contained(parts, unit)
}

fn printed(ty: &Type) -> String {
    format!("{ty}\t{}", ty.annotation())
}

#[test]
fn types_behave_as_those_of_pytorch() {
    let unit = unit();
    let texts = GOLDEN.lines().filter_map(|line| line.strip_prefix("text\t")?.split('\t').next());
    let all: Vec<Type> = texts.map(|text| read(text, &unit)).collect();
    let (mut wrong, mut lines) = (Vec::new(), 0);
    for line in GOLDEN.lines() {
        lines += 1;
        let (question, rest) = line.split_once('\t').unwrap();
        let fields: Vec<&str> = rest.split('\t').collect();
        let (found, expected) = match question {
            "text" => (printed(&read(fields[0], &unit)), fields[1..].join("\t")),
            "sub" => {
                let ty = read(fields[0], &unit);
                let holds = all.iter().map(|other| {
                    let holds = ty.is_subtype_of(other, &unit);
                    assert_eq!(holds, ty.check_subtype_of(other, &unit).is_ok());
                    if holds { '1' } else { '0' }
                });
                (holds.collect(), fields[1].to_owned())
            }
            "unify" => {
                let (a, b) = (read(fields[0], &unit), read(fields[1], &unit));
                let found = Type::unify_all(&[a, b], false, None, &unit);
                (found.map_or("-".into(), |ty| printed(&ty)), fields[2..].join("\t"))
            }
            "union" => {
                let members: Vec<Type> =
                    fields[0].split(';').map(|text| read(text, &unit)).collect();
                let found = Type::union(&members, &unit);
                // PyTorch has no union of one type, where sconce gives the type.
                let expected = fields[1..].join("\t");
                let is_union = matches!(found, Type::Union(_) | Type::Optional(_));
                (if is_union { printed(&found) } else { "-".into() }, expected)
            }
            other => panic!("{other}"),
        };
        if found != expected {
            wrong.push(format!("{line}\n    found {found}"));
        }
    }
    let shown = wrong.iter().take(40).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {lines} lines differ:\n{shown}", wrong.len());
    assert!(lines > 1000);
}

/// Found by the fuzz target `graph_text`: a union with `Any`, which no value of PyTorch's has, was printed as what could
/// not be read.
#[test]
fn unions_in_graphs_are_read_as_pytorch_prints_them() {
    for (text, expected) in [
        ("Union(bool, int)", "Union(int, bool)"),
        ("Union(int, float, complex)", "Union(Scalar)"),
        ("Union(str, int, float, complex)", "Union(, str, Scalar)"),
        ("Union(, str, Scalar)", "Union(, str, Scalar)"),
        ("Union(Scalar)", "Union(Scalar)"),
        ("Union(int, Any)", "Any"),
    ] {
        let graph = |ty: &str| format!("graph(%0 : {ty}):\n  return (%0)\n");
        let printed = sconce_ir::Graph::parse(&graph(text)).unwrap().to_string();
        assert_eq!(printed, graph(expected));
        assert_eq!(sconce_ir::Graph::parse(&printed).unwrap().to_string(), printed);
    }
    let many = vec!["int"; 300].join(", ");
    for text in ["Union()", &format!("Union({many})")] {
        let graph = format!("graph(%0 : {text}):\n  return (%0)\n");
        assert!(sconce_ir::Graph::parse(&graph).is_err());
    }
}
