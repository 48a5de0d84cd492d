//! Programs whose results PyTorch recorded (tests/programs/generate.py), and what stops a program.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use sconce_checkpoint::Checkpoint;
use sconce_runtime::{Error, IValue, Limits, Missing, Options, Session, arguments, from_object};

fn program(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name)
}

fn session(name: &str, options: Options) -> Session {
    let module = sconce_torchscript::load(program(name).join("model.pt")).unwrap();
    Session::new(&module, options).unwrap()
}

/// What a value is, with the elements of tensors.
fn shown(value: &IValue) -> String {
    let all = |items: &[IValue]| items.iter().map(shown).collect::<Vec<_>>().join(", ");
    match value {
        IValue::List(list) => format!("[{}]", all(&list.read().items)),
        IValue::Tuple(tuple) => format!("({})", all(&tuple.items)),
        IValue::Dict(dict) => {
            let dict = dict.read();
            let entries = dict.entries().map(|(k, v)| format!("{}: {}", shown(k), shown(v)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        IValue::Tensor(tensor) => {
            let flat = tensor.reshape(&[-1]).unwrap();
            let item = |index| flat.select(0, index).unwrap().item().unwrap();
            let items: Vec<_> = (0..flat.numel()).map(item).collect();
            format!("{} {:?} {items:?}", tensor.dtype(), tensor.sizes())
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn programs_give_what_pytorch_gives() {
    for (name, recorded) in
        [("loops", 2), ("words", 3), ("raises", 3), ("raises_in_call", 3), ("aliases", 1)]
    {
        let calls = Checkpoint::open(program(name).join("calls.pt")).unwrap();
        assert_eq!(calls.root().len(), recorded, "{name}");
        for call in calls.root().iter() {
            let args = arguments(call.get("arguments").unwrap()).unwrap();
            let given = session(name, Options::default()).call("forward", &args);
            match call.get("result") {
                Some(expected) => assert_eq!(shown(&given.unwrap()), shown(&from_object(expected).unwrap())),
                None => {
                    let expected = call.get("error").unwrap().as_str().unwrap();
                    assert_eq!(given.unwrap_err().to_string(), expected, "{name}");
                }
            }
        }
    }
}

#[test]
fn an_exception_says_its_class_and_message() {
    let error = session("raises", Options::default()).call("forward", &[IValue::Int(-1)]);
    let Err(Error::Raised(exception)) = error else { panic!("{error:?}") };
    assert_eq!(exception.class, "builtins.ValueError");
    assert_eq!(exception.message, "negative: -1");
}

#[test]
fn limits_and_interrupts_stop_a_program_without_end() {
    let flag = Arc::new(AtomicBool::new(true));
    let cases = [
        (Limits { steps: 10_000, ..Limits::default() }, "the program took over 10000 steps"),
        (
            Limits { time: Some(Duration::from_millis(20)), ..Limits::default() },
            "the program took longer than it may",
        ),
        (Limits { interrupt: Some(flag), ..Limits::default() }, "the program was interrupted"),
    ];
    for (limits, said) in cases {
        let options = Options { limits, missing: Missing::Refuse, sink: None };
        let error = session("endless", options).call("forward", &[IValue::Int(0)]).unwrap_err();
        assert_eq!(error.to_string(), said);
    }
}

#[test]
fn arguments_that_do_not_fit_are_refused() {
    let mut session = session("loops", Options::default());
    assert!(matches!(session.call("forward", &[]), Err(Error::Arguments(_))));
    let error = session.call("forward", &[IValue::str("3")]).unwrap_err();
    assert!(matches!(error, Error::Arguments(_)), "{error}");
    assert!(matches!(session.call("nothing", &[]), Err(Error::Archive(_))));
}
