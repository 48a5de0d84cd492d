//! Programs that torch.export saved, called as PyTorch called them: results, second calls, what does not fit.

#![cfg(feature = "run")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;

use sconce::checkpoint::{Draft, Node, Object};
use sconce::run::{
    IValue, Limits, Options, Run, RunTensor, Session, arguments, from_object, to_object,
};
use sconce::{Checkpoint, load_program};

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/pt2"))
}

fn fixture(name: &str) -> PathBuf {
    folder().join(format!("run_{name}.pt2"))
}

/// What differs, or nothing.
fn difference(found: Object<'_>, want: Object<'_>, at: &str) -> Option<String> {
    let (a, b) = (found.data(), want.data());
    let pairs = |a: Object<'_>, b: Object<'_>| -> Option<String> {
        if a.len() != b.len() {
            return Some(format!("{at} has {} items instead of {}", a.len(), b.len()));
        }
        let mut items = a.iter().zip(b.iter()).enumerate();
        items.find_map(|(index, (a, b))| difference(a, b, &format!("{at}[{index}]")))
    };
    match (a, b) {
        (Node::Tensor(a), Node::Tensor(b)) => {
            let (a, b) = (&a.tensor, &b.tensor);
            if (a.dtype(), a.sizes()) != (b.dtype(), b.sizes()) {
                return Some(format!("{at} is {a:?} instead of {b:?}"));
            }
            let mut numbers = a.values().unwrap().zip(b.values().unwrap());
            let found = numbers.find(|(a, b)| match (a.to_f64(), b.to_f64()) {
                (Some(a), Some(b)) => (a - b).abs() > 1e-4 * b.abs().max(1.0),
                _ => a != b,
            });
            found.map(|(a, b)| format!("{at} has {a:?} instead of {b:?}"))
        }
        (Node::List(_), Node::List(_)) | (Node::Tuple(_), Node::Tuple(_)) => pairs(found, want),
        (Node::Dict(_), Node::Dict(_)) => {
            if found.len() != want.len() {
                return Some(format!("{at} has {} keys instead of {}", found.len(), want.len()));
            }
            let mut entries = found.entries().zip(want.entries());
            entries.find_map(|((key, a), (other, b))| {
                let (key, other) = (key.repr(60), other.repr(60));
                match key == other {
                    true => difference(a, b, &format!("{at}[{key}]")),
                    false => Some(format!("{at} has the key {key} instead of {other}")),
                }
            })
        }
        _ => {
            let (a, b) = (found.repr(100), want.repr(100));
            (a != b).then(|| format!("{at} is {a} instead of {b}"))
        }
    }
}

/// Calls a program as its file of calls says, in one session; what is wrong, call by call.
fn wrong_calls(name: &str, optimize: bool) -> Vec<String> {
    let program = load_program(fixture(name)).unwrap();
    let calls = Checkpoint::open(folder().join(format!("run_{name}.calls.pt"))).unwrap();
    let options = Options { optimize, ..Options::default() };
    let mut session = program.session(options).unwrap();
    let mut wrong = Vec::new();
    for (index, call) in calls.root().iter().enumerate() {
        let part =
            |name: &str| call.entries().find(|(key, _)| key.as_str() == Some(name)).unwrap().1;
        let args = arguments(part("args")).unwrap();
        let kwargs: Vec<(String, IValue)> = part("kwargs")
            .entries()
            .map(|(key, value)| (key.as_str().unwrap().to_owned(), from_object(value).unwrap()))
            .collect();
        let named: Vec<(&str, IValue)> =
            kwargs.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
        let at = format!("{name}, call {index}");
        match session.call_with("forward", &args, &named).and_then(|result| to_object(&result)) {
            Ok(result) => {
                let result = Draft::from(result);
                wrong.extend(difference(result.root(), part("want"), &at));
            }
            Err(error) => wrong.push(format!("{at}: {error}")),
        }
    }
    wrong
}

#[test]
fn programs_give_what_pytorch_gave() {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            Some(name.strip_prefix("run_")?.strip_suffix(".pt2")?.to_owned())
        })
        .collect();
    names.sort();
    assert!(names.len() > 15, "{names:?}");
    let wrong = |optimize: bool| names.iter().flat_map(move |name| wrong_calls(name, optimize));
    let wrong: Vec<String> = wrong(true).chain(wrong(false)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn quantized_layers_run_on_integers() {
    let program = load_program(fixture("quantized_layers")).unwrap();
    let options = Options { profile: true, ..Options::default() };
    let mut session = program.session(options).unwrap();
    let input = RunTensor::from_slice(&[0.5f32; 24], &[3, 8]).unwrap();
    session.call("forward", &[input.into()]).unwrap();
    let entries = session.profile();
    let ran: Vec<&str> = entries.iter().map(|entry| entry.operator.as_str()).collect();
    assert!(ran.contains(&"sconce::integer_linear"), "{ran:?}");
    let real = ["aten::linear", "sconce::linear_packed", "sconce::dequantize"];
    assert!(ran.iter().all(|operator| !real.contains(operator)), "{ran:?}");
}

#[test]
fn decomposed_activations_have_their_names_again() {
    let program = load_program(fixture("hard_activations_core")).unwrap();
    let options = Options { profile: true, ..Options::default() };
    let mut session = program.session(options).unwrap();
    let input = RunTensor::from_slice(&[0.25f32; 192], &[1, 3, 8, 8]).unwrap();
    session.call("forward", &[input.into()]).unwrap();
    let entries = session.profile();
    let parts = ["clamp", "sigmoid", "add", "div", "mul"];
    for entry in &entries {
        let name = entry.operator.rsplit("::").next().unwrap_or_default();
        let name = name.split('.').next().unwrap_or_default();
        let is_part = parts.contains(&name) || entry.steps.iter().any(|step| parts.contains(step));
        assert!(!is_part, "{} {:?}", entry.operator, entry.steps);
    }
}

fn tensor(values: &[f32]) -> IValue {
    RunTensor::from_slice(values, &[values.len() as i64]).unwrap().into()
}

fn session(name: &str) -> Session {
    load_program(fixture(name)).unwrap().session(Options::default()).unwrap()
}

#[test]
fn arguments_that_do_not_fit_are_refused_in_pytorchs_words() {
    let mut mlp = session("mlp");
    let said = |result: Result<IValue, sconce::run::Error>| result.unwrap_err().to_string();
    let two = RunTensor::from_slice(&[0f32; 14], &[2, 7]).unwrap();
    assert_eq!(
        said(mlp.call("forward", &[two.into()])),
        "Expected input at *args[0].shape[1] to be equal to 8, but got 7. If you meant for this dimension to be \
         dynamic, please re-export and specify dynamic_shapes (e.g. with Dim.DYNAMIC)"
    );
    assert_eq!(
        said(mlp.call("forward", &[tensor(&[1.0])])),
        "Unexpected number of dimensions in input at *args[0].shape (expected torch.Size([2, 8]), got \
         torch.Size([1]))"
    );
    assert_eq!(
        said(mlp.call("forward", &[3.into()])),
        "Expected input at *args[0] to be a tensor, but got <class 'int'>"
    );
    let none = said(mlp.call("forward", &[]));
    assert!(none.starts_with(
        "Trying to flatten user inputs with exported input tree spec: \nTreeSpec(tuple, "
    ));
    assert!(none.contains(
        "but actually got inputs with tree spec of: \nTreeSpec(tuple, None, [TreeSpec(tuple"
    ));
    let mut keywords = session("keywords");
    let alpha = ("alpha", tensor(&[2.0]));
    assert_eq!(
        said(keywords.call_with("forward", &[tensor(&[1.0, 2.0, 3.0])], &[alpha])),
        "Ran into a kwarg keyword mismatch: Got the following keywords ['alpha'] but expected ['beta', 'alpha']"
    );
    let mut constants = session("constants_in");
    let args = [tensor(&[1.0, 2.0]), 4.into(), 2.5.into(), true.into()];
    assert_eq!(
        said(constants.call("forward", &args)),
        "Expected input at *args[1] to be equal to 3, but got 4"
    );
}

#[test]
fn assertions_are_checked_whether_the_program_is_optimised_or_not() {
    for optimize in [true, false] {
        let program = load_program(fixture("assertions")).unwrap();
        let mut session = program.session(Options { optimize, ..Options::default() }).unwrap();
        session.call("forward", &[tensor(&[1.0, 2.0, 3.0])]).unwrap();
        let said = session.call("forward", &[tensor(&[1.0, -20.0, 3.0])]).unwrap_err();
        assert_eq!(said.to_string(), "RuntimeError: too small");
    }
    let mut unbacked = session("unbacked");
    let ten = tensor(&[1.0; 10]);
    let number = |value: i64| IValue::from(RunTensor::from_slice(&[value], &[]).unwrap());
    let said = unbacked.call("forward", &[ten.clone(), number(1)]).unwrap_err().to_string();
    assert!(
        said.contains("Runtime assertion failed") || said.contains("Invalid value range"),
        "{said}"
    );
    unbacked.call("forward", &[ten, number(5)]).unwrap();
}

#[test]
fn loops_are_held_to_limits() {
    let program = load_program(fixture("while_loop")).unwrap();
    let limits = Limits { steps: 20, ..Limits::default() };
    let mut session = program.session(Options { limits, ..Options::default() }).unwrap();
    let start: IValue = RunTensor::from_slice(&[i64::MIN], &[]).unwrap().into();
    let said = session.call("forward", &[tensor(&[1.0, 2.0, 3.0]), start]).unwrap_err();
    assert!(said.to_string().contains("step"), "{said}");
}
