//! Checkpoints: the tensors of a file of any format by name. Nothing in the file runs.

use std::collections::HashMap;
use std::ffi::{CString, c_char};
use std::ptr;

use sconce::source::MapMode;
use sconce::{LoadOptions, Policy, Tensor};
use sconce_dlpack::DLManagedTensorVersioned;

use crate::errors::{Failure, c_text, sconce_error};
use crate::guard::{Out, guarded, reference, text};
use crate::module::nth;
use crate::panics::{delete, quiet};
use crate::tensor::lend;

/// The tensors of a file, which all threads may use at once.
pub struct sconce_checkpoint {
    tensors: Vec<(CString, Tensor)>,
    /// Where a name is. Of two alike it is the last, as in a dict of Python's.
    places: HashMap<String, usize>,
}

/// Opens a checkpoint: what `torch.save`, safetensors or NumPy wrote. `weights_only` refuses what PyTorch's `weights_only=True`
/// does. The file must not be cut while anything of it is used.
///
/// # Safety
/// `path` is NULL or a string; `out` is NULL or a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_checkpoint_open(
    path: *const c_char,
    weights_only: bool,
    out: *mut *mut sconce_checkpoint,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let (out, path) = unsafe { (Out::pointer(out, "out")?, text(path, "path")?) };
        let policy = if weights_only { Policy::WeightsOnly } else { Policy::Inspect };
        let options = LoadOptions::new().policy(policy).map_mode(MapMode::CopyOnWrite);
        let (mut tensors, mut places) = (Vec::new(), HashMap::new());
        for named in options.open(path)?.tensors() {
            tensors.push((c_text(named.name.as_str()), named.tensor.clone()));
            places.insert(named.name, tensors.len() - 1);
        }
        out.give(sconce_checkpoint { tensors, places });
        Ok(())
    })
}

/// How many tensors a checkpoint has; 0 of NULL.
///
/// # Safety
/// `checkpoint` is NULL or a checkpoint.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_checkpoint_tensor_count(
    checkpoint: *const sconce_checkpoint,
) -> usize {
    // SAFETY: as the caller says.
    quiet(0, || unsafe { checkpoint.as_ref() }.map_or(0, |checkpoint| checkpoint.tensors.len()))
}

/// A tensor: its dotted name, which is there until the checkpoint is deleted, and its elements, read only, which the caller
/// gives back by the deleter in the structure. They are read when they are asked for.
///
/// # Safety
/// The pointers are NULL, or a checkpoint and places for results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_checkpoint_tensor(
    checkpoint: *const sconce_checkpoint,
    index: usize,
    name: *mut *const c_char,
    out: *mut *mut DLManagedTensorVersioned,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let (name, out) =
            unsafe { (Out::new(name, ptr::null(), "name"), Out::pointer(out, "out")) };
        let (name, out) = (name?, out?);
        // SAFETY: as the caller says.
        let checkpoint = unsafe { reference(checkpoint, "checkpoint") }?;
        let (known, tensor) = nth(&checkpoint.tensors, index, "tensor")?;
        out.set(lend(tensor)?);
        name.set(known.as_ptr());
        Ok(())
    })
}

/// The tensor of a name, as `sconce_checkpoint_tensor` gives it. Where there is none the code is `SCONCE_INVALID_ARGUMENT`.
///
/// # Safety
/// The pointers are NULL, or a checkpoint, a string, and a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_checkpoint_find(
    checkpoint: *const sconce_checkpoint,
    name: *const c_char,
    out: *mut *mut DLManagedTensorVersioned,
) -> *mut sconce_error {
    guarded(|| {
        // SAFETY: as the caller says.
        let (out, checkpoint, name) = unsafe {
            (Out::pointer(out, "out")?, reference(checkpoint, "checkpoint")?, text(name, "name")?)
        };
        let place = checkpoint.places.get(name);
        let missing = || Failure::argument(format!("there is no tensor '{name}'"));
        let (_, tensor) = &checkpoint.tensors[*place.ok_or_else(missing)?];
        out.set(lend(tensor)?);
        Ok(())
    })
}

/// Deletes a checkpoint, which may be NULL. Tensors that were given stay.
///
/// # Safety
/// `checkpoint` is NULL or a checkpoint that has not been deleted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sconce_checkpoint_delete(checkpoint: *mut sconce_checkpoint) {
    // SAFETY: checkpoints come from `Out::give`.
    unsafe { delete(checkpoint) };
}

// Which all threads may use at once.
const _: fn() = || {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<sconce_checkpoint>();
};
