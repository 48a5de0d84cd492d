//! What the fuzz targets share: limits small enough for a fuzzer's memory, and a walk through
//! everything that an open checkpoint offers.

pub mod assemble;
pub mod parts;
pub mod program;
pub mod python;
pub mod run;
pub mod words;

use sconce_checkpoint::{ArrayData, Checkpoint, Error, LoadOptions, Policy, pytorch_message};
use sconce_source::{Limits, Source};
use sconce_tensor::{PrintOptions, Tensor};

/// Copies of more bytes than this are not asked for.
const MAX_COPY: u64 = 1 << 20;
/// Tensors that are read and printed. Any number may share one storage.
const MAX_READ: usize = 32;

/// Limits that keep one input under a few hundred megabytes.
pub fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.max_pickle_values = Some(1 << 18);
    limits.max_entries = 1 << 14;
    limits.max_inflated_bytes = 1 << 20;
    limits.max_tensor_bytes = MAX_COPY;
    limits
}

/// The fuzzer's bytes as a file in memory.
pub fn source(bytes: &[u8]) -> Source {
    Source::from_vec("fuzz", bytes.to_vec())
}

/// Opens `bytes` in every way a caller can, and looks at all of what opens.
pub fn open(bytes: &[u8]) {
    let options = LoadOptions::new().limits(limits());
    let whole = options.open_source(source(bytes));
    let lenient = options.clone().keep_going(true).open_source(source(bytes));
    let strict = options.clone().policy(Policy::WeightsOnly).open_source(source(bytes));
    let shapes = options.skip_data(true).open_source(source(bytes));
    assert!(whole.is_err() || lenient.is_ok(), "keep_going only ever opens more");
    for opened in [&whole, &lenient, &strict, &shapes] {
        match opened {
            Ok(checkpoint) => walk(checkpoint),
            Err(error) => explain(error),
        }
    }
}

/// An error must say something, and place it inside what it speaks of.
pub fn explain(error: &Error) {
    assert!(!error.message().is_empty());
    assert!(error.to_string().contains(error.message()));
    let _ = pytorch_message(error.message());
}

/// Names, prints and reads everything.
pub fn walk(checkpoint: &Checkpoint) {
    assert!(checkpoint.root().repr(200).chars().count() <= 200);
    for problem in checkpoint.problems() {
        explain(problem);
    }
    checkpoint.visit(|_, object| {
        assert!(object.repr(20).chars().count() <= 20);
        let _ = object.class_name();
    });
    for (at, named) in checkpoint.tensors().into_iter().enumerate() {
        if at < MAX_READ {
            read(named.tensor);
        }
    }
    for named in checkpoint.arrays().into_iter().take(MAX_READ) {
        let _ = named.array.dtype.name();
        if let ArrayData::Tensor(tensor) = &named.array.data {
            read(tensor);
        }
    }
    for record in checkpoint.storages().iter().take(MAX_READ) {
        let _ = (record.record_name(), record.file_offset());
        if let Ok(data) = record.storage.data() {
            assert_eq!(data.len() as u64, record.storage.nbytes());
        }
    }
    if let Some(module) = checkpoint.root().as_module() {
        let _ = (module.named_parameters(), module.named_buffers(), module.state_dict());
    }
    for global in checkpoint.globals() {
        assert!(global.full_name().len() > global.name.len());
    }
}

/// Copies, measures and prints one tensor.
fn read(tensor: &Tensor) {
    let _ = (format!("{tensor:?}"), tensor.is_contiguous(), tensor.storage_range());
    let _ = tensor.to_text(&PrintOptions::default());
    if tensor.nbytes() >= MAX_COPY {
        assert!(tensor.contiguous_bytes_with_limit(MAX_COPY - 1).is_err() || tensor.has_data());
        return;
    }
    if let Ok(bytes) = tensor.contiguous_bytes_with_limit(MAX_COPY) {
        assert_eq!(bytes.len() as u64, tensor.nbytes());
    }
    let _ = tensor.dequantize();
    if let Ok(stats) = tensor.stats() {
        let _ = tensor.histogram(&stats, 10);
    }
}
