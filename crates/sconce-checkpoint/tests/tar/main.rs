//! The tar files of PyTorch before 0.1.10: what is written opens as it was. That PyTorch reads the
//! same files so is for `conformance/save.py` to say.

mod archive;
mod cases;
mod write;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sconce_checkpoint::{Checkpoint, FileKind, Node, SaveOptions};
use sconce_source::{ReadAt, Source};
use sconce_tensor::DType;
use write::{Entry, OldTar};

fn opened(bytes: Vec<u8>) -> Checkpoint {
    Checkpoint::from_source(Source::from_vec("old.tar", bytes)).expect("a checkpoint")
}

/// Compares all entries; gives how many were tensors.
fn compare(name: &str, tar: &OldTar, checkpoint: &Checkpoint) -> usize {
    let (mut storages, mut objects) = (HashMap::new(), HashMap::new());
    let mut tensors = 0;
    assert_eq!(checkpoint.root().len(), tar.entries.len(), "{name}");
    for ((key, object), (entry_name, entry)) in checkpoint.root().entries().zip(&tar.entries) {
        let what = format!("{name}: {entry_name}");
        assert_eq!(key.as_str(), Some(&**entry_name), "{what}");
        let (storage, wanted) = match (object.data(), entry) {
            (Node::Tensor(found), Entry::Tensor(key)) => {
                let (tensor, wanted) = (&found.tensor, tar.by_key(*key));
                assert_eq!(tensor.dtype(), tar.data(wanted.storage).0, "{what}");
                assert_eq!(tensor.sizes(), &wanted.sizes[..], "{what}");
                assert_eq!(tensor.strides(), &wanted.strides[..], "{what}");
                assert_eq!(tensor.storage_offset(), wanted.offset, "{what}");
                // The same tensor twice is one object.
                let id = object.id();
                assert_eq!(*objects.entry(*key).or_insert(id), id, "{what}");
                let others = objects.values().filter(|&&other| other == id).count();
                assert_eq!(others, 1, "{what}");
                tensors += 1;
                (tensor.storage().expect("a storage"), wanted.storage)
            }
            (Node::Storage(found), Entry::Storage(key)) => {
                assert_eq!(found.dtype, tar.data(*key).0, "{what}");
                (&found.storage, *key)
            }
            (Node::Class(class), Entry::Class([module, name], source)) => {
                assert_eq!((&*class.module, &*class.name), (*module, *name), "{what}");
                if let Some([file, text]) = source {
                    let kept = class.source.as_ref().expect("a source");
                    assert_eq!(kept.0.as_deref(), Some(*file), "{what}");
                    assert_eq!(kept.1.as_deref(), Some(*text), "{what}");
                }
                continue;
            }
            (other, _) => panic!("{what} is {other:?}"),
        };
        let (_, location, bytes) = tar.data(wanted);
        assert_eq!(storage.data().expect("data"), bytes, "{what}");
        assert_eq!(storage.device().location(), location, "{what}");
        // What shared a storage shares one, and nothing else does.
        assert_eq!(*storages.entry(wanted).or_insert(storage.id()), storage.id(), "{what}");
        let sharing = storages.values().filter(|&&id| id == storage.id()).count();
        assert_eq!(sharing, 1, "{what}");
    }
    tensors
}

#[test]
fn what_is_written_opens_as_it_was() {
    let mut count = 0;
    for (name, tar) in cases::all() {
        let checkpoint = opened(tar.file());
        assert_eq!(checkpoint.format(), FileKind::Tar, "{name}");
        count += compare(name, &tar, &checkpoint);
    }
    assert!(count > 25, "only {count} tensors were compared");
}

#[test]
fn it_is_the_same_as_an_archive_and_as_a_stream() {
    for (name, tar) in cases::all() {
        let checkpoint = opened(tar.file());
        for (way, save) in
            [("archive", SaveOptions::new()), ("stream", SaveOptions::new().legacy(true))]
        {
            let saved = save.save_to(checkpoint.root(), Vec::new()).expect("a file");
            let name = format!("{name}, as {way}");
            match (way, name.starts_with("classes")) {
                // Archives have no source of classes.
                ("archive", true) => assert_eq!(opened(saved).root().len(), tar.entries.len()),
                _ => drop(compare(&name, &tar, &opened(saved))),
            }
        }
    }
}

#[test]
fn devices_are_kept() {
    let mut tar = OldTar::default();
    let storage = tar.storage("cuda:1", DType::Float32, vec![0; 8]);
    let window = {
        tar.tensor("whole", storage, 0, &[2], &[1]);
        tar.view(storage, 1, 1)
    };
    tar.tensor("window", window, 0, &[1], &[1]);
    assert_eq!(compare("devices", &tar, &opened(tar.file())), 2);
}

/// A file as a server would give it, in ranges.
struct Store {
    data: Vec<u8>,
    read: Arc<AtomicU64>,
}

impl ReadAt for Store {
    fn len(&self) -> u64 {
        self.data.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let start = offset as usize;
        buffer.copy_from_slice(&self.data[start..start + buffer.len()]);
        self.read.fetch_add(buffer.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn read_ahead(&self) -> u64 {
        512
    }
}

#[test]
fn a_file_in_a_store_is_walked_from_storage_to_storage() {
    const LEN: usize = 1 << 20;
    let mut tar = OldTar::default();
    for name in ["a", "b", "c"] {
        let bytes = (0..LEN).map(|at| at as u8).collect();
        let storage = tar.storage("cpu", DType::Float32, bytes);
        tar.tensor(name, storage, 0, &[512, 512], &[512, 1]);
        let view = tar.view(storage, 1024, 4);
        tar.entry(&format!("{name}_view"), Entry::Storage(view));
    }
    let read = Arc::new(AtomicU64::new(0));
    let store = Store { data: tar.file(), read: Arc::clone(&read) };
    let checkpoint =
        Checkpoint::from_source(Source::from_store("far", store)).expect("a checkpoint");
    let walked = read.load(Ordering::Relaxed);
    assert!(walked < 200_000, "{walked}");
    let told = checkpoint.warnings().iter().find(|warning| warning.contains("it was walked"));
    assert!(told.is_some_and(|told| told.contains(" of 31")), "{told:?}");
    assert_eq!(compare("far", &tar, &checkpoint), 3);
    let whole = read.load(Ordering::Relaxed);
    assert!(whole > 3 * LEN as u64, "{whole}");
}
