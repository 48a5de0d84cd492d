//! Makes checkpoints from nothing, as `torch.save` would write them for the same objects:
//!
//! ```text
//! build module|training OUT
//! ```
//!
//! `conformance/edit.py` makes the same objects in Python and compares the files.

use std::error::Error;

use num_bigint::BigInt;
use sconce_checkpoint::{SaveOptions, StateDict, Value};
use sconce_tensor::Tensor;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(what), Some(output)) = (arguments.next(), arguments.next()) else {
        return Err("usage: build module|training OUT".into());
    };
    let draft = match what.as_str() {
        "module" => module()?.finish(),
        "training" => training()?.into(),
        other => return Err(format!("nothing is called {other}").into()),
    };
    SaveOptions::new().save(draft.root(), output)?;
    Ok(())
}

/// `nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).state_dict()`
fn module() -> Result<StateDict, Box<dyn Error>> {
    let mut state = StateDict::new();
    state
        .insert("0.weight", Tensor::from_vec((0..6u8).map(f32::from).collect(), &[2, 3])?)
        .insert("0.bias", Tensor::from_slice(&[0.5f32, -0.5], &[2])?)
        .insert("1.weight", Tensor::from_slice(&[1f32; 2], &[2])?)
        .insert("1.bias", Tensor::from_slice(&[0f32; 2], &[2])?)
        .insert("1.running_mean", Tensor::from_slice(&[0f32; 2], &[2])?)
        .insert("1.running_var", Tensor::from_slice(&[1f32; 2], &[2])?)
        .insert("1.num_batches_tracked", Tensor::from_slice(&[0i64], &[])?);
    state.version("", 1).version("0", 1).version("1", 2);
    Ok(state)
}

fn training() -> Result<Value, Box<dyn Error>> {
    let moment = Tensor::from_slice(&[0.25f32; 2], &[2])?;
    let config = Value::dict([
        ("lr", Value::from(1e-3)),
        ("betas", Value::tuple([0.9, 0.999])),
        ("name", Value::from("lr")),
        ("tags", Value::list(["a", "b"])),
        ("amsgrad", Value::from(false)),
        ("seed", Value::BigInt(BigInt::from(1) << 70)),
    ]);
    // One object in two places.
    let moment_object = Value::from(moment.clone()).shared();
    let parameter = Value::dict([
        ("step", Value::from(Tensor::from_slice(&[10f32], &[])?)),
        ("exp_avg", moment_object.clone()),
    ]);
    let optimizer = Value::dict([
        ("state", Value::Dict(vec![(Value::Int(0), parameter)])),
        ("param_groups", Value::list([Value::parse("{'lr': 1e-3, 'params': [0]}")?])),
    ]);
    Ok(Value::dict([
        ("model", Value::from(module()?)),
        ("epoch", Value::from(3)),
        ("best", Value::None),
        ("config", config),
        ("optimizer", optimizer),
        ("tied", Value::list([moment_object, Value::from(moment.reshape(&[2, 1])?)])),
        (
            "parameter",
            Value::Parameter(Tensor::from_slice(&[1f32; 2], &[2])?.with_requires_grad(true)),
        ),
    ]))
}
