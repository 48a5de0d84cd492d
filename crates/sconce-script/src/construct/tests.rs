//! Python source to printed objects, and what it is told about what is wrong.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::*;
use crate::objects::{Heap, Value as Made};

/// The folder of an installed PyTorch, where one is asked to be tested with.
fn run_with(text: &str, expression: &str, folders: Vec<PathBuf>) -> Result<(Heap, Made), Error> {
    let mut world = World::new(folders);
    let module = world.add(Module::parse("file", "file.py", text.to_owned(), false).unwrap());
    let what = Construction { expression: expression.to_owned(), ..Construction::default() };
    construct(&mut world, &module, &what)
}

fn run(text: &str, expression: &str) -> Result<(Heap, Made), Error> {
    run_with(text, expression, Vec::new())
}

fn shown(text: &str, expression: &str) -> String {
    match run(text, expression) {
        Ok((heap, value)) => Printer { heap: &heap }.show(&value, 0),
        Err(error) => {
            let place = error.range().and_then(|range| range.file_line_column());
            let line = place.map_or(0, |(_, line, _)| line);
            format!("line {line}: {}", error.message())
        }
    }
}

/// Writes objects as Python would, modules as trees.
struct Printer<'h> {
    heap: &'h Heap,
}

impl Printer<'_> {
    fn list(&self, items: &[Made], level: usize) -> String {
        items.iter().map(|item| self.show(item, level)).collect::<Vec<_>>().join(", ")
    }

    fn show(&self, value: &Made, level: usize) -> String {
        match value {
            Made::None => "None".into(),
            Made::Bool(value) => if *value { "True" } else { "False" }.into(),
            Made::Int(value) => value.to_string(),
            Made::Float(value) => text::float_text(*value),
            Made::Complex(re, im) => format!("{re}+{im}j"),
            Made::Str(text) => format!("'{text}'"),
            Made::Tuple(items, None) => format!("({})", self.list(items, level)),
            Made::Tuple(items, Some(class)) => {
                format!("{}({})", class.name(), self.list(items, level))
            }
            Made::List(id) => format!("[{}]", self.list(self.heap.list(*id).unwrap(), level)),
            Made::Dict(id) => {
                let entries = self.heap.dict(*id).unwrap().iter().map(|(key, value)| {
                    format!("{}: {}", self.show(key, level), self.show(value, level))
                });
                format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
            }
            Made::Tensor(id) => {
                let tensor = self.heap.tensor(*id).unwrap();
                let kind = if tensor.is_parameter { "Parameter" } else { "Tensor" };
                let mut shown = format!("{kind}{:?}", tensor.tensor.sizes());
                if tensor.tensor.dtype() != sconce_tensor::DType::Float32 {
                    let _ = write!(shown, " {}", tensor.tensor.dtype());
                }
                if !tensor.is_known {
                    shown.push_str(" ?");
                } else if tensor.tensor.numel() <= 8 {
                    let numbers = sconce_kernels::Importer::default();
                    let mut numbers = numbers;
                    let own = numbers.import(&tensor.tensor).unwrap();
                    let own = sconce_kernels::Tensor::copy(&own).unwrap();
                    let values: Vec<String> = match own.dtype() {
                        sconce_tensor::DType::Float32 => {
                            own.to_vec::<f32>().unwrap().iter().map(f32::to_string).collect()
                        }
                        sconce_tensor::DType::Int64 => {
                            own.to_vec::<i64>().unwrap().iter().map(i64::to_string).collect()
                        }
                        _ => Vec::new(),
                    };
                    let _ = write!(shown, " = {}", values.join(" "));
                }
                shown
            }
            Made::Module(id) => self.module(*id, level),
            Made::Object(id) => {
                let object = self.heap.object(*id).unwrap();
                let attributes: Vec<String> = object
                    .attributes
                    .iter()
                    .map(|(name, value)| format!("{name}={}", self.show(value, level)))
                    .collect();
                format!("{}({})", object.class.name(), attributes.join(", "))
            }
            Made::Enum(class, name) => format!("{}.{name}", class.name()),
            Made::Function(function) => {
                let bound = if function.bound.is_some() { "method" } else { "function" };
                let captured: Vec<String> = function
                    .captured
                    .iter()
                    .map(|(name, value)| format!("{name}={}", self.show(value, level)))
                    .collect();
                format!("<{bound} {}({})>", function.function.name(), captured.join(", "))
            }
            Made::Class(class) => format!("<class {}>", class.name()),
            Made::Namespace(module) => format!("<module {}>", module.name),
            Made::Library(name) => format!("<{name}>"),
            Made::DType(dtype) => format!("{dtype}"),
            Made::Device(device) => format!("device {device}"),
            Made::Opaque(what) => format!("<{what}>"),
        }
    }

    fn module(&self, id: crate::objects::Id, level: usize) -> String {
        let module = self.heap.module(id).unwrap();
        let mut shown = format!("{}.{}", module.class.module.name, module.class.name());
        if !module.training {
            shown.push_str(" eval");
        }
        let indent = "  ".repeat(level + 1);
        let mut line = |kind: &str, name: &str, value: &Made| {
            let _ = write!(shown, "\n{indent}{kind}{name}: {}", self.show(value, level + 1));
        };
        for (name, value) in &module.parameters {
            line("", name, value);
        }
        for buffer in &module.buffers {
            line(if buffer.is_persistent { "" } else { "~" }, &buffer.name, &buffer.value);
        }
        for (name, value) in &module.modules {
            line("", name, value);
        }
        for (name, value) in &module.attributes {
            line(".", name, value);
        }
        shown
    }
}

const HEAD: &str =
    "import math\nimport torch\nimport torch.nn as nn\nfrom typing import NamedTuple, Optional\n";

#[test]
fn classes_of_modules_become_trees() {
    let cases = [
        (
            "class Net(nn.Module):\n    def __init__(self, hidden=3):\n        super().__init__()\n        self.fc = nn.Linear(2, hidden)\n        self.names = ['a', 'b']\n",
            "Net",
            "file.Net\n  fc: torch.nn.modules.linear.Linear\n    weight: Parameter[3, 2] ?\n    bias: Parameter[3] ?\n    .in_features: 2\n    .out_features: 3\n  .names: ['a', 'b']",
        ),
        (
            "class Net(nn.Module):\n    def __init__(self, hidden=3):\n        super(Net, self).__init__()\n        self.w = nn.Parameter(torch.ones(hidden), requires_grad=False)\n        self.register_buffer('b', torch.arange(3), persistent=False)\n        self.register_buffer('n', None)\n",
            "Net(hidden=2).eval()",
            "file.Net eval\n  w: Parameter[2] = 1 1\n  ~b: Tensor[3] torch.int64 = 0 1 2\n  n: None",
        ),
        (
            "net = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.ReLU(inplace=True))\n",
            "net",
            "torch.nn.modules.container.Sequential\n  0: torch.nn.modules.conv.Conv2d\n    weight: Parameter[2, 1, 3, 3] ?\n    bias: Parameter[2] ?\n    .in_channels: 1\n    .out_channels: 2\n    .kernel_size: (3, 3)\n    .stride: (1, 1)\n    .padding: (1, 1)\n    .dilation: (1, 1)\n    .transposed: False\n    .output_padding: (0, 0)\n    .groups: 1\n    .padding_mode: 'zeros'\n    ._reversed_padding_repeated_twice: [1, 1, 1, 1]\n  1: torch.nn.modules.activation.ReLU\n    .inplace: True",
        ),
    ];
    for (text, expression, expected) in cases {
        assert_eq!(shown(&format!("{HEAD}{text}"), expression), expected, "{text}");
    }
}
