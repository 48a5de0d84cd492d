//! Operators that a process registers: compiled, listed, saved, loaded and run.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use sconce::jit;
use sconce::run::{IValue, OperatorError, Options, Registry, Run, RunTensor, Session, needs};

const SOURCE: &str = "\
import torch

def forward(x: torch.Tensor, n: int):
    y, total = torch.ops.my_library.scaled(x, 3.0)
    torch.ops.my_library.fill_(y, n)
    return y, total, torch.ops.my_library.scaled(x, 2.0, 1)

def wrong(x: torch.Tensor):
    return torch.ops.my_library.lies(x)

def fails(x: torch.Tensor):
    return torch.ops.my_library.fails(x)

def missing(x: torch.Tensor):
    return torch.ops.my_library.absent(x)
";

fn numbers(value: &IValue) -> Vec<f32> {
    value.as_tensor().unwrap().to_vec().unwrap()
}

fn register() {
    Registry::custom("my_library::scaled", "(Tensor x, float by=2.0) -> (Tensor, float)", |args| {
        let by = args.float(1)?;
        let scaled: Vec<f32> =
            args.tensor(0)?.to_vec::<f32>()?.iter().map(|x| x * by as f32).collect();
        let total = scaled.iter().sum::<f32>();
        let scaled = RunTensor::from_slice(&scaled, args.tensor(0)?.sizes())?;
        Ok(IValue::tuple(vec![scaled.into(), f64::from(total).into()]))
    })
    .unwrap();
    Registry::custom(
        "my_library::scaled.more",
        "(Tensor x, float by, int more) -> Tensor",
        |args| {
            let (by, more) = (args.float(1)?, args.int(2)?);
            let scaled: Vec<f32> = args
                .tensor(0)?
                .to_vec::<f32>()?
                .iter()
                .map(|x| x * by as f32 + more as f32)
                .collect();
            Ok(RunTensor::from_slice(&scaled, args.tensor(0)?.sizes())?.into())
        },
    )
    .unwrap();
    Registry::custom("my_library::fill_", "(Tensor(a!) self, int n) -> Tensor(a!)", |args| {
        args.tensor(0)?.fill(args.int(1)?.into())?;
        Ok(args.get(0).clone())
    })
    .unwrap();
    Registry::custom("my_library::lies", "(Tensor x) -> Tensor", |_| Ok(IValue::Int(1))).unwrap();
    Registry::custom("my_library::fails", "(Tensor x) -> Tensor", |args| {
        Err(OperatorError::new(format!("no {:?} today", args.tensor(0)?.sizes())))
    })
    .unwrap();
}

#[test]
fn registered_operators_are_operators() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("library.py");
    std::fs::write(&file, SOURCE).unwrap();
    let absent = |name| jit::script(&file, name).map(|_| ()).unwrap_err().to_string();
    assert!(absent("missing").contains("my_library"), "{}", absent("missing"));

    register();
    let twice =
        Registry::custom("my_library::fill_", "(Tensor(a!) self, int n) -> Tensor(a!)", |_| {
            Ok(IValue::None)
        });
    assert_eq!(
        twice.unwrap_err().to_string(),
        "Tried to register an operator (my_library::fill_(Tensor(a!) self, int n) -> Tensor(a!)) with the same \
         name and overload name multiple times."
    );

    let x = RunTensor::from_slice(&[1f32, 2.0], &[2]).unwrap();
    let check = |module: &jit::Module| {
        let result = module.forward(&[x.clone().into(), 7.into()]).unwrap();
        let IValue::Tuple(result) = result else { panic!("{result:?}") };
        assert_eq!(numbers(&result.items[0]), [7.0, 7.0]);
        assert!(matches!(result.items[1], IValue::Float(total) if total == 9.0));
        assert_eq!(numbers(&result.items[2]), [3.0, 5.0]);
        let operators: Vec<_> =
            module.operators().unwrap().into_iter().map(|used| used.name).collect();
        for name in ["my_library::scaled", "my_library::scaled.more", "my_library::fill_"] {
            assert!(operators.iter().any(|used| used == name), "{name} of {operators:?}");
        }
        assert!(needs(module).unwrap().is_empty());
    };
    let scripted = jit::script(&file, "forward").unwrap();
    let module = scripted.module();
    check(module);
    let saved = folder.path().join("saved.pt");
    module.save(&saved).unwrap();
    check(&jit::load(&saved).unwrap());

    let failure = |name| {
        let scripted = jit::script(&file, name).unwrap();
        let mut session = Session::new(scripted.module(), Options::default()).unwrap();
        session.call("forward", &[x.clone().into()]).unwrap_err().to_string()
    };
    assert!(failure("fails").contains("RuntimeError: no [2] today"), "{}", failure("fails"));
    let lies = failure("wrong");
    assert!(lies.contains("my_library::lies gave int, which its schema does not"), "{lies}");
}
