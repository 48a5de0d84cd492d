//! Classes, hooks, interfaces, NamedTuples and enums as code, and the order in which they are found.
//!
//! The expected text is put together from what `torch.jit.save` of PyTorch 2.15 wrote for modules with
//! these parts.

#![expect(clippy::unwrap_used, reason = "what is built here is right, or the test fails")]

use std::sync::Arc;

use sconce_compiler::print::{ConstantTable, Dependencies, Printer, Session};
use sconce_ir::{
    Class, ClassAttribute, ClassConstant, ClassId, Constant, EnumType, Function, FunctionId, Graph,
    Interface, NamedTuple, Role, Schema, TupleType, Type, Unit,
};

/// `__torch__.py`, the module first.
const MODULE: &str = r#"class M(Module):
  __parameters__ = ["w", ]
  __buffers__ = ["b", ]
  __forward_pre_hooks__ = ["pre", ]
  __forward_hooks__ = ["post", "post", ]
  w : Tensor
  b : Tensor
  doer : __torch__.Doer
  ml : __torch__.List
  t : Final[Tuple[int, str]] = (1, "a")
  s : Final[str] = CONSTANTS.c0
  def forward(self: __torch__.M,
    x: Tensor,
    c: __torch__.Color) -> Tuple[__torch__.Point, Tensor]:
    p = __torch__.Point(x, 4)
    i = __torch__.Impl.__new__(__torch__.Impl)
    _0 = (i).__init__()
    doer = self.doer
    x0 = (doer).forward(x, None, )
    ml = self.ml
    _00 = getattr(ml, "0")
    _1 = (_00).forward(x0, )
    x1 = torch.div(__torch__.helper(x0, (1, 2.), ), 2)
    return (p, x1)
  def post(self: __torch__.M,
    out: Tensor) -> Tensor:
    return out
  def pre(self: __torch__.M,
    input: Tuple[Tensor]) -> Tuple[Tensor]:
    return input
class List(Module):
  __parameters__ = []
  __buffers__ = []
  __annotations__ = []
  __annotations__["0"] = __torch__.Sub
  training : bool
class Sub(Module):
  __parameters__ = []
  __buffers__ = []
class Doer(ModuleInterface):
  def forward(self, x: Tensor, n: Optional[int]) -> Tensor:
    pass
class Color(Enum):
  RED = "r"e"
  GREEN = "g"
class Point(NamedTuple):
  x : Tensor
  y : Optional[int]
def helper(x: Tensor,
    sizes: Tuple[int, float]=(1, 2.),
    pads: List[int]=[3, 3]) -> Tensor:
  return x
class Impl:
  n : int
  def __init__(self: __torch__.Impl) -> NoneType:
    self.n = 1
    return None
"#;

#[test]
fn a_file_is_pytorch_s() {
    let (unit, module, _) = program();
    let file = File::of(&unit, &module);
    assert_eq!(file.text, MODULE);
    assert_eq!(file.min_version, 4, "of torch.div");
    let Ok([Constant::Str(text)]) = <&[_; 1]>::try_from(file.constants.as_slice()) else {
        panic!("{:?}", file.constants)
    };
    assert_eq!(&**text, "café");
}

#[test]
fn classes_come_before_what_they_consist_of_and_functions_where_they_are_called() {
    let (unit, module, _) = program();
    let names = File::of(&unit, &module).names;
    let expected = ["M", "Doer", "List", "Sub", "Color", "Point", "helper", "Impl"];
    assert_eq!(names, expected.map(|name| format!("__torch__.{name}")));
}

#[test]
fn names_are_those_of_the_save() {
    let (unit, _, impl_class) = program();
    let mut dependencies = Dependencies::new();
    let mut session = Session {
        unit: &unit,
        rename: &|name| (name == "__torch__.Impl").then(|| "__torch__.mangled.Impl".into()),
        constants: &mut ConstantTable::new(),
        dependencies: &mut dependencies,
        importable: true,
    };
    let mut printer = Printer::new();
    printer.print_type(&mut session, &impl_class).unwrap();
    let text = printer.finish().text;
    assert!(text.contains("def __init__(self: __torch__.mangled.Impl) -> NoneType:"), "{text}");
}

#[test]
fn enums_of_floats_are_streamed() {
    let member = |name: &str, value| (Arc::from(name), Constant::Float(value));
    let level = Type::Enum(Arc::new(EnumType {
        name: "__torch__.Level".into(),
        value: Type::Float,
        members: vec![
            member("LOW", 0.5),
            member("HIGH", 3.0),
            member("HUGE", 1e12),
            member("ZERO", -0.0),
        ],
    }));
    let file = File::of(&Unit::new(), &level);
    let lines = "  LOW = 0.5\n  HIGH = 3.\n  HUGE = 1000000000000.\n  ZERO = 0.\n";
    assert_eq!(file.text, format!("class Level(Enum):\n{lines}"));
}

#[test]
fn what_is_of_no_unit_or_has_no_graph_is_an_error() {
    let (unit, module, _) = program();
    let mut empty = Unit::new();
    let schema = Arc::new(Schema::parse("f(Tensor x) -> Tensor").unwrap());
    let function = empty.add_function(function("__torch__.f", None, schema, None));
    for (unit, ty) in [(&empty, &module), (&unit, &Type::Int)] {
        assert!(File::print(unit, ty).is_err());
    }
    assert!(sconce_compiler::print::code(&empty, function).is_err());
}

/// A printed file, with what it mentions printed after it.
struct File {
    text: String,
    min_version: u64,
    names: Vec<String>,
    constants: Vec<Constant>,
}

impl File {
    fn of(unit: &Unit, root: &Type) -> Self {
        Self::print(unit, root).unwrap()
    }

    fn print(unit: &Unit, root: &Type) -> Result<Self, sconce_compiler::Error> {
        let (mut constants, mut dependencies) = (ConstantTable::new(), Dependencies::new());
        dependencies.add(root);
        let mut printer = Printer::new();
        let mut at = 0;
        while let Some(ty) = dependencies.get(at).cloned() {
            let mut session = Session {
                unit,
                rename: &|_| None,
                constants: &mut constants,
                dependencies: &mut dependencies,
                importable: true,
            };
            // In an archive, the classes of objects come first, in the order of the objects.
            if at == 1 {
                for class in ["__torch__.List", "__torch__.Sub"] {
                    printer.print_type(&mut session, unit.find_type(class).unwrap())?;
                }
            }
            let name = ty.qualified_name().map_or("", |name| &**name);
            if !["__torch__.List", "__torch__.Sub"].contains(&name) {
                printer.print_type(&mut session, &ty)?;
            }
            at += 1;
        }
        let file = printer.finish();
        let names = dependencies.iter().filter_map(Type::qualified_name);
        Ok(Self {
            text: file.text,
            min_version: file.min_version,
            names: names.map(|name| name.to_string()).collect(),
            constants: constants.into_values(),
        })
    }
}

/// The program of [`MODULE`], its module's type, and its plain class's.
fn program() -> (Unit, Type, Type) {
    let mut unit = Unit::new();
    let point = Type::Tuple(Arc::new(TupleType {
        elements: vec![Type::Tensor, Type::optional(Type::Int)],
        named: Some(NamedTuple {
            name: "__torch__.Point".into(),
            fields: vec!["x".into(), "y".into()],
            defaults: vec![Constant::Int(3)],
        }),
    }));
    let color = Type::Enum(Arc::new(EnumType {
        name: "__torch__.Color".into(),
        value: Type::Str,
        members: vec![
            ("RED".into(), Constant::Str("r\"e".into())),
            ("GREEN".into(), Constant::Str("g".into())),
        ],
    }));
    let does = Schema::parse("forward(Any self, Tensor x, int? n) -> Tensor").unwrap();
    let (_, doer) = unit.add_interface(Interface {
        name: "__torch__.Doer".into(),
        is_module: true,
        methods: vec![Arc::new(does)],
    });
    let module = |name: &str| Class { is_module: true, ..Class::new(name) };
    let (_, sub) = unit.add_class(module("__torch__.Sub"));
    let (list_id, list) = unit.add_class(module("__torch__.List"));
    unit.class_mut(list_id).attributes =
        vec![attribute("0", sub, Role::Plain), attribute("training", Type::Bool, Role::Plain)];
    let (impl_id, impl_class) = unit.add_class(Class::new("__torch__.Impl"));
    unit.class_mut(impl_id).attributes = vec![attribute("n", Type::Int, Role::Plain)];
    let (id, class) = unit.add_class(module("__torch__.M"));
    unit.class_mut(id).attributes = vec![
        attribute("w", Type::Tensor, Role::Parameter),
        attribute("b", Type::Tensor, Role::Buffer),
        attribute("doer", doer, Role::Plain),
        attribute("ml", list, Role::Plain),
    ];
    let pair = vec![Constant::Int(1), Constant::Str("a".into())];
    unit.class_mut(id).constants =
        [("t", Constant::Tuple(pair.into(), None)), ("s", Constant::Str("café".into()))]
            .map(|(name, value)| ClassConstant { name: name.into(), ty: value.ty(), value })
            .into();

    let mut pads = Schema::parse("helper(Tensor x, Any sizes, int[2] pads=3) -> Tensor").unwrap();
    pads.arguments[1].ty = Type::tuple(vec![Type::Int, Type::Float]);
    let default = vec![Constant::Int(1), Constant::Float(2.0)];
    pads.arguments[1].default = Some(Constant::Tuple(default.into(), None));
    pads.arguments[2].default = Some(Constant::Int(3));
    let graph = "graph(%x : Tensor, %sizes : (int, float), %pads : int[]):\n  return (%x)\n";
    let graph = Graph::parse(graph).unwrap();
    unit.add_function(function("__torch__.helper", None, Arc::new(pads), Some(graph)));

    let init = "graph(%self : __torch__.Impl):
        %1 : int = prim::Constant[value=1]()
        %2 : NoneType = prim::Constant()
         = prim::SetAttr[name=\"n\"](%self, %1)
        return (%2)\n";
    let init = method(&mut unit, impl_id, "__init__(Any self) -> NoneType", init, &[]);
    unit.class_mut(impl_id).methods.push(init);

    let forward = "graph(%self : __torch__.M, %x.1 : Tensor, %c : Any):
        %4 : int = prim::Constant[value=4]()
        %2 : int = prim::Constant[value=2]()
        %n : NoneType = prim::Constant()
        %h : Function = prim::Constant[name=\"__torch__.helper\"]()
        %s : (int, float) = prim::Constant[value=(1, 2.)]()
        %p.1 : Any = prim::TupleConstruct(%x.1, %4)
        %i.1 : __torch__.Impl = prim::CreateObject()
        %8 : NoneType = prim::CallMethod[name=\"__init__\"](%i.1)
        %doer : Any = prim::GetAttr[name=\"doer\"](%self)
        %x.3 : Tensor = prim::CallMethod[name=\"forward\"](%doer, %x.1, %n)
        %ml : __torch__.List = prim::GetAttr[name=\"ml\"](%self)
        %_0 : __torch__.Sub = prim::GetAttr[name=\"0\"](%ml)
        %9 : Tensor = prim::CallMethod[name=\"forward\"](%_0, %x.3)
        %10 : Tensor = prim::CallFunction(%h, %x.3, %s)
        %x.5 : Tensor = aten::div(%10, %2)
        %11 : Any = prim::TupleConstruct(%p.1, %x.5)
        return (%11)\n";
    let retyped = [
        ("c", color),
        ("p", point.clone()),
        ("doer", unit.find_type("__torch__.Doer").unwrap().clone()),
        ("", Type::tuple(vec![point, Type::Tensor])),
    ];
    let schema = "forward(Any self, Tensor x, Any c) -> Any";
    let forward = method(&mut unit, id, schema, forward, &retyped);
    unit.class_mut(id).methods.push(forward);
    let post = "graph(%self : __torch__.M, %out : Tensor):\n  return (%out)\n";
    let post = method(&mut unit, id, "post(Any self, Tensor out) -> Tensor", post, &[]);
    unit.class_mut(id).forward_hooks = vec![post, post];
    let pre = "graph(%self : __torch__.M, %input : (Tensor)):\n  return (%input)\n";
    let pre = method(&mut unit, id, "pre(Any self, Any input) -> Any", pre, &[]);
    unit.class_mut(id).forward_pre_hooks = vec![pre];
    (unit, class, impl_class)
}

fn attribute(name: &str, ty: Type, role: Role) -> ClassAttribute {
    ClassAttribute { name: name.into(), ty, role }
}

fn function(
    name: &str,
    class: Option<ClassId>,
    schema: Arc<Schema>,
    graph: Option<Graph>,
) -> Function {
    Function { qualified_name: name.into(), class, schema, graph: graph.map(Arc::new) }
}

/// Adds a method. `retyped` gives types to values that graph text has no words for, by base name;
/// the unnamed one is what is returned. Arguments and result are typed as the graph's.
fn method(
    unit: &mut Unit,
    class: ClassId,
    schema: &str,
    graph: &str,
    retyped: &[(&str, Type)],
) -> FunctionId {
    let mut schema = Schema::parse(schema).unwrap();
    let mut graph = Graph::parse_in(graph, unit).unwrap();
    let nodes = graph.block_nodes(graph.root()).flat_map(|node| graph.node(node).outputs());
    let values: Vec<_> = graph.inputs().iter().chain(nodes).copied().collect();
    for (name, ty) in retyped {
        for &value in &values {
            let is_named = graph.value(value).base_name() == Some(name);
            if is_named || (name.is_empty() && graph.outputs() == [value]) {
                graph.set_type(value, ty.clone());
            }
        }
    }
    for (argument, &input) in schema.arguments.iter_mut().zip(graph.inputs()) {
        argument.ty = graph.ty(input).clone();
    }
    schema.returns[0].ty = graph.ty(graph.outputs()[0]).clone();
    let name = format!("{}.{}", unit.class(class).name, schema.name);
    unit.add_function(function(&name, Some(class), Arc::new(schema), Some(graph)))
}
