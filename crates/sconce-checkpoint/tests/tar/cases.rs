//! Files of the oldest format, each with what is in it.

use sconce_tensor::DType;

use crate::write::{Entry, OldTar};

/// Name and contents of each.
pub(crate) fn all() -> Vec<(&'static str, OldTar)> {
    vec![
        ("dtypes", dtypes()),
        ("shared", shared()),
        ("views", views()),
        ("empty", empty()),
        ("nothing", OldTar::default()),
        ("classes", classes()),
    ]
}

fn numbers(dtype: DType, count: usize) -> Vec<u8> {
    let number = |at: usize| if dtype == DType::Bool { at % 2 } else { at * 7 % 256 };
    (0..count * dtype.item_size()).map(|at| number(at) as u8).collect()
}

/// A tensor of every dtype that has a storage class and is not quantized.
fn dtypes() -> OldTar {
    let mut tar = OldTar::default();
    for dtype in DType::all().filter(|dtype| dtype.storage_class().is_some()) {
        if !dtype.is_quantized() {
            let storage = tar.storage("cpu", dtype, numbers(dtype, 6));
            tar.tensor(dtype.name(), storage, 0, &[2, 3], &[3, 1]);
        }
    }
    tar
}

/// Tensors over one storage, and one tensor twice.
fn shared() -> OldTar {
    let mut tar = OldTar::default();
    let storage = tar.storage("cpu", DType::Float32, numbers(DType::Float32, 12));
    tar.tensor("whole", storage, 0, &[3, 4], &[4, 1]);
    tar.tensor("transposed", storage, 1, &[4, 2], &[1, 4]);
    tar.tensor("expanded", storage, 11, &[5, 2], &[0, 0]);
    tar.tensor("overlapping", storage, 2, &[3, 3], &[2, 1]);
    let other = tar.storage("cpu", DType::Int64, numbers(DType::Int64, 3));
    let twice = tar.tensor("once", other, 0, &[3], &[1]);
    tar.entry("again", Entry::Tensor(twice));
    tar.entry("storage", Entry::Storage(other));
    tar
}

/// Storages that are windows on others.
fn views() -> OldTar {
    let mut tar = OldTar::default();
    let root = tar.storage("cpu", DType::Int16, numbers(DType::Int16, 10));
    let window = tar.view(root, 2, 6);
    let second = tar.view(root, 8, 2);
    let nothing = tar.view(root, 10, 0);
    tar.tensor("root", root, 0, &[10], &[1]);
    tar.tensor("window", window, 0, &[2, 3], &[3, 1]);
    tar.tensor("in the window", window, 4, &[2], &[1]);
    tar.tensor("second", second, 0, &[1, 2], &[2, 1]);
    tar.tensor("of nothing", nothing, 0, &[0], &[1]);
    tar.entry("window itself", Entry::Storage(window));
    tar
}

/// Tensors of no elements and of no dimensions.
fn empty() -> OldTar {
    let mut tar = OldTar::default();
    let nothing = tar.storage("cpu", DType::Float64, Vec::new());
    let one = tar.storage("cpu", DType::UInt8, vec![200]);
    tar.tensor("nothing", nothing, 0, &[0], &[1]);
    tar.tensor("nothing in two ways", nothing, 0, &[3, 0, 2], &[2, 2, 1]);
    tar.tensor("number", one, 0, &[], &[]);
    tar.tensor("nothing of something", one, 1, &[0], &[1]);
    tar.entry("storage of nothing", Entry::Storage(nothing));
    tar
}

/// Classes, without source and with the one they have no more.
fn classes() -> OldTar {
    let mut tar = OldTar::default();
    tar.entry("bare", Entry::Class(["torch.nn.modules.linear", "Linear"], None));
    let source = ["linear.py", "class Bilinear(Module):\n    pass\n"];
    tar.entry("sourced", Entry::Class(["torch.nn.modules.linear", "Bilinear"], Some(source)));
    tar
}
