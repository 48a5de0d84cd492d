//! A checkpoint made from nothing has the bytes that `torch.save` writes for the same objects
//! (`golden/built.py`).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use sconce_checkpoint::{Draft, SaveOptions, StateDict, Value};
use sconce_tensor::Tensor;

const GOLDEN: &[u8] = include_bytes!("golden/built.pt");

#[test]
fn what_is_built_is_what_torch_saves() {
    let floats = |elements: &[f32]| Tensor::from_slice(elements, &[elements.len() as i64]).unwrap();
    let mut model = StateDict::new();
    model
        .insert("0.weight", floats(&[0., 1., 2., 3., 4., 5.]).reshape(&[2, 3]).unwrap())
        .insert("0.bias", floats(&[0.5, -0.5]))
        .insert("1.weight", floats(&[1.0, 1.0]))
        .insert("1.bias", floats(&[0.0, 0.0]))
        .insert("1.running_mean", floats(&[0.0, 0.0]))
        .insert("1.running_var", floats(&[1.0, 1.0]))
        .insert("1.num_batches_tracked", Tensor::from_slice(&[0i64], &[]).unwrap());
    model.version("", 1).version("0", 1).version("1", 2);
    let config = "{'lr': 1e-3, 'tags': ['lr', None], 'shape': (1, True)}";
    let checkpoint = Value::dict([
        ("model", Value::from(model)),
        ("epoch", Value::from(3)),
        ("config", Value::parse(config).unwrap()),
    ]);
    let draft = Draft::from(checkpoint);
    let bytes = SaveOptions::new().save_as(draft.root(), Vec::new(), "built.pt").unwrap();
    assert!(bytes == GOLDEN, "the bytes differ");
}
