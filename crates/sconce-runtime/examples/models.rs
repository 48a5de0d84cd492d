//! Runs models on recorded arguments, optimised and as they are, compares both with what PyTorch
//! gave, and says how long a call takes: the median over the rounds, in milliseconds.
//!
//!     cargo run --profile optimized -p sconce-runtime --example models -- ROUNDS MODEL.pt RECORD.pt ...
//!
//! A record is a dictionary with the tensors `input` and `result`.

#![allow(clippy::print_stdout, reason = "it reports")]

use std::error::Error as StdError;
use std::time::Instant;

use sconce_checkpoint::Checkpoint;
use sconce_runtime::{IValue, Options, Session, Tensor};

fn main() -> Result<(), Box<dyn StdError>> {
    let mut arguments = std::env::args().skip(1);
    let rounds: usize = arguments.next().ok_or("models ROUNDS MODEL.pt RECORD.pt ...")?.parse()?;
    while let (Some(model), Some(record)) = (arguments.next(), arguments.next()) {
        let record = Checkpoint::open(&record)?;
        let tensor = |name: &str| -> Result<Tensor, Box<dyn StdError>> {
            let object = record.root().get(name).ok_or("the record lacks a tensor")?;
            Ok(Tensor::from_file(object.as_tensor().ok_or("no tensor")?)?)
        };
        let (input, expected) = (tensor("input")?, tensor("result")?);
        let mut line = model.clone();
        for optimize in [false, true] {
            let module = sconce_torchscript::load(&model)?;
            let mut session = Session::new(&module, Options { optimize, ..Options::default() })?;
            let mut times = Vec::new();
            let mut result = IValue::None;
            let start = Instant::now();
            let rounds = if optimize { rounds } else { rounds.min(3) };
            for _ in 0..rounds + 1 {
                let start = Instant::now();
                result = session.call("forward", &[IValue::Tensor(input.clone())])?;
                times.push(start.elapsed().as_secs_f64() * 1e3);
                if start.elapsed().as_secs_f64() > 20.0 {
                    break;
                }
            }
            let first = times[0];
            times.sort_by(f64::total_cmp);
            let median = times[times.len() / 2];
            let name = if optimize { "optimised" } else { "plain" };
            line += &format!(
                "  {name} {median:.2} ms (first {first:.1}, best {:.2}, off by {:.1e})",
                times[0],
                difference(&result, &expected)?
            );
            let _ = start;
        }
        println!("{line}");
    }
    Ok(())
}

/// The largest difference as a part of the largest number.
fn difference(found: &IValue, expected: &Tensor) -> Result<f64, Box<dyn StdError>> {
    let found = match found {
        IValue::Tensor(found) => found.clone(),
        IValue::Tuple(items) => match items.items.first() {
            Some(IValue::Tensor(found)) => found.clone(),
            _ => return Err("no tensor first in the tuple".into()),
        },
        other => return Err(format!("the result is {other:?}").into()),
    };
    if found.sizes() != expected.sizes() {
        return Err(format!("sizes {:?}, expected {:?}", found.sizes(), expected.sizes()).into());
    }
    let (found, expected) = (found.to_vec::<f32>()?, expected.to_vec::<f32>()?);
    let largest = expected.iter().fold(0f32, |a, b| a.max(b.abs()));
    let off = found.iter().zip(&expected).fold(0f32, |a, (x, y)| a.max((x - y).abs()));
    Ok(f64::from(off / largest))
}
