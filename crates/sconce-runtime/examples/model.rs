//! Runs the recorded call of one model and says how far the result is from PyTorch's.
//!
//!     cargo run --profile optimized -p sconce-runtime --example model -- FOLDER
//!
//! FOLDER holds `model.pt` and `calls.pt` as `conformance/models/vision.py` writes them. Prints one
//! line: `equal`, `wrong` or `not supported`, then the largest difference relative to the largest
//! element of the tensor it is in, the seconds of the call, and what went wrong.
#![allow(clippy::print_stdout, reason = "a tool for developers")]

use std::error::Error as StdError;
use std::path::Path;
use std::time::Instant;

use sconce_checkpoint::Checkpoint;
use sconce_kernels::DType;
use sconce_runtime::{Error, IValue, Options, Session, Tensor, arguments, from_object};

/// The largest difference that counts as equal.
const TOLERANCE: f64 = 1e-4;

fn main() -> Result<(), Box<dyn StdError>> {
    let folder = std::env::args().nth(1).ok_or("model FOLDER")?;
    let folder = Path::new(&folder);
    let calls = Checkpoint::open(folder.join("calls.pt"))?;
    let call = calls.root().iter().next().ok_or("no call is recorded")?;
    let args = arguments(call.get("arguments").ok_or("no arguments are recorded")?)?;
    let expected = from_object(call.get("result").ok_or("no result is recorded")?)?;
    let module = sconce_torchscript::load(folder.join("model.pt"))?;
    let mut session = Session::new(&module, Options::default())?;
    let start = Instant::now();
    let result = session.call("forward", &args);
    let seconds = start.elapsed().as_secs_f64();
    let line = |verdict: &str, error: f64, why: &str| {
        let why = why.lines().next().unwrap_or_default();
        println!("{verdict}\t{error:.1e}\t{seconds:.2}\t{why}");
    };
    match result {
        Err(Error::Unsupported { what, .. }) => line("not supported", f64::NAN, &what),
        Err(error) => {
            let text = error.to_string();
            line("wrong", f64::NAN, text.lines().last().unwrap_or_default());
        }
        Ok(found) => match distance(&found, &expected) {
            Err(why) => line("wrong", f64::NAN, &why),
            Ok(error) if error <= TOLERANCE => line("equal", error, ""),
            Ok(error) => line("wrong", error, "the values differ"),
        },
    }
    Ok(())
}

/// The largest relative difference of the tensors in two values, or what else differs.
fn distance(found: &IValue, expected: &IValue) -> Result<f64, String> {
    let all = |found: &[IValue], expected: &[IValue]| {
        if found.len() != expected.len() {
            return Err(format!("{} elements instead of {}", found.len(), expected.len()));
        }
        found.iter().zip(expected).try_fold(0.0, |most: f64, (a, b)| Ok(most.max(distance(a, b)?)))
    };
    match (found, expected) {
        (IValue::Tensor(found), IValue::Tensor(expected)) => tensors(found, expected),
        (IValue::List(a), IValue::List(b)) => all(&a.read().items, &b.read().items),
        (IValue::Tuple(a), IValue::Tuple(b)) => all(&a.items, &b.items),
        (IValue::Dict(a), IValue::Dict(b)) => {
            let (a, b) = (a.read(), b.read());
            let split = |entries: Vec<(IValue, IValue)>| -> (Vec<_>, Vec<_>) {
                entries.into_iter().unzip()
            };
            let own = |(key, value): (&IValue, &IValue)| (key.clone(), value.clone());
            let (keys, values) = split(a.entries().map(own).collect());
            let (other_keys, other_values) = split(b.entries().map(own).collect());
            all(&keys, &other_keys)?;
            all(&values, &other_values)
        }
        (a, b) if a.is(b) || a.equal(b) == Some(true) => Ok(0.0),
        (a, b) => Err(format!("{a:?} instead of {b:?}")),
    }
}

fn tensors(found: &Tensor, expected: &Tensor) -> Result<f64, String> {
    if (found.dtype(), found.sizes()) != (expected.dtype(), expected.sizes()) {
        return Err(format!("{found:?} instead of {expected:?}"));
    }
    let numbers = |tensor: &Tensor| {
        let wide = tensor.to_dtype(DType::Float64).and_then(|wide| wide.to_vec::<f64>());
        wide.map_err(|error| error.to_string())
    };
    let (found, expected) = (numbers(found)?, numbers(expected)?);
    let finite = expected.iter().filter(|x| x.is_finite());
    let scale = finite.fold(1e-12, |most: f64, x| most.max(x.abs()));
    let far = |(a, b): (&f64, &f64)| match a == b || (a.is_nan() && b.is_nan()) {
        true => 0.0,
        false if (a - b).is_finite() => (a - b).abs() / scale,
        false => f64::INFINITY,
    };
    Ok(found.iter().zip(&expected).map(far).fold(0.0, f64::max))
}
