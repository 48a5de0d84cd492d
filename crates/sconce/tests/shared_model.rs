//! A model that threads share: what `forward` is optimised to is made once.
#![allow(clippy::unwrap_used)]

use sconce::run::{IValue, Model, Options, Run, RunTensor};

fn example(name: &str) -> String {
    format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn picture(at: i64) -> IValue {
    let pixels: Vec<f32> =
        (0..3 * 32 * 32).map(|i| ((i * 7 + at * 13) % 31) as f32 / 31.0).collect();
    RunTensor::from_slice(&pixels, &[1, 3, 32, 32]).unwrap().into()
}

fn numbers(value: &IValue) -> Vec<f32> {
    value.as_tensor().unwrap().to_vec().unwrap()
}

#[test]
fn sessions_that_share_plans_give_what_others_give() {
    let program = sconce::load_program(example("shapes.pt2")).unwrap();
    let alone: Vec<Vec<f32>> =
        (0..4).map(|at| numbers(&program.forward(&[picture(at)]).unwrap())).collect();
    let model = Model::of_program(&program).unwrap();
    assert!(model.is_stateless("forward").unwrap());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut session = model.session(Options::default()).unwrap();
                for (at, want) in alone.iter().enumerate() {
                    let scores = session.call("forward", &[picture(at as i64)]).unwrap();
                    assert_eq!(numbers(&scores), *want);
                }
            });
        }
    });
}

#[test]
fn a_result_is_given_away_without_a_copy() {
    let result = RunTensor::from_slice(&vec![1.5f32; 1000], &[10, 100]).unwrap();
    let view = result.transpose(0, 1).unwrap();
    drop(result);
    let given = view.into_file().unwrap();
    assert_eq!((given.sizes(), given.strides()), (&[100, 10][..], &[1, 100][..]));
    assert_eq!(given.to_vec::<f32>().unwrap(), vec![1.5; 1000]);
    // A small part of something large does not keep that.
    let large = RunTensor::from_slice(&vec![2f32; 1000], &[1000]).unwrap();
    let part = large.narrow(0, 500, 2).unwrap().into_file().unwrap();
    assert_eq!(part.storage().unwrap().nbytes(), 8);
}

#[test]
fn methods_that_keep_something_are_not_stateless() {
    let classifier = Model::new(sconce::jit::load(example("classifier.pt")).unwrap());
    assert!(classifier.is_stateless("forward").unwrap());
    assert!(classifier.is_stateless("nothing").is_err());
    let source = "def add(x):\n    x += 1\n    return x\n";
    let writes = sconce::jit::ScriptOptions::new().compile_text("add.py", source).unwrap();
    assert!(!Model::new(writes.into_module()).is_stateless("forward").unwrap());
    let source = "def draw(x):\n    return x + torch.rand(2)\n";
    let source = format!("import torch\n\n{source}");
    let draws = sconce::jit::ScriptOptions::new().compile_text("draw.py", &source).unwrap();
    assert!(!Model::new(draws.into_module()).is_stateless("forward").unwrap());
}
