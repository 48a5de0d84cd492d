//! What the tensors of a checkpoint are for: parameters as PyTorch counts them, buffers, an optimizer's state.

use std::collections::HashSet;

use sconce::checkpoint::{Checkpoint, Node, Object, TensorClass};
use sconce::tensor::Tensor;

/// What a tensor is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A parameter of a model.
    Parameter,
    /// A buffer of a model, such as a running mean.
    Buffer,
    /// State of an optimizer, scheduler or gradient scaler.
    Optimizer,
    /// A second copy of a model's parameters: a moving average.
    Average,
}

/// Keys at the top of a training checkpoint that hold what trains the model.
const TRAINERS: [&str; 4] = ["optim", "sched", "scaler", "callbacks"];

/// Keys at the top of a training checkpoint that hold a moving average of the model.
const AVERAGES: [&str; 4] = ["ema", "model_ema", "ema_state_dict", "ema_model"];

/// Last parts of names of buffers that PyTorch's own modules have, and of those that many models have.
const BUFFERS: [&str; 12] = [
    "running_mean",
    "running_var",
    "num_batches_tracked",
    "inv_freq",
    "position_ids",
    "relative_position_index",
    "attn_mask",
    "causal_mask",
    "freqs_cis",
    "rotary_emb.cos_cached",
    "rotary_emb.sin_cached",
    "bin_edges",
];

/// Says what each tensor of one checkpoint is for.
pub struct Roles {
    /// Whether modules lie in the file, whose parameters are marked as such.
    marked: bool,
    /// The keys at the top that hold averages, beside a model of its own.
    averages: bool,
}

impl Roles {
    /// The rules for a checkpoint: objects that hold a module tell parameters and buffers apart, state dicts only by
    /// names and dtypes.
    pub fn new(checkpoint: &Checkpoint) -> Roles {
        let tensors = checkpoint.tensors();
        let trains = |name: &str| {
            TRAINERS.iter().any(|word| first(name).to_ascii_lowercase().contains(word))
        };
        let marked =
            tensors.iter().any(|named| is_parameter(&named.object) && !trains(&named.name));
        let averages = tensors
            .iter()
            .any(|named| !AVERAGES.contains(&first(&named.name)) && !trains(&named.name));
        Roles { marked, averages }
    }

    /// What a tensor is for.
    pub fn of(&self, name: &str, object: &Object<'_>, tensor: &Tensor) -> Role {
        let top = first(name).to_ascii_lowercase();
        // What has no name but that of a part stands alone: a tensor called `scaler` is no trainer.
        let inside = name.contains('.');
        if inside && TRAINERS.iter().any(|word| top.contains(word)) || is_moment(name) {
            return Role::Optimizer;
        }
        if inside && self.averages && AVERAGES.contains(&top.as_str()) {
            return Role::Average;
        }
        let parameter = match self.marked {
            true => is_parameter(object),
            false => {
                !tensor.dtype().is_integral()
                    && !BUFFERS.iter().any(|buffer| ends_with(name, buffer))
            }
        };
        if parameter { Role::Parameter } else { Role::Buffer }
    }
}

fn first(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

fn ends_with(name: &str, part: &str) -> bool {
    name.strip_suffix(part).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// `state.3.exp_avg`, the state of an optimizer alone in its file.
fn is_moment(name: &str) -> bool {
    const MOMENTS: [&str; 7] = [
        "exp_avg",
        "exp_avg_sq",
        "momentum_buffer",
        "max_exp_avg_sq",
        "square_avg",
        "acc_delta",
        "sum",
    ];
    let mut parts = name.rsplit('.');
    let last = parts.next().unwrap_or_default();
    let numbered = parts
        .next()
        .is_some_and(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    numbered && parts.next() == Some("state") && (MOMENTS.contains(&last) || last == "step")
}

fn is_parameter(object: &Object<'_>) -> bool {
    match object.data() {
        Node::Tensor(tensor) => matches!(tensor.class, TensorClass::Parameter),
        _ => false,
    }
}

/// A view: its storage, where it begins there, sizes, strides and dtype.
type View = (usize, i64, Vec<i64>, Vec<i64>, sconce::tensor::DType);

/// Counts each view once, however many names it has: a tied weight is one weight.
#[derive(Default)]
pub struct Distinct(HashSet<View>);

impl Distinct {
    /// Whether this view was not met before.
    pub fn first(&mut self, tensor: &Tensor) -> bool {
        let Some(storage) = tensor.storage() else { return true };
        let (sizes, strides) = (tensor.sizes().to_vec(), tensor.strides().to_vec());
        self.0.insert((storage.id(), tensor.storage_offset(), sizes, strides, tensor.dtype()))
    }
}

/// Numbers and texts at the top of a training checkpoint that say how far training went.
pub fn progress(checkpoint: &Checkpoint) -> Vec<(String, String)> {
    const WORDS: [&str; 10] = [
        "epoch",
        "step",
        "global_step",
        "iter",
        "iteration",
        "best_acc1",
        "best_score",
        "loss",
        "lr",
        "arch",
    ];
    let mut out = Vec::new();
    let root = checkpoint.root();
    for word in WORDS {
        for name in [word.to_owned(), format!("{word}s"), format!("n_{word}")] {
            let Some(value) = root.get(&name) else { continue };
            if matches!(value.data(), Node::Int(_) | Node::Float(_) | Node::Str(_)) {
                out.push((name, value.repr(40)));
            }
        }
    }
    let rate = |groups: &str| {
        let group = root.get(groups)?.get("param_groups")?.at(0)?;
        let rate = group.get("lr")?;
        matches!(rate.data(), Node::Float(_) | Node::Int(_)).then(|| rate.repr(40))
    };
    if !out.iter().any(|(name, _)| name == "lr") {
        let found = ["optimizer", "optimizer_state_dict", "optim"].into_iter().find_map(rate);
        out.extend(found.map(|rate| ("lr".to_owned(), rate)));
    }
    out
}
