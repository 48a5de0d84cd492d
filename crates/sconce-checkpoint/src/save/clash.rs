//! Two element types over one storage, which no file can say: the error that names both.

use sconce_tensor::{DType, Storage, Tensor};

use crate::object::{Node, Object, Walk};
use crate::{Error, ErrorKind};

/// A storage that was met under one type and then under another.
pub(super) struct Clash {
    pub(super) storage: Storage,
    pub(super) first: DType,
    pub(super) second: DType,
}

impl Clash {
    /// PyTorch's complaint, and what of `root` it is about.
    pub(super) fn error(&self, root: Object<'_>) -> Error {
        let message = "Cannot save multiple tensors or storages that view the same data as \
                       different types";
        let (mut first, mut second) = (None, None);
        Walk::new(root.graph()).run(root.id(), |name, object| {
            for (dtype, found) in [(self.first, &mut first), (self.second, &mut second)] {
                if found.is_none() {
                    let seen_as = self.type_of(object, dtype);
                    *found = seen_as
                        .map(|dtype| format!("'{}' ({})", name.escape_debug(), dtype.name()));
                }
            }
        });
        let unnamed = |dtype: DType| format!("something without a name ({})", dtype.name());
        let first = first.unwrap_or_else(|| unnamed(self.first));
        let second = second.unwrap_or_else(|| unnamed(self.second));
        Error::new(ErrorKind::Caller, message)
            .with_note(format!("{first} and {second} are over one storage: save a copy of one"))
    }

    /// The type of an object that is over the storage and has there the type `saved` in files.
    fn type_of(&self, object: Object<'_>, saved: DType) -> Option<DType> {
        let same = |storage: &Storage| storage.id() == self.storage.id();
        match object.data() {
            Node::Tensor(found) => dense_parts(&found.tensor)
                .into_iter()
                .find(|part| saved_type(part.dtype()) == saved && part.storage().is_some_and(same))
                .map(Tensor::dtype),
            Node::Storage(found) => {
                Some(found.dtype).filter(|&dtype| dtype == saved && same(&found.storage))
            }
            _ => None,
        }
    }
}

/// The type that a tensor's storage has in a file: bytes for types without a class of their own.
fn saved_type(dtype: DType) -> DType {
    dtype.storage_class().map_or(DType::UInt8, |_| dtype)
}

/// The tensors with storages that a tensor consists of.
fn dense_parts(tensor: &Tensor) -> Vec<&Tensor> {
    if let Some(parts) = tensor.sparse_coo_parts() {
        return vec![&parts.indices, &parts.values];
    }
    if let Some(parts) = tensor.sparse_compressed_parts() {
        return vec![&parts.compressed, &parts.plain, &parts.values];
    }
    match tensor.nested_parts() {
        Some(parts) => vec![&parts.buffer, &parts.sizes, &parts.strides, &parts.offsets],
        None => vec![tensor],
    }
}

#[cfg(test)]
mod tests {
    use sconce_tensor::Device;

    use super::*;
    use crate::{SaveOptions, StateDict};

    fn over(storage: &Storage, dtype: DType, count: i64) -> Tensor {
        Tensor::strided(storage.clone(), dtype, 0, &[count], &[1]).unwrap()
    }

    fn refusal(tensors: Vec<(&str, Tensor)>) -> Option<(String, String)> {
        let state: StateDict = tensors.into_iter().collect();
        let error = SaveOptions::new().save_to(state.finish().root(), Vec::new()).err()?;
        assert_eq!(error.kind(), ErrorKind::Caller);
        Some((error.message().to_owned(), error.note().unwrap_or_default().to_owned()))
    }

    #[test]
    fn both_tensors_are_named() {
        let storage = Storage::from_bytes(vec![0; 8].into(), Device::CPU);
        let other = Storage::from_bytes(vec![0; 8].into(), Device::CPU);
        let (message, note) = refusal(vec![
            ("other", over(&other, DType::Float32, 2)),
            ("fc.weight", over(&storage, DType::Float32, 2)),
            ("fc.weight_bits", over(&storage, DType::Int32, 2)),
        ])
        .unwrap();
        assert_eq!(
            message,
            "Cannot save multiple tensors or storages that view the same data as different types"
        );
        assert_eq!(
            note,
            "'fc.weight' (float32) and 'fc.weight_bits' (int32) are over one storage: save a copy of \
             one"
        );
    }

    #[test]
    fn types_that_are_bytes_in_files_are_one() {
        let storage = Storage::from_bytes(vec![0; 8].into(), Device::CPU);
        let bytes =
            [("a", DType::UInt16, 4), ("b", DType::Float8E4M3FN, 8), ("c", DType::UInt8, 8)];
        let tensors = |with: &[(&'static str, DType, i64)]| {
            with.iter().map(|&(name, dtype, count)| (name, over(&storage, dtype, count))).collect()
        };
        // PyTorch takes an untyped storage and one of uint8 for the same.
        assert_eq!(refusal(tensors(&bytes)), None);
        let (_, note) = refusal(tensors(&[bytes[0], ("d", DType::Float64, 1)])).unwrap();
        assert!(note.starts_with("'a' (uint16) and 'd' (float64)"), "{note:?}");
    }

    #[test]
    fn without_data_there_is_no_clash() {
        let storage = Storage::from_bytes(Vec::new().into(), Device::CPU);
        let tensors =
            vec![("a", over(&storage, DType::Float32, 0)), ("b", over(&storage, DType::Int64, 0))];
        assert_eq!(refusal(tensors), None);
    }
}
