//! How long calls take: the median and the shortest, in microseconds.
//!
//!     cargo run --profile optimized -p sconce-runtime --example time -- THREADS SECONDS FOLDER...
//!
//! Each folder holds a `model.pt` and a `calls.pt`, a saved dict of `args`, a list of tensors.
#![allow(clippy::print_stdout, reason = "a tool for developers")]

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use sconce_checkpoint::{Checkpoint, Node};
use sconce_kernels::{Importer, set_num_threads};
use sconce_runtime::{IValue, Options, Session};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [count, seconds, folders @ ..] = &arguments[..] else {
        return Err("time THREADS SECONDS FOLDER...".into());
    };
    set_num_threads(count.parse()?);
    let budget = Duration::from_secs_f64(seconds.parse()?);
    for folder in folders {
        match time(Path::new(folder), budget) {
            Ok((median, least)) => println!("{folder}\tmedian {median:.1}\tmin {least:.1}"),
            Err(error) => println!("{folder}\t{error}"),
        }
    }
    Ok(())
}

fn time(folder: &Path, budget: Duration) -> Result<(f64, f64), Box<dyn Error>> {
    let module = sconce_torchscript::load(folder.join("model.pt"))?;
    let calls = Checkpoint::open(folder.join("calls.pt"))?;
    let mut importer = Importer::default();
    let list = calls.root().get("args").ok_or("no args")?;
    let mut args = Vec::new();
    for arg in list.iter() {
        let Node::Tensor(tensor) = arg.data() else {
            return Err("an argument is not a tensor".into());
        };
        args.push(IValue::Tensor(importer.import(&tensor.tensor)?));
    }
    let mut session = Session::new(&module, Options::default())?;
    for _ in 0..3 {
        session.call("forward", &args)?;
    }
    let (start, mut times) = (Instant::now(), Vec::new());
    while start.elapsed() < budget || times.len() < 10 {
        let call = Instant::now();
        session.call("forward", &args)?;
        times.push(call.elapsed().as_secs_f64() * 1e6);
    }
    times.sort_by(f64::total_cmp);
    Ok((times[times.len() / 2], times[0]))
}
