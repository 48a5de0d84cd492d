//! What is saved opens again as it was, and saving that gives the same bytes: for every fixture, as
//! an archive and as the stream of old.

#![allow(clippy::unwrap_used)] // helpers of tests are outside of what clippy sees as tests

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use sconce_checkpoint::{ArchiveLayout, ArrayData, Checkpoint, FileKind, LoadOptions, SaveOptions};
use sconce_source::Source;
use sconce_tensor::{ByteOrder, Tensor};

/// Files that open but hold what no pickle that we write can say, by the words of the refusal.
const REFUSALS: [&str; 7] = [
    "cannot be written",
    "cannot be pickled",
    "pickles cannot say",
    "view the same data as different types",
    "Serialization is not supported for tensors of type",
    "needs pickle protocol 4 or higher",
    "is damaged: its checksum is",
];

/// All fixtures, in order.
fn fixtures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/files");
    let (mut files, mut folders) = (Vec::new(), vec![root]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => files.push(path),
            }
        }
    }
    files.sort();
    files
}

fn opened(bytes: Vec<u8>) -> Checkpoint {
    Checkpoint::from_source(Source::from_vec("saved", bytes)).unwrap()
}

/// The dense tensors that a tensor consists of.
fn parts(tensor: &Tensor) -> Vec<Tensor> {
    if let Some(parts) = tensor.sparse_coo_parts() {
        return vec![parts.indices.clone(), parts.values.clone()];
    }
    if let Some(parts) = tensor.sparse_compressed_parts() {
        return vec![parts.compressed.clone(), parts.plain.clone(), parts.values.clone()];
    }
    if let Some(parts) = tensor.nested_parts() {
        let parts = [&parts.buffer, &parts.sizes, &parts.strides, &parts.offsets];
        return parts.into_iter().cloned().collect();
    }
    vec![tensor.clone()]
}

/// All that can be told of the tensors and arrays: storages by first appearance, and their bytes.
fn contents(checkpoint: &Checkpoint) -> Vec<String> {
    let mut storages = HashMap::new();
    let mut out = Vec::new();
    for found in checkpoint.tensors() {
        let tensor = found.tensor;
        out.push(format!(
            "{}: {} {} {:?} grad {} {} {:?}",
            found.name,
            tensor.dtype(),
            tensor.layout().name(),
            tensor.sizes(),
            tensor.requires_grad(),
            tensor.device(),
            tensor.quantizer().map(|quantizer| quantizer.scheme_name()),
        ));
        for part in parts(tensor) {
            let count = storages.len();
            let storage = part.storage();
            out.push(format!(
                "  {} {:?} {:?} at {} conj {} neg {} of {:?}, {:?}",
                part.dtype(),
                part.sizes(),
                part.strides(),
                part.storage_offset(),
                part.is_conj(),
                part.is_neg(),
                storage.map(|storage| *storages.entry(storage.id()).or_insert(count)),
                storage.map(|storage| storage.data().unwrap()),
            ));
        }
    }
    for found in checkpoint.arrays() {
        let elements = match &found.array.data {
            ArrayData::Tensor(tensor) => format!("{:?}", tensor.contiguous_bytes().unwrap()),
            ArrayData::Raw { bytes, fortran } => format!("{bytes:?} {fortran}"),
            ArrayData::Objects { fortran, .. } => format!("objects {fortran}"),
        };
        let array = found.array;
        out.push(format!("{}: {} {:?} {elements}", found.name, array.dtype.name(), array.shape));
    }
    out
}

/// Saves every fixture in one way and calls `check` with the file's name, what was in it and the
/// bytes; gives how many were saved.
fn saved(save: &SaveOptions, check: impl Fn(&str, &Checkpoint, Vec<u8>)) -> usize {
    let mut count = 0;
    for path in fixtures() {
        let name = path.to_string_lossy();
        let Ok(checkpoint) = Checkpoint::open(&path) else { continue };
        // The whole of a bad file's data may not be there.
        if !checkpoint.storages().iter().all(|record| record.storage.data().is_ok()) {
            continue;
        }
        match save.save_to(checkpoint.root(), Vec::new()) {
            Ok(bytes) => {
                check(&name, &checkpoint, bytes);
                count += 1;
            }
            Err(error) => {
                let message = error.to_string();
                let refused = REFUSALS.iter().any(|words| message.contains(words));
                assert!(refused, "{name}: {message}");
            }
        }
    }
    count
}

/// Saves, opens, saves.
fn round_trips(save: &SaveOptions, kind: FileKind) {
    let count = saved(save, |name, checkpoint, bytes| {
        let again = opened(bytes.clone());
        assert_eq!(again.format(), kind, "{name}");
        assert_eq!(again.warnings(), [""; 0], "{name}");
        let (before, after) = (contents(checkpoint), contents(&again));
        for (before, after) in before.iter().zip(&after) {
            assert_eq!(before, after, "{name}");
        }
        assert_eq!(before.len(), after.len(), "{name}");
        let twice = save.save_to(again.root(), Vec::new()).unwrap();
        assert!(bytes == twice, "{name}: the bytes change when it is saved again");
    });
    assert!(count > 150, "only {count} fixtures were saved");
}

#[test]
fn archives_round_trip() {
    round_trips(&SaveOptions::new(), FileKind::Zip);
}

#[test]
fn archives_of_protocol_5_round_trip() {
    let save = SaveOptions::new().protocol(5).storage_alignment(4096).compute_crc32(false);
    round_trips(&save, FileKind::Zip);
}

#[test]
fn old_archives_round_trip() {
    round_trips(&SaveOptions::new().layout(ArchiveLayout::Torch1_6), FileKind::Zip);
}

#[test]
fn streams_round_trip() {
    round_trips(&SaveOptions::new().legacy(true), FileKind::Legacy);
}

#[test]
fn big_endian_archives_open_as_the_same_tensors() {
    let save = SaveOptions::new().byte_order(ByteOrder::Big);
    let refused = "would not swap it";
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/files/2.15/zip");
    let (mut same, mut left) = (0, 0);
    for entry in std::fs::read_dir(root).unwrap() {
        let Ok(checkpoint) = Checkpoint::open(entry.unwrap().path()) else { continue };
        let bytes = match save.save_to(checkpoint.root(), Vec::new()) {
            Ok(bytes) => bytes,
            Err(error) => {
                left += usize::from(error.to_string().contains(refused));
                continue;
            }
        };
        let swapped = opened(bytes);
        assert_eq!(swapped.info().byte_order, Some(ByteOrder::Big));
        assert_eq!(contents(&swapped), contents(&checkpoint), "{}", checkpoint.source().name());
        same += 1;
    }
    assert!(same > 60 && left > 3, "{same} were saved, {left} refused");
}

#[test]
fn data_is_not_needed_to_skip_it() {
    let save = SaveOptions::new().skip_data(true);
    let count = saved(&save, |name, checkpoint, bytes| {
        let source = Source::from_vec("saved", bytes.clone());
        let empty = LoadOptions::new().skip_data(true).open_source(source).unwrap();
        assert_eq!(checkpoint.tensors().len(), empty.tensors().len(), "{name}");
        assert!(save.save_to(empty.root(), Vec::new()).unwrap() == bytes, "{name}");
    });
    assert!(count > 150, "only {count} fixtures were saved");
}

#[test]
fn what_cannot_be_asked_for_is_refused() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/files");
    let checkpoint = Checkpoint::open(root.join("2.15/zip/state_dict.pt")).unwrap();
    let table = [
        (SaveOptions::new().protocol(1), "pickle protocol 1 is not one of 2 to 5"),
        (
            SaveOptions::new().legacy(true).skip_data(true),
            "Cannot use skip_data=True with _use_new_zipfile_serialization=False",
        ),
        (SaveOptions::new().storage_alignment(0), "records cannot be aligned to 0 bytes"),
        (
            SaveOptions::new().byte_order(ByteOrder::Big).legacy(true),
            "a file without a byteorder record cannot be big-endian",
        ),
    ];
    for (save, expected) in table {
        let error = save.save_to(checkpoint.root(), Vec::new()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

/// PyTorch tags every storage on Apple's GPU with the one text `mps`, which pickle writes once.
#[test]
fn storages_on_mps_keep_their_tag() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/files");
    let checkpoint = Checkpoint::open(root.join("2.15/zip/state_dict.pt")).unwrap();
    assert!(checkpoint.storages().len() > 1);
    let save = SaveOptions::new().legacy(true);
    let mut bytes = Vec::new();
    save.save_to(checkpoint.root(), &mut bytes).unwrap();
    let tag = b"X\x03\0\0\0cpu";
    let places: Vec<usize> =
        (0..bytes.len() - tag.len()).filter(|&at| bytes[at..].starts_with(tag)).collect();
    assert_eq!(places.len(), 1);
    bytes[places[0] + 5..places[0] + 8].copy_from_slice(b"mps");
    let mut again = Vec::new();
    save.save_to(opened(bytes.clone()).root(), &mut again).unwrap();
    assert!(again == bytes);
}

#[test]
fn progress_goes_up_to_the_bytes_of_all_storages() {
    use std::sync::{Arc, Mutex};
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/files");
    let checkpoint = Checkpoint::open(root.join("2.15/zip/state_dict.pt")).unwrap();
    let total: u64 = checkpoint.storages().iter().map(|record| record.nbytes).sum();
    for legacy in [false, true] {
        let told = Arc::new(Mutex::new(Vec::new()));
        let listener = Arc::clone(&told);
        let save = SaveOptions::new()
            .legacy(legacy)
            .on_progress(move |done, total| listener.lock().unwrap().push((done, total)));
        save.save_to(checkpoint.root(), Vec::new()).unwrap();
        let told = told.lock().unwrap();
        assert!(told.is_sorted_by(|a, b| a.0 < b.0), "{told:?}");
        assert!(told.iter().all(|&(_, all)| all == total), "{told:?}");
        assert_eq!(told.last().unwrap().0, total, "legacy: {legacy}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_an_error_of_the_system() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/files");
    let checkpoint = Checkpoint::open(root.join("2.15/zip/state_dict.pt")).unwrap();
    for legacy in [false, true] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let save = SaveOptions::new().legacy(legacy);
        let error = save.save_to(checkpoint.root(), full).unwrap_err();
        assert_eq!(error.kind(), sconce_checkpoint::ErrorKind::Io);
        assert!(error.to_string().contains("No space left on device"), "{error}");
        let nowhere = save.save(checkpoint.root(), "/dev/null/out.pt").unwrap_err();
        assert_eq!(nowhere.kind(), sconce_checkpoint::ErrorKind::Io);
        assert!(nowhere.to_string().contains("/dev/null/out.pt"), "{nowhere}");
    }
}
