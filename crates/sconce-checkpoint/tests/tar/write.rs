//! Writes the tar files of PyTorch before 0.1.10: the mirror of the reader, for tests only.

use sconce_pickle::{ArenaBuilder, EncodeOptions, Value, encode};
use sconce_tensor::DType;

use crate::archive::tar;

/// What a file holds: its object is a dict that has the entries.
#[derive(Default)]
pub(crate) struct OldTar {
    pub(crate) storages: Vec<Storage>,
    pub(crate) views: Vec<StorageView>,
    pub(crate) tensors: Vec<Tensor>,
    pub(crate) entries: Vec<(String, Entry)>,
}

pub(crate) struct Storage {
    key: i64,
    location: &'static str,
    dtype: DType,
    bytes: Vec<u8>,
}

/// A storage that is a window on another, in elements of that.
pub(crate) struct StorageView {
    key: i64,
    root: i64,
    offset: usize,
    numel: usize,
}

pub(crate) struct Tensor {
    key: i64,
    pub(crate) storage: i64,
    pub(crate) sizes: Vec<i64>,
    pub(crate) strides: Vec<i64>,
    pub(crate) offset: i64,
}

/// What stands in the dict.
pub(crate) enum Entry {
    /// By its key.
    Tensor(i64),
    /// By its key.
    Storage(i64),
    /// With the file and text of its source.
    Class([&'static str; 2], Option<[&'static str; 2]>),
}

impl OldTar {
    /// Keys are addresses in the memory of who wrote the file.
    fn new_key(&self) -> i64 {
        let count = self.storages.len() + self.views.len() + self.tensors.len();
        0x5581_0fc4_e6a0 + 0x130 * count as i64
    }

    pub(crate) fn storage(&mut self, location: &'static str, dtype: DType, bytes: Vec<u8>) -> i64 {
        let key = self.new_key();
        self.storages.push(Storage { key, location, dtype, bytes });
        key
    }

    pub(crate) fn view(&mut self, root: i64, offset: usize, numel: usize) -> i64 {
        let key = self.new_key();
        self.views.push(StorageView { key, root, offset, numel });
        key
    }

    /// A tensor that stands under this name; gives its key.
    pub(crate) fn tensor(
        &mut self,
        name: &str,
        storage: i64,
        offset: i64,
        sizes: &[i64],
        strides: &[i64],
    ) -> i64 {
        let key = self.new_key();
        let (sizes, strides) = (sizes.to_vec(), strides.to_vec());
        self.tensors.push(Tensor { key, storage, sizes, strides, offset });
        self.entry(name, Entry::Tensor(key));
        key
    }

    pub(crate) fn entry(&mut self, name: &str, entry: Entry) {
        self.entries.push((name.to_owned(), entry));
    }

    /// Type, place and bytes of a storage or of a window on one.
    pub(crate) fn data(&self, key: i64) -> (DType, &'static str, &[u8]) {
        if let Some(view) = self.views.iter().find(|view| view.key == key) {
            let (dtype, location, bytes) = self.data(view.root);
            let (start, len) = (view.offset * dtype.item_size(), view.numel * dtype.item_size());
            return (dtype, location, &bytes[start..start + len]);
        }
        let found = self.storages.iter().find(|storage| storage.key == key);
        let Storage { dtype, location, bytes, .. } = found.expect("a storage of this key");
        (*dtype, location, bytes)
    }

    pub(crate) fn by_key(&self, key: i64) -> &Tensor {
        self.tensors.iter().find(|tensor| tensor.key == key).expect("a tensor of this key")
    }

    /// The file.
    pub(crate) fn file(&self) -> Vec<u8> {
        let system = pickled(|values| {
            let pairs =
                [("protocol_version", values.int(1000)), ("little_endian", values.bool(true))];
            let pairs = pairs.map(|(name, value)| (values.str(name), value));
            values.dict(pairs).expect("strs as keys")
        });
        tar(&[
            ("sys_info", &system),
            ("pickle", &pickled(|values| self.object(values))),
            ("tensors", &self.tensors_member()),
            ("storages", &self.storages_member()),
        ])
    }

    fn object(&self, values: &mut ArenaBuilder<'static>) -> Value {
        let mut pairs = Vec::new();
        for (name, entry) in &self.entries {
            let pid = match entry {
                Entry::Tensor(key) | Entry::Storage(key) => values.int(*key),
                Entry::Class([module, name], source) => {
                    let class = values.global(*module, *name);
                    let source = match source {
                        Some(texts) => texts.map(|text| values.str(text)),
                        None => [values.none(), values.none()],
                    };
                    values.tuple(&[class, source[0], source[1]])
                }
            };
            pairs.push((values.str(name.clone()), values.persistent_id(pid)));
        }
        values.dict(pairs).expect("strs as keys")
    }

    /// A count, then for each a header, a count of elements and these; at last the views.
    fn storages_member(&self) -> Vec<u8> {
        let mut out = pickled(|values| values.int(self.storages.len() as i64));
        for Storage { key, location, dtype, bytes } in &self.storages {
            out.extend(pickled(|values| {
                let class = dtype.storage_class().expect("a dtype with a storage class");
                let parts =
                    [values.int(*key), values.str(*location), values.global("torch", class)];
                values.tuple(&parts)
            }));
            out.extend((bytes.len() as i64 / dtype.item_size() as i64).to_le_bytes());
            out.extend(bytes);
        }
        out.extend(pickled(|values| {
            let mut views = Vec::new();
            for &StorageView { key, root, offset, numel } in &self.views {
                let numbers = [key, root, offset as i64, numel as i64];
                let numbers = numbers.map(|number| values.int(number));
                views.push(values.tuple(&numbers));
            }
            values.list(views)
        }));
        out
    }

    /// A count, then for each a header, and sizes, strides and offset in binary.
    fn tensors_member(&self) -> Vec<u8> {
        let mut out = pickled(|values| values.int(self.tensors.len() as i64));
        for Tensor { key, storage, sizes, strides, offset } in &self.tensors {
            out.extend(pickled(|values| {
                let (dtype, ..) = self.data(*storage);
                let class = match dtype.is_complex() {
                    // There was none yet.
                    true => "Tensor".to_owned(),
                    false => format!("{}Tensor", dtype.scalar_type_name()),
                };
                let parts = [values.int(*key), values.int(*storage), values.global("torch", class)];
                values.tuple(&parts)
            }));
            out.extend((sizes.len() as i32).to_le_bytes());
            // What the rest of these eight bytes held was never set.
            out.extend([0xcd; 4]);
            for number in sizes.iter().chain(strides).chain([offset]) {
                out.extend(number.to_le_bytes());
            }
        }
        out
    }
}

fn pickled(make: impl FnOnce(&mut ArenaBuilder<'static>) -> Value) -> Vec<u8> {
    let mut values = ArenaBuilder::new();
    let root = make(&mut values);
    encode(values.arena(), root, &EncodeOptions::default()).expect("a pickle of protocol 2")
}
