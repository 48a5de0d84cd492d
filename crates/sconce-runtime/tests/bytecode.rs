//! Mobile modules of bytecode alone, whose results PyTorch's lite interpreter recorded
//! (tests/programs/generate_bytecode.py).

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::path::PathBuf;

use sconce_checkpoint::Checkpoint;
use sconce_runtime::{Error, IValue, Options, Session, arguments, from_object};

/// The largest difference of floats that counts as equal.
const TOLERANCE: f64 = 1e-5;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/programs/bytecode").join(name)
}

/// What a value is, with the numbers of its tensors in `numbers`.
fn shown(value: &IValue, numbers: &mut Vec<f64>) -> String {
    let mut all = |items: &[IValue]| {
        items.iter().map(|item| shown(item, numbers)).collect::<Vec<_>>().join(", ")
    };
    match value {
        IValue::List(list) => format!("[{}]", all(&list.read().items)),
        IValue::Tuple(tuple) => format!("({})", all(&tuple.items)),
        IValue::Dict(dict) => {
            let dict = dict.read();
            let entries = dict.entries();
            let entries = entries.map(|(k, v)| all(&[k.clone(), v.clone()]));
            format!("{{{}}}", entries.collect::<Vec<_>>().join("; "))
        }
        IValue::Tensor(tensor) => {
            let flat = tensor.reshape(&[-1]).unwrap();
            for index in 0..flat.numel() {
                numbers.push(flat.select(0, index).unwrap().item().unwrap().to_f64());
            }
            format!("{} {:?}", tensor.dtype(), tensor.sizes())
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn bytecode_gives_what_the_lite_interpreter_gives() {
    for (name, recorded) in [
        ("arithmetic", 2),
        ("branches", 3),
        ("loops", 3),
        ("containers", 1),
        ("texts", 2),
        ("raises", 3),
        ("modules", 1),
        ("outs", 1),
        ("pictures", 1),
        ("quantized", 1),
        ("frozen", 1),
        ("divides_3", 2),
        ("divides_4", 2),
    ] {
        let calls = Checkpoint::open(fixture(&format!("{name}.pt"))).unwrap();
        assert_eq!(calls.root().len(), recorded, "{name}");
        let module = sconce_torchscript::load(fixture(&format!("{name}.ptl"))).unwrap();
        for call in calls.root().iter() {
            let args = arguments(call.get("arguments").unwrap()).unwrap();
            let mut session = Session::new(&module, Options::default()).unwrap();
            let given = session.call("forward", &args);
            let Some(expected) = call.get("result") else {
                let Err(Error::Raised(raised)) = given else { panic!("{name}: {given:?}") };
                let expected = call.get("error").unwrap().as_str().unwrap();
                let message = match &*raised.class {
                    "AssertionError" => format!("AssertionError: {}", raised.message),
                    _ => raised.message.clone(),
                };
                assert_eq!(message, expected, "{name}");
                assert!(raised.text.contains("RAISE_EXCEPTION"), "{}", raised.text);
                continue;
            };
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            let given = given.unwrap_or_else(|error| panic!("{name}: {error}"));
            let expected = from_object(expected).unwrap();
            assert_eq!(shown(&given, &mut ours), shown(&expected, &mut theirs), "{name}");
            assert_eq!(ours.len(), theirs.len(), "{name}");
            for (ours, theirs) in ours.iter().zip(&theirs) {
                let near = (ours - theirs).abs() <= TOLERANCE * theirs.abs().max(1.0);
                assert!(near, "{name}: {ours} and not {theirs}");
            }
        }
    }
}

/// A method that is not `forward`, with and without its default.
#[test]
fn other_methods_are_called() {
    let module = sconce_torchscript::load(fixture("modules.ptl")).unwrap();
    let schema = module.method("twice").unwrap().schema;
    assert_eq!(schema.arguments[2].default, Some(sconce_torchscript::ir::Constant::Int(2)));
    let names: Vec<String> = module.methods().into_iter().map(|method| method.name).collect();
    assert!(names.contains(&"forward".to_owned()), "{names:?}");
}
