//! A checkpoint of more than 4 GiB, most of which is a hole in its file: it takes no time and next to
//! nothing of the disk.

#![cfg(all(unix, target_pointer_width = "64"))]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use sconce_checkpoint::{Checkpoint, SaveOptions, StateDict};
use sconce_tensor::{DType, Device, Storage, Tensor};

/// Elements of the large storage: 5 GiB of float32.
const COUNT: i64 = (5 << 30) / 4;
/// Those of its end that have a tensor of their own.
const TAIL: i64 = 3;

/// Whether a file's length costs nothing on this filesystem.
fn has_holes(folder: &Path) -> io::Result<bool> {
    let file = File::create_new(folder.join("probe"))?;
    file.set_len(64 << 20)?;
    let metadata = file.metadata()?;
    Ok(metadata.len() == 64 << 20 && metadata.blocks() * 512 < 1 << 20)
}

fn tensor(storage: &Storage, offset: i64, sizes: &[i64]) -> Tensor {
    Tensor::strided(storage.clone(), DType::Float32, offset, sizes, &[1]).expect("a view")
}

/// A large storage with two tensors over it, and a small one.
fn write(path: &Path) {
    let room = |count: i64| Storage::meta(4 * count as u64).to_device_tag(Device::CPU);
    let (large, small) = (room(COUNT), room(2));
    let mut dict = StateDict::new();
    dict.insert("whole", tensor(&large, 0, &[COUNT]));
    dict.insert("tail", tensor(&large, COUNT - TAIL, &[TAIL]));
    dict.insert("after", tensor(&small, 0, &[2]));
    let draft = dict.finish();
    SaveOptions::new().skip_data(true).save(draft.root(), path).expect("a file");
}

#[test]
fn data_beyond_4_gib_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    if !has_holes(folder.path()).expect("a file") {
        eprintln!("not run: this filesystem has no holes, and 5 GiB are too many to write");
        return;
    }
    let path = folder.path().join("large.pt");
    write(&path);
    let blocks = path.metadata().expect("a file").blocks();
    assert!(blocks * 512 < 1 << 20, "{blocks} blocks are on the disk");

    let checkpoint = Checkpoint::open(&path).expect("a checkpoint");
    let places: Vec<u64> =
        checkpoint.storages().iter().map(|found| found.file_offset().expect("a place")).collect();
    assert_eq!(places.len(), 2);
    assert!(places[1] > 5 << 30, "{places:?}");
    drop(checkpoint);
    // Somebody fills what the options leave empty.
    let floats = |numbers: &[f32]| -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    };
    let (tail, after) = (floats(&[1.5, -2.0, 3.25]), floats(&[7.0, 8.0]));
    let file = OpenOptions::new().write(true).open(&path).expect("a file");
    file.write_all_at(&tail, places[0] + 4 * (COUNT - TAIL) as u64).expect("room");
    file.write_all_at(&after, places[1]).expect("room");

    let checkpoint = Checkpoint::open(&path).expect("a checkpoint");
    let bytes = |name: &str| {
        let tensor = checkpoint.tensor(name).expect("a tensor");
        tensor.contiguous_bytes().expect("data").into_owned()
    };
    assert_eq!(bytes("tail"), tail);
    assert_eq!(bytes("after"), after);
    let whole = checkpoint.tensor("whole").expect("a tensor");
    assert_eq!(whole.sizes(), [COUNT]);
    let data = whole.storage().expect("a storage").data().expect("data");
    assert_eq!(data.len() as i64, 4 * COUNT);
    assert_eq!(data[data.len() - tail.len()..], tail);
}
