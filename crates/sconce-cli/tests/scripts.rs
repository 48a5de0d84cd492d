//! The verbs that take Python files: `FILE.py:NAME`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;

use sconce::{StateDict, Tensor};
use tempfile::TempDir;

const SOURCE: &str = "\
import torch


def _scale(x: torch.Tensor, by: float = 2.0) -> torch.Tensor:
    return x * by


def total(x: torch.Tensor, n: int = 1) -> torch.Tensor:
    for _ in range(n):
        x = _scale(x)
    return x.sum()


def wrong(x: int) -> int:
    return x + nowhere


class Net(torch.nn.Module):
    def __init__(self, by: float = 2.0):
        super().__init__()
        self.fc = torch.nn.Linear(2, 1)
        self.drop = torch.nn.Dropout(0.5)
        self.by = by

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.drop(self.fc(x)) * self.by


class Plain:
    pass


class Wrong(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.by


def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    bounded = torch.nn.functional.hardtanh(x, 0.0, 1.0)
    return torch.nn.functional.mse_loss(bounded, y, reduction='sum')
";

fn folder() -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.py");
    fs::write(&path, SOURCE).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

#[test]
fn a_function_becomes_an_archive_that_runs() {
    let (folder, path) = folder();
    let out = folder.path().join("total.pt");
    let out = out.to_str().unwrap();
    let written = support::sconce(&["script", &format!("{path}:total"), "-o", out]);
    assert!(written.all().contains("wrote"), "{}", written.all());
    let code = support::sconce(&["code", out]).all();
    assert!(code.contains("def _scale(x: Tensor,\n    by: float=2.) -> Tensor:"), "{code}");
    let input = ["-i", "tensor([1.0, 2.0])", "-i", "3"];
    let of_archive = support::sconce(&[&["run", out][..], &input].concat()).all();
    let entry = format!("{path}:total");
    let of_source = support::sconce(&[&["run", &entry][..], &input].concat()).all();
    assert!(of_archive.contains("24"), "{of_archive}");
    assert_eq!(of_archive, of_source);
}

#[test]
fn functions_of_torch_nn_need_no_pytorch() {
    let (_folder, path) = folder();
    let inputs = ["-i", "tensor([-3.0, 4.0])", "-i", "tensor([2.0, 4.0])"];
    let run = support::sconce(&[&["run", &format!("{path}:loss")][..], &inputs].concat());
    assert_eq!(run.ok().trim(), "tensor(13.)");
}

#[test]
fn trees_and_graphs_are_those_of_the_function() {
    let (_folder, path) = folder();
    let tree = support::sconce(&["ast", &format!("{path}:wrong")]).all();
    assert!(tree.contains("(def\n  (ident wrong)"), "{tree}");
    let graph = support::sconce(&["graph", &format!("{path}:total")]).all();
    assert!(graph.contains("graph(%x.1 : Tensor,\n      %n.1 : int):"), "{graph}");
    assert!(graph.contains("model.py:9:4"), "{graph}");
}

#[test]
fn verbs_of_programs_take_a_python_file() {
    let (folder, path) = folder();
    let entry = format!("{path}:total");
    let code = support::sconce(&["code", &entry]).ok();
    assert!(
        code.starts_with("def forward(self,\n    x: Tensor,\n    n: int) -> Tensor:"),
        "{code}"
    );
    let operators = support::sconce(&["ops", &entry]).ok();
    assert!(operators.contains("aten::mul.Scalar"), "{operators}");
    let input = ["-i", "tensor([1.0, 2.0])", "-i", "3"];
    let times = support::sconce(&[&["bench", &entry, "--runs", "2"][..], &input].concat()).ok();
    assert!(times.contains("2 runs") && times.contains("model.py:"), "{times}");
    let expected = folder.path().join("expected.pt");
    let expected = expected.to_str().unwrap();
    support::sconce(&[&["run", &entry, "-o", expected][..], &input].concat()).ok();
    let compared = [&["compare", &entry, "--expect", expected][..], &input].concat();
    assert!(support::sconce(&compared).ok().contains("1 output equal"));
    // What runs needs numbers; what is only shown does not.
    let module = format!("{path}:Net");
    assert!(support::sconce(&["ops", &module]).ok().contains("aten::linear"));
    let bench = support::sconce(&["bench", &module, "-i", "zeros(1, 2)"]).all();
    assert!(bench.contains("fc.weight, fc.bias"), "{bench}");
}

#[test]
fn what_is_wrong_is_shown_with_its_line() {
    let (folder, path) = folder();
    let out = folder.path().join("out.pt");
    let script = |name: &str| {
        let entry = format!("{path}:{name}");
        support::sconce(&["script", &entry, "-o", out.to_str().unwrap()]).all()
    };
    let wrong = script("wrong");
    assert!(wrong.contains("undefined value nowhere") && wrong.contains("line 15"), "{wrong}");
    let module = script("Wrong");
    assert!(module.contains("Module 'Wrong' has no attribute 'by'"), "{module}");
    assert!(module.contains("line 35"), "{module}");
    let class = script("Plain");
    assert!(class.contains("only functions and nn.Modules are compiled to archives"), "{class}");
    assert!(script("nobody").contains("nobody"));
    assert!(!out.exists());
}

/// A state dict for `Net`; the weight under the name that is given.
fn state(folder: &TempDir, weight: &str) -> String {
    let path = folder.path().join(format!("{weight}.pth"));
    let tensor = |numbers: Vec<f32>, sizes: &[i64]| Tensor::from_vec(numbers, sizes).unwrap();
    let mut state = StateDict::new();
    state.insert(weight, tensor(vec![1.0, 2.0], &[1, 2]));
    state.insert("fc.bias", tensor(vec![0.5], &[1]));
    state.save(&path).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_module_with_its_weights_becomes_an_archive_that_runs() {
    let (folder, path) = folder();
    let state = state(&folder, "fc.weight");
    let out = folder.path().join("net.pt");
    let out = out.to_str().unwrap();
    let entry = format!("{path}:Net(by=3.0)");
    let options = ["--state", state.as_str(), "--eval"];
    let written = support::sconce(&[&["script", &entry, "-o", out][..], &options].concat());
    assert!(written.all().contains("Net.forward("), "{}", written.all());
    let input = ["-i", "tensor([[1.0, 2.0]])"];
    let of_archive = support::sconce(&[&["run", out][..], &input].concat());
    assert_eq!(of_archive.ok().trim(), "tensor([[16.5000]])");
    let of_source = support::sconce(&[&["run", &entry][..], &options, &input].concat());
    assert_eq!(of_source.ok().trim(), "tensor([[16.5000]])");
    let graph = support::sconce(&[&["graph", &entry][..], &options].concat()).all();
    assert!(graph.contains("prim::GetAttr[name=\"fc\"](%self)"), "{graph}");
    let tree = support::sconce(&["ast", &format!("{path}:Net.forward")]).all();
    assert!(tree.contains("(ident forward)"), "{tree}");
}

#[test]
fn weights_that_are_missing_are_never_made_up() {
    let (folder, path) = folder();
    let run = |state: Option<&str>| {
        let entry = format!("{path}:Net");
        let mut arguments = vec!["run", &entry, "-i", "tensor([[1.0, 2.0]])"];
        arguments.extend(state.into_iter().flat_map(|state| ["--state", state]));
        support::sconce(&arguments).all()
    };
    let without = run(None);
    assert!(without.contains("fc.weight") && without.contains("--state"), "{without}");
    let other = run(Some(&state(&folder, "fc.weights")));
    assert!(other.contains("Missing key(s) in state_dict: \"fc.weight\""), "{other}");
    assert!(other.contains("Unexpected key(s) in state_dict: \"fc.weights\""), "{other}");
}
