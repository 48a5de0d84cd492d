//! Where each piece of printed code comes from, compared with the `.debug_pkl` that PyTorch 2.15 wrote
//! beside the same code.

#![allow(clippy::unwrap_used)] // helpers of tests are outside of what clippy sees as tests

use std::sync::Arc;

use sconce_compiler::print::{ConstantTable, Dependencies, Printer, Session};
use sconce_ir::{
    Class, ClassAttribute, Constant, Function, Graph, NodeId, Role, Schema, Type, Unit,
};
use sconce_syntax::{Range, Source, SourceRange};

const SOURCE: &str = "    def forward(self, x: torch.Tensor, n: int = 3):
        y = x + 1
        if n > 2:
            y = torch.add(torch.mul(torch.sub(y, y), torch.div(y, x)), torch.matmul(y, torch.relu(y)))
        for i in range(n):
            y = y[i] + (y, n)[0]
        return y * 2
";

const GRAPH: &str = "graph(%self : __torch__.M,
      %x.1 : Tensor,
      %n.1 : int):
  %39 : int = prim::Constant[value=0]()
  %33 : bool = prim::Constant[value=1]()
  %4 : int = prim::Constant[value=1]()
  %8 : int = prim::Constant[value=2]()
  %y.1 : Tensor = aten::add(%x.1, %4, %4)
  %9 : bool = aten::gt(%n.1, %8)
  %y.35 : Tensor = prim::If(%9)
    block0():
      %14 : Tensor = aten::sub(%y.1, %y.1, %4)
      %17 : Tensor = aten::div(%y.1, %x.1)
      %18 : Tensor = aten::mul(%14, %17)
      %21 : Tensor = aten::relu(%y.1)
      %22 : Tensor = aten::matmul(%y.1, %21)
      %y.13 : Tensor = aten::add(%18, %22, %4)
      -> (%y.13)
    block1():
      -> (%y.1)
  %y : Tensor = prim::Loop(%n.1, %33, %y.35)
    block0(%i.1 : int, %y.37 : Tensor):
      %40 : Tensor = aten::select(%y.37, %39, %i.1)
      %y.29 : Tensor = aten::add(%40, %y.37, %4)
      -> (%33, %y.29)
  %50 : Tensor = aten::mul(%y, %8)
  return (%50)
";

/// The range in the source of each node of the graph, in order.
const NODES: &[(u32, u32)] = &[
    (234, 238),
    (199, 250),
    (68, 69),
    (85, 86),
    (64, 69),
    (81, 86),
    (78, 187),
    (124, 133),
    (141, 150),
    (114, 123),
    (175, 185),
    (159, 171),
    (104, 113),
    (199, 250),
    (234, 238),
    (234, 250),
    (266, 271),
];

/// Offset in the code, and the range in the source: 0, 0 where there is none.
const RECORDS: &[(usize, u32, u32)] = &[
    (0, 0, 0),
    (191, 64, 69),
    (212, 68, 69),
    (213, 64, 69),
    (215, 78, 187),
    (222, 81, 86),
    (234, 85, 86),
    (235, 81, 86),
    (236, 78, 187),
    (238, 114, 123),
    (259, 124, 133),
    (274, 114, 123),
    (276, 141, 150),
    (291, 114, 123),
    (293, 104, 113),
    (318, 159, 171),
    (334, 175, 185),
    (347, 159, 171),
    (348, 104, 113),
    (350, 78, 187),
    (387, 199, 250),
    (422, 234, 250),
    (443, 234, 238),
    (456, 199, 250),
    (458, 234, 238),
    (465, 234, 250),
    (467, 199, 250),
    (469, 234, 250),
    (471, 199, 250),
    (485, 0, 0),
    (496, 266, 271),
    (510, 85, 86),
    (511, 266, 271),
    (512, 0, 0),
];

#[test]
fn records_are_pytorch_s() {
    let source = Arc::new(Source::new(SOURCE));
    let mut unit = Unit::new();
    let (id, class) = unit.add_class(Class { is_module: true, ..Class::new("__torch__.M") });
    let attributes =
        [("training", Type::Bool), ("_is_full_backward_hook", Type::optional(Type::Bool))];
    unit.class_mut(id).attributes = attributes
        .map(|(name, ty)| ClassAttribute { name: name.into(), ty, role: Role::Plain })
        .into();
    let mut graph = Graph::parse_in(GRAPH, &unit).unwrap();
    let nodes: Vec<NodeId> = graph.preorder(graph.root()).collect();
    assert_eq!(nodes.len(), NODES.len());
    for (node, &(start, end)) in nodes.into_iter().zip(NODES) {
        let range = SourceRange::new(Arc::clone(&source), Range::new(start, end));
        graph.node_mut(node).range = Some(range);
    }
    let mut schema = Schema::parse("forward(Any self, Tensor x, int n=3) -> Tensor").unwrap();
    schema.arguments[0].ty = class.clone();
    assert_eq!(schema.arguments[2].default, Some(Constant::Int(3)));
    let forward = unit.add_function(Function {
        qualified_name: "__torch__.M.forward".into(),
        class: Some(id),
        schema: Arc::new(schema),
        graph: Some(Arc::new(graph)),
    });
    unit.class_mut(id).methods.push(forward);

    let mut session = Session {
        unit: &unit,
        rename: &|_| None,
        constants: &mut ConstantTable::new(),
        dependencies: &mut Dependencies::new(),
        importable: true,
    };
    let mut printer = Printer::new();
    printer.print_type(&mut session, &class).unwrap();
    let file = printer.finish();
    let records = file.records.iter().map(|record| {
        let range = record.range.as_ref().map_or(Range::default(), |range| range.range);
        (record.offset, range.start, range.end)
    });
    assert_eq!(records.collect::<Vec<_>>(), RECORDS, "{}", file.text);
}
