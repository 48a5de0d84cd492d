//! A file that is read from a store gives what the same file gives on disk, or the same error.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sconce::source::ReadAt;
use sconce::{Checkpoint, LoadOptions, Source, identify};

/// A file as a server would give it, in ranges as small as they are asked for.
struct Store {
    path: PathBuf,
    data: Vec<u8>,
    read: Arc<AtomicU64>,
}

impl Store {
    fn open(path: &Path) -> Store {
        Store { path: path.to_owned(), data: fs::read(path).unwrap(), read: Arc::default() }
    }
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
        16
    }

    fn beside(&self, name: &str) -> io::Result<Box<dyn ReadAt>> {
        let path = self.path.with_file_name(name);
        fs::metadata(&path)?;
        Ok(Box::new(Store::open(&path)))
    }
}

/// Every file below the fixtures.
fn fixtures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/files");
    let (mut files, mut folders) = (Vec::new(), vec![root]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    assert!(files.len() > 200);
    files
}

/// What a checkpoint has to say, as text.
fn told(opened: &Result<Checkpoint, sconce::checkpoint::Error>) -> String {
    let checkpoint = match opened {
        Ok(checkpoint) => checkpoint,
        Err(error) => return format!("{:?} {error}", error.kind()),
    };
    let mut out = format!("{:?} {:?}\n", checkpoint.format(), checkpoint.info());
    for warning in checkpoint.warnings() {
        out += &format!("warning {warning}\n");
    }
    for storage in checkpoint.storages() {
        let (key, name) = (&storage.key, storage.record_name());
        out += &format!("storage {key} {} {name:?} {:?}\n", storage.nbytes, storage.file_offset());
    }
    for named in checkpoint.tensors() {
        let bytes = named.tensor.storage().map(|storage| storage.data().map(crc32fast::hash));
        let bytes = bytes.map(|bytes| bytes.map_err(|error| error.to_string()));
        out += &format!("{} {:?} {bytes:?}\n", named.name, named.tensor.sizes());
    }
    out
}

#[test]
fn every_fixture_is_the_same() {
    let mut far = 0;
    for path in fixtures() {
        let name = path.to_string_lossy().into_owned();
        let near = Source::open(&path).unwrap();
        let store = || Source::from_store(name.clone(), Store::open(&path));
        let (there, here) = (identify(&store()), identify(&near));
        // What lies behind other bytes is found in memory alone.
        let in_memory_only = matches!(here.kind, sconce::FileKind::PrefixedZip);
        if !in_memory_only {
            assert_eq!(there.kind, here.kind, "{name}: {} or {}", there.detail, here.detail);
        }
        let options = LoadOptions::new().keep_going(true);
        let (there, here) = (options.open_source(store()), options.open_source(near));
        far +=
            usize::from(there.as_ref().is_ok_and(|opened| opened.source().in_memory().is_none()));
        if !in_memory_only && !name.contains("/bad/") {
            // Of a tar file it is said how much was read.
            let of_tar = "warning a tar file has no table of contents";
            let there = told(&there);
            let there: Vec<&str> = there.lines().filter(|line| !line.starts_with(of_tar)).collect();
            assert_eq!(there, told(&here).lines().collect::<Vec<_>>(), "{name}");
        } else {
            // Counts before the storages of a legacy stream are compared when the storage is read.
            let unread = |checkpoint: &Checkpoint| {
                let mut tensors = checkpoint.tensors().into_iter();
                tensors.any(|named| {
                    named.tensor.storage().is_some_and(|storage| storage.data().is_err())
                })
            };
            let late = here.is_err() && there.as_ref().is_ok_and(unread);
            let same = there.is_ok() == here.is_ok() || late;
            assert!(same, "{name}: {} or {}", told(&there), told(&here));
        }
    }
    assert!(far > 100, "only {far} files were read in parts");
}

#[cfg(feature = "scan")]
#[test]
fn verdicts_are_the_same() {
    for path in fixtures() {
        let name = path.to_string_lossy().into_owned();
        let near = Source::open(&path).unwrap();
        let far = Source::from_store(name.clone(), Store::open(&path));
        let limits = sconce::Limits::default();
        let (there, here) = (sconce::scan::scan(&far, &limits), sconce::scan::scan(&near, &limits));
        assert_eq!(
            there.verdict, here.verdict,
            "{name}: {:?} or {:?}",
            there.findings, here.findings
        );
        assert_eq!(
            there.findings.len(),
            here.findings.len(),
            "{name}: {:?} or {:?}",
            there.findings,
            here.findings
        );
    }
}

#[cfg(feature = "jit")]
#[test]
fn programs_are_the_same() {
    let mut compared = 0;
    for path in fixtures() {
        let name = path.to_string_lossy().into_owned();
        if identify(&Source::open(&path).unwrap()).kind != sconce::FileKind::TorchScript {
            continue;
        }
        let far = Source::from_store(name.clone(), Store::open(&path));
        let (there, here) = (sconce::jit::LoadOptions::new().read(far), sconce::jit::load(&path));
        match (there, here) {
            (Ok(there), Ok(here)) => {
                compared += 1;
                let code = |module: &sconce::jit::Module| {
                    module.code("forward").map_err(|error| error.to_string())
                };
                assert_eq!(code(&there), code(&here), "{name}");
            }
            (there, here) => assert_eq!(there.is_ok(), here.is_ok(), "{name}"),
        }
    }
    assert!(compared > 1);
}

#[test]
fn tensors_are_read_when_they_are_asked_for() {
    let folder = std::env::temp_dir().join(format!("sconce-stores-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("long.pt");
    let mut state = sconce::StateDict::new();
    for at in 0..50 {
        let values: Vec<f32> = (0..10_000).map(|value| (value + at) as f32).collect();
        state.insert(format!("layer.{at}"), sconce::Tensor::from_vec(values, &[100, 100]).unwrap());
    }
    sconce::save(state, &path).unwrap();
    let store = Store::open(&path);
    fs::remove_dir_all(&folder).unwrap();
    let read = Arc::clone(&store.read);
    let checkpoint = Checkpoint::from_source(Source::from_store("long", store)).unwrap();
    let opened = read.load(Ordering::Relaxed);
    assert!(opened < 150_000, "{opened}");
    let tensor = checkpoint.tensor("layer.25").unwrap();
    assert_eq!(tensor.to_vec::<f32>().unwrap()[1], 26.0);
    let tensors = read.load(Ordering::Relaxed) - opened;
    assert!(tensors <= 40_000 + 300, "{tensors}");
}

/// What a store says when it cannot read is what the caller hears.
#[test]
fn failures_are_not_other_kinds_of_files() {
    struct Broken(u64);
    impl ReadAt for Broken {
        fn len(&self) -> u64 {
            1 << 20
        }
        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
            if offset >= self.0 {
                return Err(io::Error::other("the line is dead"));
            }
            buffer.fill(0x80);
            Ok(())
        }
    }
    for works in [0, 1 << 19] {
        let error = Checkpoint::from_source(Source::from_store("far", Broken(works))).unwrap_err();
        assert_eq!(error.kind(), sconce::ErrorKind::Io, "{error}");
        assert!(error.to_string().contains("the line is dead"), "{error}");
    }
}
