//! Programs whose results PyTorch recorded (tests/programs/generate.py), and what stops a program.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use sconce_checkpoint::Checkpoint;
use sconce_kernels::DType;
use sconce_runtime::{
    Error, IValue, Limits, Missing, Model, Options, Session, Tensor, arguments, from_object,
};

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
    for (name, recorded) in [
        ("loops", 2),
        ("words", 3),
        ("raises", 3),
        ("raises_in_call", 3),
        ("aliases", 1),
        ("weights", 1),
        ("texts", 45),
        ("forks", 3),
        ("reshapes", 1),
        ("unreached", 1),
        ("gradients", 1),
        ("derives", 10),
        ("expressions", 5),
        ("mobile", 4),
        ("options", 23),
        ("constants", 5),
        ("torchaudio", 9),
    ] {
        let calls = Checkpoint::open(program(name).join("calls.pt")).unwrap();
        assert_eq!(calls.root().len(), recorded, "{name}");
        for call in calls.root().iter() {
            let args = arguments(call.get("arguments").unwrap()).unwrap();
            let given = session(name, Options::default()).call("forward", &args);
            match call.get("result") {
                Some(expected) => {
                    assert_eq!(shown(&given.unwrap()), shown(&from_object(expected).unwrap()))
                }
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
fn an_operator_that_is_not_here_stops_a_program_that_comes_to_it() {
    let ones = IValue::Tensor(Tensor::full(&[2], 1.into(), DType::Float32).unwrap());
    let call = |missing, reach| {
        let options = Options { missing, ..Options::default() };
        session("unreached", options).call("forward", &[ones.clone(), IValue::Bool(reach)])
    };
    assert!(call(Missing::default(), false).is_ok());
    for (missing, reach) in [(Missing::WhenReached, true), (Missing::Refuse, false)] {
        let Err(Error::Unsupported { what, range }) = call(missing, reach) else { panic!() };
        assert_eq!(what, "aten::to_mkldnn");
        assert!(range.unwrap().highlight().contains("to_mkldnn"));
    }
    let needs = session("unreached", Options::default()).needs("forward").unwrap();
    assert_eq!(needs.len(), 1);
    assert_eq!((&*needs[0].what, needs[0].refused()), ("aten::to_mkldnn", None));
}

#[test]
fn gradients_that_nobody_asks_for_are_in_nobodys_way() {
    let mut session = session("gradients", Options::default());
    let ones = IValue::Tensor(Tensor::full(&[2], 1.into(), DType::Float32).unwrap());
    // Each run begins anew.
    for _ in 0..2 {
        assert!(session.call("forward", &[ones.clone(), IValue::Bool(false)]).is_ok());
        let error = session.call("forward", &[ones.clone(), IValue::Bool(true)]).unwrap_err();
        assert!(matches!(&error, Error::Unsupported { what, .. } if what == "recording gradients"));
    }
}

#[test]
fn a_gradient_of_what_has_been_changed_since_is_refused() {
    let x = IValue::Tensor(Tensor::full(&[2, 2], 1.into(), DType::Float32).unwrap());
    let args = [x, IValue::str("modified")];
    let error = session("derives", Options::default()).call("forward", &args).unwrap_err();
    let Error::Raised(exception) = error else { panic!("{error:?}") };
    let said = "one of the variables needed for gradient computation has been modified by an inplace \
                operation: [torch.FloatTensor [2, 2]]";
    assert!(exception.message.starts_with(said), "{}", exception.message);
}

#[test]
fn a_program_that_would_read_files_is_refused_before_it_runs() {
    let mut session = session("reads_files", Options::default());
    let error = session.call("forward", &[IValue::Bool(false)]).unwrap_err();
    assert!(error.to_string().starts_with("aten::from_file is not supported"), "{error}");
    assert!(session.needs("forward").unwrap().iter().all(|need| need.refused().is_some()));
}

#[test]
fn limits_and_interrupts_stop_a_program_without_end() {
    let flag = Arc::new(AtomicBool::new(true));
    let cases = [
        (Limits { steps: 10_000, ..Limits::default() }, "step limit of 10000 exceeded"),
        (
            Limits { time: Some(Duration::from_millis(20)), ..Limits::default() },
            "time limit of 0.02 s exceeded",
        ),
        (Limits { interrupt: Some(flag), ..Limits::default() }, "the program was interrupted"),
    ];
    for (limits, said) in cases {
        let options = Options { limits, ..Options::default() };
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

#[test]
fn threads_share_a_model_and_none_sees_what_another_writes() {
    let module = sconce_torchscript::load(program("weights").join("model.pt")).unwrap();
    let model = Model::new(module);
    std::thread::scope(|scope| {
        for by in [1.0, 2.0, 3.0, 4.0] {
            let model = &model;
            scope.spawn(move || {
                let mut session = model.session(Options::default()).unwrap();
                let mut expected = 499_500.0;
                for _ in 0..5 {
                    let sums = session.call("forward", &[IValue::Float(by)]).unwrap();
                    expected *= by;
                    let IValue::Tuple(sums) = sums else { panic!("a tuple") };
                    let [first, second] = [0, 1]
                        .map(|at| sums.items[at].as_tensor().unwrap().item().unwrap().to_f64());
                    assert!((first / expected - 1.0).abs() < 1e-6, "{first} {expected}");
                    assert_eq!(second, 3.0);
                }
            });
        }
    });
}

#[test]
fn memory_is_bounded_before_it_is_taken() {
    let start = "memory limit of 97.7 KiB exceeded: the program holds ";
    let cases =
        [(0, " and asks for 3.9 KiB more"), (1, ""), (30_000, " and asks for 117.2 KiB more")];
    for (kind, end) in cases {
        let options = Options { memory: Some(100_000), ..Options::default() };
        let mut session = session("grows", options);
        let error = session.call("forward", &[IValue::Int(kind)]).unwrap_err();
        let said = error.to_string();
        assert!(said.starts_with(start) && said.ends_with(end), "{said}");
        assert!(matches!(error, Error::Limit(_)));
        let (used, peak) = session.memory();
        // The object of the module itself is left.
        assert!(used < 1000 && peak <= 200_000, "{used} {peak}");
    }
}

#[test]
fn a_profile_says_what_ran_how_often_and_where() {
    let mut session = session("loops", Options { profile: true, ..Options::default() });
    session.call("forward", &[IValue::Int(10)]).unwrap();
    let profile = session.profile();
    let remainder = profile.iter().find(|entry| entry.operator == "aten::remainder.int").unwrap();
    assert_eq!((&*remainder.function, remainder.calls), ("forward", 14));
    let place = remainder.range.as_ref().unwrap().highlight();
    assert!(place.contains("remainder"), "{place}");
    assert!(profile.iter().all(|entry| entry.nanoseconds < 1_000_000_000));
    assert!(self::session("loops", Options::default()).profile().is_empty());
}
