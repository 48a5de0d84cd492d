//! The verbs that take Python files: `FILE.py:NAME`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;

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
    pass


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
fn what_is_wrong_is_shown_with_its_line() {
    let (folder, path) = folder();
    let out = folder.path().join("out.pt");
    let script = |name: &str| {
        let entry = format!("{path}:{name}");
        support::sconce(&["script", &entry, "-o", out.to_str().unwrap()]).all()
    };
    let wrong = script("wrong");
    assert!(wrong.contains("undefined value nowhere") && wrong.contains("line 15"), "{wrong}");
    let module = script("Net");
    assert!(module.contains("nn.Modules are not supported"), "{module}");
    assert!(module.contains("line 18"), "{module}");
    assert!(script("nobody").contains("there is no function 'nobody' in the file"));
    assert!(!out.exists());
}
