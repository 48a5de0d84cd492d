//! How long single operations of a TorchScript loop take, in nanoseconds.
//!
//!     benches/small_ops/compare.py                 makes the programs, times them here and in PyTorch
//!     small_ops FOLDER                             times programs that it made
//!
//! Each `NAME.pt` has a method `forward(n: int)` that does one thing `n` times; `empty.pt` is the
//! loop alone, whose time is taken off. One line for each: name, median of the rounds, least.
#![allow(clippy::print_stdout, reason = "a tool for developers")]

use std::error::Error as StdError;
use std::path::Path;
use std::time::Instant;

use sconce_runtime::{IValue, Options, Session};

/// How often a loop goes round in one measurement.
const ROUNDS: i64 = 2000;
/// How many measurements there are. On a busy machine, the least tells more than the median.
const SAMPLES: usize = 200;

fn main() -> Result<(), Box<dyn StdError>> {
    let folder = std::env::args().nth(1).ok_or("small_ops FOLDER")?;
    let folder = Path::new(&folder);
    let mut names: Vec<String> = std::fs::read_dir(folder)?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".pt").map(str::to_owned))
        .filter(|name| name != "empty")
        .collect();
    names.sort();
    let (empty, least_empty) = time(&folder.join("empty.pt"))?;
    println!("empty\t{empty:.1}\t{least_empty:.1}");
    for name in names {
        let (median, least) = time(&folder.join(format!("{name}.pt")))?;
        println!("{name}\t{:.1}\t{:.1}", median - empty, least - least_empty);
    }
    Ok(())
}

/// Nanoseconds for each round of a program's loop: the median and the least.
fn time(program: &Path) -> Result<(f64, f64), Box<dyn StdError>> {
    let module = sconce_torchscript::load(program)?;
    let mut session = Session::new(&module, Options::default())?;
    session.call("forward", &[IValue::Int(ROUNDS)])?;
    let mut samples = Vec::with_capacity(SAMPLES);
    for _ in 0..SAMPLES {
        let begun = Instant::now();
        session.call("forward", &[IValue::Int(ROUNDS)])?;
        samples.push(begun.elapsed().as_nanos() as f64 / ROUNDS as f64);
    }
    samples.sort_by(f64::total_cmp);
    let median = samples.get(SAMPLES / 2).copied().unwrap_or(f64::NAN);
    Ok((median, samples.first().copied().unwrap_or(f64::NAN)))
}
