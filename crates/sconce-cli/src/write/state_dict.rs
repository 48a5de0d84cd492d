//! What verbs that put state dicts together take of a checkpoint.

use sconce::checkpoint::{Checkpoint, Draft};
use sconce::tensor::Tensor;

use crate::error::Failure;
use crate::select::pick;
use crate::write::saving::refused;

/// What is to be taken of a checkpoint.
pub fn taken(checkpoint: &Checkpoint, take: Option<&str>) -> Result<Draft, Failure> {
    let mut draft = Draft::new(checkpoint.root());
    draft.take(take.unwrap_or_default()).map_err(refused)?;
    Ok(draft)
}

/// What helps where a file is no state dict, in verbs that take `--tensors-only`.
pub const NO_STATE_DICT: &str = "--tensors-only leaves out what is no tensor; --take NAME takes a state dict that is \
                                 inside; sconce tree --all shows what there is";

/// The tensors of a state dict, which holds nothing else, in order.
pub fn flat(draft: &Draft) -> Result<Vec<(String, Tensor)>, Failure> {
    let root = draft.root();
    let not_flat = |what: String| {
        Failure::usage(what)
            .note("this takes state dicts: dicts of names and tensors")
            .help("--take NAME takes one that is inside; sconce tree --all shows what there is")
    };
    if root.as_dict().is_none() {
        return Err(not_flat(format!("this holds {}, no dict", root.repr(40))));
    }
    let mut out = Vec::new();
    for (key, value) in root.entries() {
        let name =
            key.as_str().ok_or_else(|| not_flat(format!("{} is not a name", key.repr(40))))?;
        let tensor = pick::tensor_of(value);
        let tensor = tensor.ok_or_else(|| not_flat(format!("'{name}' is not a tensor")))?;
        out.push((name.to_owned(), tensor.clone()));
    }
    Ok(out)
}
